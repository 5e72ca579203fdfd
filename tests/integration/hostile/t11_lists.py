# SPDX-License-Identifier: Apache-2.0
"""T11: lists of random topics from 32 addresses. In 0.2.0 half of the views were for lists that few
looked at, whoever asked for them, and a newcomer's first look at a topic was refused 6 times of 8."""

import os
import selectors
import threading

import pytest

from web_runner import NAME, make_gateway, make_web, open_folder  # noqa: F401 (fixtures)

ADDRESSES, CONNECTIONS, NEWCOMERS = 32, 4, 16
RATES = "[limits]\nqueries_per_minute = 0\n"

if not os.environ.get("HEARSAY_WEB"):
    pytest.skip("hearsay-web is not built", allow_module_level=True)


class Flood:
    """Connections that each ask for a list of another topic as soon as they have an answer."""

    def __init__(self, web):
        self.host, self.asked, self.is_over = f"{NAME}:{web.port}", 0, False
        self.made = [web.connection(f"127.0.1.{address + 1}")
                     for address in range(ADDRESSES) for _ in range(CONNECTIONS)]
        self.is_on = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        assert self.is_on.wait(30)

    def _ask(self, connection):
        self.asked += 1
        connection.sendall(f"GET /?t=random{self.asked} HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())

    def _answered(self, waiting, connection):
        try:
            if not connection.recv(65536):
                waiting.unregister(connection)
            else:
                self._ask(connection)  # a part of an answer counts, too: more is asked than answered
        except OSError:
            waiting.unregister(connection)

    def _run(self):
        with selectors.DefaultSelector() as waiting:
            for connection in self.made:
                waiting.register(connection, selectors.EVENT_READ)
                self._ask(connection)
            while not self.is_over:
                for key, _ in waiting.select(0.1):
                    self._answered(waiting, key.fileobj)
                if self.asked > 4 * len(self.made):
                    self.is_on.set()

    def close(self):
        self.is_over = True
        self.thread.join()
        for connection in self.made:
            connection.close()


def test_newcomers_get_their_lists(make_web):
    """Each newcomer, with an address of its own, gets the first look at a topic that nobody has asked
    for, and the plain list."""
    web = make_web(daemon=RATES)
    flood = Flood(web)
    try:
        before = flood.asked
        answers = [web.get(path, source=f"127.0.2.{number + 1}").status
                   for number in range(NEWCOMERS) for path in (f"/?t=mine{number}", "/")]
        assert flood.asked > before, "the attack went on"
    finally:
        flood.close()
    assert answers == [200] * (2 * NEWCOMERS), answers
