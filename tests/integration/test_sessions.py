# SPDX-License-Identifier: Apache-2.0
"""Sessions: pipelining, deadlines, and bounds on what one client may hold."""

import os
import resource
import socket
import time

import pytest

import hearsay_wire as wire
from hearsay_wire import pb

MIB = 1024 * 1024


# --- pipelining -----------------------------------------------------------------------------------


def test_thousands_of_pings(client):
    """Pipelining as deep as one likes: each request has its answer, with its id."""
    answers = client.pipeline([pb.Ping()] * 20_000)
    assert all(a.HasField("pong") for a in answers)


def test_thousands_of_mixed_requests(client, rng):
    """Deposits, queries, gets and errors in one flight: all answered, each to its request."""
    labels = [[f"topic:mixed{n}", f"wifi:mixed{n % 50}"] for n in range(1000)]
    deposits = [wire.deposit_of(rng, context) for context in labels]
    bodies = []
    for deposit, context in zip(deposits, labels):
        bodies += [deposit, wire.query_of(context, k=3), pb.Ping(), pb.Get(id=b"?")]
    answers = client.pipeline(bodies)
    kinds = [a.WhichOneof("body") for a in answers]
    assert kinds == ["deposited", "results", "pong", "error"] * 1000
    got = client.pipeline([pb.Get(id=d.id) for d in deposits])
    assert [g.got.payload for g in got] == [d.payload for d in deposits]


def test_more_than_may_be_in_flight(make_daemon, rng):
    """Over requests_in_flight a client is read no further, and loses nothing."""
    with make_daemon("[limits]\nrequests_in_flight = 3\n").client() as client:
        assert client.welcome.limits.requests_in_flight == 3
        answers = client.pipeline([wire.deposit_of(rng, ["topic:flight"]) for _ in range(300)])
        assert all(a.HasField("deposited") for a in answers)


