# SPDX-License-Identifier: Apache-2.0
"""examples/client.py and examples/loop.c against a real hearsayd, and against the command and the test vectors."""

import importlib.util
import json
import os
import re
import subprocess
import sys

import pytest

import cli_runner
import conftest
import hearsay_wire as wire
from hearsay_wire import pb

CLIENT = os.path.join(wire.ROOT, "examples", "client.py")
VECTORS = os.path.join(wire.ROOT, "tests", "vectors")
HERE = ["wifi:A4:2B:8C:01:02:03", "topic: Straße ", "geo:u281zd"]
ON = [word for label in HERE for word in ("-l", label)]
OF_THE_COMMAND = ["--wifi", "a4-2b-8c-01-02-03", "--topic", "strasse", "-l", "geo:u281zd"]
SCHEMA_FOLDER = os.path.dirname(pb.__file__)  # of hearsay_pb2


class Example:
    def __init__(self, address):
        self.command = [sys.executable, "-B", CLIENT, "--server", "{}:{}".format(*address)]
        self.env = {**os.environ, "PYTHONPATH": SCHEMA_FOLDER, "PYTHONIOENCODING": "utf-8"}

    def run(self, *args):
        done = subprocess.run([*self.command, *args], env=self.env, capture_output=True, text=True,
                              encoding="utf-8", timeout=wire.PATIENCE, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    def ok(self, *args):
        code, out, err = self.run(*args)
        assert code == 0, err
        return out.splitlines()

    def start(self, *args):
        return subprocess.Popen([*self.command, *args], env=self.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, encoding="utf-8")


@pytest.fixture
def example(daemon):
    return Example(daemon.address)


def local(make_daemon, config):
    return make_daemon(config, start=False).make_local().start()


def test_it_adds_the_here_labels(make_daemon, rng):
    """As they stand, and only those that the profile takes; a query by one label finds what has it."""
    daemon = local(make_daemon, "[host default]\nprofile = v2:place=64/4,wifi=512/4,topic=128/4\n"
                                "here = place:Bar, geo:u281zd\n")
    example = Example(daemon.address)
    sees = [word for number in range(30) for word in ("-l", f"wifi:02:00:00:00:00:{number:02x}")]
    example.ok("deposit", *sees, "-l", "topic:Jazz", "by the example")
    cli = cli_runner.of_daemon(daemon)
    assert [line["text"] for line in cli.json_lines("query", "--json")] == ["by the example"]
    cli.ok("deposit", "--topic", "jazz", "by the command")
    shown = example.ok("query", "-l", "topic:jazz")
    assert sorted(line.split(" ", 2)[2] for line in shown) == ["by the command", "by the example"]
    assert example.ok("query", "-l", "topic:tea") == []


def test_of_many_access_points_around_here_it_adds_what_the_command_adds(make_daemon, tmp_path):
    """A scan of 200 labels would fill the section too far; own labels go first."""
    scan = tmp_path / "here"
    scan.write_text("".join(f"wifi:02:00:00:00:01:{number:02x}{level}\n" for number in range(50)
                            for level in ("", "@2", "@3", "@4")), encoding="utf-8")
    daemon = local(make_daemon, f"[host default]\nhere_file = {scan}\n")
    for labels in (["topic:jazz"], [f"wifi:02:00:00:00:02:{number:02x}" for number in range(100)]):
        on = [word for label in labels for word in ("-l", label)]
        Example(daemon.address).ok("deposit", *on, "by the example")
        (found, *_) = cli_runner.of_daemon(daemon).json_lines("query", "--json", *on)
        assert found["intersection"] == found["union"], "both made the same filter"


def test_it_has_300_lines_at_most():
    with open(CLIENT, encoding="utf-8") as file:
        assert len(file.readlines()) <= 300


def test_deposit_query_withdraw(daemon, example):
    (line,) = example.ok("deposit", *ON, "Fresh pot ☕ upstairs\x1b[2J")
    message, token = line.split()
    assert re.fullmatch("[0-9a-f]{32}", message) and re.fullmatch("[0-9a-f]{64}", token)
    assert example.ok("query", *ON) == [rf"{message} 1.00 Fresh pot ☕ upstairs\x1b[2J"]
    code, _, err = example.run("withdraw", message, "00" * 32)
    assert code == 1 and "FORBIDDEN" in err
    example.ok("withdraw", message, token)
    assert example.ok("query", *ON) == []


def test_the_command_and_the_example_find_each_others_messages(daemon, example):
    cli = cli_runner.of_daemon(daemon)
    cli.ok("deposit", *OF_THE_COMMAND, "by the command")
    example.ok("deposit", *ON, "by the example")
    found = cli.json_lines("query", "--json", *OF_THE_COMMAND)
    assert {each["text"] for each in found} == {"by the command", "by the example"}
    assert {each["distance"] for each in found} == {0}, "both made the same filter"
    assert len(example.ok("query", *ON)) == 2


def test_an_access_point_is_found_however_strong(daemon, example):
    """Its labels are one thing that is asked for, and the message need not have them all."""
    one = "wifi:02:00:00:00:00:01"
    example.ok("deposit", "-l", one, "far from it")
    example.ok("deposit", "-l", "wifi:02:00:00:00:00:02", "elsewhere")
    for asked in ([f"{one}@2"], [one, f"{one}@2"]):
        found = example.ok("query", *[word for label in asked for word in ("-l", label)])
        assert [line.split(" ", 2)[2] for line in found] == ["far from it"]


def test_watch(daemon, example):
    """Old messages stay away, a new one comes."""
    example.ok("deposit", *ON, "before")
    watching = example.start("watch", *ON)
    try:
        assert watching.stderr.readline() == "watching\n"
        (line,) = example.ok("deposit", *ON, "now")
        assert watching.stdout.readline() == f"{line.split()[0]} 1.00 now\n"
    finally:
        watching.kill()
        watching.communicate()


def test_watch_goes_on_in_the_next_epoch(make_daemon):
    daemon = local(make_daemon, "[host default]\nepoch_length = 2s\nepoch_keep = 2m\n")
    example = Example(daemon.address)
    watching = example.start("watch", *ON)
    try:
        assert watching.stderr.readline() == "watching\n"
        with daemon.client() as client:
            first = client.welcome.hosts[0].epoch.number
            while not (push := client.receive()).HasField("epoch_changed"):
                pass
            assert push.epoch_changed.epoch.number > first
        (line,) = example.ok("deposit", *ON, "later")
        assert watching.stdout.readline() == f"{line.split()[0]} 1.00 later\n"
    finally:
        watching.kill()
        watching.communicate()


def test_on_site_it_uses_the_key_of_the_epoch(make_daemon):
    daemon = local(make_daemon, "[host default]\nepoch_length = 365d\nepoch_keep = 365d\n")
    message = Example(daemon.address).ok("deposit", *ON, "inside")[0].split()[0]
    with daemon.client() as client:
        number = client.welcome.hosts[0].epoch.number
        assert client.call(pb.Get(id=bytes.fromhex(message))).epoch == number
    found = cli_runner.of_daemon(daemon).json_lines("query", "--json", *OF_THE_COMMAND)
    assert [(each["text"], each["distance"]) for each in found] == [("inside", 0)]


@pytest.mark.parametrize(("args", "sentence"), [
    (["query", "-l", "coffee"], "'coffee' is no label"),
    (["deposit", "-l", "topic:coffee", "x" * 5000], "TOO_LARGE"),
    (["--server", "localhost", "query", "-l", "topic:coffee"], "localhost is no HOST:PORT, such as 127.0.0.1:7117"),
    (["--host", "nowhere", "query", "-l", "topic:coffee"], "the server has no host nowhere"),
])
def test_it_says_what_is_wrong(example, args, sentence):
    code, _, err = example.run(*args)
    assert code == 1 and sentence in err, err


def test_its_filters_are_those_of_the_vectors(monkeypatch):
    monkeypatch.syspath_prepend(SCHEMA_FOLDER)
    spec = importlib.util.spec_from_file_location("example_client", CLIENT)
    client = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(client)
    count = 0
    for name in ("labels.json", "sections.json", "keyed.json"):
        with open(os.path.join(VECTORS, name), encoding="utf-8") as file:
            contexts = json.load(file)["contexts"]
        for each in contexts:
            if each.get("group_key"):
                continue  # groups are left out
            key = bytes.fromhex(each["epoch_key"]) if each.get("epoch_key") else None
            made = client.filter_of(each["profile"], each["labels"], key)
            assert made.hex() == each["filter"], each
            count += 1
    assert count > 50


def test_the_loop_goes_on_after_the_server_went_away(daemon):
    """examples/loop.c leaves its message once, with the here labels, and gets what came while it was not connected:
    what has the topic, however far."""
    command = [conftest.program(os.environ["HEARSAY_LOOP"]), daemon.socket_path, "topic:tea", "Is there any?"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as loop:
        try:
            assert {loop.stdout.readline(), loop.stdout.readline()} == {"stored\n", "match Is there any?\n"}
            daemon.restart()
            cli = cli_runner.of_daemon(daemon)
            cli.ok("deposit", "--topic", "tea", "There is.")
            while (line := loop.stdout.readline()).startswith("lost: "):
                pass
            assert line == "match There is.\n"
            cli.ok("deposit", "--no-here", *(f"--topic={topic}" for topic in ("tea", *"abcdefghi")), "Elsewhere.")
            assert loop.stdout.readline() == "match Elsewhere.\n"
            assert len(cli.json_lines("query", "--json", "--topic", "tea")) == 3
            around = cli_runner.of_daemon(daemon, unix=True).json_lines("query", "--json")
            assert [found["text"] for found in around] == ["Is there any?"]
        finally:
            loop.kill()
    with open(os.path.join(wire.ROOT, "examples", "loop.c"), encoding="utf-8") as file:
        assert len(file.readlines()) <= 128
