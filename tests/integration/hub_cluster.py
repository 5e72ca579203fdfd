# SPDX-License-Identifier: Apache-2.0
"""Three nats-servers with JetStream and TLS on loopback: the hub of many access points.

Certificates are by packaging/hub/hearsay-hub-certificate, configurations and streams by
`hearsay-bridge setup-hub`. Routes need ports that are known before the servers start and stay the
same after a kill: held_port.py holds them.
"""

import functools
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest
import xxhash

import hearsay_wire as wire
import held_port
from nats_wire import Nats, NoAnswer, Refused

TOP = pathlib.Path(__file__).resolve().parents[2]
CERTIFICATE = TOP / "packaging/hub/hearsay-hub-certificate"
NATS_SERVER = os.environ.get("NATS_SERVER") or shutil.which("nats-server", path=os.environ["PATH"]
                                                            + ":/usr/sbin:/usr/local/bin")
BRIDGE = os.environ.get("HEARSAY_BRIDGE", "build/client/hearsay-bridge")
SHARDS = 16
ROUTE_OFFSET = 2000
NODES = ("n1", "n2", "n3")
STREAMS = [f"h_{n}" for n in range(SHARDS)] + ["o", "rule"]

needs_hub = pytest.mark.skipif(
    not NATS_SERVER or not os.access(NATS_SERVER, os.X_OK) or not os.access(BRIDGE, os.X_OK),
    reason="there is no hearsay-bridge" if not os.access(BRIDGE, os.X_OK)
    else f"there is no {os.environ.get('NATS_SERVER') or 'nats-server'}")


def shard_of(host):
    return xxhash.xxh3_64_intdigest(host.encode()) % SHARDS


def heard_as(subject):
    """On which subject the one hears it to whom `subject` is sent, whoever asks: hub/rights.c says why."""
    return f"a{subject[1:]}.*" if subject.startswith("q.") else subject


@functools.cache
def server_version():
    text = subprocess.run([NATS_SERVER, "--version"], capture_output=True, text=True, check=True)
    return tuple(int(n) for n in re.search(r"v(\d+)\.(\d+)\.(\d+)", text.stdout).groups())


def wait_until(check, what, patience=wire.PATIENCE, tail=lambda: ""):
    """Asks until it is so. There is no event to wait for where only a state can be read. `tail` says more if it
    never came."""
    began = time.monotonic()
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < began + patience, f"never came: {what}\n{tail()}"
        wire.rest(began, 0.02)


class HeldPorts:
    """A port on loopback, and one ROUTE_OFFSET above it, that the kernel gives to nobody else."""

    def __init__(self):
        self.sockets = []
        while not self.sockets:
            first = held_port.hold()
            self.number = first.getsockname()[1]
            try:
                self.sockets = [first, held_port.hold(number=self.number + ROUTE_OFFSET)]
            except (OSError, OverflowError):
                first.close()


def make_certificate(folder, kind, name, *addresses):
    subprocess.run(["sh", CERTIFICATE, folder, kind, name, *addresses], check=True,
                   capture_output=True, text=True)


class Node:
    """One nats-server; may be killed and started again on the same data and ports."""

    def __init__(self, hub, name):
        self.hub, self.name = hub, name
        self.ports = HeldPorts()
        self.store = os.path.join(hub.directory, "store", name)
        self.config = os.path.join(hub.keys, f"{name}.conf")
        self.log = os.path.join(hub.directory, f"{name}.log")
        self.process = None

    @property
    def port(self):
        return self.ports.number

    def start(self):
        assert self.process is None
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([NATS_SERVER, "-c", self.config], stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL)

    def end(self, sig):
        if self.process is not None:
            self.process.send_signal(sig)
            self.process.wait(wire.PATIENCE)
            self.process = None

    def kill(self):
        self.end(signal.SIGKILL)

    def stop(self):
        self.end(signal.SIGTERM)

    def reload(self):
        """Takes changed rights over."""
        self.process.send_signal(signal.SIGHUP)

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()


