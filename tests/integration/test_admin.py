# SPDX-License-Identifier: Apache-2.0
"""Administration over the Unix socket: numbers, reload, log level; and who may not."""

import json
import os
import pwd
import signal

import pytest

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb

ID = bytes(range(16))
ADMINISTRATIVE = [pb.Stats(), pb.Reload(), pb.LogLevel(level="debug")]


def figures(client, **fields):
    found = client.call(pb.Stats(**fields)).figures
    names = [figure.name for figure in found]
    assert len(names) == len(set(names)), "each name once"
    return {figure.name: figure.value for figure in found}


def test_not_over_tcp(shared):
    """Over TCP each is FORBIDDEN, says what would be right, and is not among the capabilities."""
    with shared.client() as client, shared.administrator() as administrator:
        for body in ADMINISTRATIVE:
            name = wire.request(body, 1).WhichOneof("body")
            refusal = client.refused(body)
            assert (refusal.code, refusal.error.field) == ("FORBIDDEN", name)
            assert "Unix socket" in refusal.error.message
            assert name not in client.welcome.capabilities
            assert name in administrator.welcome.capabilities


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_not_for_other_users(make_daemon):
    """On the Unix socket others are told that it takes the daemon's user or root."""
    daemon = make_daemon()
    os.chmod(daemon.socket_path, 0o777)
    os.chmod(os.path.dirname(daemon.socket_path), 0o755)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setuid(pwd.getpwnam("nobody").pw_uid)
            with daemon.administrator() as client:
                refusals = [client.refused(body) for body in ADMINISTRATIVE]
                said = [[r.code, r.error.message, len(client.welcome.capabilities)] for r in refusals]
            os.write(writer, json.dumps(said).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = json.load(pipe)
    os.waitpid(child, 0)
    with daemon.client() as client:
        open_to_all = len(client.welcome.capabilities)
    assert len(said) == len(ADMINISTRATIVE)
    for code, message, capabilities in said:
        assert code == "FORBIDDEN" and "own user and root" in message
        assert capabilities == open_to_all


def test_numbers(make_daemon, rng, sanitized):
    """Counts, bytes, fill and latencies are those of what was done."""
    daemon = make_daemon("[host a]\n[host b]\n")
    with daemon.administrator() as client:
        sent = [wire.deposit_of(rng, [f"topic:{i}", "wifi:x"], host="a") for i in range(40)]
        client.pipeline(sent)
        queries = [wire.query_of([f"topic:{i}"], host="a") for i in range(7)]
        answers = client.pipeline(queries)
        client.call(pb.Get(host="a", id=sent[0].id))
        client.refused(pb.Get(host="a", id=ID))
        now = figures(client)
    size = sum(len(s.filter) + len(s.payload) + len("text/plain") for s in sent)
    bits = sum(wire.bits_of(s.filter).bit_count() for s in sent)
    assert now["messages"] == now["host/a/messages"] == now["host/a/shown"] == 40
    assert now["bytes"] == now["host/a/bytes"] == size
    assert now["host/b/messages"] == now["host/b/bytes"] == now["host/b/fill_ppm"] == 0
    assert now["host/a/fill_ppm"] == bits * wire.WHOLE // (40 * 512)
    assert now["host/a/unarranged"] == 40 and now["host/b/unarranged"] == 0
    assert now["arranged_total"] == now["arrange_failures"] == now["arranged_last_ms"] == 0
    assert now["host/a/tree_height"] == 3 and now["host/b/tree_height"] == 1
    assert (now["deposit_total"], now["query_total"], now["get_total"]) == (40, 7, 1)
    comparisons = sum(answer.results.comparisons for answer in answers)
    assert now["comparisons_total"] == comparisons
    assert now["comparisons_per_query"] == comparisons // 7
    for name in ("deposit", "query", "get"):
        assert now[f"{name}_p50_us"] <= now[f"{name}_p90_us"] <= now[f"{name}_p99_us"]
        assert now[f"{name}_p99_us"] <= now[f"{name}_max_us"]
        assert now[f"{name}_per_minute"] > 0
    assert now["deposit_max_us"] > 0, "a commit takes more than a microsecond"
    assert now["store_operations"] >= 40 and now["store_failures_total"] == 0
    assert now["store_file_bytes"] > 0
    assert now["resident_bytes"] > 1 << 20 or sanitized.startswith("qemu")  # which says 0
    assert now["sessions"] == 1 and now["messages_max"] == 100000


def test_numbers_of_one_host(make_daemon):
    """`host` leaves out the others; an unknown one is named."""
    with make_daemon("[host a]\n[host b]\n").administrator() as client:
        names = figures(client, host="b")
        assert "host/b/messages" in names and "host/a/messages" not in names
        assert client.refused(pb.Stats(host="c")).code == "UNKNOWN_HOST"


def test_numbers_of_many_hosts(make_daemon):
    """As many hosts as there may be fit one frame."""
    config = "".join(f"[host {'h' * 50}{number}]\nprofile = v2:64/1\n" for number in range(64))
    with make_daemon(config).administrator() as client:
        assert sum(name.endswith("/messages") for name in figures(client)) == 64


def test_numbers_fit_the_smallest_frame(make_daemon, rng):
    """Those of a server with one host, also after a while."""
    daemon = make_daemon("[limits]\nframe = 4096\npayload = 100\n")
    with daemon.administrator() as client:
        client.call(wire.deposit_of(rng, ["topic:coffee"]))
        answer = client.call(pb.Stats())
    # hundred figures grow to four bytes more: counts of a thousand million
    assert answer.ByteSize() + 100 * 4 < 4096


def test_reload(make_daemon):
    """The configuration is read again, as by SIGHUP; a refusal names file and line."""
    daemon = make_daemon("[limits]\nk = 10\n")
    with daemon.administrator() as client:
        assert client.refused(wire.query_of(["a:b"], k=11)).code == "INVALID"
        daemon.configure("[limits]\nk = 11\n")
        client.call(pb.Reload())
        client.call(wire.query_of(["a:b"], k=11))
        daemon.configure("[limits]\nk = 0\n")
        refusal = client.refused(pb.Reload())
        assert refusal.code == "INVALID" and "hearsayd.conf:5:" in refusal.error.message, refusal
        client.call(wire.query_of(["a:b"], k=11))


def test_log_level(make_daemon):
    """It can be read and set; what is no level is named with those there are."""
    daemon = make_daemon()
    with daemon.administrator() as client:
        assert client.call(pb.LogLevel()).level == "info"
        assert client.call(pb.LogLevel(level="debug")).level == "debug"
        with daemon.client():
            daemon.wait_log("session 2 speaks version 1")
        refusal = client.refused(pb.LogLevel(level="loud"))
        assert (refusal.code, refusal.error.field) == ("INVALID", "level")
        assert "warning" in refusal.error.message
        client.call(pb.Reload())
        assert client.call(pb.LogLevel()).level == "info", "a reload brings the configured one back"


def test_cli(make_daemon, rng):
    """The command's page and JSON, its exit codes, and what it says to those who may not."""
    daemon = make_daemon()
    cli, over_tcp = cli_runner.of_daemon(daemon, unix=True), cli_runner.of_daemon(daemon)
    with daemon.client() as client:
        client.call(wire.deposit_of(rng, ["a:b"]))
    page = cli.ok("admin", "stats")
    assert "1 of 100000 messages" in page and f"host       default ({wire.PROFILE})" in page
    assert "deposits" in page and max(map(len, page.splitlines())) <= 100
    (line,) = cli.json_lines("admin", "stats", "--json", "--host", "default")
    assert line["messages"] == 1 and line["host/default/shown"] == 1
    assert cli.ok("admin", "log-level") == "info\n"
    assert cli.ok("admin", "log-level", "warning") == "warning\n"
    assert cli.ok("admin", "reload") == "reloaded\n"
    assert cli.ok("admin", "log-level") == "info\n"
    assert cli.run("admin", "log-level", "loud")[0] == 4
    code, out, err = over_tcp.run("admin", "stats")
    assert (code, out) == (4, "") and "FORBIDDEN" in err and "--server" in err
    assert cli.run("admin", "stats", "--host", "nowhere")[0] == 2


def test_watch_figures(make_daemon, rng):
    """Watches that stand, what was pushed to them, and nothing of them when they have ended."""
    daemon = make_daemon("[limits]\nwatches = 70\n")
    cli = cli_runner.of_daemon(daemon, unix=True)
    query = wire.query_of(["a:b"], max_distance=0)
    query.ClearField("k")
    query.parts.append(query.parts[0])
    watch = pb.Watch(query=query)
    with daemon.administrator() as administrator:
        with daemon.client() as reader:
            reader.call(watch)
            reader.call(watch)
            for label in ("a:b", "a:c", "a:b"):
                administrator.call(wire.deposit_of(rng, [label]))
            assert all(reader.receive().HasField("match") for _ in range(4))
            found = figures(administrator)
            assert (found["watches"], found["watch_clients"]) == (2, 1)
            assert (found["watch_filters"], found["watch_filters_max"]) == (4, 70)
            assert found["watch_index_bytes"] > 1000
            assert (found["matches_total"], found["matches_waiting"]) == (4, 0)
            assert found["watch_dropped/slow/clients_total"] == found["watch_dropped/failed/clients_total"] == 0
            page = cli.ok("admin", "stats")
            assert "watches    2 of 1 client, with 4 of 70 filters; 0 catching up\n" in page
            assert " 4 matches pushed, 0 waiting, " in page
            assert max(map(len, page.splitlines())) <= 100
        wire.wait_until(lambda: figures(administrator)["watches"] == 0, "the watches are over")
        found = figures(administrator)
        assert found["watch_clients"] == found["watch_filters"] == 0
        assert found["matches_total"] == 4


def test_dropped_figures(make_daemon):
    """Sessions that the daemon ended are counted by reason, and on the page."""
    daemon = make_daemon("[limits]\nhello_timeout = 1s\n")
    cli = cli_runner.of_daemon(daemon, unix=True)
    assert "\ndropped " not in cli.ok("admin", "stats")
    with daemon.administrator() as administrator, daemon.client(hello=False) as silent:
        silent.receive_until_end()
        found = figures(administrator)
        assert found["dropped/hello/sessions_total"] == 1
        assert sum(value for name, value in found.items() if name.startswith("dropped/")) == 1
    assert "\ndropped    1 hello\n" in cli.ok("admin", "stats")


def test_cli_watch(make_daemon):
    """--watch goes on until it is interrupted, and ends when the server does."""
    daemon = make_daemon()
    cli = cli_runner.of_daemon(daemon, unix=True)
    with cli.start("admin", "stats", "--watch", "--json", "--interval", "100ms", stdout=-1,
                   stderr=-1) as process:
        lines = [json.loads(process.stdout.readline()) for _ in range(3)]
        assert all("messages" in line for line in lines)
        process.send_signal(signal.SIGINT)
        process.wait(wire.PATIENCE)
    with cli.start("admin", "stats", "--watch", "--interval", "100ms", stdout=-1,
                   stderr=-1) as process:
        assert process.stdout.readline().startswith(b"daemon")
        daemon.stop()
        _, err = process.communicate(timeout=wire.PATIENCE)
        assert process.returncode == 3 and b"hearsay:" in err
