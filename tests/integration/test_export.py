# SPDX-License-Identifier: Apache-2.0
"""Export: everything that is stored, page by page, for the administrator alone."""

import hearsay_wire as wire
from hearsay_wire import pb


def pages(client, **fields):
    """All pages of an export."""
    found, after = [], None
    while True:
        page = client.call(pb.Export(after=after, **fields))
        found.append(list(page.messages))
        if not page.HasField("next"):
            return found
        assert page.messages, "a page that is not the last has something on it"
        after = page.next


def as_sent(deposit, deposited):
    """The ExportedMessage that a deposit should become."""
    made = pb.ExportedMessage(
        id=deposit.id,
        filter=deposit.filter,
        media_type=deposit.media_type or "text/plain",
        payload=deposit.payload,
        deposited_ms=deposited.deposited_ms,
        expires_ms=deposited.expires_ms,
        reach=deposit.reach if deposit.HasField("reach") else wire.WHOLE,
    )
    if deposit.HasField("withdraw_hash"):
        made.withdraw_hash = deposit.withdraw_hash
    return made


def normal(message):
    """Absent and default are the same."""
    fields = ("id", "filter", "media_type", "payload", "deposited_ms", "expires_ms", "epoch")
    reach = message.reach if message.HasField("reach") else wire.WHOLE
    return tuple(getattr(message, f) for f in fields) + (reach, message.withdraw_hash)


def stock(client, rng, count, **fields):
    sent = []
    for number in range(count):
        # random bytes alone may be a text in which nothing can be seen
        payload = b"" if rng.random() < 0.01 else b"a" + rng.randbytes(rng.randint(0, 900))
        one = wire.deposit_of(rng, [f"topic:{number % 7}"], payload=payload, **fields)
        if rng.random() < 0.5:
            one.withdraw_hash = rng.randbytes(32)
        if rng.random() < 0.5:
            one.reach = rng.randint(0, wire.WHOLE)
        sent.append(one)
    return [as_sent(s, a.deposited) for s, a in zip(sent, client.pipeline(sent))]


def test_everything_once_and_in_order(daemon, rng):
    """All messages, each once, in order of deposit, with all that belongs to them."""
    with daemon.administrator() as client:
        expected = stock(client, rng, 500)
        found = pages(client)
        assert len(found) > 3, "more than fits one frame"
        assert [normal(m) for page in found for m in page] == [normal(m) for m in expected]


def test_small_pages(daemon, rng):
    """`limit` bounds a page; the pages together are the same."""
    with daemon.administrator() as client:
        expected = stock(client, rng, 25)
        for limit in (1, 7, 25, 1000):
            found = pages(client, limit=limit)
            assert all(len(page) <= limit for page in found)
            assert [m.id for page in found for m in page] == [m.id for m in expected]


def test_nothing_to_export(daemon):
    """An empty store has one empty page."""
    with daemon.administrator() as client:
        assert pages(client) == [[]]


def test_of_one_host(make_daemon, rng):
    """Each host is exported on its own."""
    with make_daemon("[host a]\n[host b]\n").administrator() as client:
        of_a = stock(client, rng, 10, host="a")
        of_b = stock(client, rng, 10, host="b")
        assert [m.id for page in pages(client, host="a") for m in page] == [m.id for m in of_a]
        assert [m.id for page in pages(client, host="b") for m in page] == [m.id for m in of_b]
        assert client.refused(pb.Export(host="c")).code == "UNKNOWN_HOST"


def test_largest_messages(daemon, rng):
    """Messages as large as they may be come out one or several to a page."""
    with daemon.administrator() as client:
        most = client.welcome.limits.payload_bytes
        sent = [
            wire.deposit_of(rng, ["topic:large"], payload=rng.randbytes(most),
                            media_type="text/" + "x" * 122, withdraw_hash=bytes(32))
            for _ in range(40)
        ]
        client.pipeline(sent)
        found = [m for page in pages(client) for m in page]
        assert [m.payload for m in found] == [s.payload for s in sent]


def test_not_what_is_gone(daemon, rng):
    """Withdrawn and expired messages are not exported."""
    with daemon.administrator() as client:
        token = rng.randbytes(32)
        stays = wire.deposit_of(rng, ["topic:stay"])
        goes = wire.deposit_of(rng, ["topic:go"], withdraw_hash=wire.withdraw_hash(token))
        expires = wire.deposit_of(rng, ["topic:go"], ttl_s=1)
        client.pipeline([stays, goes, expires])
        client.call(pb.Withdraw(id=goes.id, token=token))

        def only_one_is_left():
            return [m.id for page in pages(client) for m in page] == [stays.id]

        wire.wait_until(only_one_is_left, "the expired message is gone from the export")


def test_while_messages_come_and_go(daemon, rng):
    """What is there all the time is exported once, whatever else happens between pages."""
    with daemon.administrator() as client:
        token = rng.randbytes(32)
        fields = {"withdraw_hash": wire.withdraw_hash(token)}
        before = [wire.deposit_of(rng, ["topic:x"], **fields) for _ in range(60)]
        client.pipeline(before)
        page = client.call(pb.Export(limit=20))
        seen = [m.id for m in page.messages]
        gone = before[10:15] + before[30:35] + before[19:20]
        client.pipeline([pb.Withdraw(id=b.id, token=token) for b in gone])
        client.pipeline([wire.deposit_of(rng, ["topic:new"]) for _ in range(20)])
        while page.HasField("next"):
            page = client.call(pb.Export(limit=20, after=page.next))
            seen += [m.id for m in page.messages]
        assert len(seen) == len(set(seen))
        assert {b.id for b in before} - {g.id for g in gone} <= set(seen)


def test_wrong_cursors(daemon, rng):
    """What is no cursor is refused by name; one beyond the end is an empty last page."""
    with daemon.administrator() as client:
        stock(client, rng, 3)
        for bad in (b"", b"abc", bytes(9), bytes(16)):
            refusal = client.refused(pb.Export(after=bad))
            assert (refusal.code, refusal.error.field) == ("INVALID", "after")
        assert not client.call(pb.Export(after=b"\xff" * 8)).messages


def test_not_over_tcp(daemon, rng):
    """Over TCP export is FORBIDDEN, from whatever address; so it is before anything is looked up."""
    with daemon.client() as client:
        for body in (pb.Export(), pb.Export(limit=1, after=bytes(8)), pb.Export(after=b"abc")):
            refusal = client.refused(body)
            assert refusal.code == "FORBIDDEN" and "Unix socket" in refusal.error.message
