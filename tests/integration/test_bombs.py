# SPDX-License-Identifier: Apache-2.0
"""Messages made to cost much or to be read in two ways, byte by byte: each is answered as
docs/protocol.md has it, within bounds of memory and time, and others go on being served."""

import contextlib
import random
import time

import pytest

import hearsay_wire as wire
import hostile
from hearsay_wire import pb
from hostile import MIB

FRAME = 64 * 1024
FILTER = wire.filter_of(["topic:bomb", "topic:cost"])
REPEATS = 40  # of each bomb


def varint(number, width=0):
    """`width` bytes at least, the last ones for nothing."""
    data = b""
    while number > 127 or len(data) + 1 < width:
        data += bytes([number & 127 | 128])
        number >>= 7
    return data + bytes([number])


def field(number, data, width=0):
    """Length-delimited."""
    return varint(number << 3 | 2) + varint(len(data), width) + data


def number_field(number, value, width=0):
    return varint(number << 3) + varint(value, width)


def nested(number, depth):
    data = b""
    while depth > 0 and len(data) < FRAME - 100:
        data, depth = field(number, data), depth - 1
    return data


ID = number_field(1, 7)
PING = field(12, b"")


def query(parts=field(3, field(2, FILTER)), rest=b""):
    return ID + field(4, number_field(2, 5) + parts + rest)


def deposit(rest):
    return ID + field(3, field(2, bytes(16)) + field(4, FILTER) + rest)


def numbered(name):
    """Whether our idea of the schema's numbers is the schema's."""
    return {f.name: f.number for f in pb.DESCRIPTOR.message_types_by_name[name].fields}


PONG, FOUND = "pong", "results"  # taken, since nothing is wrong
UNKNOWN = 1000

# What is sent, and what it is answered with. MALFORMED ends the connection, nothing else does.
BOMBS = {
    # deep
    "unknown-deep": (ID + field(UNKNOWN, nested(UNKNOWN, 20_000)) + PING, PONG),
    "known-deep": (ID + field(4, nested(3, 20_000)), "INVALID"),  # bytes, from the third level on
    "groups": (ID + b"\x0b" * 60_000, "MALFORMED"),
    "groups-closed": (ID + b"\x0b" * 30_000 + b"\x0c" * 30_000, "MALFORMED"),
    "groups-unknown": (ID + varint(UNKNOWN << 3 | 3) + varint(UNKNOWN << 3 | 4) + PING, "MALFORMED"),
    # repeated
    "parts-empty": (query(field(3, b"") * 30_000), "INVALID"),
    "parts-65": (query(field(3, field(2, FILTER)) * 65), "INVALID"),
    "parts-64": (query(field(3, field(2, FILTER)) * 64), FOUND),
    "slices-empty": (query(rest=field(9, b"") * 30_000), "INVALID"),
    "slices-33": (query(rest=field(9, field(1, b"x") + number_field(2, 1)) * 33), "INVALID"),
    "versions": (ID + field(2, number_field(1, 1) * 30_000), "INVALID"),
    "versions-packed": (ID + field(2, field(1, b"\x01" * 60_000)), "INVALID"),
    "versions-packed-nothing": (ID + field(2, field(1, b"") * 20_000), "INVALID"),
    # unknown
    "unknown-256": (ID + number_field(UNKNOWN, 1) * 256 + PING, PONG),
    "unknown-257": (ID + number_field(UNKNOWN, 1) * 257 + PING, "INVALID"),
    "unknown-20000": (ID + number_field(UNKNOWN, 1) * 20_000 + PING, "INVALID"),
    "unknown-within": (query(field(3, field(2, FILTER) + number_field(99, 1) * 300)), "INVALID"),
    "unknown-large": (ID + field(UNKNOWN, bytes(60_000)) + PING, PONG),
    "unknown-highest": (ID + number_field(2**29 - 1, 1) + PING, PONG),
    "unknown-too-high": (ID + number_field(2**29, 1) + PING, "MALFORMED"),
    # twice
    "id-twice": (ID + ID + PING, "MALFORMED"),
    "k-twice": (query(rest=number_field(2, 5)), "MALFORMED"),
    "filter-twice": (query(field(3, field(2, FILTER) * 2)), "MALFORMED"),
    "filter-many-times": (deposit(field(4, FILTER) * 900), "MALFORMED"),
    "payload-many-times": (deposit(field(6, bytes(4000)) * 15), "MALFORMED"),
    "bodies-two": (ID + PING + field(5, field(2, bytes(16))), "MALFORMED"),
    "bodies-many": (ID + PING * 30_000, "MALFORMED"),
    "bodies-merged": (query() + field(4, number_field(2, 100)), "MALFORMED"),
    # over-long and over-large numbers
    "varint-padded": (number_field(1, 7, 10) + PING, PONG),
    "varint-of-11": (b"\x08" + varint(7, 11) + PING, "MALFORMED"),
    "varint-of-65-bits": (b"\x08" + b"\xff" * 9 + b"\x02" + PING, "MALFORMED"),
    "varint-endless": (b"\x08" + b"\x80" * 60_000, "MALFORMED"),
    "tag-padded": (ID + b"\xe2\x80\x80\x80\x00\x00", PONG),
    "tag-of-6": (ID + b"\xe2\x80\x80\x80\x80\x00\x00", "MALFORMED"),
    "tag-0": (ID + b"\x00\x00" + PING, "MALFORMED"),
    "tag-0-padded": (ID + b"\x80\x80\x00" + PING, "MALFORMED"),
    "length-padded": (ID + field(12, b"", 5), PONG),
    "length-of-6": (ID + field(12, b"", 6), "MALFORMED"),
    "length-2^31": (ID + varint(12 << 3 | 2) + varint(2**31), "MALFORMED"),
    "length-2^32-1": (ID + varint(12 << 3 | 2) + varint(2**32 - 1), "MALFORMED"),
    "length-2^32": (ID + varint(12 << 3 | 2) + varint(2**32), "MALFORMED"),
    "length-2^64-1": (ID + varint(12 << 3 | 2) + varint(2**64 - 1), "MALFORMED"),
    "length-one-more": (ID + varint(UNKNOWN << 3 | 2) + varint(3) + PING, "MALFORMED"),
    "k-2^32": (ID + field(4, number_field(2, 2**32) + field(3, field(2, FILTER))), "INVALID"),
    "k-2^64-1": (ID + field(4, number_field(2, 2**64 - 1) + field(3, field(2, FILTER))), "INVALID"),
    "metric-2^40": (query(rest=number_field(7, 2**40)), "INVALID"),
    "wire-type-6": (ID + varint(UNKNOWN << 3 | 6) + PING, "MALFORMED"),
    "wire-type-7": (ID + varint(UNKNOWN << 3 | 7) + PING, "MALFORMED"),
    "fixed-64-cut": (ID + PING + varint(UNKNOWN << 3 | 1) + bytes(7), "MALFORMED"),
    "fixed-32-for-k": (ID + field(4, b"\x15\x01\0\0\0" + field(3, field(2, FILTER))), "MALFORMED"),
    "text-for-k": (ID + field(4, field(2, b"5") + field(3, field(2, FILTER))), "MALFORMED"),
    "hashes-2^32-1": (
        query(rest=field(9, field(1, bytes(60_000)) + number_field(2, 2**32 - 1))), "INVALID"),
}


