# SPDX-License-Identifier: Apache-2.0
"""The list for programs: text for a terminal, JSON, and a feed. Who reads them pays as phones do."""

import json
import re
import subprocess
import unicodedata
import xml.etree.ElementTree

import conftest
from test_gateway import make_gateway, open_folder  # noqa: F401 (fixtures)
from web_runner import NAME, make_web  # noqa: F401 (a fixture)

ATOM = "{http://www.w3.org/2005/Atom}"
HOSTILE = "clear \x1b[2J\x1b]0;title\x07 \x9b2J \u202eevil & <b>bold</b>"


def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in line)


def test_text_for_a_terminal(make_web):
    """No line is wider than 80 columns, and nothing moves the cursor; a browser gets the page."""
    web = make_web("title = Café & Co\noperator = X\ncontact = y\n")
    for text in (HOSTILE, "word " * 60, "漢" * 100, "one\n\n\n\ntwo", "x" * 200):
        assert web.leave(text).status == 200
    answer = web.get(Accept="*/*")
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["Vary"] == "Accept, Accept-Language" and answer.headers["Cache-Control"] == "no-store"
    lines = answer.text.split("\n")
    assert lines[:2] == ["Café & Co", "5 messages"]
    assert max(map(columns, lines)) <= 80
    assert not [c for c in answer.text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf")]
    assert "  clear \\x1b[2J\\x1b]0;title\\x07 \\u{9b}2J \\u{202e}evil & <b>bold</b>" in lines
    assert "  one\n\n  two\n" in answer.text
    assert re.search(r"^just now, gone in (about )?\d+ (h|days)$", answer.text, re.MULTILINE)
    page = web.get(Accept="text/html,*/*;q=0.8")
    assert page.text.startswith("<!DOCTYPE html>") and page.headers["Vary"] == "Accept, Accept-Language"
    assert web.get("/?l=fr", Accept="text/plain").text.split("\n")[1] == "5 messages"
    assert web.get("/?t=jazz", Accept="*/*").text.split("\n")[1] == "No message fits what you look for."
    assert "رسائل" in web.get("/", Accept="text/plain", Accept_Language="ar").text
    shown = subprocess.run(  # as people do it
        ["curl", "-sS", "--resolve", f"{NAME}:{web.port}:{web.address}", f"http://{NAME}:{web.port}/"],
        capture_output=True, text=True, check=True).stdout
    assert shown.startswith("Café & Co\n5 messages\n")


def test_json_as_the_command_has_it(make_web):
    web = make_web("cache = 0\nper_page = 3\n")
    texts = [f"number {number} {HOSTILE}" for number in range(5)]
    for text in texts:
        assert web.leave(text, t="jazz" if "number 4" in text else "").status == 200
    answer = web.get("/list.json")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/json"
    assert not [c for c in answer.text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf")]
    first = json.loads(answer.text)
    assert [one["text"] for one in first["messages"]] == texts[:1:-1]
    second = json.loads(web.get(first["older"]).text)
    assert [one["text"] for one in second["messages"]] == texts[1::-1] and "older" not in second
    command = subprocess.run(
        [conftest.program(conftest.HEARSAY), "--server", web.gateway.daemon.socket_path, "query",
         "--json", "--topic", "jazz"], capture_output=True, text=True, check=True).stdout
    theirs = json.loads(command.splitlines()[0])
    ours = json.loads(web.get("/list.json?t=jazz").text)["messages"]
    assert len(ours) == 1 and set(theirs) - set(ours[0]) == {"intersection", "union", "set_bits"}
    for key in ("id", "deposited", "expires", "text", "type"):
        assert ours[0][key] == theirs[key], key


def test_feed(make_web):
    web = make_web("cache = 0\ntitle = Café & Co\n")
    empty = xml.etree.ElementTree.fromstring(web.get("/feed").text)
    assert empty.find(f"{ATOM}updated").text and empty.findall(f"{ATOM}entry") == []
    for text in ("first\nmore of it", HOSTILE, "w" * 100):
        assert web.leave(text).status == 200
    answer = web.get("/feed")
    assert answer.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    feed = xml.etree.ElementTree.fromstring(answer.text)
    assert feed.tag == f"{ATOM}feed" and feed.find(f"{ATOM}title").text == "Café & Co"
    links = {link.get("rel"): link.get("href") for link in feed.findall(f"{ATOM}link")}
    host = f"http://{NAME}:{web.port}"
    assert links["self"].startswith(f"{host}/feed?p=") and links["alternate"].startswith(f"{host}/?p=")
    entries = feed.findall(f"{ATOM}entry")
    assert [one.find(f"{ATOM}title").text for one in entries] == [
        "w" * 60 + "…", "clear [2J]0;title 2J evil & <b>bold</b>", "first"]
    assert entries[2].find(f"{ATOM}content").text == "first\nmore of it"
    assert feed.find(f"{ATOM}updated").text == entries[0].find(f"{ATOM}updated").text
    names = [author.find(f"{ATOM}name").text for one in [feed, *entries] for author in one.findall(f"{ATOM}author")]
    assert names == ["Somebody"] * 3, "no reader shows a guest's words under the name of the place"
    for one in entries:
        assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", one.find(f"{ATOM}id").text)
        target = one.find(f"{ATOM}link").get("href")
        assert target.startswith(f"{host}/m/") and web.get(target.removeprefix(host)).status == 200
    ids = [one.find(f"{ATOM}id").text for one in [feed, *entries]]
    assert len(set(ids)) == 4
    again = xml.etree.ElementTree.fromstring(web.get("/feed?l=ar").text)
    assert [one.find(f"{ATOM}id").text for one in [again, *again.findall(f"{ATOM}entry")]] == ids
    other = xml.etree.ElementTree.fromstring(web.get("/feed?t=jazz").text)
    assert other.find(f"{ATOM}id").text != ids[0]


def test_programs_pay(make_web):
    """One who asks for ever new lists is refused, in words; others are not."""
    web = make_web("cache = 0\n", daemon="[limits]\nqueries_per_minute = 1\nquery_burst = 2\n")
    for path in ("/list.json", "/feed", "/"):
        answers = [web.get(f"{path}?t=a{number}", source=f"127.0.5.{len(path)}", Accept="*/*")
                   for number in range(4)]
        refused = [one for one in answers if one.status == 429]
        assert refused and answers[0].status == 200, path
        assert int(refused[0].headers["Retry-After"]) >= 1
        assert refused[0].text.startswith("That was a lot in a short time. Try again in ")
    assert web.get("/list.json", source="127.0.6.1").status == 200
