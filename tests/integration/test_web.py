# SPDX-License-Identifier: Apache-2.0
"""The page for phones: hearsay-web in front of a real hearsayd."""

import datetime
import html
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.parse

import pytest

import conftest
import hearsay_wire as wire
from hearsay_wire import pb
from test_gateway import GATEWAY, make_gateway, open_folder  # noqa: F401 (fixtures)

HEARSAY_WEB = os.environ.get("HEARSAY_WEB", "build/client/hearsay-web")
NAME = "hearsay.lan"


class Web:
    """A hearsay-web that runs."""

    address = "127.0.0.1"

    def __init__(self, gateway, folder, config=""):
        self.gateway = gateway
        user = f"user = {GATEWAY.pw_name}\n" if os.geteuid() == 0 else ""
        self.file = os.path.join(folder, os.path.basename(gateway.path) + ".web.conf")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(f"[web]\nlisten = 127.0.0.1:0\nserver = {gateway.path}\n{user}{config}\n")
        os.chmod(self.file, 0o644)
        self.process = subprocess.Popen(
            [conftest.program(HEARSAY_WEB), "--config", self.file],
            stderr=subprocess.PIPE, text=True)
        self.lines, self.changed, self.port = [], threading.Condition(), None
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        self.port = int(self.wait_log(r"listening on 127\.0\.0\.1:(\d+)").group(1))
        self.wait_log("ready: hearsay-web")

    def _read_log(self):
        for line in self.process.stderr:
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()

    def wait_log(self, pattern, start=0):
        def find():
            return re.search(pattern, "".join(self.lines[start:]))

        with self.changed:
            assert self.changed.wait_for(find, wire.PATIENCE), "".join(self.lines)
            return find()

    def request(self, method, path, body=None, source="127.0.0.1", host=None, **headers):
        connection = http.client.HTTPConnection(
            self.address, self.port, timeout=wire.PATIENCE, source_address=(source, 0))
        headers = {key.replace("_", "-"): value for key, value in headers.items()}
        connection.request(method, path, body,
                           {"Host": host or f"{NAME}:{self.port}", **headers})
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        connection.close()
        return answer

    def get(self, path="/", **options):
        return self.request("GET", path, **options)

    def wait_healthy(self, status=200):
        """hearsay-web connects to hearsayd in its own time; nothing tells when, so ask."""
        for _ in range(2000):
            if self.get("/healthz").status == status:
                return
            threading.Event().wait(0.01)
        raise AssertionError("".join(self.lines))

    def post(self, path, fields, source="127.0.0.1", origin=True, **options):
        if origin is True:
            origin = f"http://{NAME}:{self.port}"
        headers = {"Content_Type": "application/x-www-form-urlencoded"}
        if origin is not None:
            headers["Origin"] = origin
        headers.update(options)
        return self.request("POST", path, urllib.parse.urlencode(fields), source, **headers)

    def form(self, source="127.0.0.1", path="/"):
        """The hidden fields of the form to leave a message."""
        page = self.get(path, source=source)
        assert page.status == 200, page.text
        return fields_of(page.text, "/leave")

    def leave(self, text, source="127.0.0.1", **fields):
        return self.post("/leave", {**self.form(source), "text": text, **fields}, source)

    def events(self, path="/events", source="127.0.0.1", **headers):
        return Events(self, path, source, headers)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(wire.PATIENCE) == 0, "".join(self.lines)
        self.reader.join(wire.PATIENCE)
        log = "".join(self.lines)
        assert "left open" not in log and "Sanitizer" not in log, log


class Events:
    """A stream of events."""

    def __init__(self, web, path, source, headers):
        self.connection = http.client.HTTPConnection(
            "127.0.0.1", web.port, timeout=wire.PATIENCE, source_address=(source, 0))
        headers = {key.replace("_", "-"): value for key, value in headers.items()}
        self.connection.request("GET", path, headers={"Host": f"{NAME}:{web.port}", **headers})
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200
        assert self.answer.headers["Content-Type"].startswith("text/event-stream")
        assert self.next() == {"retry": "5000"}

    def next(self):
        """The next event, as its fields. Comments are skipped, and that there are no notices."""
        fields = {}
        while True:
            line = self.answer.readline().decode()
            assert line, "the stream has ended"
            if line == "\n" and fields == {"event": "house", "data": []}:
                fields = {}
            if line == "\n" and fields:
                return fields
            name, colon, value = line.rstrip("\n").partition(": ")
            if colon and name:
                fields[name] = json.loads(value) if name == "data" else value

    def close(self):
        self.answer.close()
        self.connection.close()


