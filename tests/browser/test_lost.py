# SPDX-License-Identifier: Apache-2.0
"""Nothing that a person typed is lost when the connection is lost while it is sent.

The phone reaches the place through a relay, which can refuse what is sent while it lets pages through: as
at the edge of a WiFi. Then the browser shows an error page of its own, and the person goes back or reloads.
"""

import contextlib
import json
import select
import shutil
import socket
import tempfile
import threading

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

import hearsay_wire as wire
import test_moderate as desks
from harness import NAME, Phone, _options
from marionette import Firefox, find_firefox
from test_desk import desk, log_in, open_folder  # noqa: F401 (fixtures)
from test_moderate import conf, leave_text, make_desk, report  # noqa: F401 (fixtures)

TYPED = {"#text": "Is there a piano here?\nI would like to play.", "#t": "jazz, lost"}
WORDS = "It is about me"
SOON = 10  # seconds, on a page that has been loaded


class Relay:
    """Passes connections on to a place. While `refuses` it hangs up on each POST, unanswered, and while `forgets` it
    passes each POST on and hangs up when the answer comes. While `is_silent` it takes all that is sent and answers
    nothing, as where a phone has left the WiFi without a word."""

    def __init__(self, place):
        self.place, self.refuses, self.refused, self.is_silent = place, False, 0, False
        self.forgets = False
        self.door = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, path="/", name=NAME):
        return f"http://{name}:{self.port}{path}"

    def _accept(self):
        with contextlib.suppress(OSError):  # the door is closed: the test is over
            while True:
                threading.Thread(target=self._pass_on, args=(self.door.accept()[0],), daemon=True).start()

    def _pass_on(self, phone):
        with phone, contextlib.suppress(OSError), socket.create_connection(
                (self.place.address, self.place.port)) as place:
            is_forgotten = False
            while True:
                for source in select.select([phone, place], [], [])[0]:
                    data = source.recv(65536)
                    if source is phone and data.startswith(b"POST "):
                        self.refused += self.refuses or self.forgets
                        is_forgotten = self.forgets
                        if self.refuses:
                            return
                    if source is place and is_forgotten:
                        return
                    if not data:
                        return
                    if self.is_silent:
                        continue
                    if source is phone:  # which says to whom it speaks; the place knows its own port only
                        place.sendall(data.replace(b":%d" % self.port, b":%d" % self.place.port))
                    else:
                        phone.sendall(data)

    def close(self):
        self.door.close()


@pytest.fixture
def relay(make_place):
    relay = Relay(make_place())
    yield relay
    relay.close()


# --- Chromium -------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[True, False], ids=["bfcache", "no-bfcache"])
def keeps_pages(request):
    """Whether the browser keeps a whole page for going back. Phones with little memory do not."""
    return request.param


@pytest.fixture(scope="module")
def browser(keeps_pages):
    profile = tempfile.mkdtemp(prefix="hearsay-profile-", dir="/tmp")
    options = _options(profile)
    options.add_argument("--enable-features=BackForwardCache" if keeps_pages else
                         "--disable-features=BackForwardCache")
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    try:
        yield driver
    finally:
        driver.quit()
        shutil.rmtree(profile, ignore_errors=True)


@pytest.fixture
def phone(browser):
    """Without the check of its log: the refused POST is in it."""
    return Phone(browser)


def values(phone, selectors):
    return {selector: phone.find(selector).get_attribute("value") for selector in selectors}


def lose(phone, relay, selector, how="refuses"):
    """Sends a form, which is refused, or its answer forgotten; returns on the browser's error page."""
    refused = relay.refused
    setattr(relay, how, True)
    phone.run("window.wasHere = true")
    phone.follow(selector)
    assert relay.refused > refused
    assert not phone.has("main"), "an error page of the browser"
    setattr(relay, how, False)


