# SPDX-License-Identifier: Apache-2.0
"""The first things that a guest does, in Firefox, with the script and without.

Chromium does all of this in other files, on small screens, too; a window of Firefox has 450 pixels at least.
(test_lost.py: a connection that is lost.)"""

import pytest

import hearsay_wire as wire
from marionette import ELEMENT, Firefox, find_firefox

WORDS = "Is there a piano here?"


@pytest.fixture(scope="module")
def firefox():
    if find_firefox() is None:
        pytest.skip("there is no Firefox: scripts/install-packages browser brings firefox-esr")
    firefox = Firefox()
    yield firefox
    firefox.quit()


class Guest:
    """Without a script of the test's in the page, which would not run where scripts are off."""

    def __init__(self, firefox, place, has_script):
        self.firefox, self.place, self.has_script = firefox, place, has_script
        firefox.prefer("javascript.enabled", has_script)
        firefox.call("WebDriver:SetWindowRect", width=450, height=740)
        firefox.get("about:blank")
        self.open("/")

    def open(self, path):
        self.to_another_page(lambda: self.firefox.get(self.place.url(path)), path)

    def all(self, selector):
        found = self.firefox.call("WebDriver:FindElements", using="css selector", value=selector)
        return [one[ELEMENT] for one in found]

    def of(self, command, selector, **more):
        return self.firefox.call(command, id=self.firefox.find(selector), **more)["value"]

    def text(self, selector):
        return self.of("WebDriver:GetElementText", selector)

    def texts(self, selector):
        return [self.firefox.call("WebDriver:GetElementText", id=one)["value"] for one in self.all(selector)]

    def value(self, selector):
        return self.of("WebDriver:GetElementProperty", selector, name="value")

    def is_seen(self, selector):
        return self.of("WebDriver:IsElementDisplayed", selector)

    def until(self, condition, what):
        def holds():
            try:
                return condition()
            except RuntimeError:  # the page changes
                return False

        wire.wait_until(holds, what, pause=0.03)

    def see(self, selector, text=""):
        self.until(lambda: self.is_seen(selector) and text in self.text(selector), f"{selector} {text}")

    def tap(self, selector):
        self.see(selector)
        self.firefox.click(selector)

    def follow(self, selector):
        self.to_another_page(lambda: self.tap(selector), f"behind {selector}")

    def to_another_page(self, act, where):
        """Of the same address, too."""
        pages = []
        self.until(lambda: pages.append(self.firefox.find("html")) is None, "a page")  # the script may change it just now
        act()

        def is_gone():
            try:
                self.firefox.call("WebDriver:GetElementTagName", id=pages[0])
            except RuntimeError:
                return True
            return False

        self.until(is_gone, f"another page {where}")
        self.see("main")

    def leave(self, text):
        self.firefox.click("#text")
        self.firefox.type("#text", text)
        self.send()

    def send(self):
        self.follow("#leave .send")
        self.see("#messages > .just" if self.has_script else "#given")  # the script leads to the list


@pytest.fixture(params=[False, True], ids=["plain", "script"])
def guest(firefox, make_place, request):
    place = make_place("topics = coffee, Lost + found\n")
    for number, topic in enumerate(("coffee", "Lost + found", "")):
        place.leave(f"number {number}", source=f"127.0.0.{number + 9}", t=topic)
    yield Guest(firefox, place, request.param)
    firefox.prefer("javascript.enabled", True)


def test_the_composer(guest):
    assert guest.of("WebDriver:GetElementProperty", "#leave", name="offsetHeight") <= 72
    assert not guest.is_seen("#leave .send")
    guest.tap("#text")
    active = guest.firefox.call("WebDriver:GetActiveElement")["value"][ELEMENT]
    assert active == guest.firefox.find("#text") and guest.is_seen("#leave .send") and guest.is_seen("#who")


def test_leave_and_take_back(guest):
    guest.leave(WORDS)
    if guest.has_script:
        guest.see("#messages > .just", WORDS)
        assert guest.text("#said") == "Your message is here"
        guest.open("/")
        guest.follow("#messages .back")
    else:
        code = guest.value("#given")
        guest.open("/")
        guest.follow("#messages h3 a")
        guest.tap("#withdraw summary")
        guest.firefox.type("#code", code)
    guest.until(lambda: len(guest.value("#code")) == 26, "the code, which the script fills in")
    guest.follow("#withdraw .send")
    guest.see("h1", "Taken back")


def test_a_draft_is_kept(guest):
    guest.tap("#text")
    guest.firefox.type("#text", WORDS)
    guest.follow(".langs a[lang=de]" if guest.has_script else "#leave [name=to][value=de]")
    guest.until(lambda: guest.value("#text") == WORDS, "what was typed, on the page in German")
    if guest.has_script:
        guest.follow("nav ul a")
        guest.until(lambda: guest.value("#text") == WORDS, "what was typed, at the topic")
        guest.place.restart()
        guest.open("/")
        guest.until(lambda: guest.value("#text") == WORDS, "what was typed, after a restart")
    guest.send()
    guest.open("/?l=en")
    assert guest.text("#messages h3") == WORDS and guest.value("#text") == ""


def test_topics(guest):
    assert guest.texts("#messages .meta i ~ bdi") == ["Lost + found", "coffee"]
    guest.follow("nav ul a")
    assert guest.texts("#messages h3") == ["number 0"]
    assert guest.of("WebDriver:IsElementSelected", "#leave [name=t][value=coffee]")
    guest.leave(WORDS)
    guest.open("/?t=coffee")
    assert guest.texts("#messages h3") == [WORDS, "number 0"]
    guest.follow("nav ul [aria-current]")
    assert len(guest.all("#messages > li")) == 4


def test_an_answer(guest):
    guest.follow("#messages h3 a")
    guest.leave("An answer.")
    guest.open("/")
    assert guest.texts("#messages .meta")[0].endswith("1 answer")
    guest.follow("#messages h3 a")
    assert guest.texts("ol.list h3") == ["An answer."]
    guest.follow("ol.list h3 a")
    assert guest.text("article").startswith("An answer.")


@pytest.mark.parametrize("guest", [True], indirect=True, ids=["script"])
def test_new_messages(guest):
    guest.place.leave("number 3", source="127.0.0.20")
    guest.tap("#new")
    guest.see("#messages > li", "number 3")
