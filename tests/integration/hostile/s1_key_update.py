# SPDX-License-Identifier: Apache-2.0
"""S1: TLS records without application data, as many as a client can send.

KeyUpdates that ask for one in return, requests to renegotiate, and both with other records between
them. 0.1.0 took 1,200 of them at a time, charged nobody for the time, and kept the answers where no
limit counts them.
"""

import os
import random
import socket
import ssl
import tempfile
import time

import pytest

import certificates
import hearsay_wire as wire
import hostile
import sealed
import siege
from hearsay_wire import pb

MAY_FOLLOW = 32  # TLS_IDLE_RECORDS_MAX of proto/tls/tls.h
TLS12, TLS13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


def client_hello():
    """A plausible ClientHello of TLS 1.2, as a message of the handshake: it asks to renegotiate."""
    body = (b"\3\3" + bytes(32) + b"\0" + b"\0\2\xc0\x2c" + b"\1\0")
    return b"\1" + len(body).to_bytes(3, "big") + body


FLOODS = {
    "KeyUpdates": (TLS13, lambda seal, i: seal.key_update()),
    "KeyUpdates and empty records": (
        TLS13, lambda seal, i: seal.record(sealed.APPLICATION, b"") if i % 2 else seal.key_update()),
    "renegotiation": (TLS12, lambda seal, i: seal.record(sealed.HANDSHAKE, client_hello())),
    "renegotiation and warnings": (
        TLS12, lambda seal, i: seal.record(sealed.ALERT, sealed.WARNING_USER_CANCELED) if i % 3 == 0
        else seal.record(sealed.HANDSHAKE, client_hello())),
    "empty records": (TLS13, lambda seal, i: seal.record(sealed.APPLICATION, b"")),
    "empty records, TLS 1.2": (TLS12, lambda seal, i: seal.record(sealed.APPLICATION, b"")),
}


@pytest.fixture(scope="module")
def secured(module_daemons, tmp_path_factory):
    config = certificates.config_lines(str(tmp_path_factory.mktemp("certificate")))
    return module_daemons(f"listen = 127.0.0.1:0 tls\n{config}")


def address_of(daemon):
    return "127.0.0.1", int(daemon.find_log(r"listening on 127\.0\.0\.1:(\d+) tls").group(1))


def figures(administrator):
    return {one.name: one.value for one in administrator.call(pb.Stats()).figures}


def hello():
    return wire.frame(wire.request(pb.Hello(versions=[1]), 1))


def flooder(daemon, version=TLS13):
    return sealed.connect(address_of(daemon), version)


@pytest.mark.parametrize("kind", FLOODS)
@pytest.mark.parametrize("pieces", [0, 1, 7])
def test_a_flood_is_dropped(secured, kind, pieces):
    """One record more than may follow one another, in one piece or in bytes: no request behind
    them is answered, and the reason is counted."""
    version, make = FLOODS[kind]
    with secured.administrator() as administrator, flooder(secured, version) as peer:
        before = figures(administrator)
        flood = b"".join(make(peer.seal, i) for i in range(MAY_FOLLOW + 1))
        flood += peer.seal.record(sealed.APPLICATION, hello())
        for at in range(0, len(flood), pieces or len(flood)):
            peer.send(flood[at : at + (pieces or len(flood))])
        wire.wait_until(peer.look, "the daemon ends the connection")
        after = figures(administrator)
        # OpenSSL refuses some kinds earlier.
        dropped = sum(after[name] - before[name] for name in ("dropped/records/sessions_total",
                                                              "dropped/tls/sessions_total"))
        assert dropped == 1
        if "KeyUpdates" in kind or kind == "renegotiation":
            assert after["dropped/records/sessions_total"] == before["dropped/records/sessions_total"] + 1


@pytest.mark.parametrize("kind", ["KeyUpdates", "renegotiation"])
def test_one_after_the_other(secured, kind):
    """Each record waits for the answer to the one before: so many are taken, and not one more."""
    version, make = FLOODS[kind]
    with flooder(secured, version) as peer:
        peer.send(make(peer.seal, 0))
        if kind == "renegotiation":  # OpenSSL answers a KeyUpdate when the next record comes
            assert not peer.is_hung_up_on()
        sent = 1
        while sent < 10 * MAY_FOLLOW and not peer.has_ended:
            peer.send(make(peer.seal, sent))
            sent += 1
            peer.is_hung_up_on()
        assert sent == MAY_FOLLOW + 1


@pytest.mark.parametrize("kind", ["KeyUpdates", "renegotiation"])
def test_data_in_between(secured, kind):
    """Records that have application data between them are taken for as long as they come."""
    version, make = FLOODS[kind]
    with flooder(secured, version) as peer:
        peer.send(peer.seal.record(sealed.APPLICATION, hello()))
        for turn in range(10):
            ping = wire.frame(wire.request(pb.Ping(), 2 + turn))
            peer.send(b"".join(make(peer.seal, i) for i in range(MAY_FOLLOW)) +
                      peer.seal.record(sealed.APPLICATION, ping))
            assert not peer.is_hung_up_on()


