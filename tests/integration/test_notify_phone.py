# SPDX-License-Identifier: Apache-2.0
"""A phone is told of a report: scripts/hearsay-notify, as hearsay-notify@.service runs it, with stand-ins of
ntfy, a Matrix server and a mail server."""

import contextlib
import http.server
import json
import os
import pathlib
import re
import shutil
import socketserver
import subprocess
import threading
import time

import pytest

import conftest
import hearsay_wire as wire
from test_moderation import From, daemon_with, leave

SOURCES = pathlib.Path(__file__).parents[2]
SCRIPT = SOURCES / "scripts/hearsay-notify"
UNIT = (SOURCES / "systemd/hearsay-notify@.service.in").read_text()
RESTART_SECONDS = int(re.search(r"^RestartSec=(\d+)s$", UNIT, re.MULTILINE).group(1))
SECRET = "tk-a\"qG7vT2\\one"
OF_SECRET = "qG7vT2"  # no other program that runs meanwhile has it in its command line

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")


def command_lines():
    """What every user of this machine can read of its programs."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            yield (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


class Inbox:
    """What has arrived, and the command lines at that moment."""

    def __init__(self):
        self.got, self.changed, self.refuse = [], threading.Condition(), 0

    def put(self, *what):
        lines = list(command_lines())
        with self.changed:
            self.got.append((*what, lines))
            self.changed.notify_all()

    def wait(self, count, patience=wire.PATIENCE):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.got) >= count, patience), self.got
        return self.got[count - 1]


@contextlib.contextmanager
def serving(server):
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def web_inbox():
    """A server that takes what is sent to ntfy or Matrix; its address and its inbox."""
    inbox = Inbox()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            with inbox.changed:
                refuses, inbox.refuse = inbox.refuse > 0, max(inbox.refuse - 1, 0)
            if not refuses:
                inbox.put(self.command, self.path, dict(self.headers), body)
            self.send_response(503 if refuses else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_PUT = do_POST

        def log_message(self, *_):
            pass

    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        yield f"http://127.0.0.1:{port}", inbox


@pytest.fixture
def mail_inbox():
    inbox = Inbox()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            said, body = [], []
            self.wfile.write(b"220 here\r\n")
            for line in self.rfile:
                said.append(line.decode().strip())
                if line.startswith(b"DATA"):
                    self.wfile.write(b"354 go on\r\n")
                    body = [text.decode().strip() for text in iter(self.rfile.readline, b".\r\n")]
                    inbox.put(said, body)
                self.wfile.write(b"221 bye\r\n" if line.startswith(b"QUIT") else b"250 yes\r\n")

    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as port:
        yield f"smtp://127.0.0.1:{port}", inbox


@pytest.fixture
def board(make_daemon):
    return daemon_with(make_daemon)


@pytest.fixture
def notify(board, tmp_path):
    """A factory of runs of the script, with the variables that systemd reads from notify.conf."""
    (tmp_path / "hearsay").symlink_to(conftest.program(conftest.HEARSAY))
    started = []

    def start(host="default", **variables):
        env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HEARSAY_ADMIN": board.socket_path,
               "HEARSAY_NOTIFY_PAUSES": "0 0 0", **variables}
        started.append(subprocess.Popen([SCRIPT, host], env=env, stderr=subprocess.PIPE, text=True,
                                        start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, 15)
        process.communicate(timeout=wire.PATIENCE)


def report_one(board, rng, number=1):
    with board.client() as client:
        message = leave(client, rng, payload=b"a rude word").id
    From(board).report(number, message, kind="HARASSMENT")
    return message.hex()


def test_ntfy(board, notify, web_inbox, rng):
    """Within a minute from the report, together with the pause before the unit's next start."""
    url, inbox = web_inbox
    process = notify(NTFY_URL=f"{url}/cafe-7Qw2", NTFY_TOKEN=SECRET, PAGE="http://10.0.7.1:7119/")
    began = time.monotonic()
    message = report_one(board, rng)
    method, path, headers, body, lines = inbox.wait(1)
    assert time.monotonic() - began + RESTART_SECONDS < 60
    assert (method, path) == ("POST", "/cafe-7Qw2") and headers["Authorization"] == f"Bearer {SECRET}"
    assert headers["Click"] == "http://10.0.7.1:7119/" and headers["Priority"] == "high"
    assert message in body and "harassment" in body and "rude" not in body
    assert any("curl" in line for line in lines) and not any(OF_SECRET in line for line in lines)
    assert not any("cafe-7Qw2" in line for line in lines), "who knows the topic can read it"
    assert process.wait(wire.PATIENCE) == 0


