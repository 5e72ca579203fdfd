# SPDX-License-Identifier: Apache-2.0
"""S8: one device fills the store and pushes out what others left; one device hides any message."""

import contextlib
import select

import devices
import hearsay_wire as wire
import pytest
from hearsay_wire import pb

TOPIC = ["topic:market"]
NO_RATES = "deposits_per_minute = 0\nqueries_per_minute = 0\nsessions_per_address = 32\n"


def limited(make_daemon, host=""):
    """devices.limited without rates; `host` are lines of [host default]."""
    return devices.limited(make_daemon, f"[limits]\n{NO_RATES}[host default]\n{host}")


def deposit(client, rng, labels=None, **fields):
    """Leaves a message: its id."""
    made = wire.deposit_of(rng, labels or TOPIC, **fields)
    client.call(made)
    return made.id


def try_deposits(client, rng, count, **fields):
    """How many of so many are taken; the others get QUOTA."""
    taken = 0
    for _ in range(count):
        try:
            deposit(client, rng, [f"topic:noise{rng.randrange(1000)}"], **fields)
            taken += 1
        except wire.Refused as refusal:
            assert refusal.code == "QUOTA", refusal
    return taken


def is_there(client, message_id):
    try:
        client.call(pb.Get(id=message_id))
        return True
    except wire.Refused as refusal:
        assert refusal.code == "NOT_FOUND"
        return False


def figures(daemon):
    with daemon.administrator() as administrator:
        taken = administrator.call(pb.Stats())
        return {figure.name: figure.value for figure in taken.figures}


# --- storage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("evict", ["oldest", "soonest-expiring", "reject"])
def test_one_address_has_a_16th(make_daemon, rng, evict):
    """64 messages of 16 others stay, and one address has 16 of 256 however many it sends."""
    daemon, address, ipv4 = limited(make_daemon, f"messages = 256\nevict = {evict}\n")
    left = []
    for n in range(16):
        with wire.Client(ipv4, source=f"127.0.1.{n + 1}") as other:
            left += [(n, deposit(other, rng)) for _ in range(4)]
    with wire.Client(address, source=devices.DEVICES[0]) as attacker:
        taken = try_deposits(attacker, rng, 300)
        assert taken == (16 if evict == "reject" else 300)
        assert all(is_there(attacker, message_id) for _, message_id in left)
    assert figures(daemon)["host/default/messages"] == 64 + 16
    with wire.Client(ipv4, source="127.0.1.1") as other:
        deposit(other, rng)  # the right to deposit stays


def test_its_own_oldest_go_first(make_daemon, rng):
    """An address that is over its share keeps its 16 newest."""
    _, address, _ = limited(make_daemon, "messages = 256\nevict = soonest-expiring\n")
    with wire.Client(address, source=devices.DEVICES[0]) as attacker:
        ids = [deposit(attacker, rng, ttl_s=100 + n % 7) for n in range(40)]
        assert [is_there(attacker, one) for one in ids] == [False] * 24 + [True] * 16


@pytest.mark.parametrize("evict", ["oldest", "soonest-expiring"])
def test_sending_again_what_goes(make_daemon, rng, evict):
    """A message that makes room for a new one, and is sent again in the same moment, pushes out no
    message of others, and gives its sender no more than its share."""
    daemon, address, ipv4 = limited(make_daemon, f"messages = 256\nevict = {evict}\n")
    left = []
    for n in range(16):
        with wire.Client(ipv4, source=f"127.0.1.{n + 1}") as other:
            left += [deposit(other, rng) for _ in range(4)]
    with wire.Client(address, source=devices.DEVICES[0]) as attacker:
        own = [wire.deposit_of(rng, TOPIC) for _ in range(16)]
        for made in own:
            attacker.call(made)
        for _ in range(40):
            fresh = wire.deposit_of(rng, TOPIC)
            attacker.pipeline([fresh, *own])
            own = [*own[1:], fresh]
        gone = [message_id for message_id in left if not is_there(attacker, message_id)]
        assert len(gone) == 0, f"{len(gone)} of 64"
    assert figures(daemon)["host/default/messages"] == 64 + 16


