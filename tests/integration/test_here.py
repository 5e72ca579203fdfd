# SPDX-License-Identifier: Apache-2.0
"""Here: the access point says what is around it, from its configuration and from a file."""

import json
import os
import re
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
        f"[host d]\nhere_map = {path}\n[host e]\nrole = replica\n[host f]\nprofile = v2:wifi=64/2\n"
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


def test_places_have_names(make_local, tmp_path):
    """The third column of here_map: what people call a place. A line with a wrong name is left out."""
    path = tmp_path / "places"
    write(path, "127.0.0.1 = place:counter | The counter\n127.0.0.2 = place:stage | B\u00fchne 1\n"
                "127.0.0.3 = place:yard\n127.0.0.4 = place:x | \n")
    daemon = make_local(f"[host lobby]\nhere_map = {path}\n[host attic]\n")
    daemon.wait_log(r"places: line 4: behind `\|` stands the name of the place, such as")
    with daemon.client() as client:
        answer = client.call(pb.Here())
        assert (list(answer.labels), answer.name, list(answer.places)) == (
            ["place:counter"], "The counter", [])
        answer = client.call(pb.Here(places=True))
        assert (answer.name, list(answer.places)) == ("The counter", ["B\u00fchne 1", "The counter"])
        answer = client.call(pb.Here(host="attic", places=True))
        assert not answer.HasField("name") and not answer.places
    assert cli(daemon, "here", "--places") == (0, "B\u00fchne 1\nThe counter\n", "")
    code, out, _ = cli(daemon, "here", "--json")
    assert json.loads(out) == {"host": "lobby", "name": "The counter", "labels": ["place:counter"]}
    code, out, err = cli(daemon, "here", "--places", "--host", "attic")
    assert (code, out) == (1, "") and "no places with names" in err
    code, _, err = cli(daemon, "here", "--places", "--memory", str(path))
    assert code == 2 and "--memory and --places exclude each other" in err


def test_many_places_have_names(make_local, tmp_path):
    """An answer has as many names as its frame has room for; a map has at most 256."""
    path = tmp_path / "places"
    names = [f"{number:03}" + "x" * 61 for number in range(257)]
    write(path, "".join(f"10.1.{number // 2}.{number % 2} = place:p{number} | {name}\n"
                        for number, name in enumerate(names)))
    for frame in (4, 64):
        daemon = make_local(f"[limits]\npayload = 1K\nframe = {frame}K\n[host lobby]\nhere_map = {path}\n")
        daemon.wait_log("places: line 257: a map has at most 256 names of places, and this is one more")
        with daemon.client() as client:
            told = list(client.call(pb.Here(places=True)).places)
        assert told == names[:len(told)] and len(told) == (60 if frame == 4 else 256), (frame, len(told))
        daemon.stop()


def test_wrong_labels_in_the_configuration(make_local):
    """A wrong label is named with its line."""
    daemon = make_local("[host lobby]\nhere = geo:u281zd, Coffee\n", start=False)
    code, _, err = daemon.run("--config", daemon.config_file, "--check-config")
    assert code == 2 and ":5: " in err and "`Coffee` is no label" in err


def test_check_config_reads_the_files(make_local, tmp_path):
    """It says what the daemon says of them, and neither a missing file nor a wrong line is an error."""
    here, places = tmp_path / "here", tmp_path / "places"
    write(here, f"{WIFI.upper().replace('WIFI', 'wifi')}\ngeo:u281zd\ntopic:Tea")
    write(places, "10.0.0.1 = place:a place:b\n10.0.0.2 = place:c\nnothing\n")
    daemon = make_local(f"[host lobby]\nhere_file = {here}\nhere_map = {places}\n"
                        f"[host bar]\nhere_file = {tmp_path}/none\nhere_map = {tmp_path}\n"
                        f"[host attic]\nhere_map = {tmp_path}/bad\n", start=False)
    write(tmp_path / "bad", "nothing\n")
    expected = [
        f"host lobby: {here}: line 1: clients write {WIFI}; lines left out: 2 (1, 3)",
        f"host lobby: {here} ends without a line feed, so its last line may have been cut off",
        f"host lobby: {places}: line 1: `place:` begins a second label: write a comma between labels, and in a "
        "`here_file` each on a line of its own; lines left out: 2 (1, 3)",
        f"host bar: {tmp_path}/none cannot be read: No such file or directory",
        f"host bar: {tmp_path} cannot be read: it is no regular file",
        f"host attic: {tmp_path}/bad: line 1: a line is a prefix, `=` and labels, such as 10.1.7.0/24 = place:office; "
        "lines left out: 1",
    ]
    code, out, err = daemon.run("--config", daemon.config_file, "--check-config")
    warnings = [line.partition("warning: ")[2] for line in (out + err).splitlines() if "warning: host" in line]
    assert (code, warnings) == (0, expected), out + err
    daemon.start()
    for sentence in expected:
        daemon.wait_log(re.escape(sentence))


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


