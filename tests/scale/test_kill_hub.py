# SPDX-License-Identifier: Apache-2.0
"""kill -9 and lost power at a hub with an owner and a reader: nothing that was acknowledged is missing at the
reader, and nothing that was withdrawn is back.

HEARSAY_HUB_ROUNDS in the environment: how often each program is killed under each load.
"""

import contextlib
import os
import pathlib
import random
import re
import shutil
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

import conftest
import hearsay_wire as wire
import hub_cluster
from conftest import make_daemon, module_daemons  # noqa: F401
from hearsay_wire import pb
from hub_cluster import wait_until
from hub_site import Site
from uplink import Uplink

pytestmark = hub_cluster.needs_hub
ROUNDS = int(os.environ.get("HEARSAY_HUB_ROUNDS", "1"))
MESSAGES = 2000 if ROUNDS == 1 else 5000  # so many that a kill comes before the end of a restore
REPLICATED = 500 if ROUNDS == 1 else 10_000
CUT_S = 1 if ROUNDS == 1 else 60
PATIENCE = 120 * wire.SLOWNESS
LABELS = ["topic:jazz", "geo:u281zd"]
VICTIMS = ["owner", "owner's bridge", "reader", "reader's bridge", "1 server", "2 servers", "3 servers"]
LOADS = ["idle", "deposits", "withdrawals", "restore"]

SHARD = hub_cluster.shard_of("ap1")

# A new store waits for one interval of heads before it publishes. Without this it is 30 s.
os.environ.setdefault("HEARSAY_BRIDGE_HEAD_MS", "300")


