# SPDX-License-Identifier: Apache-2.0
"""Peers that mean no good. What is asserted of each: those who mean well go on being answered
rightly, the peer is told or closed as documented, memory stays within what is configured, and
descriptors come back."""

import os
import socket
import struct
import time

import pytest

import hearsay_wire as wire
import hostile
from hearsay_wire import pb
from hostile import MIB

FRAME = 64 * 1024
# What one session may hold of input: the largest frame, and what one read adds to it.
INPUT = FRAME + 64 * 1024


def claims(length):
    """The header of a frame."""
    return struct.pack(">I", length)


# --- slow and silent ones -------------------------------------------------------------------------


def test_slow_loris(make_daemon, rng, sanitized):
    """A byte now and then does not stretch the time for Hello: told so, and closed."""
    crowd = 150
    daemon = make_daemon("[limits]\nhello_timeout = 1s\n")
    with hostile.besieged(daemon, rng, crowd * INPUT, sanitized) as bystander:
        slow = {daemon.client(hello=False) for _ in range(crowd)}
        for client in slow:
            client.send_bytes(claims(FRAME))
        told = 0
        while slow:
            ended = {client for client in slow if hostile.push(client, b"\x0a") is None}
            bystander.check()
            for client in ended | set(hostile.readable(slow)):
                words = hostile.last_words(client)
                assert words in ([], ["INVALID"])  # [] if we looked for it too late
                told += len(words)
                client.close()
                slow.remove(client)
        assert told > 0
        print(f"{told} of {crowd} told")


def test_half_sent_requests(make_daemon, rng, sanitized):
    """Nearly whole frames of everybody are held, and answered once they are whole."""
    crowd = 200
    daemon = make_daemon()
    with hostile.besieged(daemon, rng, crowd * INPUT, sanitized) as bystander:
        labels = ["topic:halves"]
        kept = bystander.client.call(wire.deposit_of(rng, labels, id=bytes(16)))
        query = wire.query_of(labels, k=1)
        query.exclude.add(bits=bytes(FRAME - 200), hashes=1)
        clients = [daemon.client() for _ in range(crowd)]
        frames = [wire.frame(wire.request(query, client.new_id())) for client in clients]
        for client, frame in zip(clients, frames):
            client.send_bytes(frame[:-1])
        for _ in range(5):
            bystander.check()
        assert not hostile.readable(clients)
        for client, frame in zip(clients, frames):
            client.send_bytes(frame[-1:])
        for client in clients:
            (found,) = client.body_of(client.receive(), client.last_id).results
            assert found.id == bytes(16) and found.expires_ms == kept.expires_ms
            client.close()


def test_one_byte_at_a_time(make_daemon, rng, sanitized):
    """Many who say, and hear, one byte at a time: all are answered rightly."""
    crowd = 20
    daemon = make_daemon()
    with hostile.besieged(daemon, rng, crowd * INPUT, sanitized) as bystander:
        labels = ["topic:bytes", "topic:single"]
        made = wire.deposit_of(rng, labels)
        bystander.client.call(made)
        bodies = [pb.Hello(versions=[1]), wire.query_of(labels, k=1), pb.Get(id=made.id)]
        speech = b"".join(wire.frame(wire.request(b, n + 1)) for n, b in enumerate(bodies))
        clients = [daemon.client(hello=False) for _ in range(crowd)]
        for client in clients:
            client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(speech)):
            for client in clients:
                client.send_bytes(speech[at : at + 1])
            if at % 20 == 0:
                bystander.check()
        for client in clients:
            heard = b""
            while heard.count(made.payload) < 1:
                byte = client.socket.recv(1)
                assert byte, "the server ended"
                heard += byte
            client.pending = heard
            welcome, found, got = (client.receive() for _ in bodies)
            assert welcome.HasField("welcome")
            assert [r.id for r in found.results.results] == [made.id]
            assert got.got.payload == made.payload
            client.close()


def keepalive_of(address, peer):
    """Of the daemon's end of a connection: whether a keepalive is due, and in how many seconds."""
    ends = [f"{struct.unpack('=I', socket.inet_aton(host))[0]:08X}:{port:04X}"
            for host, port in (address, peer)]
    with open("/proc/net/tcp", encoding="ascii") as file:
        for line in file:
            fields = line.split()
            if fields[1:3] == ends:
                timer, jiffies = fields[5].split(":")
                return timer == "02", int(jiffies, 16) / os.sysconf("SC_CLK_TCK")
    raise AssertionError("the daemon has no such connection")


