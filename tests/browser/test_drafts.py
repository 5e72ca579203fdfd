# SPDX-License-Identifier: Apache-2.0
"""What a person types, and the code of what was left, stay with the person: over a reload, another language, a
topic, a restart, a lost connection. No other place can read it. (test_lost.py: a form that is refused.)"""

import json
import re

import pytest
from selenium.webdriver.common.keys import Keys

import hearsay_wire as wire
from harness import new_door, page_path
from test_places import evil_at

WORDS = "Is there a piano here? \N{SAXOPHONE}\nمرحبا"
REASON = "It is about me"
# Ten seconds without a stream are a tenth of one.
SOON = """
  const slow = setTimeout;
  window.setTimeout = (act, ms) => slow(act, ms === 10000 ? 100 : ms);
  const Stream = EventSource;
  window.EventSource = class extends Stream {
    constructor(url) {
      super(url);
      this.addEventListener('open', () => { window.isLive = true; });
    }
  };
"""


def typed(phone, selector="#text"):
    return phone.find(selector).get_attribute("value")


def put(phone, selector, text):
    """As pasted: chromedriver types no character beyond the 16 bits."""
    phone.run("""
      const [field, text] = arguments;
      field.value = text;
      field.dispatchEvent(new Event('input', {bubbles: true}));""", phone.find(selector), text)


def reload(phone):
    phone.follow("html", act=lambda _: phone.driver.refresh())


# --- drafts ---------------------------------------------------------------------------------------


def test_a_draft_is_kept(phone, place):
    """Until it has come here."""
    place.leave("of somebody", source="127.0.0.9", t="jazz")
    phone.open(place)
    phone.unfold("#leave details")
    put(phone, "#text", WORDS)
    put(phone, "#t", "jazz")
    reload(phone)
    assert typed(phone) == WORDS and typed(phone, "#t") == "jazz"
    phone.follow("=Deutsch")
    assert typed(phone) == WORDS and typed(phone, "#t") == "jazz"
    assert phone.has("form#leave .send"), "a form with a text is open"
    phone.go("/?t=jazz")
    assert typed(phone) == WORDS
    put(phone, "#text", WORDS + "!")
    place.restart()
    phone.go("/")
    assert typed(phone) == WORDS + "!"
    phone.follow("form#leave button")
    phone.wait_left()
    assert (WORDS + "!").splitlines() == phone.messages[0].splitlines()
    assert typed(phone) == ""
    reload(phone)
    assert typed(phone) == ""


def test_a_draft_of_an_answer_is_that_messages(phone, place):
    place.leave("a question", source="127.0.0.9")
    phone.open(place)
    put(phone, "#text", WORDS)
    phone.follow("#messages a")
    assert typed(phone) == ""
    put(phone, "#text", "An answer.")
    reload(phone)
    assert typed(phone) == "An answer."
    phone.go("/")
    assert typed(phone) == WORDS


def test_the_id_of_an_answer_stays(phone, place):
    """It is that of its own form. Code and id of the answer come of it, and the id of the message is public, which the
    form of the report has."""
    place.leave("a question", source="127.0.0.9")
    phone.open(place)
    phone.follow("#messages a")
    was = typed(phone, "#leave [name=id]")
    assert was != typed(phone, "#report [name=id]")
    put(phone, "#text", WORDS)
    for _ in range(2):
        reload(phone)
        assert typed(phone) == WORDS and typed(phone, "#leave [name=id]") == was
    phone.unfold("#report")
    phone.fill("#words", REASON)
    phone.tap("label[for='report.spam']")
    phone.follow("=Deutsch")
    assert typed(phone) == WORDS and typed(phone, "#leave [name=id]") == was
    assert typed(phone, "#words") == REASON and typed(phone, "#report [name=id]") != was


