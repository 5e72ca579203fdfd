# SPDX-License-Identifier: Apache-2.0
"""hearsay-bridge at an access point, before a hub of three real servers: publishing, fencing, restoring,
the operator's words."""

import contextlib
import os
import re
import signal
import socket
import sqlite3
import ssl
import threading
import time

import pytest

import access_point
import hearsay_wire as wire
import hub_cluster
from access_point import hub, letter_at_hub, letters, make_point, states  # noqa: F401
from hearsay_wire import pb
from hub_cluster import wait_until
from uplink import Uplink

pytestmark = hub_cluster.needs_hub


def test_states_reach_the_hub(make_point, hub, rng):
    """What was there before, what comes, and what goes: one last state of each id."""
    point = make_point("ap1")
    before = point.deposit(rng, 300)
    point.start()
    point.bridge.wait_log("this store is the owner")
    point.wait_published(before)
    token = bytes(range(32))
    ids = point.deposit(rng, 20, withdraw_hash=wire.withdraw_hash(token))
    point.wait_published(ids)
    with point.daemon.client() as client:
        client.call(pb.Withdraw(host="ap1", id=ids[0], token=token))
    wait_until(lambda: letter_at_hub(hub, "ap1", ids[0].hex())[1].change.HasField("gone"), "the withdrawal")
    change = letter_at_hub(hub, "ap1", ids[0].hex())[1].change
    assert change.gone.why == pb.WAS_WITHDRAWN
    assert letter_at_hub(hub, "ap1", ids[1].hex())[1].change.message.id == ids[1]
    with hub.connect("reader") as nats:  # no Nats-Msg-Id: see own/publish.c
        shard = hub_cluster.shard_of("ap1")
        stored = nats.api(f"STREAM.MSG.GET.h_{shard}", last_by_subj=f"h.{shard}.ap1.{ids[1].hex()}")
        assert "hdrs" not in stored["message"]
    head = letter_at_hub(hub, "ap1", "-")[1].head
    with point.daemon.client() as client:
        assert head.store_id == client.welcome.store_id
    wait_until(lambda: letter_at_hub(hub, "ap1", "-")[1].head.seq >= change.seq, "a head that has all")
    assert states(hub, "ap1") == {each.hex() for each in before + ids}
    text = point.bridge.run("status").stdout
    assert "owner" in text and max(map(len, text.splitlines())) <= 60, text
    figures = point.bridge.figures()
    assert figures["connected"] == figures["owner"] == 1 and figures["published_total"] >= 321
    point.bridge.stop()
    # A cursor that was kept: nothing is published twice.
    point.bridge.start().wait_log("this store is the owner")
    point.wait_published(point.deposit(rng, 1))
    assert point.bridge.figures()["published_total"] == 1


