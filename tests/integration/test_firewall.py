# SPDX-License-Identifier: Apache-2.0
"""The firewall that docs/web.md shows, between two network namespaces: an access point and a phone.

Where all names lead to the access point, phones try https at port 443 before they show anything. A
connection that is refused ends at once; one whose packets are dropped ends with the phone's patience."""

import contextlib
import os
import re
import shutil
import subprocess
import sys

import pytest

import hearsay_wire as wire

ACCESS_POINT, PHONE = "192.168.8.1", "192.168.8.50"
# Connects and prints what came of it; a firewall that drops lets it end by its own limit of time.
TRY = """
import socket, sys
kind = socket.SOCK_STREAM if sys.argv[1] == "tcp" else socket.SOCK_DGRAM
with socket.socket(socket.AF_INET, kind) as one:
    one.settimeout(10)
    try:
        one.connect((sys.argv[2], int(sys.argv[3])))
        if sys.argv[1] == "udp":
            one.send(b"x")
            one.recv(1)
        print("connected")
    except OSError as error:
        print(type(error).__name__)
"""


def rules():
    """The file of nftables that the page shows."""
    with open(os.path.join(wire.ROOT, "docs", "web.md"), encoding="utf-8") as file:
        (block,) = re.findall(r"```\n( *#!/usr/sbin/nft -f\n.*?)```", file.read(), re.DOTALL)
    return block


def test_what_guests_may_not_reach_is_refused():
    """Rejected, not dropped; TCP with a reset, because not every phone heeds ICMP."""
    chain = re.search(r"chain input \{(.*?)\}\n *chain", rules(), re.DOTALL).group(1)
    assert "drop" not in chain
    assert 'iifname "wlan0" meta l4proto tcp reject with tcp reset' in chain
    assert re.findall(r"\S.*", chain)[-1] == 'iifname "wlan0" reject'


class Network:
    """Two namespaces, each held by a process, with a cable between them."""

    def __init__(self, stack):
        self.access_point, self.phone = (stack.enter_context(self.hold()) for _ in range(2))

    @staticmethod
    @contextlib.contextmanager
    def hold():
        with subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as holder:
            with contextlib.suppress(BrokenPipeError):
                holder.stdin.write(b"\n")  # cat writes it back once it is in its namespace
                holder.stdin.flush()
            if holder.stdout.read(1) == b"":
                pytest.skip(f"no network namespace here: {holder.stderr.read().decode()}")
            yield holder.pid
            holder.stdin.close()

    def run(self, pid, *command, **options):
        return subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", *command], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              timeout=wire.PATIENCE, **options)

    def must(self, pid, *command, **options):
        done = self.run(pid, *command, **options)
        if done.returncode != 0:
            pytest.skip(f"{' '.join(command)}: {done.stdout}")

    def connect(self):
        self.must(self.access_point, "ip", "link", "add", "wlan0", "type", "veth", "peer", "name",
                  "wlan0", "netns", str(self.phone))
        for pid, address in ((self.access_point, ACCESS_POINT), (self.phone, PHONE)):
            self.must(pid, "ip", "address", "add", f"{address}/24", "dev", "wlan0")
            self.must(pid, "ip", "link", "set", "wlan0", "up")

    def tried(self, protocol, port):
        return self.run(self.phone, sys.executable, "-c", TRY, protocol, ACCESS_POINT,
                        str(port)).stdout.strip()


@pytest.fixture
def network():
    for program in ("nft", "ip", "unshare", "nsenter"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}")
    with contextlib.ExitStack() as stack:
        found = Network(stack)
        found.connect()
        yield found


def test_a_phone_is_refused_at_once(network):
    """With the rules in force, https and QUIC are refused, and the page's port is let through."""
    network.must(network.access_point, "nft", "list", "ruleset")  # the kernel has nftables
    checked = network.run(network.access_point, "nft", "--check", "--file", "-", input=rules())
    assert (checked.returncode, checked.stdout) == (0, "")
    # Nothing listens at port 80, so that the kernel refuses there, too: the counter tells the two apart.
    counted = rules().replace("{ 53, 80 } accept", "{ 53, 80 } counter accept")
    loaded = network.run(network.access_point, "nft", "--file", "-", input=counted)
    assert (loaded.returncode, loaded.stdout) == (0, "")
    assert network.tried("tcp", 443) == "ConnectionRefusedError"
    assert network.tried("udp", 443) == "ConnectionRefusedError"
    passed = r"tcp dport \{ 53, 80 \} counter packets [1-9]"
    shown = network.run(network.access_point, "nft", "list", "ruleset").stdout
    assert re.search(passed, shown) is None, shown
    assert network.tried("tcp", 80) == "ConnectionRefusedError"
    shown = network.run(network.access_point, "nft", "list", "ruleset").stdout
    assert re.search(passed, shown), shown