def test_answers_count_as_output(make_daemon, tmp_path, sanitized):
    """A client that reads nothing, with a byte of data now and then so that it is not dropped:
    what TLS answers counts, and over the bound nothing more is read."""
    bound = 256 * 1024
    config = certificates.config_lines(str(tmp_path))
    daemon = make_daemon(f"listen = 127.0.0.1:0 tls limited\n{config}"
                         f"[limits]\nframe = 16K\nsession_output = {bound}\n")
    rng = random.Random(1)
    stream = socket.socket()
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)  # the kernel holds little, then
    stream.settimeout(wire.PATIENCE)
    stream.connect(address_of(daemon))
    administrator = daemon.administrator()
    with hostile.besieged(daemon, rng, bound, sanitized), sealed.Sealed(
            stream, sealed.careless(), server_side=False) as peer:
        peer.send(peer.seal.record(sealed.APPLICATION, hello()))
        data = wire.frame(wire.request(pb.Deposit(payload=bytes(16000)), 2))
        waiting, total, at, held = b"", 0, 0, 0
        while held < 20 and total < 4 * hostile.MIB:
            if len(waiting) < 64 * 1024:  # a byte of data in a round of 32 records
                waiting += b"".join(peer.seal.key_update() for _ in range(MAY_FOLLOW - 1))
                waiting += peer.seal.record(sealed.APPLICATION, data[at : at + 1])
                at += 1
            taken = peer.push(waiting)
            waiting, total = waiting[taken:], total + taken
            # A turn of the daemon's loop: whatever it wants to read, it reads.
            output = figures(administrator)["output_bytes"]
            assert output <= bound
            held = held + 1 if taken == 0 and output >= bound // 2 else 0
        assert held == 20, f"it still reads after {total} bytes"
    administrator.close()


# --- times, by tests/bench/hostile.py -------------------------------------------------------------


def flood_for(place, end):
    """Floods, and comes again when it is dropped. `place`: the address of the daemon."""
    os.nice(19)  # the honest client goes first: what counts is how long the daemon takes
    while time.monotonic() < end:
        try:
            peer = sealed.connect(place, source="127.0.0.2")
        except (OSError, AssertionError, wire.Ended):
            time.sleep(0.01)
            continue
        with peer:
            try:
                while time.monotonic() < end:
                    peer.stream.sendall(b"".join(peer.seal.key_update() for _ in range(1000)))
            except OSError:
                pass


def trickle_for(place, end):
    """The same, with a byte of data in 32 records, so that it is never dropped; reads nothing."""
    os.nice(19)
    while time.monotonic() < end:
        try:
            peer = sealed.connect(place, source="127.0.0.2")
        except (OSError, AssertionError, wire.Ended):
            time.sleep(0.01)
            continue
        with peer:
            try:
                peer.stream.sendall(peer.seal.record(sealed.APPLICATION, hello()))
                frame = wire.frame(wire.request(pb.Deposit(payload=bytes(16000)), 2))
                for byte in frame * 1000:
                    peer.stream.sendall(b"".join(peer.seal.key_update() for _ in range(31)) +
                                        peer.seal.record(sealed.APPLICATION, bytes([byte])))
            except OSError:
                pass


def measure(program, seconds=4):
    """Waits of an honest client over TLS beside 1 and 8 flooding connections of one address, and
    what a connection that reads nothing adds to the daemon's memory."""
    found = {}
    with tempfile.TemporaryDirectory() as directory:
        config = certificates.config_lines(directory)
        for name, work, count in (("idle", flood_for, 0), ("1 flooder", flood_for, 1),
                                  ("8 flooders", flood_for, 8), ("1 trickler", trickle_for, 1),
                                  ("8 tricklers", trickle_for, 8)):
            with siege.MeasuredDaemon(program, config, tls=True) as daemon:
                place = ("127.0.0.1", daemon.port)

                def ask(daemon=daemon):
                    client = daemon.client("127.0.0.9", tls=sealed.careless(), patience=60)
                    return lambda: client.call(pb.Ping())

                before = daemon.resident_bytes()
                with siege.attackers(work, [place] * count, seconds + 20):
                    time.sleep(1 if count else 0)
                    waits = siege.honest_waits_ms(ask, seconds, pause_s=0.002)
                    grown = daemon.resident_bytes() - before
                found[f"ping p50 ms, {name}"] = siege.quantile(waits, 0.5)
                found[f"ping p99 ms, {name}"] = siege.quantile(waits, 0.99)
                if count:
                    found[f"memory MiB, {name}"] = grown / hostile.MIB
    return found
