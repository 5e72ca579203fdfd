# SPDX-License-Identifier: Apache-2.0
"""An access point and a real reader: a wiped store gets its messages back, a hub that was away for a week,
wrong clocks, and a state that the reader has wrong."""

import pathlib
import re
import shutil
import signal
import threading
import time

import pytest

import access_point
import hearsay_wire as wire
import hub_cluster
from access_point import hub, letter_at_hub, letters, make_point, states, stored_at  # noqa: F401
from clock import Clock
from hearsay_wire import pb
from hub_cluster import wait_until
from hub_site import BECOMES, Site
from test_gateway import acting_as
from uplink import Uplink

pytestmark = hub_cluster.needs_hub
MESSAGES = 10_000
WITHDRAWN = 100


class Work:
    """Deposits of one client after another until `stop`; what was acknowledged, and what was said to be replicated."""

    def __init__(self, point, rng, token):
        self.point, self.rng, self.token = point, rng, token
        self.stored, self.replicated = set(), set()
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self):
        while not self.ends.is_set():
            one = wire.deposit_of(self.rng, ["topic:work", "place:b"], host=self.point.host,
                                  withdraw_hash=wire.withdraw_hash(self.token))
            try:
                with self.point.daemon.client() as client:
                    durability = client.call(one).durability
            except (OSError, wire.Ended):  # hearsayd is away
                continue
            self.stored.add(one.id)
            if durability == pb.REPLICATED:
                self.replicated.add(one.id)

    def stop(self):
        self.ends.set()
        self.thread.join(3 * wire.PATIENCE)
        assert not self.thread.is_alive()


def test_a_wiped_access_point_has_its_messages_back(make_point, make_daemon, hub, rng):
    """It loses its data while it takes deposits, and all that was replicated comes back, while it takes more."""
    token = bytes(range(32))
    reader = Site(hub, make_daemon, "reader", {"ap1": "replica"}).start()
    try:
        point = make_point("ap1", keys="replicate = yes\nacknowledge = replicated\nreplicate_wait = 2s\n").start()
        ids = point.deposit(rng, MESSAGES, withdraw_hash=wire.withdraw_hash(token))
        withdrawn, kept = ids[:WITHDRAWN], set(ids[WITHDRAWN:])
        with point.daemon.administrator() as client:
            for id in withdrawn:
                client.call(pb.Withdraw(host="ap1", id=id, token=token))
        wait_until(lambda: stored_at(reader.daemon, "ap1") == kept, "the reader has all", 3 * wire.PATIENCE)
        before = Work(point, rng, token)
        wait_until(lambda: len(before.replicated) > 20, "deposits that are replicated", 3 * wire.PATIENCE)
        point.daemon.kill()
        before.stop()
        shutil.rmtree(point.daemon.data)
        point.daemon.start()
        began = time.monotonic()
        after = Work(point, rng, token)
        wait_until(lambda: point.stored() >= kept | before.replicated, "all messages are back", 3 * wire.PATIENCE)
        print(f"WIPE {MESSAGES} messages back in {time.monotonic() - began:.2f} s")
        point.daemon.wait_log("the messages of the copies are back")
        after.stop()
        assert not set(withdrawn) & point.stored()
        back = sorted(kept)[:WITHDRAWN]
        with point.daemon.administrator() as client:
            for id in back:
                client.call(pb.Withdraw(host="ap1", id=id, token=token))  # tokens work
            for id in withdrawn + back:
                again = wire.deposit_of(rng, ["topic:a", "place:b"], host="ap1", id=id)
                assert client.refused(again).code == "ALREADY_EXISTS"
        wanted = (kept | before.replicated | after.stored) - set(back)

        def same():
            return wanted <= stored_at(reader.daemon, "ap1") == point.stored()
        wait_until(same, "the reader has the same", 3 * wire.PATIENCE)
        point.bridge.stop()
        reader.stop()
    finally:
        reader.remove()


@pytest.fixture(name="clock")
def clock_of_daemons(tmp_path):
    tmp_path.chmod(0o755)
    return Clock(str(tmp_path / "clock"))


@pytest.fixture(name="reader_of")
def site_maker(hub, make_daemon):  # noqa: F811
    """Makes readers; each is stopped at the end of the test."""
    made = []

    def make(host, **options):
        made.append(Site(hub, make_daemon, "reader", {host: "replica"}, **options))
        return made[-1].start()
    try:
        yield make
        for site in made:
            site.stop()
    finally:
        for site in made:
            site.remove()


