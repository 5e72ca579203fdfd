# SPDX-License-Identifier: Apache-2.0
"""What the operator says: who may, what is refused, where it shows, what it survives."""

import contextlib
import json
import os
import sqlite3

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb

LABELS = ["topic:bar"]


def texts(notices):
    return [notice.text for notice in notices]


def test_put_up_and_take_down(make_daemon, rng):
    """Each answer to a query has the notices, over TCP, too; numbers are given again."""
    daemon = make_daemon()
    with daemon.administrator() as operator, daemon.client() as guest:
        until = operator.call(pb.Ping()).now_ms + 3600_000
        assert texts(operator.call(pb.Notice()).notices) == []
        one = operator.call(pb.Notice(text="Das Tor schließt um eins.", lang="de", until_ms=until))
        assert one.notices[0].since_ms <= operator.call(pb.Ping()).now_ms
        operator.call(pb.Notice(text="Water is free."))
        assert guest.call(wire.deposit_of(rng, LABELS)).deposited_ms > 0
        results = guest.call(wire.query_of(LABELS, with_payload=True))
        assert len(results.results) == 1
        first, second = results.notices
        assert (first.number, first.text, first.lang, first.until_ms) == \
            (1, "Das Tor schließt um eins.", "de", until)
        assert (second.number, second.text) == (2, "Water is free.")
        assert not second.HasField("lang") and not second.HasField("until_ms")
        assert len(guest.call(wire.query_of(["topic:else"])).notices) == 2
        assert texts(operator.call(pb.Notice(drop=1)).notices) == ["Water is free."]
        assert texts(operator.call(pb.Notice(text="Tea, too.")).notices) == \
            ["Water is free.", "Tea, too."]
        assert [n.number for n in guest.call(wire.query_of(LABELS)).notices] == [2, 1]
        again = operator.call(pb.Notice(text="Water is free.", until_ms=until)).notices
        assert [(n.number, n.text, n.until_ms) for n in again] == \
            [(1, "Tea, too.", 0), (2, "Water is free.", until)]


def test_what_is_refused(make_daemon):
    """Guests; the sixth; what is too long, of two lines, or no language; and each names the field."""
    daemon = make_daemon()
    with daemon.administrator() as operator, daemon.client() as guest:
        assert "notice" in operator.welcome.capabilities
        assert "notice" not in guest.welcome.capabilities
        for body in (pb.Notice(), pb.Notice(text="I am the house"), pb.Notice(drop=1)):
            assert guest.refused(body).code == "FORBIDDEN"
        for i in range(5):
            operator.call(pb.Notice(text=f"{i} " + 249 * "ä"))  # 500 bytes
        operator.call(pb.Notice(text="3 " + 249 * "ä"))  # is there
        for body, code, field in (
                (pb.Notice(text="the sixth"), "QUOTA", "text"),
                (pb.Notice(text=501 * "x"), "INVALID", "text"),
                (pb.Notice(text=""), "INVALID", "text"),
                (pb.Notice(text="two\nlines"), "INVALID", "text"),
                (pb.Notice(text="escape \x1b[1m"), "INVALID", "text"),
                (pb.Notice(text="x", lang="d"), "INVALID", "lang"),
                (pb.Notice(text="x", lang="de_DE"), "INVALID", "lang"),
                (pb.Notice(text="x", lang='de" onload="x'), "INVALID", "lang"),
                (pb.Notice(text="x", lang="de-"), "INVALID", "lang"),
                (pb.Notice(text="x", lang="abcdefghi"), "INVALID", "lang"),
                (pb.Notice(text="x", until_ms=1), "INVALID", "until_ms"),
                (pb.Notice(text="x", until_ms=-1), "INVALID", "until_ms"),
                (pb.Notice(text="x", drop=1), "INVALID", "drop"),
                (pb.Notice(lang="de"), "INVALID", "text"),
                (pb.Notice(drop=6), "NOT_FOUND", "drop"),
                (pb.Notice(host="elsewhere"), "UNKNOWN_HOST", "host")):
            refusal = operator.refused(body)
            assert (refusal.code, refusal.error.field) == (code, field), body
        assert len(operator.call(pb.Notice()).notices) == 5


def make_places(make_daemon, tmp_path):
    """A daemon of two places; phones of 127.0.0.1 are at the first one."""
    path = tmp_path / "places"
    path.write_text("127.0.0.1 = place:stage | Main stage\n127.0.0.2 = place:camp | Camp site\n")
    return make_daemon(f"[host default]\nhere_map = {path}\n")


