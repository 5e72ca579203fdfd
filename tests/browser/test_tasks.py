# SPDX-License-Identifier: Apache-2.0
"""Each task of a person with a phone: without JavaScript, and with it."""

import json
import re
import urllib.parse

import pytest

from harness import NAME, Phone, fill_list, page_path


@pytest.fixture(params=[False, True], ids=["plain", "script"])
def phone(browser, request):
    phone = Phone(browser)
    phone.script(request.param)
    yield phone
    phone.check_log()


def others_leave(place, *texts, **fields):
    """Messages of other phones, the first one first."""
    for number, text in enumerate(texts):
        assert place.leave(text, source=f"127.0.0.{number + 10}", **fields).status == 200


def test_read(phone, place):
    phone.open(place)
    assert "Nothing here yet." in phone.text("main")
    others_leave(place, "Is there a piano here?", "First line\n\nthird line")
    phone.go("/")
    assert phone.messages == ["First line\nthird line", "Is there a piano here?"]
    assert "No names, gone by themselves." in phone.text("header")
    phone.follow("#messages li:last-child a")
    assert phone.heading == "A message" and "Is there a piano here?" in phone.text("main")
    phone.follow("=Back to the messages")
    assert len(phone.messages) == 2


def test_older_newest_nearest(phone, make_place):
    place = make_place("per_page = 3\n")
    others_leave(place, *(f"number {number}" for number in range(7)))
    phone.open(place)
    assert phone.messages == ["number 6", "number 5", "number 4"]
    title = phone.driver.title
    phone.follow("=Older messages")
    assert phone.messages == ["number 3", "number 2", "number 1"]
    assert phone.driver.title == "Older messages · " + title, "a screen reader says it first"
    phone.follow("=Older messages")
    assert phone.messages == ["number 0"] and not phone.has("=Older messages")
    phone.follow("=Back to the newest")
    assert phone.messages == ["number 6", "number 5", "number 4"]
    assert phone.find("=Newest").get_attribute("aria-current") == "true"
    phone.follow("=Nearest")
    assert phone.find("=Nearest").get_attribute("aria-current") == "true"
    assert phone.find("=Newest").get_attribute("aria-current") is None
    assert phone.driver.title == "Nearest · " + title
    assert len(phone.messages) == 3
    phone.follow("=There are more: show the newest")
    assert phone.messages == ["number 6", "number 5", "number 4"] and phone.has("=Older messages")
    phone.follow("=Nearest")
    phone.follow("=Newest")
    assert phone.messages == ["number 6", "number 5", "number 4"]


def test_topics(phone, place):
    others_leave(place, "Sax at eight", "Sax at nine", t="jazz")
    others_leave(place, "Cake is out", t="coffee")
    phone.open(place, "/?t=jazz")
    assert phone.messages == ["Sax at nine", "Sax at eight"]
    phone.follow(".tools ul[aria-label] .chip")  # the chip takes the topic away
    assert len(phone.messages) == 3
    phone.tap("=Choose a topic")
    phone.fill("#topic", "Coffee")
    phone.follow("=Show")
    assert phone.messages == ["Cake is out"]
    assert phone.text(".tools ul[aria-label]").startswith("coffee")
    phone.go("/?t=nobody")
    assert phone.messages == [] and "No message fits" in phone.text("main")
    phone.follow("=Show all messages")
    assert len(phone.messages) == 3


def test_leave(phone, place):
    phone.open(place)
    phone.fill("#text", "Café")
    phone.tap("=Topics and time")
    phone.fill("#t", "jazz, coffee")
    phone.tap("label[for=now]")
    phone.find("#ttl option[value='3600']").click()
    phone.leave("Café & <b>bold</b>\nsecond line")
    if not phone.has_script:
        assert phone.heading == "Your message is here"
        assert re.search(r"disappears by itself in (1 h|60 min|59 min)\.", phone.text("main"))
        phone.follow("=Back to the messages")
    assert re.search(r"gone in (1 h|60 min|59 min)$", phone.text("#messages > li .meta"), re.M)
    assert "Café & <b>bold</b>\nsecond line" in phone.messages
    for topic in ("jazz", "coffee"):
        phone.go(f"/?t={topic}")
        assert len(phone.messages) == 1


def test_a_reload_is_no_second_message(phone, place):
    """Without the script the answer to the form is a page of POST: a reload sends the form again."""
    phone.open(place)
    phone.leave("only once")
    code = phone.code()
    phone.follow("html", act=lambda _: phone.driver.refresh())
    assert phone.code() == code
    phone.go("/")
    assert phone.messages == ["only once"]