def test_two_owners_one_is_fenced(make_point, hub, rng):
    """`take` waits for silence, or is told to take at once; then the other one stops."""
    first = make_point("ap4").start()
    ids = first.deposit(rng, 10)
    first.wait_published(ids)
    second = make_point("ap4")
    second.deposit(rng, 5)
    refused = second.bridge.run("take", "ap4")
    assert refused.returncode == 1 and "still publishes this host" in refused.stderr, refused
    taken = second.bridge.run("take", "ap4", "--now")
    assert taken.returncode == 0 and "the store here is the owner now" in taken.stdout, taken
    assert "may publish for" in taken.stdout
    line = first.bridge.wait_log("FENCED: another store owns this host.*").group()
    assert "hearsayd here still takes deposits, which nobody else sees" in line, line
    said = first.bridge.run("status")
    assert said.returncode == 1 and "FENCED" in said.stdout, said
    assert "nobody else sees what is left here" in " ".join(said.stdout.split()), said
    # The hub loses the head: the owner writes it again, and the other one stays fenced.
    lose_head(hub, "ap4")
    second.daemon.restart()  # takes longer than an interval of heads: the first one has looked
    second.start().bridge.wait_log("this store is the owner")
    assert "FENCED" in first.bridge.run("status").stdout
    second.bridge.stop()
    late = first.deposit(rng, 5)
    with second.daemon.client() as client:
        store_id = client.welcome.store_id
    assert letter_at_hub(hub, "ap4", "-")[1].head.store_id == store_id
    # The first one takes it back: the second one is not running, so it is silent. What the second one was told
    # meanwhile comes first.
    new = next(changes_of(rng, 1, "ap4"))
    gone = pb.Gone(id=ids[0], until_ms=int(time.time() * 1000) + 3_600_000, why=pb.WAS_WITHDRAWN)
    reader = access_point.Reader(hub, "ap4", [pb.Change(seq=1, gone=gone), new])
    try:
        assert not states(hub, "ap4") & {id.hex() for id in late}
        back = first.bridge.run("take", "ap4")
        assert back.returncode == 0 and "was the owner before" in back.stdout, back
        first.bridge.wait_log("the store is the owner again: its messages come back from the hub")
        first.wait_published([*late, new.message.id])
        assert first.stored() == {*ids[1:], *late, new.message.id}
        wait_until(lambda: letter_at_hub(hub, "ap4", ids[0].hex())[1].change.HasField("gone"), "the withdrawal")
        assert not letter_at_hub(hub, "ap4", "-")[1].head.is_taken
    finally:
        reader.close()


def changes_of(rng, count, host):
    """States as another store of the host would have published them."""
    now = int(time.time() * 1000)
    for n in range(count):
        deposit = wire.deposit_of(rng, [f"topic:{n}", f"place:{n % 7}"], host=host)
        yield pb.Change(seq=n + 1, message=pb.ExportedMessage(
            id=deposit.id, filter=deposit.filter, media_type="text/plain", payload=b"restored",
            deposited_ms=now - 60_000, expires_ms=now + 3_600_000, reach=1_000_000))


def put_head(hub, host, store_id=bytes(range(16)), seq=1, profile=wire.PROFILE, as_of_ms=1,
             term=1):
    shard = hub_cluster.shard_of(host)
    letter = letters.Letter(version=1, head=letters.Head(store_id=store_id, seq=seq, profile=profile,
                                                         as_of_ms=as_of_ms, term=term))
    with hub.connect(host) as nats:
        return nats.request(f"h.{shard}.{host}.-", letter.SerializeToString()).json()


def test_a_wiped_access_point_gets_its_messages_back(make_point, hub, rng):
    put_head(hub, "ap5")
    states_before = list(changes_of(rng, 2000, "ap5"))
    removed = states_before[7].message.id
    word = pb.Change(seq=1, gone=pb.Gone(id=removed, until_ms=int(time.time() * 1000) + 3_600_000, why=pb.WAS_REMOVED))
    point = make_point("ap5")
    early = point.deposit(rng, 5)
    point.start()
    point.bridge.wait_log("cannot be restored yet: no reader of this host answers")
    put_head(hub, "ap5")  # servers of 2.9.10 that were killed may give one message different places
    reader = access_point.Reader(hub, "ap5", states_before, [word], silent=1)
    try:
        point.bridge.wait_log("restored, 2000 states")
        assert reader.times[1] - reader.times[0] < 9  # a silent reader is asked again after 2 s, and 2 s
        expected = {change.message.id for change in states_before} | set(early)
        assert point.stored() == expected - {removed}
        point.bridge.wait_log("this store is the owner")  # the store of before was silent
        assert not any(line and "another store still publishes" in line for line in point.bridge.log)
        point.wait_published(early)
    finally:
        reader.close()


def test_a_hangup_ends_no_bridge(make_point):
    """By default the signal ends a program, and systemd takes that for a clean end, after which it starts nothing."""
    point = make_point("ap1").start()
    point.bridge.wait_log("connected to the hub")
    point.bridge.process.send_signal(signal.SIGHUP)
    point.bridge.wait_log("SIGHUP changes nothing")
    assert re.search("hub +connected", point.bridge.run("status").stdout)