class World:
    def __init__(self, daemons):
        seed = conftest.seed_of()
        print(f"HEARSAY_TEST_SEED={seed}")
        self.rng = random.Random(seed)
        self.hub = hub_cluster.Hub(conftest.storage_root(), {"ap1": "campus", "ap2": "campus"})
        self.hub.start().wait_ready().make_streams()
        self.hub.wait_current()
        self.owner = Site(self.hub, daemons, "ap1", {"ap1": "owner"})
        self.reader = Site(self.hub, daemons, "reader", {"ap1": "replica", "ap2": "replica"})
        self.alive, self.tokens, self.withdrawn = {}, {}, set()
        self.notes = []
        self.times = {}  # what was done -> seconds until the cursor was at the newest change
        self.owner.start()
        self.reader.start()

    def make_deposit(self):
        token = self.rng.randbytes(32)
        one = wire.deposit_of(self.rng, LABELS, payload=self.rng.randbytes(20).hex().encode(),
                              withdraw_hash=wire.withdraw_hash(token))
        return one, token

    def deposit(self, count=1):
        """Deposits; each counts when it is acknowledged."""
        made = [self.make_deposit() for _ in range(count)]
        with self.owner.daemon.administrator() as client:
            for first in range(0, count, 64):
                part = made[first:first + 64]
                for (one, token), answer in zip(part, client.pipeline([one for one, _ in part])):
                    assert answer.WhichOneof("body") == "deposited", answer
                    self.alive[one.id], self.tokens[one.id] = one.payload, token

    def withdraw(self):
        id = self.rng.choice(sorted(self.alive))
        del self.alive[id]  # from now on it may be gone
        with self.owner.daemon.administrator() as client:
            client.call(pb.Withdraw(host="ap1", id=id, token=self.tokens[id]))
        self.withdrawn.add(id)

    def work(self, kind, stop):
        """Until `stop`, or until the owner is away."""
        while not stop.is_set():
            try:
                if kind == "withdrawals" and len(self.alive) > MESSAGES // 2 and self.rng.random() < 0.6:
                    self.withdraw()
                else:
                    self.deposit()
            except (OSError, wire.Ended):
                return

    @contextlib.contextmanager
    def under(self, load):
        """Work that has begun, and goes on. During a restore the work is deposits."""
        stop, failed, known = threading.Event(), [], set(self.alive)

        def run():
            try:
                self.work(load, stop)
            except Exception as error:  # pylint: disable=broad-except
                failed.append(error)
        worker = threading.Thread(target=run, daemon=True)
        try:
            if load != "idle":
                worker.start()
                wait_until(lambda: len(known ^ set(self.alive)) > 3 or not worker.is_alive(), "some work")
            yield
        finally:
            stop.set()
            if load != "idle":
                worker.join(PATIENCE)
        assert not worker.is_alive()
        assert not failed, failed

    def wipe_owner(self):
        """Its machine is a new one: no data, and perhaps no cursor. Returns while messages come back."""
        self.owner.lose(with_state=self.rng.random() < 0.5)
        self.owner.start()
        some = self.rng.randrange(len(self.alive) // 10, len(self.alive))

        def is_under_way():
            with self.owner.daemon.administrator() as client:
                host = client.welcome.hosts[0]
            return host.messages >= some or host.role != pb.RESTORING
        wait_until(is_under_way, f"{some} of {len(self.alive)} messages are back:\n{self.hub.log_tail()}", PATIENCE)

    def kill(self, victim):
        if victim == "owner":
            self.owner.daemon.kill()
            self.owner.daemon.start()
        elif victim == "reader":
            self.reader.daemon.kill()
            self.reader.daemon.start()
        elif victim.endswith("bridge"):
            bridge = (self.owner if victim.startswith("owner") else self.reader).bridge
            bridge.kill()
            bridge.start()
        else:
            nodes = self.rng.sample(list(self.hub.nodes.values()), int(victim[0]))
            for node in nodes:
                node.kill()
            for node in nodes:
                node.start()

    def is_published(self):
        """The owner has its messages back, and its cursor is at its newest change."""
        cursor = re.search(r"published up to (\d+), 0 on their way", self.owner.bridge.status())
        if cursor is None:
            return False
        with self.owner.daemon.administrator() as client:
            try:
                newer = client.call(pb.Changes(host="ap1", after=int(cursor[1]), no_copy=True))
            except wire.Refused:  # a new store has not given this number yet
                return False
            return client.welcome.hosts[0].role == pb.OWNER and not newer.changes

    def check(self, done=None):
        """The reader shows what the owner shows, all that was acknowledged and nothing withdrawn."""
        began = time.monotonic()

        def tail():
            return f"{self.owner.bridge.status()}\n{self.reader.bridge.status()}\n{self.hub.log_tail()}"
        wait_until(self.is_published, "a cursor at the newest change", PATIENCE, tail)
        self.times.setdefault(done, []).append(time.monotonic() - began)

        def same():
            owner = {id: m.payload for id, m in self.owner.exported("ap1").items()}
            reader = {id: m.payload for id, m in self.reader.exported("ap1").items()}
            return owner == reader and owner
        found = wait_until(same, "the same at the reader", PATIENCE, lambda: self.differences() + tail())
        missing = set(self.alive) - set(found)
        assert not missing, f"{len(missing)} acknowledged are missing"
        assert not self.withdrawn & set(found), "withdrawn, and back"

    def differences(self):
        """What the owner and the reader do not both show, and which servers have it."""
        shown = [set(site.exported("ap1")) for site in (self.owner, self.reader)]
        lines = []
        for id in sorted(shown[0] ^ shown[1])[:5]:
            nodes = {node for node in self.hub.nodes for path in self.hub.files(node, "*.blk")
                     if "/streams/" in str(path) and id.hex().encode() in hub_cluster.read_bytes(path)}
            there = self.hub.ask(f"STREAM.MSG.GET.h_{SHARD}", last_by_subj=f"h.{SHARD}.ap1.{id.hex()}") or {}
            lines.append(f"{id.hex()} {'not ' * (id not in shown[0])}at the owner, at servers {sorted(nodes)}: "
                         f"{there.get('message', {}).get('seq')}")
        lines.append(str((self.hub.ask(f"STREAM.INFO.h_{SHARD}") or {}).get("state")))
        for each in (self.hub.ask(f"CONSUMER.LIST.h_{SHARD}") or {}).get("consumers") or []:
            lines.append(f"{each['name']} {each['config'].get('deliver_policy')} {each['config'].get('opt_start_seq')} "
                         f"{each['config'].get('filter_subject')} delivered {each['delivered']} "
                         f"pending {each['num_pending']} waiting {each['num_waiting']}")
        return f"{len(shown[0])} at the owner, {len(shown[1])} at the reader\n" + "\n".join(lines) + "\n"

    def check_refused(self):
        """The ids of messages that were withdrawn are not free at a store that was restored."""
        with self.owner.daemon.administrator() as client:
            for id in self.rng.sample(sorted(self.withdrawn), min(20, len(self.withdrawn))):
                again, _ = self.make_deposit()
                again.id = id
                assert client.refused(again).code == "ALREADY_EXISTS"

    def times_text(self):
        lines = [f"{done}: {len(times)} times, cursor at the newest change after {sorted(times)[len(times) // 2]:.1f} s, "
                 f"{max(times):.1f} s at most" for done, times in self.times.items() if done]
        return "\n".join(lines + self.notes)

    def stop(self):
        self.owner.stop()
        self.reader.stop()

    def remove(self):
        self.owner.remove()
        self.reader.remove()
        self.hub.remove()


@pytest.fixture(scope="module")
def world(module_daemons, request):  # noqa: F811
    made = World(module_daemons)
    try:
        made.deposit(MESSAGES)
        made.check()
        yield made
        made.stop()
    finally:
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"\n{made.times_text()}")
        made.remove()


