# SPDX-License-Identifier: Apache-2.0
"""T2, on open pages: a device that leaves message after message has no larger share of what an open
page is told than of the first page. (In 0.2.0, the page was told of each message.)"""

import os
import re

import pytest

from web_runner import fields_of, make_gateway, make_web, open_folder  # noqa: F401 (fixtures)

LIMITS = "[limits]\ndeposits_per_minute = 0\nqueries_per_minute = 0\n"
HONEST, MANY = 20, 40
SHARE = 6  # 30 % of the 20 messages of a page

if not os.environ.get("HEARSAY_WEB"):
    pytest.skip("hearsay-web is not built", allow_module_level=True)


def ids_of(page):
    return re.findall(r'href="/m/([0-9a-f]{32})', page[page.index('id="messages"'):])


def wait_for(stream, told, page):
    """Does what the script of a page does with events, until it has what the page has, and nothing
    else that is newer than the last message of the page."""
    while True:
        newest = list(told)[min(map(list(told).index, page)):] if page <= told.keys() else []
        if set(newest) == page:
            return
        event = stream.next()
        assert event["event"] in ("message", "out"), event
        if event["event"] == "message":
            told[event["data"]["id"]] = True
        else:
            told.pop(event["data"]["id"], None)


def test_an_open_page_shows_the_share_of_a_device(make_web):
    """20 phones leave one message each, and another one 40 in between. What an open page is told is
    what the first page shows, also in between."""
    web = make_web(daemon=LIMITS)
    told, many = {}, set()
    stream = web.events(source="127.0.5.1")
    stream.answer.fp.raw._sock.settimeout(10)  # or comments let it wait for ever
    for n in range(HONEST):
        assert web.leave(f"honest {n}", source=f"127.0.6.{n + 1}").status == 200
        for m in range(MANY // HONEST):
            many.add(fields_of(web.leave(f"many {n} {m}", source="127.0.7.1").text, "/withdraw")["id"])
        if n % 5 == 4:
            page = web.get(source="127.0.5.2").text
            wait_for(stream, told, set(ids_of(page)))
    stream.close()
    assert page.count("many ") == SHARE and page.count("honest ") == 20 - SHARE
    assert len(many & told.keys()) <= len(told) // 2, "not 40 of 60"