def test_files_of_any_editor(make_local, tmp_path):
    """A byte order mark before the first line, and line ends of Windows, belong to no label; so in the
    configuration, too."""
    write(str(tmp_path / "here"), f"\ufeff{WIFI}\r\ngeo:u281zd\r\n")
    write(str(tmp_path / "places"), "\ufeff127.0.0.1 = place:counter | The counter\r\n")
    daemon = make_local(f"[host lobby]\nhere_file = {tmp_path}/here\n"
                        f"[host bar]\nhere_map = {tmp_path}/places\n", start=False)
    with open(daemon.config_file, encoding="utf-8") as file:
        text = file.read()
    write(daemon.config_file, "\ufeff" + text.replace("\n", "\r\n"))
    with daemon.start().client() as client:
        assert labels_of(client, "lobby") == [WIFI, "geo:u281zd"]
        assert labels_of(client, "bar") == ["place:counter"]


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
        ("# a scan\nnot a label\n", r"line 2: "),
        ("x" * (64 * 1024 + 1), r"too large"),
    ],
    ids=["a-label", "its-size"],
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


@pytest.mark.parametrize(
    "content, why, labels",
    [
        ("geo:u281zd\nnot a label\nplace:x\n", r"line 2: .*; lines left out: 1", ["geo:u281zd", "place:x"]),
        ("geo:u281zd\nplace:x", r"ends without a line feed, so its last line may", ["geo:u281zd", "place:x"]),
        ("".join(f"topic:{i}\n" for i in range(258)), r"line 257: .*256 labels; lines left out: 2",
         [f"topic:{i}" for i in range(256)]),
    ],
    ids=["a-label", "cut", "their-number"],
)
def test_a_bad_line_costs_no_other(watched, content, why, labels):
    """It is logged with its number, and the others are taken."""
    daemon, path = watched(f"{WIFI}\n")
    with daemon.client() as client:
        at = len(daemon.log)
        write(path, content)
        daemon.wait_log(f"host lobby: .*{why}", at)
        assert list(client.receive().here_changed.labels) == labels


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


def test_a_deposit_without_the_labels_is_answered_with_a_note(make_daemon, rng, tmp_path):
    """The note says that labels are missing which the client was told, and `stats` counts these deposits:
    not those of clients elsewhere, not copies, not labels that the profile does not take."""
    path = tmp_path / "places"
    path.write_text("127.0.0.1 = place:counter, topic:tea\n")
    daemon = make_daemon(f"[host lobby]\nhere = {WIFI}, geo:u281zd\n[host bar]\nhere_map = {path}\n"
                         "[host attic]\nprofile = v2:wifi=64/2\nhere = geo:u281zd\n")
    with daemon.client() as away, daemon.administrator() as inside:
        def note(client, labels, **fields):
            return client.call(wire.deposit_of(rng, labels, **fields)).without_here

        def counted():
            figures = {figure.name: figure.value for figure in inside.call(pb.Stats()).figures}
            return figures["deposit_without_here_total"]

        assert not note(away, ["topic:a"])
        assert note(away, ["topic:a", "place:counter"], host="bar")
        assert not note(away, ["topic:a", "place:counter", "topic:tea"], host="bar")
        assert counted() == 1
        assert note(inside, ["topic:a", WIFI]) and note(inside, ["topic:a"])
        assert not note(inside, ["topic:a", WIFI, "geo:u281zd"])
        assert not note(inside, ["wifi:b"], host="attic", profile="v2:wifi=64/2")
        assert counted() == 3
        twice = wire.deposit_of(rng, ["topic:b"])
        assert inside.call(twice).without_here and inside.call(twice).duplicate
        assert counted() == 4


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
        expected = ["geo:u281zd", WIFI, f"{WIFI}@2", f"{WIFI}@3"]
        assert list(client.receive().here_changed.labels) == expected
        assert scan.run("wlan8", path).returncode == 1
        assert labels_of(client) == expected
    assert scan.left() == ["here"]


