# SPDX-License-Identifier: Apache-2.0
"""The hearsay command where a host has epochs: keys are kept for those who were on site, and used
as long as their epochs live."""

import json
import os
import shutil
import stat
import subprocess
import sys

import pytest

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb

VECTORS = os.path.join(wire.ROOT, "tests", "vectors")
sys.path.insert(0, VECTORS)
import keyed  # noqa: E402 (it lies beside the vectors)

HERE = ["wifi:a4:2b:8c:01:02:03", "wifi:a4:2b:8c:01:02:04", "geo:u281zd", "topic:coffee"]
ON = [word for label in HERE for word in ("-l", label)]
LONG = "[host default]\nepoch_length = 365d\nepoch_keep = 365d\n"


def local(make_daemon, config):
    """A daemon whose TCP listener is local and whose Unix socket is not."""
    return make_daemon(config, start=False).make_local().start()


@pytest.fixture
def daemon(make_daemon):
    return local(make_daemon, LONG)


def texts(cli, *args):
    code, out, err = cli.run("query", "--json", "-k", "100", *ON, *args)
    assert code in (0, 1), err
    return sorted(json.loads(line)["text"] for line in out.splitlines())


def deposit_in_next(cli, client, text):
    """Waits for the next epoch, and deposits in it. Its number, or that of the one after."""
    while client.receive().WhichOneof("body") != "epoch_changed":
        pass
    return cli.json_lines("deposit", "--json", *ON, text)[0]["epoch"]


def keys_of(cli):
    return os.path.join(cli.home, "state", "hearsay", "keys")


def test_on_site_it_is_the_current_epoch(daemon):
    """deposit and query take the current epoch by themselves; the open one where they are told."""
    cli = cli_runner.of_daemon(daemon)
    with daemon.client() as client:
        number = client.welcome.hosts[0].epoch.number
    told = cli.json_lines("deposit", "--json", *ON, "inside")[0]
    assert told["epoch"] == number
    assert cli.json_lines("deposit", "--json", *ON, "--epoch", "open", "outside")[0]["epoch"] == 0
    assert texts(cli) == ["inside", "outside"]
    assert texts(cli, "--epoch", "current") == ["inside"]
    assert texts(cli, "--epoch", "open") == ["outside"]
    assert texts(cli, "--contains", HERE[0]) == ["inside", "outside"]
    with daemon.client() as client:
        got = client.call(pb.Get(id=bytes.fromhex(told["id"])))
        assert (got.epoch, got.payload) == (number, b"inside")


def test_keys_are_kept_for_later(daemon):
    """From elsewhere, who was on site finds what was said then; who was not finds nothing. Without
    TLS nothing is deposited with a stored key: anybody may have given it."""
    inside = cli_runner.of_daemon(daemon)
    inside.ok("deposit", *ON, "secret")
    status = os.stat(keys_of(inside))
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(keys_of(inside))).st_mode) == 0o700
    outside = cli_runner.of_daemon(daemon, unix=True)  # the same home
    assert texts(outside) == ["secret"]
    for command in (["deposit"], ["deposit", "--epoch", "current"]):
        code, _, err = outside.run(*command, *ON, "later")
        assert code == 2 and "--epoch open" in err
    code, _, err = outside.run("query", *ON, "--epoch", "current")
    assert code == 2 and "without --tls" in err
    assert texts(inside) == ["secret"]
    stranger = cli_runner.Cli(daemon.socket_path, os.path.join(daemon.directory, "elsewhere"))
    assert texts(stranger) == []
    assert not os.path.exists(keys_of(stranger))
    code, _, err = stranger.run("deposit", *ON, "--epoch", "current", "x")
    assert code == 2 and "on site" in err
    os.remove(keys_of(inside))
    assert texts(outside) == []


def test_groups_and_epochs_together(daemon, tmp_path):
    secret = tmp_path / "team"
    secret.write_text("correct horse battery staple\n")
    secret.chmod(0o600)
    cli = cli_runner.of_daemon(daemon)
    cli.ok("deposit", *ON, "--group", str(secret), "ours")
    assert texts(cli, "--group", str(secret)) == ["ours"]
    question = '{"labels": ["%s"]}\n' % '", "'.join(HERE)
    answer = cli.json_lines("query", "--batch", "-", "--group", str(secret), stdin=question)[0]
    assert [result["text"] for result in answer["results"]] == ["ours"]


