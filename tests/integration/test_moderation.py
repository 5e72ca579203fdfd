# SPDX-License-Identifier: Apache-2.0
"""What should not be there: reported by readers, judged by the operator, gone for good."""

import glob
import os
import re
import socket
import time

import pytest

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb

LABELS = ["topic:moderation", "wifi:x"]


class From:
    """Connections from addresses of the loopback network, each a sender of its own."""

    def __init__(self, daemon):
        self.daemon = daemon

    def report(self, number, message_id, **fields):
        client = wire.Client.__new__(wire.Client)
        client.patience, client.last_id, client.pending = wire.PATIENCE, 0, b""
        client.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        client.socket.settimeout(wire.PATIENCE)
        client.socket.bind((f"127.0.7.{number}", 0))
        client.socket.connect(self.daemon.address)
        with client:
            client.call(pb.Hello(versions=[1]))
            return client.call(pb.Report(id=message_id, **fields))


def daemon_with(make_daemon, config="", **options):
    """Its TCP listener counts addresses, loopback ones too."""
    daemon = make_daemon(start=False, **options)
    daemon.configure(config)
    text = open(daemon.config_file, encoding="utf-8").read()
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(text.replace("listen = 127.0.0.1:0", "listen = 127.0.0.1:0 limited"))
    return daemon.start()


def found(client, **fields):
    answer = client.call(wire.query_of(LABELS, k=100, with_payload=True, **fields))
    return {result.id: result.payload for result in answer.results}


def leave(client, rng, **fields):
    made = wire.deposit_of(rng, LABELS, **fields)
    client.call(made)
    return made


def listed(client, **fields):
    return client.call(pb.Reported(**fields))


def test_hidden_after_reports_of_five(make_daemon, rng):
    """The fifth different sender hides a message from query, get, summary and export."""
    daemon = daemon_with(make_daemon)
    senders = From(daemon)
    with daemon.administrator() as client:
        bad, good = leave(client, rng), leave(client, rng)
        for number in range(1, 5):
            senders.report(number, bad.id)
            senders.report(number, bad.id)  # twice by one is once
        assert set(found(client)) == {bad.id, good.id}
        senders.report(5, bad.id, reason="an insult")
        assert set(found(client)) == {good.id}
        assert client.refused(pb.Get(id=bad.id)).code == "NOT_FOUND"
        assert client.refused(pb.Report(id=bad.id)).code == "NOT_FOUND"
        assert client.call(pb.Summary()).count == 1
        assert [m.id for m in client.call(pb.Export()).messages] == [good.id]
        answer = client.call(bad)
        assert answer.duplicate and answer.held, "who sends it again learns that it is held"
        assert set(found(client)) == {good.id}, "and does not bring it back"


def test_list_and_restore(make_daemon, rng):
    """The operator sees what was said, most reported first; what is restored stays."""
    daemon = daemon_with(make_daemon, "[host default]\nhide_after = 2\n")
    senders = From(daemon)
    with daemon.administrator() as client:
        one, two, three = (leave(client, rng, payload=b"text %d" % n) for n in range(3))
        senders.report(1, one.id, reason="käse")
        for number in (1, 2):
            senders.report(number, two.id, reason=f"reason {number}")
        answer = listed(client)
        assert answer.total == 2
        assert [m.id for m in answer.messages] == [two.id, one.id]
        first, second = answer.messages
        assert (first.reports, first.hidden, first.pending) == (2, True, False)
        assert [r.text for r in first.reasons] == ["reason 1", "reason 2"]
        assert (first.payload, first.media_type) == (b"text 1", "text/plain")
        assert (second.reports, second.hidden) == (1, False)
        assert [(r.kind, r.text) for r in second.reasons] == [(pb.OTHER_KIND, "käse")]
        assert len(listed(client, limit=1).messages) == 1
        assert listed(client, limit=1).total == 2
        assert listed(client, pending=True).total == 0

        client.call(pb.Restore(id=two.id))
        assert found(client)[two.id] == b"text 1"
        assert client.call(pb.Get(id=two.id)).payload == b"text 1"
        for number in (3, 4, 5):
            senders.report(number, two.id)
        assert two.id in found(client), "the operator has decided"
        assert [m.id for m in listed(client).messages] == [one.id]
        refusal = client.refused(pb.Restore(id=two.id))
        assert refusal.code == "INVALID" and "is shown already" in refusal.error.message
        client.call(pb.Restore(id=one.id))  # was reported, and not hidden: it is looked at now
        assert client.refused(pb.Restore(id=one.id)).code == "INVALID"
        assert listed(client).total == 0
        refusal = client.refused(pb.Restore(id=three.id))
        assert refusal.code == "INVALID" and "neither hidden nor reported" in refusal.error.message
        assert client.refused(pb.Restore(id=bytes(16))).code == "NOT_FOUND"


