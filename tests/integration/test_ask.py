# SPDX-License-Identifier: Apache-2.0
"""Queries of a hood whose other hosts a bridge asks. The bridge is this test."""

import contextlib
import fractions
import hashlib
import json
import math
import socket
import struct
import subprocess
import time

import pytest

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb
from test_bridge import make_bridge  # noqa: F401  (a fixture)
from test_gateway import open_folder  # noqa: F401  (a fixture)
from test_hood import limited, varint

CAMPUS = "[host lobby]\nhood = campus\n[host library]\nhood = campus\n[host attic]\n"
LONG_AGO = int(time.time() * 1000) - 10**9
DECADE_MS = 3650 * 24 * 3600 * 1000  # no message lives longer


@pytest.fixture
def world(make_bridge):  # noqa: F811
    bridge = make_bridge(CAMPUS)
    with bridge.connect() as served, bridge.daemon.client() as phone:
        served.call(pb.Serve(hoods=["campus"]))
        yield bridge, served, phone


def next_ask(served):
    if served.pushes:
        return served.pushes.pop(0).ask
    response = served.receive()
    assert response.HasField("ask"), response
    return response.ask


def answer(served, ask, results=(), **fields):
    fields.setdefault("complete", True)
    fields.setdefault("peers", 1)
    served.call(pb.Answered(ask_id=ask.ask_id, results=pb.Results(results=results, **fields)))


def hood_of(labels, **fields):
    fields.setdefault("with_payload", True)
    return wire.query_of(labels, host="lobby", scope=pb.HOOD, **fields)


def remote(deposit, host="elsewhere", deposited_ms=LONG_AGO, **fields):
    fields.setdefault("expires_ms", LONG_AGO + 2 * 10**9)
    return pb.Result(id=deposit.id, host=host, filter=deposit.filter, payload=deposit.payload,
                     media_type="text/plain", deposited_ms=deposited_ms, **fields)


def asked(world, query, results=(), **fields):
    """The answer of a query, and the ask that the bridge got and answered so."""
    _, served, phone = world
    number = phone.post(query)
    ask = next_ask(served)
    answer(served, ask, results, **fields)
    return phone.body_of(phone.receive(), number), ask


def similarity(query, filter_):
    """As a fraction, by the metric of the query."""
    asked_for = query.parts[0].filter
    if wire.metric_of(query) == pb.PHI:
        return wire.phi_similarity(asked_for, filter_, wire.PROFILE)
    a, b = int.from_bytes(asked_for, "little"), int.from_bytes(filter_, "little")
    return (a & b).bit_count(), (a | b).bit_count()


def ranks_of(query, messages):
    """What order the messages come in: by similarity, newer, id."""
    ranks = []
    for one, when in messages:
        shared, every = similarity(query, one.filter)
        if (every - shared) * 1_000_000 <= query.max_distance * every:
            ranks.append((-shared / every, -when, one.id))
    return sorted(ranks)