@pytest.mark.parametrize("script", [False, True], ids=["plain", "script"])
def test_back_after_a_lost_message(phone, relay, keeps_pages, script):
    phone.script(script)
    phone.open(relay)
    phone.unfold("#leave details")
    for selector, text in TYPED.items():
        phone.fill(selector, text)
    lose(phone, relay, "form#leave button")
    phone.driver.back()
    phone.until(lambda: phone.has("#text"), "the form")
    if keeps_pages and not script:  # the stream of live updates may keep it from being kept
        assert phone.run("return window.wasHere === true"), "the page was not kept whole"
    phone.until(lambda: values(phone, TYPED) == TYPED, "what was typed", SOON)
    phone.follow("form#leave button")
    phone.wait_left()


@pytest.mark.parametrize("script", [False, True], ids=["plain", "script"])
def test_reload_of_the_error_page(phone, relay, script):
    """Sends once more what was typed."""
    phone.script(script)
    phone.open(relay)
    phone.fill("#text", TYPED["#text"])
    lose(phone, relay, "form#leave button")
    phone.driver.refresh()
    phone.until(lambda: phone.has("main"), "a page of the place")
    phone.wait_left()


@pytest.mark.parametrize("way", ["back", "reload", "address"])
def test_a_lost_answer_is_no_second_message(phone, relay, way):
    """The place has the message, but the phone does not know it, and sends it once more."""
    phone.open(relay)
    phone.fill("#text", TYPED["#text"])
    lose(phone, relay, "form#leave button", "forgets")
    phone.open(relay) if way == "address" else phone.driver.back() if way == "back" else phone.driver.refresh()
    phone.until(lambda: phone.has("main"), "a page of the place")
    if way != "reload":
        phone.until(lambda: values(phone, ["#text"]) == {"#text": TYPED["#text"]}, "what was typed", SOON)
        phone.follow("form#leave button")
    phone.wait_left()
    assert len(phone.messages) == 1
    phone.fill("#text", TYPED["#text"])
    phone.follow("form#leave button")
    phone.until(lambda: len(phone.messages) == 2, "who writes it anew leaves another message")


def test_a_removed_message_is_left_anew(phone, relay):
    """Its id is used up: the page that refuses it has another, which the script lets be."""
    phone.open(relay)
    phone.fill("#text", TYPED["#text"])
    lose(phone, relay, "form#leave button", "forgets")
    phone.open(relay)
    with relay.place.gateway.daemon.administrator() as operator:
        operator.call(wire.pb.Remove(id=bytes.fromhex(phone.find("#messages > li").get_attribute("id")[2:])))
    phone.follow("form#leave button")
    assert phone.heading == "That did not work"
    phone.follow("form#leave button")
    phone.wait_left()
    assert len(phone.messages) == 1


@pytest.mark.parametrize("is_answer", [False, True], ids=["message", "answer"])
def test_back_to_a_form_that_was_sent(phone, relay, is_answer):
    """It is empty: nobody leaves a message twice, and the next one can be typed."""
    phone.open(relay)
    if is_answer:
        relay.place.leave("Is there a piano?", source="127.0.0.9")
        phone.go("/")
        phone.follow("#messages a")
    phone.fill("#text", TYPED["#text"])
    phone.follow("form#leave .send")
    phone.wait_left()
    phone.follow("html", act=lambda _: phone.driver.back())
    phone.until(lambda: phone.has("#text") and values(phone, ["#text"]) == {"#text": ""}, "an empty form", SOON)
    # Chromium keeps no page of ours whole, for none may be stored; Safari does.
    phone.run("""
      const text = document.getElementById('text');
      text.value = arguments[0];
      text.dispatchEvent(new Event('input'));
      dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}));""", TYPED["#text"])
    assert values(phone, ["#text"]) == {"#text": ""}
    assert "500" in phone.find("#limit").get_attribute("textContent"), "no count of what was sent"
    phone.leave("Another one.")
    assert "Another one." in phone.messages


