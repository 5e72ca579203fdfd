# SPDX-License-Identifier: Apache-2.0
"""T16: posters, codes and errors cost as much as ten lists and no token, so one phone with eight
connections that asked for posters made the lists of all others wait (p50 0.5 to 36 ms in 0.2.0).
They are made once a reload now, and of one sender at most one request is answered in an iteration of
the loop (tests/unit/test_web_ticks.c)."""

import contextlib
import multiprocessing
import os
import statistics
import time

import pytest

from web_runner import NAME, make_gateway, make_web, open_folder  # noqa: F401 (fixtures)

CONNECTIONS = 8  # of one address, as many as it may have
PAGES, ROUNDS = 300, 10
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


def costs_of(web, reader, paths):
    """How long the program works for each page, in ns: by turns, the least of some rounds, because
    other work on the machine only adds to it."""
    least = dict.fromkeys(paths, float("inf"))
    for path in paths * ROUNDS:
        before = processor_ns(web)
        for _ in range(PAGES // ROUNDS):
            reader.get(path)
        least[path] = min(least[path], (processor_ns(web) - before) / (PAGES // ROUNDS))
    return least


def test_no_page_costs_much_more_than_a_list(make_web):
    """A page of the configuration costs hardly more than a list that is given from memory, and not
    three and more times as much."""
    web = make_web("cache = 1m\n", daemon="[limits]\nqueries_per_minute = 0\n")
    with contextlib.closing(Reader(web, "127.0.0.2")) as reader:
        costs = costs_of(web, reader, ["/"] + PATHS)
    assert max(costs.values()) <= 2.5 * costs["/"], costs


@pytest.mark.parametrize("path", ["/", "/poster", "/about"])
def test_unknown_languages_are_one_page(make_web, path):
    """Each tag that the URL may name was a poster of its own: 8 connections with ever new tags kept the
    program as busy as before the pages were kept."""
    web = make_web()
    for tag in ("xx", "DE", "zz-1"):
        page = web.get(f"{path}?l={tag}", Accept="text/html").text
        assert f"l={tag}" not in page and f'value="{tag}"' not in page
    assert "l=de" in web.get(f"{path}?l=DE", Accept="text/html").text


def _ask_for_posters(web):
    with contextlib.closing(Reader(web, "127.0.0.2")) as attacker:
        while True:
            attacker.get("/poster")


def _lists(web, source):
    """The median of an honest phone's lists, in ms."""
    times = []
    with contextlib.closing(Reader(web, source)) as honest:
        for _ in range(PAGES):
            before = time.monotonic()
            honest.get("/")
            times.append((time.monotonic() - before) * 1000)
    return statistics.median(times)


def measure(web):
    """Others' lists in ms, quiet and beside the attack: for who wants to see the times."""
    quiet = _lists(web, "127.0.0.3")
    attackers = [multiprocessing.get_context("fork").Process(target=_ask_for_posters, args=(web,))
                 for _ in range(CONNECTIONS)]
    for attacker in attackers:
        attacker.start()
    beside = _lists(web, "127.0.0.4")
    for attacker in attackers:
        attacker.terminate()
        attacker.join()
    return quiet, beside