class Hub:
    """The three servers. `hosts` is {host: hood}, `readers` the names of hub bridges."""

    def __init__(self, root, hosts, readers=("reader",)):
        self.directory = tempfile.mkdtemp(prefix="hub", dir=root)
        self.keys = os.path.join(self.directory, "keys")
        self.hosts, self.readers = dict(hosts), list(readers)
        self.nodes = {name: Node(self, name) for name in NODES}
        for name in NODES:
            make_certificate(self.keys, "server", name, "127.0.0.1", "localhost")
        for host in self.hosts:
            make_certificate(self.keys, "host", host)
        for name in self.readers:
            make_certificate(self.keys, "hub", name)
        self.write_servers()

    # --- hearsay-bridge setup-hub ---

    def bridge_lines(self, name):
        """The section [bridge] for whose certificate it is."""
        return "".join([
            "[bridge]\n", *(f"nats = {url}\n" for url in self.urls), f"name = {name}\n",
            f"cert = {self.keys}/{name}.pem\nkey = {self.keys}/{name}.key\nca = {self.keys}/ca.pem\n"])

    def setup(self, *args, name=None):
        """Runs setup-hub as a reader: (exit code, stdout, stderr)."""
        config = os.path.join(self.directory, "setup.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(self.bridge_lines(name or self.readers[0]))
            file.write("[reader]\n" + "".join(f"hosts = {host}\n" for host in self.hosts))
        done = subprocess.run([BRIDGE, "setup-hub", *args, "--config", config], text=True,
                              capture_output=True, timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr

    def write_servers(self):
        hosts = os.path.join(self.directory, "hosts.txt")
        with open(hosts, "w", encoding="utf-8") as file:
            file.writelines(f"host {host} {hood}\n" for host, hood in self.hosts.items())
            file.writelines(f"hub {name}\n" for name in self.readers)
        code, _, errors = self.setup(
            "--write", self.keys, "--hosts", hosts, "--store", f"{self.directory}/store", "--disk",
            "1G", "--nats", ".".join(map(str, server_version())))
        assert code == 0, errors

    def make_streams(self, *args):
        """On a busy machine servers that have just begun do not know yet what room the others have:
        the command says so, and is given again."""
        def ask():
            code, text, errors = self.setup(*args, "--disk", "1G")
            assert code == 0 or "no suitable peers" in errors, errors + self.log_tail()
            return text if code == 0 else None
        return wait_until(ask, "streams are made")

    @property
    def ports(self):
        return [node.port for node in self.nodes.values()]

    @property
    def urls(self):
        return [f"tls://127.0.0.1:{port}" for port in self.ports]

    def start(self):
        for node in self.nodes.values():
            if node.process is None:
                node.start()
        return self

    def connect(self, name, node=None, **options):
        """A connection with the certificate of `name`, to the first node that takes it."""
        ports = [self.nodes[node].port] if node else self.ports
        for port in ports:
            try:
                return Nats(port, self.keys, name, **options)
            except OSError:
                continue
        raise NoAnswer(f"no server takes {name}")

    def ask(self, name, /, seconds=2 * wire.SLOWNESS, **fields):
        """JetStream's answer to a reader, None while there is none."""
        try:
            with self.connect(self.readers[0]) as nats:
                return nats.api(name, seconds=seconds, **fields)
        except (OSError, NoAnswer):
            return None
        except Refused as error:
            why = error.args[0]
            if isinstance(why, dict) and why.get("code") == 503:
                return None
            raise

    def wait_ready(self, patience=3 * wire.PATIENCE):
        """JetStream has a leader, and takes requests."""
        wait_until(lambda: self.ask("INFO"), f"JetStream's leader:\n{self.log_tail()}", patience)
        return self

    def wait_current(self, patience=3 * wire.PATIENCE):
        """Each stream has a leader, and both others have all that the leader has."""
        for name in STREAMS:
            wait_until(lambda n=name: is_current(self.ask(f"STREAM.INFO.{n}")), f"{name} on all", patience)
        return self

    def wait_led(self, patience=3 * wire.PATIENCE):
        """Each stream has a leader. A server of 2.10 that was killed may call a copy of a stream without messages not
        current for minutes."""
        for name in STREAMS:
            wait_until(lambda n=name: has_leader(self.ask(f"STREAM.INFO.{n}")), f"a leader of {name}", patience)
        return self

    def log_tail(self):
        return "\n".join(line for node in self.nodes.values() if os.path.exists(node.log)
                         for line in node.log_text().splitlines()[-8:])

    def kill_all(self):
        for node in self.nodes.values():
            if node.process is not None:
                node.process.send_signal(signal.SIGKILL)
        for node in self.nodes.values():
            node.kill()

    def remove(self):
        self.kill_all()
        shutil.rmtree(self.directory, ignore_errors=True)

    # --- files ---

    def files(self, node=None, pattern="*"):
        """Files of one node's or all nodes' stores."""
        nodes = [self.nodes[node]] if node else self.nodes.values()
        return [path for each in nodes for path in pathlib.Path(each.store).rglob(pattern)
                if path.is_file()]

    def holding(self, marker):
        """The files that contain `marker`."""
        return [path for path in self.files() if marker in read_bytes(path)]


def read_bytes(path):
    try:
        return path.read_bytes()
    except FileNotFoundError:  # a server replaced it
        return b""


def has_leader(info):
    return bool(info is not None and info.get("cluster", {}).get("leader"))


def is_current(info):
    if not has_leader(info):
        return False
    replicas = info["cluster"].get("replicas") or []
    return len(replicas) == 2 and all(each.get("current") for each in replicas)