def test_a_notice_of_one_place(make_daemon, tmp_path, rng):
    """It is shown there and nowhere else; the operator sees all. It survives a restart with its place."""
    daemon = make_places(make_daemon, tmp_path)
    with daemon.administrator() as operator, daemon.client() as guest:
        operator.call(pb.Notice(text="Water is free."))
        operator.call(pb.Notice(text="Please leave.", place="Camp site", lang="en"))
        operator.call(pb.Notice(text="Please leave.", place="Main stage", lang="en"))
        operator.call(pb.Notice(text="Please leave.", place="Main stage", lang="en"))  # is there
        expected = operator.call(pb.Notice()).notices
        assert [(one.text, one.lang, one.place) for one in expected] == [
            ("Water is free.", "", ""), ("Please leave.", "en", "Camp site"),
            ("Please leave.", "en", "Main stage")]
        assert not expected[0].HasField("place")
        shown = guest.call(wire.query_of(LABELS)).notices
        assert [(one.text, one.place) for one in shown] == [
            ("Water is free.", ""), ("Please leave.", "Main stage")]
        # On a Unix socket nobody is at a place.
        assert texts(operator.call(wire.query_of(LABELS)).notices) == ["Water is free."]
        for body, code, field in ((pb.Notice(text="x", place="Main"), "INVALID", "place"),
                                  (pb.Notice(text="x", place=""), "INVALID", "place"),
                                  (pb.Notice(text="x", place="a\nb"), "INVALID", "place"),
                                  (pb.Notice(text="x", place=65 * "x"), "INVALID", "place"),
                                  (pb.Notice(place="Main stage"), "INVALID", "text")):
            refusal = operator.refused(body)
            assert (refusal.code, refusal.error.field) == (code, field), body
        assert "lists the names" in operator.refused(pb.Notice(text="x", place="Main")).error.message
    daemon.kill()
    daemon.start()
    with daemon.administrator() as operator:
        assert list(operator.call(pb.Notice()).notices) == list(expected)
        assert operator.call(pb.Check()).problems == []
        for one in expected:
            operator.call(pb.Notice(drop=one.number))
        assert not operator.call(pb.Notice()).notices
        operator.call(pb.Notice(text=500 * "x", lang="en", place="Main stage"))
    operator = cli_runner.of_daemon(daemon, unix=True)
    out = operator.ok("admin", "notice", "Last orders", "--place", "Camp site")
    assert out.splitlines()[1] == "2  no end                    -      at Camp site: Last orders"
    assert [line.get("place") for line in operator.json_lines("admin", "notices", "--json")] == [
        "Main stage", "Camp site"]
    code, _, err = operator.run("admin", "notice", "x", "--place", "Bar")
    assert code != 0 and "no line of `here_map` has this name" in err


def test_each_answer_fits_the_frame(make_daemon, rng):
    """Five long notices in the smallest frames: results come first, then notices, then payloads."""
    daemon = make_daemon("[limits]\nframe = 4K\npayload = 1K\n")
    with daemon.administrator() as operator:
        for i in range(5):
            operator.call(pb.Notice(text=f"{i}" + 499 * "x", lang="en"))
        counts = []
        for i in range(50):
            operator.call(wire.deposit_of(rng, LABELS, payload=b"y" * 1000))
            for with_payload in (False, True):
                results = operator.call(wire.query_of(LABELS, k=100, with_payload=with_payload)) \
                    if i < 40 else operator.call(wire.query_of(LABELS, k=40))
                assert len(results.results) == min(i + 1, 40)
                assert texts(results.notices) == [f"{n}" + 499 * "x"
                                                  for n in range(len(results.notices))]
            counts.append(len(results.notices))
        assert counts[0] == 5 and counts == sorted(counts, reverse=True) and counts[-1] < 5


def test_what_a_notice_survives(make_daemon):
    """A restart and a backup; it is in no export, and goes with its end."""
    daemon = make_daemon()
    copy = os.path.join(daemon.directory, "copy.db")
    with daemon.administrator() as operator:
        operator.call(pb.Notice(text="stays", lang="en"))
        until = operator.call(pb.Ping()).now_ms + 3_600_000
        expected = operator.call(pb.Notice(text="ends", until_ms=until)).notices
        operator.call(pb.Backup(path=copy))
        assert b"stays" not in operator.call(pb.Export()).SerializeToString()
        operator.call(pb.Notice(drop=1))
        assert operator.refused(pb.Notice(drop=1)).code == "NOT_FOUND"
        decisions = operator.call(pb.Decisions())
        assert [one.act for one in decisions.decisions] == ["notice", "notice", "unnotice"]
        assert b"stays" not in decisions.SerializeToString()
        assert operator.call(pb.Check()).problems == []
    daemon.kill()
    daemon.start()
    with daemon.administrator() as operator:
        assert list(operator.call(pb.Notice()).notices) == list(expected)[1:]
    other = make_daemon(start=False)
    code, _, err = other.run("--config", other.config_file, "--data", other.data, "--restore", copy)
    assert code == 0, err
    with other.start().administrator() as operator:
        assert list(operator.call(pb.Notice()).notices) == list(expected)


