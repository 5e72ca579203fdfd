# SPDX-License-Identifier: Apache-2.0
"""A reader at the hub: what it takes over, serves, passes on and has overwritten. What an owner publishes is
sent by hand, with the certificate of its access point."""

import base64
import calendar
import collections
import contextlib
import json
import os
import pathlib
import random
import re
import sqlite3
import time

import pytest
import xxhash

import conftest
import hearsay_wire as wire
import hub_cluster
from clock import Clock
from hearsay_wire import letters, pb
from hub_cluster import shard_of, wait_until
from hub_site import Site, figures_of
from nats_wire import NoAnswer, Refused
from uplink import Uplink

pytestmark = hub_cluster.needs_hub
HOSTS = {"ap1": "campus", "ap2": "campus"}
LABELS = ["topic:jazz", "geo:u281zd", "place:bar"]
HOUR = 3600 * 1000


@pytest.fixture(scope="module")
def hub():
    made = hub_cluster.Hub(conftest.storage_root(), HOSTS)
    try:
        made.start().wait_ready().make_streams()
        yield made.wait_current()
    finally:
        made.remove()


@pytest.fixture
def reader(hub, make_daemon):
    site = Site(hub, make_daemon, "reader", {"ap1": "replica"})
    try:
        site.start()
        yield site
        site.stop()
    finally:
        site.remove()


@pytest.fixture
def owner(hub):
    with Owner(hub, "ap1") as one:
        yield one
        one.forget()


def now_ms():
    return time.time_ns() // 1_000_000


class Owner:
    """Publishes states as an access point's bridge does."""

    def __init__(self, hub, host):
        self.hub, self.host, self.shard = hub, host, shard_of(host)
        self.nats, self.sent = hub.connect(host), 0
        self.nats.subscribe(f"{self.nats.inbox}.acks")

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.nats.close()

    def send(self, last, tree=None, **body):
        """Publishes a state, and does not wait."""
        letter = letters.Letter(version=1, change=pb.Change(**body))
        self.sent += 1
        self.nats.publish(f"h.{tree or self.shard}.{self.host}.{last}", letter.SerializeToString(),
                          f"{self.nats.inbox}.acks")

    def settle(self):
        """Waits until all that was sent is stored."""
        while self.sent:
            ack = json.loads(self.nats.next(f"{self.nats.inbox}.acks").data)
            assert "error" not in ack, ack
            self.sent -= 1

    def message(self, id, payload=b"hello", state=0, reports=0, expires_ms=None, decision=None):
        made = wire.deposit_of(random.Random(id), LABELS, payload=payload)
        self.send(id.hex(), decision=decision, message=pb.ExportedMessage(
            id=id, filter=made.filter, payload=payload, media_type="text/plain", state=state,
            reports=reports, deposited_ms=now_ms() - 1000, expires_ms=expires_ms or now_ms() + HOUR))

    def head(self):
        """As an owner writes it each 30 s."""
        letter = letters.Letter(version=1, head=letters.Head(store_id=bytes(16), seq=1, as_of_ms=now_ms()))
        self.sent += 1
        self.nats.publish(f"h.{self.shard}.{self.host}.-", letter.SerializeToString(), f"{self.nats.inbox}.acks")

    def gone(self, id, why=pb.WAS_WITHDRAWN):
        self.send(id.hex(), gone=pb.Gone(id=id, until_ms=now_ms() + HOUR, why=why))

    def forget(self):
        """Takes all of the host from the hub."""
        for stream, subject in [(f"h_{self.shard}", f"h.{self.shard}.{self.host}.>"),
                                ("rule", f"h.rule.{self.host}.>"), ("rule", f"o.rule.{self.host}.>"),
                                ("o", f"o.{self.shard}.{self.host}.>")]:
            with self.hub.connect("reader") as nats:
                nats.api(f"STREAM.PURGE.{stream}", filter=subject)