def test_an_empty_store_asks_no_question_twice(make_point):
    """The mark of a restored host has a number, and is no change: the cursor goes past it."""
    point = make_point("ap2").start()
    point.bridge.wait_log("this store is the owner")
    wait_until(lambda: "published up to 1," in point.bridge.run("status").stdout, "a cursor after the mark")


def test_what_hearsayd_does_not_take_is_left_out(make_point, hub, rng):
    """Pages larger than its frame are split; a state of another profile stops nothing."""
    put_head(hub, "ap3")
    before = list(changes_of(rng, 300, "ap3"))
    for change in before:
        change.message.payload = rng.randbytes(2000)
    for wrong in (before[3], before[299]):
        wrong.message.filter = b"\x01" * 5
    before[50].message.payload = bytes(70_000)  # does not fit alone
    removed = before[7].message.id
    words = [pb.Change(message=before[20].message),  # of no operator: its state is wrong
             pb.Change(gone=pb.Gone(id=removed, until_ms=int(time.time() * 1000) + 3_600_000, why=pb.WAS_REMOVED))]
    reader = access_point.Reader(hub, "ap3", before, words)
    try:
        point = make_point("ap3").start()
        point.bridge.wait_log("a change of the hub is left out, as hearsayd does not take it")
        point.bridge.wait_log("restored, 300 states")
        left_out = {before[n].message.id for n in (3, 50, 299)}
        assert point.stored() == {change.message.id for change in before} - left_out - {removed}
        assert point.bridge.figures()["words_refused_total"] == 1  # hearsayd leaves out the others
        point.daemon.wait_log("a change from a bridge is left out: changes.message")
    finally:
        reader.close()


def test_another_profile_is_named(make_point, hub, rng):
    """The messages of the hub cannot come back; the host is published anyway."""
    put_head(hub, "ap8", profile="v2:64/2")
    point = make_point("ap8")
    ids = point.deposit(rng, 3)
    point.start()
    point.bridge.wait_log("at the hub have the profile v2:64/2, and hearsayd has v2:wifi")
    point.wait_published(ids)


def test_an_operators_words_reach_a_store_without_head(make_point, hub, rng):
    point = make_point("ap10")
    ids = point.deposit(rng, 2)
    reader = access_point.Reader(hub, "ap10", words=[pb.Change(gone=pb.Gone(
        id=ids[0], until_ms=int(time.time() * 1000) + 3_600_000, why=pb.WAS_REMOVED))])
    try:
        point.start().bridge.wait_log("its messages come back if a reader has them")
        wait_until(lambda: point.stored() == {ids[1]}, "the removal")
    finally:
        reader.close()


def test_a_new_store_gets_messages_back_without_a_head(make_point, hub, rng):
    """Servers may have lost the head; a reader has the messages."""
    before = list(changes_of(rng, 300, "ap12"))
    reader = access_point.Reader(hub, "ap12", before)
    try:
        point = make_point("ap12").start()
        point.bridge.wait_log("restored, 300 states")
        assert point.stored() == {change.message.id for change in before}
        point.bridge.wait_log("this store is the owner")
    finally:
        reader.close()


def lose_head(hub, host):
    shard = hub_cluster.shard_of(host)
    assert hub.ask(f"STREAM.PURGE.h_{shard}", filter=f"h.{shard}.{host}.-")["success"]