def test_a_draft_of_a_report_is_that_messages(phone, place):
    for number in range(2):
        place.leave(f"rude {number}", source=f"127.0.0.{number + 9}")
    phone.open(place)
    one, other = [link.get_attribute("href") for link in phone.all("#messages a")]
    phone.driver.get(one)
    phone.unfold("#report")
    phone.fill("#words", REASON)
    phone.driver.get(other)
    assert typed(phone, "#words") == ""
    phone.driver.get(one)
    assert typed(phone, "#words") == REASON and phone.has("#words")
    for why in ("spam", "illegal"):
        phone.tap(f"label[for='report.{why}']")
        for language in ("Deutsch", "English"):
            phone.follow("=" + language)
            chosen = [box.get_attribute("value") for box in phone.all("[name=why]") if box.is_selected()]
            assert chosen == [why] and typed(phone, "#words") == REASON, language
    phone.driver.get(other)
    assert not any(box.is_selected() for box in phone.all("[name=why]"))
    phone.driver.get(one)
    phone.follow("#report button")
    phone.driver.get(one)
    assert typed(phone, "#words") == "" and not any(box.is_selected() for box in phone.all("[name=why]"))


def test_a_report_leaves_a_draft_of_an_answer(phone, place):
    """They stand on one page."""
    place.leave("rude", source="127.0.0.9")
    phone.open(place)
    phone.follow("#messages a")
    address = phone.driver.current_url
    put(phone, "#text", WORDS)
    phone.unfold("#report")
    phone.tap("label[for='report.spam']")
    phone.fill("#words", REASON)
    phone.follow("#report button")
    phone.driver.get(address)
    assert typed(phone) == WORDS and typed(phone, "#words") == ""


def test_forms_that_were_sent_are_bounded(phone, place):
    """What is kept so that Back does not bring their text grows no more behind the twentieth."""
    place.leave("rude", source="127.0.0.9")
    phone.open(place)
    phone.follow("#messages a")
    address = phone.driver.current_url
    sizes = []
    for number in range(23):
        phone.driver.get(address)
        phone.follow("html", act=lambda _, name=f"{number:032x}": phone.run("""
          const report = document.querySelector('#report form');
          const re = document.createElement('input');
          report.append(Object.assign(re, {type: 'hidden', name: 're', value: arguments[0]}));
          report.querySelector('[value=spam]').checked = true;
          report.requestSubmit();""", name))
        assert phone.heading == "Thank you"
        sizes.append(len(json.loads(phone.run("return sessionStorage.hearsay"))["words"]))
    assert sizes[0] < sizes[19] == sizes[-1]


def test_back_and_reload_send_no_form_again(phone, place):
    """Nor does the browser ask whether to: a text that was refused, and mended, would be left as it was first, too."""
    place.leave("rude", source="127.0.0.9")
    phone.open(place)
    phone.leave_unchecked("x" * 501)
    assert phone.heading == "That did not work"
    reload(phone)
    assert typed(phone) == "x" * 501 and phone.messages == ["rude"]
    phone.leave_unchecked("x" * 501)
    phone.leave("Is there a piano?")
    phone.driver.back()
    phone.until(lambda: phone.messages == ["Is there a piano?", "rude"], "the list")
    phone.follow("#messages > li:not(.just) a")
    phone.unfold("#report")
    phone.tap("label[for='report.spam']")
    phone.follow("#report button")
    assert phone.heading == "Thank you"
    phone.follow("=Back to the messages")
    phone.follow("=Who can read what")
    phone.driver.back()
    phone.driver.back()
    phone.until(lambda: phone.has("main"), "a page of the place")


def test_an_empty_field_stays_empty(phone, place):
    phone.open(place)
    put(phone, "#text", WORDS)
    put(phone, "#text", "")
    reload(phone)
    assert typed(phone) == "" and not phone.has("form#leave .send")


