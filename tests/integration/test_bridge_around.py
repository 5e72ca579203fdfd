# SPDX-License-Identifier: Apache-2.0
"""Queries of a neighbourhood, from a phone over bridges and a hub of three real servers, and back."""

import json
import math
import signal
import time

import hearsay_wire as wire
import hub_cluster
from hearsay_wire import pb
from hood_sites import Ear, deposit, hub, labels_of, letters, make_site, metrics  # noqa: F401
from hub_cluster import wait_until
from test_filters import is_excluded, slices_of

pytestmark = hub_cluster.needs_hub


def hood_query(labels, host, **fields):
    fields.setdefault("with_payload", True)
    return wire.query_of(labels, host=host, scope=pb.HOOD, **fields)


def complete(phone, query):
    """The answer, asked again where it is not complete: on a busy machine a neighbour may miss its deadline."""
    query.wait_ms = 10_000  # of all neighbours together
    return wait_until(lambda: (got := phone.call(query)).complete and got, "a complete answer")


def start_all(make_site, *groups, **options):
    """Sites that know one another."""
    sites = [make_site(*group, start=True, **options) for group in groups]
    for site in sites:
        others = sum(len(group) for group in groups) - len(site.roles)
        wait_until(lambda s=site, n=others: metrics(s).get("peers") == n, "the neighbours")
    for site in sites:
        for host in site.roles:
            with site.daemon.client() as phone:
                wait_until(lambda h=host, p=phone: p.call(hood_query(["topic:x"], h)).complete, "a whole hood")
    return sites


def all_of(sites):
    return [(host, message) for site in sites for host in site.roles
            for message in site.exported(host).values()]


def similarity(query, asking, other):
    """As a fraction, by the metric of the query."""
    if wire.metric_of(query) == pb.PHI:
        return wire.phi_similarity(asking, other, wire.PROFILE)
    a, b = int.from_bytes(asking, "little"), int.from_bytes(other, "little")
    return (a & b).bit_count(), (a | b).bit_count()


def key_of(query, host, message):
    """Where a message stands in the answer; None: it is not in it."""
    found = int.from_bytes(message.filter, "little")
    wanted = int.from_bytes(query.parts[0].contains, "little")
    shared, union = similarity(query, query.parts[0].filter, message.filter)
    if (union - shared) * 1_000_000 > query.max_distance * union or found & wanted != wanted:
        return None
    if query.HasField("since_ms") and message.deposited_ms < query.since_ms:
        return None
    if is_excluded(message.id, query.exclude):
        return None
    reach = message.reach if message.HasField("reach") else 1_000_000
    seen, all_ = similarity(query, message.filter, query.parts[0].filter)  # for phi the message asks
    if (all_ - seen) * 1_000_000 > reach * all_:
        return None
    return 0 if query.order == pb.NEWEST else -shared / union, -message.deposited_ms, message.id, host


def brute_force(query, messages):
    found = [key for host, message in messages if (key := key_of(query, host, message))]
    return [(host, message_id) for _, _, message_id, host in sorted(found)[:query.k]]