def test_the_head_of_an_earlier_owner_fences_nobody(make_point, hub, rng):
    """Servers that were killed bring it back: while the bridge runs, and while it is stopped."""
    put_head(hub, "ap15", term=7)
    reader = access_point.Reader(hub, "ap15", list(changes_of(rng, 20, "ap15")))
    try:
        point = make_point("ap15").start()
        point.bridge.wait_log("this store is the owner")
        point.wait_published(ids := point.deposit(rng, 10))
        assert letter_at_hub(hub, "ap15", "-")[1].head.term == 8
        lose_head(hub, "ap15")
        put_head(hub, "ap15", term=7)
        point.bridge.wait_log("the hub has lost the head of this host: all is published again")
        wait_until(lambda: letter_at_hub(hub, "ap15", "-")[1].head.term == 8, "the owner's head")
        point.bridge.stop()
        lose_head(hub, "ap15")
        put_head(hub, "ap15", term=7)
        point.bridge.start().wait_log("the hub has lost the head of this host: all is published again")
        point.bridge.wait_log("this store is the owner")
        point.wait_published(ids + point.deposit(rng, 1))
        assert not any(line and "FENCED" in line for line in point.bridge.log)
        # One that took over at the same time, and one after it: both are owners.
        for term in (8, 2**64 - 1):
            put_head(hub, "ap15", term=term)
            point.bridge.wait_log("FENCED: another store owns this host")
            assert point.bridge.run("take", "ap15", "--now").returncode == 0
            point.bridge.wait_log("this store is the owner")
    finally:
        reader.close()


def test_a_bridge_that_was_killed_when_the_head_was_lost(make_point, hub, rng):
    """It is the owner still, and not a store that was just restored, which would wait and take over from anybody."""
    lose_head(hub, "ap9")
    point = make_point("ap9").start()
    point.bridge.wait_log("this store is the owner")
    point.wait_published(point.deposit(rng, 10))
    point.bridge.stop()
    point.bridge.env["HEARSAY_BRIDGE_HEAD_MS"] = "5000"  # so that it is killed before the second head
    point.bridge.start().wait_log("this store is the owner")
    lose_head(hub, "ap9")
    point.bridge.wait_log("the hub has lost the head of this host: all is published again")
    wait_until(lambda: letter_at_hub(hub, "ap9", "-"), "the owner's head")
    point.bridge.kill()
    lose_head(hub, "ap9")
    put_head(hub, "ap9", term=2**64 - 1)
    point.bridge.env["HEARSAY_BRIDGE_HEAD_MS"] = "300"
    point.bridge.start().wait_log("FENCED: another store owns this host|this store is the owner")
    assert any(line and "FENCED" in line for line in point.bridge.log)
    lose_head(hub, "ap9")  # another test begins without a head


def test_a_late_head_of_before_fences_no_restored_store(make_point, hub, rng):
    """The bridge is killed between the restore and its first head, and another head of before comes meanwhile."""
    put_head(hub, "ap14")
    reader = access_point.Reader(hub, "ap14", list(changes_of(rng, 20, "ap14")))
    try:
        point = make_point("ap14")
        point.bridge.env["HEARSAY_BRIDGE_HEAD_MS"] = "5000"
        point.start().bridge.wait_log("restored, 20 states")
        point.bridge.kill()
        put_head(hub, "ap14", as_of_ms=2)
        point.bridge.env["HEARSAY_BRIDGE_HEAD_MS"] = "300"
        point.start().bridge.wait_log("this store is the owner|FENCED")
        point.wait_published([change.message.id for change in reader.changes])
        assert not any(line and "FENCED" in line for line in point.bridge.log)
    finally:
        reader.close()


def test_copies_that_nobody_served_come_with_take(make_point, hub, rng):
    """Without a head and a reader a store begins with what it has."""
    point = make_point("ap13")
    own = point.deposit(rng, 3)
    point.start().bridge.wait_log("no reader has answered: if there are copies, `hearsay-bridge take ap13`")
    point.wait_published(own)
    point.bridge.wait_log("this store is the owner")
    before = list(changes_of(rng, 300, "ap13"))
    reader = access_point.Reader(hub, "ap13", before)
    try:
        taken = point.bridge.run("take", "ap13")
        assert taken.returncode == 0 and "the store here is the owner already: it gets from" in taken.stdout, taken
        wait_until(lambda: point.stored() == {change.message.id for change in before} | set(own), "all messages")
        point.wait_published(change.message.id for change in before)
    finally:
        reader.close()


