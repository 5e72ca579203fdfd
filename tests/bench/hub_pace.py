#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What an access point's bridge publishes a second, and how long a deposit takes to a subscriber at the hub.

    HEARSAYD=build/daemon/hearsayd HEARSAY_BRIDGE=build/client/hearsay-bridge python3 tests/bench/hub_pace.py

Three nats-servers with TLS, all on loopback. Needs what the integration tests need.
"""

import os
import pathlib
import random
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
os.environ.setdefault("HEARSAY_TEST_DIR", tempfile.gettempdir())

import conftest  # noqa: E402
import hub_cluster  # noqa: E402
from access_point import AccessPoint, access_points  # noqa: E402

STATES, RUNS, LATE, PACE = 10_000, 5, 500, 50


def publish_all(point):
    """States a second, after the cursor was lost."""
    point.bridge.stop()
    for name in os.listdir(point.state):
        if name.endswith(".cursor"):
            os.remove(os.path.join(point.state, name))
    point.bridge.start().wait_log("this store is the owner")
    began = time.perf_counter()
    while point.bridge.figures()["published_total"] < STATES:
        pass
    return STATES / (time.perf_counter() - began)


def lags(point, hub, rng):
    """Milliseconds from each acknowledgement to the arrival at a subscriber, at PACE deposits a second."""
    heard, acknowledged = {}, {}
    shard = hub_cluster.shard_of("ap1")
    with hub.connect("reader") as nats:
        assert nats.subscribe(f"h.{shard}.ap1.*")

        def listen():
            while len(heard) < LATE:
                message = nats.next(None, 30)
                name = message.subject.rsplit(".", 1)[1]
                if name != "-":
                    heard.setdefault(name, time.perf_counter())
        thread = threading.Thread(target=listen)
        thread.start()
        began = time.perf_counter()
        for n in range(LATE):
            time.sleep(max(0, began + n / PACE - time.perf_counter()))
            (made,) = point.deposit(rng, 1)
            acknowledged[made.hex()] = time.perf_counter()
        thread.join()
    return sorted(1000 * max(0, heard[name] - when) for name, when in acknowledged.items())


def main():
    rng = random.Random(1)
    hub = hub_cluster.Hub(conftest.storage_root(), {"ap1": "campus"})
    daemons = conftest._daemons()
    out, sys.stdout = sys.stdout, sys.stderr  # where the logs go
    try:
        hub.start().wait_ready().make_streams()
        hub.wait_current()
        with access_points() as (root, made):
            point = AccessPoint(next(daemons), root, hub, "ap1")
            made.append(point)
            point.start()
            point.wait_published(point.deposit(rng, STATES))
            speeds = [publish_all(point) for _ in range(RUNS)]
            print(f"states published a second: median {statistics.median(speeds):.0f}, "
                  f"{min(speeds):.0f} to {max(speeds):.0f}", file=out)
            late = lags(point, hub, rng)
            print(f"from a deposit's answer to a subscriber: median {statistics.median(late):.1f} ms, "
                  f"p99 {late[len(late) * 99 // 100]:.1f} ms", file=out)
    finally:
        next(daemons, None)
        hub.remove()


if __name__ == "__main__":
    main()
