# SPDX-License-Identifier: Apache-2.0
"""Every place has the same name, and so is the same origin for a phone: nothing of one place reaches
another. One tab and one profile come to A, to a place that means harm, and to B, one after the other, at
one name and one port."""

import contextlib
import http.server
import json
import re
import signal
import socket
import threading

import pytest

import hearsay_wire as wire
from harness import new_door

# Reads whatever a page can read, and leaves what it can for the next place.
SCRIPT = """
window.evil = true;
(async () => {
  const found = {};
  const attempt = async (name, act) => {
    try { found[name] = await act(); } catch (error) { found[name] = null; }
  };
  const all = (storage) => Object.fromEntries(Object.keys(storage).map((key) => [key, storage[key]]));
  await attempt('localStorage', () => all(localStorage));
  await attempt('sessionStorage', () => all(sessionStorage));
  await attempt('cookie', () => document.cookie);
  await attempt('indexedDB', async () => (await indexedDB.databases()).map((one) => one.name));
  await attempt('caches', () => caches.keys());
  await attempt('serviceWorker', async () => (await navigator.serviceWorker.getRegistrations()).length);
  await attempt('name', () => window.name);
  await attempt('referrer', () => document.referrer);
  await attempt('state', () => history.state);
  await attempt('body', () => document.body.textContent);
  await attempt('left behind', () => {
    localStorage.evil = sessionStorage.evil = '1';
    sessionStorage.hearsay = JSON.stringify(
      {place: '1', mine: ['1'], hidden: ['1'], seen: ['1']});
    document.cookie = 'evil=1; max-age=99999; path=/';
    return 1;
  });
  window.found = found;
})();
"""
STYLE = "body { --evil: 1; background: rgb(255, 0, 0) !important } main { display: none !important }"
PAGE = """<!DOCTYPE html><html lang="en"><head><title>evil</title>{links}</head>
<body><main>the evil page</main><script>{script}</script></body></html>"""


class Evil(http.server.BaseHTTPRequestHandler):
    """A place that serves its own page under each path, to be kept for a year."""

    links = ""

    def do_GET(self):
        kind, body = "text/html", PAGE.format(links=self.links, script=SCRIPT)
        if self.path.endswith(".css"):
            kind, body = "text/css", STYLE
        elif self.path.endswith(".js"):
            kind, body = "text/javascript", SCRIPT
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Cache-Control", "public, max-age=31536000, immutable")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