def test_a_scan_of_many(watched, tmp_path):
    """The strongest 32 go into the file, wherever they stand in the scan, and the log hears nothing of the others."""
    daemon, path = watched()
    scan = Scan(tmp_path)
    seen = "".join(f"BSS 10:22:33:44:55:{i:02x}(on wlan7)\n\tsignal: {i - 145}.00 dBm\n" for i in range(71))
    scan.write("iw", f"#!/bin/sh\ncat <<'END'\n{seen}END\n")
    with daemon.client() as client:
        done = scan.run("wlan7", path, "geo:u281zd")
        assert (done.returncode, done.stderr) == (0, "")
        labels = list(client.receive().here_changed.labels)
    assert labels[0] == "geo:u281zd" and len(labels) <= 51
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
    waits = f"#!/bin/sh\necho >'{tmp_path}/runs'\nread -r _ <'{tmp_path}/goes_on'\n"
    scan.write(stopped, waits + {"iw": IW.removeprefix("#!/bin/sh\n"), "hearsay": ""}[stopped])
    here = tmp_path / "here"
    here.write_text("geo:u281zd\n")
    with subprocess.Popen(["sh", scan.SCRIPT, "wlan7", str(here), "geo:u1"], **scan.options) as process:
        assert (tmp_path / "runs").read_text() == "\n"  # waits until the program runs
        process.send_signal(number)
        (tmp_path / "goes_on").write_text("\n")
        assert process.wait(wire.PATIENCE) == 1
    assert here.read_text() == "geo:u281zd\n" and scan.left() == ["here"]


# --- the command ----------------------------------------------------------------------------------


def texts(daemon, *words):
    """The texts that a query finds, in its order."""
    code, out, err = cli(daemon, *words, "--json")
    assert code in (0, 1), err
    return [json.loads(line)["text"] for line in out.splitlines()]


def test_deposit_and_query_add_the_here_labels(make_local):
    """To what the user gives, and alone; the command says what it added. Not with --no-here."""
    daemon = make_local(f"[host lobby]\nhere = geo:u281zd, {WIFI}\n[host attic]\n"
                        "here_map = /nonexistent\n")
    said = f"hearsay: at geo:u281zd, {WIFI}\n"
    code, _, err = cli(daemon, "deposit", "--topic", "Coffee", "fresh", "pot")
    assert (code, err) == (0, said)
    code, out, err = cli(daemon, "query", "--json")
    assert (code, err) == (0, said)
    found = json.loads(out)
    phi, one = wire.phi_similarity(wire.filter_of(["geo:u281zd", WIFI]),
                                   wire.filter_of(["geo:u281zd", WIFI, "topic:coffee"]), wire.PROFILE)
    assert found["text"] == "fresh pot"
    assert abs(found["distance"] - (1 - phi / one)) < 1e-5
    code, out, _ = cli(daemon, "query", "--topic", "coffee", "--json")
    assert code == 0 and json.loads(out)["distance"] == 0
    code, out, err = cli(daemon, "query", "--no-here", "--topic", "coffee", "--json")
    assert (code, err) == (0, "") and json.loads(out)["distance"] > 0
    assert cli(daemon, "deposit", "--no-here", "--topic", "tea", "text")[::2] == (0, "")
    for words, is_without in ((["--no-here"], True), ([], False)):
        code, out, _ = cli(daemon, "deposit", *words, "--topic", "tea", "--json", "text")
        assert code == 0 and json.loads(out)["without_here"] is is_without
    # Nothing is known of the attic, but one's own labels are enough.
    for words in (["query", "--host", "attic"], ["deposit", "--host", "attic", "text"]):
        code, out, err = cli(daemon, *words)
        assert (code, out) == (2, "") and "does not say what is around here" in err
    assert cli(daemon, "deposit", "-l", "a:1", "--host", "attic", "text")[::2] == (0, "")
    for words in (["query", "--no-here"], ["deposit", "--no-here", "text"]):
        code, out, err = cli(daemon, *words)
        assert (code, out) == (2, "") and "the context is empty" in err


def test_a_printed_distance_finds_its_message(make_local, rng):
    """By each metric: the distance of a result, given back as --max-distance, finds the message."""
    daemon = make_local("[host default]\nhere = place:cafe-jules\n")
    labels = [f"wifi:{number}" for number in range(30)]
    lines = [json.dumps({"labels": rng.sample(labels, rng.randint(1, 20)), "text": str(number)})
             for number in range(25)]
    assert cli(daemon, "import", "-", stdin="\n".join(lines) + "\n")[0] == 0
    asked = [word for label in rng.sample(labels, 8) for word in ("-l", label)]
    for metric in ("bits", "phi"):
        query = ["query", "--no-here", *asked, "--metric", metric, "-k", "100", "--json"]
        _, out, _ = cli(daemon, *query, "--max-distance", "1")
        found = {line["text"]: line["distance"] for line in map(json.loads, out.splitlines())}
        assert len(found) == 25
        for text, distance in found.items():
            within = texts(daemon, *query[:-1], "--max-distance", f"{distance:.6f}")
            assert text in within, (metric, distance)