def test_what_comes_meanwhile(board, notify, web_inbox, rng):
    """Between two runs nothing is lost."""
    url, inbox = web_inbox
    first = report_one(board, rng)
    assert notify(NTFY_URL=url).wait(wire.PATIENCE) == 0
    second = report_one(board, rng, 2)
    assert notify(NTFY_URL=url).wait(wire.PATIENCE) == 0
    assert first in inbox.wait(1)[3] and second in inbox.wait(2)[3]


def test_matrix(board, notify, web_inbox, rng):
    url, inbox = web_inbox
    notify(MATRIX_URL=url, MATRIX_ROOM="!abc:example.org", MATRIX_TOKEN=SECRET)
    message = report_one(board, rng)
    method, path, headers, body, lines = inbox.wait(1)
    assert method == "PUT" and headers["Authorization"] == f"Bearer {SECRET}"
    assert re.fullmatch(r"/_matrix/client/v3/rooms/%21abc%3Aexample.org/send/m.room.message/hearsay-\d+-\d+", path)
    assert json.loads(body)["msgtype"] == "m.text" and message in json.loads(body)["body"]
    assert not any(OF_SECRET in line for line in lines)


def test_mail(board, notify, mail_inbox, rng):
    url, inbox = mail_inbox
    notify(MAIL_TO="night@example.org", MAIL_SERVER=url, MAIL_FROM="hearsay@example.org")
    message = report_one(board, rng)
    said, body, _ = inbox.wait(1)
    assert "MAIL FROM:<hearsay@example.org>" in " ".join(said) and "RCPT TO:<night@example.org>" in said
    assert "Subject: hearsay: a message was reported" in body and message in body[-1]


def test_one_that_is_away_delays_nobody(board, notify, web_inbox, mail_inbox, rng):
    """And is told as soon as it is there."""
    url, inbox = web_inbox
    inbox.refuse = 2
    process = notify(NTFY_URL=url, MAIL_TO="night@example.org", MAIL_SERVER=mail_inbox[0])
    report_one(board, rng)
    mail_inbox[1].wait(1)
    assert "harassment" in inbox.wait(1)[3]
    assert process.wait(wire.PATIENCE) == 0
    inbox.refuse = 100
    process = notify(NTFY_URL=url)
    message = report_one(board, rng, 2)
    assert process.wait(wire.PATIENCE) == 0
    assert re.search(f"ntfy was not told of: .*{message}", process.stderr.read())


def test_refusals_say_what_would_be_right(board, notify):
    for host, sentence in (("", "name the host"), ("default", "NTFY_URL, MATRIX_URL or MAIL_TO")):
        process = notify(host)
        assert process.wait(wire.PATIENCE) == 2 and sentence in process.stderr.read()
    board.stop()
    process = notify(NTFY_URL="http://127.0.0.1:1/")
    assert process.wait(wire.PATIENCE) == 1, "the unit starts it again"


def test_the_example_names_all_variables():
    """Each line of the example is one that the script reads."""
    names = set(re.findall(r"^#([A-Z_]+)=", (SOURCES / "systemd/notify.conf").read_text(), re.MULTILINE))
    assert names == set(re.findall(r"\b(?:NTFY|MATRIX|MAIL)_[A-Z]+\b|\bPAGE\b", SCRIPT.read_text()))
