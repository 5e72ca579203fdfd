# SPDX-License-Identifier: Apache-2.0
"""What test_hub_faults does to a hub, and what it knows of each message, ban and notice: deposits, withdrawals and
decisions of operators at every place, with what each of them promised when it was acknowledged."""

import collections
import copy
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
MOST_BANS, MOST_NOTICES = 40, 2  # that one place has put up at a host; a host has at most five notices


def now_ms():
    return int(time.time() * 1000)


@dataclasses.dataclass
class Message:
    """`is_shown`: what the last acknowledged operation promises; None: nothing, as an operation was not answered.
    `acknowledged_ms`: since when it holds at the owner. An answer as of an earlier time may differ.
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

    def is_compared(self):
        return self.expires_ms >= now_ms() + 2 * EXPIRY_MS


@dataclasses.dataclass
class Rule:
    """A ban or a notice, which one place only decides about. `value`: the hash of the payload, in hexadecimal, or the
    text. `is_there`: what the last acknowledged decision promises; None: nothing, as one was not answered."""
    host: str
    value: str
    is_ban: bool
    decided_at: str
    is_there: object = None


class Ledger:
    """All messages, bans and notices of all hosts. `lock` is held for moments only, never during a call."""

    def __init__(self):
        self.lock = threading.Lock()
        self.messages = {}
        self.rules = {}
        self.counts = collections.Counter()  # what was acknowledged

    def rules_of(self, host):
        with self.lock:
            return [rule for rule in self.rules.values() if rule.host == host]

    def of(self, host, test=lambda message: True):
        with self.lock:
            return [m for m in self.messages.values() if m.host == host and test(m)]

    def forget_expired(self):
        with self.lock:
            for id in [m.id for m in self.messages.values() if m.expires_ms < now_ms() - 60_000]:
                del self.messages[id]

    def settle(self, host):
        """All places are the same, but for messages that end soon, which were not compared."""
        with self.lock:
            for message in self.messages.values():
                if message.host == host and message.is_compared() and not message.is_settled:
                    message.is_settled, message.acknowledged_ms = True, now_ms()


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
        if kind != "withdraw" and self.rng.random() < 0.4:
            self._decide_rule(kind)
            return
        shown = ledger.of(self.host, lambda m: m.is_shown and m.is_settled and not m.decided_at and not m.is_expiring())
        hidden = ledger.of(self.host, lambda m: m.was_hidden and m.is_shown is False and m.decided_at == kind
                           and not m.is_expiring())
        if kind != "withdraw" and hidden and self.rng.random() < 0.3:
            self._change(self.rng.choice(hidden), kind, pb.Restore)
        elif len(shown) > LEAST_ALIVE:
            message = self.rng.choice(shown)
            change = pb.Withdraw if kind == "withdraw" else self.rng.choice([pb.Hide, pb.Remove])
            self._change(message, kind, change)
            if kind == "reader" and change is pb.Remove and message.is_shown is False and self.rng.random() < 0.2:
                self._change(message, kind, pb.Restore)

    def _site(self, where):
        return self.world.reader if where == "reader" else self.world.sites[self.host]

    def _decide_rule(self, where):
        is_ban = self.rng.random() < 0.6
        rules = [r for r in self.world.ledger.rules_of(self.host) if (r.decided_at, r.is_ban) == (where, is_ban)]
        there = [rule for rule in rules if rule.is_there]
        gone = [rule for rule in rules if rule.is_there is False]
        if there and (len(rules) - len(gone) >= (MOST_BANS if is_ban else MOST_NOTICES) or self.rng.random() < 0.4):
            self._change_rule(self.rng.choice(there), False)
        elif len(rules) - len(gone) >= (MOST_BANS if is_ban else MOST_NOTICES):
            return  # there is none whose decision was answered
        elif gone and self.rng.random() < 0.3:
            self._change_rule(self.rng.choice(gone), True)
        else:
            rule = Rule(self.host, self.rng.randbytes(32).hex(), is_ban, where)
            with self.world.ledger.lock:
                self.world.ledger.rules[rule.value] = rule
            self._change_rule(rule, True)

    def _change_rule(self, rule, is_there):
        before, rule.is_there = rule.is_there, None
        try:
            with self._site(rule.decided_at).daemon.administrator() as client:
                if rule.is_ban:
                    kind = pb.Ban if is_there else pb.Unban
                    client.call(kind(host=self.host, payload_hash=bytes.fromhex(rule.value)))
                elif is_there:
                    client.call(pb.Notice(host=self.host, text=rule.value))
                else:
                    numbers = {one.text: one.number for one in client.call(pb.Notice(host=self.host)).notices}
                    if rule.value not in numbers:  # the comparison says what that means
                        rule.is_there = before
                        return
                    client.call(pb.Notice(host=self.host, drop=numbers[rule.value]))
        except wire.Refused:  # the host is being restored
            rule.is_there = before
            return
        except (OSError, wire.Ended):
            return
        rule.is_there = is_there
        self._count({True: "ban", False: "unban"}[is_there] if rule.is_ban else "notice", rule.decided_at)

    def _count(self, what, where):
        with self.world.ledger.lock:
            self.world.ledger.counts[f"{what} at {'the reader' if where == 'reader' else 'owners'}"] += 1

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
            self.world.ledger.counts["deposit at owners"] += 1

    def _change(self, message, where, kind):
        """Between `is_shown` None and the answer nobody knows which of the two it is."""
        ledger = self.world.ledger
        with ledger.lock:
            before, message.is_shown = message.is_shown, None
            message.changes += 1
        request = kind(host=self.host, id=message.id, **({"token": message.token} if kind is pb.Withdraw else {}))
        try:
            with self._site(where).daemon.administrator() as client:
                client.call(request)
        except wire.Refused:  # it has not come to the reader yet, or the host is being restored
            with ledger.lock:
                message.is_shown = before
            return
        except (OSError, wire.Ended):
            return
        was_removed = kind is pb.Restore and not message.was_hidden
        with ledger.lock:
            # the owner may have carried the removal out, and then nothing brings the message back
            message.is_shown = None if was_removed else kind is pb.Restore
            message.was_hidden = kind is pb.Hide
            message.is_settled, message.acknowledged_ms = where != "reader", now_ms()
            message.decided_at = where if kind is not pb.Withdraw else message.decided_at
        names = {pb.Withdraw: "withdraw", pb.Hide: "hide", pb.Remove: "remove", pb.Restore: "show"}
        self._count("restore" if was_removed else names[kind], where)


class Asker:
    """Asks around, one query after another, and holds each answer against what is known."""

    def __init__(self, world, host, rng):
        self.world, self.host, self.rng = world, host, rng
        self.answers, self.faults, self.ends = 0, [], False
        self.has_own_fault, self.is_own_fault = False, True  # as after a fault: its bridge has just begun
        self.elsewhere, self.incomplete = 0, 0  # answers during faults elsewhere; of these not complete
        self.error = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def begin_own_fault(self):
        """From here on programs of this access point are away. Its answers count again as those during faults
        elsewhere from the first complete one after the fault on."""
        self.has_own_fault = self.is_own_fault = True

    def end_own_fault(self):
        self.has_own_fault = False

    def stop(self):
        self.ends = True
        self.thread.join(3 * wire.PATIENCE)
        assert self.error is None, self.error

    def _run(self):
        while not self.ends:
            try:
                with self.world.sites[self.host].daemon.administrator() as client:
                    self.ask(client)
            except (OSError, wire.Ended, wire.Refused):  # hearsayd is away, or gets its messages back
                pass
            except Exception as error:  # pylint: disable=broad-except
                self.error = repr(error)
                return
            time.sleep(0.1)  # as people do, who do not ask without a pause

    def ask(self, client):
        query = hood_query(self.rng.sample(WORDS, 3), self.host, k=self.rng.choice((1, 5, 20)),
                           max_distance=self.rng.choice((500_000, 800_000, 1_000_000)))
        query.wait_ms = 1000
        ledger = self.world.ledger
        with ledger.lock:
            before = {m.id: (m.is_shown, m.is_settled, m.changes) for m in ledger.messages.values()}
        began_ms = now_ms()
        got = client.call(query)
        self.answers += 1
        if not self.is_own_fault:
            self.elsewhere += 1
            self.incomplete += not got.complete
        elif got.complete and not self.has_own_fault:
            self.is_own_fault = False
        with ledger.lock:  # copies: what is decided from here on says nothing about this answer
            known = {m.id: copy.copy(m) for m in ledger.messages.values() if m.id in before
                     and before[m.id] == (m.is_shown, m.is_settled, m.changes)}
        self._judge(query, got, known, began_ms)

    def _judge(self, query, got, known, began_ms):
        shown, keys = {result.id: result for result in got.results}, []
        for result in got.results:
            message = known.get(result.id)
            if message is None:
                continue  # not acknowledged yet, or changed meanwhile
            if message.is_shown is False and message.is_settled:
                self.faults.append(("back", f"{self.host} shows {result.id.hex()} of {message.host}, decided at "
                                            f"{message.decided_at or 'no place'}"))
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
                                           f"{message.host}, acknowledged at {message.acknowledged_ms}, decided at "
                                           f"{message.decided_at or 'no place'}, {message.changes} changes; its owner "
                                           f"exports it: {self._is_exported(message)}"))
                return

    def _is_exported(self, message):
        try:
            return message.id in self.world.sites[message.host].exported(message.host)
        except (OSError, wire.Ended, wire.Refused):
            return None

    @staticmethod
    def _key(query, message):
        one = types.SimpleNamespace(id=message.id, filter=message.deposit.filter, deposited_ms=message.deposited_ms,
                                    HasField=lambda name: False)
        return key_of(query, message.host, one)
