# SPDX-License-Identifier: Apache-2.0
"""S7: 16 addresses of one device take all 256 sessions and watch, so that none is ever idle by
idle_timeout; silent TLS connections of a few addresses take all handshakes. Newcomers from
elsewhere get in all the same."""

import contextlib
import os
import select
import socket
import tempfile
import time

import certificates
import devices
import hearsay_wire as wire
from hearsay_wire import pb

SESSIONS, ATTACKING = 256, 16
HANDSHAKES = 64


def watch(client):
    client.call(pb.Watch(query=wire.query_of(["topic:watched"], k=0)))


def take_all_sessions(address):
    """Each of 16 addresses takes as many as it can; all of them watch."""
    taken = []
    for source in devices.DEVICES[:ATTACKING]:
        for _ in range(SESSIONS // ATTACKING):
            client = devices.greeted(address, source)
            if client is not None:
                watch(client)
                taken.append(client)
    return taken


def gets_in(address, source, **options):
    """Whether a newcomer is greeted."""
    client = devices.greeted(address, source, **options)
    if client is not None:
        client.close()
    return client is not None


def words_of(clients):
    """The codes of what sessions that were ended were told, None for those that were not."""
    told = []
    for client in clients:
        if not select.select([client.socket], [], [], 0)[0]:
            continue
        try:
            answer = client.receive()
            told.append(wire.ERROR_CODES[answer.error.code] if answer.id == 0 else None)
        except (wire.Ended, ConnectionError):
            told.append(None)
    return told


def test_newcomers_from_elsewhere_get_in(make_daemon):
    """40 newcomers, of IPv4 and of another /64, all get a Welcome; attackers lose one each."""
    _, address, ipv4 = devices.limited(make_daemon)
    taken = take_all_sessions(address)
    newcomers = [wire.Client(ipv4, source=f"127.0.1.{n + 1}") for n in range(20)]
    newcomers += [wire.Client(address, source=devices.ELSEWHERE[n % 8]) for n in range(20)]
    for client in newcomers:
        client.call(pb.Ping())
    told = words_of(taken)
    assert told == ["RATE_LIMITED"] * 40, "those who made room know why"
    for client in (*taken, *newcomers):
        client.close()


def test_a_phone_of_the_same_network_gets_in(make_daemon):
    """A guest network is one /64: its phones are senders of their own."""
    _, address, _ = devices.limited(make_daemon)
    taken = take_all_sessions(address)
    phones = [wire.Client(address, source=devices.DEVICES[100 + n]) for n in range(20)]
    for phone in phones:
        phone.call(pb.Ping())
    for client in (*taken, *phones):
        client.close()


def test_a_session_for_each_address(make_daemon):
    """A device with 255 addresses of the /64 has a session for each, and none is idle: newcomers
    from elsewhere get in."""
    _, address, ipv4 = devices.limited(make_daemon)
    taken = [devices.greeted(address, source) for source in devices.DEVICES]
    taken.append(devices.greeted(ipv4, "127.0.3.1"))
    assert all(taken)
    newcomers = [devices.greeted(ipv4, f"127.0.1.{n + 1}") for n in range(20)]
    newcomers += [devices.greeted(address, source) for source in devices.ELSEWHERE]
    assert all(newcomers), f"{sum(map(bool, newcomers))} of {len(newcomers)}"
    taken[-1].call(pb.Ping())
    for client in (*taken, *newcomers):
        client.close()


def test_who_watches_stays(make_daemon):
    """The attackers lose sessions, not those who were there with one: 20 honest watchers."""
    _, address, ipv4 = devices.limited(make_daemon)
    honest = [wire.Client(ipv4, source=f"127.0.2.{n + 1}") for n in range(20)]
    for client in honest:
        watch(client)
    taken = []
    for source in devices.DEVICES[:ATTACKING + 4]:
        for _ in range(SESSIONS // ATTACKING):
            client = devices.greeted(address, source)
            if client is not None:
                taken.append(client)
    for client in honest:
        client.call(pb.Ping())
    for client in (*taken, *honest):
        client.close()


def test_an_address_has_an_eighth(make_daemon):
    """However many sessions_per_address allows."""
    _, address, _ = devices.limited(make_daemon, more="[limits]\nsessions = 64\n"
                                              "sessions_per_address = 64\n")
    taken = [wire.Client(address, source=devices.DEVICES[0]) for _ in range(8)]
    assert taken[0].welcome.limits.sessions_per_address == 8
    assert not gets_in(address, devices.DEVICES[0])
    assert gets_in(address, devices.DEVICES[1])
    for client in taken:
        client.close()


def test_an_exempt_client_is_not_dropped(make_daemon):
    """Clients of this machine keep their sessions, and one more gets in beside the attackers."""
    daemon, address, _ = devices.limited(make_daemon)
    exempt = daemon.client()
    watch(exempt)
    taken = take_all_sessions(address)
    with daemon.administrator() as administrator:
        administrator.call(pb.Ping())
    exempt.call(pb.Ping())
    for client in taken:
        client.close()


class Silent:
    """TLS connections that never say a word, of a few addresses; those that end are made anew."""

    def __init__(self, address, sources, each):
        self.address, self.made = address, 0
        self.sockets = [self.connect(source) for source in sources for _ in range(each)]
        self.sources = [source for source in sources for _ in range(each)]

    def connect(self, source):
        stream = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        stream.bind((source, 0))
        stream.connect(self.address)
        self.made += 1
        return stream

    def renew(self):
        poll = select.poll()
        at = {stream.fileno(): place for place, stream in enumerate(self.sockets)}
        for file in at:
            poll.register(file, select.POLLIN)
        for file, _ in poll.poll(0):
            place = at[file]
            self.sockets[place].close()
            self.sockets[place] = self.connect(self.sources[place])

    def close(self):
        for stream in self.sockets:
            stream.close()


def test_handshakes_beside_silent_ones(make_daemon):
    """60 newcomers shake hands while 64 silent connections of 4 addresses come again and again."""
    with tempfile.TemporaryDirectory() as directory:
        lines = certificates.config_lines(directory)
        _, address, ipv4 = devices.limited(make_daemon, lines, "tls limited")
        silent = Silent(address, devices.DEVICES[:4], HANDSHAKES // 4)
        got_in = 0
        for n in range(60):
            silent.renew()
            target, source = ((ipv4, f"127.0.1.{n + 1}") if n % 2 else
                              (address, devices.DEVICES[100 + n]))
            got_in += gets_in(target, source, tls=certificates.any_server())
        silent.close()
        assert got_in == 60, f"{got_in} of 60"


def test_all_addresses_of_a_network_shake_hands(make_daemon):
    """200 addresses of one /64 with a silent connection each: the oldest makes room."""
    with tempfile.TemporaryDirectory() as directory:
        lines = certificates.config_lines(directory)
        _, address, ipv4 = devices.limited(make_daemon, lines, "tls limited")
        silent = Silent(address, devices.DEVICES[:200], 1)
        for n in range(20):
            assert gets_in(ipv4, f"127.0.1.{n + 1}", tls=certificates.any_server())
            silent.renew()
        silent.close()


# --- figures --------------------------------------------------------------------------------------


def hold_sessions(source, end):
    """Takes sessions until no more are given, watches in all of them, and comes again."""
    address = (devices.SERVER, 7117)
    held = []
    while time.monotonic() < end:
        client = devices.greeted(address, source, patience=5)
        if client is None:
            time.sleep(0.05)
        else:
            client.post(pb.Watch(query=wire.query_of(["topic:watched"], k=0)))
            client.receive()
            held.append(client)
        ended = [client for client in held if select.select([client.socket], [], [], 0)[0]]
        for client in ended:
            held.remove(client)
            client.close()


def hold_handshakes(source, end):
    silent = Silent((devices.SERVER, 7117), [source], HANDSHAKES // 4)
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            silent.renew()
        time.sleep(0.005)


def count_newcomers(daemon, seconds, pause_s, **options):
    """The share of newcomers that get in, of IPv4 addresses and other /64s in turn."""
    tried = got_in = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        source = f"127.0.1.{tried % 250 + 1}" if tried % 2 else devices.ELSEWHERE[tried // 2 % 8]
        host = "127.0.0.1" if "." in source else devices.SERVER
        tried += 1
        got_in += gets_in((host, daemon.port), source, patience=3, **options)
        time.sleep(pause_s)
    return 100 * got_in / tried


def measure(program):
    import siege
    figures = {}
    with siege.MeasuredDaemon(program) as daemon:
        with siege.attackers(hold_sessions, devices.DEVICES[:ATTACKING], 20):
            time.sleep(5)
            figures["newcomers' sessions that are taken, %"] = count_newcomers(daemon, 8, 0.05)
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        with siege.MeasuredDaemon(program, certificates.config_lines(directory), tls=True) as daemon:
            with siege.attackers(hold_handshakes, devices.DEVICES[:4], 20):
                time.sleep(2)
                figures["newcomers' handshakes that are done, %"] = count_newcomers(
                    daemon, 8, 0.05, tls=certificates.any_server())
    return figures