def test_work_ends_where_its_test_fails():
    world = World.__new__(World)
    world.alive, ended = {}, []

    def work(_load, stop):
        world.alive.update({number: b"" for number in range(4)})
        ended.append(stop.wait(PATIENCE))
    world.work = work
    with pytest.raises(ZeroDivisionError), world.under("deposits"):
        raise ZeroDivisionError
    assert ended == [True]


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("victim", VICTIMS)
def test_killed(world, victim, load):
    for _ in range(ROUNDS):
        if load == "restore":
            world.wipe_owner()
        with world.under(load):
            world.kill(victim)
        world.deposit()
        world.check(f"{victim}, {load}")
        if load == "restore":
            world.check_refused()


def lose_power(hub, stores):
    """All servers at once; what they had written since `stores` were copied is gone."""
    hub.kill_all()
    for name, copy in stores.items():
        shutil.rmtree(hub.nodes[name].store)
        shutil.copytree(copy, hub.nodes[name].store)
    hub.start().wait_ready()


def wipe_reader(world):
    world.reader.wipe()
    world.reader.start()


def test_all_servers_lose_power(world, tmp_path):
    """The hub is as at its last sync. The owner notices, and publishes what it has once more: a reader that
    has nothing but the hub gets all of it."""
    for _ in range(ROUNDS):
        for node in world.hub.nodes.values():
            node.stop()
        stores = {}
        for name, node in world.hub.nodes.items():
            stores[name] = tmp_path / name
            shutil.rmtree(stores[name], ignore_errors=True)
            shutil.copytree(node.store, stores[name])
        world.hub.start().wait_ready()
        for _ in range(20):
            world.deposit()
        for _ in range(5):
            world.withdraw()
        world.check()
        lose_power(world.hub, stores)
        wipe_reader(world)
        world.check()