def test_reload_of_the_form(phone, relay):
    """A person may think that this helps. Without the script Chromium empties each form then."""
    phone.open(relay)
    phone.unfold("#leave details")
    for selector, text in TYPED.items():
        phone.fill(selector, text)
    lose(phone, relay, "form#leave button")
    phone.driver.back()
    phone.until(lambda: phone.has("#text"), "the form")
    phone.driver.refresh()
    phone.until(lambda: values(phone, TYPED) == TYPED, "what was typed", SOON)


@pytest.mark.parametrize("script", [False, True], ids=["plain", "script"])
def test_back_after_a_lost_report(phone, relay, script):
    """The reason comes back; the code with which a message is taken back does not, for it is a secret."""
    relay.place.leave("rude", source="127.0.0.9")
    phone.script(script)
    phone.open(relay)
    phone.follow("#messages a")
    phone.unfold("#withdraw")
    phone.fill("#code", "A" * 26)
    phone.unfold("#report")
    phone.tap("label[for='report.spam']")
    phone.fill("#words", WORDS)
    lose(phone, relay, "#report button")
    phone.driver.back()
    phone.until(lambda: phone.has("#report"), "the message")
    phone.until(lambda: values(phone, ["#words"]) == {"#words": WORDS}, "the reason", SOON)
    assert phone.find("[id='report.spam']").is_selected()
    if not phone.run("return window.wasHere === true"):
        assert values(phone, ["#code"]) == {"#code": ""}


# What takes a page a minute takes it a second and a half, and what takes 10 s a quarter of a second. A stream that says
# nothing counts as lost only once `isImpatient`, and a list that does not come in a quarter of a second only while
# `isHasty`, because a busy machine may need longer for it.
HASTE = """
  const slow = setTimeout;
  window.setTimeout = (act, ms) => ms === 10000 && !window.isHasty ? slow(act, ms) :
    slow(() => ms < 60000 || window.isImpatient ? act() : setTimeout(act, ms), ms / 40);
"""


def test_a_silent_connection_is_said(phone, relay):
    """And when it is back, the page goes on by itself."""
    phone.before_each_page(HASTE)
    phone.open(relay)
    relay.place.leave("one", source="127.0.0.9")
    phone.until(lambda: phone.has("#new"), "a new message by the stream")
    assert not phone.has("#said")
    relay.is_silent = True
    phone.run("window.isImpatient = window.isHasty = true")
    phone.until(lambda: "Not connected" in phone.text("#said"), "the page says so", SOON)
    phone.run("window.isHasty = false")
    relay.is_silent = False
    phone.until(lambda: not phone.has("#said"), "the page is connected again", SOON)


def test_a_list_that_does_not_come_is_said(phone, relay):
    phone.before_each_page(HASTE)
    phone.open(relay)
    relay.place.leave("one", source="127.0.0.9")
    phone.until(lambda: phone.has("#new"), "a new message by the stream")
    relay.is_silent = True
    phone.run("window.isHasty = true")
    phone.tap("#new")
    phone.until(lambda: "Not connected" in phone.text("#said"), "the page says so", 2 * SOON)
    relay.is_silent = False
    # the stream that was opened in the meantime has no answer to come, and is opened again after its minute
    phone.run("window.isHasty = false; window.isImpatient = true")
    phone.until(lambda: not phone.has("#said"), "the page is connected again", SOON)
    phone.run("window.isImpatient = false")
    phone.tap("#new")
    phone.until(lambda: phone.messages == ["one"], "the message", SOON)