def wait_same(point, reader, wanted=None):
    def same():
        here = point.stored()
        return stored_at(reader.daemon, point.host) == here and (wanted is None or here == wanted)
    wait_until(same, "the same at the reader", 3 * wire.PATIENCE)


def test_a_hub_that_was_away_for_a_week(make_point, reader_of, hub, rng, clock):  # noqa: F811
    """What expired meanwhile is nowhere, not at the hub either; the rest is everywhere, and what was withdrawn
    stays so. The clocks of both hearsayd move on by a week."""
    token = bytes(range(32))
    reader = reader_of("ap2", clock=clock)
    point = make_point("ap2", clock=clock,
                       limits="ttl_default = 14d\nttl_max = 30d\n").start()
    hours = point.deposit(rng, 20, ttl_s=3600)
    weeks = point.deposit(rng, 20, withdraw_hash=wire.withdraw_hash(token))
    wait_same(point, reader, {*hours, *weeks})
    hub.kill_all()
    point.bridge.wait_log("the connection to the hub is lost")
    hours += point.deposit(rng, 300, ttl_s=3600)
    weeks += point.deposit(rng, 300)
    with point.daemon.client() as client:
        client.call(pb.Withdraw(host="ap2", id=weeks[0], token=token))
    clock.move(7 * 24 * 3600)
    for daemon in (point.daemon, reader.daemon):
        daemon.restart()
    weeks += point.deposit(rng, 20)
    hub.start().wait_ready()
    kept = set(weeks[1:])
    wait_same(point, reader, kept)
    wait_until(lambda: states(hub, "ap2") == {id.hex() for id in weeks}, "nothing that expired at the hub",
               3 * wire.PATIENCE)


def role(point):
    with point.daemon.client() as client:
        return client.welcome.hosts[0].role


def set_room(point, count):
    """The next start or reload of hearsayd has `messages = COUNT`."""
    path = pathlib.Path(point.daemon.config_file)
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("messages = ")]
    path.write_text("\n".join([*lines, f"messages = {count}", ""]), encoding="utf-8")


def test_a_wiped_access_point_with_less_room(make_point, reader_of, rng):
    """It is not restored before all has room, and says so: else the rest would be lost in silence. A reload that gives
    more room suffices. Who wants the smaller room sets it afterwards."""
    reader = reader_of("ap11")
    point = make_point("ap11").start()
    ids = set(point.deposit(rng, 12))
    wait_same(point, reader, ids)
    point.daemon.kill()
    shutil.rmtree(point.daemon.data)
    set_room(point, 5)
    point.daemon.start()
    point.bridge.wait_log("host ap11: it is not restored: 7 messages have no room here: raise `messages` and `bytes`")
    assert "7 messages have no room here: raise `messages`" in " ".join(point.bridge.run("status").stdout.split())
    assert (role(point), len(point.stored())) == (pb.RESTORING, 5)
    assert stored_at(reader.daemon, "ap11") == ids
    set_room(point, 50)
    point.daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: role(point) == pb.OWNER, "the role", 3 * wire.PATIENCE)
    assert point.stored() == ids
    set_room(point, 5)
    point.daemon.restart()
    assert (role(point), point.stored()) == (pb.OWNER, ids)
    wait_until(lambda: point.bridge.figures()["owner"] == 1, "the owner")
    assert "no room" not in " ".join(point.bridge.run("status").stdout.split())
    assert stored_at(reader.daemon, "ap11") == ids
    point.bridge.stop()


@pytest.mark.parametrize("host, seconds", [("ap3", -1), ("ap4", 24 * 3600)], ids=["1970", "a day ahead"])
def test_an_access_point_with_a_wrong_clock(make_point, reader_of, hub, rng, clock, host, seconds):  # noqa: F811
    """Its states reach the hub and stay there for as long as they live by its clock."""
    clock.move(seconds if seconds > 0 else 3600 - int(time.time()), only_wall=True)
    reader = reader_of(host)
    point = make_point(host, clock=clock).start()
    ids = point.deposit(rng, 20)
    point.wait_published(ids)
    if seconds > 0:
        wait_same(point, reader, set(ids))
    before = point.bridge.figures()["published_total"]
    short = point.deposit(rng, 1, ttl_s=5)
    # Not whether it is at the hub: on a busy machine it may have come and gone before this test looks.
    wait_until(lambda: point.bridge.figures()["published_total"] > before, "the state that lives for five seconds")
    wait_until(lambda: short[0].hex() not in states(hub, host), "the sweep")
    assert states(hub, host) == {id.hex() for id in ids}


