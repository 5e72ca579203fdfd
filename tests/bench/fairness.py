#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ordinary queries and pings of a host with a million messages, beside connections that scan everything.

Needs HEARSAYD, the path of a release build's hearsayd, and what the integration tests need. The messages
are those of a town: 2,000 places, 20 of 60 neighbours each. hearsayd starts again before the measurement,
so that its index is arranged. Eight connections, each of which counts as a sender of its own, ask for the
nearest messages to an empty filter, one query after the other: hearsayd compares all messages. With
`--priority N` hearsayd and this program have the real-time priority N (SCHED_RR) while they are measured,
and the scanners N - 1; that is for a machine with other work, and takes half a minute.
"""

import argparse
import multiprocessing
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
os.environ.setdefault("HEARSAY_TEST_DIR", tempfile.gettempdir())

import conftest  # noqa: E402
import hearsay_wire as wire  # noqa: E402
from hearsay_wire import pb  # noqa: E402

PLACES, NEIGHBOURS, STEP, SEEN, SCANNERS, SECONDS, BATCH = 2000, 60, 20, 20, 8, 10, 20_000
PROFILE = "v2:512/4"


def points():
    """For each access point of the town the bits of its label."""
    return [sum({1 << p for p in wire.positions(f"wifi:{n:06x}", PROFILE)})
            for n in range(PLACES * STEP + NEIGHBOURS)]


def make_filter(rng, town):
    place = rng.randrange(PLACES) * STEP
    bits = 0
    for n in rng.sample(range(NEIGHBOURS), SEEN):
        bits |= town[place + n]
    return bits.to_bytes(64, "little")


def query(filter_bytes):
    return pb.Query(k=10, parts=[pb.QueryPart(filter=filter_bytes)])


def fill(daemon, rng, town, count):
    with daemon.administrator() as client:
        client.patience = 300
        for _ in range(0, count, BATCH):
            answers = client.pipeline([
                pb.Deposit(id=rng.randbytes(16), filter=make_filter(rng, town), payload=b"x")
                for _ in range(BATCH)])
            assert all(answer.HasField("deposited") for answer in answers)


def scan(path, ready, stop, scans, priority):
    """The eight connections, in a process of their own, which the measuring process may interrupt."""
    if priority > 1:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority - 1))
    clients = [wire.Client(path) for _ in range(SCANNERS)]
    for client in clients:
        client.post(query(bytes(64)))
    ready.set()
    while not stop.is_set():
        for client in clients:
            answer = client.receive().results
            assert answer.comparisons >= 900_000, "the query does not compare all messages"
            scans.value += 1
            client.post(query(bytes(64)))


def sample(client, bodies, seconds):
    """Milliseconds of each request, one after the other."""
    times, end, at = [], time.monotonic() + seconds, 0
    while time.monotonic() < end:
        before = time.perf_counter()
        client.call(bodies[at % len(bodies)])
        times.append(1e3 * (time.perf_counter() - before))
        at += 1
    return sorted(times)


def tell(out, what, times):
    p99 = times[min(len(times) - 1, int(0.99 * len(times)))]
    print(f"{what}: p50 {statistics.median(times):.3f} ms, p99 {p99:.3f} ms, longest {times[-1]:.3f} ms, "
          f"{len(times)} requests", file=out, flush=True)


def measure(daemon, rng, town, priority, out):
    ready, stop = multiprocessing.Event(), multiprocessing.Event()
    scans = multiprocessing.Value("L", 0)
    scanner = multiprocessing.Process(target=scan, args=(
        daemon.socket_path, ready, stop, scans, priority))
    bodies = [query(make_filter(rng, town)) for _ in range(500)]
    with daemon.administrator() as client:
        sample(client, bodies, 1)
        if priority:
            for pid in (daemon.process.pid, os.getpid()):
                subprocess.run(["chrt", "-a", "-r", "-p", str(priority), str(pid)], check=True)
        tell(out, "query, alone", sample(client, bodies, SECONDS / 2))
        tell(out, "ping, alone", sample(client, [pb.Ping()], SECONDS / 2))
        scanner.start()
        ready.wait()
        before = time.monotonic()
        tell(out, f"query, beside {SCANNERS}", sample(client, bodies, SECONDS))
        tell(out, f"ping, beside {SCANNERS}", sample(client, [pb.Ping()], SECONDS))
        print(f"{scans.value / (time.monotonic() - before):.0f} scans a second", file=out, flush=True)
        stop.set()
    scanner.join(30)
    if scanner.is_alive():
        scanner.terminate()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--priority", type=int, default=0)
    arguments = parser.parse_args()
    out, sys.stdout = sys.stdout, sys.stderr  # where the daemon's log goes
    rng, town = random.Random(1), points()
    daemons = conftest._daemons()
    daemon = next(daemons)(f"durability = relaxed\n[limits]\nmessages = 2000000\nbytes = 4G\n"
                           f"[host default]\nprofile = {PROFILE}\n")
    fill(daemon, rng, town, arguments.count)
    daemon.restart()
    daemon.wait_log("all loaded messages are arranged", patience=600)
    measure(daemon, rng, town, arguments.priority, out)
    next(daemons, None)


if __name__ == "__main__":
    main()
