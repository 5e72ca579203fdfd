# SPDX-License-Identifier: Apache-2.0
"""kill -9 in the middle of work: what was acknowledged is there, and nothing is half there.

HEARSAY_KILL_ROUNDS in the environment: how often the daemon is killed under load.
"""

import os
import select
import threading

import pytest

import hearsay_wire as wire
from hearsay_wire import pb

ROUNDS = int(os.environ.get("HEARSAY_KILL_ROUNDS", "5"))
CLIENTS = 4
WINDOW = 256  # requests a client has in flight
QUERY = 9  # the number of all queries; deposits have even ones, withdrawals odd ones
FIRST = 10


def change_log(daemon, change):
    """Kills the daemon, changes its log as failing storage would, and starts it again."""
    daemon.kill()
    path = os.path.join(daemon.data, "messages.db-wal")
    with open(path, "rb") as file:
        log = bytearray(file.read())
    change(log)
    with open(path, "wb") as file:
        file.write(log)
    daemon.start()


def flip_a_bit(log):
    log[len(log) // 2] ^= 1


def zero_the_header(log):
    log[:32] = bytes(32)


@pytest.mark.parametrize("change", [flip_a_bit, zero_the_header, lambda log: None])
def test_a_damaged_log_is_told(make_daemon, rng, change):
    """A log whose end recovery cannot reach loses messages: the start says so."""
    daemon = make_daemon()
    with daemon.client() as client:
        client.call(wire.deposit_of(rng, ["topic:crash"]))
    daemon.restart()  # with a log that begins with messages
    with daemon.administrator() as client:
        sent = [wire.deposit_of(rng, ["topic:crash"], payload=rng.randbytes(100))
                for _ in range(30)]
        for one in sent:
            client.call(one)
    change_log(daemon, change)
    with daemon.administrator() as client:
        left = sum(answer.HasField("got")
                   for answer in client.pipeline([pb.Get(id=one.id) for one in sent]))
    warned = daemon.find_log(r"warning: the log \S+messages\.db-wal (is|has)")
    assert (left < 30) == bool(warned), f"{left} of 30 messages are left"
    assert (left < 30) == (change in (flip_a_bit, zero_the_header))


class Depositor(threading.Thread):
    """Deposits, withdraws and asks, pipelined, until the connection breaks.

    Knows what it sent and what was confirmed.
    """

    def __init__(self, daemon, rng, name, progress, withdraws=True):
        super().__init__(daemon=True)  # a test that fails must end all the same
        self.client = daemon.client()
        self.rng, self.prefix, self.progress = rng, name, progress
        self.withdraws = withdraws
        self.token = rng.randbytes(32)
        self.sent, self.labels, self.acknowledged = [], [], {}
        self.withdrawing, self.withdrawn = set(), set()
        self.failure = None

    def next_frame(self):
        number = len(self.sent)
        # Several labels of its own: a single one has but 17 bits of entropy in 512/4.
        labels = [f"{kind}:{self.prefix}-{number}" for kind in ("topic", "wifi", "geo", "time")]
        payload = self.rng.randbytes(self.rng.choice([0, 20, 200, 1500]))
        self.sent.append(wire.deposit_of(
            self.rng, labels, payload=payload, withdraw_hash=wire.withdraw_hash(self.token)))
        self.labels.append(labels)
        return wire.frame(wire.request(self.sent[-1], FIRST + 2 * number))

    def other_frames(self):
        """A withdrawal of one's own message now and then, and a query."""
        frames = []
        for number in self.rng.sample(sorted(self.acknowledged), min(3, len(self.acknowledged))):
            if self.withdraws and number not in self.withdrawing:
                self.withdrawing.add(number)
                withdraw = pb.Withdraw(id=self.sent[number].id, token=self.token)
                frames.append(wire.frame(wire.request(withdraw, FIRST + 1 + 2 * number)))
        query = wire.query_of(self.labels[self.rng.randrange(len(self.labels))], k=3)
        frames.append(wire.frame(wire.request(query, QUERY)))
        return b"".join(frames)

    def take(self, answer):
        """Notes what was confirmed."""
        number = (answer.id - FIRST) // 2
        if answer.id == QUERY:
            assert answer.results.exact, answer
        elif answer.id % 2 == 1:
            assert answer.HasField("withdrawn"), answer
            self.withdrawn.add(number)
        else:
            assert answer.HasField("deposited"), answer
            self.acknowledged[number] = answer.deposited

    def run(self):
        try:
            while True:
                self.turn()
        except (OSError, wire.Ended):
            pass  # the daemon is dead
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure
        self.client.close()

    def turn(self):
        flying = len(self.sent) - len(self.acknowledged)
        if flying < WINDOW:
            self.client.send_bytes(
                b"".join(self.next_frame() for _ in range(32)) + self.other_frames())
        if flying >= WINDOW or select.select([self.client.socket], [], [], 0)[0]:
            answers = []
            self.client.take_available(answers)
            for answer in answers:
                self.take(answer)
            self.progress.add(len(answers))


class Progress:
    """Counts over all threads, and lets one wait for a number."""

    def __init__(self):
        self.count = 0
        self.changed = threading.Condition()

    def add(self, more):
        with self.changed:
            self.count += more
            self.changed.notify_all()

    def wait_for(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: self.count >= count, wire.PATIENCE)


def check_acknowledged(client, depositor):
    """Each acknowledged message is found at distance 0 by its own context, with its payload.

    None that was withdrawn is; of a withdrawal that was not acknowledged nothing is known.
    """
    numbers = sorted(set(depositor.acknowledged) - depositor.withdrawing)
    queries = [
        wire.query_of(depositor.labels[n], k=1, max_distance=0, with_payload=True) for n in numbers
    ]
    for number, answer in zip(numbers, client.pipeline(queries)):
        sent, told = depositor.sent[number], depositor.acknowledged[number]
        (found,) = answer.results.results
        assert (found.id, found.distance) == (sent.id, 0)
        assert found.payload == sent.payload
        assert (found.deposited_ms, found.expires_ms) == (told.deposited_ms, told.expires_ms)
    gone = [pb.Get(id=depositor.sent[n].id) for n in sorted(depositor.withdrawn)]
    for answer in client.pipeline(gone):
        assert answer.error.code == pb.NOT_FOUND, answer


def check_nothing_half(daemon, everything):
    """Whatever is stored is exactly what was sent, from every side that one can look at it."""
    stored, after = [], None
    with daemon.administrator() as client:
        while after != b"":
            page = client.call(pb.Export(after=after))
            stored += page.messages
            after = page.next
        assert len({m.id for m in stored}) == len(stored)
        for message in stored:
            sent = everything[message.id]
            assert (message.filter, message.payload) == (sent.filter, sent.payload)
        for message, answer in zip(stored, client.pipeline([pb.Get(id=m.id) for m in stored])):
            assert answer.got.payload == message.payload
            assert answer.got.deposited_ms == message.deposited_ms
    return {m.id for m in stored}


@pytest.mark.parametrize("durability", ["storage", "relaxed"])
def test_kill_while_four_clients_work(make_daemon, rng, durability):
    """After kill -9 what was acknowledged holds, deposits and withdrawals; then work goes on."""
    config = f"durability = {durability}\n[limits]\nmessages = 1000000\nbytes = 1G\n"
    daemon = make_daemon(config)
    everything, acknowledged, withdrawn = {}, set(), set()
    for number in range(ROUNDS if durability == "storage" else 1):
        progress = Progress()
        depositors = [
            Depositor(daemon, rng, f"{number}-{c}", progress) for c in range(CLIENTS)
        ]
        for depositor in depositors:
            depositor.start()
        progress.wait_for(rng.randint(1, 1500))
        daemon.kill()
        for depositor in depositors:
            depositor.join()
            assert depositor.failure is None, depositor.failure
            everything.update((d.id, d) for d in depositor.sent)
            acknowledged.update(
                depositor.sent[n].id
                for n in set(depositor.acknowledged) - depositor.withdrawing)
            withdrawn.update(depositor.sent[n].id for n in depositor.withdrawn)
        daemon.start()
        with daemon.client() as client:
            for depositor in depositors:
                check_acknowledged(client, depositor)
        stored = check_nothing_half(daemon, everything)
        assert acknowledged <= stored
        assert not withdrawn & stored
        print(f"round {number}: {progress.count} acknowledged, {len(stored)} stored in all")


def test_unanswered_deposits_sent_again(make_daemon, rng):
    """A client that sends its unanswered deposits again after a crash has each of them once."""
    daemon = make_daemon()
    progress = Progress()
    depositor = Depositor(daemon, rng, "again", progress, withdraws=False)
    depositor.start()
    progress.wait_for(rng.randint(100, 1000))
    daemon.kill()
    depositor.join()
    daemon.start()
    with daemon.client() as client:
        answers = client.pipeline(depositor.sent)
        assert all(a.HasField("deposited") for a in answers)
        for number in depositor.acknowledged:
            assert answers[number].deposited.duplicate
    stored = check_nothing_half(daemon, {d.id: d for d in depositor.sent})
    assert stored == {d.id for d in depositor.sent}


def test_kill_while_withdrawing(make_daemon, rng):
    """A withdrawal that was acknowledged is as final as a deposit."""
    daemon = make_daemon()
    token = rng.randbytes(32)
    sent = [
        wire.deposit_of(rng, [f"topic:w{n}"], withdraw_hash=wire.withdraw_hash(token))
        for n in range(1000)
    ]
    with daemon.client() as client:
        client.pipeline(sent)
        client.send_bytes(b"".join(
            wire.frame(wire.request(pb.Withdraw(id=s.id, token=token), n + 5000))
            for n, s in enumerate(sent)
        ))
        gone = {client.receive().id - 5000 for _ in range(rng.randint(1, 600))}
        daemon.kill()
        try:
            while True:
                gone.add(client.receive().id - 5000)
        except (OSError, wire.Ended):
            pass
    daemon.start()
    with daemon.client() as client:
        answers = client.pipeline([pb.Get(id=s.id) for s in sent])
        for number, answer in enumerate(answers):
            if number in gone:
                assert answer.error.code == pb.NOT_FOUND
            elif answer.HasField("got"):
                assert answer.got.payload == sent[number].payload
        for answer in client.pipeline([sent[n] for n in sorted(gone)]):
            assert answer.error.code == pb.ALREADY_EXISTS


def test_kill_at_the_start(make_daemon, rng):
    """Killed at any moment of its start, it starts again and has everything."""
    daemon = make_daemon()
    sent = [wire.deposit_of(rng, [f"topic:s{n}"]) for n in range(300)]
    with daemon.client() as client:
        client.pipeline(sent)
    daemon.kill()
    for _ in range(10):
        daemon.launch()
        with daemon.news:
            daemon.news.wait_for(lambda: daemon.log, rng.random() * 0.05)
        daemon.kill()
    daemon.start()
    with daemon.client() as client:
        got = client.pipeline([pb.Get(id=s.id) for s in sent])
        assert [g.got.payload for g in got] == [s.payload for s in sent]