def fields_of(page, action):
    """The hidden fields of the form that is sent to a path."""
    form = re.search(rf'<form[^>]*action="{action}"[^>]*>.*?</form>', page, re.S).group(0)
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))


@pytest.fixture
def make_web(make_gateway, open_folder):  # noqa: F811
    made = []

    def make(config="", daemon=""):
        gateway = make_gateway(daemon, name=f"gateway{len(made)}.sock")
        web = Web(gateway, open_folder, "reads_per_minute = 0\n" + config)
        made.append(web)
        web.wait_healthy()
        return web

    yield make
    for web in made:
        web.stop()


def test_two_phones_see_each_other(make_web):
    web = make_web("cache = 0\n")
    assert "number one" not in web.get().text
    left = web.leave("number one <b>message</b>", source="127.0.0.7")
    assert left.status == 200
    page = web.get(source="127.0.0.8").text
    assert "number one &lt;b&gt;message&lt;/b&gt;" in page and "<b>message" not in page
    assert web.leave("the second one", source="127.0.0.8").status == 200
    page = web.get(source="127.0.0.7").text
    assert page.index("the second one") < page.index("number one")


def test_a_message_is_withdrawn(make_web):
    web = make_web("cache = 0\n")
    left = web.leave("to be taken back")
    fields = fields_of(left.text, "/withdraw")
    assert len(fields["code"]) == 26
    wrong = web.post("/withdraw", {**fields, "code": "A" * 26})
    assert wrong.status == 403
    again = fields_of(wrong.text, "/withdraw")  # the form is there again, with what was typed
    assert again["id"] == fields["id"] and 'value="' + "A" * 26 in wrong.text
    assert "to be taken back" in wrong.text
    assert web.get("/m/" + fields["id"]).status == 200
    assert web.post("/withdraw", fields).status == 200
    assert "to be taken back" not in web.get().text
    assert web.get("/m/" + fields["id"]).status == 404


def test_a_removed_message_says_so(make_web):
    """In each language, also after a restart of hearsayd, until its id is free again."""
    web = make_web("cache = 0\n")
    ids = [fields_of(web.leave(text).text, "/withdraw")["id"] for text in ("rude", "also rude")]
    assert web.get("/m/" + ids[0]).status == 200  # is in the cache
    with web.gateway.daemon.administrator() as operator:
        for one in ids:
            operator.call(wire.pb.Remove(id=bytes.fromhex(one)))
    for _ in range(2):
        for one in ids:
            page = web.get("/m/" + one)
            assert page.status == 410 and "Removed by the operator" in page.text
        assert "Vom Betreiber entfernt" in web.get(f"/m/{ids[0]}?l=de").text
        assert "\u0623\u0632\u0627\u0644\u0647\u0627 \u0627\u0644\u0645\u0634\u063a\u0651\u0644" in web.get(f"/m/{ids[0]}?l=ar").text
        web.gateway.daemon.stop()
        web.wait_healthy(503)
        web.gateway.daemon.restart()
        web.wait_healthy()
    assert web.get("/m/" + 32 * "0").status == 404


def test_a_double_tap_is_one_message(make_web):
    """A second tap, and a reload of the answer, send the same form again."""
    web = make_web("cache = 0\n")
    form = {**web.form(), "text": "only once"}
    answers = [web.post("/leave", form) for _ in range(3)]
    assert {answer.status for answer in answers} == {200}
    codes = {fields_of(answer.text, "/withdraw")["code"] for answer in answers}
    assert len(codes) == 1
    assert web.get().text.count("only once") == 1
    # Withdrawn, a reload of the answer does not bring it back.
    assert web.post("/withdraw", fields_of(answers[0].text, "/withdraw")).status == 200
    again = web.post("/leave", form)
    assert again.status == 403 and "only once" in again.text
    assert "only once" not in web.get().text


def test_reports_of_phones_hide(make_web):
    """Each phone counts as one reporter, as if it had come to port 7117 itself."""
    web = make_web("cache = 0\n", "[host default]\nhide_after = 2\n")
    message = fields_of(web.leave("spam, spam", source="127.0.0.9").text, "/withdraw")["id"]
    for source in ("127.0.0.7", "127.0.0.7", "127.0.0.8"):
        assert "spam, spam" in web.get(source=source).text
        fields = fields_of(web.get("/m/" + message, source=source).text, "/report")
        answer = web.post("/report", {**fields, "why": "spam", "text": "again"}, source)
        assert answer.status == 200, answer.text
    assert "spam, spam" not in web.get().text


