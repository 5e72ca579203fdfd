# SPDX-License-Identifier: Apache-2.0
"""What the tests in a real browser share: places, and a phone.

A place is a hearsay-web before a hearsayd. Its socket is the test's and is handed to the program as
systemd does: so a place that starts again has the same port, and so has another place that takes over.
The file is a plugin of pytest, so that the tests have its fixtures. A phone is a tab of Chromium. It finds each name that ends in .lan at 127.0.0.1 and no other name: so
the page is no secure context, as at a real place, and nothing leaves this machine.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.parse

import pytest
from selenium import webdriver
from selenium.common.exceptions import (NoSuchElementException, StaleElementReferenceException,
                                        WebDriverException)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

import conftest
import hearsay_wire as wire
import web_runner
from conftest import make_daemon, rng  # noqa: F401 (fixtures)
from test_gateway import GATEWAY, Gateway
from test_service import LAUNCHER
from web_runner import fields_of

PROGRAM = os.environ.get("HEARSAY_WEB", "build/client/hearsay-web")
NAME = web_runner.NAME
HEIGHT = 740
# Times are exact, whatever the kernel says about its clock.
DAEMON = "clock_patience = 0\n"
NO_LIMITS = "[limits]\nqueries_per_minute = 0\ndeposits_per_minute = 0\n"

# --- places ---------------------------------------------------------------------------------------


def new_door():
    """A listening socket on a free port. It does not block, as the programs want it to be."""
    door = socket.create_server(("127.0.0.1", 0), backlog=64)
    door.setblocking(False)
    return door


class Place(web_runner.Web):
    """A hearsay-web with its hearsayd. The base class has its requests, as of other phones."""

    def __init__(self, gateway, folder, door, config="", program=PROGRAM):
        self.gateway, self.door, self.program = gateway, door, program
        self.address, self.port = door.getsockname()
        self.file = os.path.join(folder, "web.conf")
        self.configure(config)
        self.start()

    def configure(self, config):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(f"[web]\nserver = {self.gateway.path}\nname = {NAME}\ncache = 0\n"
                       f"{web_runner.USER}{config}\n")
        os.chmod(self.file, 0o644)

    def start(self):
        self.lines, self.changed = [], threading.Condition()
        number = self.door.fileno()
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(number), conftest.binary(self.program),
             "--config", self.file],
            stderr=subprocess.PIPE, text=True, pass_fds=[number])
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        self.wait_log("ready: hearsay-web")
        self.wait_healthy()

    def restart(self):
        self.stop()
        self.start()

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(wire.PATIENCE)

    def wait_page(self, text):
        """hearsay-web learns from hearsayd in its own time how it is now."""
        wire.wait_until(lambda: text in self.get().text, text)

    def url(self, path="/", name=NAME):
        return f"http://{name}:{self.port}{path}"

    @property
    def digits(self):
        """What the code on the poster says of the store, behind `?p=`."""
        with self.gateway.daemon.client() as client:
            return client.welcome.store_id.hex()[:6]


@pytest.fixture
def make_place(make_daemon):  # noqa: F811
    """A factory of places. With `door` a place takes over the port of another one."""
    root = tempfile.mkdtemp(prefix="hearsay-browser-", dir="/tmp")
    os.chmod(root, 0o755)
    made = []

    def make(config="", daemon="", door=None, **options):
        folder = tempfile.mkdtemp(dir=root)
        os.chmod(folder, 0o755)
        path = os.path.join(folder, "gateway.sock")
        daemon = DAEMON + ("" if "[limits]" in daemon else NO_LIMITS) + daemon
        running = make_daemon(f"listen = {path} gateway\ngateway_user = {GATEWAY.pw_name}\n{daemon}")
        place = Place(Gateway(running, path), folder, door or new_door(), config, **options)
        made.append(place)
        return place

    try:
        yield make
        for place in made:
            place.stop()
    finally:
        for place in made:
            place.kill()
            place.door.close()
        shutil.rmtree(root)


@pytest.fixture
def place(make_place):
    return make_place()


# --- phones ---------------------------------------------------------------------------------------


def _options(profile):
    options = webdriver.ChromeOptions()
    for argument in (
            "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--no-sandbox",  # root cannot have one, and the pages are the test's
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-default-apps", "--lang=en-US", f"--user-data-dir={profile}",
            "--host-resolver-rules=MAP *.lan 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, "
            "EXCLUDE 192.168.8.1"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    return options


@pytest.fixture(scope="module")
def browser():
    """One Chromium for all tests of a file."""
    profile = tempfile.mkdtemp(prefix="hearsay-profile-", dir="/tmp")
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=_options(profile))
    try:
        yield driver
    finally:
        driver.quit()
        shutil.rmtree(profile, ignore_errors=True)


class Phone:
    """A new tab, without what the tabs before it were told and kept."""

    def __init__(self, driver):
        self.driver, self.place, self.has_script = driver, None, True
        old = driver.current_window_handle
        driver.switch_to.new_window("tab")
        new = driver.current_window_handle
        driver.switch_to.window(old)
        driver.close()
        driver.switch_to.window(new)
        driver.get_log("browser"), driver.get_log("performance")  # of tabs before
        self.cdp("Network.clearBrowserCookies")
        self.cdp("Network.clearBrowserCache")
        self.width(360)
        self.cdp("Emulation.setTouchEmulationEnabled", enabled=True)

    def cdp(self, method, **arguments):
        return self.driver.execute_cdp_cmd(method, arguments)

    def width(self, width, height=HEIGHT, scale=1):
        self.screen = width
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=scale, mobile=True)

    def text_size(self, pixels):
        """Of pages that are loaded from then on; 16 unless a person chooses another."""
        self.cdp("Page.setFontSizes", fontSizes={"standard": pixels})

    def script(self, runs):
        self.has_script = runs
        self.cdp("Emulation.setScriptExecutionDisabled", value=not runs)

    def media(self, **features):
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def before_each_page(self, source):
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source=source)

    def run(self, source, *arguments):
        """The value of a JavaScript function's body; for the test, not for the page."""
        return self.driver.execute_script(source, *arguments)

    # --- what a person does ---

    def open(self, place, path="/"):
        self.place = place
        self.driver.get(place.url(path))

    def go(self, path):
        self.open(self.place, path)

    def find(self, what, among="a|button|summary|label"):
        """A selector of CSS, or `=` and the words on a link, a button or a label: one that is seen, if there is."""
        if not what.startswith("="):
            return self.driver.find_element(By.CSS_SELECTOR, what)
        tags = " or ".join(f"self::{tag}" for tag in among.split("|"))
        path = f'//*[{tags}][normalize-space()="{what[1:]}" and not(@hidden)]'
        seen = [one for one in self.driver.find_elements(By.XPATH, path) if one.is_displayed()]
        return seen[0] if seen else self.driver.find_element(By.XPATH, path)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def has(self, what):
        try:
            return self.find(what).is_displayed()
        except (NoSuchElementException, StaleElementReferenceException):
            return False

    def tap(self, what):
        """Taps on what stays on this page. Of the form to leave a message, the field opens the rest."""
        element = self.find(what)
        if what != "#text" and not element.is_displayed() and self.all("form#leave"):
            self.tap("#text")
        self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        element.click()

    def follow(self, what, act=None):
        """Taps on what leads to another page, and waits for that."""
        page = self.find("html")
        (act or self.tap)(what)
        self.until(lambda: is_stale(page), f"another page behind {what}")
        self.until(lambda: self.run("return document.readyState") == "complete", "the whole page")

    def unfold(self, selector):
        """Opens <details>."""
        if self.find(selector).get_attribute("open") is None:
            self.tap(f"{selector} > summary")

    def fill(self, selector, text):
        """Types; what is long is pasted."""
        field = self.find(selector)
        field.clear()
        if len(text) <= 80:
            field.send_keys(text)
            return
        self.run("""
          const [field, text] = arguments;
          field.value = text;
          field.dispatchEvent(new Event('input', {bubbles: true}));""", field, text)

    def until(self, condition, what, patience=wire.PATIENCE):
        def holds():
            try:
                return condition()
            except (NoSuchElementException, StaleElementReferenceException):
                return False  # the page changes

        wire.wait_until(holds, what, patience, pause=0.03)

    # --- what a person sees ---

    def text(self, selector="body"):
        return self.find(selector).text

    @property
    def heading(self):
        return self.text("h1")

    @property
    def messages(self):
        """The texts of the list."""
        return [element.text for element in self.all("#messages > li:not([hidden]) > div")]

    def leave(self, text):
        """Leaves a message, and ends on the page that says so."""
        self.fill("#text", text)
        self.follow("form#leave button")
        self.wait_left()

    def wait_left(self):
        """Waits for the message: in the list with the script, else on a page of its own, with its code."""
        self.until(lambda: self.has("#messages > .just") or self.has("#given"), "the message that was left")
        if self.has("#given"):
            assert self.heading == "Your message is here" or self.find("html").get_attribute("lang") != "en"

    def code(self):
        """The code of the message that was just left. The script keeps it where only its place can read it."""
        if self.has("#given"):
            return self.find("#given").get_attribute("value")
        self.follow("#messages .back")
        code = self.find("#code").get_attribute("value")
        self.driver.back()
        self.until(lambda: self.has("#messages"), "the list")
        return code

    def leave_unchecked(self, text):
        """Sends a text also if the page's script would not let it go."""
        self.fill("#text", text)
        self.run("arguments[0].noValidate = true", self.find("form#leave"))
        self.follow("form#leave button")

    # --- what a person does not see ---

    def check_log(self):
        """Nothing was refused by the page's own rules, and no script failed."""
        bad = [entry["message"] for entry in self.driver.get_log("browser")
               if re.search(r"Refused|Content Security|violat|integrity|Uncaught|Error:|TrustedHTML",
                            entry["message"])]
        assert not bad, "\n".join(bad)


