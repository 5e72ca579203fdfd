# SPDX-License-Identifier: Apache-2.0
"""Here and around here: what other hosts of the hood have is shown when somebody taps for it."""

import os
import random

import pytest

import hearsay_wire as wire
from harness import Phone
from hearsay_wire import pb
from test_layout import SMALL_TARGETS, STICKING_OUT, TARGET
from test_words import PSEUDO, UNTRANSLATED

HOSTS = "[host default]\nhood = campus\n[host library]\nhood = campus\n[host private]\n"
SENTENCE = "Asks other access points near you. They see what you look for, not who you are."
HTML_MOST = 16 * 1024


@pytest.fixture(params=[False, True], ids=["plain", "script"])
def phone(browser, request):
    phone = Phone(browser)
    phone.script(request.param)
    yield phone
    phone.check_log()


def others_leave(place, host, *texts, **fields):
    """Messages at a host, as people there leave them; their ids."""
    rng = random.Random(os.urandom(8))
    with place.gateway.daemon.administrator() as client:
        here = next(one.here for one in client.welcome.hosts if one.name == host)
        sent = [wire.deposit_of(rng, [*here, "topic:jazz"], host=host, payload=text.encode(), **fields)
                for text in texts]
        for one in sent:
            client.call(one)
            client.await_next_ms()
    return [one.id for one in sent]


@pytest.fixture
def campus(make_place):
    place = make_place("", HOSTS)
    others_leave(place, "library", "Quiet, please.")
    others_leave(place, "private", "Nobody's business.")
    others_leave(place, "default", "Coffee is ready.")
    return place


def wheres(phone):
    """The places of the messages in the list."""
    return [e.text for e in phone.all("#messages > li .meta > bdi")]


def current(phone):
    return [e.text for e in phone.all("nav:has([aria-describedby=hood]) .chip[aria-current]")]


def kept(phone):
    return phone.run("return [document.cookie, localStorage.length]")


def test_here_and_around(phone, campus):
    """Off until it is tapped; the sentence is there before; nothing that lasts remembers the choice."""
    phone.open(campus)
    assert phone.messages == ["Coffee is ready."] and current(phone) == ["Here"]
    assert phone.text("#hood") == SENTENCE and phone.find("#hood").is_displayed()
    assert "People around here can find it, too." in phone.find("#who").get_attribute("textContent")
    phone.follow("=Around here")
    assert phone.messages == ["Coffee is ready.", "Quiet, please."]
    assert wheres(phone) == ["Here", "library"] and current(phone) == ["Around here"]
    assert "a=1" in phone.driver.current_url and kept(phone) == ["", 0]
    phone.follow("=Nearest")
    assert len(phone.messages) == 2 and current(phone) == ["Around here"]
    phone.go("/")
    assert phone.messages == ["Coffee is ready."] and current(phone) == ["Here"]
    phone.go("/?a=1")
    phone.follow("=Here")
    assert phone.messages == ["Coffee is ready."] and "a=1" not in phone.driver.current_url


def test_topics_around_here(phone, campus):
    """A choice of topics keeps the choice of the place, and the other way round."""
    phone.open(campus, "/?a=1")
    phone.tap("=Choose a topic")
    phone.fill("#topic", "Jazz")
    phone.follow("=Show")
    assert phone.messages == ["Coffee is ready.", "Quiet, please."]
    phone.follow("=Here")
    assert phone.messages == ["Coffee is ready."] and "t=jazz" in phone.driver.current_url


def test_a_message_of_another_host(phone, campus):
    """Its page says where it is; a report goes there; the way back leads around here."""
    phone.open(campus, "/?a=1")
    phone.follow("#messages li:last-child a")
    assert "Quiet, please." in phone.text("main") and wheres_of_one(phone) == "library"
    phone.unfold("#report")
    phone.tap("[id='report.spam']")
    phone.follow("#report button")
    with campus.gateway.daemon.administrator() as operator:
        (one,) = operator.call(pb.Reported(host="library")).messages
        assert one.payload == b"Quiet, please."
        assert not operator.call(pb.Reported(host="default")).messages
    phone.follow("=Back to the messages")
    assert current(phone) == ["Around here"]


def wheres_of_one(phone):
    return phone.text("article .meta > bdi")


def test_withdrawn_from_another_host(phone, campus):
    """Who left a message there and has its code takes it back from here."""
    phone.open(campus, "/?h=library")
    phone.leave("Left in the library.")
    code = phone.code()
    phone.run("sessionStorage.clear()")  # another tab
    phone.go("/?a=1")
    assert phone.messages[0] == "Left in the library."
    phone.follow("#messages li:first-child a")
    phone.unfold("#withdraw")
    phone.fill("#code", code)
    phone.follow("#withdraw button")
    phone.go("/?a=1")
    assert phone.messages == ["Coffee is ready.", "Quiet, please."]


