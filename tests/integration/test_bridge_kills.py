# SPDX-License-Identifier: Apache-2.0
"""hearsay-bridge when programs are killed, the hub is away, and the hub has lost its stores."""

import shutil
import time

import access_point
import hearsay_wire as wire
import hub_cluster
from access_point import hub, letter_at_hub, make_point, states  # noqa: F401
from hearsay_wire import pb
from hub_cluster import wait_until

pytestmark = hub_cluster.needs_hub


def test_a_killed_bridge_and_killed_servers(make_point, hub, rng):
    """The kill matrix, one round: nothing acknowledged is missing."""
    point = make_point("ap2").start()
    point.bridge.wait_log("this store is the owner")
    ids = []
    for victims in ((), ("n1",), ("n2", "n3"), hub_cluster.NODES):
        ids += point.deposit(rng, 150)
        point.bridge.kill()
        ids += point.deposit(rng, 150)
        for name in victims:
            hub.nodes[name].kill()
        point.bridge.start()
        ids += point.deposit(rng, 150)
        point.daemon.kill()
        point.daemon.start()
        hub.start()
        ids += point.deposit(rng, 150)
        hub.wait_ready()
        point.wait_published(ids)
    assert states(hub, "ap2") == {each.hex() for each in ids}
    wait_until(lambda: point.bridge.figures().get("waiting") == 0, "nothing on its way")


def test_a_hub_that_lost_its_stores(make_point, hub, rng):
    """Rewind: the owner publishes all again."""
    point = make_point("ap3").start()
    ids = point.deposit(rng, 500)
    point.wait_published(ids)
    wait_until(lambda: letter_at_hub(hub, "ap3", "-"), "a head")
    hub.kill_all()
    for node in hub.nodes.values():
        shutil.rmtree(node.store)
    hub.start().wait_ready().make_streams()
    point.wait_published(ids)
    assert point.bridge.figures()["rewinds_total"] >= 1
    point.bridge.wait_log("all is published again")


def test_the_hub_lost_the_head_while_a_deposit_comes(make_point, hub, rng):
    """The answer that hearsayd owes at the rewind is about the cursor of before, and does not count."""
    point = make_point("ap1").start()
    ids = point.deposit(rng, 20)
    point.wait_published(ids)
    shard = hub_cluster.shard_of("ap1")
    assert hub.ask(f"STREAM.PURGE.h_{shard}", filter=f"h.{shard}.ap1.>")["success"]
    point.bridge.wait_log("all is published again")
    point.wait_published(ids + point.deposit(rng, 1))


def test_a_hub_that_loses_each_head(make_point, hub, rng):
    """All is published again after the end, and not from the beginning at each loss."""
    point = make_point("ap9")
    ids = point.deposit(rng, 10_000)
    shard = hub_cluster.shard_of("ap9")
    point.start()

    def has_all():
        hub.ask(f"STREAM.PURGE.h_{shard}", filter=f"h.{shard}.ap9.-")
        return len(states(hub, "ap9")) == len(ids)
    wait_until(has_all, "all states, though each head is lost", 3 * wire.PATIENCE)
    point.bridge.wait_log("all is published again")


def test_replicated_is_never_a_lie(make_point, hub, rng):
    """It is said when a quorum has the message, and not while the hub is away."""
    point = make_point("ap7", keys="replicate = yes\nacknowledge = replicated\nreplicate_wait = 2s\n")
    point.start().bridge.wait_log("this store is the owner")
    with point.daemon.client() as client:
        for n in range(20):
            deposit = wire.deposit_of(rng, [f"topic:{n}", "place:a"], host="ap7")
            answer = client.call(deposit)
            if answer.durability == pb.REPLICATED:
                assert letter_at_hub(hub, "ap7", deposit.id.hex()), n
        assert answer.durability == pb.REPLICATED
        hub.kill_all()
        deposit = wire.deposit_of(rng, ["topic:late", "place:a"], host="ap7")
        assert client.call(deposit).durability == pb.ON_STORAGE
    hub.start().wait_ready()
    point.wait_published([deposit.id])


def test_a_cut_costs_nothing_but_lag(make_point, hub, rng):
    """Both sides write while the hub is away; the operator's word comes after it, by pages."""
    point = make_point("ap8").start()
    ids = point.deposit(rng, 5)
    point.wait_published(ids)
    word = pb.Change(seq=1, gone=pb.Gone(id=ids[0], until_ms=int(time.time() * 1000) + 3_600_000, why=pb.WAS_REMOVED))
    hub.kill_all()
    point.bridge.wait_log("the connection to the hub is lost")
    ids += point.deposit(rng, 300)
    hub.start().wait_ready()
    reader = access_point.Reader(hub, "ap8", [], [word])
    try:
        point.wait_published(ids)
        wait_until(lambda: ids[0] not in point.stored(), "the operator's word", 3 * wire.PATIENCE)
    finally:
        reader.close()
