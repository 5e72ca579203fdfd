# SPDX-License-Identifier: Apache-2.0
"""Random faults at a hub of three servers, with operators at every place. No answer that says `complete` lacks a
message, no decision of an operator is undone or stays undelivered, nothing that was acknowledged is missing, and
nothing that was withdrawn is back.

HEARSAY_FAULT_ROUNDS in the environment: how many faults (10); with more than 10 some of them last longer.
HEARSAY_FAULT_WAIT_S: for how long all places may take to become the same (200 s). NATS_SERVER: which nats-server.
HEARSAY_TEST_SEED: the seed that a failed run has printed.
"""

import collections
import os
import pathlib
import random
import sys
import time
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

import conftest
import hearsay_wire as wire
import hub_cluster
import hub_faults
import pytest
import stored_blocks
from conftest import make_daemon  # noqa: F401
from hearsay_wire import pb
from hood_sites import HOOD
from hub_cluster import wait_until
from hub_site import Site
from uplink import Uplink

pytestmark = hub_cluster.needs_hub
ROUNDS = int(os.environ.get("HEARSAY_FAULT_ROUNDS", "10"))
IS_LONG = ROUNDS > 10
LONG_SHARE = 0.25  # of the faults of a long run
HOSTS = ["ap1", "ap2", "ap3"] if IS_LONG else ["ap1", "ap2"]
CONVERGENCE_S = int(os.environ.get("HEARSAY_FAULT_WAIT_S", "200")) * wire.SLOWNESS
# Between two heads: 30 s in every day's life, as are all other times of a bridge here.
os.environ.setdefault("HEARSAY_BRIDGE_HEAD_MS", "2000" if IS_LONG else "1000")


