# SPDX-License-Identifier: Apache-2.0
"""S4: 16 addresses of one device watch everything, as often as they may, and messages get reported
and hidden. 0.1.0 noted for each of the 3,840 watches each hidden message that it had been pushed."""

import contextlib
import random
import select

import devices
import hearsay_wire as wire
import siege
from hearsay_wire import pb

ADDRESSES, SESSIONS, WATCHES = 16, 15, 16  # of each address, of each session
EVERYTHING = ADDRESSES * SESSIONS * WATCHES
FIRST, MESSAGES = 8, 96
MIB = 1 << 20
CONFIG = "[host default]\nhide_after = 1\n"


class Watchers:
    """Sessions that take what they are pushed and do not look at it."""

    def __init__(self, connect, addresses=ADDRESSES, sessions=SESSIONS):
        self.clients = [connect(source) for source in devices.DEVICES[:addresses]
                        for _ in range(sessions)]
        for client in self.clients:
            client.pipeline([pb.Watch(query=wire.query_of(["topic:any"], k=0))] * WATCHES)
        self.poll = select.poll()
        self.sockets = {client.socket.fileno(): client.socket for client in self.clients}
        for file in self.sockets:
            self.poll.register(file, select.POLLIN)

    def read(self):
        for file, _ in self.poll.poll(0):
            assert self.sockets[file].recv(1 << 18), "a watcher was dropped"

    def close(self):
        for client in self.clients:
            client.close()


def figures(administrator):
    return {one.name: one.value for one in administrator.call(pb.Stats()).figures}


def pushed(watchers, administrator, count):
    """Waits until so many matches were pushed since the start."""
    def is_so():
        watchers.read()
        return figures(administrator)["matches_total"] == count
    wire.wait_until(is_so, f"{count} matches are pushed")


def hide(watchers, administrator, connect, numbers, rng):
    """Messages are deposited, pushed to all watchers, and then each is reported by an address that
    has reported nothing else. Their ids."""
    before = figures(administrator)
    made = [wire.deposit_of(rng, [f"topic:{number}"]) for number in numbers]
    for count, one in enumerate(made, 1):  # one at a time, or watchers are dropped as slow
        administrator.call(one)
        pushed(watchers, administrator,
               before["matches_total"] + count * len(watchers.clients) * WATCHES)
    for number, one in zip(numbers, made):
        with contextlib.closing(connect(f"127.0.{1 + number // 200}.{2 + number % 200}")) as reader:
            reader.call(pb.Report(id=one.id, kind=pb.ILLEGAL))  # hides however many
    hidden = figures(administrator)["host/default/hidden"]
    assert hidden == before["host/default/hidden"] + len(made)
    return [one.id for one in made]


def grown(connect, administrator, resident_bytes, rng):
    """Bytes by which the daemon grows while 96 messages are hidden that 3,840 watches have had."""
    with contextlib.closing(Watchers(connect)) as watchers:
        hide(watchers, administrator, connect, range(FIRST), rng)  # buffers have their size now
        before = resident_bytes()
        hide(watchers, administrator, connect, range(FIRST, FIRST + MESSAGES), rng)
        return resident_bytes() - before


def limited(make_daemon, more):
    """The daemon, and a function that connects to it from a device."""
    daemon, address, ipv4 = devices.limited(make_daemon, more)

    def connect(source):
        return wire.Client(ipv4 if "." in source else address, source=source)
    return daemon, connect


def test_memory_does_not_grow(make_daemon, rng, sanitized):
    """By 2 MiB at most, where the notes of 0.1.0 took 11 MiB."""
    daemon, connect = limited(make_daemon, CONFIG)
    with daemon.administrator() as administrator:
        def resident_bytes():
            return figures(administrator)["resident_bytes"]
        more = grown(connect, administrator, resident_bytes, rng)
    assert more <= 2 * MIB or sanitized


def test_restored_messages_come_to_all(make_daemon, rng):
    """What is restored is pushed to every watch that it fits, and once to each."""
    daemon, connect = limited(make_daemon, CONFIG)
    with daemon.administrator() as administrator, \
            contextlib.closing(Watchers(connect, 4, 4)) as watchers:
        ids = hide(watchers, administrator, connect, range(10), rng)
        before = figures(administrator)["matches_total"]
        for each in ids:
            administrator.call(pb.Restore(id=each))
        pushed(watchers, administrator, before + len(ids) * 4 * 4 * WATCHES)
        administrator.call(pb.Ping())
        assert figures(administrator)["matches_waiting"] == 0


def measure(program):
    """MiB by which the daemon grows while 96 messages are hidden."""
    with siege.MeasuredDaemon(program, CONFIG) as daemon, daemon.administrator() as administrator:
        more = grown(daemon.client, administrator, daemon.resident_bytes, random.Random(4))
    return {"S4 growth MiB": more / MIB}