def stored(hub, host, tree="h"):
    """{subject: how many states} of a host at the hub."""
    stream = f"h_{shard_of(host)}" if tree == "h" else "o"
    with hub.connect("reader") as nats:
        state = nats.api(f"STREAM.INFO.{stream}",
                         subjects_filter=f"{tree}.{shard_of(host)}.{host}.>")["state"]
        return state.get("subjects") or {}


def blocks_with(hub, marker):
    """The files of streams, without the servers' logs of what is to be stored, that have the text."""
    return [path for path in hub.holding(marker) if "/streams/" in str(path)]


def test_superseded_states_are_overwritten(hub, reader, owner, rng):
    del reader
    marker = rng.randbytes(16).hex().encode()
    ids = [rng.randbytes(16) for _ in range(5)]
    for id in ids:
        owner.message(id, payload=marker)
    owner.settle()
    wait_until(lambda: len(blocks_with(hub, marker)) == 3, "all three servers")
    for id in ids:
        owner.message(id, payload=marker, reports=1)
        owner.gone(id)
    owner.settle()
    wait_until(lambda: set(stored(hub, "ap1").values()) == {1}, "one state of each")
    wait_until(lambda: not blocks_with(hub, marker), "no trace in the streams")


def test_what_was_superseded_while_no_bridge_ran_is_overwritten(hub, reader, owner, rng):
    marker = rng.randbytes(16).hex().encode()
    reader.bridge.stop()
    id = rng.randbytes(16)
    owner.message(id, payload=marker)
    owner.gone(id)
    owner.settle()
    wait_until(lambda: len(blocks_with(hub, marker)) == 3, "all three servers")
    reader.bridge.start()
    wait_until(lambda: not blocks_with(hub, marker), "no trace in the streams")


def shown(site, host="ap1"):
    return {id: message.payload for id, message in site.exported(host).items()}


def test_states_arrive(hub, reader, owner, rng):
    messages = {rng.randbytes(16): rng.randbytes(20) for _ in range(600)}
    for id, payload in messages.items():
        owner.message(id, payload=payload)
    owner.settle()
    wait_until(lambda: shown(reader) == messages, "all messages")
    for id in list(messages)[::2]:
        owner.gone(id)
        del messages[id]
    hidden = next(iter(messages))
    owner.message(hidden, payload=messages.pop(hidden), state=4)
    owner.settle()
    wait_until(lambda: shown(reader) == messages, "what is left")
    wait_until(lambda: "has all that the hub has" in reader.bridge.status(), "the reader")
    reader.bridge.kill()
    reader.bridge.start()
    wait_until(lambda: "has all that the hub has" in reader.bridge.status(), "the bridge")
    assert shown(reader) == messages


def words(hub, host="ap1"):
    """What operators say of a host at the hub: {subject: Change}."""
    found = {}
    for stream, tree in (("o", f"o.{shard_of(host)}"), ("rule", "o.rule")):
        with hub.connect("reader") as nats:
            state = nats.api(f"STREAM.INFO.{stream}", subjects_filter=f"{tree}.{host}.>")["state"]
            for subject in state.get("subjects") or {}:
                try:
                    got = nats.api(f"STREAM.MSG.GET.{stream}", last_by_subj=subject)["message"]
                except Refused as refusal:
                    if refusal.args[0]["code"] != 404:
                        raise
                    continue  # it has ended since the hub named its subject
                found[subject] = letters.Letter.FromString(base64.b64decode(got["data"])).change
    return found