def test_a_host_without_hood(phone, campus):
    """There is no choice, and the address of one is that of here."""
    for path in ("/?h=private", "/?h=private&a=1"):
        phone.open(campus, path)
        assert phone.messages == ["Nobody's business."] and not phone.has("#hood")
        assert not phone.all("[aria-describedby=hood]")
        assert "around here" not in phone.text("form#leave")


def test_no_way_to_a_host_outside_the_hood(campus):
    """`at` names hosts of the hood only."""
    (hidden,) = others_leave(campus, "private", "Still nobody's business.")
    for at in ("private", "nowhere", "no%20name"):
        page = campus.get(f"/m/{hidden.hex()}?at={at}")
        assert page.status in (400, 404) and "business" not in page.text
        assert ("at another access point: " in page.text) == (at == "nowhere")
    (shown,) = others_leave(campus, "library", "Open on Sunday.")
    assert "Open on Sunday." in campus.get(f"/m/{shown.hex()}?at=library").text


def test_one_id_at_two_hosts(phone, campus):
    """Both are shown; what the page remembers of one does not pass for the other."""
    (mine,) = others_leave(campus, "default", "The true one.")
    others_leave(campus, "library", "The other one.", id=mine)
    phone.open(campus, "/?a=1")
    assert phone.messages[:2] == ["The other one.", "The true one."]
    ids = [e.get_attribute("id") for e in phone.all("#messages > li")]
    assert mine.hex() not in ids[0]
    if phone.has_script:  # it takes the ids of messages of this host from their links
        assert len(set(ids)) == len(ids) and ids[1] == f"m-{mine.hex()}"


def test_new_messages_around_here(browser, campus):
    """New ones of this host come by themselves; none of the list goes because it is elsewhere."""
    phone = Phone(browser)
    phone.script(True)
    phone.open(campus, "/?a=1")
    others_leave(campus, "default", "Tea, too.")
    phone.until(lambda: phone.has("#new"), "the button for new messages")
    phone.tap("#new")
    phone.until(lambda: len(phone.messages) == 3, "the new list")
    assert phone.messages == ["Tea, too.", "Coffee is ready.", "Quiet, please."]
    assert wheres(phone) == ["Here", "Here", "library"]
    phone.check_log()


def test_nobody_around_is_asked_without_a_tap(browser, campus):
    """What the open page asks for by itself is the list of here. It still learns that the host has closed."""
    phone = Phone(browser)
    phone.script(True)
    phone.before_each_page("""
      const slow = setTimeout;
      window.setTimeout = (act, ms) => slow(act, ms >= 20000 && ms < 60000 ? ms / 40 : ms);""")
    phone.open(campus, "/?a=1")
    asked = """return performance.getEntriesByType('resource')
      .filter((one) => one.initiatorType === 'xmlhttprequest').map((one) => one.name)"""
    phone.until(lambda: phone.run(asked), "the list is asked for")
    with campus.gateway.daemon.administrator() as operator:
        operator.call(pb.Accept(mode="closed"))
    phone.until(lambda: not phone.has("form#leave"), "no form")
    assert phone.messages == ["Coffee is ready.", "Quiet, please."]
    assert not [url for url in phone.run(asked) if "a=1" in url]
    phone.check_log()


@pytest.mark.parametrize("language", ["en", "de", "ar", "qps"])
def test_every_language_fits(phone, make_place, faults, language):
    """The choice and the sentence, in each language and on each width."""
    place = make_place("", HOSTS, **({"program": PSEUDO} if language == "qps" else {}))
    others_leave(place, "library", "One.")
    others_leave(place, "default", "Two.")
    for path in ("/?l=", "/?a=1&l="):
        phone.open(place, path + language)
        assert phone.find("html").get_attribute("lang") == language
        assert len(phone.text("#hood")) > 30 and len(current(phone)) == 1
        for width in (320, 360, 412):
            phone.width(width)
            faults.add(f"{path} ({width} px)", phone.run(STICKING_OUT, width))
            faults.add(f"{path} ({width} px)", phone.run(SMALL_TARGETS, TARGET))
        if language == "qps":
            faults.add(path, phone.run(UNTRANSLATED))
    faults.check()


def test_the_first_view_is_small(make_place):
    """20 messages of 200 bytes of two hosts are within the bound of any list."""
    place = make_place("", HOSTS)
    for n in range(10):
        for host in ("default", "library"):
            others_leave(place, host, f"{n} at {host} ".ljust(200, "x"))
    for path in ("/", "/?a=1"):
        page = place.get(path)
        assert page.status == 200 and len(page.text.encode()) <= HTML_MOST, len(page.text.encode())