def test_epochs_that_were_are_asked_in(make_daemon):
    """Messages of several epochs are found by one who was there in all; an epoch that is over is
    not asked in any more."""
    daemon = local(make_daemon, "[host default]\nepoch_length = 1s\nepoch_keep = 60s\n")
    cli = cli_runner.of_daemon(daemon)
    with daemon.client() as client:
        epochs = {deposit_in_next(cli, client, f"m{i}") for i in range(3)}
    assert len(epochs) == 3
    found = texts(cli)
    assert found == ["m0", "m1", "m2"]
    daemon.stop()  # the epochs of 5 s ago are over when it is back
    daemon.configure("[host default]\nepoch_length = 0\n")
    daemon.make_local()
    daemon.start()
    assert texts(cli_runner.of_daemon(daemon)) == found  # the same home


def test_a_store_that_lost_epochs(make_daemon):
    """After an old backup was put back the client asks in what there is, and says so."""
    daemon = local(make_daemon, "[host default]\nepoch_length = 1s\nepoch_keep = 60s\n")
    daemon.stop()
    backup = daemon.data + ".old"
    shutil.copytree(daemon.data, backup)
    daemon.start()
    cli = cli_runner.of_daemon(daemon)
    with daemon.client() as client:
        for _ in range(3):
            deposit_in_next(cli, client, "gone")
    daemon.stop()
    shutil.rmtree(daemon.data)
    shutil.move(backup, daemon.data)
    daemon.start()
    cli = cli_runner.of_daemon(daemon)
    cli.ok("deposit", *ON, "--epoch", "open", "here")
    code, out, err = cli.run("query", *ON)
    assert code == 0 and "here" in out and "lost epochs" in err


def test_a_damaged_memory_is_done_without(daemon):
    cli = cli_runner.of_daemon(daemon)
    cli.ok("deposit", *ON, "inside")
    with open(keys_of(cli), "r+b") as file:
        file.seek(40)
        file.write(b"\xff\xff")
    with open(keys_of(cli), "rb") as file:
        before = file.read()
    code, out, err = cli.run("query", *ON)
    assert code == 0 and "inside" in out and "epochs of before" in err
    with open(keys_of(cli), "rb") as file:
        assert file.read() == before


def test_options_that_make_no_sense(make_daemon):
    code, _, err = cli_runner.of_daemon(make_daemon()).run("query", *ON, "--epoch", "current")
    assert code == 2 and "has no epochs" in err


# --- import ---------------------------------------------------------------------------------------

class Witness:
    """A client on site with an encoder of its own: it has the keys as they are given out."""

    def __init__(self, client):
        self.client = client
        epoch = client.welcome.hosts[0].epoch
        self.epochs = {0: (), epoch.number: (epoch.key,)}
        self.current = epoch.number

    def learn(self, response):
        if response.WhichOneof("body") == "epoch_changed":
            epoch = response.epoch_changed.epoch
            self.epochs[epoch.number], self.current = (epoch.key,), epoch.number

    def await_next(self):
        """Until the server tells of an epoch later than those known; its number."""
        before = self.current
        while self.current == before:
            pushes, self.client.pushes = self.client.pushes, []
            for response in pushes:
                self.learn(response)
            if self.current == before:
                self.learn(self.client.receive())
        return self.current

    def find(self, labels, group=()):
        """What has exactly this context, in any epoch whose key is known: (epoch, payload)."""
        parts = [pb.QueryPart(epoch=number, filter=wire.filter_of(labels, keys=(*group, *keys)))
                 for number, keys in self.epochs.items()]
        found = self.client.call(pb.Query(k=100, parts=parts, max_distance=0, with_payload=True))
        return sorted((result.epoch, result.payload) for result in found.results)