def test_signs_of_life_are_heard(phone, relay):
    """A stream is kept as long as it has them, and no longer."""
    phone.before_each_page("""
      window.streams = [];
      window.waits = [];
      const slow = setTimeout, end = clearTimeout;
      window.setTimeout = (act, ms) => ms === 60000 ? -window.waits.push(act) : slow(act, ms);
      window.clearTimeout = (timer) => timer < 0 ? delete window.waits[-timer - 1] : end(timer);
      window.EventSource = class extends EventTarget {
        constructor() { super(); window.streams.push(this); }
        close() { this.isClosed = true; }
      };""")
    phone.open(relay)
    assert phone.run("""
      const [first] = streams, waiting = () => waits.filter((wait) => wait).length, seen = [waiting()];
      for (const name of ['open', 'alive', 'alive']) {
        const before = waits.length;
        first.dispatchEvent(new Event(name));
        seen.push(waits.length - before, waiting());
      }
      waits.pop()();
      return [seen, first.isClosed, streams.length, waiting()];""") == [[1, 1, 1, 1, 1, 1, 1], True, 2, 1]


@pytest.fixture
def desk_relay(desk, rng):  # noqa: F811
    """A relay in front of the moderators' page, which has a message to decide on."""
    report(desk, leave_text(desk, rng, "A rude word"), "HARASSMENT", reason="rude")
    desk.address = "127.0.0.1"
    relay = Relay(desk)
    yield relay
    relay.close()


def last_reason(relay):
    """Of the last removal; the line of a ban names the ban."""
    with relay.place.daemon.administrator() as operator:
        return [one.reason for one in operator.call(desks.pb.Decisions()).decisions if one.act == "remove"][-1]


REMOVE = "form.acts button[value=remove]"


def begin_removal(phone, relay):
    """Logs in at the moderators' page and types a reason."""
    phone.driver.get(relay.url(name=relay.place.address))
    log_in(phone)
    phone.unfold("details")
    phone.tap("label[for^=ban-]")
    phone.fill("[name=reason]", WORDS)


def end_removal(phone, relay):
    """On a page of the moderators, which may want the password again: what was typed is there."""
    phone.until(lambda: phone.has("main form"), "the moderators' page")
    if phone.has("#password"):
        log_in(phone)
    phone.until(lambda: values(phone, ["[name=reason]"]) == {"[name=reason]": WORDS}, "the reason", SOON)
    assert phone.find("[name=ban]").is_selected() and phone.has("[name=reason]")
    phone.follow(REMOVE)
    assert "Removed." in phone.text("[role=status]") and last_reason(relay) == WORDS
    assert phone.run("return (sessionStorage.typed || '').length") < 30, "it is forgotten when it is done"


def test_back_after_a_lost_removal(phone, desk_relay):
    begin_removal(phone, desk_relay)
    lose(phone, desk_relay, REMOVE)
    phone.driver.back()
    end_removal(phone, desk_relay)


def test_back_after_a_second_lost_removal(phone, desk_relay):
    """The form was sent from a page that answered another form about the same message."""
    begin_removal(phone, desk_relay)
    phone.follow("form.acts button[value=hide]")
    assert "Hidden." in phone.text("[role=status]")
    phone.until(lambda: values(phone, ["[name=reason]"]) == {"[name=reason]": WORDS}, "the reason", SOON)
    lose(phone, desk_relay, REMOVE)
    phone.driver.back()
    end_removal(phone, desk_relay)


def test_reload_of_the_desk(phone, desk_relay):
    begin_removal(phone, desk_relay)
    phone.driver.refresh()
    end_removal(phone, desk_relay)


def test_the_end_of_a_login_forgets(phone, desk_relay):
    begin_removal(phone, desk_relay)
    assert len(phone.run("return sessionStorage.typed")) > len(WORDS)
    assert WORDS not in phone.run("return JSON.stringify(sessionStorage)"), "another place can read it: it is masked"
    phone.follow("button[value=leave]")
    assert phone.run("return sessionStorage.length") == 0


@pytest.mark.parametrize("script", [False, True], ids=["plain", "script"])
def test_reload_after_a_lost_removal(phone, desk_relay, script):
    """Sends the form once more."""
    phone.script(script)
    begin_removal(phone, desk_relay)
    lose(phone, desk_relay, REMOVE)
    phone.driver.refresh()
    phone.until(lambda: phone.has("main"), "the moderators' page")
    assert "Removed." in phone.text("[role=status]") and last_reason(desk_relay) == WORDS


