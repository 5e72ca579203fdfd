# SPDX-License-Identifier: Apache-2.0
"""Here: the access point says what is around it, from its configuration and from a file."""

import json
import os
import signal
import subprocess

import pytest

import conftest
import hearsay_wire as wire
from hearsay_wire import pb

WIFI = "wifi:a4:2b:8c:01:02:03"


def labels_of(client, host=None):
    return list(client.call(pb.Here(host=host) if host else pb.Here()).labels)


def write(path, text):
    """As a scan script should: beside it, then renamed."""
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


def cli(daemon, *words, stdin=""):
    """Runs the command: (exit code, stdout, stderr)."""
    done = subprocess.run(
        [conftest.program(conftest.HEARSAY), "-s", f"127.0.0.1:{daemon.port}", *words], input=stdin,
        capture_output=True, text=True, timeout=60, check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(name="make_local")
def fixture_make_local(make_daemon):
    """Makes a daemon whose TCP clients are on site, so that the here labels are true for them."""
    def make(config, start=True):
        daemon = make_daemon(config, start=False).make_local()
        return daemon.start() if start else daemon

    return make


@pytest.fixture
def watched(make_local, tmp_path):
    """A daemon whose first host has a file: (daemon, path)."""
    path = str(tmp_path / "here")

    def make(content=None, config=""):
        if content is not None:
            write(path, content)
        return make_local(f"[host lobby]\nhere_file = {path}\n{config}\n"), path

    return make


def test_labels_of_the_configuration(make_local):
    """Several on a line, on several lines; in Welcome and by request."""
    daemon = make_local(f"[host lobby]\nhere = geo:u281zd, {WIFI}\nhere = topic:espresso bar\n")
    expected = ["geo:u281zd", WIFI, "topic:espresso bar"]
    with daemon.client() as client:
        assert "here" in client.welcome.capabilities
        assert [list(host.here) for host in client.welcome.hosts] == [expected]
        assert labels_of(client) == labels_of(client, "lobby") == expected
        assert client.refused(pb.Here(host="cellar")).code == "UNKNOWN_HOST"
    code, out, _ = daemon.run("--config", daemon.config_file, "--data", daemon.data, "--print-config")
    assert code == 0 and all(f"\nhere = {label}\n" in out for label in expected)


def test_a_host_without_labels_names_its_store(make_local, tmp_path):
    """`place:` and 16 digits of the store: not of a host that says more, nor of a copy, nor where no
    section takes a place."""
    path = tmp_path / "not-there"
    daemon = make_local(
        f"[host a]\n[host b]\nhere = geo:u281zd\n[host c]\nhere_file = {path}\n"
        f"[host d]\nhere_map = {path}\n[host e]\nrole = replica\n[host f]\nprofile = v1:wifi=64/2\n"
        "[host g]\n"
    )
    with daemon.client() as client:
        own = [f"place:{client.welcome.store_id.hex()[:16]}"]
        expected = [own, ["geo:u281zd"], [], [], [], [], own]
        assert [list(host.here) for host in client.welcome.hosts] == expected
        assert labels_of(client, "a") == own and labels_of(client, "f") == []


def test_only_those_who_are_here_are_told(make_daemon, tmp_path):
    """A client of a listener without `local` may be anywhere: it has the labels of a line of here_map that
    names its address, and no others, and hears of no change."""
    places, here = str(tmp_path / "places"), str(tmp_path / "here")
    write(places, "127.0.0.1 = place:counter\n")
    write(here, f"{WIFI}\n")
    daemon = make_daemon(f"[host lobby]\nhere_file = {here}\n[host bar]\nhere = geo:u281zd\n"
                         f"here_map = {places}\n[host attic]\n")
    with daemon.client() as away, daemon.administrator() as inside:
        own = [f"place:{inside.welcome.store_id.hex()[:16]}"]
        assert [list(host.here) for host in away.welcome.hosts] == [[], ["place:counter"], []]
        assert [list(host.here) for host in inside.welcome.hosts] == [[WIFI], ["geo:u281zd"], own]
        assert labels_of(away) == labels_of(away, "attic") == []
        assert labels_of(away, "bar") == ["place:counter"]
        write(here, "wifi:00:00:00:00:00:01\n")
        assert list(inside.receive().here_changed.labels) == ["wifi:00:00:00:00:00:01"]
        write(places, "127.0.0.1 = place:table\n")
        # Changes are sent to all in turn: the first push that `away` gets is of its own place.
        assert list(away.receive().here_changed.labels) == ["place:table"]


def test_wrong_labels_in_the_configuration(make_local):
    """A wrong label is named with its line."""
    daemon = make_local("[host lobby]\nhere = geo:u281zd, Coffee\n", start=False)
    code, _, err = daemon.run("--config", daemon.config_file, "--check-config")
    assert code == 2 and ":5: " in err and "`Coffee` is no label" in err


def test_the_file_is_watched(watched):
    """Who is connected is told of a change, and asked for, the labels are the new ones."""
    daemon, path = watched(f"# a scan\n{WIFI}\n", "here = geo:u281zd")
    with daemon.client() as client, daemon.client() as other:
        assert list(client.welcome.hosts[0].here) == ["geo:u281zd", WIFI]
        write(path, "wifi:00:00:00:00:00:01\nwifi:00:00:00:00:00:02\n")
        expected = ["geo:u281zd", "wifi:00:00:00:00:00:01", "wifi:00:00:00:00:00:02"]
        for one in (client, other):
            push = one.receive()
            assert push.id == 0 and push.here_changed.host == "lobby"
            assert list(push.here_changed.labels) == expected
        assert labels_of(client) == expected
    with daemon.client() as client:
        assert list(client.welcome.hosts[0].here) == expected


def test_the_same_again_is_no_news(watched):
    """A file that is written again with the same labels is not pushed."""
    daemon, path = watched(f"{WIFI}\n")
    with daemon.client() as client:
        write(path, f"# later\n\n{WIFI}\n")
        write(path, f"{WIFI}\ngeo:u281zd\n")  # this is: it comes first
        assert list(client.receive().here_changed.labels) == [WIFI, "geo:u281zd"]


@pytest.mark.parametrize(
    "content, why",
    [
        ("geo:u281zd\nnot a label\n", r"line 2: "),
        ("x" * (64 * 1024 + 1), r"too large"),
        ("".join(f"topic:{i}\n" for i in range(257)), r"line 257: .*256 labels"),
    ],
    ids=["a-label", "its-size", "their-number"],
)
def test_bad_content_keeps_the_last_good_one(watched, content, why):
    """It is logged with its line, changes nothing, and a good one is taken after it."""
    daemon, path = watched(f"{WIFI}\n")
    with daemon.client() as client:
        at = len(daemon.log)
        write(path, content)
        daemon.wait_log(f"host lobby: .*{why}.*stay as they were", at)
        assert labels_of(client) == [WIFI]
        write(path, "geo:u281zd\n")
        assert list(client.receive().here_changed.labels) == ["geo:u281zd"]


def test_a_file_that_goes_and_comes(watched):
    """A file need not be there at the start; when it goes, what it said stays."""
    daemon, path = watched()
    daemon.wait_log("host lobby: .*cannot be read.*stay as they were")
    with daemon.client() as client:
        assert labels_of(client) == []
        write(path, f"{WIFI}\n")
        assert list(client.receive().here_changed.labels) == [WIFI]
        at = len(daemon.log)
        os.remove(path)
        daemon.wait_log("host lobby: .*cannot be read", at)
        assert labels_of(client) == [WIFI]


def test_a_pipe_does_not_hold_the_daemon(watched):
    """What is no regular file is not waited for."""
    daemon, path = watched(f"{WIFI}\n")
    os.remove(path)
    os.mkfifo(path)
    daemon.wait_log("host lobby: .*no regular file")
    with daemon.client() as client:
        assert labels_of(client) == [WIFI]


def test_reload(watched, tmp_path):
    """SIGHUP takes other labels and another file over, and pushes them."""
    daemon, path = watched(f"{WIFI}\n")
    other = str(tmp_path / "other")
    write(other, "topic:other\n")
    with daemon.client() as client:
        daemon.configure(f"[host lobby]\nhere = geo:u281zd\nhere_file = {other}\n")
        daemon.process.send_signal(signal.SIGHUP)
        assert list(client.receive().here_changed.labels) == ["geo:u281zd", "topic:other"]
        daemon.configure("[host lobby]\n")
        daemon.process.send_signal(signal.SIGHUP)
        own = [f"place:{client.welcome.store_id.hex()[:16]}"]
        assert list(client.receive().here_changed.labels) == own
        write(path, "topic:nobody-looks\n")
        assert labels_of(client) == own


def test_labels_that_do_not_fit_welcome(make_local, tmp_path):
    """Where a frame has no room for all hosts' labels, Here has them."""
    config = "[limits]\nframe = 4K\npayload = 1K\n"
    for i in range(3):
        path = tmp_path / f"here{i}"
        path.write_text("".join(f"topic:{i}-{j:03}\n" for j in range(130)))
        config += f"[host h{i}]\nhere_file = {path}\n"
    with make_local(config).client() as client:
        assert sorted(len(host.here) for host in client.welcome.hosts) == [0, 0, 130]
        for i in range(3):
            assert labels_of(client, f"h{i}") == [f"topic:{i}-{j:03}" for j in range(130)]


# --- the scan script ------------------------------------------------------------------------------


IW = (
    "#!/bin/sh\n[ \"$*\" = 'dev wlan7 scan' ] || exit 9\n"
    "printf 'BSS a4:2b:8c:01:02:03(on wlan7)\\n\\tsignal: -75.00 dBm\\n\\tSSID: caf\\\\xc3\\n'\n"
)


class Scan:
    """hearsay-scan with programs of ours, and all that it can leave behind."""

    SCRIPT = os.path.join(os.path.dirname(__file__), "../../scripts/hearsay-scan")

    def __init__(self, folder):
        self.folder = folder
        self.programs = folder / "programs"
        for name in ("programs", "temporary"):
            (folder / name).mkdir()
        self.write("iw", IW)
        (self.programs / "hearsay").symlink_to(conftest.program(conftest.HEARSAY))
        self.options = {
            "env": {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}",
                    "TMPDIR": str(folder / "temporary")},
            "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
        }

    def write(self, program, text):
        (self.programs / program).unlink(missing_ok=True)
        (self.programs / program).write_text(text)
        (self.programs / program).chmod(0o755)

    def run(self, *words):
        return subprocess.run(["sh", self.SCRIPT, *words], timeout=wire.PATIENCE, check=False,
                              **self.options)

    def left(self):
        """The files but the programs."""
        return sorted(path.name for path in self.folder.rglob("*")
                      if path.parent != self.programs and path.is_file())