def test_half_open_watchers_are_probed(make_daemon):
    """Who watches may be silent for ever: TCP asks every minute whether it is still there."""
    daemon = make_daemon()
    with daemon.client() as watcher:
        query = pb.Query(parts=[pb.QueryPart(filter=wire.filter_of(["topic:open"]))])
        watcher.call(pb.Watch(query=query))
        here = watcher.socket.getsockname()

        def is_probed():  # its acknowledgement of our last answer may be on its way
            return keepalive_of(daemon.address, here)[0]

        wire.wait_until(is_probed, "the timer for keepalives runs")
        assert keepalive_of(daemon.address, here)[1] <= 61


def vanish(client):
    """Its end of the connection is forgotten by the kernel, without a word to the server."""
    tcp_repair = 19
    client.socket.setsockopt(socket.IPPROTO_TCP, tcp_repair, 1)
    client.socket.close()


@pytest.mark.parametrize("how", ["silent", "vanished"])
def test_half_open(make_daemon, rng, sanitized, how):
    """Peers that are gone, or never speak again, cost a session until idle_timeout; none has to
    end its side for that."""
    crowd = 60
    daemon = make_daemon("[limits]\nidle_timeout = 1s\nhello_timeout = 1s\n")
    with hostile.besieged(daemon, rng, crowd * INPUT, sanitized) as bystander:
        files = hostile.open_files(daemon)
        gone = [daemon.client(hello=n % 2 == 0) for n in range(crowd)]
        if how == "vanished":
            try:
                for client in gone:
                    vanish(client)
            except PermissionError:
                pytest.skip("needs CAP_NET_ADMIN to let a connection vanish")

        def is_over():
            bystander.check()
            return hostile.open_files(daemon) <= files

        wire.wait_until(is_over, "sessions of those who are gone are closed")
        for client in gone:
            client.close()


# --- those that do not read, and those that send all they can -------------------------------------


def test_a_crowd_that_never_reads(make_daemon, rng, sanitized):
    """`output` holds for all together; who asks and does not read is paused or dropped."""
    crowd, output = 30, 2 * MIB
    daemon = make_daemon(f"[limits]\nsession_output = 256K\noutput = {output}\n")
    with hostile.besieged(daemon, rng, output + crowd * INPUT, sanitized) as bystander:
        labels = ["topic:unread"]
        deposits = [wire.deposit_of(rng, labels, payload=b"x" * 500) for _ in range(80)]
        bystander.client.pipeline(deposits)
        query = wire.query_of(labels, k=100, with_payload=True, max_distance=0)
        data = wire.frame(wire.request(query, 1)) * 100
        deaf = [daemon.client(receive_buffer=4096) for _ in range(crowd)]
        cut_off = set()
        for _ in range(25):
            cut_off |= {client for client in deaf
                        if client not in cut_off and hostile.push(client, data) is None}
            bystander.check()
        assert len(bystander.client.call(query).results) == 80
        print(f"{len(cut_off)} of {crowd} dropped")
        for client in deaf:
            client.close()


def test_largest_pipelines(make_daemon, rng, sanitized):
    """As many requests, and as large ones, as a connection takes: each has its right answer."""
    crowd = 3
    session = 2 * MIB  # work under way, and answers: WORK_BYTES_MAX and session_output
    daemon = make_daemon()
    with hostile.besieged(daemon, rng, crowd * (session + INPUT), sanitized) as bystander:
        limits = bystander.client.welcome.limits
        labels = ["topic:pipeline"]
        kept = [wire.deposit_of(rng, labels, payload=rng.randbytes(limits.payload_bytes))
                for _ in range(20)]
        bystander.client.pipeline(kept)
        small = wire.query_of(labels, k=1, max_distance=0)
        large = wire.query_of(labels, k=1, max_distance=0)
        large.exclude.add(bits=bytes(limits.frame_bytes - 200), hashes=1)
        for _ in range(crowd):
            with daemon.client() as client:
                bodies = [small] * (limits.requests_in_flight + 100) + [large] * 60
                bodies += [wire.query_of(labels, k=20, with_payload=True, max_distance=0)] * 20
                answers = client.pipeline(bodies)
                assert all(len(a.results.results) == 1 for a in answers[:-20])
                for answer in answers[-20:]:
                    sent = [r for r in answer.results.results if not r.payload_omitted]
                    assert len(answer.results.results) == 20 and len(sent) >= 10
                    payloads = {d.id: d.payload for d in kept}
                    assert all(payloads[r.id] == r.payload for r in sent)
            bystander.check()


def expensive(rng, hashes=16):
    """All that a query may cost: most results, many parts, an empty filter, a huge exclude."""
    query = wire.query_of(["topic:expensive"], k=100)
    query.parts.add(filter=bytes(64))
    for n in range(30):
        query.parts.add(filter=wire.filter_of([f"topic:flood{n}", f"wifi:flood{n}"]))
    bits = bytearray(40 * 1024)
    for at in range(0, len(bits), 3):
        bits[at] = rng.randrange(256)
    query.exclude.add(bits=bytes(bits), hashes=hashes)
    return query