class World:
    def __init__(self, daemons, seed, say):
        self.say = say  # prints a line
        self.rng = random.Random(seed)
        self.hub = hub_cluster.Hub(conftest.storage_root(), {host: HOOD for host in HOSTS})
        self.hub.start().wait_ready().make_streams()
        self.hub.wait_led()
        self.sites, self.uplinks = {}, {}
        for host in HOSTS:
            self.sites[host] = self._add_site(daemons, host, {host: "owner"})
            with open(self.sites[host].bridge.config, "a", encoding="utf-8") as file:
                file.write(f"[hood {HOOD}]\nasks_per_minute = 100000\n")
        self.reader = self._add_site(daemons, "reader", {host: "replica" for host in HOSTS})
        self.ledger = hub_faults.Ledger()
        for site in self.all_sites():
            site.start()
        for site in self.all_sites():
            wait_until(lambda s=site: "connected" in s.bridge.status(), "the hub")
        known = f"hearsay_bridge_peers {len(HOSTS) - 1}\n"
        for site in self.sites.values():  # nobody can miss a host of which nothing was heard yet
            wait_until(lambda s=site: known in s.bridge.status("--metrics"), "the neighbours")
        self.workers = [hub_faults.Worker(self, host, random.Random(self.rng.random())) for host in HOSTS]
        self.askers = [hub_faults.Asker(self, host, random.Random(self.rng.random())) for host in HOSTS]
        self.faults = collections.Counter()
        self.known_differences = set()
        self.counted = set()  # ids of messages that are counted already, once each

    def _add_site(self, daemons, name, roles):
        site = Site(self.hub, daemons, name, roles,
                    limits="[limits]\ndeposits_per_minute = 0\nqueries_per_minute = 0\nk = 100\n")
        self.uplinks[name] = Uplink(self.hub.ports)
        self.uplinks[name].rewrite(site.bridge.config)
        return site

    def all_sites(self):
        return [*self.sites.values(), self.reader]

    # --- faults; each ends with all programs running ---

    def last(self, short, long):
        """How long the fault lasts, in seconds; a fault is a time in which something is away."""
        is_long = IS_LONG and self.rng.random() < LONG_SHARE
        time.sleep(self.rng.uniform(0.2, long if is_long else short))

    def kill_servers(self, count):
        nodes = self.rng.sample(list(self.hub.nodes.values()), count)
        for node in nodes:
            node.kill()
        self.last(1, 20 if count == 3 else 5)
        for node in nodes:
            node.start()

    def stop_server(self):
        """The process stands still, and goes on as if no time had passed."""
        node = self.rng.choice(list(self.hub.nodes.values()))
        node.process.send_signal(hub_cluster.signal.SIGSTOP)
        try:
            self.last(3, 35)
        finally:
            node.process.send_signal(hub_cluster.signal.SIGCONT)

    def kill_bridge(self, site):
        site.bridge.kill()
        self.last(1, 10)
        site.bridge.start()

    def kill_daemon(self, site):
        site.daemon.kill()
        self.last(0.5, 5)
        site.daemon.start()

    def cut(self, name):
        self.uplinks[name].cut()
        self.last(2, 35)
        self.uplinks[name].mend()

    def wipe(self, host):
        """What has not reached the hub is lost with the machine, so nothing is on its way when it goes."""
        worker = self.workers[HOSTS.index(host)]
        worker.pause()
        site = self.sites[host]
        self.wait_same(host)
        site.lose(with_state=self.rng.random() < 0.5)
        site.start()
        worker.go_on()

    def kill_three_programs(self):
        programs = [node.kill for node in self.hub.nodes.values()]
        programs += [site.bridge.kill for site in self.all_sites()] + [site.daemon.kill for site in self.all_sites()]
        for kill in self.rng.sample(programs, 3):
            kill()
        self.last(0.5, 5)
        self.hub.start()
        for site in self.all_sites():
            if not site.daemon.is_running():
                site.daemon.start()
            if site.bridge.process is None:
                site.bridge.start()

    def all_faults(self):
        """Name to fault, in a random order that has each kind once."""
        host = self.rng.choice(HOSTS)
        owner = self.sites[host]
        kinds = {
            "1 server killed": lambda: self.kill_servers(1),
            "2 servers killed": lambda: self.kill_servers(2),
            "3 servers killed": lambda: self.kill_servers(3),
            "a server stopped": self.stop_server,
            f"the bridge of {host} killed": lambda: self.kill_bridge(owner),
            "the reader's bridge killed": lambda: self.kill_bridge(self.reader),
            f"hearsayd of {host} killed": lambda: self.kill_daemon(owner),
            "the reader's hearsayd killed": lambda: self.kill_daemon(self.reader),
            f"the way from {host} to the hub cut": lambda: self.cut(host),
            "the way from the reader to the hub cut": lambda: self.cut("reader"),
            f"{host} wiped": lambda: self.wipe(host),
            "three programs killed": self.kill_three_programs,
        }
        names = list(kinds)
        self.rng.shuffle(names)
        return [(name, kinds[name]) for name in names]

    # --- what must be ---

    def exported(self, site, host):
        """The ids that it shows, without those that end soon or have just ended; None while hearsayd is away."""
        edge = hub_faults.now_ms() + hub_faults.EXPIRY_MS
        try:
            return {id for id, message in site.exported(host).items() if message.expires_ms > edge}
        except (OSError, wire.Ended, wire.Refused):
            return None

    def rules(self, site, host):
        """The bans and notices there; None while hearsayd is away."""
        try:
            with site.daemon.administrator() as client:
                bans = client.call(pb.Bans(host=host))
                assert not bans.more
                notices = client.call(pb.Notice(host=host)).notices
        except (OSError, wire.Ended, wire.Refused):
            return None
        return {ban.payload_hash.hex() for ban in bans.bans} | {one.text for one in notices}

    def compare_rules(self, host, found):
        known = self.ledger.rules_of(host)
        owner, reader = self.rules(self.sites[host], host), self.rules(self.reader, host)
        if owner is None or reader is None:
            found["away"].append("hearsayd")
            return
        for rule in known:
            at, name = (rule.value in owner, rule.value in reader), "ban" if rule.is_ban else "notice"
            if rule.is_there is None and at[0] == at[1] or at == (rule.is_there,) * 2:
                continue
            if rule.is_there is None:
                kind = "behind"
            elif rule.decided_at == "reader":
                kind = "undelivered" if at[1] == rule.is_there else "undone"
            else:
                kind = "undone" if at[0] != rule.is_there else "behind"
            found[kind].append(f"{name} {rule.value} of {host}, decided at {rule.decided_at}: there at the owner "
                               f"{at[0]}, at the reader {at[1]}, wanted {rule.is_there}")

    def compare(self, host):
        """Kind of fault to lines: what the places show and must not, and the other way round."""
        messages = self.ledger.of(host, lambda m: m.is_shown is not None)
        owner, reader = self.exported(self.sites[host], host), self.exported(self.reader, host)
        if owner is None or reader is None:
            return {"away": ["hearsayd"]}
        found = collections.defaultdict(list)
        for message in messages:
            name = f"{message.id.hex()} of {host}, decided at {message.decided_at or 'no place'}"
            at = (message.id in owner, message.id in reader)
            if not message.is_compared() or at == (message.is_shown,) * 2:
                continue
            if message.decided_at == "reader":
                kind = "undelivered" if at[1] == message.is_shown else "undone"
            elif message.decided_at:
                kind = "undone" if at[0] != message.is_shown else "behind"
            elif message.is_shown:
                kind = "behind" if at[0] else "lost"
            else:
                kind = "back" if at[0] else "behind"
            found[kind].append(f"{name}: shown at the owner {at[0]}, at the reader {at[1]}, wanted {message.is_shown}")
        for id in (owner ^ reader) - {message.id for message in messages} - self.counted:
            found["behind"].append(f"{id.hex()} of {host} is not the same at the owner and the reader")
        self.compare_rules(host, found)
        return found

    def wait_same(self, host):
        """Until all places are as promised; seconds. What is not after CONVERGENCE_S is counted, and left out of
        later rounds."""
        began = time.monotonic()
        while found := self.compare(host):
            if time.monotonic() > began + CONVERGENCE_S:
                self.note(host, found)
                break
            time.sleep(0.1)
        self.ledger.settle(host)
        return time.monotonic() - began

    def note(self, host, found):
        self.faults["not converged"] += 1
        for kind, lines in found.items():
            self.faults[kind] += len(lines)
            print(f"{kind}: {len(lines)}:", *lines[:5], sep="\n  ")
        text = "\n".join(line for lines in found.values() for line in lines)
        with self.ledger.lock:
            for message in self.ledger.messages.values():
                if message.host == host and message.id.hex() in text:
                    message.is_shown = None
                    self.counted.add(message.id)
            for value in [value for value in self.ledger.rules if value in text]:
                del self.ledger.rules[value]
        print(self.sites[host].bridge.status(), self.reader.bridge.status(), sep="\n")

    def look_at_servers(self):
        """Whether the servers agree about each stream; None: not all say that they are up to date."""
        streams = {f"h_{hub_cluster.shard_of(host)}" for host in HOSTS} | {"o"}
        for stream in sorted(streams):
            if hub_cluster.is_current(self.hub.ask(f"STREAM.INFO.{stream}")):
                new = set(stored_blocks.differences(self.hub, stream)) - self.known_differences
                new = {line for line in new if line in stored_blocks.differences(self.hub, stream)}  # not on its way
                self.known_differences |= new
                for line in sorted(new)[:3]:
                    print(f"the servers disagree: {line}")
                self.faults["servers disagree"] += bool(new)

    def run_round(self, number, name, fault):
        for worker in self.workers:
            worker.go_on()
        own = [asker for asker in self.askers if asker.host in name or "three programs" in name]
        for asker in own:
            asker.begin_own_fault()
        began = time.monotonic()
        fault()
        for asker in own:
            asker.end_own_fault()
        time.sleep(0.5)  # some work after it
        lasted = time.monotonic() - began
        for worker in self.workers:
            worker.pause()
        took = max(self.wait_same(host) for host in HOSTS)
        self.look_at_servers()
        self.ledger.forget_expired()
        for asker in self.askers:
            assert asker.error is None, asker.error
            for kind, line in asker.faults:
                self.faults[kind] += 1
                print(f"{kind}: {line}")
            asker.faults = []
        self.say(f"round {number}: {name}, {lasted:.1f} s; the same everywhere after {took:.1f} s; {dict(+self.faults)}")
        return took

    def end(self):
        for each in (*self.workers, *self.askers):
            each.stop()
        for site in self.all_sites():
            site.stop()

    def remove(self):
        for each in (*self.workers, *self.askers):
            each.ends = True
        for site in self.all_sites():
            site.remove()
        for uplink in self.uplinks.values():
            uplink.close()
        self.hub.remove()


