# SPDX-License-Identifier: Apache-2.0
"""The moderators' page: hearsay-web --moderate in front of a real hearsayd, by raw HTTP."""

import contextlib
import grp
import html
import http.client
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

import pytest

import conftest
import hearsay_wire as wire
import web_runner
from hearsay_wire import pb
from test_gateway import GATEWAY, acting_as, open_folder  # noqa: F401 (a fixture)
from test_moderation import From, daemon_with, leave
from test_service import LAUNCHER, needs_systemd
from web_runner import USER

PASSWORD = "correct horse"
# The page does not serve as root. Its user administers hearsayd by this group.
GROUP = f"admin_group = {grp.getgrgid(GATEWAY.pw_gid).gr_name}\n" if os.geteuid() == 0 else ""
FORM = "application/x-www-form-urlencoded"


def run_web(*words, **options):
    return subprocess.run([conftest.program(web_runner.HEARSAY_WEB), *map(str, words)],
                          capture_output=True, text=True, timeout=wire.PATIENCE, check=False,
                          **options)


def set_password(file, password=PASSWORD):
    return run_web("--set-password", "--config", file, input=password + "\n")


@pytest.fixture
def conf(open_folder):  # noqa: F811
    """A factory of files of the moderators' page, whose user may read them. The guests' file is not this
    machine's."""
    folder = pathlib.Path(open_folder)
    guests = folder / "web.conf"
    guests.write_text("[web]\nlisten = 192.0.2.1:80\n")

    def make(lines="", has_password=True):
        file = folder / "moderate.conf"
        file.write_text(f"[moderate]\nguests = {guests}\n{USER}{lines}")
        os.chmod(file, 0o644)
        if has_password:
            done = set_password(file)
            assert done.returncode == 0, done.stderr
        return file

    return make


class Desk(web_runner.Web):
    """A hearsay-web --moderate that runs."""

    def __init__(self, file, *words):  # pylint: disable=super-init-not-called
        self.file, self.token = file, None
        self.command = [conftest.program(web_runner.HEARSAY_WEB), "--moderate", "--config", str(file), *words]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True)
        self.lines, self.changed, self.port = [], threading.Condition(), None
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        self.port = int(self.wait_log(r"listening on 127\.0\.0\.1:(\d+)").group(1))
        self.wait_log("ready: hearsay-web")

    def request(self, method, path, body=None, source="127.0.0.1", host=None, **headers):
        answer = super().request(method, path, body, source, host or f"127.0.0.1:{self.port}", **headers)
        assert "Set-Cookie" not in answer.headers, "a browser sends a cookie to each port of the name"
        return answer

    def path(self, view=""):
        """The address of a page of the login."""
        return f"/{self.token}/{view}"

    def send(self, source="127.0.0.1", token=None, **fields):
        """Sends a form, at the address of the login where there is one."""
        token = self.token if token is None else token
        return self.post(f"/{token}/act" if token else "/act", fields, source=source,
                         origin=f"http://127.0.0.1:{self.port}")

    def look(self, source="127.0.0.1", view="", **fields):
        """Asks for a page of the login."""
        return self.get(self.path(view) + "?" + urllib.parse.urlencode(fields), source=source)

    def press(self, source="127.0.0.1", **fields):
        """Sends a form, and goes where the answer leads."""
        answer = self.send(source, **fields)
        return self.follow(answer, source) if answer.status == 303 else answer

    def follow(self, answer, source="127.0.0.1"):
        assert answer.status == 303 and answer.text == "", answer.text
        return self.get(answer.headers["Location"], source=source)

    def ticket(self):
        """Of a new form for the password."""
        return re.search(r'name="t" value="([0-9a-f]{64})"', self.get().text).group(1)

    def log_in(self, password=PASSWORD, **fields):
        if "t" not in fields:
            fields["t"] = self.ticket()
        source = fields.pop("source", "127.0.0.1")
        answer = self.send(source, token="", password=password, **fields)
        if answer.status == 303:
            self.token = re.match(r"/([0-9a-f]{64})/", answer.headers["Location"]).group(1)
            return self.follow(answer, source)
        return answer


def scripts(text):
    """How many scripts a page has. One is the page's own, which the browser compares with its hash."""
    assert re.search(r'<script src="/moderate.js" defer integrity="sha384-[\w+/=]+"></script>', text)
    return text.count("<script")


@pytest.fixture
def make_desk(make_daemon, conf):
    """A factory of pages with their daemon."""
    made = []

    def make(config="", lines="", **options):
        daemon = daemon_with(make_daemon, GROUP + config, **options)
        os.chmod(os.path.dirname(daemon.socket_path), 0o755)
        desk = Desk(conf(f"listen = 127.0.0.1:0\nserver = {daemon.socket_path}\n{lines}"))
        desk.daemon = daemon
        made.append(desk)
        return desk

    yield make
    for desk in made:
        desk.stop()


def leave_text(desk, rng, text):
    with desk.daemon.client() as client:
        return leave(client, rng, payload=text.encode(), media_type="text/plain; charset=utf-8").id


def report(desk, message, *kinds, **fields):
    for number, kind in enumerate(kinds):
        From(desk.daemon).report(number + 1, message, kind=kind, **fields)


# --- who is let in --------------------------------------------------------------------------------


def test_a_guest_gets_no_byte(make_desk):
    """Whoever is not allowed is cut off at once, whatever they send; the others are served."""
    desk = make_desk(lines="allow = 127.0.0.1\nallow = 127.9.0.0/16\n")
    for source in ("127.0.0.2", "127.8.0.1", "127.10.0.1"):
        with socket.create_connection(("127.0.0.1", desk.port), wire.PATIENCE, (source, 0)) as guest:
            got = b""
            try:
                guest.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                got = guest.recv(1)
            except ConnectionError:
                pass
            assert got == b"", source
    for source in ("127.0.0.1", "127.9.200.1"):
        assert desk.get(source=source).status == 200, source


