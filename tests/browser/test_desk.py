# SPDX-License-Identifier: Apache-2.0
"""The moderators' page on a phone. What its script is for is tested in test_lost.py."""

import http.server
import json
import os
import threading

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import test_moderate as desks
from harness import TEXTS
from test_axe import RUN, TAGS, axe  # noqa: F401 (a fixture)
from test_gateway import open_folder  # noqa: F401 (a fixture)
from test_layout import SMALL_TARGETS, STICKING_OUT, TARGET, WIDTHS
from test_moderate import PASSWORD, conf, leave_text, make_desk, report  # noqa: F401 (fixtures)
from test_words import PSEUDO, UNTRANSLATED


@pytest.fixture
def desk(make_desk):  # noqa: F811
    desk = make_desk("[host default]\nhide_after = 5\n", "title = Café Central\n")
    desk.url = lambda path="/": f"http://127.0.0.1:{desk.port}{path}"
    return desk


def log_in(phone, password=PASSWORD):
    phone.fill("#password", password)
    phone.follow("main .button")


def picture(phone, name):
    folder = os.environ.get("HEARSAY_PICTURES")
    if folder:
        phone.driver.save_screenshot(os.path.join(folder, f"desk-{name}.png"))


def documents(phone):
    """How many pages were asked for since the last call."""
    messages = (json.loads(entry["message"])["message"] for entry in phone.driver.get_log("performance"))
    return sum(message["method"] == "Network.requestWillBeSent" and message["params"]["type"] == "Document"
               for message in messages)


def test_the_evening(phone, desk, rng):
    """Reported, seen, hidden and shown again: a request for the page, and two for each of three forms."""
    message = leave_text(desk, rng, "A rude word")
    report(desk, message, "HARASSMENT", reason="it is about me")
    phone.script(False)
    documents(phone)
    phone.open(desk)
    log_in(phone)
    assert "A rude word" in phone.text("main") and "it is about me" in phone.text("main")
    phone.follow("=Hide")
    assert "Hidden." in phone.text("[role=status]")
    assert "1 message that you took away" in phone.text("main")
    phone.follow("=Show")
    assert "It is shown." in phone.text("[role=status]")
    assert documents(phone) <= 7
    assert "A rude word" not in phone.text("section:not(#all)")
    assert "A rude word" in phone.text("#all"), "nothing is to be decided, and the board is there"


@pytest.mark.parametrize("script", [False, True], ids=["plain", "script"])
def test_places(phone, make_desk, tmp_path, faults, script):  # noqa: F811
    """What was left at one place, and a notice for it: chosen from its names, on a phone of 320 pixels."""
    (tmp_path / "places").write_text("10.0.0.1 = place:stage | Main stage, by the old oak\n"
                                     "10.0.0.2 = place:camp | Camp site\n")
    desk = make_desk(f"[host default]\nhere_map = {tmp_path}/places\n", "title = Feldrausch\n")
    desk.url = lambda path="/": f"http://127.0.0.1:{desk.port}{path}"
    with desk.daemon.client() as client:
        for number, (label, text) in enumerate((("place:stage", b"At the stage"), ("place:camp", b"At the camp"))):
            client.call(desks.pb.Deposit(id=bytes([number]) * 16, payload=text, media_type="text/plain",
                                         filter=desks.wire.filter_of([label])))
    phone.script(script)
    phone.width(320)
    phone.open(desk)
    log_in(phone)
    assert "At the stage" in phone.text("#all") and "At the camp" in phone.text("#all")
    Select(phone.find("#where")).select_by_value("Camp site")
    phone.follow("form.row .chip")
    for _ in range(2):
        assert "At the camp" in phone.text("#all") and "At the stage" not in phone.text("#all")
        assert phone.find("#where").get_attribute("value") == "Camp site"
        phone.follow("#all [value=hide], #all [value=show]")
    for language in ("en", "de", "ar"):
        phone.follow(f"footer [value={language}]")
        assert "At the stage" not in phone.text("#all"), language
        faults.add(language, phone.run(STICKING_OUT, 320))
        faults.add(language, phone.run(SMALL_TARGETS, TARGET))
    phone.follow("footer [value=en]")
    picture(phone, "list")
    phone.follow("=Notices")
    phone.fill("#text", "Please leave the camp site")
    Select(phone.find("#at")).select_by_value("Camp site")
    picture(phone, "form")
    phone.follow("[value=notice]")
    assert "Only at Camp site" in phone.text("main")
    faults.add("notices", phone.run(STICKING_OUT, 320))
    picture(phone, "notice")
    faults.check()