def test_scan_script(watched, tmp_path):
    """What iw sees goes into the file, with its strength; when it fails, the file stays."""
    daemon, path = watched()
    scan = Scan(tmp_path)
    with daemon.client() as client:
        done = scan.run("wlan7", path, "geo:u281zd")
        assert (done.returncode, done.stderr) == (0, "")
        expected = ["geo:u281zd", WIFI, f"{WIFI}@2"]
        assert list(client.receive().here_changed.labels) == expected
        assert scan.run("wlan8", path).returncode == 1
        assert labels_of(client) == expected
    assert scan.left() == ["here"]


def test_a_scan_of_many(watched, tmp_path):
    """The strongest 32 go into the file, wherever they stand in the scan, and the log hears nothing of the others."""
    daemon, path = watched()
    scan = Scan(tmp_path)
    seen = "".join(f"BSS 10:22:33:44:55:{i:02x}(on wlan7)\n\tsignal: {i - 121}.00 dBm\n" for i in range(71))
    scan.write("iw", f"#!/bin/sh\ncat <<'END'\n{seen}END\n")
    with daemon.client() as client:
        done = scan.run("wlan7", path, "geo:u281zd")
        assert (done.returncode, done.stderr) == (0, "")
        labels = list(client.receive().here_changed.labels)
    assert labels[0] == "geo:u281zd" and len(labels) <= 201
    assert {label.split("@")[0] for label in labels[1:]} == {f"wifi:10:22:33:44:55:{i:02x}" for i in range(39, 71)}


