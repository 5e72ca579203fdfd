#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All attacks of this folder at once for some minutes, beside clients whose every acknowledged
message is checked: while the attacks go on, after them, and again after kill -9.

usage: soak.py [--hearsayd PROGRAM] [--minutes N]

Prints a line a minute and a verdict. The exit status is 0 if no acknowledged message was missing
or wrong, and the daemon never ended by itself.
"""

import argparse
import contextlib
import functools
import os
import pathlib
import random
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent)]

import certificates  # noqa: E402
import devices  # noqa: E402
import hearsay_wire as wire  # noqa: E402
import many  # noqa: E402
import s1_key_update as s1  # noqa: E402
import s3_worst_queries as s3  # noqa: E402
import s7_all_sessions as s7  # noqa: E402
import siege  # noqa: E402
from hearsay_wire import pb  # noqa: E402

TLS_PLACE = ("127.0.0.3", 7118)
PHONES = [*devices.ELSEWHERE[:2], devices.DEVICES[200], "127.0.9.1"]
MIB = 1 << 20


def address_for(source):
    return ("127.0.0.1" if "." in source else devices.SERVER, 7117)


def ask(client, body):
    """The answer, or None when the request is refused; who is refused waits a little."""
    try:
        return client.call(body)
    except wire.Refused:
        time.sleep(0.01)
        return None


def again_and_again(work, sources, end):
    """Runs work(clients, end), connects anew when the daemon ends a connection."""
    while time.monotonic() < end:
        # An answer with id 0 is the daemon's last word before it ends the session.
        with contextlib.suppress(OSError, wire.Ended, wire.Refused, AssertionError), \
                contextlib.ExitStack() as stack:
            clients = [stack.enter_context(wire.Client(address_for(source), source=source,
                                                       patience=30)) for source in sources]
            work(clients, end)
        time.sleep(0.05)


def fill_and_report(clients, end):
    """S8: one device deposits all that is taken, and reports each message by its other addresses."""
    rng = random.Random(8)
    while time.monotonic() < end:
        made = wire.deposit_of(rng, [f"topic:{rng.randrange(9)}"])
        if ask(clients[0], made) is not None:
            for client in clients[1:]:
                ask(client, pb.Report(id=made.id))


def catch_up(clients, end):
    """S9 and S4: watches of all messages, from the first one on, with their payloads."""
    client = clients[0]
    query = wire.query_of(["topic:any"], k=0, with_payload=True)
    for _ in range(16):
        ask(client, pb.Watch(query=query, after_seq=0))
    until = min(end, time.monotonic() + 20)
    while time.monotonic() < until:
        client.receive()


def ask_worst(clients, end):
    """S3: a query that nothing prunes, again and again, pipelined."""
    worst = s3.worst_query(many.Crowd(), until_ms=1)
    data = wire.frame(wire.request(worst, 9)) * 8
    while time.monotonic() < end:
        clients[0].send_bytes(data)
        for _ in range(8):
            clients[0].receive()


class Phone:
    """Leaves a message a second or so, and looks for those that were acknowledged."""

    def __init__(self, source, seed):
        self.source, self.rng = source, random.Random(seed)
        self.client, self.kept = None, []
        self.newest = {}  # filter -> id: of messages with one filter the newest is the nearest
        self.asked = self.wrong = self.refused = self.reconnects = 0
        self.waits = []

    def connected(self):
        if self.client is None:
            self.client = wire.Client(address_for(self.source), source=self.source, patience=60)
            self.reconnects += 1
        return self.client

    def labels(self, number):
        return [f"topic:phone{self.source}", f"wifi:number{number}", f"time:{number % 24}"]

    def turn(self):
        """One deposit, one Get and one query. What breaks the connection is tried again."""
        began = time.monotonic()
        try:
            number = len(self.kept)
            made = wire.deposit_of(self.rng, self.labels(number), ttl_s=80_000)
            self.connected().call(made)
            self.kept.append(made)
            self.newest[made.filter] = made.id
            self.check(self.rng.randrange(len(self.kept)))
        except wire.Refused as refused:
            if wire.ERROR_CODES[refused.error.code] not in ("RATE_LIMITED",):
                raise
            self.refused += 1
        except (OSError, wire.Ended):
            self.drop()
        except AssertionError as error:
            if "answer to 0" not in str(error):  # the daemon's last word
                raise
            self.drop()
        self.waits.append(time.monotonic() - began)

    def drop(self):
        if self.client is not None:
            self.client.close()
        self.client = None

    def check(self, number):
        made = self.kept[number]
        self.asked += 2
        got = self.connected().call(pb.Get(id=made.id))
        found = self.client.call(wire.query_of(self.labels(number), k=1))
        ids = [result.id for result in found.results]
        if got.payload != made.payload or ids != [self.newest[made.filter]]:
            self.wrong += 1
            print(f"WRONG: {self.source}, message {number}", flush=True)

    def check_all(self, client):
        for number, made in enumerate(self.kept):
            self.asked += 1
            answer = client.call(pb.Get(id=made.id))
            if answer.payload != made.payload:
                self.wrong += 1
                print(f"WRONG at the end: {self.source}, message {number}", flush=True)


def files_of(daemon):
    return len(os.listdir(f"/proc/{daemon.pid}/fd"))


def attack(stack, seconds):
    """All attackers, until the stack ends."""
    def begin(work, places):
        stack.enter_context(siege.attackers(work, places, seconds))
    begin(s1.flood_for, [TLS_PLACE] * 2)
    begin(s1.trickle_for, [TLS_PLACE])
    begin(functools.partial(again_and_again, ask_worst), [[one] for one in devices.DEVICES[:4]])
    begin(s7.hold_sessions, devices.DEVICES[4:20])
    begin(functools.partial(again_and_again, fill_and_report), [devices.DEVICES[20:26]])
    begin(functools.partial(again_and_again, catch_up), [[one] for one in devices.DEVICES[26:28]])


def run(program, minutes):
    wrong = 0
    with tempfile.TemporaryDirectory() as directory:
        config = (f"listen = {TLS_PLACE[0]}:{TLS_PLACE[1]} tls limited\n"
                  f"{certificates.config_lines(directory)}")
        with siege.MeasuredDaemon(program, config) as daemon:
            phones = [Phone(source, seed) for seed, source in enumerate(PHONES)]
            for phone in phones:
                phone.turn()
            sizes, end = [], time.monotonic() + minutes * 60
            with contextlib.ExitStack() as stack:
                attack(stack, minutes * 60)
                at = time.monotonic() + 60
                while time.monotonic() < end:
                    for phone in phones:
                        phone.turn()
                    time.sleep(1)
                    if daemon.process.poll() is not None:
                        sys.exit(f"the daemon ended:\n{daemon.log()[-4000:]}")
                    sizes.append(daemon.resident_bytes() / MIB)
                    if time.monotonic() >= at:
                        at += 60
                        waits = sorted(w for phone in phones for w in phone.waits[-60:])
                        print(f"{sum(len(p.kept) for p in phones)} kept, "
                              f"{sum(p.refused for p in phones)} refused, "
                              f"{sum(p.reconnects for p in phones) - len(phones)} reconnects, "
                              f"three requests p50 {siege.quantile(waits, 0.5):.2f} s, "
                              f"p99 {siege.quantile(waits, 0.99):.2f} s, "
                              f"{sizes[-1]:.1f} MiB, {files_of(daemon)} descriptors", flush=True)
            with daemon.administrator(patience=60) as administrator:
                for phone in phones:
                    phone.check_all(administrator)
                for one in administrator.call(pb.Stats()).figures:
                    if one.value and ("dropped" in one.name or "refused" in one.name):
                        print(f"  {one.name} {one.value}")
            daemon.kill_and_start()
            with daemon.administrator(patience=60) as administrator:
                for phone in phones:
                    phone.check_all(administrator)
            third = len(sizes) // 3 or 1
            print(f"resident {sum(sizes[:third]) / third:.1f} MiB in the first third, "
                  f"{sum(sizes[-third:]) / third:.1f} in the last")
            wrong = sum(phone.wrong for phone in phones)
            print(f"{sum(len(p.kept) for p in phones)} acknowledged messages, "
                  f"{sum(p.asked for p in phones)} answers checked, {wrong} wrong")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--hearsayd", default="build/daemon/hearsayd")
    parser.add_argument("--minutes", type=float, default=15)
    options = parser.parse_args()
    why_not = devices.enter_own_network()
    if why_not:
        sys.exit(f"no network of our own: {why_not}")
    return run(os.path.abspath(options.hearsayd), options.minutes)


if __name__ == "__main__":
    sys.exit(main())