def left_after(query, answer):
    """Of an answer without it, what the first slice of `exclude` leaves."""
    bits = wire.bits_of(query.exclude[0].bits)
    width, hashes = len(query.exclude[0].bits) * 8, query.exclude[0].hashes

    def is_excluded(message_id):
        positions = wire.slice_positions(message_id, hashes, width, query.exclude[0].seed)
        return all(bits >> p & 1 for p in positions)

    return [shape for shape in answer if not is_excluded(shape[0])]


def test_floods_of_expensive_queries(make_daemon, rng, sanitized):
    """Each of a flood is answered rightly, and so is everybody else meanwhile."""
    crowd = 6
    daemon = make_daemon()
    with hostile.besieged(daemon, rng, crowd * (2 * MIB + INPUT), sanitized) as bystander:
        for n in range(300):
            made = wire.deposit_of(rng, [f"topic:flood{n % 40}", f"wifi:flood{n % 7}"])
            bystander.reference.add(made, bystander.client.call(made))
        query = expensive(rng, hashes=1)  # about one in six is left out
        unlimited = pb.Query.FromString(query.SerializeToString())
        unlimited.k = 1000  # of the reference: all, of which those that are excluded go
        right = left_after(query, bystander.reference.answer(unlimited))[: query.k]
        assert len(right) == query.k
        with daemon.client() as one:
            assert list(map(wire.shape, one.call(query).results)) == right
        frame = wire.frame(wire.request(expensive(rng), 1))
        assert len(frame) < FRAME
        flood = [daemon.client() for _ in range(crowd)]
        at, answers = dict.fromkeys(flood, 0), 0
        for _ in range(40):
            for client in flood:
                at[client] += hostile.push(client, (frame * 4)[at[client] % len(frame) :])
            bystander.check()
            for client in hostile.readable(flood):
                got = []
                client.take_available(got)
                answers += len(got)
                assert all(a.HasField("results") for a in got)
        print(f"{answers} expensive answers")
        assert answers > 0
        for client in flood:
            client.close()


# --- thousands ------------------------------------------------------------------------------------


def test_five_thousand_connections(make_daemon, rng, sanitized):
    """They are served, cost next to nothing, and come back as descriptors when they go."""
    wanted = min(5000, hostile.raise_descriptors(5400) - 400)
    daemon = make_daemon("[limits]\nsessions = 5100\nhello_timeout = 60s\n")
    with hostile.besieged(daemon, rng, wanted * 4096, sanitized) as bystander:
        crowd = []
        for n in range(wanted):
            crowd.append(daemon.client(hello=False))
            if n % 500 == 0:
                bystander.check()
        hello = wire.frame(wire.request(pb.Hello(versions=[1]), 1))
        ping = wire.frame(wire.request(pb.Ping(), 2))
        for client in crowd:
            client.send_bytes(hello + ping)
        for n, client in enumerate(crowd):
            assert client.receive().HasField("welcome")
            assert client.receive().HasField("pong")
            if n % 500 == 0:
                bystander.check()
        for client in crowd:
            client.close()
    print(f"{wanted} connections")


def test_thousands_of_connections_of_one_address(make_daemon, rng, sanitized):
    """One address gets its own few sessions, which watch; all else it tries is refused, and keeps
    nobody out."""
    daemon = make_daemon(
        "listen = 127.0.0.2:0 limited\n[limits]\nsessions = 64\nsessions_per_address = 8\n"
        "hello_timeout = 60s\nqueries_per_minute = 0\n")
    address = ("127.0.0.2", int(daemon.find_log(r"listening on 127\.0\.0\.2:(\d+)").group(1)))
    with hostile.besieged(daemon, rng, 100 * INPUT, sanitized) as bystander:
        mine = [wire.Client(address, source="127.0.9.1") for _ in range(8)]
        for client in mine:
            client.call(pb.Watch(query=wire.query_of(["topic:watched"], k=0)))
        outcomes, began = {"told": 0, "cut off": 0}, time.monotonic()
        for n in range(3000):
            try:
                with wire.Client(address, hello=False, source="127.0.9.1") as client:
                    words = hostile.last_words(client)
                    assert words in ([], ["RATE_LIMITED"])
                    outcomes["told" if words else "cut off"] += 1
            except ConnectionError:
                outcomes["cut off"] += 1
            if n % 300 == 0:
                bystander.check()
                with wire.Client(address, source="127.0.9.2") as other:
                    other.call(pb.Ping())
        print(outcomes)
        # 16 at once, and one a second; what is told is only one of those who look
        assert 0 < outcomes["told"] <= 16 + 1 + time.monotonic() - began
        for client in mine:
            client.call(pb.Ping())
            client.close()


# --- others' messages and epochs ------------------------------------------------------------------


