# SPDX-License-Identifier: Apache-2.0
"""T16: posters, codes and errors cost as much as ten lists and no token, so one phone with eight
connections that asked for posters made the lists of all others wait (p50 0.5 to 36 ms in 0.2.0).
They are made once a reload now, and of one sender at most one request is answered in an iteration of
the loop (tests/unit/test_web_ticks.c)."""

import contextlib
import os
import statistics
import threading
import time

import pytest

from web_runner import NAME, make_gateway, make_web, open_folder  # noqa: F401 (fixtures)

CONNECTIONS = 8  # of one address, as many as it may have
PAGES = 300
PATHS = ["/poster", "/poster?t=other&o=near", "/qr/page.svg", "/about", "/not-there"]

if not os.environ.get("HEARSAY_WEB"):
    pytest.skip("hearsay-web is not built", allow_module_level=True)


class Reader:
    """A connection that stays."""

    def __init__(self, web, source):
        self.connection = web.connection(source)
        self.host = f"{NAME}:{web.port}"

    def get(self, path):
        self.connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())
        data = self.connection.recv(65536)
        while b"\r\n\r\n" not in data:
            data += self.connection.recv(65536)
        head, body = data.split(b"\r\n\r\n", 1)
        left = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]) - len(body)
        while left > 0:
            left -= len(self.connection.recv(65536))

    def close(self):
        self.connection.close()


def processor_ns(web):
    with open(f"/proc/{web.process.pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])


def cost_of(web, reader, path):
    """How long the program works for one page, in ns: the median of a few rounds."""
    rounds = []
    for _ in range(5):
        before = processor_ns(web)
        for _ in range(PAGES // 5):
            reader.get(path)
        rounds.append(processor_ns(web) - before)
    return statistics.median(rounds) / (PAGES // 5)


def test_no_page_costs_much_more_than_a_list(make_web):
    """A page of the configuration costs no more than twice a list that is given from memory."""
    web = make_web(daemon="[limits]\nqueries_per_minute = 0\n")
    with contextlib.closing(Reader(web, "127.0.0.2")) as reader:
        reader.get("/")
        most = 2 * cost_of(web, reader, "/")
        costs = {path: cost_of(web, reader, path) for path in PATHS}
    assert max(costs.values()) <= most, (most, costs)


def measure(web):
    """Others' lists in ms, quiet and beside the attack: for who wants to see the times."""
    over = threading.Event()

    def ask_for_posters():
        with contextlib.closing(Reader(web, "127.0.0.2")) as attacker:
            while not over.is_set():
                attacker.get("/poster")

    def lists(source):
        with contextlib.closing(Reader(web, source)) as honest:
            times = []
            for _ in range(PAGES):
                before = time.monotonic()
                honest.get("/")
                times.append((time.monotonic() - before) * 1000)
        return statistics.median(times)

    quiet = lists("127.0.0.3")
    threads = [threading.Thread(target=ask_for_posters) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    beside = lists("127.0.0.4")
    over.set()
    for thread in threads:
        thread.join()
    return quiet, beside