def test_never(make_daemon, rng):
    """hide_after = 0: reports are counted, and hide nothing."""
    daemon = daemon_with(make_daemon, "[host default]\nhide_after = 0\n")
    with daemon.administrator() as client:
        bad = leave(client, rng)
        for number in range(1, 8):
            From(daemon).report(number, bad.id)
        assert bad.id in found(client)
        assert listed(client).messages[0].reports == 7


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_lasts_over_a_restart(make_daemon, rng, how):
    """Hidden stays hidden, a count goes on, restored and removed stay so."""
    daemon = daemon_with(make_daemon, "[host default]\nhide_after = 3\n")
    with daemon.administrator() as client:
        hidden, counted, restored, removed = (leave(client, rng) for _ in range(4))
        for number in (1, 2, 3):
            From(daemon).report(number, hidden.id)
            From(daemon).report(number, restored.id)
        for number in (1, 2):
            From(daemon).report(number, counted.id)
        client.call(pb.Restore(id=restored.id))
        client.call(pb.Remove(id=removed.id))
    getattr(daemon, how)()
    daemon.start()
    with daemon.administrator() as client:
        assert set(found(client)) == {counted.id, restored.id}
        assert {m.id: m.reports for m in listed(client).messages} == {hidden.id: 3, counted.id: 2}
        assert client.refused(removed).code == "ALREADY_EXISTS"
        assert client.refused(pb.Get(id=removed.id)).code == "REMOVED"
        assert client.call(hidden).held
        From(daemon).report(9, counted.id)
        assert set(found(client)) == {restored.id}
        client.call(pb.Restore(id=hidden.id))
        assert hidden.id in found(client)


def test_hidden_counts_and_expires(make_daemon, rng):
    """What is hidden takes its room until it expires or is withdrawn."""
    daemon = daemon_with(make_daemon, "[host default]\nmessages = 2\nhide_after = 1\n")
    token = rng.randbytes(32)
    with daemon.administrator() as client:
        short = leave(client, rng, ttl_s=1)
        long = leave(client, rng, withdraw_hash=wire.withdraw_hash(token))
        for one in (short, long):
            client.call(pb.Report(id=one.id))
        more = wire.deposit_of(rng, LABELS)
        assert client.refused(more).code == "QUOTA"
        client.call(pb.Withdraw(id=long.id, token=token))
        client.call(more)
        last = wire.deposit_of(rng, LABELS)

        def room():
            try:
                return client.call(last)
            except wire.Refused as refusal:
                assert refusal.code == "QUOTA"
                return False

        wire.wait_until(room, "the hidden message expired and made room")
        numbers = {f.name: f.value for f in client.call(pb.Stats()).figures}
        assert numbers["messages"] == numbers["host/default/shown"] == 2
        assert numbers["host/default/hidden"] == 0


def test_removed(make_daemon, rng):
    """A removed message leaves index and cache at once; its id is refused until its expiry."""
    daemon = make_daemon("[host default]\nremove_after = 0\n")
    with daemon.administrator() as client:
        bad = leave(client, rng, ttl_s=3)
        assert client.call(pb.Get(id=bad.id)).payload == bad.payload  # is in the cache
        client.call(pb.Remove(id=bad.id))
        assert not found(client)
        assert client.refused(pb.Get(id=bad.id)).code == "REMOVED"
        refusal = client.refused(bad)
        assert refusal.code == "ALREADY_EXISTS" and "removed" in refusal.error.message
        assert client.refused(pb.Remove(id=bad.id)).code == "NOT_FOUND"
        assert client.refused(pb.Remove(host="nowhere", id=bad.id)).code == "UNKNOWN_HOST"

        def free_again():
            try:
                return client.call(bad)
            except wire.Refused as refusal:
                assert refusal.code == "ALREADY_EXISTS"
                return False

        wire.wait_until(free_again, "the removed id is free after its expiry")
        assert client.call(pb.Get(id=bad.id)).payload == bad.payload


