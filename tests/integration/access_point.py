# SPDX-License-Identifier: Apache-2.0
"""An access point: a hearsayd with one host, and the hearsay-bridge beside it."""

import base64
import contextlib
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import pytest

import conftest
import hearsay_wire as wire
import hub_cluster
import hub_site
from hearsay_wire import pb
from test_gateway import GATEWAY as BRIDGE



def _compile_letters():
    """The schema of letters, which uses that of hearsay_wire."""
    with tempfile.TemporaryDirectory() as folder:
        proto = os.path.join(wire.ROOT, "proto")
        subprocess.run(["protoc", f"--proto_path={proto}", f"--python_out={folder}", "bridge.proto"], check=True)
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("bridge_pb2")
        finally:
            sys.path.remove(folder)


letters = _compile_letters()
HEARSAY_BRIDGE = os.environ.get("HEARSAY_BRIDGE", "")
HEAD_MS = 300  # between two heads, instead of 30 s


class Program:
    """hearsay-bridge; may be killed and started again."""

    def __init__(self, config, env=None):
        self.config, self.env = config, {"HEARSAY_BRIDGE_HEAD_MS": str(HEAD_MS), **(env or {})}
        self.process = None
        self.log = []
        self.news = threading.Condition()

    def start(self):
        self.log = []
        self.process = subprocess.Popen(
            [conftest.program(HEARSAY_BRIDGE), "run", "--config", self.config], text=True,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, errors="backslashreplace",
            env={**os.environ, **self.env})
        reader = threading.Thread(target=self._read_log, args=(self.process.stderr, self.log), daemon=True)
        reader.start()
        return self

    def _read_log(self, stream, log):
        for line in stream:
            print("bridge:", line, end="")
            with self.news:
                log.append(line.rstrip("\n"))
                self.news.notify_all()
        with self.news:
            log.append(None)
            self.news.notify_all()
        stream.close()

    def wait_log(self, pattern, start=0, patience=3 * wire.PATIENCE):
        def find():
            return next((m for line in self.log[start:] if line and (m := re.search(pattern, line))), None)
        with self.news:
            self.news.wait_for(lambda: find() or None in self.log, patience)
        found = find()
        assert found, f"no log line /{pattern}/ in:\n" + "\n".join(line for line in self.log if line)
        return found

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait(wire.PATIENCE)
            self.process = None

    def stop(self):
        self.process.terminate()
        code = self.process.wait(3 * wire.PATIENCE)
        self.process = None
        assert code == 0, code
        assert not any(line and "handles left open" in line for line in self.log)

    def run(self, *words):
        return subprocess.run([conftest.program(HEARSAY_BRIDGE), *words, "--config", self.config],
                              capture_output=True, text=True, timeout=60, env={**os.environ, **self.env},
                              check=False)

    def figures(self):
        return hub_site.figures_of(self.run("status", "--metrics").stdout)

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return 1024 * int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


class AccessPoint:
    """The owner of `host`. `root` is a folder that each user may enter."""

    def __init__(self, make_daemon, root, hub, host, keys="replicate = yes\n", limits="", clock=None):
        self.root = tempfile.mkdtemp(prefix=f"{host}-", dir=root)
        os.chmod(self.root, 0o755)
        self.host, self.hub = host, hub
        self.socket = os.path.join(self.root, "b.sock")
        shutil.copy(os.path.join(hub.keys, "ca.pem"), self.root)
        os.chmod(os.path.join(self.root, "ca.pem"), 0o644)
        self.take_certificate(host)
        self.daemon = make_daemon(
            f"listen = {self.socket} bridge\nbridge_user = {BRIDGE.pw_name}\n"
            f"[limits]\ndeposits_per_minute = 0\nqueries_per_minute = 0\n{limits}"
            f"[host {host}]\n{keys}", env=clock.environment() if clock else None)
        self.state = os.path.join(self.root, "state")
        self.config = os.path.join(self.root, "bridge.conf")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f"[bridge]\nserver = {self.socket}\nstate = {self.state}\n"
                       + "".join(f"nats = {url}\n" for url in hub.urls)
                       + f"ca = {self.root}/ca.pem\ncert = {self.root}/{host}.pem\nkey = {self.root}/{host}.key\n"
                       + (f"user = {BRIDGE.pw_name}\n" if os.geteuid() == 0 else "")
                       + f"[host {host}]\n")
        self.bridge = Program(self.config)

    def take_certificate(self, name):
        """Uses the certificate of `name` as its own."""
        for kind in ("pem", "key"):
            target = shutil.copy(os.path.join(self.hub.keys, f"{name}.{kind}"), f"{self.root}/{self.host}.{kind}")
            os.chmod(target, 0o644)

    def start(self):
        self.bridge.start()
        return self

    def end(self):
        self.bridge.kill()

    # --- content ---

    def deposit(self, rng, count=1, **fields):
        """Deposits messages; returns their ids."""
        ids = []
        with self.daemon.client() as client:
            deposits = [wire.deposit_of(rng, [f"topic:{rng.randrange(1000)}", f"place:{rng.randrange(1000)}"],
                                        host=self.host, **fields) for _ in range(count)]
            for first in range(0, count, 64):
                for answer in client.pipeline(deposits[first:first + 64]):
                    assert answer.WhichOneof("body") == "deposited", answer
            ids = [deposit.id for deposit in deposits]
        return ids

    def stored(self):
        """Ids of all messages here."""
        return stored_at(self.daemon, self.host)

    def wait_published(self, ids, patience=3 * wire.PATIENCE):
        wanted = {message_id.hex() for message_id in ids}
        hub_cluster.wait_until(lambda: wanted <= subjects(self.hub, self.host), "all states at the hub", patience)