def test_a_draft_outlives_a_closed_page(phone, place):
    """Which is loaded while the place takes no messages, and gets the form when it opens. It closes right after the words
    were typed: before the page keeps them by itself, which it does 0.3 s later."""
    phone.open(place)
    phone.run("const set = setTimeout; window.setTimeout = (act, ms) => ms === 300 ? 1 : set(act, ms);")
    phone.unfold("#leave details")
    put(phone, "#text", WORDS)
    put(phone, "#t", "jazz")
    with place.gateway.daemon.administrator() as operator:
        operator.call(wire.pb.Accept(mode="closed"))
        phone.until(lambda: phone.has("section#leave"), "the form goes")
        reload(phone)
        assert not phone.has("form#leave")
        operator.call(wire.pb.Accept(mode="open"))
        phone.until(lambda: phone.has("form#leave"), "the form comes")
    assert typed(phone) == WORDS and typed(phone, "#t") == "jazz"
    assert phone.has("form#leave .send"), "a form with a text is open"
    phone.follow("form#leave .send")
    phone.wait_left()
    assert typed(phone) == ""


def test_other_places_read_nothing(phone, make_place):
    """Neither the draft nor the code. A draft of another place is dropped, and so is a changed one."""
    door = new_door()
    place = make_place("title = Place A\n", door=door)
    phone.open(place)
    phone.leave("mine of A")
    code = phone.code()
    put(phone, "#text", WORDS)
    reload(phone)
    place.stop()
    with evil_at(door):
        phone.driver.get(place.url("/?evil"))
        phone.until(lambda: phone.run("return window.found"), "what evil found")
        found = phone.run("return window.found")
    secret = json.loads(found["sessionStorage"]["hearsay"])["words"]
    assert re.fullmatch("[0-9a-f]+", secret) and found["state"] is None
    everything = json.dumps(found, ensure_ascii=False).lower()
    for form in (WORDS, code, "piano", "typed", "codes"):
        for text in (form, form.encode().hex(), form.encode("utf-16-be").hex()):
            assert text.lower() not in everything, form
    b = make_place("title = Place B\n", door=door)
    phone.run("sessionStorage.hearsay = arguments[0]", found["sessionStorage"]["hearsay"])
    phone.open(b)
    assert phone.text(".top h1") == "Place B" and typed(phone) == ""
    assert secret not in phone.run("return JSON.stringify(sessionStorage)")


def test_the_mask(phone, place):
    """No two of one text are the same, the key opens it, and what was changed is dropped."""
    phone.open(place)
    seen = set()
    for _ in range(3):
        put(phone, "#text", WORDS)
        reload(phone)
        assert typed(phone) == WORDS
        seen.add(json.loads(phone.run("return sessionStorage.hearsay"))["words"])
    assert len({one[:16] for one in seen}) == len(seen) == 3
    for at in (0, 20, -1):
        phone.run("""
          const kept = JSON.parse(sessionStorage.hearsay), at = arguments[0];
          const digits = [...kept.words], place = (at + digits.length) % digits.length;
          digits[place] = digits[place] === '0' ? '1' : '0';
          kept.words = digits.join('');
          addEventListener('pagehide', () => { sessionStorage.hearsay = JSON.stringify(kept); });""", at)
        reload(phone)
        assert typed(phone) == "", at
        put(phone, "#text", WORDS)
        reload(phone)
        assert typed(phone) == WORDS


def test_another_language_without_script(phone, place):
    phone.script(False)
    phone.open(place, "/?l=de")
    phone.tap("#text")
    assert not phone.has("#leave [name=to]"), "without a text the links of the page do"
    phone.fill("#text", "Gibt es hier ein Klavier?")
    phone.unfold("#leave details")
    phone.fill("#t", "jazz")
    phone.follow("#leave [name=to][value=en]")
    assert phone.heading == "Leave a message" and phone.find("html").get_attribute("lang") == "en"
    assert typed(phone) == "Gibt es hier ein Klavier?" and typed(phone, "#t") == "jazz"
    phone.follow("=Leave it here")
    phone.wait_left()
    phone.follow("=Back to the messages")
    assert phone.messages == ["Gibt es hier ein Klavier?"]