def test_many_here_labels_are_counted(make_local, tmp_path):
    """The command names some, and says how many more there are; those that the profile does not take are
    left out."""
    path = tmp_path / "here"
    path.write_text("geo:u281zd\n" + "".join(f"wifi:00:00:00:00:00:{i:02x}\n" for i in range(9)))
    daemon = make_local(f"[host lobby]\nprofile = v2:wifi=320/2\nhere_file = {path}\n")
    code, _, err = cli(daemon, "deposit", "text")
    assert code == 0
    assert err == ("hearsay: at wifi:00:00:00:00:00:00, wifi:00:00:00:00:00:01, wifi:00:00:00:00:00:02 "
                   "and 6 more labels\n")
    assert texts(daemon, "query") == ["text"]
    # What the user gives must fit, and the sentence says what would.
    code, _, err = cli(daemon, "query", "--topic", "coffee")
    assert code == 2 and "no section for the attribute" in err and "wifi" in err


def test_imports_and_batches_add_nothing(make_local, tmp_path):
    """What comes from elsewhere has the labels that it has."""
    daemon = make_local("[host lobby]\nhere = place:cafe-jules\n")
    line = json.dumps({"labels": ["place:elsewhere"], "text": "far"}) + "\n"
    code, _, err = cli(daemon, "import", "-", stdin=line)
    assert code == 0 and "at place:" not in err
    assert texts(daemon, "query") == []
    line = json.dumps({"labels": ["place:elsewhere"], "max_distance": 0}) + "\n"
    code, out, err = cli(daemon, "query", "--batch", "-", stdin=line)
    assert (code, err) == (0, "")
    assert [found["text"] for found in json.loads(out)["results"]] == ["far"]


def test_a_scan_of_the_device_goes_before_that_of_the_access_point(make_local, tmp_path):
    """200 here labels and a scan of 40 access points: the section is not half full, and what was left with the same
    scan alone is near. The same with the here labels alone. Who has the place is not told that labels are missing."""
    heard = [f"02:22:33:44:{n:02x}:{n * 7 % 256:02x}" for n in range(90)]
    here = tmp_path / "here"
    here.write_text("place:cafe-jules\n" + "".join(
        f"wifi:{heard[n]}{level}\n" for n in range(66) for level in ("", "@2", "@3")) + "topic:tea\n")
    scan = tmp_path / "scan"
    scan.write_text("".join(bssid.replace(":", "\\:") + f":{n}\n" for n, bssid in enumerate(heard[50:], 5)))
    daemon = make_local("[limits]\ndeposit_fill_max = 50%\nquery_fill_max = 50%\n"
                        f"[host default]\nhere_file = {here}\n")
    sees, near = ("--scan", str(scan)), ("--metric", "phi", "--max-distance", "0.7725")
    assert cli(daemon, "deposit", "--no-here", *sees, "a scan alone")[0] == 0
    for words, text in ((sees, "both"), ((), "the here labels")):
        code, out, err = cli(daemon, "deposit", *words, "--json", text)
        assert code == 0 and not json.loads(out)["without_here"], err
    assert sorted(texts(daemon, "query", *sees, *near)) == ["a scan alone", "both", "the here labels"]
    assert sorted(texts(daemon, "query", *near)) == ["both", "the here labels"]
    assert sorted(texts(daemon, "query", "--no-here", *sees, *near)) == ["a scan alone", "both"]


def test_the_note_where_only_access_points_are_here(make_local, rng):
    """One of them is enough, because a client's own scan may take the room of the others."""
    heard = [f"wifi:a4:2b:8c:01:02:{n:02x}" for n in range(4)]
    daemon = make_local(f"[host default]\nhere = {', '.join(heard[:3])}\n")
    with daemon.client() as client:
        assert client.call(wire.deposit_of(rng, [heard[3], "topic:tea"])).without_here
        assert not client.call(wire.deposit_of(rng, [heard[3], heard[1]])).without_here


SCAN = "".join(f"a4\\:2b\\:8c\\:01\\:02\\:0{i}:{percent}\n" for i, percent in enumerate((77, 48, 40, 32)))