def test_nothing_is_left_within_a_minute(make_daemon, clock, rng):
    """Removed and withdrawn payloads are in no byte of the data directory 60 s later; others are."""
    daemon = make_daemon("[host default]\nremove_after = 0\n", env=clock.environment())
    token = rng.randbytes(32)
    secrets = [rng.randbytes(3500) for _ in range(3)]

    def on_storage(secret):
        pieces = [secret[i : i + 64] for i in range(0, len(secret) - 64, 512)]
        for path in glob.glob(os.path.join(daemon.data, "messages.db*")):
            with open(path, "rb") as file:
                data = file.read()
            if any(piece in data for piece in pieces):
                return True
        return False

    with daemon.administrator() as client:
        removed, withdrawn, kept = (
            leave(client, rng, payload=secret, withdraw_hash=wire.withdraw_hash(token))
            for secret in secrets
        )
        assert all(on_storage(secret) for secret in secrets)
        client.call(pb.Remove(id=removed.id))
        client.call(pb.Withdraw(id=withdrawn.id, token=token))
        clock.wait_scrubbed(lambda: leave(client, rng),
                            lambda: not on_storage(secrets[0]) and not on_storage(secrets[1]),
                            "the removed payloads have left the files")
        assert on_storage(secrets[2])
        assert client.call(pb.Get(id=kept.id)).payload == secrets[2]


def test_a_wait_hears_of_the_first_grave_report(make_daemon, rng):
    """Else an author reports a message as spam before anybody can say what it is, and no phone makes a sound again."""
    daemon = daemon_with(make_daemon, "[host default]\nhide_after = 9\n")
    senders = From(daemon)
    with daemon.administrator() as waiting, daemon.client(source="127.0.7.1") as author:
        one, other = leave(author, rng), leave(author, rng)
        senders.report(1, one.id, kind=pb.SPAM)
        assert waiting.call(pb.Wait()).kind == pb.SPAM
        asked = waiting.post(pb.Wait())
        senders.report(1, one.id, kind=pb.ILLEGAL)  # counts once, and is the author's
        senders.report(2, one.id, kind=pb.HARASSMENT)
        senders.report(3, one.id, kind=pb.ILLEGAL)
        answer = waiting.receive()
        assert (answer.id, answer.waited.id, answer.waited.kind) == (asked, one.id, pb.ILLEGAL)
        waiting.post(pb.Wait())
        senders.report(4, one.id, kind=pb.ABOUT_ME)
        senders.report(2, other.id)
        assert waiting.receive().waited.id == other.id, "the second one is not new"


def test_an_illegal_message_stays_named(make_daemon, rng):
    """A hundred reports of spam do not push out the one that says illegal; kinds come with words."""
    daemon = daemon_with(make_daemon, "[host default]\nhide_after = 0\n")
    senders = From(daemon)
    with daemon.administrator() as client:
        one = leave(client, rng)
        senders.report(1, one.id, kind=pb.ILLEGAL, reason="against the law")
        senders.report(2, one.id, kind=pb.ABOUT_ME)
        for number in range(3, 43):
            senders.report(number, one.id, kind=pb.SPAM, reason="r" * 1000)
        reasons = [(r.kind, r.text[:7]) for r in listed(client).messages[0].reasons]
        assert reasons == [(pb.ILLEGAL, "against"), (pb.ABOUT_ME, "")] + 14 * [(pb.SPAM, "rrrrrrr")]