FOUND = "a reader has other messages than hearsayd, twice: all is published again"


def test_a_state_that_the_reader_has_wrong_is_healed(make_point, reader_of, rng, clock):
    """Two digests differ, and the owner publishes all again. Messages of the last minute do not count: the clocks
    move on by ten."""
    reader = reader_of("ap5", clock=clock)
    point = make_point("ap5", clock=clock)
    point.bridge.env["HEARSAY_BRIDGE_HEAD_MS"] = "10"  # 120 heads are between two digests
    point.start()
    ids = point.deposit(rng, 50)
    wait_same(point, reader, set(ids))
    clock.move(600)
    for daemon in (point.daemon, reader.daemon):
        daemon.restart()

    def reports():
        with acting_as(BECOMES.pw_uid), wire.Client(reader.socket) as client:
            return {change.message.id: change.message.reports
                    for change in client.call(pb.Changes(host="ap5")).changes}

    def spoil():
        with acting_as(BECOMES.pw_uid), wire.Client(reader.socket) as client:
            change = next(change for change in client.call(pb.Changes(host="ap5")).changes
                          if change.message.id == ids[7])
            change.message.reports = 3
            client.call(pb.Apply(host="ap5", changes=[change], **{"as": pb.AS_REPLICA}))

    def is_found():
        """A bridge that connects again reads on from the place that was saved. If that heals the reader before a
        digest is compared, the state is made wrong once more."""
        if any(FOUND in line for line in point.bridge.log if line):
            return True
        if reports()[ids[7]] == 0:
            spoil()
        return False

    spoil()
    assert reports()[ids[7]] == 3
    wait_until(is_found, FOUND, 3 * wire.PATIENCE)
    # A digest comes about each second here. Where publishing all takes longer than two of them, it happens again.
    wait_until(lambda: not any(reports().values()), "the state of the owner")
    assert point.bridge.figures()["rewinds_total"] >= 1
    point.bridge.stop()


def test_a_reader_that_was_away_is_compared_at_once(make_point, make_daemon, hub, rng, clock):
    """Not after an hour (120 heads): its server may lack what the hub has acknowledged. Until then `status` of both
    says since when nothing was compared. Of the two readers the one that was away is the one that is compared."""
    uplink = Uplink(hub.ports)
    other = Site(hub, make_daemon, "reader", {"ap14": "replica"}, clock=clock).start()
    reader = Site(hub, make_daemon, "reader2", {"ap14": "replica"}, clock=clock)
    uplink.rewrite(reader.bridge.config)
    reader.start()
    point = make_point("ap14", clock=clock)
    point.bridge.env["HEARSAY_BRIDGE_HEAD_MS"] = "100"
    point.start()
    try:
        ids = point.deposit(rng, 20)
        for site in (reader, other):
            wait_same(point, site, set(ids))
        clock.move(600)
        seen = {id(bridge): len(bridge.log) for bridge in (reader.bridge, other.bridge)}
        for daemon in (point.daemon, reader.daemon, other.daemon):
            daemon.restart()
        point.bridge.wait_log("no connection to hearsayd")
        for bridge in (reader.bridge, other.bridge):
            bridge.wait_log("trying on", seen[id(bridge)])
            wait_until(lambda b=bridge: "hearsayd is there" in b.status(), "hearsayd")
        wait_until(lambda: "owner" in point.bridge.run("status").stdout, "the owner")
        for site in (reader, other):
            wait_until(lambda s=site: "reader_compared 1\n" in s.bridge.status("--metrics"), "a first comparison")
            assert "not compared" not in site.bridge.status()
        wait_until(lambda: "not compared" not in point.bridge.run("status").stdout, "the owner's comparison")
        wait_until(lambda: point.bridge.run("status").returncode == 0, "no trouble")
        seen = len(reader.bridge.log)
        uplink.cut()
        reader.bridge.wait_log("the connection to the hub is lost", seen)
        text = reader.bridge.status()
        assert re.search(r"not compared with its owner since\n    20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\n", text), text
        assert "not compared" not in other.bridge.status()
        with acting_as(BECOMES.pw_uid), wire.Client(reader.socket) as client:
            change = next(iter(client.call(pb.Changes(host="ap14")).changes))
            change.message.reports = 3
            client.call(pb.Apply(host="ap14", changes=[change], **{"as": pb.AS_REPLICA}))
        uplink.mend()
        reader.bridge.wait_log("connected to the hub", seen)
        before = letter_at_hub(hub, "ap14", "-")[0]
        point.bridge.wait_log(FOUND)
        heads = letter_at_hub(hub, "ap14", "-")[0] - before - len(ids)
        assert heads < 60 * wire.SLOWNESS, heads
        wait_until(lambda: "reader_compared 1\n" in reader.bridge.status("--metrics"), "the comparison")
        point.bridge.stop()
    finally:
        for site in (reader, other):
            site.stop()
            site.remove()
        uplink.close()