def test_a_rewind_is_not_forgotten(make_point, hub, rng):
    """The head says from where to publish, where the file says more."""
    point = make_point("ap7").start()
    ids = point.deposit(rng, 20)
    point.wait_published(ids)
    point.bridge.stop()
    with point.daemon.client() as client:
        put_head(hub, "ap7", client.welcome.store_id, seq=0)
    point.bridge.start().wait_log("this store is the owner")
    wait_until(lambda: point.bridge.figures()["published_total"] == 20, "all states again")


def test_the_operators_word_is_applied_and_its_result_published(make_point, hub, rng):
    point = make_point("ap6").start()
    ids = point.deposit(rng, 3)
    point.wait_published(ids)
    shard = hub_cluster.shard_of("ap6")
    word = letters.Letter(version=1, change=pb.Change(gone=pb.Gone(
        id=ids[0], until_ms=int(time.time() * 1000) + 3_600_000, why=pb.WAS_REMOVED)))
    with hub.connect("reader") as nats:
        nats.publish(f"o.{shard}.ap6.{ids[0].hex()}", b"no letter")
        nats.publish(f"o.{shard}.ap6.{ids[0].hex()}", word.SerializeToString())
        nats.flush()
        wait_until(lambda: letter_at_hub(hub, "ap6", ids[0].hex())[1].change.HasField("gone"), "the result")
    assert point.stored() == set(ids[1:])


def wait_owner(point):
    wait_until(lambda: "owner" in point.bridge.run("status").stdout, "the owner")


def test_status_says_that_a_disk_is_full(make_point, hub, rng):
    """An answer of hearsayd does not hide a cursor that is not saved. An operator's word that hearsayd cannot store
    is an error from then on, and not only when the word is asked for with the next head."""
    reader = access_point.Reader(hub, "ap14")
    point = make_point("ap14").start()
    ids = point.deposit(rng, 2)
    point.wait_published(ids)
    wait_owner(point)
    point.bridge.stop()
    fresh = os.path.join(point.state, "ap14.cursor.new")
    os.mkdir(fresh)
    late = point.deposit(rng)
    point.bridge.env["HEARSAY_BRIDGE_HEAD_MS"] = "3000"
    point.start()
    point.bridge.wait_log("its cursor cannot be saved")
    late += point.deposit(rng)
    point.wait_published(late)
    wait_until(lambda: ", 0 on their way" in point.bridge.run("status").stdout, "an answer")
    said = point.bridge.run("status")
    assert said.returncode == 1 and "its cursor cannot be saved" in said.stdout, said
    os.rmdir(fresh)
    wait_until(lambda: point.bridge.run("status").returncode == 0, "room again")
    point.bridge.stop()
    point.bridge.env["HEARSAY_BRIDGE_HEAD_MS"] = "20000"
    point.start()
    wait_owner(point)
    with contextlib.closing(sqlite3.connect(os.path.join(point.daemon.data, "messages.db"),
                                            isolation_level=None)) as other, hub.connect("reader") as nats:
        other.execute("BEGIN IMMEDIATE")  # so hearsayd cannot write
        word = letters.Letter(version=1, change=pb.Change(gone=pb.Gone(
            id=ids[0], until_ms=int(time.time() * 1000) + 3_600_000, why=pb.WAS_REMOVED)))
        nats.publish(f"o.{hub_cluster.shard_of('ap14')}.ap14.{ids[0].hex()}", word.SerializeToString())
        nats.flush()
        point.bridge.wait_log("hearsayd does not take what the hub says")
        said = point.bridge.run("status")
        assert said.returncode == 1 and "could not write to its storage" in " ".join(said.stdout.split()), said
    point.bridge.stop()
    reader.close()