@pytest.mark.parametrize("script", [False, True], ids=["plain", "script"])
def test_reload_and_back(phone, desk, rng, script):
    """Without the password, and the browser has no form to send again. Without a script, the browser may show
    a page as it was."""
    message = leave_text(desk, rng, "A rude word").hex()
    phone.script(script)
    phone.open(desk)
    log_in(phone)
    phone.follow(f"#m-{message} [value=hide]")
    assert "Hidden." in phone.text(f"#m-{message} [role=status]")
    for act in (phone.driver.refresh, phone.driver.back, phone.driver.refresh, phone.driver.forward):
        act()
        phone.until(lambda: phone.has(f"#m-{message}" + (" [value=show]" if script else "")),
                    "the message, as it is now")
    with desk.daemon.administrator() as operator:
        assert len(operator.call(desks.pb.Decisions()).decisions) == 1
    phone.follow("[value=leave]")
    assert "You are logged out." in phone.text("[role=status]")
    phone.driver.back()
    phone.until(lambda: phone.has("#password" if script else "main"), "the form for the password")
    phone.open(desk)
    assert phone.has("#password")


class Hostile(http.server.BaseHTTPRequestHandler):
    """Another place at the same name and port. It keeps what browsers send."""
    seen = []

    def do_GET(self):
        self.seen.append((self.path, dict(self.headers)))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>evil</title><h1>evil</h1>")

    def log_message(self, *_):
        pass


def test_another_place_learns_nothing(phone, desk, rng):
    """Neither from what the browser sends, nor from what it keeps."""
    leave_text(desk, rng, "A rude word")
    phone.open(desk)
    log_in(phone)
    token = phone.run("return location.pathname").split("/")[1]
    assert len(token) == 64
    phone.follow("[value=hide]")
    phone.unfold("details")
    phone.fill("[name=reason]", "names a guest")
    assert phone.run("return sessionStorage.length") == 1, "what was typed is kept"
    desk.stop()
    Hostile.seen = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", desk.port), Hostile) as evil:
        threading.Thread(target=evil.serve_forever, daemon=True).start()
        try:
            phone.open(desk)
            phone.until(lambda: phone.text("h1") == "evil", "the other place")
            kept = phone.run("return JSON.stringify([document.cookie, document.referrer, {...sessionStorage}, "
                             "{...localStorage}, history.state, window.name])")
        finally:
            evil.shutdown()
    assert "typed" in kept and not any(one in kept for one in (token, "A rude word", "names a guest", "reason"))
    assert Hostile.seen and not any(token in str(request) or "Cookie" in request[1] for request in Hostile.seen)


def is_seen(phone, element):
    return phone.run("const box = arguments[0].getBoundingClientRect();"
                     "return box.top >= 0 && box.bottom <= innerHeight", element)


def test_what_nobody_has_reported(phone, desk, rng):
    """On the third page and without a script: hidden, and one is where one was."""
    left = [leave_text(desk, rng, f"Message {number} " + "and more " * 20).hex() for number in range(45)][::-1]
    phone.script(False)
    phone.width(320)
    phone.open(desk)
    log_in(phone)
    assert "Nothing to decide." in phone.text("main")
    documents(phone)
    phone.follow("=Older")
    assert is_seen(phone, phone.find("#all h2")), "the browser goes to the list"
    assert [item.get_attribute("id") for item in phone.all("#all li")] == [f"m-{one}" for one in left[20:40]]
    phone.follow(f"#m-{left[33]} [value=hide]")
    assert documents(phone) == 3
    assert "Hidden." in phone.text(f"#m-{left[33]} [role=status]")
    assert is_seen(phone, phone.find(f"#m-{left[33]} [role=status]")), "what was done is said where one is"
    assert [item.get_attribute("id") for item in phone.all("#all li")] == [f"m-{one}" for one in left[20:40]]
    phone.follow("=Older")
    assert [item.get_attribute("id") for item in phone.all("#all li")] == [f"m-{one}" for one in left[40:]]
    phone.follow("=Newer")
    phone.follow("=Newer")
    assert [item.get_attribute("id") for item in phone.all("#all li")] == [f"m-{one}" for one in left[:20]]


