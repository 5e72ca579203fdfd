# SPDX-License-Identifier: Apache-2.0
"""Three servers of a hub without hearsay: do they store the same after one of them was stopped or killed? Whatever
fails here is not hearsay's fault, and shows what test_hub_faults may find with such servers.

HEARSAY_REPLICA_ROUNDS in the environment: how many stops and kills (3). NATS_SERVER: which nats-server. With one
before 2.11.16 a difference is printed, and no failure: docs/notes/reliability.md, "Servers that disagree".
"""

import os
import pathlib
import random
import signal
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

import conftest
import hearsay_wire as wire
import hub_cluster
import stored_blocks
from hub_cluster import wait_until
from nats_wire import NoAnswer, Refused
from pausable import Pausable

pytestmark = hub_cluster.needs_hub
ROUNDS = int(os.environ.get("HEARSAY_REPLICA_ROUNDS", "3"))
IS_LONG = ROUNDS > 3
AT_A_TIME = 8  # messages of a publisher that wait for their acknowledgements
STREAM = {"name": "T", "subjects": ["t.>"], "num_replicas": 3, "storage": "file", "discard": "new",
          "max_msgs_per_subject": 256, "max_bytes": 100_000_000, "allow_direct": True}


class Publisher(Pausable):
    """Publishes messages, each to a subject of its own, and keeps which of them a quorum has
    acknowledged."""

    def __init__(self, hub, name):
        self.hub, self.name, self.acknowledged = hub, name, []
        self.count = 0
        super().__init__()

    def work(self):
        try:
            with self.hub.connect("reader") as nats:
                self._publish(nats)
        except (OSError, NoAnswer, Refused, KeyError):  # KeyError: an answer to what was given up
            time.sleep(0.1)  # the server is away: the next one, or once more

    def _publish(self, nats):
        inbox = f"{nats.inbox}.{self.name}"
        nats.subscribe(f"{inbox}.*")
        while self.may_work.is_set() and not self.ends:
            sent = {}
            for _ in range(AT_A_TIME):
                self.count += 1
                sent[f"{inbox}.{self.count}"] = subject = f"t.{self.name}.{self.count}"
                nats.publish(subject, b"x" * 120, f"{inbox}.{self.count}")
            for _ in range(AT_A_TIME):
                answer = nats.next(f"{inbox}.*", seconds=2)
                if answer.data and "seq" in answer.json():  # without data: there is no leader
                    self.acknowledged.append(sent[answer.subject])


def disturb(node, rng):
    """Stops a server for seconds, or kills it; returns what it was."""
    seconds = rng.choice((1, 3, 6, 12) if IS_LONG else (1, 2))
    if rng.random() < 0.5:
        node.process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            node.process.send_signal(signal.SIGCONT)
        return f"{node.name} stopped for {seconds} s"
    node.kill()
    time.sleep(rng.uniform(0.3, 1.8))
    node.start()
    return f"{node.name} killed"


def look(hub, publishers):
    """What the servers do not agree about, and what was acknowledged and is missing at one."""
    lines = stored_blocks.differences(hub, "T", keeps_all=True)
    wanted = {subject for publisher in publishers for subject in publisher.acknowledged}
    for node in hub.nodes:
        missing = wanted - set(stored_blocks.stored(hub, node, "T").values())
        if missing:
            lines.append(f"{len(missing)} acknowledged messages are missing at {node}, such as {min(missing)}")
    return lines


def is_same_soon(hub, publishers):
    """The last messages may still be written to a file."""
    end = time.monotonic() + 20 * wire.SLOWNESS
    while (lines := look(hub, publishers)) and time.monotonic() < end:
        time.sleep(0.5)
    return lines


def count_acknowledged(publishers):
    return sum(len(publisher.acknowledged) for publisher in publishers)


@pytest.fixture(name="hub")
def hub_without_hearsay():
    made = hub_cluster.Hub(conftest.storage_root(), {"ap1": "campus"})
    try:
        yield made.start().wait_ready()
    finally:
        made.remove()


def test_servers_store_the_same(hub, request):
    seed = conftest.seed_of()
    rng = random.Random(seed)
    version = hub_cluster.server_version()
    def is_made():
        try:
            return hub.ask("STREAM.CREATE.T", **STREAM)
        except Refused:  # not all servers know one another yet
            return None
    wait_until(is_made, "the stream", 3 * wire.PATIENCE)
    publishers = [Publisher(hub, name) for name in ("a", "b", "c")]
    found = []
    try:
        for number in range(1, ROUNDS + 1):
            for publisher in publishers:
                publisher.go_on()
            before = count_acknowledged(publishers)
            wait_until(lambda: count_acknowledged(publishers) > before, "messages are acknowledged",
                       3 * wire.PATIENCE, hub.log_tail)
            what = disturb(rng.choice(list(hub.nodes.values())), rng)
            time.sleep(rng.uniform(1, 9 if IS_LONG else 2))  # work with all three
            for publisher in publishers:
                publisher.pause()
            wait_until(lambda: hub_cluster.is_current(hub.ask("STREAM.INFO.T")), "all say that they are up to date",
                       3 * wire.PATIENCE, hub.log_tail)
            lines = is_same_soon(hub, publishers)
            found += lines
            print(f"round {number}: {what}: {len(lines)} differences", *lines[:3], sep="\n  ")
            if lines:
                break  # they stay different
    finally:
        for publisher in publishers:
            publisher.stop()
    count = count_acknowledged(publishers)
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\nHEARSAY_TEST_SEED={seed}, nats-server {'.'.join(map(str, version))}: {number} stops and kills, {count} "
              f"acknowledged messages, {len(found)} differences", *found[:3], sep="\n  ")
    assert count > 0
    assert not found or version < stored_blocks.SOUND, found