def stored_rules(daemon):
    """How many rules the file has. The connection is closed at once, because it would keep the log from being emptied."""
    file = f"file:{daemon.data}/messages.db?mode=ro"
    with contextlib.closing(sqlite3.connect(file, uri=True)) as database:
        return database.execute("SELECT count(*) FROM rule").fetchone()[0]


def test_the_end(make_daemon, clock, rng):
    """A notice ends by itself, in the file too, and makes room."""
    daemon = make_daemon(env=clock.environment())
    with daemon.administrator() as operator:
        now = operator.call(pb.Ping()).now_ms
        operator.call(pb.Notice(text="Marker-7f3a", until_ms=now + 1000 * int(wire.SLOWNESS) + 500))
        assert stored_rules(daemon) == 1
        wire.wait_until(lambda: not operator.call(wire.query_of(LABELS)).notices, "the end")
        assert not operator.call(pb.Notice()).notices

        def is_gone():
            return all(b"Marker-7f3a" not in open(os.path.join(daemon.data, name), "rb").read()
                       for name in os.listdir(daemon.data))
        clock.move(5)  # the daemon deletes what has ended each five seconds
        wire.wait_until(lambda: stored_rules(daemon) == 0, "the daemon to delete the row")
        clock.wait_scrubbed(lambda: operator.call(wire.deposit_of(rng, LABELS)), is_gone, "the text to leave the files")


def test_a_new_one_in_the_place_of_an_ended_one(make_daemon):
    """The row of the ended notice goes with it: after a restart there are five, not six."""
    daemon = make_daemon()
    with daemon.administrator() as operator:
        now = operator.call(pb.Ping()).now_ms
        operator.call(pb.Notice(text="a ended", until_ms=now + 1000 * int(wire.SLOWNESS) + 500))
        for text in ("c", "d", "e", "f"):
            operator.call(pb.Notice(text=text))
        wire.wait_until(lambda: len(operator.call(pb.Notice()).notices) == 4, "the end")
        expected = operator.call(pb.Notice(text="b new")).notices
    daemon.kill()
    daemon.start()
    with daemon.administrator() as operator:
        assert list(operator.call(pb.Notice()).notices) == list(expected)
        late = operator.call(pb.Ping()).now_ms + 36501 * 24 * 3600 * 1000
        assert operator.refused(pb.Notice(text="x", until_ms=late)).code == "INVALID"


def test_commands(make_daemon, rng):
    """hearsay admin notice, notices and query: above the results, and of an own kind in JSON."""
    daemon = make_daemon()
    operator, guest = cli_runner.of_daemon(daemon, unix=True), cli_runner.of_daemon(daemon)
    assert operator.ok("admin", "notices") == "there are no notices\n"
    assert operator.ok("admin", "notice", "Free water", "--lang", "en") == \
        "1  no end                    en     Free water\n"
    out = operator.ok("admin", "notice", "Last orders", "--until", "2099-01-01T00:00Z")
    assert out.splitlines()[1] == "2  2099-01-01T00:00:00.000Z  -      Last orders"
    with daemon.client() as client:
        client.call(wire.deposit_of(rng, LABELS, payload=b"From the house: free beer"))
    lines = guest.ok("query", "-l", LABELS[0]).splitlines()
    assert lines[:2] == ["From the house: Free water", "From the house: Last orders"]
    assert not lines[-1].startswith("From") and lines[-1].endswith("From the house: free beer")
    found = guest.json_lines("query", "-l", LABELS[0], "--json")
    assert [(line["notice"], line["text"], line.get("lang")) for line in found[:2]] == \
        [(1, "Free water", "en"), (2, "Last orders", None)]
    assert "notice" not in found[2] and "id" in found[2]
    assert operator.json_lines("admin", "notices", "--json") == found[:2]
    assert json.dumps(found[1]["until"]) == '"2099-01-01T00:00:00.000Z"'
    operator.ok("admin", "notice", "--drop", "1")
    soon = operator.ok("admin", "notice", "Soon", "--until", "6h").splitlines()[1]
    assert soon.startswith("1  2") and soon.endswith("Soon")
    assert operator.run("admin", "notice")[0] == 2
    assert operator.run("admin", "notice", "x", "--drop", "1")[0] == 2
    assert operator.run("admin", "notice", "--drop", "5")[0] == 1
    code, _, err = guest.run("admin", "notice", "x")
    assert code != 0 and "Unix socket" in err
