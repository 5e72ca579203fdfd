# SPDX-License-Identifier: Apache-2.0
"""T1, on the page for phones: one device with many addresses keeps the queue to hearsayd full. In
0.2.0, 8 IPv6 addresses of one device kept all others with IPv6 from posting, and with 16 IPv4
addresses 2 of 17 posts were taken."""

import contextlib
import copy
import os
import selectors
import threading
import urllib.parse

import pytest

import web_runner
from guests import SERVER4, SERVER6, addresses4, addresses6, make_guests  # noqa: F401 (a fixture)
from web_runner import make_gateway, make_web, open_folder  # noqa: F401 (fixtures)

CONNECTIONS = 8  # of each address, as many as it may have
HONEST = 16
LISTEN = f"listen = {SERVER4}:0%s\nlisten = [{SERVER6}]:0%s\n"

if not os.environ.get("HEARSAY_WEB"):
    pytest.skip("hearsay-web is not built", allow_module_level=True)


class Page:
    """The page on the bridge, as devices see it."""

    def __init__(self, make_web, words="", daemon="", more=""):
        web = make_web(LISTEN % (words, words) + more, daemon)
        self.by_family = {}
        for family, address, shown in ((4, SERVER4, SERVER4), (6, SERVER6, rf"\[{SERVER6}\]")):
            one = copy.copy(web)
            one.address = address
            one.port = int(web.wait_log(rf"listening on {shown}:(\d+)").group(1))
            self.by_family[family] = one

    def of(self, source):
        return self.by_family[6 if ":" in source else 4]

    def form(self, device, source):
        with device.inside():
            return self.of(source).form(source)

    def post(self, device, source, text):
        """Leaves a message as a phone does: the status of the answer."""
        with device.inside():
            return self.of(source).leave(text, source).status

    def connect(self, device, source):
        """Connections that stay, each with the request that it is to repeat."""
        web = self.of(source)
        body = urllib.parse.urlencode({**self.form(device, source), "text": "again and again"})
        head = (f"POST /leave HTTP/1.1\r\nHost: {web_runner.NAME}:{web.port}\r\n"
                f"Origin: http://{web_runner.NAME}:{web.port}\r\n"
                "Content-Type: application/x-www-form-urlencoded\r\n"
                f"Content-Length: {len(body)}\r\n\r\n")
        with device.inside():
            made = [web.connection(source) for _ in range(CONNECTIONS - 1)]  # one place was the form's
        return [(one, (head + body).encode()) for one in made]


class Flood:
    """Connections that each post again as soon as they have an answer."""

    def __init__(self, page, device, addresses):
        self.made = [one for source in addresses for one in page.connect(device, source)]
        self.answers, self.has_answers = 0, threading.Event()
        self.is_over = False
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        assert self.has_answers.wait(30), "the attack goes on before anybody else posts"

    def _run(self):
        with selectors.DefaultSelector() as waiting:
            for connection, request in self.made:
                connection.sendall(request)
                waiting.register(connection, selectors.EVENT_READ, request)
            while not self.is_over:
                for key, _ in waiting.select(0.1):
                    self._answered(waiting, key)

    def _answered(self, waiting, key):
        try:
            if not key.fileobj.recv(65536):
                waiting.unregister(key.fileobj)
                return
            self.answers += 1  # a part of one counts, too
            if self.answers > 2 * len(self.made):
                self.has_answers.set()
            key.fileobj.sendall(key.data)
        except OSError:
            waiting.unregister(key.fileobj)

    def close(self):
        self.is_over = True
        self.thread.join()
        for connection, _ in self.made:
            connection.close()


@pytest.mark.parametrize("addresses", [addresses6(8, 0x100), addresses4(16, 100)],
                         ids=["8-ipv6", "16-ipv4"])
def test_everybody_else_posts_beside_one_device(make_web, guests, addresses):
    """16 of 16 posts of honest devices, one after the other, are taken."""
    page = Page(make_web)
    attacker = guests.add(*addresses)
    honest = [guests.add(addresses4(1, 10 + n)[0], addresses6(1, 0x10 + n)[0]) for n in range(HONEST)]
    with contextlib.closing(Flood(page, attacker, addresses)) as flood:
        before = flood.answers
        source = 1 if ":" in addresses[0] else 0
        taken = [page.post(device, device.addresses[source], f"honest {n}")
                 for n, device in enumerate(honest)]
        assert flood.answers > before, "the attack went on"
    assert taken == [200] * HONEST, taken


def test_everybody_else_posts_beside_sixteen_devices(make_web, guests):
    """At least 15 of 16 posts are taken, although the others have all the places in the queue."""
    page = Page(make_web)
    attackers = [guests.add(address) for address in addresses4(16, 100)]
    honest = [guests.add(addresses4(1, 10 + n)[0]) for n in range(HONEST)]
    with contextlib.ExitStack() as stack:
        floods = [stack.enter_context(contextlib.closing(Flood(page, device, device.addresses)))
                  for device in attackers]
        before = sum(flood.answers for flood in floods)
        taken = [page.post(device, device.addresses[0], f"honest {n}")
                 for n, device in enumerate(honest)]
        assert sum(flood.answers for flood in floods) > before, "the attack went on"
    assert taken.count(200) >= HONEST - 1, taken


BURST = 4
RATES = f"[limits]\ndeposits_per_minute = 1\ndeposit_burst = {BURST}\n"


@pytest.mark.parametrize("words, expected", [("", BURST), (" senders=address", 12 * BURST)],
                         ids=["device", "address"])
def test_twelve_phones_behind_a_repeater(make_web, guests, words, expected):
    """Each reads and has a stream, and together they post as one device; or as twelve where the two
    `listen` lines say so."""
    page = Page(lambda config, daemon: make_web(config, daemon, words), words, RATES)
    repeater = guests.add(*addresses4(12, 100))
    with contextlib.ExitStack() as stack:
        for source in repeater.addresses:
            with repeater.inside():
                stack.enter_context(contextlib.closing(page.of(source).events(source=source)))
                assert page.of(source).get(source=source).status == 200
        answers = [page.post(repeater, source, "a word")
                   for source in repeater.addresses for _ in range(BURST + 1)]
    assert set(answers) == {200, 429}
    assert answers.count(200) == expected
