# SPDX-License-Identifier: Apache-2.0
"""T1: one device takes many addresses of the guest network. All of them are one sender: the kernel's
neighbour table tells which device is behind an address. (findings of 0.2.0: with 8 IPv6 addresses one
phone kept all others from posting.)"""

import contextlib
import signal
import socket

import hearsay_wire as wire
import pytest
import traces
from guests import SERVER4, SERVER6, Guests, addresses4, addresses6, make_guests, unread  # noqa: F401 (a fixture)
from hearsay_wire import pb

BURST = 4
RATES = f"[limits]\ndeposits_per_minute = 1\ndeposit_burst = {BURST}\n"
TOPIC = ["topic:market"]


def serve(make_daemon, words="", more=RATES):
    """A daemon on the bridge: its address for each family."""
    daemon = make_daemon(f"listen = {SERVER4}:0{words}\nlisten = [{SERVER6}]:0{words}\n{more}")
    return daemon, {4: (SERVER4, int(daemon.find_log(rf"listening on {SERVER4}:(\d+)").group(1))),
                    6: (SERVER6, int(daemon.find_log(rf"listening on \[{SERVER6}\]:(\d+)").group(1)))}


def connect(stack, device, places, source):
    """A client of the device from one of its addresses."""
    with device.inside():
        return stack.enter_context(wire.Client(places[6 if ":" in source else 4], source=source))


def count_deposits(client, rng, tries=BURST + 2):
    """How many deposits are taken; the others exceed the rate."""
    taken = 0
    for _ in range(tries):
        try:
            client.call(wire.deposit_of(rng, TOPIC))
            taken += 1
        except wire.Refused as refusal:
            assert refusal.code == "RATE_LIMITED", refusal
    return taken


@pytest.mark.parametrize("addresses", [addresses4(16, 100), addresses6(8, 0x100),
                                       addresses4(4, 100) + addresses6(4, 0x100)],
                         ids=["ipv4", "ipv6", "both"])
def test_all_addresses_of_a_device_have_one_rate(make_daemon, rng, guests, addresses):
    """A device deposits as many messages as one sender may, and 16 devices beside it theirs."""
    daemon, places = serve(make_daemon)
    attacker = guests.add(*addresses)
    honest = [guests.add(addresses4(1, 10 + n)[0], addresses6(1, 0x10 + n)[0]) for n in range(16)]
    with contextlib.ExitStack() as stack:
        clients = [connect(stack, attacker, places, source) for source in addresses]
        taken = [count_deposits(client, rng) for client in clients]
        assert sum(taken) == BURST, taken
        for device in honest:
            by_address = [count_deposits(connect(stack, device, places, source), rng)
                          for source in device.addresses]
            assert by_address == [BURST, 0], "its IPv4 and its IPv6 are one sender"
    if len(addresses) >= 8:
        daemon.wait_log(rf"8 or more addresses of the device {attacker.link} on guests are in use")
        assert sum("addresses of the device" in line for line in daemon.log if line) == 1
    assert not any(address in line for line in daemon.log if line for address in addresses)


def test_a_sender_stays_with_its_connection(make_daemon, rng, guests):
    """What counts is fixed when a connection is accepted: it stays when the kernel forgets."""
    _, places = serve(make_daemon)
    first, second = addresses4(2, 100)
    device = guests.add(first, second)
    with contextlib.ExitStack() as stack:
        clients = [connect(stack, device, places, source) for source in (first, second)]
        guests.flush()
        assert [count_deposits(client, rng) for client in clients] == [BURST, 0]


@pytest.mark.parametrize("words, expected", [("", BURST), (" senders=address", 12 * BURST)],
                         ids=["device", "address"])
def test_twelve_phones_behind_a_repeater(make_daemon, rng, guests, words, expected):
    """A repeater shows them under its own link-layer address: each reads and watches, and together
    they post as one device, or as twelve where the listener says so."""
    _, places = serve(make_daemon, words)
    sources = addresses4(12, 100)
    repeater = guests.add(*sources)
    with contextlib.ExitStack() as stack:
        phones = [connect(stack, repeater, places, source) for source in sources]
        for phone in phones:
            watched = wire.query_of(TOPIC)
            watched.ClearField("k")
            phone.call(pb.Watch(query=watched))
            phone.call(wire.query_of(TOPIC))
        assert sum(count_deposits(phone, rng) for phone in phones) == expected


def test_lost_news_are_read_again(make_daemon, rng, guests):
    """More news than the kernel keeps for a daemon that does not read them: it loses some, among them
    those of the device, and the daemon reads the whole table again."""
    daemon, places = serve(make_daemon)
    device = guests.add(*addresses4(150, 100))
    with wire.Client(("127.0.0.1", daemon.port)) as client:
        client.call(pb.Ping())
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            for _ in range(4):
                guests.announce(addresses6(500, 0x1000))
            guests.introduce(device)
            waiting, lost = unread(daemon.process.pid)
            assert waiting > 0 and lost > 0
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        client.call(pb.Ping())
    wire.wait_until(lambda: unread(daemon.process.pid)[0] == 0, "the daemon goes on reading")
    # While its addresses count, each deposits.
    sources = iter(device.addresses)
    with contextlib.ExitStack() as stack:
        wire.wait_until(
            lambda: count_deposits(connect(stack, device, places, next(sources)), rng) == 0,
            "all addresses are known to be of one device")


def test_no_link_layer_address_is_kept(make_daemon, rng, guests, sanitized):
    """Neither the memory nor the log names a phone's link-layer address."""
    if sanitized:
        pytest.skip(f"{sanitized} keeps memory that has been freed")
    daemon, places = serve(make_daemon)
    device = guests.add(*addresses4(2, 100), *addresses6(2, 0x100))
    with contextlib.ExitStack() as stack:
        for source in device.addresses:
            connect(stack, device, places, source).call(wire.deposit_of(rng, TOPIC))
        memory = traces.memory_of(daemon.process.pid)
        assert socket.inet_pton(socket.AF_INET, device.addresses[0]) in memory, "it is looked into"
        assert bytes.fromhex(device.link.replace(":", "")) not in memory
    assert device.link.encode() not in memory
    assert not any(device.link in line for line in daemon.log if line)


def test_an_address_without_an_entry_is_its_network(make_daemon, rng, guests):
    """Addresses whose device the kernel does not tell share one rate for each /64 on link: whoever
    overflows the table gains nothing. Here the access point itself has such addresses."""
    _, places = serve(make_daemon, " limited")
    known = guests.add(addresses6(1, 0x100)[0])
    own = addresses6(3, 0x200)
    guests.add_own(own)
    with contextlib.ExitStack() as stack:
        assert count_deposits(connect(stack, known, places, known.addresses[0]), rng) == BURST
        taken = [count_deposits(stack.enter_context(wire.Client(places[6], source=source)), rng)
                 for source in own]
    assert taken == [BURST, 0, 0]


def test_a_bridge_that_was_left_behind(make_daemon, rng):
    """A test that is interrupted leaves its bridge and its cables. The next one has its own all the same:
    it neither skips nor fails."""
    left = Guests()
    left.add(*addresses4(2, 100))
    guests = Guests()
    try:
        device = guests.add(*addresses4(1, 100))
        _, places = serve(make_daemon)
        with contextlib.ExitStack() as stack:
            assert count_deposits(connect(stack, device, places, device.addresses[0]), rng) == BURST
    finally:
        guests.close()
        left.close()
