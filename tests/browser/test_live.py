# SPDX-License-Identifier: Apache-2.0
"""What happens on an open page while others write: new messages, messages that go, programs that
start again."""

import re
import urllib.parse

import pytest

import hearsay_wire as wire
from harness import fill_list
from web_runner import fields_of

WHERE = "return arguments[0].getBoundingClientRect().top"
BROKEN_STORAGE = """
  for (const name of ['getItem', 'setItem', 'removeItem', 'key', 'clear']) {
    Storage.prototype[name] = () => { throw new DOMException('no storage here', 'QuotaExceededError'); };
  }
"""
# What a page does each minute it does each second.
FAST = """
  const slow = setInterval;
  window.setInterval = (act, ms) => slow(act, ms / 60);
"""
NO_STORAGE = """
  for (const name of ['sessionStorage', 'localStorage']) {
    Object.defineProperty(window, name, {get() { throw new DOMException('none', 'SecurityError'); }});
  }
"""


def new_button(phone, count):
    """Waits until the button says how many messages are new."""
    words = "Show 1 new message" if count == 1 else f"Show {count} new messages"
    phone.until(lambda: phone.text("#new") == words, words)


@pytest.mark.parametrize("scrolled", [0, 900])
def test_new_messages_wait_behind_a_button(phone, place, scrolled):
    """The text that somebody reads does not move."""
    fill_list(place, 20)
    phone.open(place)
    before = phone.messages
    phone.run("scrollTo({top: arguments[0], behavior: 'instant'})", scrolled)
    reading = phone.all("#messages > li")[4]
    top = phone.run(WHERE, reading)
    for number in range(3):
        place.leave(f"new {number}", source="127.0.0.9")
    new_button(phone, 3)
    assert phone.run(WHERE, reading) == top
    assert phone.messages == before
    assert phone.driver.title.startswith("(3) ")
    button = phone.find("#new")
    live = phone.run("return arguments[0].closest('[role=status], [aria-live]').getAttribute('role')",
                     button)
    assert live == "status"
    assert len(phone.all("[role=status], [role=alert], [aria-live]:not(#house)")) == 1
    button.click()
    phone.until(lambda: phone.messages[:3] == ["new 2", "new 1", "new 0"], "the new messages")
    assert not button.is_displayed() and not phone.driver.title.startswith("(")
    focused = phone.driver.switch_to.active_element
    assert "new 2" in focused.text and focused.is_displayed()


def test_a_message_is_not_new_twice(phone, place):
    phone.open(place)
    place.leave("first", source="127.0.0.9")
    new_button(phone, 1)
    phone.find("#new").click()
    phone.until(lambda: phone.messages == ["first"], "the message")
    place.leave("second", source="127.0.0.9")
    new_button(phone, 1)
    phone.find("#new").click()
    phone.until(lambda: phone.messages == ["second", "first"], "both")


def deposit(daemon, rng, text):
    """A message that does not come through the page, so that the page may be away."""
    with daemon.administrator() as client:
        client.call(wire.deposit_of(rng, client.welcome.hosts[0].here, payload=text.encode(),
                                    media_type="text/plain"))


def test_nothing_is_lost_over_restarts(phone, place, rng):
    """And nothing comes twice."""
    phone.open(place)
    daemon = place.gateway.daemon
    deposit(daemon, rng, "one")
    new_button(phone, 1)
    daemon.restart()
    deposit(daemon, rng, "two")
    new_button(phone, 2)
    place.stop()
    deposit(daemon, rng, "three")
    place.start()
    new_button(phone, 3)
    place.stop()
    deposit(daemon, rng, "four")
    daemon.restart()
    deposit(daemon, rng, "five")
    place.start()
    new_button(phone, 5)
    deposit(daemon, rng, "six")
    new_button(phone, 6)
    phone.find("#new").click()
    phone.until(lambda: phone.messages == ["six", "five", "four", "three", "two", "one"], "all six")