@pytest.mark.parametrize("program, text", [
    ("iw", "#!/bin/sh\necho 'this is no scan'\n"),
    ("iw", f"{IW}exit 240\n"),
    ("hearsay", "#!/bin/sh\nexit 127\n"),
    ("hearsay", f"#!/bin/sh\necho '  {WIFI} 1 2 3 4'\nexit 1\n"),
    ("hearsay", "#!/nonexistent/interpreter\n"),
], ids=["iw-unreadable", "iw-fails", "hearsay-fails", "hearsay-half", "hearsay-missing"])
def test_a_failed_scan_leaves_the_file(tmp_path, program, text):
    """Whichever program fails, and whatever it wrote before: the file stays, and the status says so."""
    scan = Scan(tmp_path)
    scan.write(program, text)
    here = tmp_path / "here"
    here.write_text("geo:u281zd\n")
    done = scan.run("wlan7", str(here), "geo:u1")
    assert done.returncode == 1, done.stderr
    assert here.read_text() == "geo:u281zd\n" and scan.left() == ["here"]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stopped", ["iw", "hearsay"])
def test_a_stopped_scan_leaves_nothing(tmp_path, stopped, number):
    """A signal while a program runs, to the script alone: the program ends well afterwards, and the file
    still is not replaced."""
    scan = Scan(tmp_path)
    for name in ("runs", "goes_on"):
        os.mkfifo(tmp_path / name)
    scan.write(stopped, f"#!/bin/sh\necho >'{tmp_path}/runs'\nread -r _ <'{tmp_path}/goes_on'\n")
    here = tmp_path / "here"
    here.write_text("geo:u281zd\n")
    with subprocess.Popen(["sh", scan.SCRIPT, "wlan7", str(here), "geo:u1"], **scan.options) as process:
        assert (tmp_path / "runs").read_text() == "\n"  # waits until the program runs
        process.send_signal(number)
        (tmp_path / "goes_on").write_text("\n")
        assert process.wait(wire.PATIENCE) == 1
    assert here.read_text() == "geo:u281zd\n" and scan.left() == ["here"]


