# SPDX-License-Identifier: Apache-2.0
"""S3: queries that nothing prunes. Each has 64 parts and finds nothing, so that all messages are
compared with all parts: since no message is in its window, or since its slices leave out all that
there are. Others' searches go on all the same, and what such a query costs is what it makes the
server do."""

import contextlib
import select
import time

import devices
import hearsay_wire as wire
import many
import siege
from hearsay_wire import pb

PARTS = 64
RELAXED = "durability = relaxed\n"
RATES_OFF = RELAXED + "[limits]\nqueries_per_minute = 0\ndeposits_per_minute = 0\n"


def worst_query(crowd, **fields):
    parts = [pb.QueryPart(filter=crowd.odd_filter()) for _ in range(PARTS)]
    return pb.Query(k=100, parts=parts, metric=pb.PHI, **fields)


def long_query(crowd):
    """An honest one of more than one step of 0.1.0: it has a slice, as `query --new` sends it."""
    return pb.Query(k=10, parts=[pb.QueryPart(filter=crowd.filter())],
                    exclude=[many.slice_of(crowd.ids[:64], 1208, 13, 5)])


def figure(client, name):
    return next(f.value for f in client.call(pb.Stats()).figures if f.name == name)


def drain(client):
    """Takes the answers that are there. How many."""
    answers = []
    while select.select([client.socket], [], [], 0)[0]:
        client.take_available(answers)
    return len(answers)


def completed_while_waiting(daemon, address, devices_used, connections):
    """How many of the attackers' searches end between an honest query and its answer."""
    crowd = many.Crowd()
    with contextlib.ExitStack() as stack:
        administrator = stack.enter_context(wire.Client(daemon.socket_path))
        crowd.load(administrator, 20_000)
        honest = stack.enter_context(wire.Client(address, source=devices.DEVICES[-1]))
        attackers = [stack.enter_context(wire.Client(address, source=source))
                     for source in devices.DEVICES[:devices_used] for _ in range(connections)]
        worst = worst_query(crowd, until_ms=1)
        for attacker in attackers:
            for _ in range(2):
                attacker.post(worst)
        wire.wait_until(lambda: figure(administrator, "searches") +
                        figure(administrator, "searches_waiting") >= len(attackers) - 4,
                        "the attackers' searches are under way")
        for attacker in attackers:
            drain(attacker)
        assert honest.call(long_query(crowd)).exact
        return sum(drain(attacker) for attacker in attackers)


def test_one_address_with_many_connections(make_daemon):
    """One search of an address is under way at a time: hardly one ends before the honest one."""
    daemon, address, _ = devices.limited(make_daemon, RATES_OFF)
    assert completed_while_waiting(daemon, address, 1, 15) <= 3


def test_sixteen_addresses(make_daemon):
    """Each has its turn, and none may end two of its queries before the honest search ends."""
    daemon, address, _ = devices.limited(make_daemon, RATES_OFF)
    assert completed_while_waiting(daemon, address, 16, 3) <= 16


def test_a_query_costs_what_it_makes_the_server_do(make_daemon):
    """A full bucket pays for no more parts than it has tokens."""
    burst = 300
    daemon, address, _ = devices.limited(
        make_daemon, f"{RELAXED}[limits]\nqueries_per_minute = 1\nquery_burst = {burst}\n")
    crowd = many.Crowd()
    with wire.Client(daemon.socket_path) as administrator, \
            wire.Client(address, source=devices.DEVICES[0]) as attacker:
        crowd.load(administrator, 100)
        answers = attacker.pipeline([worst_query(crowd, until_ms=1)] * 20)
        served = sum(answer.HasField("results") for answer in answers)
        assert 1 <= served and served * PARTS <= burst
        assert all(answer.error.code == pb.RATE_LIMITED
                   for answer in answers if not answer.HasField("results"))