def test_another_language_without_script_keeps_topics(phone, make_place):
    """Those that are ticked, and how long the message stays."""
    phone.script(False)
    phone.open(make_place("topics = coffee, music\n"), "/?l=de")
    phone.tap("#text")
    phone.fill("#text", "Gibt es hier ein Klavier?")
    phone.tap("#leave [value=music]")
    phone.unfold("#leave details")
    phone.tap("#ttl [value='3600']")
    phone.follow("#leave [name=to][value=en]")
    assert phone.find("#leave [value=music]").is_selected()
    assert not phone.find("#leave [value=coffee]").is_selected()
    assert phone.find("#ttl").get_attribute("value") == "3600"
    assert phone.text("#who").endswith("It disappears by itself in 1 h, unless you choose another time below.")
    phone.follow("=Leave it here")
    phone.wait_left()
    phone.go("/?l=en&t=music")
    assert phone.messages == ["Gibt es hier ein Klavier?"]


def choices(phone):
    return [phone.find(f"#leave [value={topic}]").is_selected() for topic in ("coffee", "music")] + [
        phone.find("#now").is_selected(), phone.find("#ttl").get_attribute("value")]


def test_another_language_keeps_choices(phone, make_place):
    """With the script: topics that are ticked, also where the page ticked others, and how long the message stays."""
    phone.open(make_place("topics = coffee, music\n"), "/?t=coffee")
    phone.tap("#text")
    before = choices(phone)
    assert before[:3] == [True, False, False] and before[3] != "3600"
    phone.tap("#leave [value=coffee]")
    phone.tap("#leave [value=music]")
    phone.unfold("#leave details")
    phone.tap("label[for=now]")
    phone.run("arguments[0].value = '3600'; arguments[0].dispatchEvent(new Event('change', {bubbles: true}))",
              phone.find("#ttl"))
    phone.follow("=Deutsch")
    assert phone.find("html").get_attribute("lang") == "de"
    assert choices(phone) == [False, True, True, "3600"]
    phone.fill("#text", "Gibt es hier ein Klavier?")
    phone.follow("form#leave .send")
    phone.wait_left()
    phone.go("/?t=coffee&l=en")
    assert choices(phone) == before, "what was sent is forgotten"
    phone.tap("#text")
    phone.tap("#leave [value=music]")
    phone.tap("#leave [value=music]")
    phone.go("/?t=music&l=en")
    assert choices(phone)[:2] == [False, True], "what was taken back is no choice"


# --- the connection -------------------------------------------------------------------------------


def test_a_page_without_a_stream_says_so(phone, place):
    """With the time of the list; until the stream is back. Other short times go on as they do."""
    phone.before_each_page(SOON)
    phone.open(place)
    phone.until(lambda: phone.run("return window.isLive"), "the stream")
    assert not phone.has("#said")
    place.stop()
    phone.until(lambda: phone.has("#said"), "the line")
    assert re.fullmatch(r"Not connected\. This is the board as of \d\d:\d\d\.", phone.text("#said"))
    assert phone.run("return document.getElementById('said').closest('[role=status]') !== null")
    phone.width(320)
    assert phone.run("return document.documentElement.scrollWidth") <= 320
    place.start()
    phone.until(lambda: not phone.has("#said"), "the end of the line")


# --- the composer ---------------------------------------------------------------------------------