def test_ids_of_others(make_daemon, rng, sanitized):
    """Whoever knows an id can neither replace, withdraw nor hide its message."""
    daemon = make_daemon("listen = 127.0.0.2:0 limited\n[limits]\ndeposits_per_minute = 0\n")
    address = ("127.0.0.2", int(daemon.find_log(r"listening on 127\.0\.0\.2:(\d+)").group(1)))
    with hostile.besieged(daemon, rng, 0, sanitized) as bystander:
        token = rng.randbytes(32)
        mine = wire.deposit_of(rng, ["topic:mine"], withdraw_hash=wire.withdraw_hash(token))
        bystander.client.call(mine)
        with wire.Client(address, source="127.0.9.1") as thief:
            for deposit, _ in list(bystander.reference.messages.values()):
                same = wire.deposit_of(rng, bystander.labels(), id=deposit.id, payload=b"mine")
                assert thief.refused(same).code == "ALREADY_EXISTS"
                assert thief.refused(pb.Withdraw(id=deposit.id, token=token)).code == "FORBIDDEN"
                for _ in range(3):
                    thief.call(pb.Report(id=deposit.id, reason="not mine"))
            for _ in range(200):
                guess = pb.Withdraw(id=mine.id, token=rng.randbytes(32))
                assert thief.refused(guess).code == "FORBIDDEN"
            bystander.check()
        bystander.client.call(pb.Withdraw(id=mine.id, token=token))


def test_ids_that_collide(make_daemon, rng, sanitized):
    """Ids that are alike in all but a few bits, and the same id at the same time from many."""
    daemon = make_daemon()
    with hostile.besieged(daemon, rng, 4 * MIB, sanitized) as bystander:
        labels = ["topic:alike"]
        alike = [n.to_bytes(2, "big") + bytes(14) for n in range(800)]
        alike += [bytes(14) + n.to_bytes(2, "big") for n in range(1, 800)]
        alike += [bytes(7) + n.to_bytes(2, "big") + b"\xff" * 7 for n in range(800)]
        sent = [wire.deposit_of(rng, labels, id=one) for one in alike]
        assert all(a.HasField("deposited") for a in bystander.client.pipeline(sent))
        got = bystander.client.pipeline([pb.Get(id=d.id) for d in sent])
        assert [g.got.payload for g in got] == [d.payload for d in sent]
        bystander.check()

        rivals = [daemon.client() for _ in range(10)]
        for _ in range(20):
            same = wire.new_id(rng)
            bodies = [wire.deposit_of(rng, labels, id=same, payload=bytes([n]))
                      for n in b"0123456789"]
            for rival, body in zip(rivals, bodies):
                rival.post(body)
            answers = [rival.receive() for rival in rivals]
            winners = [b"0123456789"[n] for n, a in enumerate(answers) if a.HasField("deposited")]
            losers = {wire.ERROR_CODES[a.error.code] for a in answers if a.HasField("error")}
            assert len(winners) == 1 and losers == {"ALREADY_EXISTS"}
            assert bystander.client.call(pb.Get(id=same)).payload == bytes(winners)
        for rival in rivals:
            rival.close()


def test_epoch_probing(make_daemon, rng, sanitized):
    """Numbers of epochs that are not there all sound alike, and no key comes from guessing."""
    daemon = make_daemon("[host default]\nepoch_length = 1h\nepoch_keep = 1h\n")
    with hostile.besieged(daemon, rng, 0, sanitized) as bystander, daemon.client() as prober:
        epoch = prober.welcome.hosts[0].epoch
        assert not epoch.HasField("key")
        near = [epoch.number + d for d in range(-3, 300) if d != 0 and epoch.number + d > 0]
        guesses = near + [rng.randrange(1, 2**64) for _ in range(300)] + [2**64 - 1, 2**63]
        guesses = [g for g in guesses if g != epoch.number]
        part, sounds = wire.filter_of(["topic:probe"]), set()
        for kind in (lambda g: pb.Query(k=1, parts=[pb.QueryPart(filter=part, epoch=g)]),
                     lambda g: pb.Deposit(id=wire.new_id(rng), filter=part, epoch=g),
                     lambda g: pb.Summary(epoch=g)):
            answers = prober.pipeline([kind(guess) for guess in guesses])
            bystander.check()
            assert {wire.ERROR_CODES[a.error.code] for a in answers} == {"UNKNOWN_EPOCH"}
            # the sentence may name the number, and nothing else that differs
            sounds |= {(a.error.field, a.error.message.replace(str(guess), "N"))
                       for a, guess in zip(answers, guesses)}
        assert len(sounds) <= 3
        answer = prober.call(pb.Query(k=1, parts=[pb.QueryPart(filter=part, epoch=epoch.number)]))
        assert not answer.results
