# SPDX-License-Identifier: Apache-2.0
"""The first screen: what this is, and as many messages as fit; each card leads to its message."""

import os

import pytest

from harness import Phone, fill_list
from test_layout import SMALL_TARGETS, STICKING_OUT, TARGET

LINES = ("Is the piano free tonight?", "Cake is out, by the window", "Lost: one blue glove",
         "Who plays chess here?", "The WiFi works on the roof", "Sax at eight")
SUBTITLES = {
    "en": "Notes from people here. No names, gone by themselves.",
    "de": "Nachrichten von Leuten hier. Ohne Namen, von selbst wieder weg.",
    "ar": "\u0631\u0633\u0627\u0626\u0644 \u0645\u0646 \u0627\u0644\u0646\u0627\u0633 \u0647\u0646\u0627. "
          "\u0628\u0644\u0627 \u0623\u0633\u0645\u0627\u0621\u060c \u0648\u062a\u062e\u062a\u0641\u064a "
          "\u0645\u0646 \u062a\u0644\u0642\u0627\u0621 \u0646\u0641\u0633\u0647\u0627.",
}
# How many messages are on the screen as a whole, and how many lines the times of each take.
SHOWN = """
  return [...document.querySelectorAll('#messages > li')].map((item) => {
    const meta = item.querySelector('.meta');
    return [item.getBoundingClientRect().bottom <= innerHeight,
      Math.round(meta.getBoundingClientRect().height / parseFloat(getComputedStyle(meta).lineHeight))];
  });
"""
LARGE_TEXT = """
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('html { font-size: 200% !important }');
  document.adoptedStyleSheets = [sheet];
"""


@pytest.fixture(params=[False, True], ids=["plain", "script"])
def phone(browser, request):
    phone = Phone(browser)
    phone.script(request.param)
    phone.has_script = request.param
    yield phone
    phone.check_log()


def leave_all(place, *texts, **fields):
    for number, text in enumerate(texts):
        assert place.leave(text, source=f"127.0.0.{number + 10}", **fields).status == 200


def picture(phone, name):
    folder = os.environ.get("HEARSAY_PICTURES")
    if folder:
        phone.driver.save_screenshot(os.path.join(folder, f"first-{name}.png"))