def test_other_names_are_refused(make_desk):
    desk = make_desk(lines="name = moderate.lan\n")
    assert desk.get(host="evil.example").status == 421
    assert desk.get(host=f"127.0.0.1:{desk.port + 1}").status == 421
    assert desk.get(host=f"moderate.lan:{desk.port}").status == 200


def test_the_password(make_desk):
    """Five wrong ones a minute, three of one address, while an address without one always has a try."""
    desk = make_desk()
    assert 'type="password"' in desk.get().text
    page = desk.log_in()
    assert page.status == 200 and "Nothing to decide" in page.text
    assert "Set-Cookie" not in page.headers and page.headers["Cache-Control"] == "no-store"
    assert desk.token not in re.sub(r'(?:action|href)="/[0-9a-f]{64}/', "", page.text)
    assert scripts(page.text) == 1
    for number in range(3):
        assert desk.log_in(f"wrong {number}").status == 403
    refused = desk.log_in()
    assert refused.status == 429 and 0 < int(refused.headers["Retry-After"]) <= 61
    desk.wait_log("too many wrong passwords at the moderators' page")
    token = desk.token
    assert desk.log_in(source="127.0.0.2").status == 200, "others are not locked out"
    for number in range(2):
        assert desk.log_in(f"wrong {number}", source="127.0.0.2").status == 403
    assert desk.log_in(source="127.0.0.2").status == 429, "five of all together"
    assert desk.log_in(source="127.0.0.3").status == 200, "two addresses keep nobody else out"
    assert not any("127.0.0" in line for line in desk.lines if "wrong passwords" in line)
    desk.token = token
    assert desk.look().status == 200, "who is logged in stays so"
    left = desk.press(do="leave")
    assert "logged out" in left.text and desk.token not in left.text
    assert desk.look().status == 403


def test_a_login_is_an_address(make_desk):
    """Of one device, and nothing on its pages tells it to others."""
    desk = make_desk()
    answer = desk.send(token="", password=PASSWORD, t=desk.ticket())
    assert answer.status == 303 and re.fullmatch(r"/[0-9a-f]{64}/\?n=0", answer.headers["Location"])
    desk.token = answer.headers["Location"][1:65]
    pages = [answer, desk.look(), desk.get(), desk.send(do="accept", mode="auto"), desk.look(source="127.0.0.2")]
    for page in pages:
        assert page.headers["Cache-Control"] == "no-store" and page.headers["Referrer-Policy"] == "strict-origin"
    assert [page.status for page in pages] == [303, 200, 200, 303, 403]
    assert 'type="password"' in pages[4].text and desk.token not in pages[4].text
    assert "Nothing to decide" in desk.look().text, "the other device has ended nothing"
    elsewhere = re.findall(r'(?:href|src|action)="(?!/)[^"]*', pages[1].text)
    assert not elsewhere, "no link leads out of the page"
    for path in (desk.path()[:-1], desk.path()[:-2] + "/", desk.path() + "x", "/" + "g" * 64 + "/"):
        assert desk.get(path).status in (403, 404) and "Nothing to decide" not in desk.get(path).text
    second = desk.token
    desk.log_in()
    desk.press(do="leave")
    assert desk.look().status == 403
    desk.token = second
    assert desk.look().status == 200, "only one login has ended"


def test_a_reload_says_it_again(make_desk):
    """What was done is said on the page behind it, also when that is loaded again, and on no other one."""
    desk = make_desk()
    desk.log_in()
    where = desk.send(do="accept", mode="review").headers["Location"]
    for _ in range(2):
        assert '<div class="notice" role="status"><p>Done.' in desk.get(where).text
    assert 'role="status"' not in desk.look().text
    other = desk.send(do="accept", mode="open").headers["Location"]
    assert other != where and 'role="status"' not in desk.get(where).text


def test_a_new_password_ends_all_logins(make_desk):
    """Without a restart; a file that is not right changes nothing."""
    desk = make_desk()
    desk.log_in()
    assert set_password(desk.file, "battery staple").returncode == 0
    assert desk.look().status == 403
    desk.wait_log("new password; all logins have ended")
    assert desk.log_in().status == 403, "the old one"
    assert desk.log_in("battery staple").status == 200
    right = desk.file.read_text()
    desk.file.write_text(right + "oops\n")
    assert desk.look().status == 200
    desk.wait_log("the password of before holds: .*neither `key = value`")
    desk.file.write_text(right)
    assert desk.look().status == 200 and desk.log_in("battery staple").status == 200


def test_passwords_are_checked_one_by_one(make_desk):
    """Or many that come at once would all be checked before the first one counts as wrong."""
    desk = make_desk()
    statuses, ticket = [], desk.ticket()
    phones = [threading.Thread(target=lambda: statuses.append(desk.log_in("a wrong one", t=ticket).status))
              for _ in range(7)]  # an address has 8 connections, and that of the ticket may still be open
    for phone in phones:
        phone.start()
    for phone in phones:
        phone.join(wire.PATIENCE)
    assert statuses.count(403) in range(1, 4) and statuses.count(429) == 7 - statuses.count(403)


def test_who_had_wrong_passwords_gives_way(make_desk):
    """While one password is checked, one waits: that of a client without a wrong one goes before."""
    desk = make_desk()
    guessers = ("127.0.0.2", "127.0.0.3")
    for source in guessers:
        assert desk.log_in("wrong", source=source).status == 403
    tickets, sent = [desk.ticket() for _ in range(3)], []
    for source, password, ticket in zip((*guessers, "127.0.0.4"), ("wrong", "wrong", PASSWORD), tickets):
        one = http.client.HTTPConnection("127.0.0.1", desk.port, timeout=wire.PATIENCE,
                                         source_address=(source, 0))
        address = f"127.0.0.1:{desk.port}"
        one.request("POST", "/act", urllib.parse.urlencode({"t": ticket, "password": password}),
                    {"Host": address, "Origin": f"http://{address}",
                     "Content-Type": FORM})
        sent.append(one)
    statuses = [one.getresponse().status for one in sent]
    assert statuses == [403, 429, 303], statuses
    for one in sent:
        one.close()