def test_bytes_have_a_share(make_daemon, rng):
    """A 16th of the bytes, too; a single message that is larger is taken all the same."""
    _, address, ipv4 = limited(make_daemon, "bytes = 64K\nevict = reject\n")
    with wire.Client(address, source=devices.DEVICES[0]) as attacker:
        assert try_deposits(attacker, rng, 50, payload=b"x" * 500) == 7  # of 574 bytes
    with wire.Client(ipv4, source="127.0.1.1") as other:
        assert try_deposits(other, rng, 3, payload=b"x" * 4096) == 1


@pytest.mark.parametrize("evict", ["oldest", "reject"])
def test_a_network_has_a_half(make_daemon, rng, evict):
    """64 addresses of one /64 have half of the host; others elsewhere keep what they have."""
    daemon, address, ipv4 = limited(make_daemon, f"messages = 128\nevict = {evict}\n")
    left = []
    for n in range(10):
        with wire.Client(ipv4, source=f"127.0.1.{n + 1}") as other:
            left += [deposit(other, rng) for _ in range(6)]
    for n in range(64):
        with wire.Client(address, source=devices.DEVICES[n]) as attacker:
            try_deposits(attacker, rng, 8)
    assert figures(daemon)["host/default/messages"] == 60 + 64
    with wire.Client(ipv4, source="127.0.1.200") as other:
        assert all(is_there(other, message_id) for message_id in left)
        assert try_deposits(other, rng, 4) == 4


def test_a_withdrawal_makes_room(make_daemon, rng):
    """Counts are exact over withdrawal, expiry, and removal."""
    daemon, address, _ = limited(make_daemon, "messages = 64\nevict = reject\nremove_after = 0\n")
    token = rng.randbytes(32)
    with wire.Client(address, source=devices.DEVICES[0]) as client:
        for ending in ("withdraw", "remove", "expire") * 3:
            fields = {"withdraw_hash": wire.withdraw_hash(token)}
            if ending == "expire":
                fields["ttl_s"] = 1
            ids = [deposit(client, rng, **fields) for _ in range(4)]
            assert client.refused(wire.deposit_of(rng, TOPIC)).code == "QUOTA"
            if ending == "withdraw":
                for one in ids:
                    client.call(pb.Withdraw(id=one, token=token))
            elif ending == "remove":
                with daemon.administrator() as administrator:
                    for one in ids:
                        administrator.call(pb.Remove(id=one))
            else:
                wire.wait_until(lambda: figures(daemon)["host/default/messages"] == 0,
                                "what expired is gone")


# --- hiding ---------------------------------------------------------------------------------------

HIDE_AFTER, PER_HOUR = 5, 6


def report_all(address, sources, ids):
    """Each of the sources reports each message."""
    for source in sources:
        with wire.Client(address, source=source) as client:
            for message_id in ids:
                try:
                    client.call(pb.Report(id=message_id, reason="spam"))
                except wire.Refused as refusal:
                    assert refusal.code == "NOT_FOUND"  # it is hidden already


def left_by_others(address, rng, count):
    ids = []
    for n in range(count):
        with wire.Client(address, source=f"127.0.3.{n + 1}") as other:
            ids.append(deposit(other, rng))
    return ids


def count_there(daemon, ids):
    with daemon.client() as reader:
        return sum(is_there(reader, message_id) for message_id in ids)


def test_a_network_hides_a_few_in_an_hour(make_daemon, rng):
    """16 addresses of one /64 report 30 messages: 6 are hidden, the rest is the operator's."""
    daemon, address, ipv4 = limited(make_daemon)
    ids = left_by_others(ipv4, rng, 60)[:30]  # a fifth of what is shown is more than PER_HOUR
    report_all(address, devices.DEVICES[:16], ids)
    assert count_there(daemon, ids) == 30 - PER_HOUR
    with daemon.administrator() as administrator:
        listed = administrator.call(pb.Reported(limit=100))
    assert len(listed.messages) == 30, "the operator's list has all"
    warnings = [line for line in daemon.log if line and "hide_per_hour" in line]
    assert len(warnings) == 1, "one warning, not one for each message"
    assert figures(daemon)["host/default/hides_withheld_total"] > 0


