#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a query of a hood costs: the same messages in one host, and spread over 63 hosts of a hood.

Needs HEARSAYD, the path of a release build's hearsayd, and what the integration tests need. Each round
asks the same queries of the host and of the hood, in turn, and compares the distances in the answers.
"""

import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
os.environ.setdefault("HEARSAY_TEST_DIR", tempfile.gettempdir())

import conftest  # noqa: E402
import hearsay_wire as wire  # noqa: E402
from hearsay_wire import pb  # noqa: E402

HOSTS, EACH, PLACES, ROUNDS, QUERIES, SINGLES = 63, 1016, 2000, 15, 1200, 40
PROFILE = "v2:512/4"


def campus(rng, place):
    """12 to 20 access points of a place, a topic and an hour."""
    points = [f"wifi:{place:04x}:{n}" for n in rng.sample(range(20), rng.randint(12, 20))]
    return [*points, f"topic:t{rng.randrange(40)}", f"time:h{rng.randrange(24)}"]


def words(rng, _):
    return [f"topic:w{rng.randrange(20000)}" for _ in range(50)]


def fill(daemon, rng, context, by_place):
    with daemon.administrator() as client:
        for _ in range(HOSTS * EACH // 508):
            batch = []
            for n in range(508):
                place = rng.randrange(PLACES)
                one = wire.deposit_of(rng, context(rng, place), PROFILE)
                for host in ("all", f"h{(place if by_place else n) % HOSTS}"):
                    one.host = host
                    batch.append(pb.Deposit.FromString(one.SerializeToString()))
            assert all(a.HasField("deposited") for a in client.pipeline(batch))


def cpu_ms(daemon):
    """Of the daemon's main thread, which runs the searches."""
    with open(f"/proc/{daemon.process.pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e6


def ask(daemon, client, queries):
    """The CPU time of the daemon for a query, and the answers."""
    before = cpu_ms(daemon)
    answers = [a.results for a in client.pipeline(queries)]
    return (cpu_ms(daemon) - before) / len(queries), answers


def single_us(client, query):
    before = time.perf_counter()
    client.call(query)
    return 1e6 * (time.perf_counter() - before)


def measure(daemon, rng, context):
    cpu, single = {pb.HERE: [], pb.HOOD: []}, {pb.HERE: [], pb.HOOD: []}
    with daemon.administrator() as client:
        for number in range(ROUNDS):
            labels = [context(rng, rng.randrange(PLACES)) for _ in range(QUERIES)]
            queries = {scope: [wire.query_of(one, profile=PROFILE, host=host, scope=scope,
                                             max_distance=800_000) for one in labels]
                       for scope, host in ((pb.HERE, "all"), (pb.HOOD, "h0"))}
            answers = {}
            for scope in (pb.HERE, pb.HOOD) if number % 2 else (pb.HOOD, pb.HERE):
                ms, answers[scope] = ask(daemon, client, queries[scope])
                cpu[scope].append(ms)
            for here, hood in zip(answers[pb.HERE], answers[pb.HOOD]):
                assert [r.distance for r in here.results] == [r.distance for r in hood.results]
            for n in range(SINGLES):
                for scope in (pb.HERE, pb.HOOD):
                    single[scope].append(single_us(client, queries[scope][n]))
    return [statistics.median(figures[scope]) for figures in (cpu, single)
            for scope in (pb.HERE, pb.HOOD)]


def main():
    out, sys.stdout = sys.stdout, sys.stderr  # where the daemon's log goes
    rng = random.Random(1)
    hosts = f"[host all]\nprofile = {PROFILE}\n" + "".join(
        f"[host h{n}]\nhood = campus\nprofile = {PROFILE}\n" for n in range(HOSTS))
    for name, context, by_place in (("campus, a place at one host", campus, True),
                                    ("campus, a place at all hosts", campus, False),
                                    ("words", words, False)):
        daemons = conftest._daemons()
        daemon = next(daemons)(
            f"durability = relaxed\n[limits]\nmessages = 1000000\nbytes = 1G\n{hosts}")
        fill(daemon, rng, context, by_place)
        daemon.restart()
        daemon.wait_log("all loaded messages are arranged", patience=120)
        here, hood, here_us, hood_us = measure(daemon, rng, context)
        print(f"{name}: CPU {here:.3f} and {hood:.3f} ms ({hood / here:.1f} times), "
              f"one at a time {here_us:.0f} and {hood_us:.0f} us ({hood_us / here_us:.1f} times)",
              file=out, flush=True)
        next(daemons, None)


if __name__ == "__main__":
    main()