class Results(list):
    """Of an answer. Calls `looked_at` before each look at them."""

    def __iter__(self):
        self.looked_at()
        return super().__iter__()


@pytest.mark.parametrize("change", [{"is_shown": False, "changes": 1}, {"is_settled": True}], ids=["hidden", "settled"])
def test_an_answer_is_held_against_what_was_known_when_it_came(change):
    """A decision that is acknowledged, or has come to all places, while the answer is judged is later than it."""
    def away():
        raise ConnectionRefusedError  # for the thread of the asker

    def call(query):
        deposit.filter = query.parts[0].filter
        return types.SimpleNamespace(results=results, complete=False)

    ledger = hub_faults.Ledger()
    deposit = wire.deposit_of(random.Random(1), hub_faults.WORDS[:1])
    message = hub_faults.Message("ap1", deposit, b"", 1, 1, hub_faults.now_ms() + 600_000)
    if "is_settled" in change:  # hidden at the reader, and the owner does not know it yet
        message.is_shown, message.is_settled = False, False
    ledger.messages[message.id] = message
    results = Results([types.SimpleNamespace(id=message.id, host="ap1", payload=deposit.payload)])
    results.looked_at = lambda: vars(message).update(change)
    site = types.SimpleNamespace(daemon=types.SimpleNamespace(administrator=away))
    asker = hub_faults.Asker(types.SimpleNamespace(ledger=ledger, sites={"ap1": site}), "ap1", random.Random(1))
    asker.ask(types.SimpleNamespace(call=call))
    asker.stop()
    assert not asker.faults


