# SPDX-License-Identifier: Apache-2.0
"""What the operator hides or removes, and takes back; and the list of what was decided."""

import glob
import os

import pytest

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb

LABELS = ["topic:moderation", "wifi:x"]


def leave(client, rng, **fields):
    made = wire.deposit_of(rng, LABELS, **fields)
    client.call(made)
    return made


def found(client):
    return {result.id for result in client.call(wire.query_of(LABELS, k=100)).results}


def acts(client, **fields):
    return [(d.act, d.id) for d in client.call(pb.Decisions(**fields)).decisions]


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_undo_over_a_restart(make_daemon, rng, how):
    """A restart between the removal and its undoing, or between hiding and showing."""
    daemon = make_daemon()
    with daemon.administrator() as client:
        hidden, removed, kept = (leave(client, rng) for _ in range(3))
        client.call(pb.Hide(id=hidden.id, kind=pb.HARASSMENT))
        told = client.call(pb.Remove(id=removed.id, kind=pb.SPAM, reason="an advert"))
        assert abs(told.destroyed_ms - client.call(pb.Ping()).now_ms - 24 * 3600 * 1000) < 60_000
        assert found(client) == {kept.id}
    getattr(daemon, how)()
    daemon.start()
    with daemon.administrator() as client:
        assert found(client) == {kept.id}
        assert client.refused(pb.Get(id=hidden.id)).code == "NOT_FOUND"
        assert client.refused(pb.Get(id=removed.id)).code == "REMOVED"
        assert client.refused(removed).code == "ALREADY_EXISTS"
        assert client.call(hidden).held
        assert client.call(pb.Remove(id=removed.id)).destroyed_ms == told.destroyed_ms
        assert client.refused(pb.Hide(id=removed.id)).code == "INVALID"
        page = client.call(pb.Reported(withheld=True))
        assert {m.id: m.destroyed_ms for m in page.messages} == {
            hidden.id: 0, removed.id: told.destroyed_ms}
        assert client.call(pb.Export()).messages[0].id == kept.id and page.total == 2
        for one in (hidden, removed):
            client.call(pb.Restore(id=one.id))
            assert client.call(pb.Get(id=one.id)).payload == one.payload
        assert found(client) == {kept.id, hidden.id, removed.id}
        assert client.call(removed).duplicate
        assert acts(client) == [("hide", hidden.id), ("remove", removed.id),
                                ("restore", hidden.id), ("restore", removed.id)]


def test_destroyed_within_a_minute(make_daemon, clock, rng):
    """Nothing in the data directory has the text, once its time has come; until then it is there."""
    daemon = make_daemon("[host default]\nremove_after = 1s\n[host other]\n", env=clock.environment())
    secret = b"marker " + rng.randbytes(24).hex().encode()

    def files_with_secret():
        names = glob.glob(os.path.join(daemon.data, "**"), recursive=True)
        return [name for name in names if os.path.isfile(name) and secret in open(name, "rb").read()]

    with daemon.administrator() as client:
        bad, kept = leave(client, rng, payload=secret), leave(client, rng)
        client.call(pb.Remove(id=bad.id))
        assert files_with_secret()
    daemon.kill()  # between the removal and its destruction
    daemon.start()
    with daemon.administrator() as client:
        clock.wait_scrubbed(lambda: leave(client, rng, host="other"), lambda: not files_with_secret(),
                            "the text has left the files")
        refusal = client.refused(pb.Restore(id=bad.id))
        assert refusal.code == "NOT_FOUND" and "destroyed" in refusal.error.message
        assert client.refused(pb.Get(id=bad.id)).code == "REMOVED"
        assert found(client) == {kept.id}
        assert acts(client) == [("remove", bad.id)]


def test_two_phones(make_daemon, rng):
    """Hide, remove and restore at once: each has a clear answer, and the list says what happened."""
    daemon = make_daemon()
    with daemon.administrator() as one, daemon.administrator() as two:
        bad = leave(one, rng)
        for _ in range(20):
            asked = [(client, client.post(rng.choice([pb.Hide, pb.Remove, pb.Restore])(id=bad.id)))
                     for client in (one, two)]
            for client, request in asked:
                answer = client.receive()
                assert answer.id == request
                assert answer.WhichOneof("body") != "error" or answer.error.code == pb.INVALID
        try:
            one.call(pb.Restore(id=bad.id))
        except wire.Refused as refusal:
            assert refusal.code == "INVALID"
        assert found(one) == {bad.id}
        assert acts(two)[-1] == ("restore", bad.id) or not acts(two)