def import_lines(cli, lines, *args, code=0):
    """The summary and standard error of an import of these lines."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    got, out, err = cli.run("import", "--json", *args, "-", stdin=text)
    assert got == code, err
    return json.loads(out), err


def counts(told):
    return told["deposited"], told["duplicates"], told["skipped"]


def test_import_goes_where_deposit_goes(daemon):
    """Lines with labels: to the current epoch where its key is known, or where they say; the filter
    is that of an independent encoder."""
    cli = cli_runner.of_daemon(daemon)
    lines = [{"labels": [f"topic:{i}", *HERE], "text": f"m{i}"} for i in range(4)]
    lines[1]["epoch"] = 0
    lines[2]["epoch"] = 10**9
    told, err = import_lines(cli, lines, code=1)
    assert counts(told) == (3, 0, 1) and "line 3: the key of its epoch is not known" in err
    with daemon.client() as client:
        witness = Witness(client)
        number = witness.current
        for i, epochs in enumerate([[number], [0], [], [number]]):
            assert witness.find([f"topic:{i}", *HERE]) == [(e, f"m{i}".encode()) for e in epochs]
        told, _ = import_lines(cli, lines, code=1)
        assert counts(told) == (0, 3, 1)
        # An epoch that is named is that, whatever the option says; the option is for the others.
        lines = [{"labels": ["topic:named"], "text": "x", "epoch": number},
                 {"labels": ["topic:open"], "text": "y"}]
        assert counts(import_lines(cli, lines, "--epoch", "open")[0]) == (2, 0, 0)
        assert witness.find(["topic:named"]) == [(number, b"x")]
        assert witness.find(["topic:open"]) == [(0, b"y")]
        # From elsewhere: who knows the key, and who does not.
        line = [{"labels": ["topic:later"], "text": "z"}]
        _, err = import_lines(cli_runner.of_daemon(daemon, unix=True), line, code=1)
        assert witness.find(["topic:later"]) == [] and "without --tls" in err
        stranger = cli_runner.Cli(daemon.socket_path, os.path.join(daemon.directory, "elsewhere"))
        code, _, err = stranger.run("import", "--epoch", "current", "-", stdin="")
        assert code == 2 and "on site" in err
        import_lines(stranger, [{"labels": ["topic:stranger"], "text": "s"}])
        assert witness.find(["topic:stranger"]) == [(0, b"s")]


def test_import_for_a_group(daemon, tmp_path):
    """Keyed with both and sealed, so that the group's members read it and nobody else finds it; a
    repeated run finds its own, and one for others is another."""
    with open(os.path.join(VECTORS, "keyed.json"), encoding="utf-8") as vectors:
        groups = json.load(vectors)["groups"][:2]
    for number, group in enumerate(groups):
        secret = tmp_path / f"group{number}"
        secret.write_text(group["secret"] + "\n", encoding="utf-8")
        secret.chmod(0o600)
    cli = cli_runner.of_daemon(daemon)
    lines = [{"labels": [f"topic:{i}", *HERE], "text": f"g{i}", "type": "text/x-tea"}
             for i in range(3)]
    filtered = {"filter": "AAAA", "profile": wire.PROFILE, "text": "x"}
    told, err = import_lines(cli, [*lines, filtered], "--group", str(tmp_path / "group0"), code=1)
    assert counts(told) == (3, 0, 1) and "line 4" in err and "--group takes lines with labels" in err
    assert counts(import_lines(cli, lines, "--group", str(tmp_path / "group0"))[0]) == (0, 3, 0)
    assert counts(import_lines(cli, lines, "--group", str(tmp_path / "group1"))[0]) == (3, 0, 0)
    assert counts(import_lines(cli, lines)[0]) == (3, 0, 0)
    with daemon.client() as client:
        witness = Witness(client)
        for i, group in ((i, group) for i in range(3) for group in groups):
            key = bytes.fromhex(group["group_key"])
            labels = [f"topic:{i}", *HERE]
            parts = [pb.QueryPart(epoch=witness.current, filter=wire.filter_of(
                labels, keys=(key, *witness.epochs[witness.current])))]
            found = client.call(pb.Query(k=9, parts=parts, max_distance=0, with_payload=True))
            (result,) = found.results
            assert result.media_type == keyed.SEALED_TYPE
            assert keyed.unseal(key, result.id, result.payload) == (
                "text/x-tea", f"g{i}".encode())
    assert texts(cli, "--group", str(tmp_path / "group1")) == ["g0", "g1", "g2"]


BRIEF = "[host default]\nepoch_length = 1s\nepoch_keep = 60s\n"


def start(cli, *args):
    return cli.start(*args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def tell(process, line):
    process.stdin.write((json.dumps(line) + "\n").encode())
    process.stdin.flush()


def test_an_import_goes_on_as_epochs_turn(make_daemon):
    """One connection over many epochs: each line goes to an epoch whose key its filter has, and
    soon to the one that has begun. Repeated later, it finds its own in epochs of before."""
    daemon = local(make_daemon, BRIEF)
    cli = cli_runner.of_daemon(daemon)
    lines = [{"labels": [f"topic:{i}", "topic:tea"], "text": f"m{i}"} for i in range(6)]
    went = []
    with daemon.client() as client:
        witness = Witness(client)
        process = start(cli, "import", "--json", "-")
        for i, line in enumerate(lines):
            if i % 2 == 0:  # the answer to the line after this one comes after the news
                began = witness.await_next()
            tell(process, line)
            wire.wait_until(lambda: witness.find(line["labels"]), "the message")
            went.append(witness.find(line["labels"])[0][0])
            assert i % 2 == 0 or went[-1] >= began
        out, err = process.communicate(timeout=wire.PATIENCE)
    assert process.returncode == 0, err
    assert counts(json.loads(out)) == (6, 0, 0)
    assert len(set(went)) >= 3 and 0 not in went
    assert counts(import_lines(cli, lines)[0]) == (0, 6, 0)


def test_questions_in_a_row_as_epochs_turn(make_daemon, rng):
    """A batch that stays connected asks in the epochs that have begun meanwhile, and still in those
    that it knew."""
    daemon = local(make_daemon, BRIEF)
    cli = cli_runner.of_daemon(daemon)
    question = {"labels": HERE, "k": 100}
    with daemon.client() as client:
        witness = Witness(client)
        process = start(cli, "query", "--batch", "-")

        def ask():
            tell(process, question)
            answer = json.loads(process.stdout.readline())
            return {result["text"] for result in answer["results"]}

        assert ask() == set()
        texts_left = set()
        for i in range(3):
            number = witness.await_next()
            client.call(pb.Deposit(epoch=number, id=wire.new_id(rng), payload=f"m{i}".encode(),
                                   filter=wire.filter_of(HERE, keys=witness.epochs[number])))
            texts_left.add(f"m{i}")
            ask()  # its answer comes after the news
            assert ask() == texts_left
        _, err = process.communicate(timeout=wire.PATIENCE)
    assert process.returncode == 0, err


# --- query --memory -------------------------------------------------------------------------------

STATIONS = [[f"wifi:s{s}-{i}" for i in range(4)] for s in range(4)]


def blend(stations, keys):
    bits = 0
    for labels in stations:
        bits |= wire.bits_of(wire.filter_of(labels, keys=keys))
    return bits


def remember(cli, path, stations):
    for labels in stations:
        words = [word for label in labels for word in ("-l", label)]
        cli.ok("here", "--memory", str(path), "--rounds", "3", *words)


def near(cli, path, *args):
    lines = cli.json_lines("query", "--json", "-k", "100", "-d", "1", "--no-here", "--memory", str(path),
                           *args)
    return {line["text"]: (line["intersection"], line["union"]) for line in lines
            if "text" in line}  # what is sealed has none


def shape(asked, labels, keys):
    bits = wire.bits_of(wire.filter_of(labels, keys=keys))
    return (asked & bits).bit_count(), (asked | bits).bit_count()


def test_a_memory_asks_in_all_epochs(make_daemon, tmp_path):
    """Places of before are looked for in epochs that began before and after one was there, and in
    the open, with the bits that an independent encoder gives."""
    daemon = local(make_daemon, BRIEF)
    cli, path = cli_runner.of_daemon(daemon), tmp_path / "way"
    remember(cli, path, STATIONS)  # of four the last three stay
    station = [word for label in STATIONS[2] for word in ("-l", label)]
    wanted, asked_in = {}, set()
    with daemon.client() as client:
        witness = Witness(client)
        for epoch in ("open", "current", "current", "current"):
            witness.await_next()
            told = cli.json_lines("deposit", "--json", "--no-here", *station, "--epoch", epoch, "x")[0]
            while told["epoch"] not in witness.epochs:  # it may have begun since
                witness.await_next()
            keys = witness.epochs[told["epoch"]]
            asked_in.add(told["epoch"])
            wanted[told["id"]] = shape(blend(STATIONS[1:], keys), STATIONS[2], keys)
    assert len(asked_in) == 4
    lines = cli.json_lines("query", "--json", "-k", "100", "-d", "1", "--no-here", "--memory", str(path))
    assert {line["id"]: (line["intersection"], line["union"]) for line in lines} == wanted


def test_a_memory_in_the_current_epoch_and_for_a_group(daemon, tmp_path):
    """With --epoch current and --group a memory asks with the keys of both; with a context of now
    that is in it, too."""
    cli, path = cli_runner.of_daemon(daemon), tmp_path / "way"
    with open(os.path.join(VECTORS, "keyed.json"), encoding="utf-8") as vectors:
        group = json.load(vectors)["groups"][0]
    secret = tmp_path / "team"
    secret.write_text(group["secret"] + "\n", encoding="utf-8")
    secret.chmod(0o600)
    remember(cli, path, STATIONS[:2])
    with daemon.client() as client:
        epoch = client.welcome.hosts[0].epoch
    keys = (bytes.fromhex(group["group_key"]), epoch.key)
    station = [word for label in STATIONS[1] for word in ("-l", label)]
    cli.ok("deposit", "--no-here", *station, "--group", str(secret), "ours")
    cli.ok("deposit", "--no-here", *station, "inside")
    cli.ok("deposit", "--no-here", *station, "--epoch", "open", "outside")
    assert near(cli, path, "--epoch", "current") == {
        "inside": shape(blend(STATIONS[:2], keys[1:]), STATIONS[1], keys[1:])}
    assert set(near(cli, path, "--epoch", "open")) == {"outside"}
    assert near(cli, path, "--group", str(secret)) == {
        "ours": shape(blend(STATIONS[:2], keys), STATIONS[1], keys)}
    assert near(cli, path, *ON, "--group", str(secret)) == {
        "ours": shape(blend([*STATIONS[:2], HERE], keys), STATIONS[1], keys)}