def test_faults(make_daemon, request):  # noqa: F811
    def say(line):  # also while the test runs, because it may run for hours
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(line, flush=True)

    seed = conftest.seed_of()
    say(f"\nHEARSAY_TEST_SEED={seed}, nats-server {'.'.join(map(str, hub_cluster.server_version()))}, {ROUNDS} rounds")
    world = World(make_daemon, seed, say)
    times, faults, number = [], [], 0
    try:
        for worker in world.workers:
            worker.go_on()
        wait_until(lambda: all(len(world.ledger.of(host)) > 2 * hub_faults.LEAST_ALIVE for host in HOSTS), "messages")
        while number < ROUNDS:
            faults = faults or world.all_faults()
            number += 1
            times.append(world.run_round(number, *faults.pop()))
        world.end()
    finally:
        answers = sum(asker.answers for asker in world.askers)
        elsewhere = sum(asker.elsewhere for asker in world.askers)
        missing = sum(asker.incomplete for asker in world.askers)
        say(f"{number} rounds, {dict(world.ledger.counts)}, {answers} answers; during faults elsewhere {missing} of "
            f"{elsewhere} not complete; the same everywhere after "
            f"{sorted(times)[len(times) // 2] if times else 0:.1f} s (median), {max(times, default=0):.1f} s (most); "
            f"faults: {dict(+world.faults)}")
        world.remove()
    if hub_cluster.server_version() < stored_blocks.SOUND:
        del world.faults["servers disagree"]  # not hearsay's fault: test_hub_replicas
    assert not +world.faults, world.faults