def test_enter_in_the_reason_removes(phone, desk, rng):
    """And never shows what waits for review: Enter presses the first button of a form."""
    with desk.daemon.administrator() as operator:
        operator.call(desks.pb.Accept(mode="review"))
    leave_text(desk, rng, "A rude word")
    phone.script(False)
    phone.open(desk)
    log_in(phone)
    phone.unfold("details")
    phone.follow("[name=reason]", lambda field: phone.find(field).send_keys("rude" + Keys.ENTER))
    assert "Removed." in phone.text("[role=status]")
    with desk.daemon.administrator() as operator:
        assert [(one.act, one.reason) for one in operator.call(desks.pb.Decisions()).decisions][-1] == (
            "remove", "rude")


def fill(desk, rng):
    for number, text in enumerate(TEXTS):
        message = leave_text(desk, rng, text)
        kinds = ("SPAM", "HARASSMENT", "ILLEGAL", "OTHER_KIND", "ABOUT_ME")[:number + 1]
        report(desk, message, *kinds, reason="because " + "it is so " * 12)
    with desk.daemon.administrator() as operator:
        operator.call(desks.pb.Accept(mode="review"))
    leave_text(desk, rng, "x" * 300)
    removed = leave_text(desk, rng, "Gone again")
    with desk.daemon.administrator() as operator:
        operator.call(desks.pb.Remove(id=removed, ban=True, reason="because " + "it is so " * 12))
        operator.call(desks.pb.Notice(text="x" * 300, lang="de"))
        operator.call(desks.pb.Notice(text="The bar closes at one."))


def tour(phone, desk, rng, language=None):
    """Leads a phone to each page in each state."""
    def speak():
        if language is not None:
            phone.follow(f"[value={language}]")

    phone.open(desk)
    speak()
    yield "login"
    log_in(phone, "not the password")
    yield "wrong"
    log_in(phone)
    yield "empty"
    fill(desk, rng)
    phone.follow("header button")
    for summary in phone.all("summary"):
        summary.click()
    yield "list"
    for part in ("notices", "bans", "log"):
        phone.follow(f"nav a[href*='/{part}']")
        yield part
    phone.follow("nav li:first-child a")
    phone.follow("nav a[href*='/withheld']")
    yield "withheld"
    phone.follow("nav + nav li:first-child a")
    phone.follow("section:nth-of-type(2) li:first-child .row .button:last-child")
    yield "shown"
    phone.run("arguments[0].action = '/' + '0'.repeat(64) + '/'", phone.find("header form"))
    phone.follow("header button")
    yield "expired"
    log_in(phone)
    desk.daemon.stop()
    phone.follow("header button")
    yield "away"


def test_every_page_fits(phone, desk, rng, faults):
    for name in tour(phone, desk, rng):
        for width in WIDTHS:
            phone.width(width)
            faults.add(f"{name} ({width} px)", phone.run(STICKING_OUT, width))
            faults.add(f"{name} ({width} px)", phone.run(SMALL_TARGETS, TARGET))
    faults.check()


def test_arabic_runs_from_the_right(phone, desk, rng, faults):
    phone.width(320)
    for name in tour(phone, desk, rng, "ar"):
        assert phone.run("return getComputedStyle(document.documentElement).direction") == "rtl"
        faults.add(name, phone.run(STICKING_OUT, phone.screen))
    faults.check()


def test_a_longer_language(phone, desk, rng, faults):
    """With texts 40 % longer, from the right, nothing is cut off, and nothing is untranslated."""
    desk.command[0] = PSEUDO
    desk.stop()
    desk.start()
    phone.width(320)
    for name in tour(phone, desk, rng, "qps"):
        assert phone.find("html").get_attribute("lang") == "qps", name
        faults.add(name, phone.run(STICKING_OUT, phone.screen))
        if name != "away":  # hearsayd's own sentence
            faults.add(name, phone.run(UNTRANSLATED))
    faults.check()


def test_axe_finds_nothing(phone, desk, rng, faults, axe):  # noqa: F811
    phone.cdp("Page.setBypassCSP", enabled=True)
    for name in tour(phone, desk, rng):
        for scheme in ("light", "dark"):
            phone.media(prefers_color_scheme=scheme)
            phone.run(axe)
            passed, violations = phone.driver.execute_async_script(RUN, TAGS)
            assert passed > 10 or violations, name
            faults.add(f"{name} ({scheme})", violations)
    faults.check()
