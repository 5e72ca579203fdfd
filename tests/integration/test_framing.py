# SPDX-License-Identifier: Apache-2.0
"""Bytes as they come: cut anywhere, too long, too short, or not ours at all."""

import socket
import struct

import pytest

import hearsay_wire as wire
from hearsay_wire import pb


def conversation(rng):
    """A pipelined stream with one of each request; returns it and the kinds of its answers."""
    token = rng.randbytes(32)
    labels = [f"topic:split{rng.random()}"]
    sent = wire.deposit_of(rng, labels, payload=b"x", withdraw_hash=wire.withdraw_hash(token))
    bodies = [
        pb.Hello(versions=[1]),
        sent,
        wire.query_of(labels, k=1),
        pb.Withdraw(id=sent.id, token=token),
        pb.Ping(),
    ]
    kinds = ["welcome", "deposited", "results", "withdrawn", "pong"]
    frames = [wire.frame(wire.request(body, i + 1)) for i, body in enumerate(bodies)]
    return b"".join(frames), kinds


def kinds_of(answers):
    return [a.WhichOneof("body") for a in sorted(answers, key=lambda a: a.id)]


def open_socket(daemon):
    """A raw connection that sends small writes as they are."""
    client = daemon.client(hello=False)
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def test_every_split(shared, rng):
    """A stream cut at any byte gives the same answers as in one piece."""
    length = len(conversation(rng)[0])
    for cut in range(1, length):
        data, kinds = conversation(rng)
        with open_socket(shared) as client:
            client.send_bytes(data[:cut])
            if cut >= 4 + struct.unpack(">I", data[:4])[0]:
                first = [client.receive()]  # Hello was whole: its answer needs nothing more
            else:
                first = []
            client.send_bytes(data[cut:])
            answers = first + [client.receive() for _ in range(len(kinds) - len(first))]
            assert kinds_of(answers) == kinds, f"cut at byte {cut}"


def test_one_byte_at_a_time(shared, rng):
    """A stream that trickles is served like any other."""
    data, kinds = conversation(rng)
    with open_socket(shared) as client:
        for i in range(len(data)):
            client.send_bytes(data[i : i + 1])
        assert kinds_of([client.receive() for _ in kinds]) == kinds


def test_random_pieces_over_the_unix_socket(shared, rng):
    """The same over the Unix socket, in pieces of random length, again and again."""
    for _ in range(50):
        data, kinds = conversation(rng)
        with wire.Client(shared.socket_path, hello=False) as client:
            while data:
                size = rng.randint(1, 40)
                client.send_bytes(data[:size])
                data = data[size:]
            assert kinds_of([client.receive() for _ in kinds]) == kinds


def test_largest_frame(client, rng):
    """A frame of exactly frame_bytes is taken; its length is checked, not its rest."""
    most = client.welcome.limits.frame_bytes
    request_id = client.new_id()
    ping = wire.request(pb.Ping(), request_id).SerializeToString()
    filler = most - len(ping) - 2 - 3
    data = ping + b"\xa2\x06" + bytes([filler & 127 | 128, filler >> 7 & 127 | 128, filler >> 14])
    data += bytes(filler)
    assert len(data) == most
    client.send_bytes(wire.frame(data))
    answer = client.receive()
    assert answer.id == request_id and answer.HasField("pong")


def test_largest_deposit_fits_a_frame(make_daemon, rng):
    """Whatever limits say is possible is: the largest payload goes in and comes out."""
    with make_daemon("[limits]\nframe = 4K\npayload = 2K\n").client() as client:
        sent = wire.deposit_of(rng, ["topic:frame"], payload=rng.randbytes(2048),
                               media_type="text/" + "x" * 122, withdraw_hash=bytes(32))
        client.call(sent)
        assert client.call(pb.Get(id=sent.id)).payload == sent.payload
        query = wire.query_of(["topic:frame"], k=1, with_payload=True)
        assert client.call(query).results[0].payload == sent.payload


def test_an_answer_over_the_frame_is_an_error(make_daemon, rng):
    """When an answer cannot fit, that is said; the session goes on."""
    with make_daemon("[limits]\nframe = 4K\npayload = 1K\nk = 1000\n").client() as client:
        client.pipeline([wire.deposit_of(rng, ["topic:many"]) for _ in range(200)])
        refusal = client.refused(wire.query_of(["topic:many"], k=200))
        assert refusal.code == "TOO_LARGE" and refusal.error.message
        assert len(client.call(wire.query_of(["topic:many"], k=20)).results) == 20


def oversized(count):
    return struct.pack(">I", count)


HELLO = wire.frame(wire.request(pb.Hello(versions=[1]), 1))
PING = wire.frame(wire.request(pb.Ping(), 2))