def test_an_operators_word_reaches_the_hub_and_ends_there(hub, reader, owner, rng):
    """Not before what the owner published is overwritten; and when the owner says the same, it is gone."""
    marker = rng.randbytes(16).hex().encode()
    id, other = rng.randbytes(16), rng.randbytes(16)
    owner.message(id, payload=marker)
    owner.message(other)
    owner.settle()
    wait_until(lambda: set(shown(reader)) == {id, other}, "both")
    with reader.daemon.administrator() as operator:
        operator.call(pb.Remove(host="ap1", id=id))
    assert set(shown(reader)) == {other}
    said = wait_until(lambda: words(hub), "the word")
    assert list(said) == [f"o.{shard_of('ap1')}.ap1.{id.hex()}"]
    change = said.popitem()[1]
    assert change.gone.id == id and change.gone.why == pb.WAS_REMOVED
    wait_until(lambda: not blocks_with(hub, marker), "no trace at the servers that follow")
    owner.message(id, payload=marker, reports=1)  # the owner does not know it yet
    owner.settle()
    wait_until(lambda: "has all that the hub has" in reader.bridge.status(), "the reader")
    assert set(shown(reader)) == {other}
    owner.gone(id, pb.WAS_REMOVED)
    owner.settle()
    wait_until(lambda: not words(hub), "the end of the word")
    wait_until(lambda: not blocks_with(hub, marker), "no trace in the streams")


def test_hiding_and_rules_are_words_too(hub, reader, owner, rng):
    id = rng.randbytes(16)
    owner.message(id)
    owner.settle()
    wait_until(lambda: set(shown(reader)) == {id}, "the message")
    with reader.daemon.administrator() as operator:
        operator.call(pb.Hide(host="ap1", id=id))
        operator.call(pb.Notice(host="ap1", text="Closed today", lang="en"))
    assert not shown(reader)
    said = wait_until(lambda: len(words(hub)) == 2 and words(hub), "two words").values()
    noticed = next(change for change in said if change.HasField("rule"))
    rule = noticed.rule
    assert rule.kind == 4 and b"Closed today" in rule.value
    hidden = next(change for change in said if change.HasField("message"))
    assert hidden.message.id == id and hidden.message.state == 4
    assert hidden.decision.number < noticed.decision.number
    assert hidden.decision.store_id == noticed.decision.store_id != b""
    owner.message(id, reports=1)  # the owner does not know it yet
    owner.message(id, state=4, reports=1)  # its own operator has hidden the message
    owner.settle()
    wait_until(lambda: "has all that the hub has" in reader.bridge.status(), "the reader")
    assert len(words(hub)) == 2 and not shown(reader)
    owner.message(id, state=4, reports=1, decision=hidden.decision)
    owner.send(f"{rule.kind}-{xxhash.xxh3_64_hexdigest(rule.value, seed=rule.kind)}", tree="rule", rule=rule,
               decision=noticed.decision)
    owner.settle()
    wait_until(lambda: not words(hub), "the end of both words")
    assert not shown(reader)


def test_what_expired_by_the_owners_clock_is_overwritten(hub, reader, owner, rng, tmp_path):
    """Whatever the reader's clock shows: what still lives for the owner stays, also an operator's word."""
    reader.bridge.stop()
    clock = Clock(str(tmp_path / "clock"))
    tmp_path.chmod(0o755)
    clock.move(24 * 3600, only_wall=True)
    reader.bridge.start(clock.environment())
    marker, living = rng.randbytes(16).hex().encode(), rng.randbytes(16)
    owner.head()
    owner.message(living)
    owner.message(rng.randbytes(16), payload=marker, expires_ms=now_ms() + 3000)
    owner.settle()
    wait_until(lambda: living in shown(reader), "the message")
    with reader.daemon.administrator() as operator:
        operator.call(pb.Remove(host="ap1", id=living))
    wait_until(lambda: words(hub), "the word")
    other = rng.randbytes(16)
    owner.message(other)
    owner.settle()
    wait_until(lambda: not blocks_with(hub, marker), "no trace in the streams")
    assert [change.gone.id for change in words(hub).values()] == [living]
    assert f"h.{owner.shard}.ap1.{other.hex()}" in stored(hub, "ap1")