def test_begun_bodies_keep_nobody_out(make_desk):
    """128 connections of 16 addresses that begin a form and never end it."""
    desk = make_desk()
    head = (f"POST /act HTTP/1.1\r\nHost: 127.0.0.1:{desk.port}\r\nContent-Length: 10\r\n"
            f"Content-Type: {FORM}\r\n\r\na")
    with contextlib.ExitStack() as stack:
        for number in range(128):
            made = stack.enter_context(desk.connection(f"127.0.1.{number // 8 + 1}"))
            with contextlib.suppress(ConnectionError):  # it may be the one that gives way
                made.sendall(head.encode())
        assert desk.log_in(source="127.0.0.9").status == 200
        assert desk.look(source="127.0.0.9").status == 200


def test_a_double_tap_logs_in(make_desk):
    """The second one waits for the check of the first one, and not for hearsayd."""
    desk = make_desk()
    answers = []
    os.kill(desk.daemon.process.pid, signal.SIGSTOP)
    try:
        phones = [threading.Thread(target=lambda: answers.append(desk.log_in())) for _ in range(2)]
        for phone in phones:
            phone.start()
    finally:
        os.kill(desk.daemon.process.pid, signal.SIGCONT)
    for phone in phones:
        phone.join(wire.PATIENCE)
    assert [answer.status for answer in answers] == [200, 200]


def test_a_login_while_hearsayd_is_slow(make_desk):
    """hearsayd answers nothing, and the second password is checked all the same."""
    desk = make_desk()
    os.kill(desk.daemon.process.pid, signal.SIGSTOP)
    try:
        first = threading.Thread(target=desk.log_in)
        first.start()
        for number in range(2):
            assert desk.log_in(f"wrong {number}").status == 403
        first.join(wire.PATIENCE)
    finally:
        os.kill(desk.daemon.process.pid, signal.SIGCONT)


def limit_memory(desk, soft):
    """Asks as the page's own user, because root may have no right to limit another user's process."""
    own = {"user": GATEWAY.pw_uid, "group": GATEWAY.pw_gid} if os.geteuid() == 0 else {}
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]  # the page has the same
    subprocess.run([sys.executable, "-c", "import resource, sys; pid, *limit = map(int, sys.argv[1:]); "
                    "resource.prlimit(pid, resource.RLIMIT_AS, limit)",
                    str(desk.process.pid), str(soft), str(hard)], check=True, cwd="/", **own)


def test_no_memory_is_no_wrong_password(make_desk):
    """Argon2 needs 16 MiB: without them the answer says so, and no try is used up."""
    desk = make_desk()
    assert desk.log_in("wrong").status == 403  # all threads are there
    pid = desk.process.pid
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    limit_memory(desk, used + (8 << 20))
    for _ in range(4):
        short = desk.log_in()
        assert short.status == 503 and "Out of memory" in short.text
    limit_memory(desk, resource.getrlimit(resource.RLIMIT_AS)[0])
    assert desk.log_in().status == 200


def test_forms_of_others_do_nothing(make_desk, rng):
    """Nor do they wait for the login, of which a page of others could make a moderator do what it says. Such
    a page may hide its origin, as in a frame that is a sandbox."""
    desk = make_desk()
    message = leave_text(desk, rng, "rude").hex()
    desk.log_in()
    fields = {"do": "remove", "id": message}
    for origin in ("http://evil.example", "null"):
        for path in (desk.path("act"), "/act", "/" + "0" * 64 + "/act"):
            refused = desk.post(path, {"t": desk.ticket(), **fields}, origin=origin)
            assert refused.status == 400 and message not in refused.text, (origin, path)
    assert desk.send(token="0" * 64, **fields).status == 403
    assert desk.send(token="short", **fields).status == 404
    assert desk.send(token="", **fields).status == 200, "it asks for the password"
    assert desk.look(**fields).status == 200, "an address does nothing"
    with desk.daemon.client() as client:
        assert client.call(pb.Get(id=bytes.fromhex(message))).payload == b"rude"