# What is not a frame of ours, and whether anything of it is answered with MALFORMED.
GARBAGE = {
    "zero-length": bytes(4),
    "oversized": oversized(64 * 1024 + 1),
    "oversized-with-bytes": oversized(64 * 1024 + 1) + bytes(1000),
    "oversized-most": oversized(2**32 - 1),
    "tls-client-hello": bytes.fromhex("16030100f8010000f40303") + bytes(range(200)),
    "http": b"GET / HTTP/1.1\r\nHost: hearsay\r\n\r\n",
    "ssh": b"SSH-2.0-OpenSSH_9.2\r\n",
    "all-ones": b"\xff" * 100,
    "no-message": wire.frame(b"\xff\xff\xff\xff"),
    "text": wire.frame(b"hello there"),
    "cut-varint": wire.frame(b"\x08\x80"),
    "long-varint": wire.frame(b"\x08" + b"\x80" * 10 + b"\x01"),
    "field-0": wire.frame(b"\x08\x01\x00\x01"),
    "length-beyond-end": wire.frame(b"\x08\x01\x12\x7f\x08\x01"),
    "group": wire.frame(b"\x08\x01\x0b\x0c"),
    "wrong-wire-type": wire.frame(b"\x0d\x01\x00\x00\x00"),
    "nested-garbage": wire.frame(b"\x08\x01\x22\x03\xff\xff\xff"),
    "two-bodies": wire.frame(
        wire.request(pb.Ping(), 3).SerializeToString() + pb.Request(get=pb.Get()).SerializeToString()
    ),
}


@pytest.mark.parametrize("name", GARBAGE)
@pytest.mark.parametrize("greeted", [False, True], ids=["first", "greeted"])
def test_garbage(shared, name, greeted):
    """Told that it is malformed, then a clean end; what was asked before is answered."""
    with shared.client() as bystander, open_socket(shared) as client:
        client.send_bytes((HELLO + PING if greeted else b"") + GARBAGE[name] + PING)
        answers = client.receive_until_end()
        kinds = [a.WhichOneof("body") for a in answers]
        assert kinds == (["welcome", "pong"] if greeted else []) + ["error"]
        error = answers[-1].error
        assert error.code == pb.MALFORMED and len(error.message) > 10
        bystander.call(pb.Ping())


@pytest.mark.parametrize("sent", [0, 1, 3, 4, 5, 20])
def test_truncated_and_hung_up(shared, sent):
    """A frame that never gets whole is no request; nothing is answered and nobody disturbed."""
    with shared.client() as bystander, open_socket(shared) as client:
        client.send_bytes(HELLO + wire.frame(wire.request(wire.query_of(["topic:x"]), 9))[:sent])
        client.socket.shutdown(socket.SHUT_WR)
        answers = client.receive_until_end()
        assert kinds_of(answers) == ["welcome"]
        bystander.call(pb.Ping())


def test_hang_up_at_every_byte(shared, rng):
    """Connections reset at any byte of a frame leave nothing behind."""
    data, _ = conversation(rng)
    linger = struct.pack("ii", 1, 0)  # close sends a reset
    for cut in range(len(data)):
        with open_socket(shared) as client:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            client.send_bytes(data[:cut])
    with shared.client() as client:
        client.call(pb.Ping())


def test_random_bytes(shared, rng):
    """Whatever the bytes: a clear error or a clean end."""
    for _ in range(200):
        with open_socket(shared) as client:
            data = rng.randbytes(rng.randint(1, 300))
            if rng.random() < 0.7:  # get past the length
                data = wire.frame(data)
            client.send_bytes((HELLO if rng.random() < 0.5 else b"") + data)
            client.socket.shutdown(socket.SHUT_WR)
            for answer in client.receive_until_end():
                assert answer.WhichOneof("body") in ("welcome", "error"), answer


def test_mutated_requests(shared, rng):
    """One changed byte in a sound request: an answer or an error, and the daemon lives."""
    plain = [
        wire.deposit_of(rng, ["topic:mutant"], ttl_s=1),
        wire.query_of(["topic:mutant"], k=3, contains=["topic:mutant"], since_ms=1),
        pb.Get(id=bytes(16)),
        pb.Withdraw(id=bytes(16), token=bytes(32)),
    ]
    for _ in range(300):
        data = bytearray(wire.request(rng.choice(plain), 7).SerializeToString())
        data[rng.randrange(len(data))] = rng.randrange(256)
        with open_socket(shared) as client:
            client.send_bytes(HELLO + wire.frame(bytes(data)) + PING)
            client.socket.shutdown(socket.SHUT_WR)
            answers = client.receive_until_end()
            assert answers[0].HasField("welcome") and len(answers) >= 2
    with shared.client() as client:
        client.call(pb.Ping())