def test_forms_of_others_keep_the_text(make_web):
    web = make_web()
    form = {**web.form("127.0.0.7"), "text": "typed with love"}
    for options in ({"source": "127.0.0.8"},
                    {"source": "127.0.0.7", "origin": "http://evil.example"},
                    {"source": "127.0.0.7", "origin": "null"}):
        answer = web.post("/leave", form, **options)
        assert answer.status == 403 and "typed with love" in answer.text
    fresh = {**fields_of(answer.text, "/leave"), "text": "typed with love"}
    assert web.post("/leave", fresh, source="127.0.0.7").status == 200
    assert web.post("/leave", form, source="127.0.0.7", Content_Type="text/plain").status == 400


def test_a_phone_moves_to_another_place(make_web):
    """Both places have the same name: a form of the one is not done at the other unasked."""
    before, now = make_web("cache = 0\n"), make_web("cache = 0\n")
    at_before = before.leave("at the first place").text
    message = fields_of(at_before, "/withdraw")
    report = fields_of(before.get("/m/" + message["id"]).text, "/report")
    form = {**before.form(), "text": "typed on the way", "t": "jazz"}
    moved = now.post("/leave", form)
    assert moved.status == 409 and "You have moved to another access point. Send again?" in moved.text
    assert "typed on the way" in moved.text and 'value="jazz"' in moved.text
    assert "typed on the way" not in now.get().text
    fresh = {**fields_of(moved.text, "/leave"), "text": "typed on the way"}
    assert fresh["place"] != form["place"] and fresh["id"] != form["id"]
    assert now.post("/leave", fresh).status == 200
    assert "typed on the way" in now.get().text and "typed on the way" not in before.get().text
    for path, fields, kept in (("/withdraw", message, message["code"]),
                               ("/report", {**report, "why": "spam", "text": "my words"},
                                "my words")):
        moved = now.post(path, fields)
        assert moved.status == 409 and "You have moved" in moved.text and kept in moved.text
    assert before.post("/withdraw", message).status == 200


def test_a_phone_moves_within_a_server(make_web, tmp_path):
    """One server tells many places apart by address (here_map); each is a place of its own."""
    places = tmp_path / "places"
    places.write_text("127.0.1.0/24 = place:one\n127.0.2.0/24 = place:two\n")
    web = make_web("cache = 0\n", f"[host default]\nhere_map = {places}\n")
    stream = web.events(source="127.0.1.7")
    assert web.leave("at one", source="127.0.1.7").status == 200
    at_one = stream.next()
    assert at_one["data"]["text"] == "at one"
    stream.close()
    form = {**web.form("127.0.1.7"), "text": "on the way"}
    moved = web.post("/leave", form, source="127.0.2.7")
    assert moved.status == 409 and "You have moved to another access point" in moved.text
    assert "on the way" in moved.text
    fresh = {**fields_of(moved.text, "/leave"), "text": "on the way"}
    assert web.post("/leave", fresh, source="127.0.2.7").status == 200
    assert "on the way" not in web.get(source="127.0.1.7").text
    stream = web.events(source="127.0.2.7", Last_Event_ID=at_one["id"])
    assert stream.next()["event"] == "gone"
    stream.close()


def test_events_go_on_where_they_were(make_web):
    """At the same place nothing is missed or doubled; at another one the list is loaded again."""
    before, now = make_web(), make_web()
    stream = before.events()
    assert before.leave("the first").status == 200
    first = stream.next()
    assert first["event"] == "message" and first["data"]["text"] == "the first"
    stream.close()
    for text in ("the second", "the third"):
        assert before.leave(text).status == 200
    stream = before.events(Last_Event_ID=first["id"])
    assert [stream.next()["data"]["text"] for _ in range(2)] == ["the second", "the third"]
    stream.close()
    for stream in (now.events(Last_Event_ID=first["id"]), now.events("/events?last=" + first["id"])):
        assert stream.next()["event"] == "gone"
        assert now.leave("of the other place").status == 200
        there = stream.next()
        assert there["event"] == "message" and there["data"]["text"] == "of the other place"
        assert there["id"].split("-")[0] != first["id"].split("-")[0]
        stream.close()


