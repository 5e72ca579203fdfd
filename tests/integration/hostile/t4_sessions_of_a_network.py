# SPDX-License-Identifier: Apache-2.0
"""T4: one device has a session for each of many addresses of the guest network, silent or watching,
where the daemon cannot tell that they are of one device. In 0.2.0, with 256 of them, none of 20
newcomers of that network got in."""

import contextlib
import select
import socket

import devices
import hearsay_wire as wire
import pytest
from guests import SERVER4, addresses4, make_guests  # noqa: F401 (a fixture)
from hearsay_wire import pb

SESSIONS = 64
LIMITS = f"[limits]\nsessions = {SESSIONS}\n"


def open_silent(address, source):
    """A connection that never says a word."""
    stream = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    stream.bind((source, 0))
    stream.connect(address)
    return stream


def open_watching(address, source):
    """A session with a watch; None when it did not get in."""
    client = devices.greeted(address, source)
    if client is not None:
        watch(client)
    return client


def watch(client):
    client.call(pb.Watch(query=wire.query_of(["topic:watched"], k=0)))


class Attack:
    """A session of each of these addresses, and another one as soon as one ends."""

    def __init__(self, open_one, address, sources):
        self.open_one, self.address, self.made = open_one, address, 0
        self.held = {source: self.open(source) for source in sources}

    def open(self, source):
        self.made += 1
        return self.open_one(self.address, source)

    def renew(self):
        for source, one in self.held.items():
            stream = getattr(one, "socket", one)
            if stream is not None and not select.select([stream], [], [], 0)[0]:
                continue
            self.close_one(one)
            self.held[source] = self.open(source)

    @staticmethod
    def close_one(one):
        if one is not None:
            one.close()

    def close(self):
        for one in self.held.values():
            self.close_one(one)


@pytest.mark.parametrize("open_one", [open_silent, open_watching], ids=["silent", "watching"])
def test_newcomers_get_in(make_daemon, open_one):
    """Newcomers of the same network and from elsewhere are all served. Who watched with one session
    from elsewhere stays."""
    _, address, ipv4 = devices.limited(make_daemon, LIMITS)
    newcomers = [(address, source) for source in devices.DEVICES[SESSIONS:SESSIONS + 20]]
    newcomers += [(address, source) for source in devices.ELSEWHERE]
    newcomers += [(ipv4, f"127.0.1.{n + 1}") for n in range(10)]
    with contextlib.ExitStack() as stack:
        honest = stack.enter_context(wire.Client(ipv4, source="127.0.3.1"))
        watch(honest)
        attack = Attack(open_one, address, devices.DEVICES[:SESSIONS - 1])
        stack.enter_context(contextlib.closing(attack))
        got_in = []
        for place, source in newcomers:
            client = devices.greeted(place, source)
            got_in.append(client is not None)
            if client is not None:
                stack.callback(client.close)
                client.call(pb.Ping())
            attack.renew()
        assert all(got_in), f"{sum(got_in)} of {len(got_in)}"
        assert attack.made > SESSIONS, "the attack goes on"
        honest.call(pb.Ping())


def test_the_ninth_phone_behind_one_address(make_daemon):
    """Eight phones behind a repeater are connected, as many as one sender may: of those that do not
    watch, the one that was silent for longest makes room for the ninth, and is told why."""
    _, _, ipv4 = devices.limited(make_daemon, LIMITS)
    phones = [wire.Client(ipv4, source="127.0.3.1") for _ in range(8)]
    watch(phones[0])
    ninth = []
    wire.wait_until(lambda: ninth.append(devices.greeted(ipv4, "127.0.3.1")) or ninth[-1],
                    "a phone is idle, and the ninth gets in", pause=0.2)
    ninth[-1].call(pb.Ping())
    ended = [n for n, phone in enumerate(phones) if select.select([phone.socket], [], [], 0)[0]]
    assert ended == [1]
    answer = phones[1].receive()
    assert answer.id == 0 and wire.ERROR_CODES[answer.error.code] == "RATE_LIMITED"
    assert answer.error.retry_after_ms > 0
    for client in (*phones, ninth[-1]):
        client.close()


def test_all_addresses_of_a_device_are_one_sender(make_daemon, guests):
    """Where the kernel tells the device, its addresses have as many sessions as one sender, and other
    devices get in without anybody's place."""
    daemon = make_daemon(f"listen = {SERVER4}:0\n{LIMITS}")
    place = (SERVER4, int(daemon.find_log(rf"listening on {SERVER4}:(\d+)").group(1)))
    hostile = guests.add(*addresses4(32, 100))
    honest = [guests.add(*addresses4(1, 10 + n)) for n in range(4)]
    held = []
    for source in hostile.addresses * 2:
        with hostile.inside():
            held.append(open_watching(place, source))
    assert sum(client is not None for client in held) == SESSIONS // 8
    for device in honest:
        with device.inside():
            held.append(open_watching(place, device.addresses[0]))
        held[-1].call(pb.Ping())
    for client in held:
        Attack.close_one(client)