def is_stale(element):
    try:
        return element.tag_name is None
    except WebDriverException:  # stale, or, while the page changes, no node of the document
        return True


class Faults:
    """What is wrong, and on which pages."""

    def __init__(self):
        self.pages = {}

    def add(self, page, whats):
        for what in whats:
            self.pages.setdefault(what, []).append(page)

    def check(self):
        text = "\n".join(f"{what}\n    on {', '.join(pages)}" for what, pages in self.pages.items())
        assert not self.pages, "\n" + text


@pytest.fixture
def faults():
    return Faults()


@pytest.fixture
def phone(browser):
    phone = Phone(browser)
    yield phone
    phone.check_log()


# --- all pages ------------------------------------------------------------------------------------

# The page for who asks for another name. Nothing else is served there, so it has neither style nor
# script.
OTHER_NAME = "other-name"
TOUR = """title = Café Central
operator = Café Central, Main Street 1
contact = owner@cafe.example
rules = Be kind.
rules = No advertising.
wifi_ssid = Guests
wifi_password = open sesame
"""
TEXTS = (
    "Is there a piano here?",
    "Supercalifragilisticexpialidocious" * 4,
    "A line\n\nand another one " + "with words " * 30,
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0643\u0645 \u0641\u064a \u0627\u0644\u0645\u0642\u0647\u0649",
    "\N{SAXOPHONE} tonight at eight",
)


