# SPDX-License-Identifier: Apache-2.0
"""Query: every answer is exactly what a plain list and sorting give."""

import random

import pytest

import conftest
import hearsay_wire as wire
from hearsay_wire import WHOLE, pb

LABELS = (
    [f"wifi:ap{number}" for number in range(44)]
    + [f"geo:u281z{digit}" for digit in "0123"]
    + [f"geo:u281z{digit}7" for digit in "01"]
    + [f"time:2026-11-20T0{hour}" for hour in range(4)]
    + [f"topic:t{number}" for number in range(6)]
)


def context(rng, most=14):
    return rng.sample(LABELS, rng.randint(1, most))


def store(client, rng, reference, count, contexts=context, **fields):
    """Deposits messages with random contexts and reaches, and tells the reference."""
    deposits = []
    for _ in range(count):
        reach = rng.choice([None, None, 300_000, 700_000])
        one = wire.deposit_of(rng, contexts(rng), reference.profile, **fields)
        if reach is not None:
            one.reach = reach
        deposits.append(one)
    for deposit, answer in zip(deposits, client.pipeline(deposits)):
        assert answer.HasField("deposited"), answer
        reference.add(deposit, answer.deposited)
    return deposits


def same(client, reference, query):
    answer = client.call(query)
    assert [wire.shape(r) for r in answer.results] == reference.answer(query)
    assert answer.exact and not answer.capped
    return answer


PROFILES = [
    "v2:64/2",
    "v2:256/4",
    "v2:512/4",
    wire.PROFILE,
    "v2:1024/4",
    "v2:4096/7",
    "v2:wifi=256/2,geo=96/1,time=32/1,topic=96/2,joint(geo,time)=32/1",
    "v2:any=201/3,wifi=100/2,joint(geo,time)=82/2,joint(topic,wifi)=1/1",
]


@pytest.fixture(scope="module")
def stocked(module_daemons):
    """A daemon with one host for each profile, 400 messages in each, and what they should answer."""
    seed = conftest.seed_of()
    print(f"HEARSAY_TEST_SEED={seed}")
    rng = random.Random(seed)
    hosts = "".join(f"[host h{i}]\nprofile = {p}\n" for i, p in enumerate(PROFILES))
    daemon = module_daemons("[limits]\ndeposit_fill_max = 100%\nquery_fill_max = 100%\n"
                            "deposit_fill_min = 0%\n" + hosts)
    references = {}
    with daemon.client() as client:
        for number, profile in enumerate(PROFILES):
            reference = references[f"h{number}"] = wire.Reference(profile)
            for _ in range(8):  # several commits, so that times differ
                store(client, rng, reference, 50, host=f"h{number}")
    return daemon, references


@pytest.fixture
def stocked_client(stocked):
    with stocked[0].client() as client:
        yield client


@pytest.mark.parametrize("host", [f"h{i}" for i in range(len(PROFILES))])
@pytest.mark.parametrize("metric", [pb.BITS, pb.PHI], ids=["bits", "phi"])
def test_random_queries(stocked, stocked_client, rng, host, metric):
    """k, contains, max_distance, since, until, order, payloads and parts, in random mixtures."""
    reference = stocked[1][host]
    times = sorted(a.deposited_ms for _, a in reference.messages.values())
    for _ in range(40):
        fields = {"metric": metric, "host": host}
        if rng.random() < 0.5:
            fields["max_distance"] = rng.choice([0, 250_000, 500_000, 800_000, WHOLE])
        if rng.random() < 0.3:
            fields["since_ms"] = rng.choice(times)
        if rng.random() < 0.3:
            fields["until_ms"] = fields.get("since_ms", times[0]) + rng.randint(1, 3000)
        if rng.random() < 0.5:
            fields["order"] = rng.choice([pb.SIMILARITY, pb.TIME, pb.NEWEST])
        if rng.random() < 0.5:
            fields["with_payload"] = rng.random() < 0.8
        query = pb.Query(k=rng.choice([1, 2, 10, 33, 100]), **fields)
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            part = query.parts.add(filter=wire.filter_of(context(rng), reference.profile))
            if rng.random() < 0.3:
                part.contains = wire.filter_of(context(rng, 2), reference.profile)
        same(stocked_client, reference, query)


def test_empty_query_filter(stocked, stocked_client):
    """An empty filter is at distance 1 from all others: no shared bits."""
    query = pb.Query(k=5, host="h2", parts=[pb.QueryPart(filter=bytes(64))])
    for metric in (pb.BITS, pb.PHI):
        query.metric = metric
        answer = same(stocked_client, stocked[1]["h2"], query)
        assert {r.distance for r in answer.results} == {WHOLE}