def test_a_state_above_the_frame_is_left_out(hub, make_daemon, owner, rng):
    """The states behind it arrive, also those that were sent with it in one page."""
    site = Site(hub, make_daemon, "reader", {"ap1": "replica"}, limits="[limits]\nframe = 16K\npayload = 8K\n")
    try:
        messages = {rng.randbytes(16): rng.randbytes(500) for _ in range(60)}
        large = rng.randbytes(16)
        for n, (id, payload) in enumerate(messages.items()):
            owner.message(id, payload=payload)
            if n == 30:
                owner.message(large, payload=bytes(30_000))
        owner.settle()
        site.start()
        wait_until(lambda: shown(site) == messages, "all others")
        site.bridge.wait_log(f"{large.hex()}, a state of 30[0-9]* bytes, is left out, as hearsayd does not take it: "
                             "it is larger than `frame`")
        wait_until(lambda: "has all that the hub has" in site.bridge.status(), "the reader")
        assert "1 states left out" in site.bridge.status()
        assert figures_of(site.bridge.status("--metrics"))["reader_left_out_total"] == 1
        site.stop()
    finally:
        site.remove()


@pytest.fixture(name="make_reader")
def reader_maker(hub, make_daemon):
    made = []

    def make(roles, **options):
        made.append(Site(hub, make_daemon, "reader", roles, **options))
        return made[-1].start()
    try:
        yield make
        for site in made:
            site.stop()
    finally:
        for site in made:
            site.remove()


def test_a_full_reader_has_all_when_there_is_room(hub, make_reader, owner, rng):
    """Nothing else is held up: rules, what is gone, and other hosts. While messages are missing the reader gives no
    pages: they would look whole."""
    site = make_reader({"ap1": "replica", "ap2": "replica"}, of_host={"ap1": "messages = 3\n"})
    wait_until(lambda: site.bridge.status().count("has all that the hub has") == 2, "the reader")
    messages = {rng.randbytes(16): rng.randbytes(20) for _ in range(6)}
    with Owner(hub, "ap2") as other:
        for id, payload in messages.items():
            owner.message(id, payload=payload)
            other.message(id, payload=payload)
        owner.settle()
        other.settle()
        wait_until(lambda: shown(site, "ap2") == messages, "all of the other host")
        other.forget()
    site.bridge.wait_log("host ap1: hearsayd has no room for [1-9][0-9]* messages")
    wait_until(lambda: len(shown(site)) == 3 and "3 messages, bans or notices have no room" in site.bridge.status(), "what is missing")
    assert "hearsay_bridge_reader_no_room 3\n" in site.bridge.status("--metrics")
    with hub.connect("ap1") as nats, pytest.raises(NoAnswer):
        page(nats, seconds=1, kind=letters.STATES)
    for id in list(shown(site)):
        owner.gone(id)
        del messages[id]
    owner.settle()
    wait_until(lambda: shown(site) == messages, "the others", 3 * wire.PATIENCE)
    wait_until(lambda: site.bridge.status().count("has all that the hub has") == 2, "the reader")
    assert "hearsay_bridge_reader_no_room 0\n" in site.bridge.status("--metrics")
    site.bridge.wait_log("host ap1: nothing is left out any more")


def test_a_reader_that_gets_more_room_takes_what_is_missing(hub, make_reader, owner, rng):
    site = make_reader({"ap1": "replica"}, of_host={"ap1": "messages = 3\n"})
    messages = {rng.randbytes(16): rng.randbytes(20) for _ in range(6)}
    for id, payload in messages.items():
        owner.message(id, payload=payload)
    owner.settle()
    wait_until(lambda: "3 messages, bans or notices have no room" in site.bridge.status(), "what is missing")
    config = pathlib.Path(site.daemon.config_file)
    config.write_text(config.read_text(encoding="utf-8").replace("messages = 3", "messages = 30"), encoding="utf-8")
    site.daemon.restart()
    wait_until(lambda: shown(site) == messages, "all")