def test_the_form_goes_and_comes(phone, place):
    """When the operator closes and opens the place, with what was typed in it."""
    phone.open(place)
    phone.fill("#text", "half a mess")
    with place.gateway.daemon.administrator() as operator:
        operator.call(wire.pb.Accept(mode="closed"))
        phone.until(lambda: phone.has("section#leave"), "the form goes")
        kept = phone.find("#leave #text")
        assert kept.get_attribute("value") == "half a mess" and kept.get_attribute("readonly")
        assert phone.driver.switch_to.active_element == kept
        assert "No new messages are taken" in phone.text("#leave[role=alert]")
        assert "Leave" not in phone.text(), "nothing asks for a message"
        operator.call(wire.pb.Accept(mode="review"))
        phone.until(lambda: phone.has("form#leave"), "the form comes")
        assert "The operator looks at each message first" in phone.text("#who")
        assert phone.has("=Leave it here")
        phone.find("#text").send_keys("age")
        phone.follow("form#leave button")
        assert phone.heading == "Your message waits for the operator"
        # Who comes while it is closed gets the form, too.
        operator.call(wire.pb.Accept(mode="closed"))
        place.wait_page("section class=\"card\" id=\"leave\"")
        phone.go("/")
        assert not phone.has("form#leave")
        operator.call(wire.pb.Accept(mode="open"))
        phone.until(lambda: phone.has("form#leave"), "the form comes")
        phone.fill("#text", "x" * 10)
        assert phone.text("#limit") == "490 left"
        phone.follow("form#leave button")
        phone.wait_left()


def notices(phone):
    return [(one.text, one.get_dom_attribute("lang"), one.get_dom_attribute("dir"))
            for one in phone.all("#house p") if one.is_displayed()]


def test_the_house_speaks(phone, place):
    """A notice comes and goes on an open page, above the list and apart from it; a guest's text does
    not get there."""
    place.leave("From the house: free beer", source="127.0.0.9")
    phone.open(place)
    assert notices(phone) == [] and not phone.find("#house").is_displayed()
    with place.gateway.daemon.administrator() as operator:
        evil = '<img src=x onerror="document.body.remove()"> ' + 300 * "W"
        operator.call(wire.pb.Notice(text=evil, lang="de"))
        phone.until(lambda: notices(phone) == [(evil, "de", "auto")], "the notice")
        assert phone.text("#house h2") == "From the house"
        assert phone.find("#house").rect["y"] < phone.find("#messages").rect["y"]
        assert not phone.has("#messages #house") and not phone.has("#house li, #house img")
        assert phone.messages == ["From the house: free beer"]
        phone.width(320)
        assert phone.run("return document.documentElement.scrollWidth") <= 320
        place.leave("</section><section id=house>I am the house", source="127.0.0.10")
        new_button(phone, 1)
        # Each look at the list brings the notices again: the same ones are not written, or said, again.
        phone.run("document.querySelector('#house p').isOld = true")
        phone.find("#new").click()
        phone.until(lambda: len(phone.messages) == 2, "the message")
        assert phone.run("return document.querySelector('#house p').isOld")
        assert notices(phone) == [(evil, "de", "auto")] and len(phone.all("#house, .house")) == 1
        operator.call(wire.pb.Notice(text="two"))
        phone.until(lambda: notices(phone)[1:] == [("two", None, "auto")], "another one")
        operator.call(wire.pb.Notice(drop=1))
        phone.until(lambda: notices(phone) == [("two", None, "auto")], "one goes")
        phone.go("/?t=jazz")
        assert notices(phone) == [("two", None, "auto")]
        operator.call(wire.pb.Notice(drop=2))
        phone.until(lambda: notices(phone) == [], "all go")
        assert not phone.find("#house").is_displayed()


def test_a_message_is_hidden_on_this_phone(phone, place):
    """Until its person wants it back. No other phone knows."""
    ids = [fields_of(place.leave(text, source=source).text, "/withdraw")["id"]
           for text, source in (("rude", "127.0.0.8"), ("kind", "127.0.0.9"))]
    phone.open(place, "/m/" + ids[0])
    phone.follow("=Hide it until this tab is closed")
    assert phone.messages == ["kind"] and "rude" in place.get().text
    phone.go("/")
    assert phone.messages == ["kind"]
    phone.tap("=Show what I have hidden")
    assert phone.messages == ["kind", "rude"] and not phone.has("=Show what I have hidden")
    assert phone.run("return document.activeElement.id") == "main", "the keyboard goes on there"
    phone.before_each_page(NO_STORAGE)
    phone.go("/m/" + ids[0])
    assert phone.heading == "A message" and not phone.has("=Hide it until this tab is closed")


