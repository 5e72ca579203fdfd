# SPDX-License-Identifier: Apache-2.0
"""`--server auto`: this machine, announcements in DNS, the default gateway. In a network of its own."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys

import pytest

import cli_runner
import conftest
import hearsay_wire as wire

A, PTR, TXT, SRV = 1, 12, 16, 33
QUESTION = "_hearsay._tcp.cafe.example"
ANNOUNCE = os.path.join(os.path.dirname(__file__), "../../packaging/announce/dnsmasq.conf")
RESPONDER = os.path.join(os.path.dirname(__file__), "dns_responder.py")


def name(text):
    """A name as it is on the wire."""
    return b"".join(bytes([len(label)]) + label.encode() for label in text.split(".")) + b"\0"


def server(priority, port, target):
    return struct.pack("!HHH", priority, 0, port) + name(target)


def text(*strings):
    return b"".join(bytes([len(string)]) + string.encode() for string in strings)


def announce(instance, priority=0, port=7117, target="ap.cafe.example", strings=("txtvers=1",)):
    """The records of one server."""
    full = f"{instance}.{QUESTION}"
    return [(QUESTION, PTR, name(full)), (full, SRV, server(priority, port, target)),
            (full, TXT, text(*strings))]


class Net:
    """Two network namespaces with a cable between them: the client's, and the gateway's."""

    def __init__(self, folder):
        self.folder, self.processes = str(folder), []
        self.questions = os.path.join(self.folder, "questions")
        for file, content in (("resolv.conf", "search cafe.example\nnameserver 127.0.0.1\n"),
                              ("hosts", "127.0.0.3 ap.cafe.example\n127.0.0.4 other.cafe.example\n")):
            with open(os.path.join(self.folder, file), "w", encoding="ascii") as out:
                out.write(content)
        mounts = " && ".join(f"mount --bind {self.folder}/{file} /etc/{file}" for file in ("resolv.conf", "hosts"))
        self.near = self.start("unshare", "--net", "--mount", "sh", "-c", f"{mounts} && echo up && exec sleep 600",
                               stdout=subprocess.PIPE)
        self.far = self.start("unshare", "--net", "sh", "-c", "echo up && exec sleep 600", stdout=subprocess.PIPE)
        for process in (self.near, self.far):
            if process.stdout.readline() != b"up\n":
                self.stop()
                pytest.skip("no network of our own here")
        if subprocess.run([*self.inside(self.near), "ip", "link", "set", "lo", "up"], check=False).returncode != 0:
            self.stop()
            pytest.skip("no network of our own here")  # root of a container that may not configure networks
        for args in (["link", "add", "near0", "type", "veth", "peer", "name", "far0"],
                     ["link", "set", "far0", "netns", str(self.far.pid)],
                     ["address", "add", "10.77.0.2/24", "dev", "near0"],
                     ["link", "set", "near0", "addrgenmode", "none", "up"],
                     ["address", "add", "fe80::2/64", "dev", "near0", "nodad"]):
            self.ip(self.near, *args)
        for args in (["link", "set", "lo", "up"], ["address", "add", "10.77.0.1/24", "dev", "far0"],
                     ["link", "set", "far0", "addrgenmode", "none", "up"],
                     ["address", "add", "fe80::1/64", "dev", "far0", "nodad"]):
            self.ip(self.far, *args)

    def start(self, *command, **options):
        self.processes.append(subprocess.Popen(command, **options))
        return self.processes[-1]

    @staticmethod
    def inside(holder):
        return ["nsenter", "--net", "--mount", "--target", str(holder.pid)]

    def ip(self, holder, *args):
        subprocess.run([*self.inside(holder), "ip", *args], check=True, timeout=wire.PATIENCE)

    def answer(self, records):
        """Starts the name server."""
        data = records if records == "silent" else [[owner, kind, data and data.hex()] for owner, kind, data in records]
        self.start(*self.inside(self.near), sys.executable, RESPONDER, json.dumps(data), self.questions)
        wire.wait_until(lambda: "ready" in self.asked(), "the name server")

    def asked(self):
        if not os.path.exists(self.questions):
            return []
        with open(self.questions, encoding="ascii") as file:
            return file.read().splitlines()

    def find(self, *options):
        """Runs `hearsay --server auto ping` in the client's network: (exit code, lines of stderr)."""
        cli = cli_runner.Cli("auto", self.folder)
        done = subprocess.run([*self.inside(self.near), *cli.command("ping"), *options], env=cli.environment(),
                              capture_output=True, text=True, check=False, timeout=wire.PATIENCE)
        for report in conftest.REPORTS:
            assert report not in done.stderr, done.stderr
        return done.returncode, done.stderr.splitlines()

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def net(tmp_path):
    if os.geteuid() != 0 or not shutil.which("nsenter"):
        pytest.skip("no network of our own here")
    made = Net(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def serve(make_daemon, net):
    def start(holder, *addresses, **options):
        config = "[daemon]\n" + "".join(f"listen = {address}\n" for address in addresses)
        daemon = make_daemon(wrapper=net.inside(holder), start=False, **options)
        with open(daemon.config_file, "w", encoding="utf-8") as file:
            file.write(config + f"listen = {daemon.socket_path}\n")
        daemon.launch().wait_log("ready: ")
        return daemon
    return start


def test_this_machine_first(net, serve):
    """If hearsayd runs here, nothing is asked on the network."""
    net.answer(announce("cafe"))
    serve(net.near, "127.0.0.1:7117")
    assert net.find() == (0, ["hearsay: found 127.0.0.1 (on this machine)"])
    assert net.asked() == ["ready"]


def test_announced(net, serve):
    net.answer(announce("cafe", port=7200))
    serve(net.near, "127.0.0.3:7200")
    assert net.find() == (0, ["hearsay: found ap.cafe.example:7200 (announced by DNS as "
                                  f"cafe.{QUESTION})"])


def test_two_announced(net, serve):
    """Both are listed; the one of the smaller priority is taken, and if it is silent the other."""
    net.answer(announce("b", 20, target="other.cafe.example") + announce("a", 10))
    second = serve(net.near, "127.0.0.4:7117")
    code, lines = net.find()
    assert code == 0 and lines == [
        f"hearsay: ap.cafe.example:7117 is announced by DNS as a.{QUESTION}",
        f"hearsay: other.cafe.example:7117 is announced by DNS as b.{QUESTION}",
        f"hearsay: found other.cafe.example:7117 (announced by DNS as b.{QUESTION})"]
    serve(net.near, "127.0.0.3:7117")
    assert net.find()[1][2].startswith("hearsay: found ap.cafe.example:7117 ")
    assert second.is_running()


@pytest.mark.parametrize("records", [
    announce("cafe", strings=("txtvers=2",)),
    [(QUESTION, PTR, b"\xc0\x00"), (QUESTION, PTR, b"\xc0\x2c")],  # pointers forward, and to itself
    [(QUESTION, PTR, b"\x3fshort")],
    [(QUESTION, PTR, name(f"cafe.{QUESTION}")), (f"cafe.{QUESTION}", SRV, b"\0\0\0")],
    [(QUESTION, PTR, name(f"cafe.{QUESTION}")), (f"cafe.{QUESTION}", SRV, server(0, 7117, "a/b"))],
    announce("cafe", strings=())[:2] + [(f"cafe.{QUESTION}", TXT, b"\xfftxtvers=1")],
], ids=["version", "loop", "cut", "server", "path", "text"])
def test_wrong_announcements(net, serve, records):
    """They are left out; the gateway is found behind them."""
    net.answer(records)
    serve(net.near, "127.0.0.3:7117")
    net.ip(net.near, "route", "add", "default", "via", "10.77.0.1")
    serve(net.far, "10.77.0.1:7117")
    assert net.find() == (0, ["hearsay: found 10.77.0.1 (the default gateway)"])
    assert f"{QUESTION} {PTR}" in net.asked()


def test_a_gateway_on_the_link(net, serve):
    """A default route of IPv6 by an address that needs its device."""
    net.answer([])
    net.ip(net.near, "-6", "route", "add", "default", "via", "fe80::1", "dev", "near0")
    serve(net.far, "[::]:7117")
    assert net.find() == (0, ["hearsay: found [fe80::1%near0] (the default gateway)"])


def test_nobody(net):
    """A name server that says nothing, gateways that nobody has: a sentence."""
    net.answer("silent")
    net.ip(net.near, "route", "add", "default", "via", "10.77.0.9")
    net.ip(net.near, "-6", "route", "add", "default", "via", "fe80::9", "dev", "near0")
    assert net.find() == (3, ["hearsay: no hearsayd answered within 3 seconds on this machine, by an announcement "
                              "in DNS, or at the default gateway; --server ADDRESS names one"])


def test_many_announced(net):
    """Eight servers that are not there: the search ends before all of them have had their 700 ms."""
    records = []
    for i in range(8):
        records += announce(f"cafe{i}", target=f"ap{i}.cafe.example")
        records.append((f"ap{i}.cafe.example", A, bytes([10, 77, 0, 10 + i])))
    net.answer(records)
    code, lines = net.find()
    assert code == 3 and lines[-1].startswith("hearsay: no hearsayd answered within 3 seconds on this machine")
    # All that were found are printed: eight, unless this machine is so busy that 17 questions take more than a second.
    assert len(lines) == 1 + len([line for line in net.asked() if line.endswith(f" {TXT}")])
    # Four have 700 ms, the fifth has the rest; a timer that ends a millisecond early leaves a sixth that rest.
    assert len([line for line in net.asked() if line.startswith("ap") and line.endswith(f" {A}")]) < 8


def test_slow_announcements(net):
    """A name server that answers only half of the questions: the others wait a second each."""
    records = []
    for i in range(8):
        records += announce(f"cafe{i}")[:2] + [(f"cafe{i}.{QUESTION}", TXT, None)]
    net.answer(records)
    assert net.find()[0] == 3
    assert len([line for line in net.asked() if line.endswith(f" {SRV}")]) <= 2


def test_never_unasked(net, serve):
    """Without `auto` nothing is asked, not even if nobody answers."""
    net.answer(announce("cafe"))
    code, lines = net.find("--server", "127.0.0.1")
    assert code == 3 and "cannot connect" in lines[0]
    assert net.asked() == ["ready"]


def test_dnsmasq(net, serve):
    """As dnsmasq announces it, with the file in packaging/announce."""
    if not shutil.which("dnsmasq", path=os.environ["PATH"] + ":/usr/sbin"):
        pytest.skip("there is no dnsmasq here")
    serve(net.near, "127.0.0.3:7117")
    file = os.path.join(net.folder, "dnsmasq.conf")
    with open(ANNOUNCE, encoding="ascii") as shipped, open(file, "w", encoding="ascii") as out:
        out.write(re.sub(r"\blan\b", "cafe.example", shipped.read()))
    dnsmasq = net.start(*net.inside(net.near), "dnsmasq", "--no-daemon", f"--conf-file={file}", "--user=root",
                        "--no-resolv", "--no-hosts", "--listen-address=127.0.0.1", "--bind-interfaces",
                        "--log-facility=-", stderr=subprocess.PIPE, text=True)
    while "started" not in dnsmasq.stderr.readline():
        assert dnsmasq.poll() is None
    code, lines = net.find()
    assert code == 0 and lines[0].startswith("hearsay: found ap.cafe.example:7117 (announced by DNS as hearsay.")