def test_honest_reports_hide_meanwhile(make_daemon, rng):
    """While one /64 has spent its bound, 5 senders from elsewhere hide a message, as ever."""
    daemon, address, ipv4 = limited(make_daemon)
    ids = left_by_others(ipv4, rng, 60)[:20]
    report_all(address, devices.DEVICES[:16], ids[:10])
    assert count_there(daemon, ids) == 20 - PER_HOUR
    honest = [f"127.0.4.{n + 1}" for n in range(HIDE_AFTER)]
    report_all(ipv4, honest[:-1], ids[15:16])
    assert count_there(daemon, ids[15:16]) == 1
    report_all(ipv4, honest[-1:], ids[15:16])
    assert count_there(daemon, ids[15:16]) == 0
    # What attackers report now does not count, also beside honest reports.
    report_all(address, devices.DEVICES[:16], ids[16:17])
    report_all(ipv4, honest[:-1], ids[16:17])
    assert count_there(daemon, ids[16:17]) == 1
    report_all(ipv4, honest[-1:], ids[16:17])
    assert count_there(daemon, ids[16:17]) == 0


def test_an_ipv4_address_has_a_bound(make_daemon, rng):
    """With IPv4, and for a /64 that is further away, it is the sender's."""
    daemon, address, ipv4 = limited(make_daemon, "hide_after = 1\nhide_per_hour = 2\n")
    ids = left_by_others(ipv4, rng, 40)[:12]
    report_all(ipv4, ["127.0.5.1"], ids[:4])
    report_all(ipv4, ["127.0.5.2"], ids[4:8])
    report_all(address, devices.ELSEWHERE[:1], ids[8:])
    for n in range(0, 12, 4):
        assert count_there(daemon, ids[n:n + 4]) == 2


def report_in_turn(address, sources, ids, **fields):
    """Each message is reported by HIDE_AFTER sources, the next message by the next ones."""
    clients = [wire.Client(address, source=source) for source in sources]
    for n, message_id in enumerate(ids):
        for k in range(HIDE_AFTER):
            with contextlib.suppress(wire.Refused):
                clients[(n * HIDE_AFTER + k) % len(clients)].call(pb.Report(id=message_id, **fields))
    for client in clients:
        client.close()


def report_one_by_one(address, sources, message_id):
    for source in sources:
        with wire.Client(address, source=source) as client:
            client.call(pb.Report(id=message_id))


CROWD = [f"127.0.6.{n + 1}" for n in range(16)]


def test_each_reporter_pays(make_daemon, rng):
    """16 senders have 6 reports an hour each that count, so 5 of them for each message hide 19 at most."""
    daemon, _, ipv4 = limited(make_daemon)
    ids = left_by_others(ipv4, rng, 200)
    report_in_turn(ipv4, CROWD, ids)
    assert 200 - count_there(daemon, ids) == 16 * PER_HOUR // HIDE_AFTER


def test_a_crowd_hides_a_fifth(make_daemon, rng):
    """Many senders hide a fifth of what is shown; a line of the log says so, and `wait` rings."""
    daemon, _, ipv4 = limited(make_daemon, "hide_per_hour = 1000\n")
    ids = left_by_others(ipv4, rng, 40)
    with daemon.administrator() as administrator:
        report_in_turn(ipv4, CROWD, ids[:6])
        assert count_there(daemon, ids) == 34, "a fifth of 34 is 6"
        assert figures(daemon).get("host/default/hides_withheld_total") is None
        assert administrator.call(pb.Wait()).count == 6
        report_in_turn(ipv4, CROWD[:HIDE_AFTER - 1], ids[20:21])
        assert administrator.call(pb.Wait()).id == ids[20]
        waiting = administrator.post(pb.Wait())
        report_in_turn(ipv4, CROWD, ids[20:21])  # the fifth sender
        assert administrator.receive().waited.id == ids[20], waiting
        report_in_turn(ipv4, CROWD, ids[6:20])
        assert count_there(daemon, ids) == 34
        listed = administrator.call(pb.Reported(limit=100)).messages
        assert {m.id for m in listed[:15]} == {*ids[6:21]}, "what a bound keeps shown is first"
    warnings = [line for line in daemon.log if line and "a fifth of what is shown" in line]
    assert len(warnings) == 1, "one warning, not one for each message"


