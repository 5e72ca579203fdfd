# SPDX-License-Identifier: Apache-2.0
"""hearsay admin stats --prometheus: the format, the numbers, the file; nothing in labels that says
who or where."""

import json
import os
import re
import shutil
import stat
import subprocess
import threading

import pytest

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb

HERE = ["wifi:a4:2b:8c:01:02:03", "topic:coffee", "geo:u281zd"]
SERIES_OF_SERVER, SERIES_OF_HOST = 40, 8  # without TLS and withheld reports, one more each
LINE = re.compile(r'([a-z_]+)(?:\{([^}]*)\})? (-?[0-9.]+(?:e[+-][0-9]+)?)$')
LABEL = re.compile(r'([a-z_]+)="([^"\\]*)"')
# The only labels there may be, and what they may say.
LABELS = {
    "refused": re.compile("forbidden|quota|rate_limited|storage"),
    "dropped": re.compile("handshake|tls"),
    "watch_dropped": re.compile("slow|failed"),
    "left": re.compile("expired|evicted|withdrawn|removed"),
    "request": re.compile("deposit"),
    "le": re.compile(r"[0-9.]+(e-05)?|\+Inf"),
    "host": re.compile("default|lobby"),
    "version": re.compile(r"[0-9]+\.[0-9]+\.[0-9]+"),
}


def parse(text):
    """{(metric, labels): value}, and the types by metric; fails on what the format forbids."""
    values, types, last = {}, {}, None
    for line in text.splitlines():
        if line.startswith("# "):
            kind, metric, rest = line[2:].split(" ", 2)
            if kind == "TYPE":
                assert metric not in types, f"{metric} in two places"
                types[metric], last = rest, metric
            continue
        metric, labels, value = LINE.match(line).groups()
        assert metric == last or types[last] == "histogram" and metric.startswith(last), line
        pairs = tuple(LABEL.findall(labels or ""))
        assert (metric, pairs) not in values, f"twice: {line}"
        values[metric, pairs] = float(value)
    return values, types


def metrics(cli, *args):
    return parse(cli.ok("admin", "stats", "--prometheus", *args))[0]


def value(found, metric, **labels):
    return found[metric, tuple(labels.items())]


@pytest.fixture
def busy(make_daemon, rng):
    """A daemon with a message, a report, a withdrawal, a removal and refusals: (cli, daemon)."""
    daemon = make_daemon("[host default]\nremove_after = 0\n"
                         "[host lobby]\nmessages = 2\nevict = oldest\n")
    token = bytes(range(32))
    with daemon.client() as client, daemon.administrator() as administrator:
        for host in ("default",) * 3 + ("lobby",) * 4:
            made = wire.deposit_of(rng, HERE, host=host, withdraw_hash=wire.withdraw_hash(token))
            client.call(made)
            if host == "default":
                last = made.id
        client.call(wire.query_of(HERE))
        client.refused(pb.Get(id=bytes(16)))
        client.refused(wire.query_of(HERE, host="nowhere"))
        client.call(pb.Report(id=last, reason="noise"))
        client.call(pb.Withdraw(id=last, token=token))
        first = client.call(wire.query_of(HERE)).results[0].id
        administrator.call(pb.Remove(host="default", id=first))
    return cli_runner.of_daemon(daemon, daemon.socket_path), daemon


def test_the_numbers_are_those_of_what_was_done(busy):
    found = metrics(busy[0])
    assert value(found, "hearsay_up") == 1
    assert value(found, "hearsay_host_messages", host="default") == 1
    assert value(found, "hearsay_host_messages", host="lobby") == 2
    assert value(found, "hearsay_host_messages_max", host="lobby") == 2
    assert value(found, "hearsay_host_full", host="lobby") == 1
    for way, count in (("withdrawn", 1), ("removed", 1), ("evicted", 2), ("expired", 0)):
        assert value(found, "hearsay_left_messages_total", left=way) == count
    assert value(found, "hearsay_report_total") == 1
    for code in ("forbidden", "quota", "rate_limited", "storage"):
        assert value(found, "hearsay_refused_requests_total", refused=code) == 0
    assert value(found, "hearsay_request_duration_seconds_count", request="deposit") == 7
    assert value(found, "hearsay_query_total") == 2
    for reason in ("handshake", "tls"):
        assert value(found, "hearsay_dropped_sessions_total", dropped=reason) == 0
    assert value(found, "hearsay_request_duration_seconds_sum", request="deposit") > 0
    assert value(found, "hearsay_written_bytes_total") >= 0