@pytest.mark.parametrize("script", [False, True], ids=["plain", "script"])
def test_the_composer(phone, place, script):
    """One line at the top, which a tap opens, with the focus in it; a tap on what belongs to it leaves it open."""
    place.leave("of somebody", source="127.0.0.9")
    phone.script(script)
    for width in (320, 390, 768):
        phone.width(width, height=568)
        phone.open(place)
        top, form = phone.find("#messages").rect["y"], phone.find("form#leave").rect
        assert form["height"] <= 72 and form["y"] < top < 568
        assert not phone.has("form#leave .send") and not phone.has("#who")
        phone.tap("#text")
        assert phone.driver.switch_to.active_element == phone.find("#text")
        assert phone.has("form#leave .send") and phone.has("#who")
        assert phone.find("form#leave .send").rect["y"] < 568
        phone.unfold("#leave details")
        phone.tap("label[for=now]")
        assert phone.find("#now").is_selected() and phone.has("form#leave .send")
        before = phone.find("#text").rect["height"]
        phone.run("arguments[0].value = '\\n'.repeat(9)", phone.find("#text"))
        assert phone.find("#text").rect["height"] > before
        # No draft for the next page, though the script may have kept the tick and these lines.
        phone.tap("label[for=now]")
        phone.run("arguments[0].value = ''; arguments[0].dispatchEvent(new Event('input', {bubbles: true}));",
                  phone.find("#text"))
    phone.open(place)
    phone.find("body").send_keys(Keys.TAB)  # to the link that skips
    phone.driver.switch_to.active_element.send_keys(Keys.ENTER)
    phone.driver.switch_to.active_element.send_keys(Keys.TAB)
    assert phone.driver.switch_to.active_element == phone.find("#text")


# --- a message that was left ----------------------------------------------------------------------


def test_the_message_is_shown_in_its_place(phone, place):
    """Marked, with the focus, and with the way back, as long as the tab lives."""
    place.leave("of somebody", source="127.0.0.9")
    phone.open(place)
    phone.leave("of mine")
    assert page_path(phone.driver.current_url) == "/"
    mine = phone.find("#messages > li")
    assert phone.driver.switch_to.active_element == mine and mine.is_displayed()
    assert "of mine" in mine.text and "Yours" in mine.text and "Take back" in mine.text
    assert phone.text("[role=status] #said") == "Your message is here"
    assert len(phone.all("#messages .back")) == 1
    reload(phone)
    assert not phone.has("#messages > .just") and not phone.has("#said") and phone.has("=Take back")
    addresses = []
    phone.follow("=Take back")
    addresses.append(phone.driver.current_url)
    code = typed(phone, "#code")
    assert phone.text("#code-help").startswith("This tab keeps the code until you close it.")
    phone.follow("=Take it back")
    addresses.append(phone.driver.current_url)
    assert phone.heading == "Taken back" and len(code) == 26
    assert code.lower() not in "".join(addresses).lower()
    phone.follow("=Back to the messages")
    assert phone.messages == ["of somebody"]


@pytest.mark.parametrize("script", [False, True], ids=["plain", "script"])
@pytest.mark.parametrize("pixels", [16, 32])
def test_the_code_is_seen_whole(phone, place, script, pixels):
    """On a narrow screen in several lines: who copies it by hand needs its end, too."""
    phone.script(script)
    phone.width(320)
    phone.text_size(pixels)
    phone.open(place)
    phone.leave("of mine")
    if script:
        phone.follow("=Take back")
    field = phone.find("#code" if script else "#given")
    assert len(field.get_attribute("value")) == 26
    assert phone.run("""
      const [field] = arguments;
      return field.scrollHeight <= field.clientHeight + 1 && field.scrollWidth <= field.clientWidth;""", field)


def test_a_message_that_waits(phone, make_place):
    """Is in no list yet: its page stays, and takes it back with one press."""
    phone.open(make_place("", "[host default]\naccept = review\n"))
    phone.fill("#text", "waits")
    phone.follow("form#leave button")
    assert phone.heading == "Your message waits for the operator"
    phone.follow("=Take it back")
    assert phone.heading == "Taken back"


def test_the_code_without_script(phone, place):
    """Given once, in the form that takes the message back: to copy, or to press its button."""
    phone.script(False)
    phone.width(320)
    phone.open(place)
    phone.leave("of mine")
    given = phone.find("#given")
    assert len(given.get_attribute("value")) == 26 and given.get_attribute("readonly")
    assert "#" not in phone.driver.current_url and not phone.all("a[href*='#']:not(.skip)")
    phone.follow("=Take it back")
    assert phone.heading == "Taken back"