def test_what_is_wrong_is_said(make_point, hub, rng):
    """A certificate of somebody else, a hub that is full: clear lines, and nothing is lost."""
    point = make_point("ap9")
    point.take_certificate("ap1")
    ids = point.deposit(rng, 3)
    point.start()
    point.bridge.wait_log("no right for this certificate|Permissions Violation")
    assert re.search("hub +connected", point.bridge.run("status").stdout)
    point.bridge.kill()
    point.take_certificate("ap9")
    point.start()
    point.wait_published(ids)
    shard = hub_cluster.shard_of("ap9")
    config = hub.ask(f"STREAM.INFO.h_{shard}")["config"]
    wait_until(lambda: hub.ask(f"STREAM.UPDATE.h_{shard}", **{**config, "max_bytes": 1, "discard": "new"}), "a full hub")
    late = point.deposit(rng, 3)
    # A hub that dropped the head to become smaller says so at the head, before anything is published.
    point.bridge.wait_log("(does not store what is published|the head is not written): maximum bytes exceeded")
    said = point.bridge.run("status")
    assert said.returncode == 1 and "maximum bytes" in said.stdout and "--disk" in said.stdout and "trouble" not in said.stdout, said
    assert point.bridge.figures()["hub_errors_total"] > 0
    wait_until(lambda: hub.ask(f"STREAM.UPDATE.h_{shard}", **config), "room again")
    point.wait_published(late)


def test_a_page_of_which_the_hub_takes_a_part(make_point, hub, rng):
    """What was refused is tried again, and only that, until there is room."""
    point = make_point("ap11", keys="replicate = yes\nacknowledge = replicated\nreplicate_wait = 100ms\n").start()
    ids = point.deposit(rng, 3)
    point.wait_published(ids)
    shard = hub_cluster.shard_of("ap11")
    info = hub.ask(f"STREAM.INFO.h_{shard}")
    most = info["state"]["messages"] + 40
    wait_until(lambda: hub.ask(f"STREAM.UPDATE.h_{shard}", **{**info["config"], "max_msgs": most}), "a small hub")
    late = point.deposit(rng, 200)
    point.bridge.wait_log("does not store what is published: maximum messages exceeded")
    assert 0 < len(states(hub, "ap11") & {id.hex() for id in late}) < 200
    with point.daemon.client() as client:
        one = wire.deposit_of(rng, ["topic:a", "place:b"], host="ap11")
        assert client.call(one).durability == pb.ON_STORAGE
    wait_until(lambda: hub.ask(f"STREAM.UPDATE.h_{shard}", **info["config"]), "room again")
    point.wait_published([*late, one.id])
    wait_until(lambda: point.bridge.figures()["published_total"] == 204, "each once")


class Doubter(access_point.Reader):
    """A reader whose digest always differs; `heads` has the place of the host's head at each question for it."""

    digest = (1, 12345)

    def __init__(self, hub, host):
        self.hub, self.heads = hub, []
        super().__init__(hub, host)

    def _answer(self, letter):
        if letter.page_ask.kind == letters.DIGEST:
            self.heads.append(letter_at_hub(self.hub, "ap8", "-")[0])
        return super()._answer(letter)


def test_digests_come_soon_after_trouble_and_after_a_difference(make_point, hub):
    """At the second head after the claim, and two after the first digest that differed. When two have differed, all is
    published again, and the next digest comes 120 heads later. Nothing else writes to the stream."""
    reader = Doubter(hub, "ap8")
    point = make_point("ap8")
    point.bridge.env["HEARSAY_BRIDGE_HEAD_MS"] = "20"
    point.start()
    wait_until(lambda: len(reader.heads) >= 4, "four digests", 3 * wire.PATIENCE)
    point.bridge.wait_log("a reader has other messages than hearsayd, twice: all is published again")
    gaps = [after - before for before, after in zip(reader.heads, reader.heads[1:])][:3]
    assert gaps[0] < 60 < gaps[1] and gaps[2] < 60, gaps
    point.bridge.stop()
    reader.close()