def test_the_histogram_is_cumulative(busy):
    found = metrics(busy[0])
    buckets = [(float(dict(labels)["le"]), count) for (metric, labels), count in found.items()
               if metric.endswith("_bucket")]
    assert len(buckets) == 12
    assert buckets == sorted(buckets) and buckets[0][0] == 0.0001
    assert [count for _, count in buckets] == sorted(count for _, count in buckets)
    whole = value(found, "hearsay_request_duration_seconds_count", request="deposit")
    assert buckets[-1] == (float("inf"), whole)
    assert busy[0].ok("admin", "stats", "--json").count("_le_") == 11  # of deposits only


def test_expired_messages_are_counted(make_daemon, rng):
    daemon = make_daemon()
    cli = cli_runner.of_daemon(daemon, daemon.socket_path)
    with daemon.client() as client:
        client.call(wire.deposit_of(rng, HERE, ttl_s=1))

    def is_counted():
        return value(metrics(cli), "hearsay_left_messages_total", left="expired") == 1
    wire.wait_until(is_counted, "the message expired")


def test_removed_messages_are_counted_when_they_are_destroyed(make_daemon, rng):
    daemon = make_daemon("[host default]\nremove_after = 1s\n")
    cli = cli_runner.of_daemon(daemon, daemon.socket_path)
    with daemon.administrator() as administrator:
        made = wire.deposit_of(rng, HERE)
        administrator.call(made)
        administrator.call(pb.Remove(id=made.id))

    def is_counted():
        return value(metrics(cli), "hearsay_left_messages_total", left="removed") == 1
    wire.wait_until(is_counted, "the message was destroyed")
    assert value(metrics(cli), "hearsay_left_messages_total", left="expired") == 0


@pytest.mark.parametrize("hosts", [1, 2])
def test_number_of_series(make_daemon, hosts):
    """Each costs storage where many routers are watched. TLS and withheld reports add one each."""
    daemon = make_daemon("[host default]\n" + "[host lobby]\n" * (hosts - 1))
    found = metrics(cli_runner.of_daemon(daemon, daemon.socket_path))
    assert len(found) == SERIES_OF_SERVER + SERIES_OF_HOST * hosts
    assert SERIES_OF_SERVER + 1 <= 41 and SERIES_OF_HOST + 1 <= 12


def test_labels_and_number_of_series(busy):
    """No label carries an address, a context or an id: each is of a list of words."""
    text = busy[0].ok("admin", "stats", "--prometheus")
    found, types = parse(text)
    of_hosts = {"default": 0, "lobby": 0}
    for metric, labels in found:
        for name, said in labels:
            assert LABELS[name].fullmatch(said), (metric, name, said)
            if name == "host":
                of_hosts[said] += 1
    assert set(of_hosts.values()) == {SERIES_OF_HOST}, of_hosts
    assert len(found) - sum(of_hosts.values()) == SERIES_OF_SERVER, len(found)
    assert set(types.values()) == {"counter", "gauge", "histogram"}
    for word in ("127.0.0.1", "wifi", "coffee", "u281zd", "a4:2b", "noise", busy[1].socket_path):
        assert word not in text


def test_reload_and_clock(make_daemon):
    daemon = make_daemon()
    cli = cli_runner.of_daemon(daemon, daemon.socket_path)
    before = metrics(cli)
    assert value(before, "hearsay_reload_ok") == 1
    assert value(before, "hearsay_clock_trusted") in (0, 1)
    daemon.configure("[limits]\nk = 0\n")
    assert cli.run("admin", "reload")[0] != 0
    after = metrics(cli)
    assert value(after, "hearsay_reload_ok") == 0
    moments = [value(each, "hearsay_reload_timestamp_seconds") for each in (before, after)]
    assert 0 < moments[0] < moments[1]
    daemon.configure("")
    cli.ok("admin", "reload")
    assert value(metrics(cli), "hearsay_reload_ok") == 1


def test_metrics_bear_the_names_of_figures(busy):
    """KIND/WORD/NAME is hearsay_KIND_NAME{KIND="WORD"}, with the same value; the unit alone is another."""
    figures = json.loads(busy[0].ok("admin", "stats", "--json"))
    found = metrics(busy[0])
    own = [key for key in found if not re.match("hearsay_(up|build_info|request_duration.*)$", key[0])]
    assert len(own) >= SERIES_OF_SERVER + 2 * SERIES_OF_HOST - 16  # up, version, histogram
    for metric, labels in own:
        name = metric.removeprefix("hearsay_")
        for kind, word in labels:
            assert name.startswith(f"{kind}_")
            name = f"{kind}/{word}/" + name.removeprefix(f"{kind}_")
        names = {name, re.sub("_seconds$", "_s", name), re.sub("_seconds$", "_ms", name)} & set(figures)
        assert len(names) == 1, metric
        if metric.endswith("_messages"):
            assert found[metric, labels] == figures[names.pop()]