def stored_at(daemon, host):
    """Ids of all messages of a host of a daemon."""
    found, after = set(), b""
    with daemon.administrator() as operator:
        while True:
            page = operator.call(pb.Export(host=host, after=after) if after else pb.Export(host=host))
            found.update(message.id for message in page.messages)
            if not page.next:
                return found
            after = page.next


def subjects(hub, host):
    """The last parts of the subjects of a host that the hub has."""
    shard, found, offset = hub_cluster.shard_of(host), set(), 0
    while True:
        info = hub.ask(f"STREAM.INFO.h_{shard}", subjects_filter=f"h.{shard}.{host}.>", offset=offset)
        if info is None:
            return found
        names = info["state"].get("subjects") or {}
        found.update(name.rsplit(".", 1)[1] for name in names)
        offset += len(names)
        if offset >= info.get("total", offset) or not names:
            return found


def states(hub, host):
    return subjects(hub, host) - {"-"}


def letter_at_hub(hub, host, last):
    """Sequence and letter of h.SHARD.HOST.LAST; None: there is none."""
    shard = hub_cluster.shard_of(host)
    try:
        answer = hub.ask(f"STREAM.MSG.GET.h_{shard}", last_by_subj=f"h.{shard}.{host}.{last}")
    except hub_cluster.Refused:
        return None
    if answer is None:
        return None
    data = base64.b64decode(answer["message"].get("data", ""))
    return answer["message"]["seq"], letters.Letter.FromString(data)


class Reader:
    """A stand-in for the bridge of a reader: serves pages of what it was given. The first `silent` questions have
    no answer."""

    def __init__(self, hub, host, changes=(), words=(), silent=0):
        self.silent, self.times = silent, []
        self.changes, self.words = list(changes), list(words)
        self.nats = hub.connect("reader")
        self.nats.subscribe(f"r.{host}")
        self.nats.flush()
        self.asked = []
        self.ends = False
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while not self.ends:
            try:
                message = self.nats.next(seconds=0.2)
            except (hub_cluster.NoAnswer, TimeoutError):
                continue
            except OSError:
                return
            self.times.append(time.monotonic())
            if len(self.times) > self.silent:
                self.nats.publish(message.reply, self._answer(letters.Letter.FromString(message.data)))

    def _answer(self, letter):
        ask = letter.page_ask
        self.asked.append(ask)
        page = letters.Page()
        if ask.kind == letters.DIGEST:
            page.count, page.digest = self.digest
        else:
            known = self.changes if ask.kind == letters.STATES else self.words
            part = known[ask.after:ask.after + (ask.limit or 256)]
            page.changes.extend(part)
            page.next = ask.after + len(part)
            page.more = page.next < len(known)
        return letters.Letter(version=1, page=page).SerializeToString()

    digest = (0, 0)

    def close(self):
        self.ends = True
        self.thread.join(wire.PATIENCE)
        self.nats.close()


@pytest.fixture(scope="module", name="hub")
def hub_of_module():
    made = hub_cluster.Hub(conftest.storage_root(), {f"ap{n}": "campus" for n in range(1, 16)},
                           readers=("reader", "reader2"))
    try:
        made.start().wait_ready().make_streams()
        yield made.wait_current()
    finally:
        made.remove()


hub = hub_of_module


@pytest.fixture(name="make_point")
def point_maker(make_daemon, hub):  # noqa: F811
    with access_points() as (root, made):
        def make(host, **options):
            point = AccessPoint(make_daemon, root, hub, host, **options)
            made.append(point)
            return point
        yield make


make_point = point_maker


@contextlib.contextmanager
def access_points():
    root = tempfile.mkdtemp(prefix="hearsay-ap-", dir="/tmp")
    os.chmod(root, 0o755)
    made = []
    try:
        yield root, made
    finally:
        for each in made:
            each.end()
        shutil.rmtree(root, ignore_errors=True)
