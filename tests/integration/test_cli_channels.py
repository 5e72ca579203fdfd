# SPDX-License-Identifier: Apache-2.0
"""Channels: contexts by name, for hearsay query and deposit."""

import json
import os
import stat

import pytest

import cli_runner

HERE = ["geo:u281zd", "topic:coffee", "wifi:a4:2b:8c:01:02:03"]
ON = [word for label in HERE for word in ("-l", label)]


@pytest.fixture
def cli(daemon):
    return cli_runner.of_daemon(daemon)


def file_of(cli):
    return os.path.join(cli.home, ".config", "hearsay", "channels")


def texts(cli, *args):
    return [line["text"] for line in cli.json_lines("query", "--json", *args)]


def test_a_channel_is_its_context(cli):
    """What is left in a channel is found in it, and by its context; newest first, since a time."""
    assert cli.ok("channel", "save", "kitchen", *ON) == ""
    cli.ok("deposit", "--channel", "kitchen", "first")
    cli.ok("deposit", *ON, "second")
    found = texts(cli, "--channel", "kitchen", "--since", "12h", "--order", "time")
    assert found == ["second", "first"]
    assert sorted(texts(cli, *ON, "--max-distance", "0")) == ["first", "second"]
    lines = cli.json_lines("query", "--json", "--channel", "kitchen", "-l", "topic:more")
    assert all(line["distance"] > 0 for line in lines) and len(lines) == 2  # one label more


def test_list_and_remove(cli):
    assert cli.ok("channel", "list") == ""
    cli.ok("channel", "save", "b", *ON)
    cli.ok("channel", "save", "a", "--topic", "Tea", "--host", "default")
    assert cli.ok("channel", "list").splitlines() == [
        "a  topic:tea  host default", "b  " + " ".join(HERE)]
    assert cli.json_lines("channel", "list", "--json") == [
        {"name": "a", "labels": ["topic:tea"], "host": "default"}, {"name": "b", "labels": HERE}]
    cli.ok("channel", "save", "a", "--topic", "Cake")  # replaces
    assert cli.json_lines("channel", "list", "--json")[0] == {"name": "a", "labels": ["topic:cake"]}
    assert stat.S_IMODE(os.stat(file_of(cli)).st_mode) == 0o600
    assert os.listdir(os.path.dirname(file_of(cli))) == ["channels"]
    cli.ok("channel", "remove", "a")
    code, _, err = cli.run("channel", "remove", "a")
    assert code == 1 and 'no channel "a"' in err
    assert [line["name"] for line in cli.json_lines("channel", "list", "--json")] == ["b"]
    code, _, err = cli.run("query", "--channel", "a")
    assert code == 2 and "there are: b" in err


def test_a_channel_of_a_group(cli, tmp_path, monkeypatch):
    """It names the file with the secret, by its whole path, and never has the secret in it."""
    secret = tmp_path / "team"
    secret.write_text("correct horse battery staple\n")
    secret.chmod(0o600)
    monkeypatch.chdir(tmp_path)
    cli.ok("channel", "save", "team", *ON, "--group", "team")
    monkeypatch.chdir("/")
    cli.ok("deposit", "--channel", "team", "ours")
    cli.ok("deposit", *ON, "everyone's")
    assert texts(cli, "--channel", "team") == ["ours"]
    with open(file_of(cli), encoding="utf-8") as file:
        text = file.read()
    assert "battery" not in text and json.loads(text)["channels"]["team"]["group"] == str(secret)
    for wrong in ("-", "no such secret"):
        code, _, err = cli.run("channel", "save", "x", *ON, "--group", wrong)
        assert code == 2 and "name of a file" in err
    secret.unlink()
    code, _, err = cli.run("query", "--channel", "team")
    assert code == 2 and "cannot open" in err


@pytest.mark.parametrize("words,says", [
    ([], "save, list or remove"),
    (["sav", "x"], 'did you mean "save"'),
    (["save"], "name is missing"),
    (["save", "x"], "the context is empty"),
    (["save", "a/b", "-l", "a:b"], "is no name of a channel"),
    (["save", "x" * 64, "-l", "a:b"], "is no name of a channel"),
    (["save", "x", "y", "-l", "a:b"], "a word too many"),
    (["save", "x", "-l", "nothing"], "label"),
    (["list", "x"], "a word too many"),
    (["list", "-l", "a:b"], "only channel save"),
    (["remove"], "name is missing"),
])
def test_misuse(cli, words, says):
    code, out, err = cli.run("channel", *words)
    assert (code, out) == (2, "") and says in err
    assert not os.path.exists(file_of(cli))


@pytest.mark.parametrize("text,says", [
    ("{", "line 1"),
    ("[]", 'no object "channels"'),
    ('{"channels": {"a": {}}}', 'no "labels"'),
    ('{"channels": {"a": {"labels": [1]}}}', "not a string"),
    ('{"channels": {"a": {"labels": ["a:b"], "group": 1}}}', '"group" or "host"'),
    ('{"channels": {"a b": {"labels": ["a:b"]}}}', "no proper name"),
    ('{"channels": {}, "channels": {}}', "duplicate"),
])
def test_files_that_are_wrong_are_left_alone(cli, text, says):
    os.makedirs(os.path.dirname(file_of(cli)))
    with open(file_of(cli), "w", encoding="utf-8") as file:
        file.write(text)
    for words in (["channel", "list"], ["channel", "save", "x", *ON], ["query", "--channel", "a"]):
        code, _, err = cli.run(*words)
        assert code == 1 and says in err, err
    with open(file_of(cli), encoding="utf-8") as file:
        assert file.read() == text


def test_without_a_home_there_is_no_place(cli):
    environment = cli.environment(HOME="", XDG_CONFIG_HOME="relative")
    code, _, err = cli.run_plain("channel", "list", env=environment)
    assert code == 1 and "no place" in err


def test_a_channel_is_watched(cli):
    cli.ok("channel", "save", "kitchen", *ON)
    cli.ok("deposit", "--channel", "kitchen", "there already")
    lines = cli.json_lines("watch", "--channel", "kitchen", "--since", "1h", "--count", "1", "--json")
    assert [line["text"] for line in lines] == ["there already"]
    code, _, err = cli.run("watch", "--channel", "cellar")
    assert code == 2 and "there are: kitchen" in err