def test_full_query_filter(stocked, stocked_client):
    """A full filter, where allowed, is ordered by how full the others are, and phi says nothing about it."""
    for metric in (pb.BITS, pb.PHI):
        part = pb.QueryPart(filter=b"\xff" * 64)
        query = pb.Query(k=50, host="h2", parts=[part], metric=metric)
        same(stocked_client, stocked[1]["h2"], query)


def test_reach_by_phi_asks_for_what_the_message_says(stocked, stocked_client, rng):
    """A message of a place and a topic with a small reach is for those at the place. A query by the topic
    alone has phi 1 with it, and does not find it; it finds the same message without a reach."""
    reference = stocked[1]["h6"]
    topic, place = [f"topic:{rng.random()}"], [f"wifi:{rng.random()}" for _ in range(12)]
    near, anywhere = (wire.deposit_of(rng, topic + place, reference.profile, host="h6", **reach)
                      for reach in ({"reach": 100_000}, {}))
    for deposit in (near, anywhere):
        reference.add(deposit, stocked_client.call(deposit))
    for labels, expected in ((topic, {anywhere.id}), (topic + place, {anywhere.id, near.id})):
        query = wire.query_of(labels, 2, reference.profile, host="h6", metric=pb.PHI, max_distance=0)
        answer = same(stocked_client, reference, query)
        assert {r.id for r in answer.results} == expected


def test_a_client_can_compute_each_distance_again(stocked, stocked_client, rng):
    """From a result and its own filter, without the message's."""
    reference = stocked[1]["h6"]
    for _ in range(20):
        query = wire.query_of(context(rng), 10, reference.profile, host="h6")
        for result in stocked_client.call(query).results:
            shared, whole = wire.phi_of(query.parts[0].filter, result.intersection_count, result.set_bits,
                                        reference.profile)
            assert result.distance == wire.rounded_ppm(whole - shared, whole)


def test_empty_contains_is_no_condition(stocked, stocked_client, rng):
    """Every filter contains the empty one."""
    labels = context(rng)
    with_empty = wire.query_of(labels, contains=[], host="h2")
    answer = same(stocked_client, stocked[1]["h2"], with_empty)
    assert len(answer.results) == 10


def test_own_context_is_at_distance_zero(client, rng):
    """Whoever stands where the message was left finds it first."""
    labels = [f"topic:own-{rng.random()}" for _ in range(5)]
    sent = wire.deposit_of(rng, labels)
    client.call(sent)
    (nearest,) = client.call(wire.query_of(labels, k=1)).results
    assert (nearest.id, nearest.distance) == (sent.id, 0)


def test_ties(daemon, rng):
    """Equal distances: the newer deposit first; equal times too: the smaller id, as bytes."""
    reference = wire.Reference()
    labels = ["topic:tie", "topic:knot"]
    with daemon.client() as client:
        for _ in range(6):
            store(client, rng, reference, 25, lambda _: labels)
        times = {a.deposited_ms for _, a in reference.messages.values()}
        assert 1 < len(times) < 150, "both kinds of ties occur"
        for k in (1, 10, 100):
            for order in (pb.SIMILARITY, pb.TIME):
                answer = same(client, reference, wire.query_of(labels, k=k, order=order))
                keys = [(-r.deposited_ms, r.id) for r in answer.results]
                assert keys == sorted(keys)


def test_time_order_is_of_the_same_messages(stocked, stocked_client, rng):
    """order = TIME sorts the k nearest by time; it does not choose others."""
    for _ in range(10):
        labels = context(rng)
        near = stocked_client.call(wire.query_of(labels, k=15, host="h2"))
        timely = stocked_client.call(wire.query_of(labels, k=15, host="h2", order=pb.TIME))
        assert sorted(r.id for r in near.results) == sorted(r.id for r in timely.results)
        times = [r.deposited_ms for r in timely.results]
        assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("metric", [None, pb.BITS], ids=["default", "bits"])
