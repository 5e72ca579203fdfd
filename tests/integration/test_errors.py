# SPDX-License-Identifier: Apache-2.0
"""What a request can be refused for: the code, the field, a sentence, and nothing else disturbed."""

import pytest

import hearsay_wire as wire
from hearsay_wire import pb

HERE = ["topic:errors", "topic:refusals"]
FILTER = wire.filter_of(HERE)
ID = bytes(range(16))


def query(**fields):
    fields.setdefault("k", 5)
    fields.setdefault("parts", [pb.QueryPart(filter=FILTER)])
    return pb.Query(**fields)


def deposit(**fields):
    fields.setdefault("id", ID)
    fields.setdefault("filter", FILTER)
    return pb.Deposit(**fields)


def filled(wifi, others=0):
    """A filter of the default profile with so many bits set of the 362 of the section wifi and of the 97
    of the section any."""
    return ((1 << wifi) - 1 | (1 << others) - 1 << 362 + 53).to_bytes(64, "little")


REFUSALS = {
    # UNKNOWN_HOST
    "deposit-host": (deposit(host="nowhere"), "UNKNOWN_HOST", "host"),
    "query-host": (query(host="nowhere"), "UNKNOWN_HOST", "host"),
    "get-host": (pb.Get(id=ID, host="nowhere"), "UNKNOWN_HOST", "host"),
    "withdraw-host": (pb.Withdraw(id=ID, token=bytes(32), host="a"), "UNKNOWN_HOST", "host"),
    "host-prefix": (query(host="defaul"), "UNKNOWN_HOST", "host"),
    # UNKNOWN_EPOCH
    "deposit-epoch": (deposit(epoch=1), "UNKNOWN_EPOCH", "epoch"),
    "deposit-epoch-most": (deposit(epoch=2**64 - 1), "UNKNOWN_EPOCH", "epoch"),
    "query-epoch": (
        query(parts=[pb.QueryPart(filter=FILTER, epoch=3)]), "UNKNOWN_EPOCH", "parts.epoch"),
    # PROFILE_MISMATCH
    "deposit-short": (deposit(filter=FILTER[:-1]), "PROFILE_MISMATCH", "filter"),
    "deposit-long": (deposit(filter=FILTER + b"\0"), "PROFILE_MISMATCH", "filter"),
    "deposit-longest": (deposit(filter=FILTER * 8), "PROFILE_MISMATCH", "filter"),
    "query-short": (
        query(parts=[pb.QueryPart(filter=b"\1")]), "PROFILE_MISMATCH", "parts.filter"),
    "contains-short": (
        query(parts=[pb.QueryPart(filter=FILTER, contains=b"\1")]),
        "PROFILE_MISMATCH", "parts.contains"),
    "second-part": (
        query(parts=[pb.QueryPart(filter=FILTER), pb.QueryPart(filter=b"\1")]),
        "PROFILE_MISMATCH", "parts.filter"),
    # FILL_OUT_OF_RANGE: 0.02 % of 512 is 0.1 bits, 50 % of a section is 181 and 48.5
    "deposit-empty": (deposit(filter=filled(0)), "FILL_OUT_OF_RANGE", "filter"),
    "deposit-dense": (deposit(filter=filled(182)), "FILL_OUT_OF_RANGE", "filter"),
    "deposit-dense-any": (deposit(filter=filled(0, 49)), "FILL_OUT_OF_RANGE", "filter"),
    "deposit-full": (deposit(filter=filled(362, 97)), "FILL_OUT_OF_RANGE", "filter"),
    "query-dense": (
        query(parts=[pb.QueryPart(filter=filled(0, 49))]), "FILL_OUT_OF_RANGE", "parts.filter"),
    "contains-full": (
        query(parts=[pb.QueryPart(filter=FILTER, contains=filled(362))]),
        "FILL_OUT_OF_RANGE", "parts.contains"),
    # INVALID: k, parts, times, numbers
    "k-0": (query(k=0), "INVALID", "k"),
    "k-absent": (pb.Query(parts=[pb.QueryPart(filter=FILTER)]), "INVALID", "k"),
    "k-above": (query(k=101), "INVALID", "k"),
    "k-most": (query(k=2**32 - 1), "INVALID", "k"),
    "no-parts": (query(parts=[]), "INVALID", "parts"),
    "since-is-until": (query(since_ms=5, until_ms=5), "INVALID", "until_ms"),
    "since-after-until": (query(since_ms=6, until_ms=5), "INVALID", "until_ms"),
    "max-distance": (query(max_distance=1_000_001), "INVALID", "max_distance"),
    "reach": (deposit(reach=1_000_001), "INVALID", "reach"),
    "ttl-0": (deposit(ttl_s=0), "INVALID", "ttl_s"),
    "ttl-above": (deposit(ttl_s=7 * 86400 + 1), "INVALID", "ttl_s"),
    "ttl-most": (deposit(ttl_s=2**32 - 1), "INVALID", "ttl_s"),
    # INVALID: presence and sizes
    "deposit-without-id": (pb.Deposit(filter=FILTER), "INVALID", "id"),
    "deposit-short-id": (deposit(id=bytes(15)), "INVALID", "id"),
    "deposit-long-id": (deposit(id=bytes(17)), "INVALID", "id"),
    "deposit-empty-id": (deposit(id=b""), "INVALID", "id"),
    "deposit-without-filter": (pb.Deposit(id=ID), "INVALID", "filter"),
    "deposit-empty-filter": (deposit(filter=b""), "INVALID", "filter"),
    "deposit-short-hash": (deposit(withdraw_hash=bytes(31)), "INVALID", "withdraw_hash"),
    "deposit-empty-hash": (deposit(withdraw_hash=b""), "INVALID", "withdraw_hash"),
    # Texts of which nothing can be seen, of each kind; test_character.c has all.
    **{f"deposit-blank-{ord(text[0]):04x}": (deposit(payload=text.encode()), "INVALID", "payload")
       for text in ["   ", "\n", "\u00a0", "\u00ad", "\u0301", "\u093e", "\u200b", "\u202e",
                    "\u2800", "\u3164", "\ufe0f", "\ufffe", "\U000e0041"]},
    "deposit-blank-with-a-charset": (
        deposit(payload=b" ", media_type="text/plain; charset=utf-8"), "INVALID", "payload"),
    "get-without-id": (pb.Get(), "INVALID", "id"),
    "get-short-id": (pb.Get(id=bytes(8)), "INVALID", "id"),
    "withdraw-without-id": (pb.Withdraw(token=bytes(32)), "INVALID", "id"),
    "withdraw-without-token": (pb.Withdraw(id=ID), "INVALID", "token"),
    "withdraw-short-token": (pb.Withdraw(id=ID, token=bytes(31)), "INVALID", "token"),
    "part-without-filter": (query(parts=[pb.QueryPart()]), "INVALID", "parts.filter"),
    "host-of-no-name": (query(host=""), "INVALID", "host"),
    "host-in-capitals": (query(host="Default"), "INVALID", "host"),
    "host-too-long": (query(host="a" * 64), "INVALID", "host"),
    "slice-without-bits": (query(exclude=[pb.Slice(hashes=1)]), "INVALID", "exclude.bits"),
    "slice-of-no-bits": (query(exclude=[pb.Slice(bits=b"", hashes=1)]), "INVALID", "exclude.bits"),
    "slice-without-hashes": (query(exclude=[pb.Slice(bits=b"1")]), "INVALID", "exclude.hashes"),
    "slice-of-0-hashes": (
        query(exclude=[pb.Slice(bits=b"1", hashes=0)]), "INVALID", "exclude.hashes"),
    "slice-of-33-hashes": (
        query(exclude=[pb.Slice(bits=b"1", hashes=33)]), "INVALID", "exclude.hashes"),
    "slices-of-257-hashes": (
        query(exclude=[pb.Slice(bits=b"1", hashes=h) for h in [32] * 8 + [1]]), "INVALID",
        "exclude.hashes"),
    "33-slices": (query(exclude=[pb.Slice(bits=b"1", hashes=1)] * 33), "INVALID", "exclude"),
    # UNSUPPORTED: in the protocol, not served by this version
    "watch": (pb.Watch(query=query()), "INVALID", "query.k"),
    "unwatch": (pb.Unwatch(watch_id=1), "NOT_FOUND", "watch_id"),
    "here-of-no-host": (pb.Here(host="nowhere"), "UNKNOWN_HOST", "host"),
    "report": (pb.Report(id=ID, reason="spam"), "NOT_FOUND", "id"),
    "report-with-a-long-reason": (pb.Report(id=ID, reason="x" * 1001), "INVALID", "reason"),
    "report-of-no-kind": (pb.Report(id=ID, kind=0), "INVALID", "kind"),
    "report-with-two-lines": (pb.Report(id=ID, reason="a\nb"), "INVALID", "reason"),
    "report-without-id": (pb.Report(reason="spam"), "INVALID", "id"),
    "summary-of-an-epoch": (pb.Summary(epoch=1), "UNKNOWN_EPOCH", "epoch"),
    "summary-of-no-host": (pb.Summary(host="nowhere"), "UNKNOWN_HOST", "host"),
    "stats": (pb.Stats(), "FORBIDDEN", "stats"),
    "remove": (pb.Remove(id=ID), "FORBIDDEN", "remove"),
    "restore": (pb.Restore(id=ID), "FORBIDDEN", "restore"),
    "hide": (pb.Hide(id=ID), "FORBIDDEN", "hide"),
    "decisions": (pb.Decisions(), "FORBIDDEN", "decisions"),
    "wait": (pb.Wait(), "FORBIDDEN", "wait"),
    "reported": (pb.Reported(), "FORBIDDEN", "reported"),
    "ban": (pb.Ban(filter=FILTER), "FORBIDDEN", "ban"),
    "accept": (pb.Accept(mode="closed"), "FORBIDDEN", "accept"),
    "unban": (pb.Unban(filter=FILTER), "FORBIDDEN", "unban"),
    "bans": (pb.Bans(), "FORBIDDEN", "bans"),
    "check": (pb.Check(), "FORBIDDEN", "check"),
    "backup": (pb.Backup(path="/tmp/x"), "FORBIDDEN", "backup"),
    "compact": (pb.Compact(), "FORBIDDEN", "compact"),
    "reload": (pb.Reload(), "FORBIDDEN", "reload"),
    "log-level": (pb.LogLevel(level="debug"), "FORBIDDEN", "log_level"),
    "notice": (pb.Notice(text="x"), "FORBIDDEN", "notice"),
    "similar": (pb.Similar(), "FORBIDDEN", "similar"),
    "similar-beyond-1": (pb.Similar(max_distance=1_000_001), "INVALID", "max_distance"),
    # FORBIDDEN over TCP
    "export": (pb.Export(), "FORBIDDEN", "export"),
    # NOT_FOUND
    "get": (pb.Get(id=ID), "NOT_FOUND", "id"),
    "withdraw": (pb.Withdraw(id=ID, token=bytes(32)), "NOT_FOUND", "id"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(client, name):
    """The code, the field and a sentence for people; the session goes on."""
    body, code, field = REFUSALS[name]
    refusal = client.refused(body)
    assert refusal.code == code, refusal
    assert refusal.error.field == field, refusal
    assert " " in refusal.error.message, refusal
    assert len(refusal.error.message.encode()) <= 511
    client.call(pb.Ping())


def test_refusals_change_nothing(client):
    """None of the refused deposits above has left a message behind."""
    bodies = [body for body, _, _ in REFUSALS.values()]
    for answer in client.pipeline(bodies):
        assert answer.WhichOneof("body") == "error"
    assert client.refused(pb.Get(id=ID)).code == "NOT_FOUND"
    assert ID not in {r.id for r in client.call(wire.query_of(HERE, k=100)).results}


def test_bounds_of_fill_are_inclusive(client, rng):
    """The fullest and emptiest filters within the bounds are taken."""
    for bits in ((1,), (181, 46)):
        client.call(deposit(id=wire.new_id(rng), filter=filled(*bits), ttl_s=1))
    client.call(query(parts=[pb.QueryPart(filter=filled(181, 46), contains=filled(181, 46))]))
    client.call(query(parts=[pb.QueryPart(filter=filled(0))]))


def test_bits_beyond_the_profile(make_daemon, rng):
    """Fill is counted in the profile's own bits, whatever host is meant."""
    config = "[limits]\ndeposit_fill_min = 0%\ndeposit_fill_max = 100%\nquery_fill_max = 100%\n"
    with make_daemon(config + "[host small]\nprofile = v2:64/2\n").client() as client:
        for bits in (0, 64):
            body = deposit(id=wire.new_id(rng), filter=((1 << bits) - 1).to_bytes(8, "little"))
            assert not client.call(body).duplicate
        part = pb.QueryPart(filter=bytes(8))
        distances = [r.distance for r in client.call(query(parts=[part], metric=pb.BITS)).results]
        assert distances == [0, wire.WHOLE], "two empty filters are at distance 0"


def test_too_many_parts(client):
    """parts_max is inclusive."""
    most = client.welcome.limits.parts_max
    client.call(query(parts=[pb.QueryPart(filter=FILTER)] * most))
    refusal = client.refused(query(parts=[pb.QueryPart(filter=FILTER)] * (most + 1)))
    assert refusal.code == "INVALID" and refusal.error.field == "parts"


def test_enums_that_are_none(client):
    """A metric or order from the future, or a metric of the past, is refused by name, not guessed."""
    for field, name, values in ((7, "metric", (0, 2, 4, 100)), (8, "order", (0, 4, 100))):
        for value in values:
            body = pb.Query.FromString(
                query().SerializeToString() + bytes([field << 3, value])
            )
            refusal = client.refused(body)
            assert (refusal.code, refusal.error.field) == ("INVALID", name), refusal
            allowed = "1 and 3" if name == "metric" else "1 to 3"
            assert refusal.error.message == f"{name} is {value}; {allowed} are allowed"


def test_text_that_is_none(client):
    """Strings are UTF-8 without NUL."""
    for bad in (b"\xff\xfe", b"text/\0plain", b"\xed\xa0\x80", b"\xc0\x80"):
        body = deposit().SerializeToString() + bytes([5 << 3 | 2, len(bad)]) + bad
        client.send_bytes(wire.frame(pb.Request(id=client.new_id()).SerializeToString()
                                     + bytes([3 << 3 | 2, len(body)]) + body))
        answer = client.receive()
        assert wire.ERROR_CODES[answer.error.code] == "INVALID", answer
        assert "media_type" in answer.error.field
    client.call(pb.Ping())


# --- unknown requests and fields ------------------------------------------------------------------


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


UNKNOWN_FIELDS = [
    varint(100 << 3 | 0) + varint(2**64 - 1),
    varint(101 << 3 | 1) + bytes(8),
    varint(102 << 3 | 2) + varint(5) + b"hello",
    varint(103 << 3 | 5) + bytes(4),
    varint(536870911 << 3 | 2) + varint(0),
]


@pytest.mark.parametrize("index", range(len(UNKNOWN_FIELDS)))
def test_unknown_fields_are_ignored(client, rng, index):
    """A newer client's fields do no harm: in the request, in its body, in a part."""
    more = UNKNOWN_FIELDS[index]
    labels = [f"topic:unknown{rng.random()}"]
    sent = wire.deposit_of(rng, labels)
    client.call(pb.Deposit.FromString(sent.SerializeToString() + more))
    part = pb.QueryPart.FromString(
        pb.QueryPart(filter=wire.filter_of(labels)).SerializeToString() + more
    )
    found = client.call(pb.Query(k=1, parts=[part])).results
    assert [r.id for r in found] == [sent.id]
    ping = wire.request(pb.Ping(), client.new_id()).SerializeToString()
    client.send_bytes(wire.frame(more + ping + more))
    assert client.receive().HasField("pong")


def test_unknown_request(client):
    """A request that this version does not know, or none at all, is UNSUPPORTED; no more."""
    for body in (b"", varint(99 << 3 | 2) + varint(0), varint(99 << 3 | 2) + varint(3) + b"abc"):
        request_id = client.new_id()
        client.send_bytes(wire.frame(pb.Request(id=request_id).SerializeToString() + body))
        answer = client.receive()
        assert answer.id == request_id
        assert wire.ERROR_CODES[answer.error.code] == "UNSUPPORTED"
        assert answer.error.message
    client.call(pb.Ping())


# --- request ids ----------------------------------------------------------------------------------


def test_any_id_but_zero(client):
    """Ids are the client's choice, large and repeated ones too."""
    for request_id in (1, 127, 128, 2**32, 2**63, 2**64 - 1, 1, 1):
        client.send_bytes(wire.frame(wire.request(pb.Ping(), request_id)))
        answer = client.receive()
        assert answer.id == request_id and answer.HasField("pong")


@pytest.mark.parametrize("request_id", [0, None])
def test_id_zero_is_malformed(shared, request_id):
    """Id 0 belongs to pushes: a request with it, or without one, is malformed."""
    with shared.client() as client:
        made = pb.Request(ping=pb.Ping())
        if request_id is not None:
            made.id = request_id
        client.send_bytes(wire.frame(made))
        (answer,) = client.receive_until_end()
        assert answer.id == 0 and answer.error.code == pb.MALFORMED
        assert answer.error.field == "id"