def test_a_board_that_is_hidden_on_this_phone_is_not_empty(phone, place):
    """So nobody is asked for the first message."""
    rude = fields_of(place.leave("rude", source="127.0.0.8").text, "/withdraw")
    phone.open(place, "/m/" + rude["id"])
    phone.follow("=Hide it until this tab is closed")
    assert phone.messages == [] and phone.has("=Show what I have hidden") and not phone.has("#empty")
    place.post("/withdraw", rude, "127.0.0.8")
    phone.go("/")
    assert phone.has("#empty") and not phone.has("=Show what I have hidden")


def test_a_topic_is_empty_when_nothing_can_be_shown_again(phone, make_place):
    """On this phone, where they can be shown again, or by the operator."""
    place = make_place("topics = jazz\n")
    rude = fields_of(place.leave("rude", source="127.0.0.8", t="jazz").text, "/withdraw")["id"]
    phone.open(place, "/m/" + rude)
    phone.follow("=Hide it until this tab is closed")
    phone.go("/?t=jazz")
    assert phone.messages == [] and not phone.has("#empty"), "some fit"
    phone.tap("=Show what I have hidden")
    assert phone.messages == ["rude"] and not phone.has("#empty")
    with place.gateway.daemon.administrator() as operator:
        operator.call(wire.pb.Hide(id=bytes.fromhex(rude)))
    phone.until(lambda: phone.messages == [], "it goes", 60)
    assert "No message fits what you look for." in phone.text("main")
    phone.go("/?t=jazz")
    assert phone.messages == [] and "No message fits what you look for." in phone.text("main")


def test_a_text_that_is_too_long_is_counted(phone, make_place):
    """The script counts characters and bytes as hearsayd does, and does not let the text be sent. Without a
    script the page refuses it in the same words."""
    place = make_place("", "[limits]\npayload = 1K\n")
    for text, says in (("अ" * 341, "Bytes left: 1"), ("अ" * 342 + " \n", "Bytes too many: 2"),
                       ("x" * 500, "0 left"), ("x" * 501, "1 too many"), ("x" * 10000, "9,500 too many")):
        phone.open(place)
        phone.fill("#text", text)
        assert phone.text("#limit") == says
        is_refused = "too many" in says
        assert phone.run("return document.getElementById('text').validationMessage") == (
            says if is_refused else "")
        assert phone.run("return document.getElementById('leave').checkValidity()") != is_refused
        if is_refused:
            answer = place.leave(text)
            assert answer.status == 413
            assert f"Please make it shorter. {says}" in re.sub("<[^>]*>", "", answer.text)


def test_a_pasted_text_is_not_cut_off(phone, place):
    """What is too long is counted instead, so that the person decides what goes."""
    phone.open(place)
    phone.tap("#text")
    phone.run("document.execCommand('insertText', false, 'x'.repeat(3000))")
    assert len(phone.find("#text").get_attribute("value")) == 3000 and phone.text("#limit") == "2,500 too many"
    assert not phone.run("return document.getElementById('leave').checkValidity()")


def test_a_refused_text_stays_marked(phone, place):
    """Blanks are no text. The field, in which the draft stands again, is marked until somebody types."""
    phone.open(place)
    phone.leave_unchecked("   ")
    field = phone.find("#text")
    assert field.get_attribute("value") == "   " and field.get_attribute("aria-invalid") == "true"
    phone.fill("#text", "words")
    assert phone.find("#text").get_attribute("aria-invalid") is None


def test_what_is_gone_leaves_the_page(phone, make_place):
    """Withdrawn, hidden or expired: within a minute. The keyboard stays near where it was."""
    place = make_place("", "[host default]\nhide_after = 1\n")
    for number, text in enumerate(("stays", "is withdrawn", "is hidden", "stays, too")):
        left = place.leave(text, source=f"127.0.0.{number + 10}")
        if text == "is withdrawn":
            withdraw = fields_of(left.text, "/withdraw")
        if text == "is hidden":
            hidden = fields_of(left.text, "/withdraw")["id"]
    phone.open(place)
    assert phone.messages == ["stays, too", "is hidden", "is withdrawn", "stays"]
    place.leave("expires", source="127.0.0.20", ttl="2")
    new_button(phone, 1)
    phone.run("arguments[0].focus()", phone.all("#messages a")[1])
    assert place.post("/withdraw", withdraw, "127.0.0.11").status == 200
    report = fields_of(place.get("/m/" + hidden, source="127.0.0.30").text, "/report")
    assert place.post("/report", {**report, "why": "spam"}, "127.0.0.30").status == 200
    phone.until(lambda: phone.messages == ["stays, too", "stays"], "two messages left", 60)
    phone.until(lambda: not phone.has("#new"), "nothing is new any more", 60)
    focused = phone.driver.switch_to.active_element
    assert focused.tag_name != "body" and focused.is_displayed()


