# SPDX-License-Identifier: Apache-2.0
"""Deposit, Get and Withdraw: one message's life as its sender sees it."""

import pytest

import hearsay_wire as wire
from hearsay_wire import pb

HERE = ["wifi:a4:2b:8c:01:02:03", "wifi:a4:2b:8c:01:02:04", "topic:coffee"]


def deposit(rng, **fields):
    return wire.deposit_of(rng, HERE, **fields)


# --- deposit --------------------------------------------------------------------------------------


def test_deposit_is_acknowledged(client, rng):
    """The acknowledgement says when it was deposited, when it expires, and how durable it is."""
    before = client.call(pb.Ping()).now_ms
    answer = client.call(deposit(rng, ttl_s=100))
    after = client.call(pb.Ping()).now_ms
    assert before <= answer.deposited_ms <= after
    assert answer.expires_ms == answer.deposited_ms + 100_000
    assert not answer.duplicate
    assert answer.durability == pb.ON_STORAGE


@pytest.mark.parametrize("label", ["wifi:a4:2b:8c:01:02:03", "topic:coffee"])
def test_a_single_label_is_a_context(client, rng, label):
    """The smallest fill that the default configuration takes allows each label alone."""
    sent = wire.deposit_of(rng, [label])
    client.call(sent)
    assert sent.id in [r.id for r in client.call(wire.query_of([label], k=100)).results]


def test_default_ttl(client, rng):
    """Without ttl_s a message stays for ttl_default_s."""
    answer = client.call(deposit(rng))
    assert answer.expires_ms - answer.deposited_ms == client.welcome.limits.ttl_default_s * 1000


def test_longest_ttl_is_taken(client, rng):
    """ttl_max_s itself is allowed, as is one second."""
    for ttl in (1, client.welcome.limits.ttl_max_s):
        answer = client.call(deposit(rng, ttl_s=ttl))
        assert answer.expires_ms - answer.deposited_ms == ttl * 1000


@pytest.mark.parametrize("payload", [b"", b"\0", bytes(range(256)), "größer".encode()])
def test_payload_comes_back_as_it_was(client, rng, payload):
    """Payloads are bytes: nothing is read into them."""
    sent = deposit(rng, payload=payload, media_type="application/octet-stream")
    answer = client.call(sent)
    got = client.call(pb.Get(id=sent.id))
    assert (got.id, got.payload, got.media_type) == (sent.id, payload, sent.media_type)
    assert (got.deposited_ms, got.expires_ms) == (answer.deposited_ms, answer.expires_ms)
    assert got.epoch == 0


def test_absent_payload_is_an_empty_one(client, rng):
    """A message may carry nothing but its context; its media type is text/plain then too."""
    sent = pb.Deposit(id=wire.new_id(rng), filter=wire.filter_of(HERE))
    client.call(sent)
    got = client.call(pb.Get(id=sent.id))
    assert got.payload == b"" and got.media_type == "text/plain"


def test_texts_that_can_be_seen(client, rng):
    """One character that is seen is enough, of whatever script, and only texts are looked at."""
    for text in (" \u200b.", "\U0001f370", "\u2764\ufe0f", "\u0645\u0631\u062d\u0628\u0627",
                 "\u4f60\u597d", "e\u0301", "\u0378", b"\xff"):
        payload = text if isinstance(text, bytes) else text.encode()
        client.call(deposit(rng, payload=payload))
    for media_type in ("text/plainer", "application/octet-stream"):
        client.call(deposit(rng, media_type=media_type, payload=b"  "))


def test_a_text_of_nothing_is_refused_in_a_sentence(client, rng):
    """The sentence says what is wrong and what would be right."""
    refusal = client.refused(deposit(rng, payload="\u200b\u3164 \ufe0f".encode()))
    assert (refusal.code, refusal.error.field) == ("INVALID", "payload")
    assert "at least one character that can be seen" in refusal.error.message


def test_largest_payload(client, rng):
    """payload_bytes is inclusive; one byte more is TOO_LARGE."""
    most = client.welcome.limits.payload_bytes
    sent = deposit(rng, payload=rng.randbytes(most))
    client.call(sent)
    assert client.call(pb.Get(id=sent.id)).payload == sent.payload
    refusal = client.refused(deposit(rng, payload=bytes(most + 1)))
    assert refusal.code == "TOO_LARGE" and refusal.error.field == "payload"
    assert str(most) in refusal.error.message


def test_longest_media_type(client, rng):
    """media_type_bytes is inclusive."""
    most = client.welcome.limits.media_type_bytes
    sent = deposit(rng, media_type="text/" + "x" * (most - 5))
    client.call(sent)
    assert client.call(pb.Get(id=sent.id)).media_type == sent.media_type
    refusal = client.refused(deposit(rng, media_type="text/" + "x" * (most - 4)))
    assert refusal.code in ("INVALID", "TOO_LARGE") and refusal.error.field == "media_type"


