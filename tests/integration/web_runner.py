# SPDX-License-Identifier: Apache-2.0
"""A hearsay-web in front of a real hearsayd, and what phones read and send there."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import urllib.parse

import pytest

import conftest
import hearsay_wire as wire
from test_gateway import GATEWAY, make_gateway, open_folder  # noqa: F401 (fixtures)

HEARSAY_WEB = os.environ.get("HEARSAY_WEB", "build/client/hearsay-web")
NAME = "hearsay.lan"
# A line of a file for hearsay-web, which does not serve as root.
USER = f"user = {GATEWAY.pw_name}\n" if os.geteuid() == 0 else ""


class Web:
    """A hearsay-web that runs."""

    address = "127.0.0.1"

    def __init__(self, gateway, folder, config=""):
        self.gateway = gateway
        self.file = os.path.join(folder, os.path.basename(gateway.path) + ".web.conf")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(f"[web]\nlisten = 127.0.0.1:0\nserver = {gateway.path}\n{USER}{config}\n")
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

    def connection(self, source):
        """A plain connection from `source`."""
        family = socket.AF_INET6 if ":" in source else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM)
        made.settimeout(wire.PATIENCE)
        made.bind((source, 0))
        made.connect((self.address, self.port))
        return made

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

    def answer(self, parent, text, source="127.0.0.1", **fields):
        """Sends the form below a message."""
        form = fields_of(self.get("/m/" + parent, source=source).text, "/leave")
        assert form["re"] == parent and form["e"] == "0"
        return self.post("/leave", {**form, "text": text, **fields}, source)

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
            web.address, web.port, timeout=wire.PATIENCE, source_address=(source, 0))
        headers = {key.replace("_", "-"): value for key, value in headers.items()}
        self.connection.request("GET", path, headers={"Host": f"{NAME}:{web.port}", **headers})
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200
        assert self.answer.headers["Content-Type"].startswith("text/event-stream")
        assert self.next() == {"retry": "5000"}

    def next(self):
        """The next event, as its fields. Signs of life are skipped, and that there are no notices."""
        fields = {}
        while True:
            line = self.answer.readline().decode()
            assert line, "the stream has ended"
            if line == "\n" and fields in ({"event": "house", "data": []}, {"event": "alive", "data": {}}):
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
    """The fields of the form that is sent to a path, without those in which a person types."""
    form = re.search(rf'<form[^>]*action="{action}"[^>]*>.*?</form>', page, re.S).group(0)
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form) +
                re.findall(r'<textarea[^>]* name="(\w+)"[^>]* readonly[^>]*>([^<]*)', form))


@pytest.fixture
def make_web(make_gateway, open_folder):  # noqa: F811
    made = []

    def make(config="", daemon="", words=""):
        if "queries_per_minute" not in daemon:  # all phones of a test have one address
            daemon += "\n[limits]\nqueries_per_minute = 0\n"
        gateway = make_gateway(daemon, words, name=f"gateway{len(made)}.sock")
        web = Web(gateway, open_folder, config)
        made.append(web)
        web.wait_healthy()
        return web

    yield make
    for web in made:
        web.stop()
