# SPDX-License-Identifier: Apache-2.0
"""Everything at once: clients that come and go, reloads, restarts and crashes, and a model."""

import random
import signal
import threading
import time

import pytest

import hearsay_wire as wire
from hearsay_wire import pb

CLIENTS = 6
BURSTS = 25


class Actor(threading.Thread):
    """One client with messages of its own: it knows for each whether it is stored.

    What was not answered is sent again on a new connection, as the protocol has it, so that in the
    end every operation has happened and the model is certain.
    """

    def __init__(self, seed, turn):
        super().__init__(daemon=True)  # a test that fails must end all the same
        self.turn, self.rng = turn, random.Random(seed)
        self.token = self.rng.randbytes(32)
        self.stored, self.gone, self.failure = {}, {}, None

    def run(self):
        try:
            for _ in range(BURSTS):
                self.burst()
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure

    def next_operation(self, touched):
        """A request, and what it must be answered with; each message once in a burst."""
        rng = self.rng
        choice = rng.random()
        known = [i for i in self.stored if i not in touched]
        if choice < 0.45 or not known:
            body = wire.deposit_of(
                rng, [f"wifi:{rng.randrange(50)}" for _ in range(5)],
                payload=rng.randbytes(rng.choice([0, 10, 1000])),
                withdraw_hash=wire.withdraw_hash(self.token),
            )
            touched.add(body.id)
            return body, ("deposited",)
        one = rng.choice(known)
        touched.add(one)
        if choice < 0.6:
            return self.stored[one], ("deposited",)
        if choice < 0.7:
            other = pb.Deposit.FromString(self.stored[one].SerializeToString())
            other.payload += b"!"
            return other, ("ALREADY_EXISTS",)
        if choice < 0.85:
            return pb.Withdraw(id=one, token=self.token), ("withdrawn", "NOT_FOUND")
        if choice < 0.9 and self.gone:
            return rng.choice(list(self.gone.values())), ("ALREADY_EXISTS",)
        if choice < 0.95:
            return pb.Get(id=one), ("got",)
        return wire.query_of([f"wifi:{rng.randrange(50)}"], k=20, with_payload=True), ("results",)

    def burst(self):
        touched = set()
        operations = [self.next_operation(touched) for _ in range(self.rng.randint(1, 60))]
        waiting = dict(enumerate(operations, 1))
        deadline = time.monotonic() + wire.PATIENCE
        while waiting:
            assert time.monotonic() < deadline, f"{len(waiting)} requests are never answered"
            try:
                with self.turn.connected() as client:
                    self.attempt(client, waiting)
            except (OSError, wire.Ended):
                pass  # it went away; again

    def attempt(self, client, waiting):
        data = b"".join(
            wire.frame(wire.request(body, number + 1)) for number, (body, _) in waiting.items()
        )
        client.send_bytes(data)
        if self.rng.random() < 0.1:
            return  # leaves without its answers
        for _ in range(len(waiting)):
            answer = client.receive()
            kind = answer.WhichOneof("body")
            if kind == "error":
                kind = wire.ERROR_CODES[answer.error.code]
            if kind == "SHUTTING_DOWN":
                continue
            body, expected = waiting.pop(answer.id - 1)
            assert kind in expected, f"{type(body).__name__}: {answer}"
            self.learn(body, kind, answer)

    def learn(self, body, kind, answer):
        if kind == "deposited":
            self.stored[body.id] = body
        elif isinstance(body, pb.Withdraw):
            self.gone[body.id] = self.stored.pop(body.id)
        elif kind == "got":
            assert answer.got.payload == self.stored[body.id].payload


class Turn:
    """Lets actors connect while there is a daemon, and hear of it when there is another one."""

    def __init__(self, daemon):
        self.daemon, self.lock = daemon, threading.Lock()

    def connected(self):
        with self.lock:  # held while the daemon is replaced
            return self.daemon.client()


@pytest.mark.parametrize("ending", ["stop", "kill", "reload"])
def test_chaos(make_daemon, rng, ending):
    """Whatever happens in between, in the end exactly what the clients know is stored."""
    config = "[limits]\nmessages = 1000000\ncache = 64K\nrequests_in_flight = 50\n"
    daemon = make_daemon(config)
    turn = Turn(daemon)
    actors = [Actor(rng.random(), turn) for _ in range(CLIENTS)]
    for actor in actors:
        actor.start()
    for _ in range(4):
        actors[0].join(rng.random() * 0.1)
        with turn.lock:
            if ending == "reload":
                daemon.process.send_signal(signal.SIGHUP)
                continue
            if ending == "stop":
                daemon.stop()
            else:
                daemon.kill()
            daemon.start()
    for actor in actors:
        actor.join(wire.PATIENCE)
        assert not actor.is_alive(), "stuck"
        assert actor.failure is None, actor.failure
    expected = {}
    for actor in actors:
        expected.update(actor.stored)
    for _ in range(2):
        with daemon.administrator() as client:
            found, after = {}, None
            while after != b"":
                page = client.call(pb.Export(after=after))
                found.update((m.id, m.payload) for m in page.messages)
                after = page.next
            assert found == {i: body.payload for i, body in expected.items()}
        daemon.restart()
    print(f"{len(expected)} messages")