def test_an_act_waits_for_the_login(make_desk, rng):
    """A page from before a restart: what was pressed is done after the login."""
    desk = make_desk()
    message = leave_text(desk, rng, "rude")
    desk.log_in()
    desk.stop()
    desk.start()
    asked = desk.press(do="remove", id=message.hex(), why="spam", reason='"quoted" <b>')
    assert asked.status == 403 and "you pressed" in asked.text
    spoken = desk.press(token="", l="de", do="remove", id=message.hex(), why="spam", reason="a", ban="1").text
    assert "was du gedrückt hast" in spoken
    for name in ("do", "id", "why", "reason", "ban"):
        assert spoken.count(f'name="{name}"') == 2, "in the form of the languages, too"
    kept = {name: value.replace("&#34;", '"').replace("&lt;", "<").replace("&gt;", ">")
            for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', asked.text)}
    ticket = kept.pop("t")
    assert kept == {"do": "remove", "id": message.hex(), "why": "spam", "reason": '"quoted" <b>'}
    answer = desk.log_in(t=ticket, **kept)
    assert answer.status == 200 and "Removed" in answer.text
    with desk.daemon.client() as client:
        assert client.refused(pb.Get(id=message)).code == "REMOVED"


def test_a_reload_does_nothing(make_desk, rng):
    """Who goes back behind "Log out" and reloads sends the password and its act once more."""
    desk = make_desk()
    message = leave_text(desk, rng, "rude")
    fields = {"do": "remove", "id": message.hex(), "t": desk.ticket()}
    assert desk.log_in("wrong", **fields).status == 403
    assert "Removed" in desk.log_in(**fields).text, "a wrong password uses up no ticket"
    assert "It is shown" in desk.press(do="show", id=message.hex()).text
    desk.press(do="leave")
    again = desk.log_in(**fields)
    assert again.status == 403 and 'type="password"' in again.text and desk.token not in again.text
    assert 'name="do" value="remove"' not in again.text, "it was done"
    for ticket in ("", "0" * 64, "x"):
        assert desk.log_in(t=ticket).status == 403
    with desk.daemon.client() as client:
        assert client.call(pb.Get(id=message)).payload == b"rude"


# --- deciding -------------------------------------------------------------------------------------


def test_what_was_reported(make_desk, rng):
    """Worst first, with its text, its kinds and reasons; all of it text, whatever it is."""
    desk = make_desk()
    mild, rude, picture = (leave_text(desk, rng, text)
                           for text in ("mild", "<script>alert(1)</script> rude\nline", "other"))
    report(desk, mild, "SPAM")
    report(desk, rude, "SPAM", "HARASSMENT", "HARASSMENT", reason="<b>because</b>")
    page = desk.log_in()
    assert "2 messages were reported" in page.text
    assert page.text.index("rude") < page.text.index("mild")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; rude" in page.text and scripts(page.text) == 1
    assert "2 × It attacks somebody" in page.text and "1 × It is advertising" in page.text
    assert "&lt;b&gt;because&lt;/b&gt;" in page.text and "3 reports" in page.text
    assert re.search(r'<option value="harassment" selected>', page.text)
    decided, everything = page.text.split('<section id="all">')
    assert picture.hex() not in decided and picture.hex() in everything
    assert "2 Nachrichten wurden gemeldet" in desk.look(l="de").text
    assert 'dir="rtl"' in desk.look(l="ar").text


def test_the_board(make_desk, rng):
    desk = make_desk()
    desk.log_in()
    assert "each waits until you show it" in desk.press(do="accept", mode="review").text
    message = leave_text(desk, rng, "held back")
    page = desk.look().text
    assert "1 message waits for you" in page and "held back" in page
    assert "It is shown" in desk.press(do="show", id=message.hex()).text
    with desk.daemon.client() as client:
        assert client.call(pb.Get(id=message)).payload == b"held back"
    assert "none are taken" in desk.press(do="accept", mode="closed").text
    assert 'value="auto" aria-current="true"' in desk.press(do="accept", mode="auto").text
    assert "did not accept" in desk.press(do="accept", mode="ajar").text


def test_a_ban(make_desk, rng):
    desk = make_desk()
    message = leave_text(desk, rng, "buy this")
    report(desk, message, "SPAM")
    desk.log_in()
    assert "Removed" in desk.press(do="remove", id=message.hex(), ban="1").text
    with desk.daemon.client() as client:
        again = wire.deposit_of(rng, ["topic:moderation"], payload=b"buy this")
        assert client.refused(again).code == "FORBIDDEN"


def test_hidden_and_shown_again(make_desk, rng):
    """Over restarts of both programs; each decision is listed as one of the page, with its reason."""
    desk = make_desk()
    message = leave_text(desk, rng, "a rude word")
    report(desk, message, "HARASSMENT", "SPAM", "SPAM")
    desk.log_in()
    page = desk.press(do="hide", id=message.hex(), why="spam", reason="again and again")
    assert "Hidden." in page.text and "1 message that you took away" in page.text
    with desk.daemon.client() as client:
        assert client.refused(pb.Get(id=message)).code == "NOT_FOUND"
    desk.stop()
    desk.daemon.restart()
    desk.start()
    page = desk.log_in()
    assert "1 message that you took away" in page.text and "a rude word" in page.text
    assert "were reported" not in page.text
    removed = desk.press(do="remove", id=message.hex(), why="other").text
    assert "It is destroyed in" in removed and "removed, destroyed in" in removed
    assert 'value="remove"' not in removed, "it is removed already"
    assert "It is shown." in desk.press(do="show", id=message.hex()).text
    with desk.daemon.client() as client:
        assert client.call(pb.Get(id=message)).payload == b"a rude word"
    with desk.daemon.administrator() as operator:
        listed = [(one.act, one.kind, one.reason, one.web, one.reports)
                  for one in operator.call(pb.Decisions()).decisions]
    kind = pb.Hide(kind="SPAM").kind, pb.Hide(kind="OTHER_KIND").kind
    assert listed == [("hide", kind[0], "again and again", True, 3), ("remove", kind[1], "", True, 3),
                      ("restore", 0, "", True, 3)]


def test_a_ban_stays(make_desk, rng):
    """Whoever shows a message that was removed with a ban is told that the ban stays."""
    desk = make_desk()
    message = leave_text(desk, rng, "buy this")
    desk.log_in()
    desk.press(do="remove", id=message.hex(), ban="1")
    assert "still refused" in desk.press(do="show", id=message.hex()).text


def all_of(page):
    """The ids of the list of all messages, in order; a page without messages has no such list."""
    return re.findall(r'<li id="m-(\w{32})"', page)


def test_pages_of_what_was_reported(make_desk, rng):
    """More than 50 reported messages have a next page, so that none is out of reach."""
    desk = make_desk()
    left = {leave_text(desk, rng, f"message {number}.").hex() for number in range(53)}
    for message in sorted(left):
        report(desk, bytes.fromhex(message), pb.SPAM)
    reported = r'<section id="list-0">.*?</section>'
    first = re.search(reported, desk.log_in().text, re.DOTALL).group(0)
    assert "53 messages were reported" in first and "3 more follow." in first
    shown = set(re.findall(r'name="id" value="(\w{32})"', first))
    place = re.search(r'name="q" value="(\w+)".*?>Next</button>', first, re.DOTALL).group(1)
    second = re.search(reported, desk.look(q=place).text, re.DOTALL).group(0)
    rest = set(re.findall(r'name="id" value="(\w{32})"', second))
    assert len(shown) == 50 and shown | rest == left and not shown & rest
    assert "Next" not in second and "follow" not in second
    for gone in ("0zz", "0", "0" + "00" * 32, "5" + place[1:]):
        assert desk.look(q=gone).text.count("message 1") >= 1, "the first page instead"


def turns_of(page):
    """Where "Newer" and "Older" lead."""
    forms = re.findall(r'action="/\w+/#all".*?name="p" value="(\w+)".*?>(Newer|Older)</button>', page, re.DOTALL)
    return {name: value for value, name in forms}


def test_all_messages(make_desk, rng):
    """What nobody has reported can be hidden, too, and the page stays where it was."""
    desk = make_desk()
    assert 'id="all"' not in desk.log_in().text
    texts = [f"message {number}." for number in range(45)]
    left = [leave_text(desk, rng, text).hex() for text in texts][::-1]
    first = desk.look().text
    assert "Nothing to decide." in first and "All messages" in first
    assert all_of(first) == left[:20] and "message 44." in first
    assert list(turns_of(first)) == ["Older"]
    second = desk.look(p=turns_of(first)["Older"]).text
    assert all_of(second) == left[20:40]
    late = leave_text(desk, rng, "a new one").hex()

    victim, place = left[25], turns_of(first)["Older"]
    item = re.search(rf'<li id="m-{victim}">.*?</li>', second, re.DOTALL).group(0)
    assert item.count(f'action="{desk.path("act")}#m-{victim}"') == 2 and item.count(f'name="p" value="{place}"') == 2
    hidden = desk.press(do="hide", id=victim, p=place).text
    assert all_of(hidden) == left[20:40], "the same page"
    item = re.search(rf'<li id="m-{victim}">.*?</li>', hidden, re.DOTALL).group(0)
    assert "Hidden." in item and hidden.count("Hidden.") == 1 and 'value="show"' in item
    assert 'value="hide"' not in item and "1 message that you took away" in hidden
    with desk.daemon.client() as client:
        assert client.refused(pb.Get(id=bytes.fromhex(victim))).code == "NOT_FOUND"
    removed = desk.press(do="remove", id=left[26], p=place, why="spam").text
    assert all_of(removed) == left[20:26] + left[27:41]
    spoken = desk.look(l="de", p=place).text
    assert all_of(spoken) == all_of(removed) and "Alle Nachrichten" in spoken, "in another language, too"
    shown = desk.press(do="show", id=victim, p=place).text
    assert all_of(shown) == left[20:25] + left[27:42], "what is shown again counts as new"
    assert re.search(rf'<div id="m-{victim}">\s*<div class="notice" role="status"><p>It is shown', shown)

    third = desk.look(p=turns_of(shown)["Older"]).text
    assert all_of(third) == left[42:] and list(turns_of(third)) == ["Newer"]
    back = desk.look(p=turns_of(third)["Newer"]).text
    assert all_of(back) == all_of(shown)
    top = desk.look(p=turns_of(back)["Newer"]).text
    top = desk.look(p=turns_of(top)["Newer"]).text
    assert all_of(top) == [victim, late, *left[:18]] and "Newer" not in turns_of(top)


def test_pages_that_have_gone(make_desk, rng):
    """A page without messages, or with a cursor of nobody, is the first one."""
    desk = make_desk("[host default]\nremove_after = 0\n")
    left = [leave_text(desk, rng, f"message {number}.").hex() for number in range(22)][::-1]
    older = turns_of(desk.log_in().text)["Older"]
    for page in ("newest", "zz", "6f", "00" * 9, "00" * 33, "6f" * 400, '"><b>', older + "0", "6fffffffffffffffff"):
        answer = desk.look(p=page).text
        assert all_of(answer) == left[:20] and "<b>" not in answer, page
    one = desk.press(do="remove", id=left[21], p=older).text
    assert all_of(one) == [left[20]]
    none = desk.press(do="remove", id=left[20], p=older).text
    assert all_of(none) == left[:20] and "Removed for good." in none
    gone = desk.press(do="hide", id=left[20], p=older).text
    assert all_of(gone) == left[:20] and gone.count("not there any more") == 1
    for message in left[:20]:
        last = desk.press(do="remove", id=message, p="newest").text
    assert all_of(last) == [] and "Removed for good." in last and "Nothing to decide." in last


def test_a_page_waits_for_the_login(make_desk, rng):
    """What was pressed in the list of all messages is done after the login, and answered there."""
    desk = make_desk()
    message = leave_text(desk, rng, "rude").hex()
    desk.log_in()
    desk.stop()
    desk.start()
    asked = desk.press(do="hide", id=message, p="newest").text
    assert f'action="/act#m-{message}" class="card"' in asked and asked.count('name="p" value="newest"') == 2
    done = desk.log_in(do="hide", id=message, p="newest").text
    assert re.search(rf'<li id="m-{message}">\s*<div class="notice" role="status"><p>Hidden', done)


def test_long_texts_have_fewer_on_a_page(make_desk, rng):
    """A page of the longest texts is shorter, and its buttons lead past no message."""
    desk = make_desk("[limits]\nframe = 256K\npayload = 16K\n")
    left = [leave_text(desk, rng, '"' * 16000).hex() for number in range(30)][::-1]
    page, seen = desk.log_in().text, []
    assert 0 < len(all_of(page)) < 16, "as many as one answer of hearsayd would have"
    while "Older" in turns_of(page):
        seen += all_of(page)
        page = desk.look(p=turns_of(page)["Older"]).text
    assert seen + all_of(page) == left


def test_two_phones_at_once(make_desk, rng):
    """Each gets a clear answer, and the message is what the last answer says."""
    desk = make_desk()
    message = leave_text(desk, rng, "a rude word")
    desk.log_in()
    tokens, answers = [desk.token], {}
    desk.log_in()
    tokens.append(desk.token)
    desk.press(do="hide", id=message.hex())

    def decide(phone, act):
        sent = desk.send(token=tokens[phone], do=act, id=message.hex())
        answers[phone] = desk.follow(sent)

    for acts in (("show", "show"), ("hide", "show"), ("remove", "hide"), ("show", "remove")):
        phones = [threading.Thread(target=decide, args=one) for one in enumerate(acts)]
        for phone in phones:
            phone.start()
        for phone in phones:
            phone.join(wire.PATIENCE)
        for phone in range(2):
            assert answers[phone].status == 200
            assert re.search("Hidden.|It is shown|Removed|Somebody was faster|not there any more",
                             answers[phone].text), answers[phone].text


def test_wrong_ids_and_acts(make_desk):
    desk = make_desk()
    desk.log_in()
    assert "not there any more" in desk.press(do="show", id="0" * 32).text
    for fields in ({"do": "show", "id": "zz"}, {"do": "show"}, {"do": "burn", "id": "0" * 32},
                   {"do": "accept"}):
        assert desk.press(**fields).status == 200
    assert "too much text" in desk.press(do="remove", id="0" * 32, reason="x" * 201).text
    assert desk.post(desk.path("act"), {}, Content_Type="text/plain", origin=None).status == 303
    assert desk.request("POST", desk.path("act"), "%zz").status == 400
    assert desk.get(desk.path("nothing")).status == 404
    assert desk.get("/m/" + "0" * 32).status == 404


def test_hearsayd_goes_and_comes(make_desk, rng):
    desk = make_desk()
    desk.log_in()
    desk.daemon.stop()
    away = desk.look()
    assert away.status == 200 and "does not answer right now" in away.text
    desk.daemon.restart()
    assert "Nothing to decide" in desk.look().text


# --- notices, bans, decisions, kinds --------------------------------------------------------------


def test_notices(make_desk):
    """Put up, listed with the end, taken down; one that is refused stays in its field."""
    desk = make_desk()
    desk.log_in()
    assert "There is nothing here." in desk.look(view="notices").text
    page = desk.press(v="notices", do="notice", text="The bar <closes> at one.", until="10800", lang="en")
    assert "It is up." in page.text and "The bar &lt;closes&gt; at one." in page.text
    assert "gone in " in page.text and "<bdi>en</bdi>" in page.text
    assert "It is up." in desk.press(v="notices", do="notice", text="No end").text
    with desk.daemon.administrator() as operator:
        notices = operator.call(pb.Notice()).notices
    assert [(one.text, one.lang, one.until_ms > 0) for one in notices] == [
        ("The bar <closes> at one.", "en", True), ("No end", "", False)]
    long = "x" * 501
    refused = desk.press(v="notices", do="notice", text=long).text
    assert "too much text" in refused and f'value="{long}"' in refused
    assert long in desk.look(view="notices").text, "until one is put up"
    for number in range(3):
        desk.press(v="notices", do="notice", text=f"one more, {number}")
    full = desk.press(v="notices", do="notice", text="the sixth").text
    assert "five notices are up" in full and 'value="the sixth"' in full
    numbers = re.findall(r'name="number" value="(\d)"', full)
    assert len(numbers) == 5
    page = desk.press(v="notices", do="unnotice", number=numbers[0]).text
    assert "It is taken down." in page and "The bar" not in page and 'value="the sixth"' in page
    page = desk.press(v="notices", do="notice", text="the sixth").text
    assert "It is up." in page and 'value="the sixth"' not in page
    for fields in ({"do": "notice"}, {"do": "unnotice"}, {"do": "unnotice", "number": "x"}):
        assert desk.press(v="notices", **fields).status == 200


def test_bans(make_desk, rng):
    """Listed, in pages, and lifted: the same text is taken again."""
    desk = make_desk()
    message = leave_text(desk, rng, "buy this")
    desk.log_in()
    desk.press(do="remove", id=message.hex(), ban="1")
    page = desk.look(view="bans").text
    assert "A text" in page
    what = re.search(r'name="what" value="(t[0-9a-f]{64})"', page).group(1)
    with desk.daemon.administrator() as operator:
        for number in range(60):
            operator.call(pb.Ban(payload_hash=bytes([number]) * 32))
        operator.call(pb.Ban(filter=wire.deposit_of(rng, ["topic:spam"]).filter))
    first = desk.look(view="bans").text
    place = re.search(r'name="p" value="(\d+)".*?>Next</button>', first, re.DOTALL).group(1)
    second = desk.look(view="bans", p=place).text
    shown = re.findall(r'name="what" value="(\w+)"', first) + re.findall(r'name="what" value="(\w+)"', second)
    assert len(shown) == len(set(shown)) == 62 and "A context" in second and "Next" not in second
    for one in (what, next(one for one in shown if one[0] == "c")):
        assert "not refused any more" in desk.press(v="bans", do="unban", what=one).text
    with desk.daemon.client() as client:
        client.call(wire.deposit_of(rng, ["topic:moderation"], payload=b"buy this"))
    for wrong in ("", "t", "x00", "tzz", "t" + "00" * 600):
        assert desk.press(v="bans", do="unban", what=wrong).status == 200


def test_decisions(make_desk, open_folder, rng):  # noqa: F811
    """What the page, the commands and the hub did, the newest first, in pages."""
    bridge = os.path.join(open_folder, "bridge.sock")
    desk = make_desk(f"listen = {bridge} bridge\nbridge_user = {GATEWAY.pw_name}\n[host default]\nreplicate = yes\n")
    message = leave_text(desk, rng, "a rude word")
    report(desk, message, "HARASSMENT")
    desk.log_in()
    desk.press(do="hide", id=message.hex(), why="spam", reason="<again>")
    desk.press(do="accept", mode="closed")
    with desk.daemon.administrator() as operator:
        operator.call(pb.Notice(text="Hello"))
    closed = pb.Change(rule=pb.RuleState(kind=3, number=1, created_ms=int(time.time() * 1000)),
                       decision=pb.DecisionId(store_id=b"\x1a" * 16, number=1))
    with acting_as(GATEWAY.pw_uid), wire.Client(bridge) as client:
        client.call(pb.Apply(changes=[closed], **{"as": pb.AS_OPERATOR}))
    page = desk.look(view="log").text
    assert page.index("New messages: review") < page.index("from the hub, by an operator elsewhere") < \
        page.index("decided at the reader whose store is 1a1a1a1a") < page.index("Notice put up")
    assert page.index("Notice put up") < page.index("New messages: closed") < page.index("Hidden")
    assert "by a command of user" in page and "on this page" in page and message.hex() in page
    assert "&lt;again&gt;" in page and "It is advertising" in page and "1 report" in page
    for _ in range(30):
        desk.send(do="hide", id=message.hex())
        desk.send(do="show", id=message.hex())
    first = desk.look(view="log").text
    place = re.search(r'name="p" value="(\d+)".*?>Next</button>', first, re.DOTALL).group(1)
    second = desk.look(view="log", p=place).text
    assert "Notice put up" not in first and "Notice put up" in second and "Next" not in second


def test_one_kind_at_a_time(make_desk, rng):
    """And what was pressed there leads back there."""
    desk = make_desk()
    rude, other, gone = (leave_text(desk, rng, text).hex() for text in ("a rude word", "other", "gone"))
    report(desk, bytes.fromhex(rude), "SPAM")
    desk.log_in()
    desk.press(do="hide", id=gone)
    desk.press(do="accept", mode="review")
    waits = leave_text(desk, rng, "it waits").hex()
    shown = {view: set(re.findall(r'name="id" value="(\w{32})"', desk.look(view=view).text))
             for view in ("", "reported", "waiting", "withheld", "all")}
    assert shown == {"": {rude, other, gone, waits}, "reported": {rude}, "waiting": {waits},
                     "withheld": {gone}, "all": {rude, other, gone, waits}}
    page = desk.look(view="withheld").text
    assert re.search(r'href="/\w+/withheld" aria-current="page"', page) and 'name="v" value="withheld"' in page
    answer = desk.send(v="withheld", do="show", id=gone)
    assert re.match(r"/\w+/withheld\?n=", answer.headers["Location"])
    after = desk.follow(answer).text
    assert "It is shown." in after and "There is nothing here." in after


def test_places(make_desk, tmp_path, rng):
    """A notice for one place, and the messages of one, also behind what was pressed there."""
    names = ("Main stage", "Camp <1> & bar")
    (tmp_path / "places").write_text(f"10.0.0.1 = place:stage | {names[0]}\n10.0.0.2 = place:camp | {names[1]}\n")
    desk = make_desk(f"[host default]\nhere_map = {tmp_path}/places\n")
    made = [wire.deposit_of(rng, [label], payload=b"x") for label in ("place:stage", "place:camp", "place:else")]
    with desk.daemon.client() as client:
        for one in made:
            client.call(one)
    stage, camp, other = (one.id.hex() for one in made)
    page = desk.log_in().text
    assert re.findall(r'<option value="([^"]*)">', page[:page.index("<main>")]) == [
        "", "Camp &lt;1&gt; &amp; bar", "Main stage"]

    def shown(text):
        return set(re.findall(r'name="id" value="(\w{32})"', text))

    assert shown(page) == {stage, camp, other}
    for name, message in zip(names, (stage, camp)):
        for view in ("", "all"):
            page = desk.look(view=view, where=name).text
            assert shown(page) == {message}
            assert f'<option value="{html.escape(name)}" selected>' in page
    assert "&amp;where=" in page or "?where=Camp%20%3C1%3E%20%26%20bar" in page  # the links to other kinds
    assert shown(desk.look(where="nowhere").text) == {stage, camp, other}
    report(desk, bytes.fromhex(stage), "SPAM")
    assert shown(desk.look(view="reported", where=names[0]).text) == {stage}
    assert "There is nothing here." in desk.look(view="reported", where=names[1]).text
    answer = desk.send(do="hide", id=camp, p="newest", where=names[1], v="all")
    assert answer.headers["Location"].endswith("&where=Camp%20%3C1%3E%20%26%20bar")
    page = desk.follow(answer).text
    assert shown(page) == {camp} and "It is hidden" in page or "Hidden" in page
    page = desk.press(v="notices", do="notice", text="Please leave", at=names[1]).text
    assert "It is up." in page and "Only at <bdi>Camp &lt;1&gt; &amp; bar</bdi>" in page
    page = desk.press(v="notices", do="notice", text="Everywhere").text
    assert page.count("Only at") == 1
    with desk.daemon.administrator() as operator:
        assert [(one.text, one.place) for one in operator.call(pb.Notice()).notices] == [
            ("Please leave", names[1]), ("Everywhere", "")]
    refused = desk.press(v="notices", do="notice", text="x", at="Bar").text
    assert "has this name of a place" in refused and 'value="x"' in refused


def test_no_choice_without_places(make_desk):
    desk = make_desk()
    desk.log_in()
    for view in ("", "all", "notices"):
        assert "All places" not in desk.look(view=view, where="Bar").text


def test_closed_says_until_when(make_desk):
    desk = make_desk("[host default]\naccept_schedule = 00:00-12:00 review\naccept_schedule = 12:00-00:00 closed\n")
    page = desk.log_in().text
    assert re.search(r"by its hours \(accept_schedule\); they change it in <?", page)
    page = desk.press(do="accept", mode="closed").text
    assert "none are taken" in page and "has no end" in page and "As configured" in page
    assert "they change it in" in desk.press(do="accept", mode="auto").text
    assert "makes no sound when the phone is locked" in page


# --- the guests' page -----------------------------------------------------------------------------


def test_the_guests_page_cannot_moderate(make_desk, open_folder, rng):  # noqa: F811
    """Not even with the administrators' socket: it has no such path, and asks hearsayd for nothing
    that an administrator may."""
    desk = make_desk()
    message = leave_text(desk, rng, "stays")
    desk.log_in()
    file = pathlib.Path(open_folder) / "guests.conf"
    file.write_text(f"[web]\nlisten = 127.0.0.1:0\nserver = {desk.daemon.socket_path}\n{USER}")
    guests = Desk.__new__(Desk)
    guests.token = None
    guests.command = [conftest.program(web_runner.HEARSAY_WEB), "--config", str(file)]
    guests.start()
    for fields in ({"do": "remove", "id": message.hex()}, {"password": PASSWORD}):
        assert guests.post("/", fields).status == 405 and guests.press(**fields).status == 404
        guests.token = desk.token
        for path in (desk.path(), desk.path("act"), "/0/"):
            told = guests.get(path)
            assert told.status == 404 and desk.token not in told.text, "as any other address"
        guests.token = None
        for path in ("/moderate", "/admin", "/leave", "/report"):
            guests.post(path, fields)
    assert "password" not in guests.get().text
    guests.stop()
    with desk.daemon.client() as client:
        assert client.call(pb.Get(id=message)).payload == b"stays"


# --- configuration --------------------------------------------------------------------------------


@pytest.mark.parametrize("lines, sentence", [
    ("listen = 0.0.0.0:7119", "is every address"),
    ("listen = [::]:7119", "is every address"),
    ("listen = 192.0.2.1:7119", r"`listen = 192\.0\.2\.1:80` in .*web\.conf"),
    ("listen = 127.0.0.1:7119 proxied", "takes no proxy"),
    ("listen = 127.0.0.1:7119 metrics", "metrics are for the guests' page"),
    ("allow = 0.0.0.0/0", "from 1 on"),
    ("allow = 10.0.0.0/33", "how many of its bits"),
    ("allow = everybody", "how many of its bits"),
    ("password = open sesame", "not the password itself"),
    ("moderate_session = 1m", "`moderate_session` must be"),
    ("moderate_session = 8d", "`moderate_session` must be"),
    ("wifi_ssid = Guests", r"does not belong into \[moderate\] but into \[web\]"),
    ("[web]\ntitle = x", "is for the guests' page"),
])
def test_refusals_say_what_would_be_right(conf, lines, sentence):
    """By --check-config, and by a start."""
    file = conf(has_password=False)
    file.write_text(file.read_text() + lines + "\n")
    for words in (("--check-config",), ()):
        done = run_web("--moderate", "--config", file, *words)
        assert done.returncode == 2 and re.search(sentence, done.stderr), done.stderr


def test_guests_are_asked_for(conf):
    """All addresses are the guests' ones where they listen to all; a file that cannot be read is
    refused; the guests' file takes no key of moderators."""
    file = conf("listen = 198.51.100.1:7119\n")
    assert run_web("--moderate", "--config", file, "--check-config").returncode == 0
    guests = file.parent / "web.conf"
    guests.write_text("[web]\nlisten = 0.0.0.0:80\n")
    done = run_web("--moderate", "--config", file, "--check-config")
    assert done.returncode == 2 and "0.0.0.0:80" in done.stderr
    guests.write_text("[web]\nallow = 10.0.0.1\n")
    for words in (("--moderate", "--config", file), ("--config", guests)):
        done = run_web(*words, "--check-config")
        assert done.returncode == 2 and "not belong into [web] but into [moderate]" in done.stderr
    guests.unlink()
    done = run_web("--moderate", "--config", file, "--check-config")
    assert done.returncode == 2 and "`guests`" in done.stderr
    guests.write_text("[moderate]\n")
    assert "belongs into the file of hearsay-web --moderate" in run_web(
        "--config", guests, "--check-config").stderr


def test_set_password(conf):
    """The line goes into its section; the rest of the file, its mode and a link to it stay."""
    file = conf("# mine\ntitle = Café\n", has_password=False)
    before = file.read_text()
    assert "type hearsay-web --set-password" in run_web("--moderate", "--config", file).stderr
    os.chmod(file, 0o640)
    link = file.parent / "link.conf"
    link.symlink_to(file)
    for password in (PASSWORD, "another one"):
        assert set_password(link, password).returncode == 0
        lines = file.read_text().splitlines(keepends=True)
        hashed = [line for line in lines if line.startswith("password = $argon2id$v=19$m=16384,")]
        assert len(hashed) == 1 and "".join(line for line in lines if line not in hashed) == before
    assert link.is_symlink() and os.stat(file).st_mode & 0o777 == 0o640
    assert sorted(os.listdir(file.parent)) == ["link.conf", "moderate.conf", "web.conf"]
    after = file.read_text()
    for password in ("short", "x" * 129, ""):
        done = set_password(file, password)
        assert done.returncode == 2 and "8 to 128 bytes" in done.stderr
    file.write_text(after + "oops\n")
    done = set_password(file)
    assert done.returncode == 2 and "neither `key = value`" in done.stderr
    assert file.read_text() == after + "oops\n"
    done = set_password(file.parent / "none.conf")
    assert done.returncode == 2 and "none.conf" in done.stderr


def test_the_terminal_asks_twice(conf):
    """And shows nothing of it."""
    file = conf(has_password=False)
    for again, code in ((PASSWORD, 0), ("something else", 2)):
        ours, theirs = os.openpty()
        process = subprocess.Popen(
            [conftest.program(web_runner.HEARSAY_WEB), "--set-password", "--config", str(file)],
            stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        for word in (PASSWORD, again):
            while not shown.endswith(b": "):
                shown += os.read(ours, 100)
            os.write(ours, word.encode() + b"\n")
            shown += b"\n"
        assert process.wait(wire.PATIENCE) == code
        os.close(ours)
        assert PASSWORD.encode() not in shown
    assert "password = $argon2id$" in file.read_text()


def test_no_socket_of_the_service_manager(conf):
    """`listen` is checked, a socket that is handed over is not."""
    needs_systemd()
    with socket.create_server(("127.0.0.1", 0)) as door:
        number = door.fileno()
        done = subprocess.run(
            [sys.executable, "-c", LAUNCHER, str(number), conftest.program(web_runner.HEARSAY_WEB),
             "--moderate", "--config", str(conf())],
            capture_output=True, text=True, pass_fds=[number], timeout=wire.PATIENCE, check=False)
    assert done.returncode == 1 and "takes no sockets of the service manager" in done.stderr


def test_print_config_is_a_file(conf):
    file = conf("listen = [::1]:7119\nallow = fd00:7::/64\nallow = 10.0.7.2\nname = a.lan\n")
    guests = file.parent / "web ;1.conf"  # a semicolon begins no comment
    guests.write_text("[web]\nlisten = 192.0.2.1:80\n")
    file.write_text(re.sub("guests = .*", f"guests = {guests}", file.read_text()))
    first = run_web("--moderate", "--config", file, "--print-config").stdout
    assert "allow = 10.0.7.2/32" in first and "[moderate]" in first and "wifi" not in first
    assert f"guests = {guests}\n" in first
    file.write_text(first)
    assert run_web("--moderate", "--config", file, "--print-config").stdout == first