def test_a_host_that_fills_its_stream_gives_an_alarm(hub, make_reader, rng):
    """An access point that somebody has taken over publishes more ids than its owner may store: a reader takes no
    more than twice `messages`, and names the host. Others go on. An honest host is told of never."""
    site = make_reader({"ap1": "replica", "ap2": "replica"}, of_host={"ap1": "messages = 20\n"})
    wait_until(lambda: site.bridge.status().count("has all that the hub has") == 2, "the reader")
    with Owner(hub, "ap1") as rogue, Owner(hub, "ap2") as other:
        for _ in range(100):
            rogue.message(rng.randbytes(16))
        rogue.settle()
        site.bridge.wait_log("host ap1: ALARM: .*revoke its certificate")
        wait_until(lambda: re.search(r"ALARM: [^,]*, 60\n *states left out", site.bridge.status()), "the alarm")
        assert "hearsay_bridge_reader_alarms 1\n" in site.bridge.status("--metrics")
        id = rng.randbytes(16)
        other.message(id)
        other.settle()
        wait_until(lambda: set(shown(site, "ap2")) == {id}, "the other host")
        assert not any("host ap2: ALARM" in line for line in site.bridge.log)
        wait_until(lambda: len(shown(site)) == 20, "as many as the host may have")
        rogue.forget()
        other.forget()


def test_no_more_than_a_bound_waits_to_be_overwritten(hub, reader, owner, rng):
    """1,500 messages were withdrawn while no bridge ran: more than the queue takes."""
    reader.bridge.stop()
    ids = [rng.randbytes(16) for _ in range(1500)]
    for send in (owner.message, owner.gone):
        for id in ids:
            send(id)
        owner.settle()
    reader.bridge.start()
    most = 0

    def is_done():
        nonlocal most
        found = re.search(r"^hearsay_bridge_erase_waiting (\d+)$", reader.bridge.status("--metrics"), re.M)
        most = max(most, int(found[1])) if found else most
        return sum(stored(hub, "ap1").values()) == len(ids)
    wait_until(is_done, "one state of each", 3 * wire.PATIENCE)
    assert 0 < most <= 1024


def page(nats, seconds=None, **ask):
    """The answer to one request, or with `seconds` NoAnswer after them. Else asks again every few seconds, as a bridge
    does: a server that does not know yet that the reader listens drops a request, and so does a reader that has just
    begun to follow anew."""
    letter = letters.Letter(version=1, page_ask=letters.PageAsk(**ask)).SerializeToString()
    end = time.monotonic() + wire.PATIENCE
    while True:
        try:
            answer = nats.request("r.ap1", letter, seconds=seconds or 5)
            return letters.Letter.FromString(answer.data).page
        except NoAnswer:
            if seconds is not None or time.monotonic() > end:
                raise


def read_states(nats):
    """All pages of states: {id: payload, or None if the message is gone}."""
    got, after = {}, 0
    while True:
        one = page(nats, kind=letters.STATES, after=after, limit=100)
        for change in one.changes:
            if change.HasField("message"):
                got[change.message.id] = change.message.payload
            elif change.HasField("gone"):
                got[change.gone.id] = None
        if not one.more:
            return got
        after = one.next


def test_pages_give_all_that_a_reader_has(hub, reader, owner, rng):
    messages = {rng.randbytes(16): rng.randbytes(20) for _ in range(300)}
    for id, payload in messages.items():
        owner.message(id, payload=payload)
    gone = rng.randbytes(16)
    owner.gone(gone)
    owner.settle()
    with hub.connect("ap1") as nats:
        wait_until(lambda: read_states(nats) == {**messages, gone: None}, "all states")
        digest = page(nats, kind=letters.DIGEST, deposited_before_ms=now_ms(), expires_after_ms=now_ms())
        assert digest.count == len(messages) and digest.digest
        assert page(nats, kind=letters.DIGEST, deposited_before_ms=1, expires_after_ms=0).count == 0
        assert not page(nats, kind=letters.WORDS).changes