def test_one_host(busy):
    found = metrics(busy[0], "--host", "lobby")
    assert {dict(labels)["host"] for _, labels in found if "host" in dict(labels)} == {"lobby"}


def test_counters_never_fall(make_daemon, rng):
    """Under load, between any two calls."""
    daemon = make_daemon("[host default]\nmessages = 20\nevict = oldest\n")
    cli = cli_runner.of_daemon(daemon, daemon.socket_path)
    end = threading.Event()
    failures = []

    def load():
        try:
            with daemon.client() as client:
                while not end.is_set():
                    client.pipeline([wire.deposit_of(rng, HERE) for _ in range(16)])
                    client.pipeline([wire.query_of(HERE) for _ in range(16)])
        except Exception as failure:  # pylint: disable=broad-except
            failures.append(failure)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        before = {}
        for _ in range(20):
            now, types = parse(cli.ok("admin", "stats", "--prometheus"))
            for (metric, labels), amount in now.items():
                if types.get(metric) != "gauge":
                    assert amount >= before.get((metric, labels), 0), metric
            before = now
    finally:
        end.set()
        thread.join(wire.PATIENCE)
    assert not failures, failures


def test_the_file_is_replaced_whole(busy, tmp_path):
    """A reader of the old file keeps it; others may read the new one; nothing else is left."""
    cli, daemon = busy
    file = tmp_path / "hearsay.prom"
    file.write_text("old")
    with open(file, encoding="utf-8") as old:
        assert cli.ok("admin", "stats", "--prometheus", "--output", str(file)) == ""
        assert old.read() == "old"
    assert value(parse(file.read_text())[0], "hearsay_up") == 1
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert os.listdir(tmp_path) == ["hearsay.prom"]
    daemon.stop()
    code, _, err = cli.run("admin", "stats", "--prometheus", "--output", str(file))
    assert code == 3 and err
    assert parse(file.read_text())[0] == {("hearsay_up", ()): 0}
    assert os.listdir(tmp_path) == ["hearsay.prom"]


def test_the_units_command_writes_the_file(shared, tmp_path):
    """The command of hearsay-stats.service, with another folder. Without its own the unit does nothing."""
    unit = os.path.join(os.path.dirname(os.environ.get("HEARSAY_UNIT", "")), "hearsay-stats.service")
    if not os.path.exists(unit):
        pytest.skip("built without libsystemd")
    with open(unit, encoding="utf-8") as file:
        text = file.read()
    _, *args = re.search("^ExecStart=(.*)$", text, re.MULTILINE).group(1).split()
    folder, name = os.path.split(args.pop())
    assert folder == "/var/lib/prometheus/node-exporter" and name.endswith(".prom")
    assert f"\nConditionPathIsDirectory={folder}\n\n[Service]" in text
    cli_runner.of_daemon(shared, shared.socket_path).ok(*args, str(tmp_path / name))
    assert value(parse((tmp_path / name).read_text())[0], "hearsay_up") == 1


@pytest.mark.parametrize(("args", "sentence"), [
    (["--output", "x"], "--output goes with --prometheus only"),
    (["--prometheus", "--json"], "leave out --json"),
    (["--prometheus", "--watch"], "leave out --json and --watch"),
])
def test_what_does_not_go_together(shared, args, sentence):
    code, _, err = cli_runner.of_daemon(shared, shared.socket_path).run("admin", "stats", *args)
    assert code == 2 and sentence in err


def test_a_file_that_cannot_be_written(shared, tmp_path):
    cli = cli_runner.of_daemon(shared, shared.socket_path)
    code, _, err = cli.run("admin", "stats", "--prometheus", "--output", str(tmp_path / "no" / "f"))
    assert code == 1 and "No such file or directory" in err and "a directory that exists" in err


def test_promtool_has_no_complaint(busy):
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("there is no promtool: Debian's package prometheus has it")
    text = busy[0].ok("admin", "stats", "--prometheus")
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True,
                          text=True, timeout=wire.PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