# --- the command ----------------------------------------------------------------------------------


def test_deposit_and_query_here(make_local):
    """Who gives no context asks with what the access point says; --here adds it to one's own."""
    daemon = make_local(f"[host lobby]\nhere = geo:u281zd, {WIFI}\n[host attic]\n"
                         "here_map = /nonexistent\n")
    assert cli(daemon, "deposit", "--here", "--topic", "Coffee", "fresh", "pot")[0] == 0
    code, out, _ = cli(daemon, "query", "--json")
    assert code == 0
    found = json.loads(out)
    union = wire.counts(*[wire.filter_of(ls) for ls in (["geo:u281zd", WIFI],
                                                        ["geo:u281zd", WIFI, "topic:coffee"])])[1]
    shared = wire.bits_of(wire.filter_of(["geo:u281zd", WIFI])).bit_count()
    assert found["text"] == "fresh pot"
    assert abs(found["distance"] - (1 - shared / union)) < 1e-5
    code, out, _ = cli(daemon, "query", "--here", "--topic", "coffee", "--json")
    assert code == 0 and json.loads(out)["distance"] == 0
    # Nothing is known of the attic.
    for words in (["query", "--host", "attic"], ["deposit", "--here", "--host", "attic", "text"]):
        code, out, err = cli(daemon, *words)
        assert (code, out) == (2, "") and "does not say what is around it" in err
    # But one's own labels are enough.
    assert cli(daemon, "deposit", "--here", "-l", "a:1", "--host", "attic", "text")[0] == 0


def test_here_is_printed(make_local):
    """`hearsay here` prints the labels, one a line, or as JSON."""
    daemon = make_local(f"[host lobby]\nhere = geo:u281zd, {WIFI}\n[host attic]\n"
                         "here_map = /nonexistent\n")
    assert cli(daemon, "here") == (0, f"geo:u281zd\n{WIFI}\n", "")
    code, out, _ = cli(daemon, "here", "--json")
    assert code == 0 and json.loads(out) == {"host": "lobby", "labels": ["geo:u281zd", WIFI]}
    code, out, err = cli(daemon, "here", "--host", "attic")
    assert (code, out) == (1, "") and "does not say" in err
    code, _, err = cli(daemon, "here", "-l", "a:1")
    assert code == 2 and "--memory FILE" in err


def test_here_into_a_memory(make_local, tmp_path):
    """`hearsay here --memory FILE` without a context remembers what the access point says."""
    daemon = make_local(f"[host lobby]\nhere = geo:u281zd, {WIFI}\n")
    memory = str(tmp_path / "way")
    bits = wire.bits_of(wire.filter_of(["geo:u281zd", WIFI])).bit_count()
    for _ in range(2):
        code, out, _ = cli(daemon, "here", "--memory", memory, "--json")
        assert code == 0 and json.loads(out)["here_bits"] == bits
    assert cli(daemon, "deposit", "--here", "text")[0] == 0
    assert cli(daemon, "query", "--memory", memory)[0] == 0