@pytest.mark.parametrize("metric", [pb.BITS, pb.PHI], ids=["bits", "phi"])
def test_answers_are_merged(world, rng, metric):
    """Messages of this server and of others come as if one search had found them all. The bridge is told how
    similar the k-th best of this server is."""
    _, _, phone = world
    words = [f"topic:w{n}" for n in range(12)]
    here, there = [], []
    for n in range(60):
        one = wire.deposit_of(rng, rng.sample(words, rng.randint(1, 8)), host="lobby")
        if n % 2:
            here.append((one, phone.call(one).deposited_ms))
        else:
            there.append((one, LONG_AGO + n))
    for k in (1, 5, 40, 100):
        query = hood_of(rng.sample(words, 5), k=k, metric=metric, max_distance=rng.choice((700_000, 1_000_000)))
        got, ask = asked(world, query, [remote(one, deposited_ms=when) for one, when in there],
                         peers=7, peers_asked=3, as_of_ms=12345)
        assert got.complete and (got.peers, got.peers_asked, got.as_of_ms) == (8, 4, 12345)
        assert [(r.id, -r.deposited_ms) for r in got.results] == [
            (name, when) for _, when, name in ranks_of(query, here + there)[:k]]
        ours = {one.id for one, _ in here}
        assert all(r.host == ("lobby" if r.id in ours else "elsewhere") and r.payload
                   for r in got.results)
        assert wire.metric_of(ask.query) == metric
        ours_ranked = ranks_of(query, here)
        floor = math.floor(-ours_ranked[k - 1][0] * 2**24) if k <= len(ours_ranked) else 0
        assert ask.query.floor == floor and ask.query.HasField("floor") == (floor > 0)
        filters = {one.id: one.filter for one, _ in here + there}
        for result in got.results:
            shared, every = similarity(query, filters[result.id])
            assert result.distance == -(-1_000_000 * (every - shared) // every)  # rounded up


def test_the_newest_are_merged(world, rng):
    """However near: the bridge is told from when on messages count, because a floor says how near they are."""
    _, _, phone = world
    here = []
    for n in range(9):
        one = wire.deposit_of(rng, ["topic:x"] if n % 2 else ["topic:y"], host="lobby")
        here.append((phone.call(one).deposited_ms, one.id))
    here.sort(key=lambda one: (-one[0], one[1]))
    for k in (1, 5, 9, 10):
        far = wire.deposit_of(rng, ["topic:z"])
        newer, older = remote(far, deposited_ms=here[0][0] + 1), remote(far, deposited_ms=LONG_AGO)
        for theirs, place in ((newer, 0), (older, len(here))):
            got, ask = asked(world, hood_of(["topic:x"], k=k, order=pb.NEWEST), [theirs])
            expected = [name for _, name in here]
            expected.insert(place, far.id)
            assert [r.id for r in got.results] == expected[:k]
            assert ask.query.order == pb.NEWEST and not ask.query.HasField("floor")
            assert ask.query.HasField("since_ms") == (k <= len(here))
            assert k > len(here) or ask.query.since_ms == here[k - 1][0]


def test_nothing_of_the_phone_reaches_the_bridge(world):
    """An ask has what is looked for, and nothing that tells one client from another."""
    bridge, served, phone = world
    phone.last_id = 0x1122334455667788
    query = hood_of(["topic:x"], k=7, order=pb.TIME, wait_ms=900)
    phone.post(query)
    ask = next_ask(served)
    assert {f.name for f, _ in ask.ListFields()} == {"ask_id", "query", "peers_max"}
    assert {f.name for f, _ in ask.query.ListFields()} - {"until_ms"} == {
        "host", "k", "parts", "with_payload", "wait_ms"}
    assert {f.name for f, _ in ask.query.parts[0].ListFields()} == {"filter"}
    data = ask.SerializeToString()
    assert (0x1122334455667789).to_bytes(8, "little") not in data
    assert varint(0x1122334455667789) not in data
    assert phone.welcome.resume_token not in data
    assert 0 < ask.query.wait_ms <= 900


@pytest.mark.parametrize("metric", [pb.BITS, pb.PHI], ids=["bits", "phi"])
@pytest.mark.parametrize("lie", ["no filter", "short filter", "this server's host", "far away"])
def test_lies_are_left_out(world, rng, lie, metric):
    """A result that does not fit the query, or is not of another server, is dropped."""
    honest = wire.deposit_of(rng, ["topic:x"])
    bad = remote(wire.deposit_of(rng, ["topic:x"]))
    if lie == "no filter":
        bad.ClearField("filter")
    elif lie == "short filter":
        bad.filter = bad.filter[:-1]
    elif lie == "this server's host":
        bad.host = "attic"
    else:
        bad.filter = wire.filter_of(["topic:y", "topic:z"])
        bad.distance, bad.intersection_count, bad.union_count = 0, 9, 9
    got, _ = asked(world, hood_of(["topic:x"], max_distance=500_000, metric=metric), [bad, remote(honest)])
    assert [(r.id, r.distance) for r in got.results] == [(honest.id, 0)]


@pytest.mark.parametrize("times", [
    (2**63 - 2, 2**63 - 1), (-1, LONG_AGO * 2), (-2**63, 2**63 - 1), (1, 2), (0, 0), (LONG_AGO + 9, LONG_AGO + 8),
    (LONG_AGO, LONG_AGO + 10**6), (LONG_AGO, LONG_AGO + DECADE_MS + 1), (LONG_AGO, 2**50)])
@pytest.mark.parametrize("order", [pb.SIMILARITY, pb.NEWEST])
def test_times_that_cannot_be(world, rng, times, order):
    """Of a result that has no times of a message, or has expired, nothing is shown."""
    honest = remote(wire.deposit_of(rng, ["topic:x"]), expires_ms=LONG_AGO + DECADE_MS)
    bad = remote(wire.deposit_of(rng, ["topic:x"]), deposited_ms=times[0], expires_ms=times[1])
    got, _ = asked(world, hood_of(["topic:x"], order=order), [bad, honest])
    assert [r.id for r in got.results] == [honest.id] and got.complete


def test_times_in_the_future(world, rng):
    """A clock may be ten minutes ahead of another. What is later is neither asked for nor shown; but if the clock here
    is not trusted, perhaps because it is far behind, everything is."""
    bridge, _, phone = world
    now = phone.call(pb.Ping()).now_ms
    soon, late = [remote(wire.deposit_of(rng, ["topic:x"]), deposited_ms=now + minutes * 60_000, expires_ms=now + 10**7)
                  for minutes in (9, 20)]
    with open(bridge.daemon.config_file, encoding="utf-8") as file:
        text = file.read()
    for patience in ("0", "365d"):
        with open(bridge.daemon.config_file, "w", encoding="utf-8") as file:
            file.write(text.replace("[daemon]\n", f"[daemon]\nclock_patience = {patience}\n", 1))
        with bridge.daemon.administrator() as operator:
            operator.call(pb.Reload())
        shown = [soon] if phone.call(pb.Ping()).clock_trusted else [late, soon]
        assert patience != "0" or shown == [soon]
        got, ask = asked(world, hood_of(["topic:x"], order=pb.NEWEST), [late, soon])
        assert [r.id for r in got.results] == [one.id for one in shown]
        assert ask.query.HasField("until_ms") == (late not in shown)
        if ask.query.HasField("until_ms"):
            assert 10 * 60_000 < ask.query.until_ms - now <= 13 * 60_000 and ask.query.until_ms % 60_000 == 0
        _, ask = asked(world, hood_of(["topic:x"], until_ms=LONG_AGO))
        assert ask.query.until_ms == LONG_AGO
        got, ask = asked(world, hood_of(["topic:x"], since_ms=now + 10**9), [late])
        assert not ask.query.HasField("until_ms") and not got.results


def test_what_is_not_in_the_window_is_left_out(world, rng):
    """Whoever asks for a time gets nothing of another."""
    before, within, behind = [remote(wire.deposit_of(rng, ["topic:x"]), deposited_ms=LONG_AGO + n) for n in (4, 5, 9)]
    got, _ = asked(world, hood_of(["topic:x"], since_ms=LONG_AGO + 5, until_ms=LONG_AGO + 9), [before, within, behind])
    assert [r.id for r in got.results] == [within.id]


def test_what_the_operator_has_banned(world, rng):
    """No message with a banned text is shown from elsewhere, until the ban is lifted. A removal alone is of one message:
    a guest could give a bad text the id of a message elsewhere."""
    bridge, _, phone = world
    bad = wire.deposit_of(rng, ["topic:x"], host="lobby", payload=b"names a guest")
    phone.call(bad)
    again, changed, other = [remote(wire.deposit_of(rng, ["topic:x"], payload=text, **fields)) for text, fields in (
        (b"names a guest", {}), (b"names a guest, too", {"id": bad.id}), (b"names nobody", {}))]
    told = [again, changed, other]
    ids = lambda **fields: {r.id for r in asked(world, hood_of(["topic:x"], **fields), told)[0].results}  # noqa: E731
    with bridge.daemon.administrator() as operator:
        operator.call(pb.Remove(host="lobby", id=bad.id))
        assert ids() == {again.id, changed.id, other.id}
        operator.call(pb.Restore(host="lobby", id=bad.id))
        operator.call(pb.Remove(host="lobby", id=bad.id, ban=True))
        once_more = wire.deposit_of(rng, ["topic:x"], host="lobby", payload=b"names a guest")
        assert phone.refused(once_more).code == "FORBIDDEN"
        assert ids() == {changed.id, other.id}
        assert ids(with_payload=False) == {again.id, changed.id, other.id}, "without texts none is shown"
        again.payload_omitted = True
        again.ClearField("payload")
        assert ids() == {again.id, changed.id, other.id}
        operator.call(pb.Ban(host="lobby", filter=other.filter))
        assert ids() == set() == ids(with_payload=False)


def test_an_answer_lacks_nothing_for_what_is_dropped(world, rng):
    """Where there are bans, the bridge is asked for some results more. If more than these are dropped, it may have had
    others, and the answer is not complete."""
    bridge, _, phone = world
    now = phone.call(pb.Ping()).now_ms
    _, ask = asked(world, hood_of(["topic:x"], k=10))
    assert ask.query.k == 10
    with bridge.daemon.administrator() as operator:
        operator.call(pb.Ban(host="lobby", payload_hash=hashlib.blake2b(b"bad", digest_size=32).digest()))
    for bad, good, complete in ((8, 10, True), (9, 9, False), (9, 8, True), (0, 18, True), (18, 0, False),
                                (17, 0, True)):
        told = [remote(wire.deposit_of(rng, ["topic:x"], payload=b"bad" if n < bad else b"good"), deposited_ms=now - n)
                for n in range(bad + good)]
        for order in (pb.SIMILARITY, pb.NEWEST):
            got, ask = asked(world, hood_of(["topic:x"], k=10, order=order), told)
            assert ask.query.k == 18
            assert [r.id for r in got.results] == [r.id for r in told[bad:]][:10]
            assert got.complete == complete, (bad, good)
    _, ask = asked(world, hood_of(["topic:x"], k=100))
    assert ask.query.k == 100, "the most that hosts may answer here"


def test_silence(world, rng):
    """No answer in time: the answer of this server, and it says so. A late answer changes nothing."""
    _, served, phone = world
    mine = wire.deposit_of(rng, ["topic:x"], host="lobby")
    phone.call(mine)
    got = phone.call(hood_of(["topic:x"], wait_ms=50))
    assert [r.id for r in got.results] == [mine.id]
    assert (got.complete, got.peers, got.peers_asked) == (False, 1, 1)
    answer(served, next_ask(served), [remote(wire.deposit_of(rng, ["topic:x"]))])
    phone.call(pb.Ping())


def test_answers_to_nothing(world):
    """Unknown numbers, numbers of others, and answers twice: they change nothing."""
    bridge, served, phone = world
    for number in (1, 2**64 - 1):
        served.call(pb.Answered(ask_id=number, results=pb.Results(complete=True)))
    query = phone.post(hood_of(["topic:x"]))
    ask = next_ask(served)
    with bridge.connect() as other:
        other.call(pb.Answered(ask_id=ask.ask_id, results=pb.Results(peers=99, complete=True)))
        other.call(pb.Serve(hoods=["elsewhere", "elsewhere", "x"]))
    answer(served, ask, peers=3)
    assert phone.body_of(phone.receive(), query).peers == 4
    answer(served, ask, peers=5)
    phone.call(pb.Ping())


def test_an_error_of_the_bridge(world):
    _, served, phone = world
    query = phone.post(hood_of(["topic:x"]))
    served.call(pb.Answered(ask_id=next_ask(served).ask_id,
                            error=pb.Error(code=pb.INTERNAL, message="no hub")))
    got = phone.body_of(phone.receive(), query)
    assert not got.complete


def test_the_bridge_goes(world):
    """Its asks end at once, and later queries know only this server and say so: no other host can be asked."""
    bridge, served, phone = world
    query = phone.post(hood_of(["topic:x"], wait_ms=10_000))
    next_ask(served)
    served.close()
    began = time.monotonic()
    got = phone.body_of(phone.receive(), query)
    assert got.bridge_away and not got.complete
    assert time.monotonic() - began < 8
    got = phone.call(hood_of(["topic:x"]))
    assert got.bridge_away and not got.complete and got.peers == 1
    with bridge.connect() as again:
        again.call(pb.Serve(hoods=["campus"]))
        got, _ = asked((bridge, again, phone), hood_of(["topic:x"]))
        assert got.complete and not got.bridge_away


def test_no_bridge_has_come_yet(make_bridge, make_daemon):  # noqa: F811
    """After a start of hearsayd the hosts of other servers are missing until its bridge has come; `here` lacks nothing.
    Without a `listen` line for a bridge there are no other servers."""
    bridge = make_bridge(CAMPUS)
    with bridge.daemon.client() as phone:
        got = phone.call(hood_of(["topic:x"]))
        assert got.bridge_away and not got.complete and (got.peers, got.peers_asked) == (1, 1)
        got = phone.call(wire.query_of(["topic:x"], host="lobby"))
        assert got.complete and not got.bridge_away
    alone = make_daemon(CAMPUS)
    with alone.client() as phone:
        got = phone.call(hood_of(["topic:x"]))
        assert got.complete and not got.bridge_away and got.peers == 1


def test_hosts_for_which_the_bridge_has_no_room(world):
    """They are counted, and the answer is not complete, whatever the bridge says of it."""
    got, _ = asked(world, hood_of(["topic:x"]), peers=299, peers_skipped=43)
    assert (got.peers, got.peers_skipped, got.complete) == (300, 43, False)


def test_the_phone_goes(world):
    """The wait ends; the daemon and the other phones go on."""
    bridge, served, phone = world
    with bridge.daemon.client() as other:
        for _ in range(4):
            other.post(hood_of(["topic:x"], wait_ms=10_000))
        asks = [next_ask(served) for _ in range(4)]
    got, _ = asked(world, hood_of(["topic:x"]), peers=2)
    assert got.peers == 3
    for ask in asks:
        answer(served, ask)


def test_a_flood_of_asks_waits_in_turn(make_bridge):  # noqa: F811
    """One sender's many asks do not hold up another's; what is too much is answered at once."""
    bridge = make_bridge("listen = 127.0.0.2:0 limited\n[limits]\nquery_burst = 100000\n" + CAMPUS)
    with contextlib.ExitStack() as stack:
        served = stack.enter_context(bridge.connect())
        phone = stack.enter_context(bridge.daemon.client())
        greedy = [stack.enter_context(limited(bridge.daemon)) for _ in range(4)]
        served.call(pb.Serve(hoods=["campus"]))
        asked((bridge, served, phone), hood_of(["topic:x"]), peers=8)  # tokens are kept for no more
        many = hood_of(["topic:x"], with_payload=False, wait_ms=10_000)
        for client in greedy:
            for _ in range(10):
                client.post(many)
        first = [next_ask(served) for _ in range(32)]
        mine = phone.post(hood_of(["topic:mine"]))
        phone.call(pb.Ping())
        answer(served, first.pop())
        ask = next_ask(served)
        assert ask.query.parts[0].filter == wire.filter_of(["topic:mine"])
        answer(served, ask)
        assert phone.body_of(phone.receive(), mine).complete
        for ask in first:
            answer(served, ask)
        answers = [client.receive().results for client in greedy for _ in range(10)]
        assert sum(one.complete for one in answers) == 32


def test_payloads_that_are_not_wanted(world, rng):
    query = hood_of(["topic:x"], with_payload=False)
    got, _ = asked(world, query, [remote(wire.deposit_of(rng, ["topic:x"]))])
    (only,) = got.results
    assert not only.HasField("payload") and not only.HasField("filter")


def test_parts_of_epochs_stay_here(make_bridge, rng):  # noqa: F811
    """Only parts in epoch 0 go out; without one nobody is asked."""
    bridge = make_bridge("[host lobby]\nhood = campus\nepoch_length = 1d\n")
    with bridge.connect() as served, bridge.daemon.client() as phone:
        served.call(pb.Serve(hoods=["campus"]))
        epoch = phone.welcome.hosts[0].epoch.number
        query = hood_of(["topic:x"])
        query.parts.add(filter=wire.filter_of(["topic:secret"]), epoch=epoch)
        number = phone.post(query)
        ask = next_ask(served)
        assert [p.filter for p in ask.query.parts] == [wire.filter_of(["topic:x"])]
        answer(served, ask)
        assert phone.body_of(phone.receive(), number).complete
        del query.parts[0]
        assert phone.call(query).complete and not served.pushes


def test_tokens(make_bridge):  # noqa: F811
    """A query takes 4 tokens and one for each peer beyond 8 that was asked; the rest come back."""
    bridge = make_bridge("listen = 127.0.0.2:0 limited\n[limits]\nquery_burst = 60\n"
                         "queries_per_minute = 1\n" + CAMPUS)
    with bridge.connect() as served, limited(bridge.daemon) as phone:
        served.call(pb.Serve(hoods=["campus"]))
        for peers_max, peers_asked in ((63, 30), (37, 8), (33, 20), (17, 17)):
            number = phone.post(hood_of(["topic:x"]))
            ask = next_ask(served)
            assert ask.peers_max == peers_max
            answer(served, ask, peers=100, peers_asked=peers_asked)
            assert phone.body_of(phone.receive(), number).complete
        assert phone.refused(hood_of(["topic:x"])).code == "RATE_LIMITED"


def test_a_silent_bridge_takes_no_tokens(make_bridge):  # noqa: F811
    """While it is silent, other queries of the address find tokens; then the tokens come back."""
    bridge = make_bridge("listen = 127.0.0.2:0 limited\n[limits]\nquery_burst = 100\n"
                         "queries_per_minute = 1\n" + CAMPUS)
    with bridge.connect() as served, limited(bridge.daemon) as phone:
        served.call(pb.Serve(hoods=["campus"]))
        number = phone.post(hood_of(["topic:x"], wait_ms=10_000))
        assert next_ask(served).peers_max == 64
        with limited(bridge.daemon) as other:
            other.call(wire.query_of(["topic:x"], host="lobby"))
        served.close()
        assert not phone.body_of(phone.receive(), number).complete
        for _ in range(20):
            phone.call(hood_of(["topic:x"]))


def test_the_tokens_of_a_phone_that_goes(make_bridge):  # noqa: F811
    """The answer still comes: its sender pays for the peers that were asked, and for no others."""
    bridge = make_bridge("listen = 127.0.0.2:0 limited\n[limits]\nquery_burst = 100\n"
                         "queries_per_minute = 1\nsessions_per_address = 2\n" + CAMPUS)
    with contextlib.ExitStack() as stack:
        served = stack.enter_context(bridge.connect())
        other = stack.enter_context(limited(bridge.daemon))
        served.call(pb.Serve(hoods=["campus"]))
        phone = limited(bridge.daemon)
        phone.post(hood_of(["topic:x"], wait_ms=10_000))
        ask = next_ask(served)
        assert ask.peers_max == 64
        phone.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        phone.close()  # by a reset: it does not wait for the answer

        def has_gone():  # then its address may connect again
            with contextlib.suppress(wire.Ended, ConnectionError):
                with limited(bridge.daemon, hello=False) as another:
                    another.post(pb.Hello(versions=[1]))
                    return another.receive().HasField("welcome")

        wire.wait_until(has_gone, "there is a place for another connection")
        answer(served, ask, peers=100, peers_asked=28)
        for _ in range(73):  # of 100: connections 3, the query 4, its peers 20
            other.call(wire.query_of(["topic:x"], host="lobby"))
        assert other.refused(wire.query_of(["topic:x"], host="lobby")).code == "RATE_LIMITED"


def test_a_bridge_that_knows_nobody(make_bridge, rng):  # noqa: F811
    """Its answer is not complete; the next ask goes out as if it knew somebody."""
    bridge = make_bridge("listen = 127.0.0.2:0 limited\n" + CAMPUS)
    with bridge.connect() as served, limited(bridge.daemon) as phone:
        served.call(pb.Serve(hoods=["campus"]))
        world = bridge, served, phone
        got, _ = asked(world, hood_of(["topic:x"]), peers=0)
        assert not got.complete
        found = wire.deposit_of(rng, ["topic:x"])
        got, ask = asked(world, hood_of(["topic:x"]), [remote(found)], peers=9, peers_asked=1)
        assert ask.peers_max == 8 and got.complete and [r.id for r in got.results] == [found.id]
        with bridge.daemon.client() as free:
            asked((bridge, served, free), hood_of(["topic:x"]), peers=0)
            _, ask = asked((bridge, served, free), hood_of(["topic:x"]))
            assert ask.peers_max == 4096


def test_what_is_known_is_told(world, rng):
    """The results of an answer that is not complete are results, too."""
    found = wire.deposit_of(rng, ["topic:x"])
    got, _ = asked(world, hood_of(["topic:x"]), [remote(found)], complete=False, peers_silent=1)
    assert not got.complete and [r.id for r in got.results] == [found.id]


def test_a_payload_that_a_bridge_left_out(world, rng):
    """The phone learns that there is one, whether or not the bridge names its type."""
    one = remote(wire.deposit_of(rng, ["topic:x"]), payload_omitted=True)
    one.ClearField("payload")
    for _ in range(2):
        got, _ = asked(world, hood_of(["topic:x"]), [one])
        assert [(r.payload_omitted, r.payload) for r in got.results] == [(True, b"")]
        one.ClearField("media_type")


def test_an_answer_to_a_bridge_fits_a_frame(make_bridge, rng):  # noqa: F811
    """Results for a bridge have filters: the nearest ones that fit, and not complete."""
    bridge = make_bridge("[limits]\nk = 1000\n" + CAMPUS)
    with bridge.connect() as served, bridge.daemon.client() as phone:
        for first in range(0, 700, 50):
            batch = [wire.deposit_of(rng, [f"topic:{first + n}", "topic:x"], host="lobby") for n in range(50)]
            assert all(a.HasField("deposited") for a in phone.pipeline(batch))
        query = wire.query_of(["topic:x"], k=1000, host="lobby", max_distance=1_000_000)
        everything = phone.call(query)
        assert len(everything.results) == 700 and everything.complete and everything.exact
        got = served.call(query)
        assert 400 <= len(got.results) < 700 and not got.complete and not got.exact
        assert [r.id for r in got.results] == [r.id for r in everything.results[:len(got.results)]]
        assert all(len(r.filter) == len(query.parts[0].filter) for r in got.results)
        query.k = 300
        got = served.call(query)
        assert len(got.results) == 300 and got.complete and got.exact


@pytest.mark.parametrize("metric", [pb.BITS, pb.PHI], ids=["bits", "phi"])
def test_floors(world, rng, metric):
    """A floor leaves out what is below it, and nothing else; only Unix sockets may give one."""
    bridge, served, phone = world
    labels = [f"topic:w{n}" for n in range(8)]
    for _ in range(200):
        phone.call(wire.deposit_of(rng, rng.sample(labels, 3), host="attic"))
    query = wire.query_of(labels[:3], host="attic", k=100, metric=metric)
    everything = served.call(query).results
    assert all(len(r.filter) == 64 for r in everything)
    ranks = [fractions.Fraction(*similarity(query, r.filter)) for r in everything]
    for floor in (ranks[10], ranks[60]):
        query.floor = math.floor(floor * 2**24)
        left = [r.id for r, rank in zip(everything, ranks) if rank >= floor]
        assert [r.id for r in served.call(query).results] == left
    assert phone.refused(query).error.field == "floor"
    query.floor = 2**24 + 1
    assert served.refused(query).error.field == "floor"


def groups_of(client, host="lobby"):
    while True:
        try:
            return client.call(pb.Summary(host=host, groups=32))
        except wire.Refused as refusal:
            assert refusal.code == "RATE_LIMITED" and refusal.error.retry_after_ms > 0


def test_groups_cover_each_message(world, rng):
    """Also those of before the first request, and after half of the messages have gone."""
    _, served, phone = world
    labels = [f"topic:w{n}" for n in range(300)]
    live = {}

    def deposit(count):
        batch = [wire.deposit_of(rng, rng.sample(labels, 4), host="lobby",
                                 withdraw_hash=wire.withdraw_hash(b"t" * 32)) for _ in range(count)]
        phone.pipeline(batch)
        live.update({one.id: one for one in batch})

    def check(most):
        told = groups_of(served)
        assert 0 < len(told.groups) <= 32 and told.count == len(live) and told.seq > 0
        assert sum(g.count for g in told.groups) <= most
        for one in live.values():
            assert any(wire.covers(g, one.filter) for g in told.groups)
        return told.seq

    deposit(600)
    first = check(600)
    deposit(50)
    assert check(650) > first
    gone = list(live)[:400]
    phone.pipeline([pb.Withdraw(host="lobby", id=i, token=b"t" * 32) for i in gone])
    for one in gone:
        del live[one]
    deadline = time.monotonic() + 20
    while sum(g.count for g in groups_of(served).groups) > 400:
        assert time.monotonic() < deadline, "the groups are not made anew"
    check(400)
    assert not phone.call(pb.Summary(host="lobby")).groups


def test_ask_again_is_no_refusal_by_limits(world, rng):
    """A bridge whose groups are being made is told to ask again: no rate of anybody, and no alert for the operator."""
    bridge, served, phone = world
    phone.pipeline([wire.deposit_of(rng, [f"topic:w{n}"], host="lobby") for n in range(300)])
    assert "being made; ask again" in served.refused(pb.Summary(host="lobby", groups=32)).error.message
    with bridge.daemon.administrator() as operator:
        figures = {one.name: one.value for one in operator.call(pb.Stats()).figures}
    assert figures["refused/rate_limited/requests_total"] == 0


def test_groups_are_for_bridges(world):
    """A phone is refused; the rest of a summary is told to everybody."""
    bridge, served, phone = world
    groups_of(served)
    with bridge.daemon.administrator() as operator:
        for client in (phone, operator):
            refusal = client.refused(pb.Summary(host="lobby", groups=32))
            assert (refusal.code, refusal.error.field) == ("INVALID", "groups")
            assert "a bridge only" in refusal.error.message
            assert client.call(pb.Summary(host="lobby")).union_filter


def test_the_word_of_the_owner(make_bridge, rng):  # noqa: F811
    """Of a host with a copy here, the bridge tells what is newer; a message comes once, as its owner
    has it."""
    bridge = make_bridge("[host lobby]\nhood = campus\n[host hall]\nhood = campus\nrole = replica\n")
    with bridge.connect() as served, bridge.daemon.client() as phone:
        served.call(pb.Serve(hoods=["campus"]))
        old, newer = (wire.deposit_of(rng, ["topic:x"]) for _ in range(2))
        mine = wire.deposit_of(rng, ["topic:x"], id=old.id, host="lobby", payload=b"mine")
        phone.call(mine)
        change = pb.Change(message=pb.ExportedMessage(
            id=old.id, filter=old.filter, payload=b"as copied", deposited_ms=LONG_AGO,
            expires_ms=phone.welcome.now_ms + 10**6))
        served.call(pb.Apply(host="hall", changes=[change], **{"as": pb.AS_REPLICA}))
        for with_payload in (True, False):
            query = hood_of(["topic:x"], with_payload=with_payload)
            got, _ = asked((bridge, served, phone), query,
                           [remote(old, host="hall", deposited_ms=LONG_AGO + 1),
                            remote(newer, host="hall", deposited_ms=LONG_AGO + 2)])
            assert [(r.host, r.id, r.deposited_ms - LONG_AGO) for r in got.results[1:]] == [
                ("hall", newer.id, 2), ("hall", old.id, 1)]
            assert (got.results[0].host, got.results[0].id) == ("lobby", old.id)
            if with_payload:
                assert [r.payload for r in got.results] == [b"mine", newer.payload, old.payload]
        got, _ = asked((bridge, served, phone), hood_of(["topic:x"], k=1))
        assert [r.host for r in got.results] == ["lobby"] and not got.complete


def test_only_a_bridge_serves(world):
    _, _, phone = world
    for request in (pb.Serve(hoods=["campus"]), pb.Answered(ask_id=1)):
        assert phone.refused(request).code == "UNSUPPORTED"


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize("fields, end", [
    ({"peers_asked": 7}, "asked 7 of 248 other hosts, as of 2m ago"),
    ({"peers_asked": 7, "peers_other": 1},
     "asked 7 of 248 other hosts, as of 2m ago; 1 with another profile not asked"),
    ({"peers_asked": 5, "peers_silent": 2, "complete": False},
     "asked 5 of 248 other hosts, as of 2m ago; not complete: 2 gave no answer"),
    ({"peers_asked": 5, "complete": False},
     "asked 5 of 248 other hosts, as of 2m ago; not complete: messages may be missing"),
    ({"peers_asked": 5, "peers_skipped": 43},
     "asked 5 of 248 other hosts, as of 2m ago; not complete: 43 are more than the bridge can ask"),
    ({"peers_asked": 5, "peers_silent": 2, "peers_skipped": 43, "complete": False},
     "asked 5 of 248 other hosts, as of 2m ago; not complete: 2 gave no answer, 43 are more than the bridge can ask"),
])
def test_the_command_says_who_was_asked(make_bridge, rng, fields, end):  # noqa: F811
    """A column HOST, and as the last line how many were asked; --fresh goes to the bridge."""
    bridge = make_bridge("[host lobby]\nhood = campus\n")
    found = wire.deposit_of(rng, ["topic:x"], payload=b"far away")
    with bridge.connect() as served, bridge.daemon.client() as phone:
        served.call(pb.Serve(hoods=["campus"]))
        phone.call(wire.deposit_of(rng, ["topic:x"], host="lobby", payload=b"right here"))
        cli = cli_runner.of_daemon(bridge.daemon)
        with cli.start("query", "--hood", "--fresh", "5s", "-d", "0", "--label", "topic:x",
                       stdout=subprocess.PIPE, text=True) as command:
            ask = next_ask(served)
            assert ask.query.max_staleness_ms == 5000
            now = phone.call(pb.Ping()).now_ms
            answer(served, ask, [remote(found)], peers=248, as_of_ms=now - 150_000, **fields)
            lines = command.stdout.read().splitlines()
        assert command.returncode == 0
        assert lines[0].split() == ["AGE", "SIMILARITY", "HOST", "TEXT"]
        assert [line.split()[-3:] for line in lines[1:3]] == [
            ["lobby", "right", "here"], ["elsewhere", "far", "away"]]
        assert lines[3] == end and len(lines) == 4


def test_the_command_says_that_the_bridge_is_away(make_bridge):  # noqa: F811
    """As a line, and in JSON as the last object, which has all that the line says."""
    bridge = make_bridge(CAMPUS)
    cli = cli_runner.of_daemon(bridge.daemon)
    code, out, err = cli.run("query", "--hood", "--label", "topic:x")
    assert code == 1 and "nothing found" in err
    assert out == ("asked 1 of 1 other hosts of this server, as of now; not complete: "
                   "the bridge is away, or does not serve this hood, so hosts of other servers were not asked\n")
    code, out, _ = cli.run("query", "--hood", "--json", "--label", "topic:x")
    said = json.loads(out)
    assert code == 1 and said.pop("as_of")
    assert said == {"asked": 1, "peers": 1, "silent": 0, "other_profile": 0, "skipped": 0, "complete": False,
                    "bridge_away": True}


def test_the_command_says_that_messages_may_be_missing(make_bridge, rng):  # noqa: F811
    """At a copy, without --hood: on standard error, and the code is that of the results."""
    bridge = make_bridge("[host lobby]\nrole = replica\n[host hall]\n")
    with bridge.daemon.client() as phone:
        phone.call(wire.deposit_of(rng, ["topic:x"], host="hall"))
    cli = cli_runner.of_daemon(bridge.daemon)
    code, _, err = cli.run("query", "--host", "lobby", "--label", "topic:x")
    assert code == 1 and "messages may be missing: this is a copy" in err
    code, _, err = cli.run("query", "--host", "hall", "--label", "topic:x")
    assert code == 0 and "missing" not in err