@pytest.mark.parametrize("version, said", [
    ("2.10.29", "this nats-server is 2.10.29: before 2.11.16 servers may disagree"),
    ("2.11.16-RC.1", r"this nats-server is 2.11.16 \(early release\): before 2.11.16"),
    ("2.11.16", None),
    ("two point nine", "the version of this nats-server is not known"),
])
def test_an_old_server_is_named(make_point, hub, version, said):
    """At the start in the log, and in `status`: servers before 2.11.16 may disagree about what is stored."""
    uplink = Uplink(hub.ports, lambda line: re.sub(rb'"version":"[^"]*"', f'"version":"{version}"'.encode(), line))
    try:
        point = make_point("ap12")
        uplink.rewrite(point.config)
        point.start()
        point.bridge.wait_log("connected to the hub")
        text = wait_until(lambda: re.search("^hub  *connected(.*\n)*", point.bridge.run("status").stdout), "status")[0]
        assert max(map(len, text.splitlines())) <= 60, text
        if said is None:
            assert "nats-server" not in text + "".join(line for line in point.bridge.log if line), text
        else:
            point.bridge.wait_log(f"warning: the hub: {said}")
            assert re.search(said, re.sub(r"\s+", " ", text)), text
        point.bridge.stop()
    finally:
        uplink.close()


def test_too_many_connections_of_one_certificate(make_point, hub):
    """The log and `status` of the access point say that others use its certificate, and it connects when they end."""
    point = make_point("ap13")
    with contextlib.ExitStack() as stack:
        for node in hub.nodes:
            with contextlib.suppress(hub_cluster.Refused, OSError):
                while True:
                    stack.enter_context(hub.connect("ap13", node))
        point.start()
        point.bridge.wait_log("no connection to the hub: .*too many connections have this certificate")
        text = re.sub(r"\s+", " ", point.bridge.run("status").stdout)
        assert "too many connections have this certificate: who else has its key?" in text, text
    point.bridge.wait_log("connected to the hub")
    point.bridge.stop()


class Hasty:
    """In place of the hub: closes each connection as soon as its own side of the handshake is done."""

    def __init__(self, hub):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_3
        self.tls.load_cert_chain(*(f"{hub.keys}/{next(iter(hub.nodes))}.{kind}" for kind in ("pem", "key")))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                with connection, contextlib.suppress(OSError, ssl.SSLError):
                    self._serve(connection)

    def _serve(self, connection):
        connection.settimeout(wire.PATIENCE)
        connection.sendall(b'INFO {"server_id":"A","version":"2.12.1","headers":true,"max_payload":1048576,'
                           b'"tls_required":true,"tls_verify":true}\r\n')
        came, goes = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self.tls.wrap_bio(came, goes, server_side=True)
        while not goes.pending:
            came.write(connection.recv(4096))
            with contextlib.suppress(ssl.SSLWantReadError):
                tls.do_handshake()
        connection.sendall(goes.read())


def test_a_hub_that_hangs_up_is_explained(make_point, hub):
    """The bridge's CONNECT cannot be written when the hub refuses the certificate before: that says the same."""
    hasty = Hasty(hub)
    try:
        point = make_point("ap13")
        with open(point.config, encoding="utf-8") as file:
            text = file.read()
        for port in hub.ports:
            text = text.replace(f":{port}\n", f":{hasty.port}\n")
        with open(point.config, "w", encoding="utf-8") as file:
            file.write(text)
        point.start()
        point.bridge.wait_log("no connection to the hub: .*SSL_.*the hub refuses this certificate, it seems")
        point.bridge.stop()
    finally:
        hasty.close()


def test_a_certificate_that_the_hub_refuses_is_named(make_point, tmp_path):
    """With TLS 1.3 the bridge takes its connection for made before the server has looked at the certificate."""
    point = make_point("ap13")
    hub_cluster.make_certificate(str(tmp_path), "host", "ap13")  # by another authority
    for kind in ("pem", "key"):
        with open(f"{point.root}/ap13.{kind}", "wb") as file:
            file.write((tmp_path / f"ap13.{kind}").read_bytes())
    point.start()
    point.bridge.wait_log("no connection to the hub: .*the hub refuses this certificate, it seems: see `cert`")
    text = re.sub(r"\s+", " ", point.bridge.run("status").stdout)
    assert "the hub refuses this certificate" in text, text
    point.bridge.stop()