def test_more_views_than_watches(make_web):
    """Views beyond the watches of hearsayd are looked at every few seconds, and nothing is doubled."""
    web = make_web("events_per_address = 4\n", "[limits]\nwatches_per_session = 2\n")
    since = int(time.time() * 1000) - 2000  # as the script of the page says it
    streams = [web.events(f"/events?t=topic{number}&since={since}", source="127.0.0.9")
               for number in range(4)]
    for number, stream in enumerate(streams):
        for text in ("one", "two"):
            left = web.leave(f"{text} about {number}", source=f"127.0.1.{number + 1}",
                             t=f"topic{number}")
            assert left.status == 200, left.text
    for number, stream in enumerate(streams):
        texts = [stream.next()["data"]["text"] for _ in range(2)]
        assert sorted(texts) == [f"one about {number}", f"two about {number}"]
        stream.close()
    # Who comes from another place to such a view is told to load the list.
    streams = [web.events(f"/events?t=topic{number}", source="127.0.0.9") for number in range(3)]
    stranger = web.events("/events?t=topic3", source="127.0.0.8", Last_Event_ID="01234567-5")
    assert stranger.next()["event"] == "gone"
    for stream in (*streams, stranger):
        stream.close()


def test_long_messages_do_not_fit_into_the_list(make_web, rng):
    """What hearsayd leaves out of its answer is a link."""
    web = make_web("per_page = 30\ncache = 0\n")
    with web.gateway.daemon.client() as client:
        for number in range(25):
            client.call(wire.deposit_of(rng, ["topic:long"], payload=b"%02d " % number + b"x" * 4000,
                                        media_type="text/plain"))
    page = web.get().text
    items = re.findall(r'<li id="m-([0-9a-f]{32})">(.*?)</li>', page, re.S)
    omitted = [(one, text) for one, text in items if "did not fit into the list" in text]
    assert len(items) == 25 and 0 < len(omitted) < 25
    for one, text in omitted:
        assert f'href="/m/{one}' in text
        assert "xxxx" in web.get("/m/" + one).text


def test_the_newest_of_very_many(make_web, rng):
    """Hearsayd answers with 100 at a time, the nearest; a newer one that is less near comes first,
    and page by page there is each message once."""
    web = make_web("cache = 0\n", "[host default]\nhere = place:bar\n")
    sent = []
    with web.gateway.daemon.administrator() as client:
        for number in range(250):
            labels = ["place:bar"] if number % 50 < 40 else ["place:bar", "topic:jazz"]
            text = f"number {number:03} of many"
            left = client.call(wire.deposit_of(rng, labels, payload=text.encode(),
                                               media_type="text/plain"))
            sent.append(text)
            while client.call(pb.Ping()).now_ms <= left.deposited_ms:
                pass  # each has a time of its own
    listed, path = [], "/"
    while path:
        page = web.get(path).text
        listed += re.findall(r"number \d{3} of many", page)
        older = re.search(r'rel="next" href="([^"]*)"', page)
        path = older and html.unescape(older.group(1))
    assert listed == sent[::-1]


def test_other_names_are_refused(make_web):
    """A page that has its own name led here (DNS rebinding) reads nothing."""
    web = make_web()
    assert web.leave("secret of the place").status == 200
    for host in ("evil.example", f"evil.example:{web.port}", NAME, f"127.0.0.2:{web.port}"):
        answer = web.get(host=host)
        assert answer.status == 421 and "secret" not in answer.text
        assert NAME in answer.text
    for host in (f"127.0.0.1:{web.port}", f"localhost:{web.port}"):
        assert web.get(host=host).status == 200


def test_texts_are_bounded(make_web):
    web = make_web()
    assert web.leave("\N{SAXOPHONE}" * 500).status == 200
    answer = web.leave("\N{SAXOPHONE}" * 501)
    assert answer.status == 413 and "\N{SAXOPHONE}" * 501 in answer.text
    assert web.leave("  \n ").status == 400


def test_a_topic_is_a_filter(make_web):
    """A list of a topic has the messages with this topic, and no others of the place."""
    web = make_web("cache = 0\n", "[host default]\nhere = place:bar, wifi:a, wifi:b\n")
    assert web.leave("about coffee", t="Coffee").status == 200
    assert web.leave("about both", source="127.0.0.8", t="coffee, cake").status == 200
    assert web.leave("about nothing", source="127.0.0.9").status == 200
    assert "about nothing" in web.get().text
    page = web.get("/?t=coffee").text
    assert "about coffee" in page and "about both" in page and "about nothing" not in page
    page = web.get("/?t=coffee&t=cake").text
    assert "about both" in page and "about coffee" not in page
    assert "<article" not in web.get("/?t=tea").text


