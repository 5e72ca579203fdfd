# SPDX-License-Identifier: Apache-2.0
"""What operators decide at a reader holds there and reaches the owner, whichever programs are away or killed
meanwhile. The last test puts the access point where core NATS brings it no word."""

import glob
import os
import random
import re
import shutil

import pytest

import conftest
import hearsay_wire as wire
import hub_cluster
from access_point import AccessPoint, access_points
from hearsay_wire import pb
from hub_cluster import wait_until
from hub_site import Site

pytestmark = hub_cluster.needs_hub
PATIENCE = 2 * wire.PATIENCE
DEAF = "ap9"  # its account imports no words
KINDS = {"hide", "show", "remove", "restore", "ban", "unban", "notice"}
BANNED, ALLOWED = bytes(range(32)), bytes(range(1, 33))


class DeafHub(hub_cluster.Hub):
    def write_servers(self):
        super().write_servers()
        for path in glob.glob(os.path.join(self.keys, "rights.conf")):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            words = re.compile(rf'^ *{{ stream: {{ account: HUB, subject: "o\.\w+\.{DEAF}\.>" }} }}\n', re.M)
            assert len(words.findall(text)) == 2
            with open(path, "w", encoding="utf-8") as file:
                file.write(words.sub("", text))


@pytest.fixture(scope="module", name="hub")
def hub_of_module():
    made = DeafHub(conftest.storage_root(), {f"ap{n}": "campus" for n in range(1, 11)})
    try:
        made.start().wait_ready().make_streams()
        yield made.wait_current()
    finally:
        made.remove()


class Pair:
    """An access point and a reader of its host, and what an operator decides at the reader."""

    def __init__(self, hub, make_daemon, root, host, rng):
        self.hub, self.host = hub, host
        self.point = AccessPoint(make_daemon, root, hub, host).start()
        self.reader = Site(hub, make_daemon, "reader", {host: "replica"}).start()
        self.ids = dict(zip(["hide", "show", "remove", "restore", "other"], self.point.deposit(rng, 5)))
        with self.point.daemon.administrator() as operator:
            operator.call(pb.Hide(host=host, id=self.ids["show"]))
            operator.call(pb.Ban(host=host, payload_hash=ALLOWED))
        # The reader may have the ban and the other messages before the one that is hidden.
        wait_until(lambda: self.hidden(self.reader.daemon) == {"show"} and ALLOWED in self.bans(self.reader.daemon)
                   and len(self.shown(self.reader.daemon)) == 4, "the owner's state at the reader", PATIENCE)

    def shown(self, daemon):
        with daemon.administrator() as operator:
            there = {message.id for message in operator.call(pb.Export(host=self.host)).messages}
        return {name for name, id in self.ids.items() if id in there}

    def hidden(self, daemon):
        with daemon.administrator() as operator:
            there = {message.id for message in operator.call(pb.Reported(host=self.host, withheld=True)).messages}
        return {name for name, id in self.ids.items() if id in there}

    def bans(self, daemon):
        with daemon.administrator() as operator:
            return {ban.payload_hash for ban in operator.call(pb.Bans(host=self.host)).bans}

    def decide(self, is_heard=False):
        """is_heard: the owner's bridge hears each decision at once, and a removal that the owner has carried out
        cannot be taken back."""
        away = pb.Hide if is_heard else pb.Remove
        with self.reader.daemon.administrator() as operator:
            for request in (pb.Hide(id=self.ids["hide"]), pb.Restore(id=self.ids["show"]),
                            pb.Remove(id=self.ids["remove"]), away(id=self.ids["restore"]),
                            pb.Restore(id=self.ids["restore"]), pb.Ban(payload_hash=BANNED),
                            pb.Unban(payload_hash=ALLOWED), pb.Notice(text="Closed today", lang="en")):
                request.host = self.host
                operator.call(request)

    def in_effect(self, daemon):
        shown, bans = self.shown(daemon), self.bans(daemon)
        with daemon.administrator() as operator:
            notices = operator.call(pb.Notice(host=self.host)).notices
        return ({name for name in ("show", "restore") if name in shown}
                | {name for name in ("hide", "remove") if name not in shown}
                | ({"ban"} if BANNED in bans else set()) | ({"unban"} if ALLOWED not in bans else set())
                | ({"notice"} if [one.text for one in notices] == ["Closed today"] else set()))

    def check_reader(self):
        """Nothing is undone, at no time."""
        assert self.in_effect(self.reader.daemon) == KINDS, "undone at the reader"

    def are_at_owner(self):
        self.check_reader()
        return self.in_effect(self.point.daemon) == KINDS

    def wait_confirmed(self):
        wait_until(self.are_at_owner, "the decisions at the owner", PATIENCE, self.tell)

        def is_confirmed():
            self.check_reader()
            return "hearsay_bridge_decisions_waiting 0\n" in self.reader.bridge.status("--metrics")
        wait_until(is_confirmed, "the confirmation", PATIENCE, lambda: self.reader.bridge.status())
        assert "hearsay_bridge_decisions_not_kept_total 0\n" in self.reader.bridge.status("--metrics")
        assert self.in_effect(self.point.daemon) == KINDS

    def tell(self):
        leaders = {name: hub_cluster.has_leader(self.hub.ask(f"STREAM.INFO.{name}"))
                   for name in (f"h_{hub_cluster.shard_of(self.host)}", "o", "rule")}
        return f"{self.reader.bridge.status()}\nstreams with a leader: {leaders}"

    # --- faults ---

    def kill(self, program):
        if program == "the hub":
            self.hub.kill_all()
        else:
            {"the reader's bridge": self.reader.bridge, "the reader's hearsayd": self.reader.daemon,
             "the owner's bridge": self.point.bridge, "the owner's hearsayd": self.point.daemon}[program].kill()

    def start(self, program):
        if program == "the hub":
            self.hub.start().wait_ready()
        else:
            {"the reader's bridge": self.reader.bridge, "the reader's hearsayd": self.reader.daemon,
             "the owner's bridge": self.point.bridge, "the owner's hearsayd": self.point.daemon}[program].start()


