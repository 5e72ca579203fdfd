# SPDX-License-Identifier: Apache-2.0
"""What should not be there: reported by readers, judged by the operator, gone for good."""

import glob
import os
import socket

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
        assert list(first.reasons) == ["reason 1", "reason 2"]
        assert (first.payload, first.media_type) == (b"text 1", "text/plain")
        assert (second.reports, second.hidden, list(second.reasons)) == (1, False, ["käse"])
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
    daemon = make_daemon()
    with daemon.administrator() as client:
        bad = leave(client, rng, ttl_s=3)
        assert client.call(pb.Get(id=bad.id)).payload == bad.payload  # is in the cache
        client.call(pb.Remove(id=bad.id))
        assert not found(client)
        assert client.refused(pb.Get(id=bad.id)).code == "NOT_FOUND"
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


def test_nothing_is_left_within_a_minute(make_daemon, rng):
    """Removed and withdrawn payloads are in no byte of the data directory 60 s later; others are."""
    daemon = make_daemon()
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
        wire.wait_until(lambda: not on_storage(secrets[0]) and not on_storage(secrets[1]),
                        "the removed payloads have left the files", patience=60)
        assert on_storage(secrets[2])
        assert client.call(pb.Get(id=kept.id)).payload == secrets[2]


def test_long_lists_fit_a_frame(make_daemon, rng):
    """However much was reported, the answer fits; what is left out is counted."""
    daemon = make_daemon("[limits]\nframe = 8K\npayload = 4K\n[host default]\nhide_after = 1\n")
    with daemon.administrator() as client:
        sent = [leave(client, rng, payload=rng.randbytes(3000)) for _ in range(30)]
        for one in sent:
            client.call(pb.Report(id=one.id, reason="r" * 200))
        answer = listed(client)
        assert answer.total == 30 and 5 < len(answer.messages) < 30
        with_payload = [m for m in answer.messages if not m.payload_omitted]
        assert with_payload and all(len(m.payload) == 3000 for m in with_payload)
        for one in sent:
            client.call(pb.Remove(id=one.id))
        assert listed(client).total == 0


def test_cli(make_daemon, rng):
    """report, list, restore and remove on the command line."""
    daemon = daemon_with(make_daemon, "[host default]\nhide_after = 1\n")
    cli, reader = cli_runner.of_daemon(daemon, unix=True), cli_runner.of_daemon(daemon)
    with daemon.administrator() as client:
        bad = leave(client, rng, payload=b"\x1b[31mred")
    key = bad.id.hex()
    assert cli.ok("admin", "list") == "nothing is reported\n"
    assert reader.ok("report", key, "escape \x7f"[:6]) == "reported\n"
    page = cli.ok("admin", "list")
    assert key in page and "hidden, 1 report" in page and "reason: escape" in page
    assert "\x1b" not in page
    (line,) = cli.json_lines("admin", "list", "--json")
    assert (line["id"], line["reports"], line["hidden"]) == (key, 1, True)
    assert line["reasons"] == ["escape"]
    assert reader.run("get", key)[0] == 1
    assert cli.ok("admin", "restore", key) == "shown\n"
    assert reader.run("get", key)[0] == 0
    assert cli.ok("admin", "remove", key) == "removed\n"
    assert cli.run("admin", "remove", key)[0] == 1
    assert cli.ok("admin", "list", "--pending") == "nothing waits for review\n"
    assert reader.run("admin", "remove", key)[0] == 4
    assert cli.run("admin", "remove", "abc")[0] == 2
    assert reader.run("report", key)[0] == 1