def test_take_back_by_the_button(phone, place):
    """Without a code to type, at once or as long as the tab lives."""
    phone.open(place)
    phone.leave("gone in a moment")
    if phone.has_script:
        phone.go("/?o=near")
        phone.follow("=Take back")
        assert len(phone.find("#code").get_attribute("value")) == 26
    phone.follow("=Take it back")
    assert phone.heading == "Taken back"
    phone.follow("=Back to the messages")
    assert phone.messages == []


def test_take_back_by_code(phone, place):
    phone.open(place)
    phone.leave("by code")
    code = phone.code()
    phone.run("sessionStorage.clear()")  # another tab
    phone.go("/")
    phone.follow("#messages a")
    phone.tap("=Is it yours? Take it back")
    phone.fill("#code", "B" * 26)
    phone.follow("#withdraw button")
    assert "This code does not fit" in phone.text("main")
    phone.go("/")
    assert phone.messages == ["by code"]
    phone.follow("#messages a")
    phone.tap("=Is it yours? Take it back")
    phone.fill("#code", f" {code[:6].lower()} {code[6:13]}\n{code[13:]} ")  # as people type
    phone.follow("#withdraw button")
    assert phone.heading == "Taken back"
    phone.go("/")
    assert phone.messages == []


def test_report(phone, make_place):
    place = make_place("", "[host default]\nhide_after = 1\n")
    others_leave(place, "Buy my watches")
    phone.open(place)
    phone.follow("#messages a")
    phone.tap("=Report this message")
    phone.tap("=It is advertising")
    phone.fill("#words", "for the third time")
    phone.follow("#report button")
    assert phone.heading == "Thank you"
    phone.follow("=Back to the messages")
    assert phone.messages == []


def test_about_poster_and_language(phone, make_place):
    place = make_place(
        "operator = The Bar\ncontact = bar@example.org\nrules = Be kind.\nwifi_ssid = Guests\n")
    phone.open(place)
    phone.follow("=Who can read what")
    for words in ("The Bar", "bar@example.org", "Be kind.", "Everybody on this WiFi"):
        assert words in phone.text("main")
    phone.follow("=Poster")
    assert len(phone.all(".codes svg")) == 2 and "Guests" in phone.text("main")
    phone.follow("=Deutsch")
    assert page_path(phone.driver.current_url) == "/poster"
    assert phone.find("html").get_attribute("lang") == "de"
    phone.follow(".place")
    assert phone.find("html").get_attribute("lang") == "de"
    phone.fill("#text", "Guten Tag")
    phone.follow("form#leave button")
    assert phone.find("html").get_attribute("lang") == "de"
    if not phone.has_script:
        phone.follow("main .button")
    assert phone.messages == ["Guten Tag"]
    phone.follow("=English")
    assert phone.find("html").get_attribute("lang") == "en" and phone.messages == ["Guten Tag"]


def test_errors_keep_the_text(phone, place):
    phone.open(place)
    text = "word " * 100 + "!"
    phone.leave_unchecked(text)
    assert "That is too much text. Please make it shorter. 1 too many" in phone.text("main")
    assert phone.find("#text").get_attribute("value") == text
    place.gateway.daemon.stop()
    place.wait_healthy(503)
    phone.fill("#text", "said while nobody listens")
    phone.follow("=Leave it here")
    assert "does not answer" in phone.text("main")
    place.gateway.daemon.start()
    place.wait_healthy()
    phone.follow("=Leave it here")
    phone.wait_left()
    phone.go("/")
    assert phone.messages == ["said while nobody listens"]


def test_first_view(phone, place):
    """Three requests at most, to this place only, and small ones. Not part of the first view are the
    stream of events, which stays open, and the icon of the tab, which the browser asks for by itself."""
    fill_list(place, 20)
    phone.driver.get_log("performance")
    phone.open(place)
    assert len(phone.messages) == 20
    asked = {}
    for entry in phone.driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked[message["params"]["request"]["url"]] = message["params"].get("type")
    view = [url for url, kind in asked.items()
            if kind != "EventSource" and not url.endswith("/favicon.svg")]
    assert len(view) <= 3, asked
    for url in asked:
        assert urllib.parse.urlsplit(url).netloc == f"{NAME}:{place.port}"
    limits = {"Document": 16, "Stylesheet": 8, "Script": 14}
    for url, kind in asked.items():
        if kind in limits:
            path = url.removeprefix(place.url(""))
            size = len(place.get(path).text.encode())
            assert size <= limits[kind] * 1024, f"{path}: {size} bytes"