def test_full_slices_are_refused(make_daemon):
    """Slices that have every id would keep any message from bounding the search."""
    daemon, address, _ = devices.limited(make_daemon, RELAXED)
    with wire.Client(address, source=devices.DEVICES[0]) as attacker:
        full = [pb.Slice(bits=b"\xff" * 1000, hashes=32, seed=n) for n in range(8)]
        refusal = attacker.refused(worst_query(many.Crowd(), exclude=full))
        assert refusal.code == "FILL_OUT_OF_RANGE" and refusal.error.field == "exclude.bits"


# --- times, for tests/bench/hostile.py ------------------------------------------------------------

MESSAGES, SECONDS, CONNECTIONS = 60_000, 8, 12


def open_connection(server, source):
    try:
        return wire.Client(server, source=source)
    except (OSError, wire.Ended, wire.Refused, AssertionError):  # or told that there are too many
        return None


def attack(source, end, data, server):
    """Connections that ask the worst query again and again, as often as the rates let them; one
    that is closed is opened again."""
    wanted = {}  # connection -> when it may ask again; None: it waits for its answer
    while time.monotonic() < end:
        connection = open_connection(server, source) if len(wanted) < CONNECTIONS else None
        if connection is not None:
            wanted[connection] = time.monotonic()
        waiting = [c.socket for c, at in wanted.items() if at is None]
        readable = select.select(waiting, [], [], 0.02)[0]
        for connection, at in list(wanted.items()):
            answers = []
            try:
                if at is not None and at <= time.monotonic():
                    connection.send_bytes(data)
                    wanted[connection] = None
                elif connection.socket in readable:
                    connection.take_available(answers)
            except (OSError, wire.Ended):
                del wanted[connection]
                connection.close()
            for answer in answers:
                wanted[connection] = time.monotonic() + answer.error.retry_after_ms / 1000


def honest(daemon, source, query):
    def ask():
        client = daemon.client(source)

        def step():
            while True:
                with contextlib.suppress(wire.Refused):
                    assert client.call(query).exact
                    return
                time.sleep(0.05)
        return step
    return siege.honest_waits_ms(ask, SECONDS, pause_s=0.12)


def comparisons_near(client, crowd, wanted):
    """A query of one part with about so many comparisons."""
    seen = many.slice_of(crowd.ids[:64], 1208, 13, 5)
    best = None
    for shared in range(8, 28):
        for k in (10, 30, 100):
            query = pb.Query(k=k, parts=[pb.QueryPart(filter=crowd.far_filter(shared))],
                             exclude=[seen])
            distance = abs(client.call(query).comparisons - wanted)
            if best is None or distance < best[0]:
                best = (distance, query)
    return best[1]


def measure(program):
    crowd = many.Crowd()
    found = {}
    with siege.MeasuredDaemon(program, "durability = relaxed\n") as daemon:
        with daemon.administrator() as administrator:
            crowd.load(administrator, MESSAGES)
            wire.wait_until(lambda: figure(administrator, "host/default/unarranged") == 0,
                            "all messages are arranged")
            query = comparisons_near(administrator, crowd, 16_000)
            found["comparisons of the honest search"] = administrator.call(query).comparisons
        # All ids, with a rate of false positives that any reader's filter might have.
        seen = many.slice_of(crowd.ids, 59_000 * 8, 5, 7)
        data = wire.frame(wire.request(worst_query(crowd, exclude=[seen]), 9))
        server = (devices.SERVER, daemon.port)
        for name, count in (("idle", 0), ("1 address", 1), ("16 addresses", 16)):
            # One of the attackers' /64, whose tokens no earlier attack has spent.
            source = devices.DEVICES[100 + count]
            places = devices.DEVICES[20 + count:20 + 2 * count]
            with siege.attackers(lambda place, end: attack(place, end, data, server), places,
                                 4 * SECONDS):
                waits = honest(daemon, source, query)
            found[f"{name}: honest search p50, ms"] = siege.quantile(waits, 0.5)
            found[f"{name}: honest search p99, ms"] = siege.quantile(waits, 0.99)
    return found