def test_decoys_are_no_shield(make_daemon, rng):
    """Whoever has messages of their own hidden, so that the bound is reached, is not safe from others: twice as
    many senders hide the next message, and four times as many the one after the next fifth."""
    daemon, _, ipv4 = limited(make_daemon, "hide_per_hour = 1000\n")
    left_by_others(ipv4, rng, 7)
    with wire.Client(ipv4, source="127.0.7.1") as troll:
        decoys = [deposit(troll, rng) for _ in range(3)]
        real = [deposit(troll, rng) for _ in range(4)]
    report_in_turn(ipv4, CROWD[:HIDE_AFTER], decoys)
    assert count_there(daemon, decoys) == 0
    guests = [f"127.0.8.{n + 1}" for n in range(4 * HIDE_AFTER)]
    for message_id, needed in zip(real, [2 * HIDE_AFTER] * 3 + [4 * HIDE_AFTER]):
        report_one_by_one(ipv4, guests[:needed - 1], message_id)
        assert count_there(daemon, [message_id]) == 1
        report_one_by_one(ipv4, guests[needed - 1:needed], message_id)
        assert count_there(daemon, [message_id]) == 0


@pytest.mark.parametrize("kind", [pb.ILLEGAL, pb.ABOUT_ME])
def test_grave_reports_always_hide(make_daemon, rng, kind):
    """What cannot wait is hidden by enough senders whatever else they have reported."""
    daemon, _, ipv4 = limited(make_daemon, "hide_per_hour = 1\n")
    ids = left_by_others(ipv4, rng, 10)
    report_in_turn(ipv4, CROWD[:HIDE_AFTER], ids[:5])
    assert count_there(daemon, ids) == 9
    report_in_turn(ipv4, CROWD[:HIDE_AFTER - 1], ids[5:], kind=kind)
    assert count_there(daemon, ids) == 9
    report_in_turn(ipv4, CROWD[HIDE_AFTER - 1:HIDE_AFTER], ids[5:], kind=kind)
    assert count_there(daemon, ids) == 4


# --- the operator's list --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pb.SPAM, pb.ABOUT_ME])
@pytest.mark.parametrize("reporters", [1, 3], ids=["one-device", "three-addresses"])
def test_fillers_do_not_bury_a_report(make_daemon, rng, kind, reporters):
    """Whoever reports 55 messages of their own does not push what is about somebody out of sight."""
    daemon, _, ipv4 = limited(make_daemon)
    with wire.Client(ipv4, source="127.0.7.1") as author:
        victims = deposit(author, rng)
    report_all_of(ipv4, "127.0.7.2", [victims], pb.ABOUT_ME)
    with wire.Client(ipv4, source=CROWD[0]) as filler:
        ids = [deposit(filler, rng) for _ in range(55)]
    for source in CROWD[:reporters]:
        report_all_of(ipv4, source, ids, kind)
    with daemon.administrator() as administrator:
        pages = list_pages(administrator, 10)
    first = 1 if kind == pb.ABOUT_ME and reporters > 1 else 0
    assert pages[0][first] == victims
    assert sorted(sum(pages, [])) == sorted([victims, *ids]), "all are on some page, and once"
    assert len(pages) == 6


def report_all_of(address, source, ids, kind):
    with wire.Client(address, source=source) as client:
        for message_id in ids:
            client.call(pb.Report(id=message_id, kind=kind))