def test_decisions(make_daemon, rng):
    """Each act of an operator is one line, with who and why; pages go back in time."""
    daemon = make_daemon("[host default]\nhide_after = 0\n")
    with daemon.administrator() as client:
        bad = leave(client, rng, payload=b"buy now")
        client.call(pb.Report(id=bad.id, kind=pb.SPAM))
        client.call(pb.Remove(id=bad.id, ban=True, kind=pb.SPAM, reason="käse"))
        restored = client.call(pb.Restore(id=bad.id))
        assert restored.banned_hash == wire.withdraw_hash(b"buy now")
        client.call(pb.Unban(payload_hash=restored.banned_hash))
        client.call(pb.Accept(mode="review"))
        client.call(pb.Accept(mode="auto"))
        client.call(pb.Accept())  # only asks
        client.refused(pb.Accept(mode="shut"))
        client.refused(pb.Hide(id=bytes(16)))
        client.refused(pb.Unban(payload_hash=bytes(32)))
        expected = [("remove", bad.id), ("ban", bad.id), ("restore", bad.id), ("unban", b""),
                    ("accept-review", b""), ("accept-auto", b"")]
        assert acts(client) == expected
        answer = client.call(pb.Decisions(limit=2))
        assert answer.more and [d.act for d in answer.decisions] == ["accept-review", "accept-auto"]
        before = answer.decisions[0].number
        assert acts(client, before=before) == expected[:4]
        first = client.call(pb.Decisions(before=before)).decisions[0]
        assert (first.kind, first.reason, first.reports) == (pb.SPAM, "käse", 1)
        assert (first.uid, first.web) == (os.geteuid(), False)
        assert abs(first.time_ms - client.call(pb.Ping()).now_ms) < 60_000
        for bad_reason in ("r" * 201, "two\nlines", ""):
            assert client.refused(pb.Hide(id=bad.id, reason=bad_reason)).error.field == "reason"
        assert client.refused(pb.Hide(id=bad.id, kind=0)).error.field == "kind"
    with daemon.client() as reader:
        for request in (pb.Hide(id=bytes(16)), pb.Decisions()):
            assert reader.refused(request).code == "FORBIDDEN"
    with daemon.administrator(hello=False) as page:
        page.call(pb.Hello(versions=[1], agent="hearsay-web/1"))
        page.call(pb.Hide(id=bad.id))
        assert page.call(pb.Decisions()).decisions[-1].web


def test_hidden_again(make_daemon, rng):
    """Who hides, shows or removes a message again decides nothing: neither the log nor the list of decisions says so.
    Who shows one that is shown is told that it is."""
    daemon = make_daemon()
    with daemon.administrator() as client:
        bad = leave(client, rng)
        assert "is shown; it is neither hidden nor reported" in client.refused(pb.Restore(id=bad.id)).error.message
        for _ in range(3):
            client.call(pb.Hide(id=bad.id))
        client.call(pb.Restore(id=bad.id))
        for _ in range(2):
            assert "is shown already" in client.refused(pb.Restore(id=bad.id)).error.message
        client.call(pb.Hide(id=bad.id))
        for _ in range(2):
            client.call(pb.Remove(id=bad.id))
        assert [act for act, _ in acts(client)] == ["hide", "restore", "hide", "remove"]
    daemon.stop()
    assert daemon.log_text().count("the operator has hidden a message") == 2
    assert daemon.log_text().count("the operator shows a message") == 1
    assert daemon.log_text().count("the operator has removed a message") == 1


def test_decisions_leave(make_daemon, rng):
    """A line goes when its time is over."""
    daemon = make_daemon("[daemon]\nmoderation_log_keep = 1s\n")
    with daemon.administrator() as client:
        client.call(pb.Accept(mode="review"))
        assert acts(client) == [("accept-review", b"")]
        wire.wait_until(lambda: not acts(client), "the decision has left the list", patience=30)