def test_questions_are_answered_while_the_reader_renews_its_interest(hub, reader, owner, rng):
    """A server may forget for which subjects others listen. So a reader says it again each minute; here each second.
    Questions by way of each server are answered, before, during and after."""
    owner.message(rng.randbytes(16))
    owner.settle()
    reader.bridge.stop()
    reader.bridge.start({"HEARSAY_BRIDGE_RENEW_MS": "1000"})
    wait_until(lambda: "has all that the hub has" in reader.bridge.status(), "the reader")

    def renewals():
        found = re.search(r"^hearsay_bridge_renewals_total (\d+)$", reader.bridge.status("--metrics"), re.M)
        return int(found[1]) if found else 0
    with contextlib.ExitStack() as stack:
        askers = [stack.enter_context(hub.connect("ap1", node)) for node in hub.nodes]
        for nats in askers:
            wait_until(lambda n=nats: is_answered(n), "the first answer")
        lost, before = 0, renewals()
        while renewals() < before + 3:
            for nats in askers:
                lost += not is_answered(nats, 10)
        # A server that stands still for longer than both subscriptions last may still lose one.
        assert lost <= 1


def is_answered(nats, seconds=1):
    try:
        return page(nats, seconds=seconds, kind=letters.STATES).changes
    except NoAnswer:
        return False


def test_words_come_in_pages(hub, reader, rng):
    """More than one page of them, the oldest first, and none is left out."""
    ids = [rng.randbytes(16) for _ in range(300)]
    shard = shard_of("ap1")
    with hub.connect("reader") as nats:
        for id in ids:
            gone = pb.Gone(id=id, until_ms=now_ms() + HOUR, why=pb.WAS_REMOVED)
            nats.request(f"o.{shard}.ap1.{id.hex()}",
                         letters.Letter(version=1, change=pb.Change(gone=gone)).SerializeToString())
    wait_until(lambda: "has all that the hub has" in reader.bridge.status(), "the reader")

    def read_pages():
        got, after = [], 0
        with hub.connect("ap1") as nats:
            while True:
                one = page(nats, seconds=10, kind=letters.WORDS, after=after)
                got += [change.gone.id for change in one.changes]
                if not one.more:
                    return got
                assert one.next > after
                after = one.next

    def are_all_there():
        try:
            return read_pages() == ids
        except NoAnswer:  # the hub may lose a request while it is busy; a bridge asks again
            return False
    wait_until(are_all_there, "all words in order")


def test_a_reader_takes_more_than_one_frame_has(hub, reader, owner, rng):
    """240 states of 1,000 bytes wait when the reader comes: several times the default frame."""
    reader.bridge.stop()
    messages = {rng.randbytes(16): rng.randbytes(1000) for _ in range(240)}
    for id, payload in messages.items():
        owner.message(id, payload=payload)
    owner.settle()
    reader.bridge.start()
    wait_until(lambda: messages.items() <= shown(reader).items(), "all messages")


def followers(hub, host):
    """The hub's consumers of the host's stream: {name: how many messages they were sent}. Those of a bridge that has
    ended are among them for a minute."""
    made = hub.ask(f"CONSUMER.LIST.h_{shard_of(host)}") or {}
    return {one["name"]: one["delivered"]["consumer_seq"] for one in made.get("consumers") or []}


def test_a_reader_does_not_wait_for_what_has_gone(hub, reader, owner, rng):
    """The hub has counted messages that are gone when the reader has room for them: none of them comes, so the
    reader has all that there is, and answers."""
    reader.stop()
    for _ in range(1200):
        owner.message(rng.randbytes(16))
    owner.settle()
    before = set(followers(hub, "ap1"))
    reader.bridge.start()

    def is_full():
        return any(sent >= 512 for name, sent in followers(hub, "ap1").items() if name not in before)
    wait_until(is_full, "as many as the reader has room for")
    owner.forget()
    reader.daemon.start()
    wait_until(lambda: "has all that the hub has" in reader.bridge.status(), "the reader")
    with hub.connect("ap1") as nats:
        assert page(nats, kind=letters.STATES).changes