# --- duplicates -----------------------------------------------------------------------------------


def test_same_message_again_is_a_duplicate(client, rng):
    """Sending it again is success: the original times, `duplicate`, and one message."""
    sent = deposit(rng, ttl_s=1000)
    first = client.call(sent)
    sent.ttl_s = 2000
    again = client.call(sent)
    assert again.duplicate and again.durability == pb.ON_STORAGE
    assert (again.deposited_ms, again.expires_ms) == (first.deposited_ms, first.expires_ms)
    results = client.call(wire.query_of(HERE, k=100)).results
    assert [r.id for r in results].count(sent.id) == 1


def test_absent_and_default_fields_are_the_same_content(client, rng):
    """What is absent has its default, so naming the default is no other content."""
    sent = deposit(rng)
    client.call(sent)
    sent.media_type, sent.reach, sent.epoch, sent.host = "text/plain", wire.WHOLE, 0, "default"
    assert client.call(sent).duplicate


@pytest.mark.parametrize(
    "change",
    [
        {"payload": b"other"},
        {"media_type": "text/html"},
        {"reach": 500_000},
        {"withdraw_hash": bytes(32)},
        {"filter": wire.filter_of(["topic:other", "topic:place"])},
    ],
    ids=lambda change: next(iter(change)),
)
def test_same_id_other_content(client, rng, change):
    """Same id, other content: ALREADY_EXISTS, and the first message stays as it was."""
    sent = deposit(rng)
    client.call(sent)
    other = pb.Deposit()
    other.CopyFrom(sent)
    other.MergeFrom(pb.Deposit(**change))
    refusal = client.refused(other)
    assert refusal.code == "ALREADY_EXISTS" and refusal.error.field == "id"
    assert client.call(pb.Get(id=sent.id)).payload == sent.payload


def test_duplicates_in_one_flight(client, rng):
    """The same deposit pipelined many times is one message: one first, the others duplicates."""
    sent = deposit(rng)
    answers = [a.deposited for a in client.pipeline([sent] * 20)]
    assert [a.duplicate for a in answers] == [False] + [True] * 19
    assert len({(a.deposited_ms, a.expires_ms) for a in answers}) == 1


def test_conflicts_in_one_flight(client, rng):
    """Of two pipelined messages with one id the first is stored and the second refused."""
    sent = deposit(rng)
    other = pb.Deposit()
    other.CopyFrom(sent)
    other.payload = b"other"
    kinds = [a.WhichOneof("body") for a in client.pipeline([sent, other, sent])]
    assert kinds == ["deposited", "error", "deposited"]
    assert client.call(pb.Get(id=sent.id)).payload == sent.payload


# --- get ------------------------------------------------------------------------------------------


def test_get_of_an_unknown_id(client, rng):
    """NOT_FOUND names the field."""
    refusal = client.refused(pb.Get(id=wire.new_id(rng)))
    assert refusal.code == "NOT_FOUND" and refusal.error.field == "id"


def test_get_from_storage(make_daemon, rng):
    """Without a cache in memory every payload comes from storage, and is the same."""
    with make_daemon("[limits]\ncache = 0\n").client() as client:
        sent = [deposit(rng, payload=rng.randbytes(300)) for _ in range(50)]
        client.pipeline(sent)
        got = client.pipeline([pb.Get(id=s.id) for s in sent])
        assert [g.got.payload for g in got] == [s.payload for s in sent]
        results = client.call(wire.query_of(HERE, k=50, with_payload=True)).results
        assert {r.id: r.payload for r in results} == {s.id: s.payload for s in sent}


# --- withdraw -------------------------------------------------------------------------------------


def test_withdraw(client, rng):
    """The token takes the message back: it is neither found nor got any more."""
    token = rng.randbytes(32)
    sent = deposit(rng, withdraw_hash=wire.withdraw_hash(token))
    client.call(sent)
    client.call(pb.Withdraw(id=sent.id, token=token))
    assert client.refused(pb.Get(id=sent.id)).code == "NOT_FOUND"
    assert sent.id not in {r.id for r in client.call(wire.query_of(HERE, k=100)).results}


def test_withdrawn_id_is_refused(client, rng):
    """An id that was withdrawn is refused until it would have expired, whatever its content."""
    token = rng.randbytes(32)
    sent = deposit(rng, withdraw_hash=wire.withdraw_hash(token))
    client.call(sent)
    client.call(pb.Withdraw(id=sent.id, token=token))
    assert client.refused(sent).code == "ALREADY_EXISTS"
    assert client.refused(deposit(rng, id=sent.id)).code == "ALREADY_EXISTS"
    assert client.refused(pb.Withdraw(id=sent.id, token=token)).code == "NOT_FOUND"