def test_topics_of_other_letters(make_web):
    """Topics of all letters; a build without utf8proc (as for OpenWrt) refuses, and says which."""
    refused = subprocess.run([os.environ.get("HEARSAY", "build/client/hearsay"), "context",
                              "--profile", "v1:512/4", "--topic", "Café"], capture_output=True)
    web = make_web("cache = 0\n", "[host default]\nhere = place:bar\n")
    answer = web.leave("about coffee", t="CAFÉ")
    if refused.returncode == 0:
        assert answer.status == 200
        assert "about coffee" in web.get("/?t=" + urllib.parse.quote("café")).text
        return
    assert b"built without utf8proc" in refused.stderr
    for page in (answer, web.get("/?t=" + urllib.parse.quote("café"))):
        assert page.status == 400 and "no letters but a to z" in page.text, page.text
    assert "about coffee" in answer.text, "the text is not lost"
    assert web.leave("about coffee", t="Coffee").status == 200
    assert "about coffee" in web.get("/?t=coffee").text


def test_reviewed_messages_wait(make_web):
    web = make_web("cache = 0\n", "[host default]\naccept = review\n")
    assert web.leave("wait for me").status == 200
    assert "wait for me" not in web.get().text


def test_a_closed_host_says_so(make_web):
    web = make_web("", "[host default]\naccept = closed\n")
    page = web.get()
    assert page.status == 200 and 'action="/leave"' not in page.text
    assert "Leave " not in page.text, "nothing asks for a message"


def test_the_operator_closes_and_opens(make_web):
    """The page knows within a second, on the connection that it has."""
    web = make_web("cache = 0\n")

    def page_says(text, leaves):
        page = web.get().text
        return text in page and ('action="/leave"' in page) == leaves

    with web.gateway.daemon.administrator() as operator:
        for mode, text, leaves in (("closed", "No new messages", False),
                                   ("review", "The operator looks at each message first", True),
                                   ("open", "Leave a message", True)):
            operator.call(wire.pb.Accept(mode=mode))
            wire.wait_until(lambda: page_says(text, leaves), f"the page says {mode}")
            form = {**web.form(), "text": mode} if leaves else None
        operator.call(wire.pb.Accept(mode="closed"))
        closed = web.post("/leave", form)
        assert closed.status == 403 and "No new messages" in closed.text and "open" in closed.text


@pytest.mark.parametrize("is_closing", [True, False])
def test_a_schedule_says_until_when(make_web, monkeypatch, is_closing):
    """A schedule closes, or it opens what else is closed."""
    monkeypatch.setenv("TZ", "XYZ-1")
    now = datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=1)))
    begin, end = (now + datetime.timedelta(hours=hours) for hours in (-2, 4))
    lines = (f"accept_schedule = {begin:%H:%M}-{end:%H:%M} closed\n" if is_closing else
             f"accept = closed\naccept_schedule = {end:%H:%M}-{begin:%H:%M} open\n")
    web = make_web("", "[host default]\n" + lines)
    page = web.get().text
    assert 'action="/leave"' not in page
    # A clock that is not trusted, as on a machine that has just started, says no time of the day.
    assert f"Open again at {end:%H:%M}." in page or "Try again in about 4 h" in page \
        or "Try again in about 3 h" in page


def test_deposits_are_limited_by_phone(make_web):
    web = make_web("", "[limits]\ndeposits_per_minute = 1\ndeposit_burst = 1\n")
    assert web.leave("one", source="127.0.0.7").status == 200
    answer = web.leave("two is too many", source="127.0.0.7")
    assert answer.status == 429 and "two is too many" in answer.text
    assert int(answer.headers["Retry-After"]) >= 1
    assert web.leave("of another phone", source="127.0.0.8").status == 200


def proxied(web):
    """The port behind a proxy."""
    web.port = int(web.wait_log(r"listening on 127\.0\.0\.1:(\d+) proxied").group(1))
    return web