@pytest.fixture
def three_clients(make_local, tmp_path):
    """What a page, an app that scans and adds the here labels, and one that only scans have left:
    (daemon, file with the scan)."""
    daemon = make_local("[host default]\nhere = place:cafe-jules\n")
    scan = tmp_path / "scan"
    scan.write_text(SCAN)
    topic, sees = ("--topic", "coffee"), ("--scan", str(scan))
    assert cli(daemon, "deposit", *topic, "A")[0] == 0
    assert cli(daemon, "deposit", *sees, *topic, "B")[0] == 0
    assert cli(daemon, "deposit", "--no-here", *sees, *topic, "C")[0] == 0
    return daemon, str(scan)


def test_people_at_one_access_point_find_one_another(three_clients):
    """Whatever their devices can sense: who has the here labels in common, or the scan."""
    daemon, scan = three_clients
    near = ("--metric", "phi", "--max-distance", "0.7725")
    assert sorted(texts(daemon, "query")) == ["A", "B"]
    assert sorted(texts(daemon, "query", *near)) == ["A", "B"]
    assert sorted(texts(daemon, "query", "--scan", scan, *near)) == ["A", "B", "C"]
    assert sorted(texts(daemon, "query", "--topic", "coffee")) == ["A", "B", "C"]


def test_a_query_by_one_thing_finds_all_that_have_it(three_clients):
    """One topic, one access point, one label: however far the rest is; others are not found. The here
    labels decide the order, and a distance that the user asks for is kept."""
    daemon, _ = three_clients
    assert cli(daemon, "deposit", "--topic", "tea", "D")[0] == 0
    wifi = "a4:2b:8c:01:02:01"
    assert texts(daemon, "query", "--topic", "coffee") == ["B", "A", "C"]  # the two with it tie: newest first
    assert sorted(texts(daemon, "query", "--no-here", "--topic", "coffee")) == ["A", "B", "C"]
    assert sorted(texts(daemon, "query", "--wifi", wifi)) == ["B", "C"]
    # It was seen less strongly by those who left the messages.
    assert sorted(texts(daemon, "query", "--wifi", f"{wifi}=-30")) == ["B", "C"]
    assert sorted(texts(daemon, "query", "-l", "topic:tea")) == ["D"]
    assert texts(daemon, "query", "--topic", "coffee", "--contains", f"wifi:{wifi}",
                 "--max-distance", "0.1") == ["B"]
    assert sorted(texts(daemon, "query", "--contains", "topic:coffee")) == ["A", "B", "C"]
    assert texts(daemon, "query", "--topic", "coffee", "--max-distance", "0.1") == ["B", "A"]
    # Two topics are two things: nothing is demanded.
    assert "D" in texts(daemon, "query", "--topic", "coffee", "--topic", "tea")


def test_a_topic_is_found_a_thousand_times(make_local, rng):
    """Among 3,000 contexts of 6 to 12 access points and up to 3 topics, the 1,000 that have the topic are
    found."""
    daemon = make_local("[limits]\nk = 1000\nframe = 128K\n[host default]\n")
    coffee = wire.bits_of(wire.filter_of(["topic:coffee"]))
    lines, having = [], set()
    while len(lines) < 3000:
        labels = [f"wifi:02:00:00:{rng.randrange(256):02x}:{rng.randrange(256):02x}:01"
                  for _ in range(rng.randint(6, 12))]
        labels += [f"topic:t{rng.randrange(1, 10)}" for _ in range(rng.randint(0, 2))]
        if len(lines) % 3 == 0:
            labels.append("topic:coffee")
            having.add(str(len(lines)))
        elif coffee & ~wire.bits_of(wire.filter_of(labels)) == 0:
            continue  # by chance its filter has the bits of the topic, too
        lines.append(json.dumps({"labels": labels, "text": str(len(lines))}))
    assert cli(daemon, "import", "-", stdin="\n".join(lines) + "\n")[0] == 0
    found = texts(daemon, "query", "--topic", "coffee", "--count", "1000")
    assert len(found) == 1000 and set(found) == having


def test_a_watch_by_one_thing_is_told_of_it(make_local, tmp_path):
    """`watch --topic` is told of a message with a scan and that topic, and not of others."""
    daemon = make_local("[host default]\n")
    scan = tmp_path / "scan"
    scan.write_text(SCAN)
    for topic, text in (("tea", "no"), ("coffee", "yes")):
        assert cli(daemon, "deposit", "--scan", str(scan), "--topic", topic, text)[0] == 0
    code, out, err = cli(daemon, "watch", "--topic", "coffee", "--since", "1h", "--count", "1",
                         "--json")
    assert code == 0 and json.loads(out)["text"] == "yes"
    assert re.fullmatch(r"hearsay: at place:[0-9a-f]{16}\n", err)


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
    assert cli(daemon, "deposit", "text")[0] == 0
    assert cli(daemon, "query", "--memory", memory)[0] == 0