def test_withdrawn_id_is_refused_after_restart(make_daemon, rng):
    """The mark of a withdrawn message is as durable as a message."""
    daemon = make_daemon()
    token = rng.randbytes(32)
    sent = deposit(rng, withdraw_hash=wire.withdraw_hash(token))
    with daemon.client() as client:
        client.call(sent)
        client.call(pb.Withdraw(id=sent.id, token=token))
    daemon.restart()
    with daemon.client() as client:
        assert client.refused(sent).code == "ALREADY_EXISTS"
        assert client.refused(pb.Get(id=sent.id)).code == "NOT_FOUND"


def test_withdrawn_id_is_free_after_its_expiry(make_daemon, rng):
    """The mark of a withdrawn message ends when the message would have."""
    with make_daemon().client() as client:
        token = rng.randbytes(32)
        sent = deposit(rng, withdraw_hash=wire.withdraw_hash(token), ttl_s=1)
        client.call(sent)
        client.call(pb.Withdraw(id=sent.id, token=token))
        assert client.refused(sent).code == "ALREADY_EXISTS"

        def taken_again():
            (answer,) = client.pipeline([sent])
            return answer.WhichOneof("body") == "deposited"

        wire.wait_until(taken_again, "the id is free again")
        assert client.call(pb.Get(id=sent.id)).payload == sent.payload


def test_withdraw_with_the_wrong_token(client, rng):
    """FORBIDDEN, and the message stays."""
    sent = deposit(rng, withdraw_hash=wire.withdraw_hash(rng.randbytes(32)))
    client.call(sent)
    refusal = client.refused(pb.Withdraw(id=sent.id, token=rng.randbytes(32)))
    assert refusal.code == "FORBIDDEN" and refusal.error.field == "token"
    assert client.call(pb.Get(id=sent.id)).payload == sent.payload


def test_withdraw_of_what_cannot_be_withdrawn(client, rng):
    """A message without a withdraw hash has no token that fits."""
    sent = deposit(rng)
    client.call(sent)
    for token in (bytes(32), rng.randbytes(32)):
        refusal = client.refused(pb.Withdraw(id=sent.id, token=token))
        assert refusal.code == "FORBIDDEN" and "if it was with one" in refusal.error.message


def test_withdraw_of_an_unknown_id(client, rng):
    """NOT_FOUND names the field."""
    refusal = client.refused(pb.Withdraw(id=wire.new_id(rng), token=bytes(32)))
    assert refusal.code == "NOT_FOUND" and refusal.error.field == "id"


def test_deposit_withdraw_get_in_one_flight(client, rng):
    """Operations of one client on one message take effect in the order in which they were sent."""
    token = rng.randbytes(32)
    sent = deposit(rng, withdraw_hash=wire.withdraw_hash(token))
    withdraw = pb.Withdraw(id=sent.id, token=token)
    kinds = [
        (a.WhichOneof("body"), wire.ERROR_CODES.get(a.error.code) if a.HasField("error") else None)
        for a in client.pipeline([sent, withdraw, sent, withdraw])
    ]
    assert kinds == [
        ("deposited", None),
        ("withdrawn", None),
        ("error", "ALREADY_EXISTS"),
        ("error", "NOT_FOUND"),
    ]


# --- hosts ----------------------------------------------------------------------------------------


def test_hosts_are_apart(make_daemon, rng):
    """Each host has its own messages and profile; without a name the first one is meant."""
    config = "[host one]\nprofile = v2:256/3\n[host two]\nprofile = v2:1024/5\n"
    with make_daemon(config).client() as client:
        first = wire.deposit_of(rng, HERE, "v2:256/3")
        second = wire.deposit_of(rng, HERE, "v2:1024/5", host="two", id=first.id)
        assert not client.call(first).duplicate
        assert not client.call(second).duplicate, "one id in two hosts is two messages"
        assert client.call(pb.Get(id=first.id)).payload == first.payload
        assert client.call(pb.Get(id=first.id, host="one")).payload == first.payload
        assert client.call(pb.Get(id=first.id, host="two")).payload == second.payload
        found = client.call(wire.query_of(HERE, profile="v2:1024/5", host="two")).results
        assert [r.id for r in found] == [second.id] and found[0].distance == 0
        refusal = client.refused(wire.query_of(HERE, profile="v2:1024/5", host="one"))
        assert refusal.code == "PROFILE_MISMATCH"
