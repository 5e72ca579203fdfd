# SPDX-License-Identifier: Apache-2.0
"""T3 and T9, on the page for phones: one device, with as many addresses as it likes, holds all
connections, streams or lists. Whoever holds most gives way, in whatever state its connections are.
(0.2.0: with 256 silent connections of 32 addresses, 1 of 25 newcomers with IPv6 was served; with 64
streams, no page of another list got one.)"""

import contextlib
import os
import socket

import hostile
import pytest

from guests import SERVER4, SERVER6, addresses4, addresses6, make_guests  # noqa: F401 (a fixture)
from t1_posts_on_the_page import Page
from web_runner import NAME, make_gateway, make_web, open_folder  # noqa: F401 (fixtures)

OFF_LINK = "fd00:7117:2:2"  # a network behind a router
CONNECTIONS, OF_AN_ADDRESS = 512, 8  # the defaults
STREAMS, STREAMS_OF_AN_ADDRESS, VIEWS = 256, 2, 64

if not os.environ.get("HEARSAY_WEB"):
    pytest.skip("hearsay-web is not built", allow_module_level=True)


def head_of(web, method, target, *more):
    lines = (f"{method} {target} HTTP/1.1", f"Host: {NAME}:{web.port}", *more, "", "")
    return "\r\n".join(lines).encode()


def begin_body(web):
    length = "Content-Length: 100"
    return head_of(web, "POST", "/leave", "Content-Type: application/x-www-form-urlencoded", length) + b"a"


KINDS = {
    "silent": lambda web: b"",
    "body": begin_body,
    "unread": lambda web: head_of(web, "GET", "/script.js") * 64,
}


def hold(page, device, sources, of_each, bytes_of):
    """Connections of a device that stay; each has sent bytes."""
    held = []
    with device.inside():
        for source in sources:
            for number in range(of_each):
                made = page.of(source).connection(source)
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                made.sendall(bytes_of(number, page.of(source)))
                held.append(made)
    return held


def count_open(held):
    """How many of them the page has not closed."""
    count = 0
    for one in held:
        one.setblocking(False)
        with contextlib.suppress(ConnectionError):
            try:
                while one.recv(4096, socket.MSG_DONTWAIT):
                    pass
            except BlockingIOError:
                count += 1
    return count


@pytest.fixture(name="town")
def make_town(guests, make_web):
    """The page with its default limits, four phones, and a router with a network of its own."""
    hostile.raise_descriptors(4096)
    page = Page(make_web)
    phones = [guests.add(addresses4(1, 10 + n)[0], addresses6(1, 0x10 + n)[0]) for n in range(4)]
    router = guests.add(addresses6(1, 0x8000)[0])
    return page, phones, router


def read_pages(page, phones, path="/"):
    """What each phone gets by IPv4 and by IPv6: status codes, 0 where nothing came."""
    statuses = []
    for phone in phones:
        for source in phone.addresses:
            try:
                with phone.inside():
                    statuses.append(page.of(source).get(path, source=source).status)
            except OSError:
                statuses.append(0)
    return statuses


def begin_streams(page, phones, path="/events"):
    """How many phones get a stream, by IPv4 and by IPv6."""
    begun = 0
    with contextlib.ExitStack() as stack:
        for phone in phones:
            for source in phone.addresses:
                with contextlib.suppress(OSError, AssertionError), phone.inside():
                    stack.enter_context(
                        contextlib.closing(page.of(source).events(path, source=source)))
                    begun += 1
    return begun


@pytest.mark.parametrize("kind", KINDS)
def test_one_device_holds_all_connections(guests, town, kind):
    """Phones of the same /64 and with IPv4 are served while one device holds all connections."""
    page, phones, _ = town
    sources = addresses6(CONNECTIONS // OF_AN_ADDRESS, 0x100)
    attacker = guests.add(*sources)
    held = hold(page, attacker, sources, OF_AN_ADDRESS, lambda number, web: KINDS[kind](web))
    with contextlib.ExitStack() as stack:
        for one in held:
            stack.callback(one.close)
        assert read_pages(page, phones) == [200] * 8
        assert count_open(held) >= CONNECTIONS - 2 * 8, "no more give way than are needed"


def test_one_device_holds_half(guests, town):
    """As many as one network could have in 0.2.0, of one device, in both families."""
    page, phones, _ = town
    sources = addresses6(16, 0x100) + addresses4(16, 100)
    attacker = guests.add(*sources)
    held = hold(page, attacker, sources, OF_AN_ADDRESS, lambda number, web: b"")
    with contextlib.ExitStack() as stack:
        for one in held:
            stack.callback(one.close)
        assert read_pages(page, phones) == [200] * 8
        assert count_open(held) == CONNECTIONS // 2, "there was room for all"


def test_off_link_a_network_is_one_address(guests, town):
    """All addresses of a /64 behind a router have the connections of one address."""
    page, phones, router = town
    sources = [f"{OFF_LINK}::{number:x}" for number in range(1, 17)]
    guests.route(OFF_LINK, router, sources)
    held = hold(page, router, sources, 1, lambda number, web: b"")
    with contextlib.ExitStack() as stack:
        for one in held:
            stack.callback(one.close)
        assert read_pages(page, phones) == [200] * 8
        assert count_open(held) == OF_AN_ADDRESS


def hold_streams(stack, guests, page, groups, path_of):
    """Streams of a device for each group of addresses, as many of each address as it may have."""

    def request(number, web):
        return head_of(web, "GET", path_of(next(numbers)))

    for sources in groups:
        numbers = iter(range(len(sources) * STREAMS_OF_AN_ADDRESS))
        for one in hold(page, guests.add(*sources), sources, STREAMS_OF_AN_ADDRESS, request):
            stack.callback(one.close)
            assert b" 200 " in one.recv(4096)


def test_two_devices_hold_all_streams(guests, town):
    """Each phone gets a stream, and the page, while two devices hold all streams."""
    page, phones, _ = town
    half = STREAMS // STREAMS_OF_AN_ADDRESS // 2
    with contextlib.ExitStack() as stack:
        hold_streams(stack, guests, page, [addresses6(half, 0x100), addresses4(half, 100)],
                     lambda number: "/events")
        assert begin_streams(page, phones) == 8
        assert read_pages(page, phones) == [200] * 8


def test_few_devices_hold_all_lists(guests, town):
    """Phones get streams of a list of their own, and of all messages, while three devices have
    streams of as many other lists as there may be, and each list is also another one's."""
    page, phones, _ = town
    of_each = VIEWS // STREAMS_OF_AN_ADDRESS
    with contextlib.ExitStack() as stack:
        hold_streams(stack, guests, page, [addresses4(of_each, 100 + 40 * n) for n in range(3)],
                     lambda number: f"/events?t=v{number}")
        assert begin_streams(page, phones[:2], "/events?t=mine") == 4
        assert begin_streams(page, phones[2:]) == 4