# --- Firefox --------------------------------------------------------------------------------------
# With the script only: Firefox gives nothing back for a page that it may not store.


@pytest.fixture(scope="module", params=[True, False], ids=["bfcache", "no-bfcache"])
def firefox(request):
    if find_firefox() is None:
        pytest.skip("there is no Firefox: scripts/install-packages browser brings firefox-esr")
    keep = {} if request.param else {"browser.sessionhistory.max_total_viewers": 0}
    firefox = Firefox(**keep)
    yield firefox
    firefox.quit()


def until(firefox, source, what, patience=wire.PATIENCE):
    """Until a script's value is true. While the page changes there is nobody to run it."""
    def holds():
        try:
            return firefox.run(f"return document.readyState === 'complete' && {source}")
        except RuntimeError:
            return False

    wire.wait_until(holds, what, patience, pause=0.05)


def typed_in(selectors):
    return " && ".join(f"document.querySelector({json.dumps(selector)}).value === {json.dumps(text)}"
                       for selector, text in selectors.items())


def fill_in(firefox, relay):
    firefox.get("about:blank")
    until(firefox, "location.href === 'about:blank'", "an empty page")
    firefox.get(relay.url())
    until(firefox, "document.getElementById('text')", "the form")
    firefox.run("document.querySelector('#leave details').open = true")
    for selector, text in TYPED.items():
        firefox.type(selector, text)
    firefox.run("window.wasHere = true")


def test_firefox_goes_back(firefox, relay):
    fill_in(firefox, relay)
    relay.refuses = True
    firefox.click("form#leave button")
    wire.wait_until(lambda: firefox.url() == relay.url("/leave"), "an error page", pause=0.05)
    assert relay.refused > 0
    relay.refuses = False
    firefox.back()
    until(firefox, "document.getElementById('text')", "the form")
    until(firefox, typed_in(TYPED), "what was typed", SOON)
    firefox.click("form#leave button")
    until(firefox, "document.querySelector('#messages > .just')", "it is left")


def test_firefox_reloads(firefox, relay):
    fill_in(firefox, relay)
    firefox.run("location.reload()")
    until(firefox, "!window.wasHere && document.getElementById('text')", "the form again")
    until(firefox, typed_in(TYPED), "what was typed", SOON)


def log_in_by_firefox(firefox):
    until(firefox, "document.getElementById('password')", "the form for the password")
    firefox.type("#password", desks.PASSWORD)
    firefox.click("main .button")
    until(firefox, "document.querySelector('[name=reason]')", "the reported message")


@pytest.mark.parametrize("way", ["back", "reload"])
def test_firefox_keeps_a_moderators_reason(firefox, desk_relay, way):
    firefox.get("about:blank")
    until(firefox, "location.href === 'about:blank'", "an empty page")
    address = desk_relay.url(name=desk_relay.place.address)
    firefox.get(address)
    log_in_by_firefox(firefox)
    firefox.run("document.querySelector('details').open = true")
    firefox.type("[name=reason]", WORDS)
    if way == "back":
        desk_relay.refuses = True
        firefox.click(REMOVE)
        wire.wait_until(lambda: firefox.url().endswith("/act"), "an error page", pause=0.05)
        assert desk_relay.refused > 0
        desk_relay.refuses = False
        firefox.back()
    else:
        firefox.run("window.wasHere = true; location.reload()")
    until(firefox, "!window.wasHere && document.querySelector('main form')", "the moderators' page")
    if firefox.run("return document.getElementById('password') !== null"):
        log_in_by_firefox(firefox)
    until(firefox, typed_in({"[name=reason]": WORDS}), "the reason", SOON)
    firefox.click(REMOVE)
    until(firefox, "document.querySelector('[role=status]')", "the answer")
    assert last_reason(desk_relay) == WORDS
