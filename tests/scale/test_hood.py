# SPDX-License-Identifier: Apache-2.0
"""Many access points of one hood before a hub of three servers: each answer is the one of brute force over
all exports, with deposits under way nothing is missing that was there before `as_of_ms`, and what it takes.

HEARSAY_HOOD_SITES and HEARSAY_HOOD_QUERIES in the environment: how many access points, each with 100 messages,
and how many queries. HEARSAY_HOOD_LEAVES=1: the hub is one server with a leaf node before each half of the access
points, and TLS on each way, so most of what is asked goes over three servers.
"""

import os
import pathlib
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

import conftest
import hearsay_wire as wire
import hub_cluster
import leaf_hub
from conftest import make_daemon, rng  # noqa: F401
from hood_sites import deposit, make_site  # noqa: F401
from hub_cluster import wait_until
from test_bridge_around import all_of, brute_force, complete, hood_query, key_of
from test_filters import slices_of

pytestmark = hub_cluster.needs_hub
SITES = int(os.environ.get("HEARSAY_HOOD_SITES", "12"))
QUERIES = int(os.environ.get("HEARSAY_HOOD_QUERIES", "200"))
LEAVES = os.environ.get("HEARSAY_HOOD_LEAVES", "0") != "0"
MESSAGES, ASKERS, PAUSE = 100, 6, 0.06  # the shuffle holds a query back that comes sooner


@pytest.fixture(scope="module", name="hub")
def hub_of_many():
    kind = leaf_hub.LeafHub if LEAVES else hub_cluster.Hub
    made = kind(conftest.storage_root(), {f"ap{n}": "campus" for n in range(SITES)})
    try:
        made.start().wait_ready().make_streams()
        yield made.wait_current()
    finally:
        made.remove()


hub = hub_of_many


@pytest.fixture(name="make_place")
def place_maker(request, make_daemon, hub):  # noqa: F811
    if not LEAVES:
        yield request.getfixturevalue("make_site")
        return
    made = []

    def make(name):
        made.append(leaf_hub.LeafSite(hub, make_daemon, name, leaf=int(name[2:]) % 2))
        return made[-1]
    yield make
    for site in made:
        site.remove()


def labels_at(rng, place):  # noqa: F811
    """What one senses at a place: its own labels, one of the next place, and a topic."""
    return [f"spot:{place}-{n}" for n in rng.sample(range(6), 3)] + [
        f"spot:{(place + 1) % SITES}-{rng.randrange(6)}", f"topic:{rng.randrange(40)}"]


def make_query(rng, place, since, ids=()):  # noqa: F811
    query = hood_query(labels_at(rng, place), f"ap{place}", k=rng.choice((1, 5, 10, 20)),
                       max_distance=rng.choice((800_000, 800_000, 1_000_000)))
    if rng.random() < 0.1:
        query.parts[0].contains = wire.filter_of([f"spot:{place}-0"])
    if rng.random() < 0.1:
        query.since_ms = since
    if ids and rng.random() < 0.2:
        query.exclude.extend(slices_of(rng.sample(ids, 20), rng))
    return query


def show_times(what, times):
    if times:
        times = sorted(times)
        print(f"{what}: {len(times)}, median {times[len(times) // 2]:.1f} ms, p99 {times[len(times) * 99 // 100]:.1f} ms")


def test_many_access_points(make_place, rng):  # noqa: F811
    sites = [make_place(f"ap{n}") for n in range(SITES)]
    for place, site in enumerate(sites):
        deposit(site, rng, MESSAGES // 2, labels=lambda r, p=place: labels_at(r, p))
    since = int(time.time() * 1000)
    for place, site in enumerate(sites):
        deposit(site, rng, MESSAGES - MESSAGES // 2, labels=lambda r, p=place: labels_at(r, p), reach=900_000)
    for site in sites:
        site.start()
    phones = [site.daemon.client() for site in sites[:ASKERS]]
    for place, phone in enumerate(phones):
        wait_until(lambda n=place, p=phone: (got := p.call(make_query(rng, n, since))).complete
                   and got.peers == SITES - 1, "a whole hood")
    messages = all_of(sites)
    near = [[m.id for host, m in messages if host in (f"ap{n}", f"ap{(n + 1) % SITES}")] for n in range(ASKERS)]
    times, asked = {True: [], False: []}, 0  # whether another host was asked
    for n in range(QUERIES):
        query = make_query(rng, n % ASKERS, since, near[n % ASKERS])
        began = time.perf_counter()
        got = phones[n % ASKERS].call(query)
        took = (time.perf_counter() - began) * 1000
        if got.complete:
            times[got.peers_asked > 0].append(took)
        else:
            got = complete(phones[n % ASKERS], query)
        assert [(r.host, r.id) for r in got.results] == brute_force(query, messages)
        asked += got.peers_asked
        time.sleep(PAUSE)  # as people do, who do not ask without a pause
    print(f"{SITES} access points{' over leaf, hub, leaf' if LEAVES else ''}, {QUERIES} queries: "
          f"asked {asked / QUERIES:.2f} of {SITES - 1}")
    show_times("all queries", times[True] + times[False])
    show_times("those that asked another host", times[True])
    check_under_deposits(sites, phones, rng, since)


def check_under_deposits(sites, phones, rng, since):  # noqa: F811
    """What was acknowledged before as_of_ms is in the answer, if it belongs there."""
    ends, left = threading.Event(), []

    def leave():
        source = __import__("random").Random(1)
        while not ends.is_set():
            place = source.randrange(len(sites))
            (one,) = deposit(sites[place], source, 1, labels=lambda r: labels_at(r, place))
            left.append((int(time.time() * 1000), f"ap{place}", one))
            ends.wait(0.02)

    thread = threading.Thread(target=leave)
    thread.start()
    answers = []
    try:
        for n in range(QUERIES // 4):
            query = make_query(rng, n % ASKERS, since)
            query.max_distance = 800_000
            answers.append((query, complete(phones[n % ASKERS], query)))
    finally:
        ends.set()
        thread.join()
    stored = {message.id: (host, message) for host, message in all_of(sites)}
    for query, got in answers:
        shown = [key_of(query, r.host, stored[r.id][1]) for r in got.results]
        assert None not in shown and shown == sorted(shown)
        for acknowledged_ms, host, one in left:
            key = key_of(query, host, stored[one.id][1])
            if acknowledged_ms < got.as_of_ms and key is not None:
                assert key in shown or (len(shown) == query.k and shown[-1] < key), (query, host, one.id)