def fill_list(place, count=0):
    for number, text in enumerate(TEXTS):
        place.leave(text, source=f"127.0.0.{number + 10}", t="jazz" if number % 2 == 0 else "")
    for number in range(count - len(TEXTS)):
        place.leave(f"{number:03d} " + "x" * 196, source=f"127.0.1.{number + 1}")


def _tour_message(phone, query):
    has_script = phone.has_script
    phone.script(False)  # which leads to the list at once
    phone.go("/" + query)
    phone.leave("It is mine.")
    phone.script(has_script)
    yield "left"
    code, message = phone.code(), phone.find("#left").get_attribute("data-id")
    phone.go("/" + query)
    phone.leave("It is mine, too.")
    if has_script:
        yield "mine"
    phone.go(f"/m/{message}{query}")
    phone.unfold("#report")
    phone.unfold("#withdraw")
    yield "message"
    phone.fill("#code", "A" * 26)
    phone.follow("#withdraw button")
    yield "wrong-code"
    phone.driver.back()
    phone.unfold("#report")
    phone.tap("label[for='report.spam']")
    phone.follow("#report button")
    yield "reported"
    phone.driver.back()
    phone.unfold("#withdraw")
    phone.fill("#code", code)
    phone.follow("#withdraw button")
    yield "withdrawn"