def flip_bit(world, node):
    """In the middle of the largest block file of a stream."""
    blocks = [path for path in world.hub.files(node.name, "*.blk") if "/streams/" in str(path)]
    largest = max(blocks, key=lambda path: path.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 1 << world.rng.randrange(8)
    largest.write_bytes(data)


def test_a_bit_flips_in_a_block_file(world):
    """What a server reads wrong, or misses, the owner still has: its digest differs, or the servers agree."""
    for _ in range(ROUNDS):
        node = world.rng.choice(list(world.hub.nodes.values()))
        node.kill()
        flip_bit(world, node)
        node.start()
        world.hub.wait_ready()
        world.deposit()
        world.check()


# --- what an acknowledgement says ---

def deposit_replicated(world, site):
    """Deposits until all servers are killed with 64 deposits on their way; the ids of which the answer said that
    they are replicated."""
    said = set()

    def take(ids, answers):
        assert all(answer.WhichOneof("body") == "deposited" for answer in answers), answers
        said.update(id for id, answer in zip(ids, answers) if answer.deposited.durability == pb.REPLICATED)

    with site.daemon.administrator() as client:
        end = time.monotonic() + 2 * PATIENCE
        while len(said) < REPLICATED:
            assert time.monotonic() < end, f"{len(said)} of {REPLICATED}"
            made = [world.make_deposit()[0] for _ in range(64)]
            take([one.id for one in made], client.pipeline(made))
        made = {client.post(one): one.id for one in (world.make_deposit()[0] for _ in range(64))}
        world.hub.kill_all()
        answers = [client.receive() for _ in made]
        take([made[answer.id] for answer in answers], answers)
    return said


def test_replicated_is_never_a_lie(world, module_daemons):  # noqa: F811
    """All servers are killed, and the access point is lost: what was said to be replicated comes back."""
    site = Site(world.hub, module_daemons, "ap2", {"ap2": "owner"},
                host_lines="acknowledge = replicated\nreplicate_wait = 2s\n")
    try:
        site.start()
        site.bridge.wait_log("this store is the owner", patience=PATIENCE)
        said = deposit_replicated(world, site)
        site.lose(with_state=True)
        world.hub.start().wait_ready()
        site.start()
        site.daemon.wait_log("the messages of the copies are back", patience=PATIENCE)
        lost = said - set(site.exported("ap2"))
        assert not lost, f"{len(lost)} of {len(said)} are lost"
        world.notes.append(f"{len(said)} said to be replicated, 0 lost")
        site.stop()
    finally:
        site.remove()


# --- the uplink ---

@pytest.fixture(name="uplink")
def uplink_of_owner(world):
    """The owner's bridge comes by this way until the end of the test."""
    uplink, bridge = Uplink(world.hub.ports), world.owner.bridge
    before = pathlib.Path(bridge.config).read_text(encoding="utf-8")
    bridge.stop()
    uplink.rewrite(bridge.config)
    seen = len(bridge.log)
    bridge.start().wait_log("this store is the owner", seen, PATIENCE)
    try:
        yield uplink
    finally:
        pathlib.Path(bridge.config).write_text(before, encoding="utf-8")
        bridge.stop()
        seen = len(bridge.log)
        bridge.start().wait_log("ready: ", seen)
        uplink.close()


def test_an_uplink_that_was_cut(world, uplink):
    """Both sides write meanwhile, and the operator removes at the reader."""
    owner, reader = world.owner, world.reader
    world.check()
    seen = len(owner.bridge.log)
    uplink.cut()
    owner.bridge.wait_log("the connection to the hub is lost", seen)
    end = time.monotonic() + CUT_S
    while time.monotonic() < end:
        world.deposit(10)
        world.withdraw()
    removed = world.rng.choice(sorted(set(world.alive) & set(reader.exported("ap1"))))
    with reader.daemon.administrator() as operator:
        operator.call(pb.Remove(host="ap1", id=removed))
    assert removed in owner.exported("ap1")
    del world.alive[removed]
    world.withdrawn.add(removed)
    uplink.mend()
    began = time.monotonic()
    wait_until(lambda: removed not in owner.exported("ap1"), "the operator's word", PATIENCE)
    world.check()
    world.notes.append(f"the same on both sides {time.monotonic() - began:.1f} s after a cut of {CUT_S} s")