def point(phone, selector):
    """Taps in the middle of what the link of the card may lie above."""
    phone.cdp("Emulation.setTouchEmulationEnabled", enabled=False)
    x, y = phone.run("const b = arguments[0].getBoundingClientRect();"
                     " return [(b.left + b.right) / 2, (b.top + b.bottom) / 2];", phone.find(selector))
    for kind in ("mousePressed", "mouseReleased"):
        phone.cdp("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def test_what_is_this(phone, make_place):
    """In five seconds: a name, what it is, and four messages of one line."""
    place = make_place("title = Caf\u00e9 Jules\n")
    leave_all(place, *LINES)
    for width, height in ((320, 568), (390, 844)):
        phone.width(width, height)
        for language, subtitle in SUBTITLES.items():
            for scheme in ("light", "dark"):
                phone.media(prefers_color_scheme=scheme)
                phone.open(place, f"/?l={language}")
                picture(phone, f"{width}-{language}-{scheme}")
            assert subtitle in phone.text("header"), language
            shown = phone.run(SHOWN)
            assert sum(is_whole for is_whole, _ in shown) >= 4, (width, language)
            assert {lines for _, lines in shown} == {1}, (width, language)
    phone.open(place, "/?l=en")
    for jargon in ("Sealed", "sealed", "access point", "near"):
        assert jargon not in phone.text("main") + phone.text("footer > p"), jargon


def test_which_place_is_this(phone, make_place, tmp_path, faults):
    """With several places the page and the poster say where this is, and the form where it is shown."""
    places = tmp_path / "places"
    places.write_text("127.0.0.0/8 = place:main | Main stage, by the old oak\n")
    place = make_place("title = Feldrausch Festival\nwifi_ssid = Guests\nwifi_password = open sesame\n",
                       f"[host default]\nhere_map = {places}\n")
    leave_all(place, *LINES)
    shown = {"en": "Shown at Main stage, by the old oak. Anybody on this WiFi can find it. It disappears by "
                   "itself in",
             "de": "Erscheint hier: Main stage, by the old oak. Alle in diesem WLAN k\u00f6nnen sie finden. "
                   "Sie verschwindet",
             "ar": "\u062a\u0638\u0647\u0631 \u0647\u0646\u0627: Main stage, by the old oak."}
    for width, height in ((320, 568), (390, 844)):
        phone.width(width, height)
        for language, sentence in shown.items():
            phone.open(place, f"/?l={language}")
            assert phone.text(".where") == "Main stage, by the old oak"
            assert SUBTITLES[language] in phone.text("header")
            faults.add(f"{language} ({width} px)", phone.run(STICKING_OUT, width))
            picture(phone, f"place-{width}-{language}")
            phone.tap("#text")
            assert phone.text("#who").startswith(sentence), language
            picture(phone, f"place-form-{width}-{language}")
            phone.follow("footer li:last-child a")
            assert phone.heading == "Main stage, by the old oak"
            faults.add(f"poster, {language} ({width} px)", phone.run(STICKING_OUT, width))
            picture(phone, f"place-poster-{width}-{language}")
    faults.check()


def test_the_words_of_the_owner(phone, make_place):
    place = make_place("subtitle = Songs & wishes for the band\n")
    for language in SUBTITLES:
        phone.open(place, f"/?l={language}")
        assert phone.text("header .soft") == "Songs & wishes for the band"


def test_a_card_leads_to_its_message(phone, place):
    """Its first line is its heading and its link. With a script the other lines lead there, too."""
    leave_all(place, "First line\nsecond line", "Another one")
    phone.width(390)
    phone.open(place)
    assert [link.text for link in phone.all("#messages h3 a")] == ["Another one", "First line"]
    assert "2 min ago" not in phone.text("#messages") and "just now, gone in" in phone.text("#messages")
    phone.follow("#messages li:last-child .meta", act=lambda what: point(phone, what))
    assert "second line" in phone.text("main")
    if phone.has_script:
        phone.go("/")
        phone.follow("#messages li:last-child div p", act=lambda what: point(phone, what))
        assert phone.heading == "A message"


def test_an_answer_leads_to_its_message(phone, place):
    """By its card, which looks like that of a message; what is around it leads nowhere."""
    leave_all(place, "A question")
    phone.width(390)
    phone.open(place)
    phone.follow("#messages a")
    question = phone.driver.current_url
    phone.fill("#text", "An answer\nof two lines")
    phone.follow("form#leave .send")
    phone.driver.get(question)
    link_at = """
      const box = arguments[0].getBoundingClientRect();
      const at = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
      return at.closest('a') !== null;"""
    for around in ("article .meta", "main h2", "main > h1"):
        assert not phone.run(link_at, phone.find(around)), around
    weights = {phone.run("return getComputedStyle(arguments[0]).fontWeight", phone.find(selector))
               for selector in ("article p", "ol.list h3", "ol.list div p")}
    assert len(weights) == 1, "an answer looks like a message"
    picture(phone, "answer")
    phone.follow("ol.list .meta", act=lambda what: point(phone, what))
    assert "of two lines" in phone.text("article")


def test_a_text_can_be_selected(phone, place):
    """Behind the first line, which is the link: the end of a selection is no tap."""
    leave_all(place, "First line\nsecond line")
    phone.width(390)
    phone.open(place)
    phone.cdp("Emulation.setTouchEmulationEnabled", enabled=False)
    left, right, y = phone.run("""
      const box = arguments[0].getBoundingClientRect();
      return [box.left + 2, box.right - 2, (box.top + box.bottom) / 2];""",
                               phone.find("#messages div p"))
    for kind, x, buttons in (("mousePressed", left, 1), ("mouseMoved", right, 1), ("mouseReleased", right, 0)):
        phone.cdp("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons,
                  clickCount=1)
    assert phone.run("return String(getSelection())").endswith("econd line")
    assert phone.has("#messages")


def test_topics(phone, make_place):
    """One tap to read one, one to leave with one; what is left says its topics."""
    place = make_place("title = Caf\u00e9 Jules\ntopics = Coffee, Lost + found, Help\n")
    leave_all(place, "Cake is out", "Beans of today", t="coffee")
    leave_all(place, "One blue glove", t="lost + found, gloves")
    leave_all(place, "Anything")
    phone.width(320, 568)
    phone.open(place)
    assert [chip.text for chip in phone.all("nav[aria-label=Topics] a")] == ["Coffee", "Lost + found", "Help"]
    assert {item.find_element("css selector", "h3").text:
            [chip.text for chip in item.find_elements("css selector", ".meta i ~ bdi")]
            for item in phone.all("#messages > li")} == {
        "Cake is out": ["Coffee"], "Beans of today": ["Coffee"], "One blue glove": ["Lost + found"],
        "Anything": []}
    phone.follow("=Coffee", act=lambda _: phone.tap("nav[aria-label=Topics] a"))
    assert sorted(phone.messages) == ["Beans of today", "Cake is out"]
    assert phone.driver.title == "Coffee · Caf\u00e9 Jules"
    assert phone.find("#leave [name=t]").is_selected()  # who reads it leaves with it
    phone.follow("nav[aria-label=Topics] li:nth-child(2) a")
    assert phone.messages == ["One blue glove"]
    phone.follow("nav[aria-label=Topics] [aria-current]")
    assert len(phone.messages) == 4
    is_open = "return document.getElementById('topic').checkVisibility()"
    assert not phone.run(is_open)
    phone.tap("=More")
    assert phone.run(is_open)
    phone.tap("#leave label:nth-of-type(3)")
    phone.fill("#text", "Who can lift a piano?")
    phone.unfold("#leave details")
    phone.fill("#t", "piano")
    phone.follow("form#leave .send")
    for topic in ("help", "piano"):
        phone.go(f"/?t={topic}")
        assert phone.messages == ["Who can lift a piano?"], topic
    phone.go("/?o=near")
    phone.follow(".tools ul[aria-label] .chip")
    assert "o=near" not in phone.driver.current_url and not phone.all(".tools ul[aria-label] .chip")


def test_topics_in_each_language(phone, make_place, faults):
    place = make_place("title = Caf\u00e9 Jules\ntopics = Coffee, Lost + found, "
                       "\u0645\u0633\u0627\u0639\u062f\u0629, Mitfahrgelegenheiten\n")
    leave_all(place, *LINES, t="coffee")
    for width, height in ((320, 568), (390, 844), (768, 1024)):
        phone.width(width, height)
        for language in SUBTITLES:
            for scheme in ("light", "dark"):
                phone.media(prefers_color_scheme=scheme)
                phone.open(place, f"/?l={language}")
                picture(phone, f"topics-{width}-{language}-{scheme}")
            faults.add(f"{language} ({width} px)", phone.run(STICKING_OUT, width))
            faults.add(f"{language} ({width} px)", phone.run(SMALL_TARGETS, TARGET))
            phone.open(place, f"/?l={language}&t=coffee")
            faults.add(f"{language}, a topic ({width} px)", phone.run(STICKING_OUT, width))
    faults.check()


def test_large_text(phone, make_place, faults):
    """200 % on a screen of 320 pixels."""
    place = make_place("title = Caf\u00e9 Central\nwifi_ssid = Guests\nwifi_password = open sesame\n"
                       "topics = Jazz, Lost + found, Mitfahrgelegenheiten, \u0645\u0633\u0627\u0639\u062f\u0629\n")
    fill_list(place, 8)
    phone.width(320, 568)
    for query in ("?l=en", "?l=ar", "?l=de"):
        for path in ("/", "/about", "/poster", "/m/" + 32 * "0"):
            phone.open(place, path + query)
            phone.run(LARGE_TEXT)
            faults.add(path + query, phone.run(STICKING_OUT, 320))
            picture(phone, "200-" + query[3:] + path.replace("/", "-")[:8])
        phone.go("/" + query)
        phone.run(LARGE_TEXT)
        faults.add(query, phone.run(SMALL_TARGETS, TARGET))
        for folded in (".tools details", "#leave details"):
            phone.unfold(folded)
            faults.add(f"{query}, {folded}", phone.run(STICKING_OUT, 320))
        picture(phone, "200-open-" + query[3:])
        phone.follow("#messages a")
        phone.run(LARGE_TEXT)
        faults.add("/m/" + query, phone.run(STICKING_OUT, 320))
    faults.check()
