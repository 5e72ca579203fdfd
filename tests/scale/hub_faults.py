# SPDX-License-Identifier: Apache-2.0
"""What test_hub_faults does to a hub, and what it knows of each message: deposits, withdrawals and decisions of
operators at every place, with what each of them promised when it was acknowledged."""

import dataclasses
import threading
import time
import types

import hearsay_wire as wire
from hearsay_wire import pb
from pausable import Pausable
from test_bridge_around import hood_query, key_of

WORDS = [f"topic:w{n}" for n in range(60)]
EXPIRY_MS = 15_000  # so long after its end a message may still be exported, and so long before it is left out of checks
LEAST_ALIVE = 30  # messages of a host; fewer are not withdrawn or hidden


def now_ms():
    return int(time.time() * 1000)


@dataclasses.dataclass
class Message:
    """`is_shown`: what the last acknowledged operation promises; None: nothing, as an operation was not answered.
    `is_settled`: all places have had the time to know it. `decided_at`: where an operator has decided, "" nowhere."""
    host: str
    deposit: object
    token: bytes
    deposited_ms: int
    acknowledged_ms: int
    expires_ms: int
    is_shown: object = True
    is_settled: bool = True
    decided_at: str = ""
    was_hidden: bool = False
    changes: int = 0

    @property
    def id(self):
        return self.deposit.id

    def is_expiring(self):
        return self.expires_ms < now_ms() + EXPIRY_MS


class Ledger:
    """All messages of all hosts. `lock` is held for moments only, never during a call."""

    def __init__(self):
        self.lock = threading.Lock()
        self.messages = {}
        self.counts = dict.fromkeys(("deposits", "withdrawals", "decisions at owners", "decisions at the reader"), 0)

    def of(self, host, test=lambda message: True):
        with self.lock:
            return [m for m in self.messages.values() if m.host == host and test(m)]

    def forget_expired(self):
        with self.lock:
            for id in [m.id for m in self.messages.values() if m.expires_ms < now_ms() - 60_000]:
                del self.messages[id]

    def settle(self, host):
        with self.lock:
            for message in self.messages.values():
                if message.host == host:
                    message.is_settled = True


class Worker(Pausable):
    """One operation after another at a host: at its owner, or as an operator at the reader. Rests while paused."""

    def __init__(self, world, host, rng):
        self.world, self.host, self.rng = world, host, rng
        super().__init__()

    def work(self):
        self._work()
        time.sleep(0.03)  # people are not faster; it is no wait for something

    def _work(self):
        kind = self.rng.choices(["deposit", "withdraw", "owner", "reader"], [5, 1, 1, 2])[0]
        ledger = self.world.ledger
        if kind == "deposit":
            self._deposit()
            return
        shown = ledger.of(self.host, lambda m: m.is_shown and m.is_settled and not m.decided_at and not m.is_expiring())
        hidden = ledger.of(self.host, lambda m: m.was_hidden and m.is_shown is False and m.decided_at == kind
                           and not m.is_expiring())
        if kind != "withdraw" and hidden and self.rng.random() < 0.3:
            self._change(self.rng.choice(hidden), kind, pb.Restore)
        elif len(shown) > LEAST_ALIVE:
            message = self.rng.choice(shown)
            self._change(message, kind, pb.Withdraw if kind == "withdraw" else self.rng.choice([pb.Hide, pb.Remove]))

    def _deposit(self):
        token = self.rng.randbytes(32)
        ttl_s = self.rng.randrange(20, 60) if self.rng.random() < 0.1 else 600
        one = wire.deposit_of(self.rng, self.rng.sample(WORDS, 3), host=self.host, ttl_s=ttl_s,
                              payload=self.rng.randbytes(12).hex().encode(), withdraw_hash=wire.withdraw_hash(token))
        try:
            with self.world.sites[self.host].daemon.administrator() as client:
                answer = client.call(one)
        except (OSError, wire.Ended):  # may be stored or not
            return
        message = Message(self.host, one, token, answer.deposited_ms, now_ms(), answer.deposited_ms + 1000 * ttl_s)
        with self.world.ledger.lock:
            self.world.ledger.messages[one.id] = message
            self.world.ledger.counts["deposits"] += 1

    def _change(self, message, where, kind):
        """Between `is_shown` None and the answer nobody knows which of the two it is."""
        ledger = self.world.ledger
        with ledger.lock:
            before, message.is_shown = message.is_shown, None
            message.changes += 1
        request = kind(host=self.host, id=message.id, **({"token": message.token} if kind is pb.Withdraw else {}))
        site = self.world.reader if where == "reader" else self.world.sites[self.host]
        try:
            with site.daemon.administrator() as client:
                client.call(request)
        except wire.Refused:  # it has not come to the reader yet, or the host is being restored
            with ledger.lock:
                message.is_shown = before
            return
        except (OSError, wire.Ended):
            return
        with ledger.lock:
            message.is_shown = kind is pb.Restore
            message.was_hidden = kind is pb.Hide
            message.is_settled = where != "reader"
            message.decided_at = where if kind is not pb.Withdraw else message.decided_at
            name = {"withdraw": "withdrawals", "owner": "decisions at owners", "reader": "decisions at the reader"}[where]
            ledger.counts[name] += 1