@pytest.fixture(name="make_pair")
def pair_maker(hub, make_daemon, rng):
    made = []
    with access_points() as (root, points):
        def make(host):
            pair = Pair(hub, make_daemon, root, host, rng)
            made.append(pair)
            points.append(pair.point)
            return pair
        try:
            yield make
            for pair in made:
                pair.reader.stop()
        finally:
            for pair in made:
                pair.reader.remove()


ALL = ["the reader's bridge", "the owner's bridge", "the owner's hearsayd", "the hub"]


@pytest.mark.parametrize("host, down", [
    ("ap1", ALL[:1]), ("ap2", ALL[1:2]), ("ap3", ALL[2:3]), ("ap4", ALL[3:]), ("ap5", ALL)],
    ids=["the reader's bridge", "the owner's bridge", "the owner's hearsayd", "the hub", "all"])
def test_decisions_while_something_is_away(make_pair, rng, host, down):
    """All seven kinds. Then hearsayd of the reader is killed, and what was away comes back in any order; each of it
    is killed once more as soon as it is there."""
    pair = make_pair(host)
    order = list(down)
    random.Random(rng.getrandbits(32)).shuffle(order)
    print("order:", order)
    for program in order:
        pair.kill(program)
    pair.decide(is_heard=down == ["the owner's hearsayd"])
    pair.check_reader()
    if "the reader's bridge" not in down:
        wait_until(lambda: re.search(rf"7 decisions wait for the owner '{host}' since\n    [-\d]{{10}} [:\d]{{8}} UTC\n",
                                     pair.reader.bridge.status()), "what `status` says", PATIENCE, pair.tell)
    pair.kill("the reader's hearsayd")
    pair.start("the reader's hearsayd")
    pair.check_reader()
    for program in order:
        pair.start(program)
        pair.check_reader()
        pair.kill(program)
        pair.check_reader()
        pair.start(program)
    pair.wait_confirmed()


def test_kills_between_any_two_steps(make_pair, rng):
    """Decisions are made while all is there; then programs are killed at random, until the owner has confirmed all."""
    pair = make_pair("ap6")
    choice = random.Random(rng.getrandbits(32))
    pair.decide(is_heard=True)
    for _ in range(8):
        pair.check_reader()
        program = choice.choice([*ALL[:3], "the reader's hearsayd"])
        print("killed:", program)
        pair.kill(program)
        pair.start(program)
    pair.wait_confirmed()