def test_a_reader_whose_consumer_was_lost_asks_to_be_compared(hub, reader, owner):
    """A server that has lost a consumer may have lost messages, too: only the owner can tell."""
    owner.head()
    owner.settle()
    wait_until(lambda: "has all that the hub has" in reader.bridge.status(), "the reader")
    with hub.connect("ap1") as nats:
        assert page(nats, kind=letters.DIGEST, reader="reader", deposited_before_ms=now_ms(),
                    expires_after_ms=now_ms()).count == 0
    assert "reader_compared 1\n" in reader.bridge.status("--metrics")
    asked = "o.compare.ap1.reader"
    with hub.connect("ap1") as nats:
        nats.subscribe(asked)
        for name in followers(hub, "ap1"):
            with contextlib.suppress(Refused):  # those of an earlier bridge go by themselves
                hub.ask(f"CONSUMER.DELETE.h_{shard_of('ap1')}.{name}")
        wait_until(lambda: "not compared" in reader.bridge.status(), "the loss")
        owner.head()
        nats.next(asked)


def test_a_silent_owner_does_not_multiply_what_the_reader_asks_for(hub, reader, owner):
    """Its consumer is made anew again and again meanwhile. What was asked of the former ones still sends heartbeats,
    which are none of the new one: else it would be given up at once, too, and more be asked each time."""
    owner.head()
    owner.settle()
    wait_until(lambda: "has all that the hub has" in reader.bridge.status(), "the reader")
    made = set()
    end = time.monotonic() + 50
    while time.monotonic() < end:
        made |= followers(hub, "ap1").keys()
        time.sleep(0.5)
    with hub.connect("reader") as nats:
        nats.subscribe("_INBOX_reader.follow.>")
        beats, end = collections.Counter(), time.monotonic() + 10
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(NoAnswer):
                beats[".".join(nats.next(seconds=left).subject.split(".")[:3])] += 1
    assert len(made) <= 8 and max(beats.values()) <= 8, (made, beats)


def test_a_page_goes_to_the_askers_inbox_only(hub, reader, owner):
    wait_until(lambda: "has all that the hub has" in reader.bridge.status(), "the reader")
    ask = letters.Letter(version=1, page_ask=letters.PageAsk(kind=letters.WORDS)).SerializeToString()
    before = words(hub)
    with hub.connect("ap1") as nats:
        nats.publish("r.ap1", ask, f"o.{shard_of('ap1')}.ap1.77")
        page(nats, kind=letters.WORDS)  # asked later, answered later
    assert words(hub) == before


def status_text(site):
    """What `status` says, without its line breaks."""
    return " ".join(site.bridge.status().split())


def silence(site):
    return figures_of(site.bridge.status("--metrics"))["reader_silent_seconds"]


def test_status_says_since_when_an_access_point_is_silent(hub, reader, owner):
    wait_until(lambda: "silent its access point has never written" in status_text(reader), "a host without a head")
    before = time.time()
    owner.head()
    owner.settle()
    after = time.time()
    wait_until(lambda: "silent" not in status_text(reader), "the head")
    found = wait_until(lambda: re.search("silent its access point, since ([-0-9: ]+ UTC): it is off", status_text(reader)), "the time")
    since = calendar.timegm(time.strptime(found[1], "%Y-%m-%d %H:%M:%S UTC"))
    assert int(before) <= since <= after
    wait_until(lambda: silence(reader) > 1, "the metric")
    assert max(map(len, reader.bridge.status().splitlines())) <= 60
    reader.bridge.stop()
    reader.bridge.start()
    wait_until(lambda: f"silent its access point, since {found[1]}:" in status_text(reader), "the same time after a start")
    owner.head()
    owner.settle()
    wait_until(lambda: "silent" not in status_text(reader), "the next head")