def test_reach_and_max_distance_are_inclusive(client, rng, metric):
    """A message exactly at its reach is shown, one millionth less and it is not. By phi, too: both filters
    have bits in one section, so each may be the one that asks."""
    near, far = [f"topic:r{rng.random()}" for _ in range(2)]
    asked = wire.query_of([near, far], metric=metric)
    filters = wire.filter_of([near]), asked.parts[0].filter
    shared, union = wire.phi_similarity(*filters, wire.PROFILE) if metric is None else wire.counts(*filters)
    distance = -(-(union - shared) * WHOLE // union)  # rounded up: the least that reaches
    shown = wire.deposit_of(rng, [near], reach=distance)
    hidden = wire.deposit_of(rng, [near], reach=distance - 1)
    client.pipeline([shown, hidden])
    ids = {r.id for r in client.call(asked).results}
    assert shown.id in ids and hidden.id not in ids
    asked.max_distance = distance
    assert shown.id in {r.id for r in client.call(asked).results}
    asked.max_distance = distance - 1
    assert shown.id not in {r.id for r in client.call(asked).results}


def test_since_is_inclusive_and_until_is_not(client, rng):
    """since_ms <= deposited < until_ms."""
    labels = [f"topic:when{rng.random()}"]
    when = client.call(wire.deposit_of(rng, labels)).deposited_ms

    def found(**fields):
        return len(client.call(wire.query_of(labels, max_distance=0, **fields)).results)

    assert found(since_ms=when) == 1 and found(since_ms=when + 1) == 0
    assert found(until_ms=when) == 0 and found(until_ms=when + 1) == 1
    assert found(since_ms=when, until_ms=when + 1) == 1
    assert found(since_ms=-(2**63), until_ms=2**63 - 1) == 1


def test_no_results_is_an_answer(client, rng):
    """Nothing near enough: an empty, exact answer, not an error."""
    answer = client.call(wire.query_of([f"topic:none{rng.random()}"], max_distance=0))
    assert not answer.results and answer.exact


def test_without_payload_there_is_none(client, rng):
    """with_payload is absent or false: neither payload nor media type, nor `omitted`."""
    labels = [f"topic:np{rng.random()}"]
    client.call(wire.deposit_of(rng, labels))
    for fields in ({}, {"with_payload": False}):
        (result,) = client.call(wire.query_of(labels, k=1, **fields)).results
        assert not result.HasField("payload") and not result.HasField("media_type")
        assert not result.payload_omitted


def test_payloads_over_the_frame_are_omitted_and_got(daemon, rng):
    """As many payloads as fit the frame come along; the others are flagged, and Get has them."""
    labels = ["topic:big"]
    with daemon.client() as client:
        limits = client.welcome.limits
        sent = {}
        for _ in range(limits.frame_bytes // limits.payload_bytes + 8):
            one = wire.deposit_of(rng, labels, payload=rng.randbytes(limits.payload_bytes))
            sent[one.id] = one.payload
            client.call(one)
        for order in (pb.SIMILARITY, pb.TIME):
            query = wire.query_of(labels, k=len(sent), with_payload=True, order=order)
            request_id = client.post(query)
            data = client.receive_bytes()
            assert len(data) <= limits.frame_bytes
            results = client.body_of(pb.Response.FromString(data), request_id).results
            assert len(results) == len(sent)
            omitted = [r for r in results if r.payload_omitted]
            assert omitted and all(not r.HasField("payload") for r in omitted)
            assert not results[0].payload_omitted, "the first ones come along"
            assert len(data) > limits.frame_bytes - limits.payload_bytes - 2048, "room is used"
            for result in results:
                if not result.payload_omitted:
                    assert result.payload == sent[result.id]
            for result in omitted:
                assert client.call(pb.Get(id=result.id)).payload == sent[result.id]


def test_a_message_found_by_two_parts_is_one_result(client, rng):
    """The k nearest are k messages: one that two filters find counts once, at its best."""
    labels = [f"topic:parts{rng.random()}" for _ in range(4)]
    sent = wire.deposit_of(rng, labels)
    client.call(sent)
    query = pb.Query(k=10, max_distance=900_000)
    for some in (labels[:1], labels, labels[:2]):
        query.parts.add(filter=wire.filter_of(some))
    results = [r for r in client.call(query).results if r.id == sent.id]
    assert [r.distance for r in results] == [0]


def test_most_results_that_k_allows(module_daemons, rng):
    """k up to its limit: 1,000 results fit a frame of their size."""
    daemon = module_daemons("[limits]\nk = 1000\n")
    reference = wire.Reference()
    with daemon.client() as client:
        store(client, rng, reference, 1200)
        query = wire.query_of(context(rng), k=1000)
        expected = [entry[0] for entry in reference.answer(query)]
        for query.with_payload in (False, True):
            assert [r.id for r in client.call(query).results] == expected


def test_answers_while_messages_come(daemon, rng):
    """Queries that run beside deposits are right for their moment: no half, no twice."""
    reference = wire.Reference()
    with daemon.client() as writer, daemon.client() as reader:
        store(writer, rng, reference, 200)
        known = set(reference.messages)
        deposits = [wire.deposit_of(rng, context(rng)) for _ in range(300)]
        posted = [writer.post(one) for one in deposits]
        for _ in range(30):
            results = reader.call(wire.query_of(context(rng), k=100)).results
            ids = [r.id for r in results]
            assert len(ids) == len(set(ids)) > 20
            ranks = [(r.distance, -r.deposited_ms, r.id) for r in results]
            assert all(a[0] <= b[0] for a, b in zip(ranks, ranks[1:]))
            assert set(ids) <= known | {d.id for d in deposits}
        for deposit in deposits:
            answer = writer.receive()
            assert answer.id in posted
            reference.add(deposits[posted.index(answer.id)], answer.deposited)
        for _ in range(10):
            same(reader, reference, wire.query_of(context(rng), k=50))


# --- searches of several steps --------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowded(module_daemons):
    """40,000 messages: more than one step of a search looks at."""
    seed = conftest.seed_of()
    print(f"HEARSAY_TEST_SEED={seed}")
    rng = random.Random(seed)
    daemon = module_daemons("[limits]\nmessages = 1000000\n")
    reference = wire.Reference()
    with daemon.client() as client:
        store(client, rng, reference, 40_000)
    return daemon, reference


def test_long_searches(crowded, rng):
    """An answer that takes several steps is as exact as any."""
    daemon, reference = crowded
    with daemon.client() as client:
        for metric in (pb.BITS, pb.PHI):
            same(client, reference, wire.query_of(context(rng), k=100, metric=metric))


def test_long_searches_of_many_clients(crowded, rng):
    """Searches take turns: every client has all its answers, and a ping in between is quick."""
    daemon, _ = crowded
    clients = [daemon.client() for _ in range(8)]
    query = wire.query_of(context(rng), k=10)
    with daemon.client() as other:
        for client in clients:
            for _ in range(20):
                client.post(query)
        other.call(pb.Ping())
    expected = None
    for client in clients:
        answers = sorted((client.receive() for _ in range(20)), key=lambda a: a.id)
        assert len({a.id for a in answers}) == 20
        for answer in answers:
            ids = [r.id for r in answer.results.results]
            expected = expected or ids
            assert ids == expected
        client.close()


def test_clients_that_leave_during_a_search(crowded, rng):
    """A search whose client is gone ends with it, and disturbs nobody."""
    daemon, _ = crowded
    query = wire.query_of(context(rng), k=100)
    for _ in range(20):
        with daemon.client() as client:
            client.pipeline([pb.Ping()])
            for _ in range(10):
                client.post(query)
    with daemon.client() as client:
        assert len(client.call(query).results) == 100


def test_messages_that_go_during_a_search(crowded, rng):
    """Withdrawn messages are in no answer that was asked for after their withdrawal."""
    daemon, _ = crowded
    token = rng.randbytes(32)
    labels = [f"topic:go{rng.random()}" for _ in range(3)]
    sent = [
        wire.deposit_of(rng, labels, withdraw_hash=wire.withdraw_hash(token)) for _ in range(200)
    ]
    with daemon.client() as writer, daemon.client() as reader:
        writer.pipeline(sent)
        for one in sent:
            reader.post(wire.query_of(labels, k=100, max_distance=0))
            writer.call(pb.Withdraw(id=one.id, token=token))
        for n in range(len(sent)):
            found = reader.receive().results.results
            assert len({r.id for r in found}) == len(found) <= 100
            assert found or n > 0
        assert not reader.call(wire.query_of(labels, max_distance=0)).results


def test_payloads_of_messages_that_go(make_daemon, rng):
    """However fast messages are withdrawn, a query is answered; what has no payload says so."""
    daemon = make_daemon("[limits]\ncache = 0\n")
    token = rng.randbytes(32)
    labels = ["topic:fast", "topic:slow"]
    sent = [
        wire.deposit_of(rng, labels, withdraw_hash=wire.withdraw_hash(token)) for _ in range(3000)
    ]
    with daemon.client() as writer, daemon.client() as reader:
        writer.pipeline(sent)
        withdrawals = [wire.request(pb.Withdraw(id=s.id, token=token), 5000 + n)
                       for n, s in enumerate(reversed(sent))]
        query = wire.query_of(labels, k=100, with_payload=True)
        for start in range(0, len(sent), 300):
            writer.send_bytes(b"".join(map(wire.frame, withdrawals[start : start + 300])))
            for answer in reader.pipeline([query] * 10):
                assert answer.HasField("results"), answer
                for result in answer.results.results:
                    assert result.payload_omitted != result.HasField("payload")
        for _ in sent:
            assert writer.receive().HasField("withdrawn")