def list_pages(administrator, limit):
    """The ids on each page of the list."""
    pages, after = [], {}
    while not pages or after:
        listed = administrator.call(pb.Reported(limit=limit, **after))
        pages.append([message.id for message in listed.messages])
        after = {"after": listed.next} if listed.next else {}
    return pages


# --- honest phones --------------------------------------------------------------------------------


class Phone:
    """One of a guest network: it watches, deposits, asks, reports and connects again."""

    def __init__(self, address, source, rng):
        self.address, self.source, self.rng = address, source, rng
        self.client = wire.Client(address, source=source)
        self.labels = [f"topic:{source}", f"topic:{source} again", f"topic:{source} too", "wifi:02:00:00:00:00:01"]
        self.ids = []

    def act(self):
        self.ids.append(deposit(self.client, self.rng, self.labels))
        found = self.client.call(wire.query_of(self.labels, k=40, max_distance=400_000))
        assert {result.id for result in found.results} == set(self.ids), "all, and nothing else"

    def report(self, message_id):
        self.client.call(pb.Report(id=message_id, reason="rude"))

    def connect_again(self):
        self.client.close()
        self.client = wire.Client(self.address, source=self.source)
        self.client.call(pb.Ping())


EACH = 16  # sessions of an address, as many as it may have


class Attack:
    """16 addresses that hold sessions, deposit and report, one step after the other."""

    def __init__(self, address, sources, rng):
        self.address, self.sources, self.rng = address, sources, rng
        self.held = []

    def step(self, victims):
        """Takes as many sessions as there may be, leaves messages, reports what others left. Once all
        sessions are taken, each new one costs the attackers one of their own."""
        for source in self.sources:
            made = [devices.greeted(self.address, source) for _ in range(EACH)]
            self.held += [client for client in made if client is not None]
        self.forget_ended()
        for client in self.of_each():
            with contextlib.suppress(wire.Ended, OSError, AssertionError):
                try_deposits(client, self.rng, 4)
                for message_id in victims:
                    with contextlib.suppress(wire.Refused):
                        client.call(pb.Report(id=message_id))

    def of_each(self):
        """A session of each source that still has one."""
        return {client.socket.getsockname()[0]: client for client in self.held}.values()

    def forget_ended(self):
        poll = select.poll()
        for client in self.held:
            poll.register(client.socket, select.POLLIN)
        ended = {file for file, _ in poll.poll(0)}
        for client in self.held:
            if client.socket.fileno() in ended:
                client.close()
        self.held = [client for client in self.held if client.socket.fileno() >= 0]

    def close(self):
        for client in self.held:
            client.close()


@pytest.mark.parametrize("from_inside", [True, False], ids=["own-network", "elsewhere"])
def test_20_phones_in_one_network(make_daemon, rng, from_inside):
    """20 honest phones in one /64 deposit, ask, report, hide and connect, all of it, beside 16
    attacking addresses: of the same /64, or of IPv4."""
    daemon, address, ipv4 = limited(make_daemon, "messages = 512\nevict = oldest\n")
    phones = [Phone(address, source, rng) for source in devices.DEVICES[100:120]]
    rude = left_by_others(ipv4, rng, 2)
    attack = Attack(*((address, devices.DEVICES[:16]) if from_inside else
                      (ipv4, [f"127.0.6.{n + 1}" for n in range(16)])), rng)
    for turn in range(4):
        for phone in phones:
            phone.connect_again()
            phone.act()
        # Reports of the same /64 have one bound together: the phones hide before it is spent.
        if turn < 2:
            for phone in phones[5 * turn:5 * turn + HIDE_AFTER]:
                phone.report(rude[turn])
            assert count_there(daemon, [rude[turn]]) == 0
        attack.step([phones[turn].ids[0]] if turn == 3 else [])
    for phone in phones:
        phone.connect_again()
        assert len([one for one in phone.ids if is_there(phone.client, one)]) >= 3, "its own stay"
        phone.client.close()
    attack.close()
