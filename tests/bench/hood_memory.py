#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The memory of hearsay-bridge with 256 neighbours that tell 32 groups each, with TLS: VmRSS, and of what it is.

    HEARSAYD=build/daemon/hearsayd HEARSAY_BRIDGE=build/client/hearsay-bridge python3 tests/bench/hood_memory.py

Needs nats-server and what the integration tests need. `--libraries` lists each library.
"""

import argparse
import collections
import os
import pathlib
import random
import re
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
os.environ.setdefault("HEARSAY_TEST_DIR", tempfile.gettempdir())

import conftest  # noqa: E402
import hearsay_wire as wire  # noqa: E402
import leaf_hub  # noqa: E402
from access_point import letters  # noqa: E402
from hearsay_wire import pb  # noqa: E402
from hood_sites import deposit, metrics  # noqa: E402
from hub_cluster import wait_until  # noqa: E402

PEERS, GROUPS, HOOD = 256, 32, "campus"


def memory_of(pid):
    """VmRSS in KiB; and KiB by kind, or by library."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        total = int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])
    parts, name = collections.Counter(), ""
    with open(f"/proc/{pid}/smaps", encoding="ascii") as file:
        for line in file:
            words = line.split()
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                name = os.path.basename(words[5]) if len(words) > 5 else "other blocks and stacks"
            elif words[0] in ("Rss:", "Private_Dirty:"):
                kind = "written" if words[0] == "Private_Dirty:" else "all"
                parts[name, kind] += int(words[1])
    return total, parts


def show(out, what, pid, libraries):
    total, parts = memory_of(pid)
    own = sum(size for (_, kind), size in parts.items() if kind == "written")
    print(f"{what}: VmRSS {total / 1024:.2f} MB, of which written by the process {own / 1024:.2f} MB", file=out)
    for (name, kind), size in parts.most_common() if libraries else ():
        if kind == "all" and size >= 40:
            print(f"    {size:6} KiB  {name} (written: {parts[name, 'written']})", file=out)
    out.flush()


def words_of(rng):
    """A full word for each neighbour."""
    for n in range(PEERS):
        groups = [pb.SummaryGroup(union_filter=rng.randbytes(64), low=1, high=300, count=3, newest_ms=5)
                  for _ in range(GROUPS)]
        word = letters.PeerSummary(store_id=bytes(16), seq=1, as_of_ms=int(time.time() * 1000), full=True,
                                   profile=wire.PROFILE, groups=groups)
        yield f"p{n}", letters.Letter(version=1, peer_summary=word).SerializeToString()


def measure(out, site, nats, rng, libraries):
    pid = site.bridge.process.pid
    wait_until(lambda: metrics(site).get("summaries_full_total", 0) >= 3, "its own words")
    show(out, "alone", pid, libraries)
    for name, word in words_of(rng):
        nats.publish(f"s.{HOOD}.{name}", word)
    wait_until(lambda: metrics(site).get("peers") == PEERS, "the neighbours")
    show(out, f"{PEERS} neighbours", pid, libraries)
    for _ in range(20):
        for name, word in words_of(rng):
            nats.publish(f"s.{HOOD}.{name}", word)
    wait_until(lambda: metrics(site).get("peer_summaries_total", 0) >= 21 * PEERS, "all words")
    with site.daemon.client() as phone:
        for n in range(200):
            phone.call(wire.query_of([f"topic:{n}"], host="ap1", scope=pb.HOOD, wait_ms=200))
    show(out, "after 20 more words of each, and 200 queries", pid, libraries)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libraries", action="store_true", help="list what each library takes")
    options = parser.parse_args()
    rng = random.Random(1)
    hub = leaf_hub.LeafHub(conftest.storage_root(), {"ap1": HOOD})
    daemons = conftest._daemons()
    out, sys.stdout = sys.stdout, sys.stderr  # where the logs go
    site = None
    try:
        hub.start().wait_ready()
        site = leaf_hub.LeafSite(hub, next(daemons), "ap1", leaf=0)
        deposit(site, rng, 100)
        site.start()
        with hub.connect("ap1", node=leaf_hub.LEAVES[0]) as nats:
            measure(out, site, nats, rng, options.libraries)
    finally:
        if site is not None:
            site.remove()
        next(daemons, None)
        hub.remove()


if __name__ == "__main__":
    main()
