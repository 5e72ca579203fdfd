# SPDX-License-Identifier: Apache-2.0
"""Answers to messages, by the command: left, read, watched, carried over, and gone with their message."""

import base64
import json
import subprocess

import pytest

import cli_runner
import hearsay_wire as wire

UNKNOWN = "00" * 16


def leave(cli, text, *args):
    """The id and the token of a new message; --json line."""
    (left,) = cli.json_lines("deposit", "--json", *args, text)
    return left["id"], left["withdraw_token"]


def answers(cli, parent):
    code, out, err = cli.run("get", "--answers", "--json", parent)
    assert code in (0, 1) and (out == "") == (code == 1) == ("nothing found" in err), err
    return [json.loads(line)["text"] for line in out.splitlines()]


def test_a_message_and_its_answers(daemon):
    cli = cli_runner.of_daemon(daemon, unix=True)
    parent, token = leave(cli, "who has a ladder?", "-l", "topic:help")
    assert answers(cli, parent) == []
    first, _ = leave(cli, "me", "--re", parent)
    leave(cli, "and I have a longer one", "--re", f"http://hearsay.lan/m/{parent}", "--ttl", "1h")
    assert answers(cli, parent) == ["me", "and I have a longer one"]
    (found,) = cli.json_lines("query", "--json", "-l", "topic:help")
    assert (found["id"], found["answer_count"]) == (parent, 2)
    (got,) = cli.json_lines("get", "--json", first)
    assert got["answers"] == parent and "answer_count" not in got
    table = cli.ok("get", "--answers", "--ids", parent)
    assert first in table and "me" in table

    daemon.kill()  # what was acknowledged is there again
    daemon.start()
    assert answers(cli, parent) == ["me", "and I have a longer one"]
    assert "problem" not in cli.ok("admin", "check")
    cli.ok("withdraw", parent, token)
    code, _, err = cli.run("get", "--answers", parent)
    assert code == 1 and "no message with this id" in err
    assert cli.run("get", first)[0] != 0
    daemon.restart()
    assert cli.run("get", first)[0] != 0


def test_what_cannot_be_answered(daemon):
    cli = cli_runner.of_daemon(daemon, unix=True)
    parent, _ = leave(cli, "a question", "-l", "topic:help")
    answer, _ = leave(cli, "an answer", "--re", parent)

    def refused(*args):
        code, _, err = cli.run("deposit", *args, "text")
        return code, err

    assert refused("--re", UNKNOWN)[0] == 1
    code, err = refused("--re", answer)
    assert code == 4 and "is an answer" in err
    code, err = refused("--re", parent[:-2])
    assert code == 2 and "32 hexadecimal digits" in err
    for args in (["-l", "topic:x"], ["--epoch", "open"]):
        code, err = refused("--re", parent, *args)
        assert code == 2 and "--re takes no context" in err
    cli.ok("admin", "hide", parent)
    code, err = refused("--re", parent)
    assert code == 1 and "no message with this id" in err
    assert cli.run("watch", "--re", parent, "--count", "1")[0] == 1
    cli.ok("admin", "restore", parent)
    assert answers(cli, parent) == ["an answer"]
    cli.ok("admin", "hide", answer)
    assert answers(cli, parent) == []
    (hidden,) = cli.json_lines("admin", "list", "--hidden", "--json")
    assert (hidden["id"], hidden["answers"]) == (answer, parent)
    assert f"hidden, answers {parent}" in cli.ok("admin", "list", "--hidden")


@pytest.mark.parametrize("profile, least", [("v2:512/4", "1%"), ("v2:wifi=48/2,topic=16/2", "0%")])
def test_an_answer_needs_no_context(make_daemon, profile, least):
    """Few bits are no fault, because nobody finds an answer by its filter; no attribute needs a section."""
    daemon = make_daemon(f"[limits]\ndeposit_fill_min = {least}\n[host default]\nprofile = {profile}\n")
    cli = cli_runner.of_daemon(daemon, unix=True)
    parent, _ = leave(cli, "who has a ladder?", "-l", "topic:help", "-l", "topic:tools")
    leave(cli, "me", "--re", parent)
    assert answers(cli, parent) == ["me"]
    (answer,) = [line for line in cli.json_lines("export") if "answers" in line]
    assert set(base64.b64decode(answer["filter"])) == {0}