def test_a_silence_goes_on_over_a_new_connection(hub, make_daemon, owner):
    uplink = Uplink(hub.ports)
    site = Site(hub, make_daemon, "reader", {"ap1": "replica"})
    uplink.rewrite(site.bridge.config)
    try:
        owner.head()
        owner.settle()
        site.start()
        before = wait_until(lambda: silence(site) > 3 and silence(site), "a silence")
        uplink.cut()
        site.bridge.wait_log("the connection to the hub is lost")
        uplink.mend()
        assert wait_until(lambda: silence(site), "the silence after the connection") >= before
        owner.head()
        owner.settle()
        wait_until(lambda: "silent" not in status_text(site), "the next head")
        site.stop()
    finally:
        site.remove()
        uplink.close()


def test_a_reader_that_cannot_store_is_in_trouble(hub, reader, owner, rng):
    wait_until(lambda: "has all that the hub has" in status_text(reader), "the reader")
    with contextlib.closing(sqlite3.connect(os.path.join(reader.daemon.data, "messages.db"),
                                            isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # so hearsayd cannot write
        owner.message(rng.randbytes(16))
        owner.settle()
        wait_until(lambda: "why hearsayd here does not take what the hub has" in status_text(reader), "the reason")
        assert reader.bridge.run("status").returncode == 1
    wait_until(lambda: "has all that the hub has" in status_text(reader), "room again")


def test_status_says_why_a_reader_is_behind(hub, reader, owner, rng):
    wait_until(lambda: "has all that the hub has" in status_text(reader), "the reader")
    reader.daemon.stop()
    wait_until(lambda: "ap1: behind why hearsayd here is away" in status_text(reader), "hearsayd is away")
    assert "reader_current 0\n" in reader.bridge.status("--metrics")
    owner.message(rng.randbytes(16))
    owner.settle()
    reader.bridge.stop()
    with hub.connect("reader") as nats:
        nats.api("STREAM.DELETE.o")
    try:
        reader.daemon.start()
        reader.bridge.start()
        wait_until(lambda: "ap1: behind why the hub says: stream not found; run setup-hub" in status_text(reader), "no stream")
    finally:
        hub.make_streams()
    wait_until(lambda: "has all that the hub has" in status_text(reader), "the streams")


def test_a_host_that_hearsayd_does_not_have_is_named_once(hub, reader, owner):
    """And again when it is another reason. hearsayd is asked each second meanwhile, and counts its refusals."""
    del hub, owner
    reader.stop()
    with open(reader.bridge.config, "a", encoding="utf-8") as file:
        file.write("hosts = ap2\n")
    reader.daemon.start()
    begin = len(reader.bridge.log)
    reader.bridge.start()

    def refusals():
        with reader.daemon.administrator() as operator:
            return sum(figure.value for figure in operator.call(pb.Stats()).figures
                       if figure.name.startswith("refused/") and figure.name.endswith("/requests_total"))
    wait_until(lambda: refusals() >= 4, "several questions")
    said = [line for line in reader.bridge.log[begin:] if "host ap2: " in line]
    assert len(said) == 1 and "hearsayd does not serve it to this bridge: " in said[0], said
    assert re.search("ap2: behind why hearsayd here does not serve it: .*ap2", status_text(reader))
    assert "reader_current 1\n" in reader.bridge.status("--metrics")
    assert reader.bridge.run("status").returncode == 1
    with open(reader.daemon.config_file, "a", encoding="utf-8") as file:
        file.write("[host ap2]\nrole = replica\n")
    reader.daemon.restart()
    reader.bridge.wait_log("host ap2: hearsayd serves it now", begin)
    wait_until(lambda: reader.bridge.status().count("has all that the hub has") == 2, "both hosts")
    assert sum("does not serve it" in line for line in reader.bridge.log[begin:]) == 1