def test_long_lists_fit_a_frame(make_daemon, rng):
    """However much was reported, each answer fits, and some answer has each text: what has no room is behind it.
    Else few long texts would keep moderators from reading what comes after them."""
    daemon = make_daemon("[limits]\nframe = 8K\npayload = 4K\n[host default]\nhide_after = 1\n")
    with daemon.administrator() as client:
        sent = [leave(client, rng, payload=rng.randbytes(3000)) for _ in range(20)]
        sent += [leave(client, rng, payload=b"a short one") for _ in range(10)]
        for one in sent:
            client.call(pb.Report(id=one.id, reason="r" * 200))
        answer, seen = listed(client), {}
        assert answer.total == 30 and 1 < len(answer.messages) < 30
        while True:
            seen.update((m.id, m.payload) for m in answer.messages)
            if not answer.next:
                break
            answer = listed(client, after=answer.next)
        assert seen == {one.id: one.payload for one in sent}
        for one in sent:
            client.call(pb.Remove(id=one.id))
        assert listed(client).total == 0


def test_banned_payload(make_daemon, rng):
    """remove with ban: the same payload is refused under any id and context, over restarts."""
    daemon = make_daemon()
    with daemon.administrator() as client:
        bad = leave(client, rng, payload=b"buy now")
        client.call(pb.Remove(id=bad.id, ban=True))
        again = wire.deposit_of(rng, ["topic:other"], payload=b"buy now")
        refusal = client.refused(again)
        assert (refusal.code, refusal.error.field) == ("FORBIDDEN", "payload")
        (ban,) = client.call(pb.Bans()).bans
        assert ban.payload_hash == wire.withdraw_hash(b"buy now") and not ban.filter
        assert abs(ban.since_ms - client.call(pb.Ping()).now_ms) < 60_000
        client.call(wire.deposit_of(rng, ["topic:other"], payload=b"buy now!"))
    daemon.kill()
    daemon.start()
    with daemon.administrator() as client:
        assert client.refused(again).code == "FORBIDDEN"
        client.call(pb.Unban(payload_hash=ban.payload_hash))
        client.call(again)
        assert client.refused(pb.Unban(payload_hash=ban.payload_hash)).code == "NOT_FOUND"