def test_hidden_answers_take_no_place(make_daemon):
    """Whoever floods a message with answers does not keep others from it once the operator has hidden them."""
    cli = cli_runner.of_daemon(make_daemon("[limits]\nk = 2\n"), unix=True)
    parent, _ = leave(cli, "a question", "-l", "topic:help")
    flood = [leave(cli, "no", "--re", parent)[0] for _ in range(2)]
    code, _, err = cli.run("deposit", "--re", parent, "yes")
    assert code != 0 and "there may be no more" in err
    cli.ok("admin", "hide", flood[0])
    leave(cli, "yes", "--re", parent)
    assert cli.run("deposit", "--re", parent, "yes, too")[0] != 0
    cli.ok("admin", "remove", flood[1])
    leave(cli, "yes, too", "--re", parent)
    assert answers(cli, parent) == ["yes", "yes, too"]
    cli.ok("admin", "restore", flood[0])
    code, out, err = cli.run("get", "--answers", parent)
    assert code == 0 and "no" in out and "yes, too" not in out
    assert err == "hearsay: these are the first 2 answers; there may be more\n"


def test_one_sender_leaves_no_more_than_a_share(make_daemon, rng):
    """Whoever may leave all answers of a message keeps everybody else from answering it."""
    daemon = make_daemon("[limits]\nk = 10\n", start=False)
    daemon.words = " limited"
    daemon.configure("[limits]\nk = 10\n")
    daemon.start()
    one, other = (daemon.client(source=f"127.0.0.{n}") for n in (2, 3))
    parent = wire.deposit_of(rng, ["topic:help"])
    one.call(parent)

    def answer():
        return wire.deposit_of(rng, ["topic:help"], answers=parent.id)

    for _ in range(3):  # 30 % of k
        one.call(answer())
    assert one.refused(answer()).code == "QUOTA"
    other.call(answer())
    assert one.call(wire.pb.Get(id=parent.id)).answer_count == 4


def test_watch_gets_answers(daemon):
    cli = cli_runner.of_daemon(daemon, unix=True)
    parent, _ = leave(cli, "a question", "-l", "topic:help")
    other, _ = leave(cli, "another one", "-l", "topic:help")
    leave(cli, "stored", "--re", parent)
    with cli.start("watch", "--json", "--re", parent, "--after-seq", "0", "--count", "2",
                   stdout=subprocess.PIPE, text=True) as watch:  # fmt: skip
        lines = [json.loads(watch.stdout.readline())]  # the watch stands
        leave(cli, "not for it", "--re", other)
        leave(cli, "not for it, either", "-l", "topic:help")
        leave(cli, "new", "--re", parent)
        lines.append(json.loads(watch.stdout.readline()))
        assert watch.wait(timeout=wire.PATIENCE) == 0
    assert [line["text"] for line in lines] == ["stored", "new"]


def test_export_and_import(make_daemon, tmp_path):
    """Each answer comes to its message in another store, however many are sent at a time."""
    cli = cli_runner.of_daemon(make_daemon(), unix=True)
    parents = [leave(cli, f"question {n}", "-l", "topic:help")[0] for n in range(3)]
    for n in range(9):
        leave(cli, f"answer {n}", "--re", parents[n % 3])
    lines = cli.ok("export")
    assert [json.loads(line).get("answers") for line in lines.splitlines()] == [None] * 3 + parents * 3
    path = tmp_path / "messages.jsonl"
    path.write_text(lines, encoding="utf-8")
    fresh = cli_runner.of_daemon(make_daemon(), unix=True)
    for told in ("12 deposited, 0 already there, 0 skipped", "0 deposited, 12 already there, 0 skipped"):
        assert fresh.ok("import", str(path)).strip() == told
    for n, parent in enumerate(parents):
        # Several may come in one millisecond; then their ids decide the order.
        assert sorted(answers(fresh, parent)) == [f"answer {m}" for m in range(n, 9, 3)]