def test_a_hub_without_a_quorum_is_a_reason_to_compare(make_point, hub, rng):
    """Two servers are killed and come back, while the bridge stays connected to the third one. The owner says since
    when nothing was compared, and asks a reader as soon as its head is accepted again."""
    point = make_point("ap15")
    with open(point.config, encoding="utf-8") as file:
        text = file.read()
    with open(point.config, "w", encoding="utf-8") as file:
        file.write("".join(line for line in text.splitlines(True) if "nats = " not in line or hub.urls[0] in line))
    reader = CountingReader(hub, "ap15")
    try:
        point.start()
        point.wait_published(point.deposit(rng, 3))
        wait_until(lambda: reader.digests and "not compared" not in point.bridge.run("status").stdout, "the first")
        before, head = reader.digests, letter_at_hub(hub, "ap15", "-")[0]
        others = list(hub.nodes.values())[1:]
        for node in others:
            node.kill()
        point.bridge.wait_log("the head is not written")
        for node in others:
            node.start()
        hub.wait_led()
        wait_until(lambda: reader.digests > before, "a comparison")
        assert letter_at_hub(hub, "ap15", "-")[0] - head < 60 * wire.SLOWNESS  # not 120
        point.bridge.stop()
        assert sum("connected to the hub" in line for line in point.bridge.log if line) == 1
    finally:
        reader.close()
        hub.start().wait_led()


class CountingReader(access_point.Reader):
    """Has what the owner has: nothing that is older than a minute."""

    digests = 0

    def _answer(self, letter):
        self.digests += letter.page_ask.kind == letters.DIGEST
        return super()._answer(letter)


def hub_subjects(hub, host):
    """Of the three trees of a host: states, words, and rules with their words."""
    shard = hub_cluster.shard_of(host)
    trees = {f"h_{shard}": [f"h.{shard}.{host}.>"], "o": [f"o.{shard}.{host}.>"],
             "rule": [f"h.rule.{host}.>", f"o.rule.{host}.>"]}
    found = set()
    for stream, filters in trees.items():
        for each in filters:
            info = hub.ask(f"STREAM.INFO.{stream}", subjects_filter=each)
            found |= set(info["state"].get("subjects") or {})
    return found


def test_a_forgotten_host_is_gone_at_the_hub(make_point, reader_of, hub, rng):
    """States, rules, operators' words and the head; of this host only, and only for a reader. Who still publishes
    the host puts it back."""
    reader = reader_of("ap6")
    kept, gone = make_point("ap7").start(), make_point("ap6").start()
    others, ids = kept.deposit(rng, 5), gone.deposit(rng, 300)
    kept.wait_published(others)
    wait_same(gone, reader, set(ids))
    with gone.daemon.administrator() as operator:
        operator.call(pb.Ban(host="ap6", payload_hash=bytes(range(32))))
    wait_until(lambda: any(name.startswith("h.rule.") for name in hub_subjects(hub, "ap6")), "the rule")
    gone.bridge.stop()
    with reader.daemon.administrator() as operator:  # the access point is away: the word waits
        operator.call(pb.Remove(host="ap6", id=ids[0]))
    wait_until(lambda: any(name.startswith("o.") for name in hub_subjects(hub, "ap6")), "the word")
    before = hub_subjects(hub, "ap7")

    refused = gone.bridge.run("forget", "ap6")  # with the certificate of the access point
    assert refused.returncode == 1 and "needs the certificate of a reader" in refused.stderr, refused
    assert states(hub, "ap6") >= {id.hex() for id in ids[1:]}
    done = reader.bridge.run("forget", "ap6")
    assert done.returncode == 0 and "the hub has nothing of it any more" in done.stdout, done
    assert hub_subjects(hub, "ap6") == set()
    assert before <= hub_subjects(hub, "ap7")
    assert stored_at(reader.daemon, "ap6") == set(ids[1:])  # what readers have stays
    again = reader.bridge.run("forget", "ap6")
    assert again.returncode == 0 and "the hub had nothing of it" in again.stdout, again

    gone.start().bridge.wait_log("the hub has lost the head of this host: all is published again")
    gone.wait_published(ids[1:])