class EvilEvents(Evil):
    """Its stream tells of whatever lets a page ask for more, and ends."""

    asked = []  # all that browsers sent
    known = ()  # ids of messages that evil has read at the other place

    def do_GET(self):
        self.asked.append(f"{self.requestline}\n{self.headers}")
        if not self.path.startswith("/events"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"retry: 3000\n\n")
        for kind in ("message", "out", "look", "gone"):
            self.wfile.write(f'event: {kind}\ndata: {{"id": "{"0" * 32}"}}\n\n'.encode())
        counts = dict.fromkeys(("0" * 32, "", "undefined", *self.known), 7)
        self.wfile.write(f"event: answers\ndata: {json.dumps(counts)}\n\n".encode())
        self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    """Ends its connections with itself: browsers open some before they need them."""

    def __init__(self, door, handler):
        super().__init__(door.getsockname(), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = door.dup()
        self.open = []

    def get_request(self):
        request, address = super().get_request()
        self.open.append(request.dup())
        return request, address

    def server_close(self):
        super().server_close()
        for one in self.open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextlib.contextmanager
def evil_at(door, links="", kind=Evil, known=()):
    handler = type("Handler", (kind,), {"links": links, "asked": [], "known": known})
    server = Server(door, handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def door():
    return new_door()


def visit_a(phone, make_place, door):
    """A phone reads, leaves a message, and looks at it; then A is gone."""
    place = make_place("title = Place A\n", door=door)
    place.leave("of somebody at A", source="127.0.0.9")
    phone.open(place)
    phone.leave("secret of A")
    code = phone.code()
    phone.go("/")
    assert phone.messages == ["secret of A", "of somebody at A"]
    return place, code


def test_evil_reads_nothing_of_a(phone, make_place, door):
    place, code = visit_a(phone, make_place, door)
    store = phone.find("body").get_attribute("data-store")
    ids = [item.get_attribute("id").removeprefix("m-") for item in phone.all("#messages > li")]
    place.stop()
    with evil_at(door):
        phone.driver.get(place.url("/?evil"))
        phone.until(lambda: phone.run("return window.found"), "what evil found")
        found = phone.run("return window.found")
        # A tab remembers, until it is closed, which messages it saw and left, by names that only A knows.
        kept = found.pop("sessionStorage")
        assert list(kept) == ["hearsay"]
        names = json.loads(kept["hearsay"])
        assert len(names.pop("seen")) == 2 and len(names.pop("mine")) == 1
        assert names.pop("hidden") == [] and names.pop("language") == ""
        assert list(names) == ["place", "words"]
        for secret in (store, code, "secret", *ids, *(one[:8] for one in ids)):
            assert secret not in kept["hearsay"]
        assert found == {"localStorage": {}, "cookie": "", "indexedDB": [], "caches": None,
                         "serviceWorker": None, "name": "", "referrer": "", "state": None,
                         "body": found["body"], "left behind": 1}
        assert "secret" not in found["body"] and code not in found["body"]
        # Nothing of A is in the cache: each address is evil's.
        for path in ("/", "/about", "/poster"):
            text = phone.driver.execute_async_script("""
              const [path, done] = arguments;
              fetch(path, {cache: 'force-cache'}).then((answer) => answer.text()).then(done);""", path)
            assert "the evil page" in text and "Place A" not in text, path


@pytest.mark.parametrize("page", ["list", "message"])
def test_evil_is_not_told_what_was_left_or_read(phone, make_place, door, page):
    """An open page asks evil for its events. It says neither which message it shows nor which is its reader's, whatever
    these events are."""
    place, code = visit_a(phone, make_place, door)
    store = phone.find("body").get_attribute("data-store")
    ids = [item.get_attribute("id").removeprefix("m-") for item in phone.all("#messages > li")]
    place.answer(ids[0], "an answer", source="127.0.0.9")
    phone.until(lambda: phone.has("#answered"), "what A says of it")
    if page == "message":
        phone.follow("#answered")
    else:
        phone.go("/?p=" + store)  # as the links of the page lead there
    place.stop()
    with evil_at(door, kind=EvilEvents, known=ids) as evil:
        asked = evil.RequestHandlerClass.asked
        # Between two streams are 3 s. By then a page has done what it does for events.
        phone.until(lambda: sum("GET /events" in one for one in asked) > 1, "two streams")
        for secret in (code, *ids, f"p={store}"):
            assert secret not in "".join(asked)
    phone.driver.get_log("browser")


def check_is(phone, title):
    """The place's own page, with its own style and script and nothing of evil's."""
    where = phone.driver.current_url
    assert "the evil page" not in phone.driver.page_source, where
    assert phone.text(".place, .top h1") == title, where
    assert phone.run("return window.evil || null") is None
    assert phone.run("return getComputedStyle(document.body).getPropertyValue('--evil')") == ""
    assert phone.find("main").is_displayed()


def test_evil_shows_nothing_at_b(phone, make_place, door):
    """Evil's pages are in the phone's cache for a year. Who comes to B by the code on its poster, and goes
    on by its links and forms, sees B's."""
    place, _ = visit_a(phone, make_place, door)
    statics = re.findall(r'"(/s/\w+/[\w.]+)"', phone.driver.page_source)
    assert len(statics) >= 2
    place.stop()
    links = "".join(f'<link rel="stylesheet" href="{one}">' if one.endswith(".css") else
                    f'<script src="{one}"></script>' for one in statics if not one.endswith(".svg"))
    with evil_at(door, links):
        for path in ("/", "/?t=jazz", "/?o=near", "/?l=de", "/about", "/poster", "/favicon.svg",
                     "/leave", "/?after", "/events"):
            phone.driver.get(place.url(path))
            assert "the evil page" in phone.driver.page_source
    phone.driver.get_log("browser")

    # One message more than on a page: there the order can be chosen.
    b = make_place("title = Place B\nwifi_ssid = Guests\nper_page = 1\n", door=door)
    b.leave("an older one at B", source="127.0.0.8")
    b.leave("of somebody at B", source="127.0.0.9", t="jazz")
    phone.place = b
    phone.driver.get(b.url(f"/?p={b.digits}"))  # as the code on the poster: test_names.py reads it
    check_is(phone, "Place B")
    assert phone.messages == ["of somebody at B"]
    for link in ("=Nearest", "=Newest", "=Deutsch", "=English", "=Who can read what", ".place", "=Poster",
                 ".place"):
        phone.follow(link)
        check_is(phone, "Place B")
    phone.tap("=Choose a topic")
    phone.fill("#topic", "jazz")
    phone.follow("=Show")
    check_is(phone, "Place B")
    assert phone.messages == ["of somebody at B"]
    phone.leave("now at B")
    check_is(phone, "Place B")
    assert phone.has("#messages .badge.mine")
    phone.follow("#messages a")
    check_is(phone, "Place B")
    phone.follow("=Back to the messages")
    check_is(phone, "Place B")
    phone.driver.get_log("browser")  # evil's icon, if anything


def connections(port):
    """How many connections to a port of 127.0.0.1 are open."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        return sum(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "01"
                   for line in list(file)[1:])


def test_evil_cannot_change_what_a_shows(phone, make_place, door):
    """Evil knows the addresses of A's style and script, and what A keeps in the tab. The phone comes back to
    A: neither runs, and nothing is hidden for long."""
    place, _ = visit_a(phone, make_place, door)
    store = phone.find("body").get_attribute("data-store")
    statics = re.findall(r'"(/s/\w+/[\w.]+)"', phone.driver.page_source)
    links = "".join(f'<link rel="stylesheet" href="{one}">' if one.endswith(".css") else
                    f'<script src="{one}"></script>' for one in statics if not one.endswith(".svg"))
    phone.driver.get("about:blank")
    wire.wait_until(lambda: connections(place.port) == 0, "the phone has hung up")
    place.process.send_signal(signal.SIGSTOP)  # A goes on afterwards with the same addresses
    try:
        with evil_at(door, links):
            phone.driver.get(place.url("/?evil"))
            phone.until(lambda: phone.run("return window.found"), "evil's script")
            phone.driver.execute_async_script("const [done] = arguments; fetch('/?').then(done)")
    finally:
        place.process.send_signal(signal.SIGCONT)
    phone.go("/?p=" + store)
    place.leave("news of A", source="127.0.0.9")
    phone.until(lambda: phone.has("#new"), "the button")
    phone.tap("#new")
    phone.until(lambda: phone.messages[:1] == ["news of A"], "A's list, and not what evil had the phone keep")
    phone.go("/?again")
    check_is(phone, "Place A")
    assert phone.messages == ["news of A", "secret of A", "of somebody at A"]
    phone.driver.get_log("browser")  # says that evil's files have another hash


def test_a_phone_that_roams_keeps_its_text(phone, make_place, door):
    a = make_place("title = Place A\n", door=door)
    a.leave("of A", source="127.0.0.9")
    phone.open(a)
    phone.fill("#text", "typed on the way")
    phone.unfold("#leave details")
    phone.fill("#t", "jazz")
    a.stop()
    b = make_place("title = Place B\n", door=door)
    phone.follow("form#leave button")
    assert "You have moved to another access point. Send again?" in phone.text("main")
    assert phone.find("#text").get_attribute("value") == "typed on the way"
    assert phone.find("#t").get_attribute("value") == "jazz"
    assert b.get().text.count("typed on the way") == 0
    phone.follow("form#leave button")
    phone.wait_left()
    check_is(phone, "Place B")
    assert phone.messages == ["typed on the way"]


def test_an_open_page_follows_the_phone(phone, make_place, door):
    """The stream of events ends with A. The list becomes B's, and B's news come."""
    a = make_place("title = Place A\n", door=door)
    a.leave("of A", source="127.0.0.9")
    phone.open(a)
    a.leave("news of A", source="127.0.0.9")
    phone.until(lambda: phone.has("#new"), "A's news")
    a.stop()
    b = make_place("title = Place B\n", door=door)
    b.leave("of B", source="127.0.0.9")
    phone.until(lambda: phone.messages == ["of B"], "B's list")
    b.leave("news of B", source="127.0.0.9")
    phone.until(lambda: phone.has("#new"), "the button")
    phone.find("#new").click()
    phone.until(lambda: phone.messages == ["news of B", "of B"], "B's news")


def test_pages_leave_nothing_in_the_browser(phone, make_place, door):
    """After every task: no cookie, no storage that lasts, and in the tab's storage one key, of ids."""
    visit_a(phone, make_place, door)
    state = phone.run("""
      return {cookie: document.cookie, local: Object.keys(localStorage),
              session: Object.keys(sessionStorage)};""")
    assert state["cookie"] == "" and state["local"] == []
    assert state["session"] == ["hearsay"]
    assert phone.driver.execute_async_script(
        "indexedDB.databases().then((all) => arguments[0](all.length))") == 0
    assert phone.cdp("Network.getAllCookies")["cookies"] == []