def test_an_expired_message_leaves_without_news(phone, place):
    """The page knows by itself when a message ends, and that none is left."""
    phone.before_each_page(FAST + "delete window.EventSource;")
    place.leave("expires", source="127.0.0.20", ttl="3")
    phone.open(place)
    phone.until(lambda: phone.messages == [], "no message left")
    assert "Nothing here yet." in phone.text("main")


def test_times_go_on(phone, place):
    """In the words that the server has, by the server's clock: the phone's may be wrong."""
    phone.before_each_page(FAST + """
      const now = Date.now;
      window.ahead = 3600000;
      Date.now = () => now() + window.ahead;
      window.EventSource = class { constructor(url) { window.stream = url; } addEventListener() {} };
    """)
    place.leave("an hour", source="127.0.0.10", ttl="3600")
    place.leave("two days", source="127.0.0.11", ttl="172800")
    phone.open(place)

    def times():
        return [tuple(time.text for time in item.find_elements("css selector", "[data-ms]"))
                for item in phone.all("#messages > li")]

    assert times() == [("just now", "gone in 2 days"), ("just now", "gone in 1 h")]
    since = int(re.search(r"since=(\d+)", phone.run("return window.stream")).group(1))
    with place.gateway.daemon.client() as client:
        assert abs(since - client.welcome.now_ms) < 60000  # a phone's clock would be an hour ahead
    for minutes, wanted in ((5, [("5 min ago", "gone in 2 days"), ("5 min ago", "gone in 55 min")]),
                            (65, [("1 h ago", "gone in 47 h")])):
        phone.run("window.ahead += arguments[0]", 60000 * minutes + 1000)
        phone.until(lambda: times() == wanted, str(wanted))
        phone.run("window.ahead -= arguments[0]", 60000 * minutes + 1000)


def test_times_go_on_above_answers(phone, place):
    phone.before_each_page(FAST + """
      const now = Date.now;
      window.ahead = 0;
      Date.now = () => now() + window.ahead;
    """)
    parent = fields_of(place.leave("a question", source="127.0.0.10", ttl="86400").text, "/withdraw")["id"]
    place.answer(parent, "an answer", source="127.0.0.11")
    phone.open(place, "/m/" + parent)
    phone.run("window.ahead = 3 * 3600000 + 1000")
    for which in ("article", "#messages"):
        phone.until(lambda at=which: phone.text(at + " .meta") == "3 h ago, gone in 21 h", which)
    phone.run("window.ahead = 25 * 3600 * 1000")
    phone.until(lambda: phone.text("article .meta") == "1 day ago, gone", "the message has gone")
    assert not phone.has("#messages > li"), "and its answer as well"


@pytest.mark.parametrize("storage", [BROKEN_STORAGE, NO_STORAGE], ids=["throws", "is not there"])
def test_a_browser_that_keeps_nothing(phone, place, storage):
    """As the small browsers are in which captive portals open."""
    phone.before_each_page(storage)
    phone.open(place)
    phone.leave("from here")
    assert phone.heading == "Your message is here"
    phone.follow("=Back to the messages")
    assert phone.messages == ["from here"]
    place.leave("from there", source="127.0.0.9")
    new_button(phone, 1)
    phone.find("#new").click()
    phone.until(lambda: phone.messages == ["from there", "from here"], "both")
    phone.follow("#messages a")
    assert phone.heading == "A message"