def test_the_numbers_are_the_schemas():
    """The bombs are made of bare numbers, so that nothing helps to make them well-formed."""
    assert [numbered("Request")[n] for n in ("id", "hello", "deposit", "query", "get", "ping")] == [
        1, 2, 3, 4, 5, 12]
    assert [numbered("Query")[n] for n in ("k", "parts", "metric", "exclude")] == [2, 3, 7, 9]
    assert [numbered("QueryPart")["filter"], numbered("Slice")["bits"]] == [2, 1]
    assert [numbered("Deposit")[n] for n in ("id", "filter", "payload")] == [2, 4, 6]
    assert numbered("Hello")["versions"] == 1 and numbered("Slice")["hashes"] == 2


@pytest.fixture(scope="module")
def bystander(shared):
    return hostile.Bystander(shared, random.Random(7))


@contextlib.contextmanager
def bounded(daemon, sanitized):
    """Whatever it is, it takes no more than a few frames' memory while it is looked at."""
    before = daemon.resident_bytes()
    hostile.reset_peak(daemon)
    yield
    grown = hostile.peak_bytes(daemon) - before
    print(f"grew by {grown / MIB:.1f} MiB")
    assert sanitized or grown < 8 * FRAME + hostile.SLACK


def outcome(answer):
    kind = answer.WhichOneof("body")
    return wire.ERROR_CODES[answer.error.code] if kind == "error" else kind


@pytest.mark.parametrize("name", BOMBS)
def test_bomb(shared, bystander, sanitized, name):
    """Many of each, as a first message (where it is never served) and later."""
    message, expected = BOMBS[name]
    frame = wire.frame(message)
    assert len(message) <= FRAME
    with bounded(shared, sanitized):
        if expected == "MALFORMED":
            for n in range(REPEATS):
                with shared.client(hello=n % 2 == 0) as client:
                    client.send_bytes(frame)
                    *rest, last = client.receive_until_end()
                    assert not rest and outcome(last) == "MALFORMED" and last.error.message
        else:
            with shared.client() as client:
                answers = client.exchange(frame * REPEATS, REPEATS)
                assert {outcome(a) for a in answers} == {expected}
                assert {a.id for a in answers} == {7}
                client.call(pb.Ping())
            with shared.client(hello=False) as client:
                client.send_bytes(frame)
                (answer,) = client.receive_until_end()
                assert answer.HasField("error")
        bystander.check()


def test_bombs_at_once(shared, bystander, sanitized, rng):
    """All kinds from many connections, in any order, with well-meant requests between them."""
    taken = {n: wire.frame(m) for n, (m, e) in BOMBS.items() if e != "MALFORMED"}
    names = rng.choices(list(taken), k=600)
    with bounded(shared, sanitized):
        began = time.monotonic()
        clients = [shared.client() for _ in range(8)]
        for at, client in enumerate(clients):
            mine = names[at::8]
            answers = client.exchange(b"".join(taken[n] for n in mine), len(mine))
            counted = sorted(outcome(a) for a in answers)
            assert counted == sorted(BOMBS[n][1] for n in mine)
            bystander.check()
            client.close()
        print(f"{len(names)} in {time.monotonic() - began:.1f} s")