def test_banned_filter(make_daemon, rng):
    """A filter is refused, and those within the distance, exactly."""
    daemon = make_daemon()
    near = [*LABELS, "topic:near"]
    shared, union = wire.counts(wire.filter_of(LABELS), wire.filter_of(near))
    ppm = -(-(union - shared) * wire.WHOLE // union)  # rounded up
    with daemon.administrator() as client:
        there = leave(client, rng)
        ban = pb.Ban(filter=wire.filter_of(LABELS))
        client.call(ban)
        assert client.refused(wire.deposit_of(rng, LABELS)).error.field == "filter"
        assert client.call(there).duplicate, "what is here already stays, and is a duplicate"
        client.call(wire.deposit_of(rng, near))
        client.call(pb.Ban(filter=ban.filter, max_distance=ppm - 1))
        client.call(wire.deposit_of(rng, near))
        client.call(pb.Ban(filter=ban.filter, max_distance=ppm))
        assert client.refused(wire.deposit_of(rng, near)).code == "FORBIDDEN"
        assert [(b.filter, b.max_distance) for b in client.call(pb.Bans()).bans] == [(ban.filter, ppm)]
        assert client.refused(pb.Ban()).code == "INVALID"
        assert client.refused(pb.Ban(filter=ban.filter, payload_hash=bytes(32))).code == "INVALID"
        assert client.refused(pb.Ban(filter=b"1")).code == "PROFILE_MISMATCH"
        assert client.refused(pb.Ban(payload_hash=b"1")).code == "INVALID"


def test_many_bans(make_daemon):
    """A thousand, in several answers; not one more."""
    with make_daemon("[limits]\nframe = 8K\n").administrator() as client:
        hashes = [number.to_bytes(32, "big") for number in range(1000)]
        client.pipeline([pb.Ban(payload_hash=one) for one in hashes])
        assert client.refused(pb.Ban(payload_hash=b"x" * 32)).code == "QUOTA"
        client.call(pb.Ban(payload_hash=hashes[0]))
        found = []
        while True:
            answer = client.call(pb.Bans(skip=len(found)))
            found += [ban.payload_hash for ban in answer.bans]
            if not answer.more:
                break
        assert sorted(found) == hashes


def test_review(make_daemon, rng):
    """In review a deposit is held until the operator shows it; the depositor is told."""
    daemon = make_daemon("[host default]\naccept = review\n")
    with daemon.administrator() as client:
        one, two = wire.deposit_of(rng, LABELS), wire.deposit_of(rng, LABELS)
        assert client.call(one).held
        client.await_next_ms()
        assert client.call(two).held
        again = client.call(one)
        assert again.held and again.duplicate
        assert not found(client) and client.refused(pb.Get(id=one.id)).code == "NOT_FOUND"
        answer = listed(client, pending=True)
        assert [m.id for m in answer.messages] == [one.id, two.id], "oldest first"
        assert all(m.pending and m.hidden for m in answer.messages)
        assert listed(client).total == 0
    daemon.kill()
    daemon.start()
    with daemon.administrator() as client:
        assert not found(client)
        client.call(pb.Restore(id=one.id))
        client.call(pb.Remove(id=two.id))
        assert set(found(client)) == {one.id}
        assert listed(client, pending=True).total == 0
        assert not client.call(one).held


def test_accept(make_daemon, rng):
    """open, review, closed and auto take effect at once, and last over a restart."""
    daemon = make_daemon("[host a]\n[host b]\naccept = closed\n")
    with daemon.administrator() as client:
        now = client.call(pb.Accept(host="b"))
        assert (now.mode, now.source) == ("closed", "configuration")
        refusal = client.refused(wire.deposit_of(rng, LABELS, host="b"))
        assert refusal.code == "FORBIDDEN" and "queries still work" in refusal.error.message
        client.call(wire.query_of(LABELS, host="b"))
        there = wire.deposit_of(rng, LABELS, host="a")
        assert not client.call(there).held
        now = client.call(pb.Accept(host="a", mode="closed"))
        assert (now.mode, now.source) == ("closed", "operator")
        assert client.refused(wire.deposit_of(rng, LABELS, host="a")).code == "FORBIDDEN"
        assert client.call(there).duplicate, "who asks whether it arrived is told so"
        refusal = client.refused(pb.Accept(host="a", mode="shut"))
        assert (refusal.code, refusal.error.field) == ("INVALID", "mode")
    daemon.kill()
    daemon.start()
    with daemon.administrator() as client:
        assert client.call(pb.Accept(host="a")).mode == "closed"
        assert client.call(pb.Accept(host="a", mode="review")).mode == "review"
        assert client.call(wire.deposit_of(rng, LABELS, host="a")).held
        now = client.call(pb.Accept(host="a", mode="auto"))
        assert (now.mode, now.source) == ("open", "configuration")
        client.call(pb.Accept(host="a", mode="auto"))
        assert not client.call(wire.deposit_of(rng, LABELS, host="a")).held


def test_welcome_says_what_is_taken(make_daemon):
    """Open, review, closed, of each host; as it is when one connects, and until when."""
    always = "\naccept_schedule = 00:00-12:00 closed\naccept_schedule = 12:00-00:00 closed\n"
    daemon = make_daemon("[host a]\n[host b]\naccept = review\n[host c]" + always)

    def welcome():
        with daemon.client() as client:
            return client.welcome

    hosts = welcome().hosts
    assert [host.accept for host in hosts] == [pb.OPEN, pb.REVIEW, pb.CLOSED]
    assert [host.HasField("accept_until_ms") for host in hosts] == [False, False, True]
    left_ms = hosts[2].accept_until_ms - welcome().now_ms
    assert -60_000 < left_ms <= 12 * 3600 * 1000
    lines = cli_runner.of_daemon(daemon).json_lines("hosts", "--json")
    assert [line.get("accept_until") for line in lines] == [None, None, cli_runner.iso(hosts[2].accept_until_ms)]
    with daemon.administrator() as operator:
        operator.call(pb.Accept(host="a", mode="closed"))
        operator.call(pb.Accept(host="c", mode="open"))
    hosts = welcome().hosts
    assert [host.accept for host in hosts] == [pb.CLOSED, pb.REVIEW, pb.OPEN]
    assert not any(host.HasField("accept_until_ms") for host in hosts)
    lines = cli_runner.of_daemon(daemon).json_lines("hosts", "--json")
    assert [line["accept"] for line in lines] == ["closed", "review", "open"]


def test_schedule(make_daemon, rng):
    """By local time; the operator stands above it, and a reload changes it."""
    now = time.localtime()  # of the daemon's zone, which is ours

    def clock(hours):
        return f"{(now.tm_hour + hours) % 24:02d}:{now.tm_min:02d}"

    def config(mode):
        # the first line covers another part of the day, the second one is too late
        return (f"[host default]\naccept_schedule = {clock(4)}-{clock(5)} open\n"
                f"accept_schedule = {clock(-2)}-{clock(3)} {mode}\n"
                f"accept_schedule = {clock(-2)}-{clock(3)} open\n")

    daemon = make_daemon(config("closed"))
    with daemon.administrator() as client:
        answer = client.call(pb.Accept())
        assert (answer.mode, answer.source) == ("closed", "schedule")
        ahead = answer.until_ms - client.call(pb.Ping()).now_ms
        assert 2.9 * 3600_000 < ahead <= 3 * 3600_000
        refusal = client.refused(wire.deposit_of(rng, LABELS))
        assert abs(refusal.error.retry_after_ms - ahead) < 60_000
        client.call(pb.Accept(mode="open"))
        client.call(wire.deposit_of(rng, LABELS))
        client.call(pb.Accept(mode="auto"))
        daemon.configure(config("review"))
        client.call(pb.Reload())
        assert client.call(wire.deposit_of(rng, LABELS)).held


def test_cli_of_rules(make_daemon, rng):
    """ban, unban, bans, accept, remove --ban, and a deposit that is held."""
    daemon = make_daemon(start=False).make_local().start()
    cli, reader = cli_runner.of_daemon(daemon, unix=True), cli_runner.of_daemon(daemon)
    assert cli.ok("admin", "bans") == "nothing is banned\n"
    said = [cli.ok("admin", "ban", "--text", "buy now")]
    assert reader.run("deposit", "-l", "a:b", "buy now")[0] == 4
    said.append(cli.ok("admin", "ban", "-l", "topic:x", "--distance", "0.25"))
    assert reader.run("deposit", "-l", "topic:x", "fine")[0] == 4
    lines = cli.json_lines("admin", "bans", "--json")
    assert said == [f"banned; admin unban {line['handle'][:8]} lifts that\n" for line in lines]
    assert lines[0]["payload_hash"] == wire.withdraw_hash(b"buy now").hex()
    assert lines[1]["max_distance"] == 0.25
    page = cli.ok("admin", "bans")
    assert page.count("\n") == 2 and max(map(len, page.splitlines())) <= 60
    assert [line.split()[0] for line in page.splitlines()] == [b["handle"][:8] for b in lines]
    assert "payload" in page.splitlines()[0] and "distance 0.25" in page.splitlines()[1]
    log = cli.json_lines("admin", "log", "--json")
    assert [(line["act"], line["reason"]) for line in log] == [("ban", b["handle"][:8]) for b in lines]
    assert cli.ok("admin", "unban", "--hash", lines[0]["payload_hash"]) == "unbanned\n"
    assert cli.run("admin", "unban", "--text", "buy now")[0] == 1
    assert cli.run("admin", "ban")[0] == 2
    assert cli.run("admin", "ban", "--text", "a", "--hash", "b")[0] == 2
    assert cli.ok("admin", "accept") == "open (configuration)\n"
    assert cli.ok("admin", "accept", "review") == "review (operator)\n"
    held = reader.ok("deposit", "-l", "a:b", "buy now")
    assert "held" in held
    (line,) = reader.json_lines("deposit", "-l", "a:b", "buy later", "--json")
    assert line["held"]
    assert cli.ok("admin", "list", "--pending").count("waits for review") == 2
    said = cli.ok("admin", "remove", "--ban", line["id"])
    assert said.startswith("removed, and its payload is banned; destroyed ")
    assert reader.run("deposit", "-l", "a:b", "buy later")[0] == 4
    assert cli.run("admin", "accept", "shut")[0] == 4


def test_cli_of_context_bans(make_daemon):
    """A ban of a context meets what guests leave in it: with the here labels, which --no-here leaves out. What
    docs/operations/moderation.md says of its distance is so."""
    daemon = make_daemon(start=False).make_local().start()
    cli, reader = cli_runner.of_daemon(daemon, unix=True), cli_runner.of_daemon(daemon)

    def may_leave(*topics, options=()):
        words = [word for topic in topics for word in ("--topic", topic)]
        code, _, err = reader.run("deposit", *words, *options, "hi")
        assert code in (0, 4), err
        return code == 0

    example = ["-l", "topic:spam", "--distance", "0.3"]
    page = os.path.join(os.path.dirname(__file__), "../../docs/operations/moderation.md")
    with open(page, encoding="utf-8") as file:
        assert "hearsay admin ban " + " ".join(example) in file.read()
    code, out, err = cli.run("admin", "ban", *example)
    assert code == 0 and out.startswith("banned; ") and re.fullmatch(r"hearsay: at place:[0-9a-f]{16}\n", err)
    assert not may_leave("spam") and not may_leave("spam", "coffee")
    assert may_leave("spam", "coffee", "garden") and may_leave("coffee") and may_leave()
    assert may_leave("spam", options=["--no-here"])
    assert cli.run("admin", "unban", "-l", "topic:spam", "--no-here")[0] == 1
    assert cli.ok("admin", "unban", "-l", "topic:spam") == "unbanned\n"
    assert may_leave("spam")

    code, _, err = cli.run("admin", "ban", "-l", "topic:spam", "--no-here")
    assert (code, err) == (0, "")
    assert may_leave("spam") and not may_leave("spam", options=["--no-here"])
    assert cli.ok("admin", "unban", "-l", "topic:spam", "--no-here") == "unbanned\n"


def test_cli_of_unknown_hosts(make_daemon):
    """A host that the server does not have is an error of use, in each command that takes --host."""
    cli = cli_runner.of_daemon(make_daemon(), unix=True)
    key = bytes(16).hex()
    for words in (["list"], ["remove", key], ["restore", key], ["hide", key], ["log"], ["accept"],
                  ["bans"],
                  ["ban", "--text", "a"], ["unban", "--text", "a"], ["stats"]):
        code, out, err = cli.run("admin", *words, "--host", "nosuch")
        assert (code, out) == (2, "") and "nosuch" in err, words


def test_cli_names_the_host(make_daemon):
    """Without --host, what is about the first of several hosts says so on standard error, and names the others."""
    daemon = make_daemon("[host default]\n[host other]\n[host third]\n")
    cli, key = cli_runner.of_daemon(daemon, unix=True), bytes(16).hex()
    said = "hearsay: at host default; there is also: other, third (--host)\n"
    for words in (["list"], ["list", "--json"], ["log"], ["bans"], ["accept"], ["notices"], ["hide", key],
                  ["similar", "--within", "0.1"], ["ban", "--text", "a"]):
        _, out, err = cli.run("admin", *words)
        assert err.startswith(said) and "at host" not in out, words
        assert said not in cli.run("admin", *words, "--host", "default")[2], words
    for words in (["stats"], ["hosts"], ["reload"], ["check"]):
        assert cli.run("admin", *words)[2] == "", words
    assert cli_runner.of_daemon(make_daemon(), unix=True).run("admin", "list")[2] == ""


def test_the_manual_has_the_keys_of_json(make_daemon, rng):
    """hearsay(1) names each key that `admin list`, `log` and `similar` print with --json."""
    daemon = daemon_with(make_daemon)
    cli = cli_runner.of_daemon(daemon, unix=True)
    deposits = [wire.deposit_of(rng, LABELS) for _ in range(3)]
    with daemon.administrator() as client:
        for deposit in deposits:
            client.call(deposit)
    From(daemon).report(1, deposits[0].id, kind=pb.SPAM, reason="again")
    groups = cli.json_lines("admin", "similar", "--within", "0", "--json")
    listed = cli.json_lines("admin", "list", "--json")
    cli.ok("admin", "remove", "--why", "spam", "--reason", "third", deposits[0].id.hex())
    listed += cli.json_lines("admin", "list", "--hidden", "--json")
    log = cli.json_lines("admin", "log", "--json")
    assert listed[0]["reasons"] and listed[1]["destroyed"] and log[0]["kind"] and groups
    with open(os.path.join(os.path.dirname(__file__), "../../client/man/hearsay.1"), encoding="utf-8") as file:
        manual = file.read()
    for name, lines in (("list", listed), ("log", log), ("similar", groups)):
        (part,) = re.findall(rf"^\.It Cm admin {name} .*?(?=^\.It)", manual, re.MULTILINE | re.DOTALL)
        keys = set(re.findall(r"^\.Va (\w+)", part, re.MULTILINE))
        assert not {key for line in lines for key in line} - keys, name


def test_cli_of_handles(make_daemon):
    """Every ban that is listed can be taken back by the short name that stands before it."""
    daemon = make_daemon(start=False).make_local().start()
    cli, reader = cli_runner.of_daemon(daemon, unix=True), cli_runner.of_daemon(daemon)
    texts = [f"text {n}" for n in range(700)] # so many that some handles begin alike
    with daemon.administrator() as client:
        client.pipeline([pb.Ban(payload_hash=wire.withdraw_hash(text.encode())) for text in texts])
    cli.ok("admin", "ban", "-l", "topic:x", "-l", "topic:y")
    cli.ok("admin", "ban", "--text", "buy now")
    lines = cli.json_lines("admin", "bans", "--json")
    handles = [line["handle"] for line in lines]
    assert len(set(handles)) == 702

    beginnings = [handle[:4] for handle in handles]
    twice = next((b for b in beginnings if beginnings.count(b) > 1), None)
    if twice is not None:
        code, out, err = cli.run("admin", "unban", twice)
        assert (code, out) == (2, "") and "give more digits" in err
    for text, bad in (("none", "ffff0000ffff"), ("short", "abc"), ("no digits", "xyzz")):
        code, out, err = cli.run("admin", "unban", bad)
        assert code == (1 if text == "none" else 2) and out == "" and bad in err, text
    assert cli.run("admin", "unban", handles[0], "--text", "a")[0] == 2

    filters = [line["handle"] for line in lines if "filter" in line]
    assert reader.run("deposit", "-l", "topic:x", "-l", "topic:y", "hi")[0] == 4
    assert cli.ok("admin", "unban", filters[0][:8]) == "unbanned\n"
    assert reader.run("deposit", "-l", "topic:x", "-l", "topic:y", "hi")[0] == 0
    assert reader.run("deposit", "-l", "a:b", "buy now")[0] == 4
    assert cli.ok("admin", "unban", handles[-1][:8].upper()) == "unbanned\n"
    assert reader.run("deposit", "-l", "a:b", "buy now")[0] == 0
    assert len(cli.json_lines("admin", "bans", "--json")) == 700


def test_cli(make_daemon, rng):
    """report, list, restore and remove on the command line."""
    daemon = daemon_with(make_daemon, "[host default]\nhide_after = 1\nremove_after = 0\n")
    cli, reader = cli_runner.of_daemon(daemon, unix=True), cli_runner.of_daemon(daemon)
    with daemon.administrator() as client:
        bad = leave(client, rng, payload=b"\x1b[31mred")
    key = bad.id.hex()
    assert cli.ok("admin", "list") == "nothing is reported\n"
    assert reader.ok("report", key, "escape \x7f"[:6]) == "reported\n"
    page = cli.ok("admin", "list")
    assert key in page and "hidden, 1 report" in page and "    other: escape" in page
    assert "\x1b" not in page
    (line,) = cli.json_lines("admin", "list", "--json")
    assert (line["id"], line["reports"], line["hidden"]) == (key, 1, True)
    assert line["reasons"] == [{"kind": "other", "text": "escape"}]
    assert reader.run("get", key)[0] == 1
    assert cli.ok("admin", "restore", key) == "shown\n"
    assert reader.run("get", key)[0] == 0
    assert cli.ok("admin", "remove", key) == "removed; it cannot come back\n"
    assert cli.run("admin", "remove", key)[0] == 1
    assert cli.ok("admin", "list", "--pending") == "nothing waits for review\n"
    assert reader.run("admin", "remove", key)[0] == 4
    assert cli.run("admin", "remove", "abc")[0] == 2
    assert reader.run("report", key)[0] == 1