def test_mine_and_new(phone, place):
    place.leave("old", source="127.0.0.9")
    phone.open(place)
    phone.leave("of this phone")
    assert phone.text("#messages li:first-child .badge") == "Yours"
    place.leave("of another phone", source="127.0.0.9")
    new_button(phone, 1)
    phone.find("#new").click()
    phone.until(lambda: len(phone.messages) == 3, "three messages")
    assert phone.text("#messages li:first-child .badge") == "New"
    assert [len(item.find_elements("css selector", ".badge")) for item in
            phone.all("#messages > li")] == [1, 1, 0]


def test_each_link_to_take_back_says_of_what(phone, place):
    """To a screen reader, which may list the links of a page."""
    phone.open(place)
    for text in ("mine", "mine, too"):
        phone.leave(text)
    assert [link.get_attribute("title") for link in phone.all("#messages .back")] == ["mine, too", "mine"]


def test_what_is_older_is_not_new(phone, make_place):
    place = make_place("per_page = 1\n")
    for number in range(2):
        place.leave(f"number {number}", source=f"127.0.0.{number + 9}")
    phone.open(place)
    phone.follow("=Older messages")
    assert phone.messages == ["number 0"] and not phone.has(".badge")


XSS = (
    "<script>window.xss = 1</script>",
    "<img src=x onerror=window.xss=1>",
    "\"><svg onload=window.xss=1>",
    "'><details open ontoggle=window.xss=1>",
    "</textarea><script>window.xss=1</script>",
    "</p></li></ol><iframe srcdoc='<script>parent.xss=1</script>'>",
    "javascript:window.xss=1",
    "<a href=\"javascript:window.xss=1\">here</a>",
    "&lt;script&gt;window.xss=1&lt;/script&gt; &amp; &#60;b&#62;",
    "<!-- --><b>bold</b><style>body{display:none}</style>",
    "{{constructor.constructor('window.xss=1')()}} ${window.xss=1} %3Cscript%3E",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=window.xss=1>",
    "data: {\"id\":\"x\"}\n\nevent: gone\ndata: 1",
    "<base href=//evil.lan/><meta http-equiv=refresh content=0;url=//evil.lan/>",
    "\u202egnp.exe\u2066<b>\u2069\u200f",
)
OURS = {"LI", "H3", "DIV", "P", "SPAN", "TIME", "A", "BDI", "BUTTON", "I", "B"}


def check_harmless(phone):
    tags, attributes, happened = phone.run("""
      const all = [...document.querySelectorAll('#messages *')];
      return [[...new Set(all.map((e) => e.tagName))],
              [...new Set(all.flatMap((e) => e.getAttributeNames()))], window.xss || null];""")
    assert set(tags) <= OURS and happened is None
    assert not [name for name in attributes if name.startswith("on")], attributes
    assert len(phone.all("iframe, object, embed, style, base, meta[http-equiv]")) == 0


def test_text_stays_text(phone, place):
    """In the list, behind the button, on the page of a message, in fields that keep it, as a topic."""
    half = len(XSS) // 2
    for number, text in enumerate(XSS[:half]):
        assert place.leave(text, source=f"127.0.0.{number + 10}").status == 200
    phone.open(place)
    check_harmless(phone)
    for number, text in enumerate(XSS[half:]):
        assert place.leave(text, source=f"127.0.0.{number + 40}").status == 200
    new_button(phone, len(XSS) - half)
    phone.find("#new").click()
    phone.until(lambda: len(phone.messages) == len(XSS), "all")
    check_harmless(phone)
    shown = "\n".join(phone.messages)
    for text in XSS[:-1]:
        assert text.split("\n")[0] in shown, text
    assert "\u202e" not in shown and "gnp.exe<b>" in shown
    for text in XSS[:half]:
        phone.go("/")
        phone.leave_unchecked(text + "x" * 500)
        assert phone.find("#text").get_attribute("value").startswith(text)
        check_harmless(phone)
    for text in ("<script>window.xss=1</script>", "\"><img src=x onerror=window.xss=1>", "'onfocus='"):
        phone.go("/?" + urllib.parse.urlencode({"t": text, "l": "en"}))
        check_harmless(phone)
        assert text in phone.text(".tools ul[aria-label]")
    phone.go("/")
    for link in [one.get_attribute("href") for one in phone.all("#messages a")][:3]:
        phone.driver.get(link)
        assert phone.heading == "A message"
        assert phone.run("return window.xss || null") is None