def test_clients_do_not_wait_for_one_another(shared, rng):
    """One client's long flight does not hold up another's ping."""
    with shared.client() as busy, shared.client() as other:
        data = b"".join(
            wire.frame(wire.request(wire.deposit_of(rng, ["topic:busy"]), n + 1))
            for n in range(2000)
        )
        busy.send_bytes(data[: len(data) // 2])
        for _ in range(20):
            other.call(pb.Ping())
        answers = busy.exchange(data[len(data) // 2 :], 2000)
        assert sorted(a.id for a in answers) == list(range(1, 2001))


def test_half_closed_client_gets_its_answers(shared, rng):
    """A client that ends its side first is answered in full, and then the server ends too."""
    with shared.client() as client:
        for _ in range(100):
            client.post(wire.deposit_of(rng, ["topic:half"]))
        client.post(wire.query_of(["topic:half"], k=5, with_payload=True))
        client.socket.shutdown(socket.SHUT_WR)
        answers = client.receive_until_end()
        assert sorted(a.id for a in answers) == list(range(2, 103))


def test_client_gone_before_its_answers(shared, rng):
    """Deposits whose sender hung up are kept or not, and nobody else notices."""
    for _ in range(20):
        with shared.client() as client:
            for _ in range(50):
                client.post(wire.deposit_of(rng, ["topic:gone"]))
    with shared.client() as client:
        client.call(pb.Ping())


# --- deadlines ------------------------------------------------------------------------------------


def test_no_hello_in_time(make_daemon):
    """Who does not greet within hello_timeout is told so and ended; who does stays."""
    daemon = make_daemon("[limits]\nhello_timeout = 1s\n")
    with daemon.client() as greeted, daemon.client(hello=False) as silent:
        with daemon.client(hello=False) as partial:
            partial.send_bytes(b"\0\0\0\x20abc")
            for client in (silent, partial):
                (answer,) = client.receive_until_end()
                assert answer.id == 0 and answer.error.message
        greeted.call(pb.Ping())


def test_idle_session_is_ended(make_daemon):
    """Nothing asked for idle_timeout: told so and ended; one that asks stays."""
    daemon = make_daemon("[limits]\nidle_timeout = 2s\n")
    began = time.monotonic()
    with daemon.client() as idle, daemon.client() as lively:
        idle.socket.settimeout(0.2)
        answers = []
        try:
            while time.monotonic() - began < wire.PATIENCE:
                lively.call(pb.Ping())
                try:
                    answers.append(idle.receive())
                except TimeoutError:
                    pass
        except wire.Ended:
            pass
        assert time.monotonic() - began >= 1.5
        assert [a.id for a in answers] == [0] and answers[0].error.message
        lively.call(pb.Ping())


def test_idle_timeout_can_be_off(make_daemon):
    """idle_timeout = 0 is none."""
    daemon = make_daemon("[limits]\nidle_timeout = 0\nhello_timeout = 1s\n")
    with daemon.client() as idle, daemon.client(hello=False) as clock:
        clock.receive_until_end()  # two ticks of the daemon's own clock, at least
        idle.call(pb.Ping())


# --- how many -------------------------------------------------------------------------------------


def test_connections_over_the_limit_are_told(make_daemon):
    """One too many is told RATE_LIMITED and when to come again; the others are served on."""
    daemon = make_daemon("[limits]\nsessions = 3\n")
    clients = [daemon.client() for _ in range(3)]
    with daemon.client(hello=False) as extra:
        (answer,) = extra.receive_until_end()
        assert answer.error.code == pb.RATE_LIMITED and answer.error.retry_after_ms > 0
        assert answer.error.message
    for client in clients:
        client.call(pb.Ping())
    clients.pop().close()

    def has_room():
        with daemon.client(hello=False) as one:
            one.post(pb.Hello(versions=[1]))
            return one.receive().HasField("welcome")

    wire.wait_until(has_room, "room for one more after one has left")
    for client in clients:
        client.call(pb.Ping())
        client.close()


def test_two_thousand_connections(make_daemon):
    """Many at once and many one after another; those who are here are served throughout."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2000
    if hard != resource.RLIM_INFINITY and hard < wanted + 200:
        wanted = hard - 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted + 200), hard))
    daemon = make_daemon("[limits]\nsessions = 4000\n")
    with daemon.client() as bystander:
        many = []
        for n in range(wanted):
            many.append(daemon.client(hello=False))
            if n % 200 == 0:
                bystander.call(pb.Ping())
        for n, client in enumerate(many):
            if n % 2 == 0:
                client.post(pb.Hello(versions=[1]))
        assert all(c.receive().HasField("welcome") for c in many[::2])
        for client in many:
            client.close()
        bystander.call(pb.Ping())
        for n in range(500):
            daemon.client(hello=n % 2 == 0).close()
        bystander.call(pb.Ping())

        def is_small():
            bystander.call(pb.Ping())
            return len(open_files(daemon)) < 60

        wire.wait_until(is_small, "the descriptors of those who left are closed")


def open_files(daemon):
    return os.listdir(f"/proc/{daemon.process.pid}/fd")


# --- clients that do not read ---------------------------------------------------------------------


def fill_with_queries(client, data, seconds):
    """Sends until the server takes no more for a while; returns how many bytes it took."""
    sent = 0
    client.socket.settimeout(seconds)
    try:
        while sent < 300 * MIB:
            sent += client.socket.send(data)
    except TimeoutError:
        pass  # paused
    except (ConnectionResetError, BrokenPipeError):
        pass  # dropped
    return sent


def test_a_client_that_never_reads_is_bounded(make_daemon, rng, sanitized):
    """It is paused or dropped; memory stays bounded, and everyone else is served."""
    daemon = make_daemon()
    labels = ["topic:deaf"]
    with daemon.client() as other:
        deposits = [wire.deposit_of(rng, labels, payload=b"x" * 1000) for _ in range(100)]
        other.pipeline(deposits)
        before = daemon.resident_bytes()
        query = wire.query_of(labels, k=100, with_payload=True)
        data = wire.frame(wire.request(query, 1)) * 1000
        deaf = [daemon.client(receive_buffer=4096) for _ in range(4)]
        took = [fill_with_queries(client, data, 1.0) for client in deaf]
        other.call(query)
        grown = daemon.resident_bytes() - before
        print(f"took {took} bytes, grew by {grown}")
        assert max(took) < 64 * MIB
        assert grown < (400 if sanitized else 48) * MIB
        for client in deaf:
            client.close()
        other.call(pb.Ping())


def test_unread_output_of_all_is_bounded(make_daemon, rng):
    """`output` bounds all sessions together: who holds the most is dropped, others live."""
    daemon = make_daemon("[limits]\nsession_output = 512K\noutput = 1M\n")
    labels = ["topic:deaf"]
    with daemon.client() as other:
        other.pipeline([wire.deposit_of(rng, labels, payload=b"x" * 1000) for _ in range(60)])
        query = wire.query_of(labels, k=100, with_payload=True)
        data = wire.frame(wire.request(query, 1)) * 400
        deaf = [daemon.client(receive_buffer=4096) for _ in range(12)]
        for client in deaf:
            fill_with_queries(client, data, 0.1)
        for _ in range(20):
            assert len(other.call(query).results) == 60
        for client in deaf:
            client.close()


@pytest.mark.parametrize("count", [1, 50])
def test_a_client_that_stops_reading_for_a_while(shared, rng, count):
    """Answers that wait are all there when the client reads again."""
    labels = [f"topic:later{rng.random()}"]
    with shared.client(receive_buffer=4096) as client:
        client.pipeline([wire.deposit_of(rng, labels, payload=b"x" * 500) for _ in range(5)])
        query = wire.query_of(labels, k=5, with_payload=True)
        posted = [client.post(query) for _ in range(count)]
        with shared.client() as other:
            for _ in range(20):
                other.call(pb.Ping())
        assert sorted(client.receive().id for _ in posted) == posted


def peak_bytes(daemon):
    """The most memory that it ever had."""
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def test_payloads_for_no_answer_take_no_memory(make_daemon, rng, sanitized):
    """Of the k best only as many payloads are read from storage as an answer can hold."""
    daemon = make_daemon("[limits]\nk = 1000\npayload = 60K\nbytes = 64M\ncache = 0\n")
    labels = ["topic:large"]
    with daemon.client() as client:
        sent = [wire.deposit_of(rng, labels, payload=b"x" * 60000) for _ in range(800)]
        for i in range(0, len(sent), 50):
            client.pipeline(sent[i : i + 50])
        sent.append(wire.deposit_of(rng, labels, payload=b""))
        client.await_next_ms()
        client.call(sent[-1])
        before = peak_bytes(daemon)
        query = wire.query_of(labels, k=600, with_payload=True)
        for answer in client.pipeline([query] * 10):
            results = answer.results.results
            assert len(results) == 600
            assert all(r.HasField("payload") != r.payload_omitted for r in results)
            assert results[0].id == sent[-1].id and results[0].HasField("payload")
        grown = peak_bytes(daemon) - before
        print(f"grew by {grown}")
        if not sanitized:  # a sanitizer keeps what was freed for a while
            assert grown < 20 * MIB


@pytest.mark.parametrize("pause", [0, 0.01])
def test_a_client_that_reads_is_not_dropped(make_daemon, rng, pause):
    """However many answers it asks for at once, and though they all come from storage."""
    daemon = make_daemon("[limits]\ncache = 0\nsession_output = 256K\n")
    labels = ["topic:many"]
    with daemon.client() as other:
        other.pipeline([wire.deposit_of(rng, labels, payload=b"x" * 4000) for _ in range(16)])
    query = wire.query_of(labels, k=15, with_payload=True)
    with daemon.client(receive_buffer=32768) as client:
        posted = [wire.request(query, client.new_id()) for _ in range(300)]
        client.send_bytes(b"".join(map(wire.frame, posted)))
        for number in range(len(posted)):
            assert len(client.receive().results.results) == 15
            if number % 4 == 0:
                time.sleep(pause)


# --- out of descriptors ---------------------------------------------------------------------------


def test_out_of_descriptors(make_daemon, rng):
    """Without descriptors nobody new comes in; who is here is served, and later others again."""
    limit = 48
    daemon = make_daemon(
        preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    )
    with daemon.client() as bystander:
        many = [daemon.client(hello=False) for _ in range(limit)]
        for _ in range(20):
            bystander.call(wire.deposit_of(rng, ["topic:descriptors"]))
            assert bystander.call(wire.query_of(["topic:descriptors"])).results
        for client in many:
            client.close()

        def comes_in():
            try:
                daemon.client().close()
                return True
            except (OSError, wire.Ended):
                return False

        wire.wait_until(comes_in, "a new client after the others have left")
        bystander.call(pb.Ping())


# --- out of memory --------------------------------------------------------------------------------


def test_out_of_memory_for_a_connection(make_daemon, sanitized):
    """When there is memory again, new clients come in, on the same listener."""
    if sanitized:
        pytest.skip(f"{sanitized} takes more address space than any limit")
    daemon = make_daemon("[limits]\nsessions = 20000\n")
    pid, none = daemon.process.pid, resource.RLIM_INFINITY
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    many = []
    resource.prlimit(pid, resource.RLIMIT_AS, (size, none))
    try:
        while len(many) < 5000 and not daemon.find_log("could not be accepted"):
            many.append(daemon.client(hello=False))
    finally:
        resource.prlimit(pid, resource.RLIMIT_AS, (none, none))
    daemon.wait_log("could not be accepted: not enough memory")
    for client in many:
        client.close()
    with daemon.client() as client:
        client.call(pb.Ping())