def random_query(rng, host, since, messages):
    query = hood_query(labels_of(rng), host, k=rng.choice((1, 5, 10, 30)),
                       max_distance=rng.choice((700_000, 900_000, 1_000_000)), metric=rng.choice((pb.BITS, pb.PHI)))
    if rng.random() < 0.2:
        query.parts[0].contains = wire.filter_of(labels_of(rng, 1))
    if rng.random() < 0.2:
        query.since_ms = since
    if rng.random() < 0.3:
        query.order = pb.NEWEST
    if rng.random() < 0.3:
        nearest = [one for _, one in brute_force(query, messages)]
        query.exclude.extend(slices_of(rng.sample(nearest, len(nearest) // 2), rng))
    return query


def wait_for_times(phone, host, messages):
    """Until the newest message of each host is found by its time, which a host tells up to a second later if its
    groups cover the message."""
    newest = {}
    for name, message in messages:
        newest[name] = max(newest.get(name, message), message, key=lambda m: m.deposited_ms)
    for message in newest.values():
        query = hood_query([], host, since_ms=message.deposited_ms)
        query.parts[0].filter = message.filter
        wait_until(lambda q=query, m=message: m.id in [r.id for r in phone.call(q).results], "the time of a message")


def test_answers_are_those_of_brute_force(make_site, hub, rng):  # noqa: F811
    """Several hosts at a server, five servers; each answer is the exact one over all exports."""
    sites = start_all(make_site, ("big-1", "big-2"), ("ap3",), ("twin-1", "twin-2"), ("ap6",), ("ap7",))
    for site in sites:
        for host in site.roles:
            deposit(site, rng, 60, host=host, labels=lambda r: labels_of(r, words=120))
    since = int(time.time() * 1000)
    for site in sites:
        deposit(site, rng, 20, labels=lambda r: labels_of(r, words=120), reach=800_000)
    messages = all_of(sites)
    assert len(messages) == 7 * 60 + 5 * 20
    wait_until(lambda: all(metrics(s)["peers"] == 7 - len(s.roles) for s in sites), "all summaries")
    for site in sites[:3]:
        with site.daemon.client() as phone:
            wait_for_times(phone, site.name, messages)
    asked = 0
    for site in sites[:3]:
        with site.daemon.client() as phone:
            for _ in range(40):
                query = random_query(rng, site.name, since, messages)
                got = complete(phone, query)
                assert got.peers == 6, got
                assert [(r.host, r.id) for r in got.results] == brute_force(query, messages), query
                assert all(r.payload == b"text of " + r.id.hex().encode() for r in got.results)
                asked += got.peers_asked
    print(f"asked {asked / 120:.2f} of 6 other hosts")
    assert metrics(sites[0])["asks_total"] >= 40


def test_the_largest_answers(make_site, hub, rng):  # noqa: F811
    """The largest k with long types: what fits a frame is the nearest, and what does not shows."""
    here, there = start_all(make_site, ("ap1",), ("ap2",))
    deposit(there, rng, 700, media_type="text/" + "x" * 122, payload=b"https://example.org/" + b"y" * 100)
    messages = all_of([there])
    with here.daemon.client() as phone:
        query = hood_query(labels_of(rng), "ap1", max_distance=1_000_000, k=300, wait_ms=10_000)
        wait_until(lambda: (got := phone.call(query)).complete and len(got.results) == 300, "all messages")
        for k in (300, 1000):
            query.k = k
            got = wait_until(lambda: (got := phone.call(query)).peers_silent == 0 and got, "no neighbour is silent")
            expected = brute_force(query, messages)
            assert got.complete == (k == 300), got
            assert 400 <= len(got.results) < 700 or k == 300
            assert [(r.host, r.id) for r in got.results] == expected[:len(got.results)]
            assert all(r.payload_omitted == (not r.payload) == (not r.media_type) for r in got.results)
            assert {r.payload_omitted for r in got.results} == ({True, False} if k == 300 else {True})


def test_a_new_message_is_found_within_a_second(make_site, hub, rng):  # noqa: F811
    here, there = start_all(make_site, ("ap1",), ("ap2",))
    times = []
    with here.daemon.client() as phone:
        for n in range(20):
            (left,) = deposit(there, rng, 1, labels=lambda r: [f"topic:new{n}", "topic:fresh", "topic:x"])
            began = time.monotonic()
            wait_until(lambda: any(r.id == left.id for r in phone.call(
                hood_query([f"topic:new{n}"], "ap1")).results), "a new message")
            times.append(time.monotonic() - began)
    print(f"found after {min(times):.3f} to {max(times):.3f} s")
    show_no_wait_for_keepalives(times)


def test_a_new_message_like_an_old_one_is_found_within_seconds(make_site, hub, rng):  # noqa: F811
    """The groups cover it already, so its time alone says that a host may have something for the answer."""
    here, there = start_all(make_site, ("ap1",), ("ap2",))
    labels = ["topic:again", "topic:x"]
    (first,) = deposit(there, rng, 1, labels=lambda r: labels)
    times = []
    with here.daemon.client() as phone:
        wait_until(lambda: [r.id for r in phone.call(hood_query(labels, "ap1")).results] == [first.id], "the old one")
        for _ in range(5):
            (left,) = deposit(there, rng, 1, labels=lambda r: labels)
            since = there.exported("ap2")[left.id].deposited_ms
            began = time.monotonic()
            wait_until(lambda: left.id in [r.id for r in phone.call(
                hood_query(labels, "ap1", since_ms=since, order=pb.NEWEST)).results], "a new message")
            times.append(time.monotonic() - began)
    print(f"found after {min(times):.3f} to {max(times):.3f} s")
    show_no_wait_for_keepalives(times, gap=1)  # at most one such word a second


def show_no_wait_for_keepalives(times, gap=0):
    # The slower ones wait for a processor. A word that waits for the next keepalive takes 30 s.
    assert sorted(times)[len(times) // 4] < gap + 1 * wire.SLOWNESS and max(times) < 20 * wire.SLOWNESS, times


def without(phone, query):
    """Asks where one neighbour is silent. How long it took, in seconds; for ever where others were silent, too."""
    began = time.monotonic()
    got = phone.call(query)
    assert not got.complete and not got.results
    return time.monotonic() - began if got.peers_silent == 1 else math.inf


def test_a_silent_neighbour_shows(make_site, hub, rng):  # noqa: F811
    """Stopped: not complete, after one deadline. Killed: at once. Back again: complete."""
    here, there, third = start_all(make_site, ("ap1",), ("ap2",), ("ap3",))
    (left,) = deposit(there, rng, 1, labels=lambda r: ["topic:a", "topic:b"])
    query = hood_query(["topic:a", "topic:b"], "ap1")
    with here.daemon.client() as phone:
        wait_until(lambda: [r.id for r in phone.call(query).results] == [left.id], "the message")
        there.bridge.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: 0.2 < without(phone, query) < 0.9 * wire.SLOWNESS, "an answer after one deadline")
        there.bridge.process.send_signal(signal.SIGCONT)
        wait_until(lambda: phone.call(query).complete, "the neighbour again")
        there.bridge.kill()
        wait_until(lambda: phone.call(query).peers_silent == 1, "the neighbour that is away")
        wait_until(lambda: without(phone, query) < 0.2 * wire.SLOWNESS, "an answer at once")
        there.start()
        wait_until(lambda: [r.id for r in phone.call(query).results] == [left.id], "the message again")
        wait_until(lambda: phone.call(query).complete, "a complete answer")
        here.bridge.kill()
        wait_until(lambda: phone.call(query).bridge_away, "the own host alone")
        for _ in range(3):  # for as long as nobody serves the hood, not once only
            got = phone.call(query)
            assert got.bridge_away and not got.complete and got.peers == 0
        here.start()
        wait_until(lambda: phone.call(query).peers == 2, "the own bridge again")
    del third


def test_max_staleness(make_site, hub, rng):  # noqa: F811
    """A neighbour of which nothing was heard for longer is asked; as_of_ms is never later than now."""
    here, there = start_all(make_site, ("ap1",), ("ap2",))
    deposit(there, rng, 5)
    with here.daemon.client() as phone:
        wait_until(lambda: phone.call(hood_query(["topic:none"], "ap1")).peers == 1, "the neighbour")
        query = hood_query(["topic:none"], "ap1", max_distance=100_000)
        skipped = complete(phone, query)
        assert skipped.peers_asked == 0
        assert 0 <= int(time.time() * 1000) - skipped.as_of_ms < 40_000
        query.max_staleness_ms = 0
        asked = complete(phone, query)
        assert asked.peers_asked == 1 and asked.as_of_ms >= skipped.as_of_ms


def is_whole(phone, query):
    """Whether the answer is complete. It is, once the bridge asks and the neighbour is not silent."""
    got = phone.call(query)
    assert got.complete or got.peers == 0 or got.peers_silent > 0, got
    return got.complete


def test_the_hub_is_lost(make_site, hub, rng):  # noqa: F811
    """Own hosts answer, not complete; after the hub is back all is as before."""
    here, there = start_all(make_site, ("ap1",), ("ap2",))
    (left,) = deposit(there, rng, 1, labels=lambda r: ["topic:hub", "topic:lost"])
    query = hood_query(["topic:hub", "topic:lost"], "ap1")
    with here.daemon.client() as phone:
        wait_until(lambda: [r.id for r in phone.call(query).results] == [left.id], "the message")
        hub.kill_all()
        wait_until(lambda: not phone.call(query).complete, "an answer that is not complete")
        hub.start().wait_ready()
        wait_until(lambda: is_whole(phone, query), "a complete answer")
        assert [r.id for r in phone.call(query).results] == [left.id]
    hub.wait_led()
    here.daemon.kill()  # its bridge hears the neighbours all the same
    here.daemon.start()
    with here.daemon.client() as phone:
        wait_until(lambda: is_whole(phone, query), "a complete answer after a restart of hearsayd")


def test_the_wire_has_nothing_of_the_phone(make_site, hub, rng):  # noqa: F811
    """What a neighbour gets: filters, k, what to leave out, a floor. Nothing that names the phone; the
    servers add which access point asks."""
    here = make_site("ap1", start=True)
    with Ear(hub, "ap2") as ear:
        assert ear.serve()
        ear.tell("ap2", full=True, seq=1, newest_ms=0, groups=[
            wire.group_of_all(count=1, newest_ms=2**62)])
        wait_until(lambda: metrics(here).get("peers") == 1, "the neighbour")
        with here.daemon.client() as phone:
            phone.last_id = 0x1122334455667788
            token = phone.welcome.resume_token
            phone.post(hood_query(["topic:x"], "ap1", k=7, order=pb.TIME, wait_ms=900, max_staleness_ms=77))
            message = ear.nats.next(ear.queries)
        query = letters.Letter.FromString(message.data).peer_query.query
        assert {f.name for f, _ in query.ListFields()} == {"k", "parts", "with_payload"}
        assert {f.name for f, _ in query.parts[0].ListFields()} == {"filter"}
        assert message.headers.keys() == {"Nats-Request-Info"}
        info = json.loads(message.headers["Nats-Request-Info"])
        assert info.keys() <= {"acc", "svc", "rtt"} and info["acc"] == "ap1"
        assert token not in message.data and b"ap1" not in message.data
        assert (0x1122334455667789).to_bytes(8, "little") not in message.data