class Asker:
    """Asks around, one query after another, and holds each answer against what is known."""

    def __init__(self, world, host, rng):
        self.world, self.host, self.rng = world, host, rng
        self.answers, self.incomplete, self.faults, self.ends = 0, 0, [], False
        self.error = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def stop(self):
        self.ends = True
        self.thread.join(3 * wire.PATIENCE)
        assert self.error is None, self.error

    def _run(self):
        while not self.ends:
            try:
                with self.world.sites[self.host].daemon.administrator() as client:
                    self._ask(client)
            except (OSError, wire.Ended, wire.Refused):  # hearsayd is away, or gets its messages back
                pass
            except Exception as error:  # pylint: disable=broad-except
                self.error = repr(error)
                return
            time.sleep(0.1)  # as people do, who do not ask without a pause

    def _ask(self, client):
        query = hood_query(self.rng.sample(WORDS, 3), self.host, k=self.rng.choice((1, 5, 20)),
                           max_distance=self.rng.choice((500_000, 800_000, 1_000_000)))
        query.wait_ms = 1000
        ledger = self.world.ledger
        with ledger.lock:
            before = {m.id: (m.is_shown, m.is_settled, m.changes) for m in ledger.messages.values()}
        began_ms = now_ms()
        got = client.call(query)
        self.answers += 1
        self.incomplete += not got.complete
        with ledger.lock:
            known = {m.id: m for m in ledger.messages.values() if m.id in before
                     and before[m.id] == (m.is_shown, m.is_settled, m.changes)}
        self._judge(query, got, known, began_ms)

    def _judge(self, query, got, known, began_ms):
        shown, keys = {result.id: result for result in got.results}, []
        for result in got.results:
            message = known.get(result.id)
            if message is None:
                continue  # not acknowledged yet, or changed meanwhile
            if message.is_shown is False and message.is_settled:
                self.faults.append(("back", f"{self.host} shows {result.id.hex()} of {message.host}"))
            if (result.host, result.payload) != (message.host, message.deposit.payload):
                self.faults.append(("wrong", f"{self.host} shows {result.id.hex()} of {result.host}"))
            keys.append(self._key(query, message))
        if None in keys or keys != sorted(keys):
            self.faults.append(("wrong", f"{self.host}: order or distance: {query}"))
        if not got.complete:
            return
        is_full = len(got.results) == query.k
        if is_full and got.results[-1].id not in known:
            return
        for message in known.values():
            key = self._key(query, message)
            if (message.is_shown and message.is_settled and key is not None and message.id not in shown
                    and message.expires_ms > began_ms + EXPIRY_MS and message.acknowledged_ms < got.as_of_ms
                    and (not is_full or key < keys[-1])):
                self.faults.append(("lie", f"{self.host}: complete as of {got.as_of_ms}, without {message.id.hex()} of "
                                           f"{message.host}, acknowledged at {message.acknowledged_ms}"))
                return

    @staticmethod
    def _key(query, message):
        one = types.SimpleNamespace(id=message.id, filter=message.deposit.filter, deposited_ms=message.deposited_ms,
                                    HasField=lambda name: False)
        return key_of(query, message.host, one)