def _tour_errors(phone, make_place, query, options):
    phone.go("/" + query)
    phone.leave_unchecked("x" * 501)
    yield "too-long"
    phone.go("/" + query)
    phone.fill("#text", "Of another place.")
    phone.run("arguments[0].value = '00000000'", phone.find("#leave [name=place]"))
    phone.follow("form#leave button")
    yield "moved"
    phone.go("/" + query)
    phone.fill("#text", "Five topics.")
    phone.unfold("#leave details")
    phone.fill("#t", "a, b, c, d, e")
    phone.follow("form#leave button")
    yield "wrong-field"
    if not query:  # which is not read there
        phone.driver.get(phone.place.url(name="other.lan"))
        yield OTHER_NAME
    phone.go("/" + query)
    phone.place.gateway.daemon.stop()
    phone.place.wait_healthy(503)
    phone.fill("#text", "Said while nobody listens.")
    phone.follow("form#leave button")
    yield "away"
    for name, rules in (("pending", "[host default]\naccept = review\n"),
                        ("full", "[limits]\nmessages = 1\n"),
                        ("limited", "[limits]\ndeposits_per_minute = 1\ndeposit_burst = 1\n")):
        phone.open(make_place(TOUR, rules, **options), "/" + query)
        for text in ("One.", "Two.")[:1 if name == "pending" else 2]:
            phone.go("/" + query)
            phone.fill("#text", text)
            phone.follow("form#leave button")
        yield name
    phone.open(make_place(TOUR, "[host default]\naccept = closed\n", **options), "/" + query)
    yield "closed"


def tour(phone, make_place, query="", **options):
    """Leads a phone to each page in each state; yields the name of what it shows. `query` is what each
    address ends in, such as ?l=ar."""
    more = "&" if query else "?"
    phone.open(make_place(TOUR, **options), "/" + query)
    yield "empty"
    phone.go("/" + query + more + "t=jazz")
    yield "empty-topic"
    fill_list(phone.place, 25)
    with phone.place.gateway.daemon.administrator() as operator:
        for text, lang in (("The bar closes at one.", "en"), (80 * "W", None)):
            operator.call(wire.pb.Notice(text=text, lang=lang))
    phone.place.wait_page(80 * "W")
    phone.go("/" + query)
    yield "list"
    phone.go("/" + query + more + "t=jazz&now=1&o=near")
    yield "nearest"
    phone.go("/about" + query)
    yield "about"
    phone.go("/poster" + query)
    yield "poster"
    phone.go("/m/" + 32 * "0" + query)
    yield "gone"
    removed = fields_of(phone.place.leave("rude", source="127.0.2.1").text, "/withdraw")["id"]
    with phone.place.gateway.daemon.administrator() as operator:
        operator.call(wire.pb.Remove(id=bytes.fromhex(removed)))
    phone.go(f"/m/{removed}{query}")
    yield "removed"
    yield from _tour_message(phone, query)
    yield from _tour_errors(phone, make_place, query, options)


def topics_tour(phone, make_place, query):
    """Leads a phone to the pages of a place with topics; yields the name of what it shows."""
    place = make_place(TOUR + "topics = coffee, Lost + found, Mitfahrgelegenheiten, \u0645\u0633\u0627\u0639\u062f\u0629\n")
    fill_list(place)
    place.leave("of two topics", source="127.0.2.1", t="coffee, Lost + found")
    phone.open(place, "/" + query)
    yield "topics"
    phone.unfold(".tools details")
    phone.unfold("#leave details")
    yield "topics-open"
    phone.go("/" + query + "&t=coffee")
    yield "topic"
    phone.follow("#messages a")
    phone.fill("#text", "An answer.")
    phone.follow("form#leave .send")
    phone.go("/" + query)
    phone.follow("#messages a")
    yield "answered"


def page_path(url):
    return urllib.parse.urlsplit(url).path