def test_a_proxy_tells_the_phones_apart(make_web):
    """The one address of X-Forwarded-For has the limits; without one there is no answer."""
    web = proxied(make_web("listen = 127.0.0.1:0 proxied\ncache = 0\n",
                           "[limits]\ndeposits_per_minute = 1\ndeposit_burst = 1\n"))

    def leave(text, phone):
        page = web.get(X_Forwarded_For=phone)
        fields = {**fields_of(page.text, "/leave"), "text": text}
        return web.post("/leave", fields, X_Forwarded_For=phone).status

    for phone in ("192.0.2.7", "192.0.2.8", "2001:db8::7"):
        assert [leave(f"{number} of {phone}", phone) for number in (1, 2)] == [200, 429]
    assert leave("again", "198.51.100.1, 192.0.2.7") == 429  # what the phone claims is not heard
    form = fields_of(web.get(X_Forwarded_For="192.0.2.9").text, "/leave")
    stolen = web.post("/leave", {**form, "text": "not mine"}, X_Forwarded_For="192.0.2.10")
    assert stolen.status == 403
    for wrong in ("", "unknown", "phone.example", "192.0.2.7:80", "192.0.2", "192.0.2.7, ",
                  "[2001:db8::7]"):
        assert web.get(X_Forwarded_For=wrong).status == 400, wrong
    assert web.get().status == 400
    with socket.create_connection(("127.0.0.1", web.port), wire.PATIENCE) as raw:
        raw.sendall(f"GET / HTTP/1.1\r\nHost: {NAME}:{web.port}\r\nX-Forwarded-For: 192.0.2.7\r\n"
                    "X-Forwarded-For: 192.0.2.8\r\n\r\n".encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 400 ")


def test_a_portal_without_internet(make_web):
    """All names lead here: phones are sent to ours until they have pressed the button."""
    web = make_web("portal = offline\n")
    probes = {"/generate_204": (204, ""), "/hotspot-detect.html": (200, "Success"),
              "/connecttest.txt": (200, "Microsoft Connect Test"), "/success.txt": (200, "success")}
    here = f"http://{NAME}:{web.port}/"

    def probe(path, source):
        return web.get(path, host="connectivity.example", source=source)

    for path in (*probes, "/"):
        answer = probe(path, "127.0.0.7")
        assert answer.status == 302 and answer.headers["Location"] == here
    form = web.request("POST", "/leave", "text=x", host="shop.example",
                       Content_Type="application/x-www-form-urlencoded")
    assert form.status == 421 and NAME not in form.text
    stay = fields_of(web.get(source="127.0.0.7").text, "/stay")
    done = web.post("/stay", stay, "127.0.0.7")
    assert done.status == 200 and here in done.text
    for path, (status, text) in probes.items():
        answer = probe(path, "127.0.0.7")
        assert answer.status == status and text in answer.text
        assert probe(path, "127.0.0.8").status == 302
    assert probe("/", "127.0.0.7").status == 302
    assert 'action="/stay"' not in web.get(source="127.0.0.7").text
    assert 'action="/stay"' in web.get(source="127.0.0.8").text


def test_proofs_of_work_leave_reading(make_web, rng):
    """The page cannot do them: it says so, and has no form to leave or to report."""
    web = make_web("contact = jules@cafe.example\n", "[limits]\nwork_bits = 8\n")
    page = web.get()
    assert page.status == 200 and "proof of work" in page.text
    assert 'action="/leave"' not in page.text
    with web.gateway.daemon.administrator() as client:
        message = wire.deposit_of(rng, ["topic:work"], payload=b"a test", media_type="text/plain")
        client.call(message)
    page = web.get("/m/" + message.id.hex())
    assert page.status == 200 and "tell the operator" in page.text
    assert "jules@cafe.example" in page.text and 'action="/report"' not in page.text
    assert 'action="/withdraw"' in page.text  # which takes none


def test_a_full_board_keeps_the_text(make_web):
    web = make_web("", "[limits]\nmessages = 1\n")
    assert web.leave("the only one", source="127.0.0.7").status == 200
    answer = web.leave("no room for me", source="127.0.0.8")
    assert answer.status == 507 and "no room for me" in answer.text
    # The tests' time zone says no time of the day: docs/web.md.
    assert "The next place is free in about" in answer.text


def test_hearsayd_goes_and_comes(make_web):
    web = make_web("cache = 0\n")
    form = {**web.form(), "text": "said while away"}
    web.gateway.daemon.stop()
    web.wait_healthy(503)
    answer = web.post("/leave", form)
    assert answer.status == 503 and "said while away" in answer.text
    assert int(answer.headers["Retry-After"]) >= 1
    web.gateway.daemon.restart()
    web.wait_healthy()
    assert web.post("/leave", fields_of(answer.text, "/leave") | {"text": "back"}).status == 200
    assert "back" in web.get().text


def test_pages_and_files(make_web):
    web = make_web("operator = The Bar\ncontact = bar@example.org\nrules = Be kind.\n")
    page = web.get().text
    for path in re.findall(r'(?:href|src)="(/s/[^"]+)"', page):
        assert web.get(path).status == 200
    about = web.get("/about").text
    assert "The Bar" in about and "bar@example.org" in about and "Be kind." in about
    poster = web.get("/poster")
    assert poster.status == 200 and f"http://{NAME}:{web.port}/<" in poster.text
    assert "?p=" not in re.sub("<[^>]*>", "", poster.text), "nobody types that"
    assert web.get("/qr/page.svg").text.startswith("<svg")
    assert web.get("/qr/page.txt").text.count("\n") > 10
    assert web.get("/qr/join.svg").status == 404
    assert web.get("/robots.txt").status == 200
    assert web.get("/nothing").status == 404
    assert web.get("/leave").status == 303
    assert web.get("/?o=up").status == 400
    assert 'dir="rtl"' in web.get("/?l=ar").text
    head = web.request("HEAD", "/")
    assert head.status == 200 and head.text == ""


def test_reload_and_refusal(make_web):
    web = make_web("title = Old\n")
    start = len(web.lines)
    with open(web.file, "a", encoding="utf-8") as file:
        file.write("views = 65\n")
    web.process.send_signal(signal.SIGHUP)
    web.wait_log("`views` .*needs a restart|not reloaded", start)
    with open(web.file, encoding="utf-8") as file:
        text = file.read().replace("views = 65\n", "").replace("title = Old", "title = New Place")
    with open(web.file, "w", encoding="utf-8") as file:
        file.write(text)
    web.process.send_signal(signal.SIGHUP)
    web.wait_log("configuration reloaded", start)
    assert "New Place" in web.get().text


@pytest.mark.parametrize("config, sentence", [
    ("listen = 80", "numeric address with a port"),
    ("listen = 192.0.2.1:80 proxied", "proxy on this machine"),
    ("listen = /run/x.sock", "proxied"),
    ("listen = /run/x.sock proxied freebind", "freebind is for addresses, not for a Unix socket"),
    ("name = Hearsay.lan", "letters a-z"),
    ("language = fr", "auto, en, de or ar"),
    ("wifi_ssid = a\nwifi_password = short", "8 to 63"),
    ("wifi_password = long enough", "wifi_ssid"),
    ("events = 512", "connections"),
    ("listn = 127.0.0.1:80", "listen"),
    ("rules = /nowhere/rules.txt", "/nowhere/rules.txt"),
    ("rules = One.\nrules = /etc/passwd", "not both"),
    ("rules = /bin/sh", "UTF-8"),
])
def test_refusals_say_what_would_be_right(tmp_path, config, sentence):
    file = tmp_path / "web.conf"
    file.write_text(f"[web]\n{config}\n")
    done = subprocess.run([conftest.program(HEARSAY_WEB), "--config", file, "--check-config"],
                          capture_output=True, text=True, timeout=wire.PATIENCE, check=False)
    assert done.returncode == 2 and sentence in done.stderr, done.stderr


def test_freebind(make_web, tmp_path):
    """An address that the machine does not have yet: an error that names the word, and with the word no
    reason to leave the others out."""
    file = tmp_path / "web.conf"
    file.write_text("[web]\nlisten = 127.0.0.1:0\nlisten = 192.0.2.1:0\n")
    done = subprocess.run([conftest.program(HEARSAY_WEB), "--config", file], capture_output=True,
                          text=True, timeout=wire.PATIENCE, check=False)
    assert done.returncode != 0 and "or write freebind behind one that it will have" in done.stderr
    web = make_web("listen = 192.0.2.1:0 freebind\n")
    web.wait_log(r"listening on 192\.0\.2\.1:\d+ freebind\n")
    printed = subprocess.run([conftest.program(HEARSAY_WEB), "--config", web.file, "--print-config"],
                             capture_output=True, text=True, check=True).stdout
    assert "listen = 192.0.2.1:0 freebind\n" in printed


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_rules_are_read_as_user(make_web, open_folder):  # noqa: F811
    """Guests may read the rules: what root alone can open does not become their page."""
    secret = os.path.join(open_folder, "secret")
    with open(secret, "w", encoding="utf-8") as file:
        file.write("root:$1$hash\n")
    os.chmod(secret, 0o600)
    web = make_web("")
    with open(web.file, "a", encoding="utf-8") as file:
        file.write(f"rules = {secret}\n")
    for option in ("--check-config", "--log-level=info"):
        done = subprocess.run([conftest.program(HEARSAY_WEB), "--config", web.file, option],
                              capture_output=True, text=True, timeout=wire.PATIENCE, check=False)
        assert done.returncode == 2 and "`rules`" in done.stderr, done.stderr
        assert "Permission denied" in done.stderr and "hash" not in done.stderr, done.stderr


def test_check_config_warns_of_nobody(tmp_path):
    file = tmp_path / "web.conf"
    command = [conftest.program(HEARSAY_WEB), "--config", file, "--check-config"]
    for config, warns in (("listen = 192.0.2.1:80", True), ("listen = 127.0.0.1:80", False),
                          ("listen = 192.0.2.1:80\noperator = Me\ncontact = me@x.y", False)):
        file.write_text(f"[web]\n{config}\n")
        done = subprocess.run(command, capture_output=True, text=True, timeout=wire.PATIENCE,
                              check=True)
        assert ("who runs it" in done.stderr) == warns


def check_config(web, config=""):
    """--check-config as the gateway's user, with the file of a page and more lines."""
    file = web.file + ".more"
    with open(web.file, encoding="utf-8") as old, open(file, "w", encoding="utf-8") as new:
        new.write(old.read() + config)
    os.chmod(file, 0o644)
    # The build may be below a home that the gateway's user cannot enter.
    program = shutil.copy(conftest.program(HEARSAY_WEB), web.file + ".program")
    other = {"user": GATEWAY.pw_uid, "group": GATEWAY.pw_gid} if os.geteuid() == 0 else {}
    return subprocess.run([program, "--config", file, "--check-config"],
                          capture_output=True, text=True, timeout=wire.PATIENCE, check=False,
                          **other)


def test_check_config_asks_hearsayd(make_web):
    """500 characters of 4 bytes each must fit; the host must be there."""
    web = make_web("", "[limits]\npayload = 1999\n")
    done = check_config(web, "host = attic\n")
    assert done.returncode == 2, done.stderr
    assert "500 characters may have 2000 bytes" in done.stderr
    assert "`payload` of hearsayd is 1999" in done.stderr
    assert "no host attic" in done.stderr
    fits = make_web("", "[limits]\npayload = 2000\n")
    done = check_config(fits)
    assert done.returncode == 0 and "payload" not in done.stderr, done.stderr
    fits.gateway.daemon.stop()
    done = check_config(fits)
    assert done.returncode == 0 and "was not asked whether its limits fit" in done.stderr


def test_rules_come_from_a_file(make_web, open_folder):  # noqa: F811
    """Those that are installed are good rules; a file that is none is refused."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../client/web/rules")
    for name in ("ar.txt", "de.txt", "en.txt"):
        path = shutil.copy(os.path.join(folder, name), open_folder)
        os.chmod(path, 0o644)
        web = make_web(f"rules = {path}\n")
        with open(path, encoding="utf-8") as file:
            about = web.get("/about").text
            assert all(line.strip() in html.unescape(about) for line in file)
    printed = subprocess.run(
        [conftest.program(HEARSAY_WEB), "--config", web.file, "--print-config"],
        capture_output=True, text=True, check=True).stdout
    assert f"rules = {path}\n" in printed and printed.count("rules = ") == 1
    for config, sentence in (("rules = Be kind.\n", "not both"), ("", "")):
        done = check_config(web, config)
        assert (done.returncode == 2) == bool(sentence) and sentence in done.stderr, done.stderr


def test_print_config_is_a_file(tmp_path):
    file = tmp_path / "web.conf"
    file.write_text("[web]\nlisten = [::1]:81\nname = a.lan\nrules = One.\nrules = Two.\n")
    command = [conftest.program(HEARSAY_WEB), "--config", file, "--print-config"]
    first = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    file.write_text(first)
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == first
    assert "rules = Two." in first and "listen = [::1]:81" in first


def test_the_port_is_taken(make_web):
    web = make_web()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [conftest.program(HEARSAY_WEB), "--config", web.file, "--listen",
             f"127.0.0.1:{port}"], capture_output=True, text=True, timeout=wire.PATIENCE,
            check=False)
    assert done.returncode == 1 and "another program has it" in done.stderr


def test_the_manual_has_the_keys():
    """client/man/hearsay-web.8 has what `hearsay-web --print-reference mdoc` prints."""
    keys = subprocess.run([conftest.program(HEARSAY_WEB), "--print-reference", "mdoc"],
                          capture_output=True, text=True, check=True).stdout
    manual = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../client/man",
                          "hearsay-web.8")
    with open(manual, encoding="utf-8") as file:
        assert f'.\\" BEGIN KEYS\n{keys}.\\" END KEYS\n' in file.read()