def test_cli(make_daemon, rng):
    """hide, remove, restore and log on the command line."""
    daemon = make_daemon()
    cli, reader = cli_runner.of_daemon(daemon, unix=True), cli_runner.of_daemon(daemon)
    assert cli.ok("admin", "log") == "nothing was decided\n"
    with daemon.administrator() as client:
        bad = leave(client, rng, payload=b"buy now")
    key = bad.id.hex()
    assert cli.ok("admin", "hide", "--why", "spam", "--reason", "an advert", key) == "hidden\n"
    assert reader.run("get", key)[0] == 1
    assert "hidden" in cli.ok("admin", "list", "--hidden")
    said = cli.ok("admin", "remove", "--ban", key)
    assert said.startswith("removed, and its payload is banned; destroyed 20")
    assert "destroyed" in cli.json_lines("admin", "list", "--hidden", "--json")[0]
    said = cli.ok("admin", "restore", key)
    assert said.startswith("shown; its payload is still banned")
    cli.ok("admin", "unban", "--hash", said.partition("--hash ")[2].split()[0])
    lines = cli.json_lines("admin", "log", "--json")
    assert [line["act"] for line in lines] == ["hide", "remove", "ban", "restore", "unban"]
    assert (lines[0]["kind"], lines[0]["reason"], lines[0]["id"]) == ("spam", "an advert", key)
    assert lines[0]["uid"] == os.geteuid() and not lines[0]["web"] and "kind" not in lines[1]
    page = cli.ok("admin", "log", "--count", "4").splitlines()
    handle = wire.withdraw_hash(b"buy now").hex()[:8]
    assert len(page) == 4 and page[-1].endswith(f"uid {os.geteuid()}  unban: {handle}")
    for words in (["hide"], ["hide", "--why", "boredom", key], ["log", "--count", "0"],
                  ["list", "--hidden", "--pending"]):
        assert cli.run("admin", *words)[0] == 2, words
    with daemon.administrator() as client:
        client.pipeline([pb.Accept(mode="review") for _ in range(300)])
    assert len(cli.json_lines("admin", "log", "--json", "--count", "1000")) == 305
    assert len(cli.json_lines("admin", "log", "--json", "--count", "200")) == 200


def report(daemon, client, rng, **fields):
    made = leave(client, rng)
    client.call(pb.Report(id=made.id, **fields))
    return made


def test_wait(make_daemon, rng):
    """A wait ends with the first report; what came before it counts, once; a burst is one answer."""
    daemon = make_daemon("[host default]\nhide_after = 0\n[host other]\n")
    with daemon.administrator() as client, daemon.administrator() as waiting:
        first = waiting.post(pb.Wait())
        one = report(daemon, client, rng, kind=pb.SPAM)
        answer = waiting.receive()
        assert answer.id == first
        assert (answer.waited.id, answer.waited.kind, answer.waited.count) == (one.id, pb.SPAM, 1)
        burst = [report(daemon, client, rng, kind=pb.ILLEGAL) for _ in range(200)]
        client.call(pb.Restore(id=burst[0].id))  # is decided, so it is not new
        client.call(pb.Accept(mode="review"))
        held = leave(client, rng)
        told = waiting.call(pb.Wait())
        assert (told.id, told.count) == (burst[1].id, 200)
        waiting.post(pb.Wait(host="other"))
        assert waiting.refused(pb.Wait()).code == "QUOTA"
        for reported in (burst[2], one):  # a second report of a message is not new
            with daemon.client() as reader:
                reader.call(pb.Report(id=reported.id))
        client.call(pb.Remove(id=held.id))
        with daemon.administrator() as last:
            asked = last.post(pb.Wait())
            again = leave(client, rng)
            answer = last.receive()
            assert answer.id == asked and answer.waited.pending and answer.waited.id == again.id
    daemon.kill()
    daemon.start()
    with daemon.administrator() as client:  # all that is not decided is new once more
        assert client.call(pb.Wait()).count == 201


def test_waits_are_bounded(make_daemon):
    """16 wait at once; a wait ends with its connection, and with the daemon."""
    daemon = make_daemon()
    clients = [daemon.administrator() for _ in range(16)]
    for client in clients:
        client.post(pb.Wait())
        client.call(pb.Ping())
    with daemon.administrator() as late:
        assert late.refused(pb.Wait()).code == "QUOTA"
        clients.pop().close()

        def has_room():
            late.post(pb.Wait())
            late.post(pb.Ping())
            answer = late.receive()
            if answer.WhichOneof("body") == "error":
                late.receive()
            return answer.WhichOneof("body") == "pong"

        wire.wait_until(has_room, "the wait ended with its connection")
        daemon.stop()
    for client in clients:
        client.close()


def test_cli_wait(make_daemon, rng):
    """admin wait prints an id and a kind, and has a code of its own when its time is over."""
    daemon = make_daemon("[host default]\nhide_after = 0\n")
    cli = cli_runner.of_daemon(daemon, unix=True)
    assert cli.run("admin", "wait", "--reported", "--timeout", "200ms") == (1, "", "")
    assert cli.run("admin", "wait")[0] == 2
    with daemon.administrator() as client:
        one = report(daemon, client, rng, kind=pb.ABOUT_ME, reason="secret")
        assert cli.ok("admin", "wait", "--reported") == f"{one.id.hex()}  about-me\n"
        two, _ = report(daemon, client, rng), report(daemon, client, rng)
    assert cli.ok("admin", "wait", "--reported") == f"{two.id.hex()}  other, and 1 more\n"
