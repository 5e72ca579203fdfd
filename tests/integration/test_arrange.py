# SPDX-License-Identifier: Apache-2.0
"""A daemon arranges its messages while it serves, those that came since it started and those that a
start loads: queries compare a fraction of them, and answers stay those of a plain list."""

import random
import re
import time

import pytest

import conftest
import hearsay_wire as wire
from hearsay_wire import pb

PLACES = 400
COUNT = 20_000
PATIENCE = wire.PATIENCE
CONFIG = "log_level = debug\n[limits]\nmessages = 1000000\n"


def context(rng):
    """What is seen at one of many places: most of its access points, and a topic."""
    place = rng.randrange(PLACES)
    seen = rng.sample(range(24), rng.randint(12, 20))
    return [f"wifi:p{place}n{number}" for number in seen] + [f"topic:t{rng.randrange(200)}"]


def deposit_many(client, rng, reference, count, **fields):
    made = [wire.deposit_of(rng, context(rng), **fields) for _ in range(count)]
    for one, answer in zip(made, client.pipeline(made)):
        assert answer.HasField("deposited"), answer
        reference.add(one, answer.deposited)
    return made


def check(client, reference, query):
    """The answer is exact; how many filters were compared for it."""
    answer = client.call(query)
    assert [wire.shape(r) for r in answer.results] == reference.answer(query)
    assert answer.exact
    return answer.comparisons


@pytest.fixture(scope="module")
def fed(module_daemons):
    """A daemon with messages that all came over the wire, and a token to withdraw them."""
    seed = conftest.seed_of()
    print(f"HEARSAY_TEST_SEED={seed}")
    rng = random.Random(seed)
    daemon = module_daemons(CONFIG)
    token = rng.randbytes(32)
    reference = wire.Reference()
    with daemon.client() as client:
        for _ in range(COUNT // 2000):
            deposit_many(client, rng, reference, 2000, withdraw_hash=wire.withdraw_hash(token))
            check(client, reference, wire.query_of(context(rng)))
    return daemon, reference, token


def median_compared(client, rng, reference):
    """How many messages a few queries were compared with, all of which are answered right."""
    compared = [check(client, reference, wire.query_of(context(rng), k=k))
                for k in (1, 10) for _ in range(4)]
    return sorted(compared)[len(compared) // 2]


def test_queries_become_quick(fed, rng):
    """While messages come and go, they are arranged; from then on most are not compared."""
    daemon, reference, token = fed
    deadline = time.monotonic() + PATIENCE
    query = wire.query_of(context(rng))
    hash_of_token = wire.withdraw_hash(token)
    with daemon.client() as client:
        while (client.call(query).comparisons >= COUNT // 5
               or median_compared(client, rng, reference) >= COUNT // 5):
            assert time.monotonic() < deadline, "the messages were not arranged"
            deposit_many(client, rng, reference, 1, withdraw_hash=hash_of_token)
            gone = rng.choice(list(reference.messages))
            client.call(pb.Withdraw(id=gone, token=token))
            del reference.messages[gone]
        check(client, reference, wire.query_of(context(rng), metric=pb.PHI))
        check(client, reference, wire.query_of(["topic:t7"], contains=["topic:t7"]))
    daemon.check_alive()


def test_start_serves_before_messages_are_arranged(make_daemon, rng):
    """A start is ready without a tree, and answers are exact from the first one on; then the log says
    that all is arranged, and queries compare a fraction."""
    daemon = make_daemon("log_level = debug\n[limits]\nmessages = 1000000\n"
                         "[host a]\n[host b]\n[host c]\n")
    references = {}
    with daemon.client() as client:
        for host, count in (("a", 6000), ("b", 500)):
            references[host] = wire.Reference()
            deposit_many(client, rng, references[host], count, host=host)
    daemon.restart()
    with daemon.client() as client:
        for _ in range(20):
            for host in ("a", "b"):
                check(client, references[host], wire.query_of(context(rng), host=host))
        done = daemon.wait_log(r"all loaded messages are arranged for quick queries, after \d+ ms")
        lines = [line for line in daemon.log if line is not None]
        order = [at for at, line in enumerate(lines)
                 if re.search("loaded 6500 messages|ready: |: arranging (6000|500) messages", line)]
        assert len(order) == 4 and "loaded 6500" in lines[order[0]] and "ready" in lines[order[1]]
        assert "arranging 6000" in lines[order[2]] and "arranging 500" in lines[order[3]]
        assert lines.index(done.string) > order[3]
        compared = [check(client, references["a"], wire.query_of(context(rng), host="a"))
                    for _ in range(9)]
        assert sorted(compared)[4] < 3000
    with daemon.administrator() as client:
        now = {one.name: one.value for one in client.call(pb.Stats()).figures}
        assert now["host/a/unarranged"] == now["host/b/unarranged"] == 0
        assert now["arranged_total"] == 2


def test_stop_while_arranging(make_daemon, rng):
    """SIGTERM while messages are being arranged: it ends as always, and all are there again."""
    daemon = make_daemon(CONFIG)
    reference = wire.Reference()
    with daemon.client() as client:
        for _ in range(4):
            deposit_many(client, rng, reference, 2000)
        daemon.wait_log(r"arranging \d+ messages")
    daemon.restart()
    with daemon.client() as client:
        for _ in range(5):
            check(client, reference, wire.query_of(context(rng)))