def test_a_word_that_core_nats_does_not_bring(make_pair):
    """The owner asks with each head. Its subscription to words brings nothing here, as after a server has lost it."""
    pair = make_pair(DEAF)
    pair.decide(is_heard=True)
    pair.wait_confirmed()


def test_a_word_that_is_stored_late(make_pair, hub):
    """A server of the hub stores a word when a later decision about the message has been confirmed. The reader does not
    give it to an owner that has lost its store, and with it which decisions it knows."""
    pair = make_pair("ap8")
    id = pair.ids["hide"]
    subject = f"o.{hub_cluster.shard_of('ap8')}.ap8.{id.hex()}"
    with hub.connect("reader") as ear, pair.reader.daemon.administrator() as operator:
        assert ear.subscribe(subject)
        operator.call(pb.Hide(host="ap8", id=id))
        late = ear.next(subject).data
        wait_until(lambda: "hide" not in pair.shown(pair.point.daemon), "the decision at the owner", PATIENCE)
        operator.call(pb.Restore(host="ap8", id=id))
        wait_until(lambda: "hearsay_bridge_decisions_waiting 0\n" in pair.reader.bridge.status("--metrics"),
                   "the confirmation", PATIENCE, pair.tell)
        assert "hide" in pair.shown(pair.point.daemon)
        pair.kill("the owner's bridge")
        pair.kill("the owner's hearsayd")
        shutil.rmtree(pair.point.daemon.data)
        assert b'"seq"' in ear.request(subject, late).data
        pair.start("the owner's hearsayd")
        pair.start("the owner's bridge")
        pair.point.daemon.wait_log("the messages of the copies are back")
        assert "hide" in pair.shown(pair.point.daemon)  # the words come before that line


def notices(daemon, host):
    with daemon.administrator() as operator:
        return {one.text: one.number for one in operator.call(pb.Notice(host=host)).notices}


def test_a_notice_waits_for_room(make_pair):
    """The owner has as many notices as it may have, so that one of the reader waits, and is not lost: it comes to the
    owner when another one goes."""
    pair = make_pair("ap10")
    pair.kill("the reader's bridge")
    for daemon, texts in ((pair.point.daemon, "abcde"), (pair.reader.daemon, "f")):
        with daemon.administrator() as operator:
            for text in texts:
                operator.call(pb.Notice(host="ap10", text=text))
    pair.start("the reader's bridge")
    pair.point.bridge.wait_log("a notice or a ban of an operator at a copy waits there until another one is lifted")
    assert set(notices(pair.point.daemon, "ap10")) == set("abcde") and "f" in notices(pair.reader.daemon, "ap10")
    with pair.point.daemon.administrator() as operator:
        operator.call(pb.Notice(host="ap10", drop=notices(pair.point.daemon, "ap10")["a"]))
    for daemon in (pair.point.daemon, pair.reader.daemon):
        wait_until(lambda d=daemon: set(notices(d, "ap10")) == set("bcdef"), "the notices", PATIENCE)


def test_a_decision_that_the_owner_does_not_keep(make_pair):
    """The message is gone at its owner before the operator at the reader brings it back: log and `status` say so, and
    nothing waits for ever."""
    pair = make_pair("ap7")
    pair.kill("the reader's bridge")
    before = pair.point.bridge.figures()["published_total"]
    with pair.point.daemon.administrator() as operator:
        operator.call(pb.Remove(host="ap7", id=pair.ids["show"]))
    wait_until(lambda: pair.point.bridge.figures()["published_total"] > before, "the removal at the hub", PATIENCE)
    pair.kill("the owner's bridge")  # else the later decision may come to it before the reader knows of its own
    with pair.reader.daemon.administrator() as operator:
        operator.call(pb.Restore(host="ap7", id=pair.ids["show"]))
    pair.start("the reader's bridge")
    pair.reader.daemon.wait_log(f"the owner does not keep .* about message {pair.ids['show'].hex()}: the message is gone")
    wait_until(lambda: "1 decision was not kept by the owner 'ap7'" in pair.reader.bridge.status(), "what `status` says",
               PATIENCE)
    assert "show" not in pair.shown(pair.reader.daemon)
    wait_until(lambda: "hearsay_bridge_decisions_waiting 0\n" in pair.reader.bridge.status("--metrics"), "the end",
               PATIENCE)
