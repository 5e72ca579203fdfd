# SPDX-License-Identifier: Apache-2.0
"""Attacks are in this folder, one a file, named by the line of docs/notes/findings-0.1.0.md (S) or
docs/notes/findings-0.2.0.md (T) that each one is. Every file has tests, which count (steps, bytes,
sessions, answers) and never look at a clock, and may have a `measure(program)`, which
tests/bench/hostile.py calls for times.

They run in a network namespace with loopback only, on which one machine is many devices:

    PREFIX::1                  the access point
    PREFIX::2 to PREFIX::100   256 - 1 devices of its own /64 (hexadecimal)
    ELSEWHERE[n]::1            devices of 8 other /64s, which are off link
    127.0.0.0/8                devices with IPv4, as on any Linux

A daemon whose listener is marked `limited` takes each of these addresses for a sender of its own.
"""

import ctypes
import fcntl
import os
import socket
import struct

import hearsay_wire as wire
from hearsay_wire import pb

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFADDR, SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8916, 0x8913, 0x8914
IFF_UP = 1
IFA_F_TENTATIVE = 0x40
LOOPBACK_INDEX = 1  # of `lo` in a namespace that is new

PREFIX = "fd00:7117:0:1"
SERVER = f"{PREFIX}::1"
DEVICES = [f"{PREFIX}::{number:x}" for number in range(2, 0x101)]
ELSEWHERE = [f"fd00:7117:0:{network:x}::1" for network in range(2, 10)]

_has_entered = False


def limited(make_daemon, more="", words="limited"):
    """A daemon that takes each of these addresses for a sender: (daemon, its address here, its
    address with IPv4). `more` are lines of the configuration, first those of [daemon]."""
    daemon = make_daemon(f"listen = [{SERVER}]:0 {words}\nlisten = 127.0.0.2:0 {words}\n{more}")
    port = int(daemon.find_log(rf"listening on \[{SERVER}\]:(\d+)").group(1))
    other = int(daemon.find_log(r"listening on 127\.0\.0\.2:(\d+)").group(1))
    return daemon, (SERVER, port), ("127.0.0.2", other)


def greeted(address, source, **options):
    """A client from `source` that got a Welcome; None when it did not get in."""
    client = None
    try:
        client = wire.Client(address, source=source, hello=False, **options)
        client.post(pb.Hello(versions=[1]))
        if client.receive().HasField("welcome"):
            return client
    except (wire.Ended, OSError):
        pass
    if client is not None:
        client.close()
    return None


def _unshare():
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0:
        if libc.unshare(CLONE_NEWNET) == 0:
            return ""
        return os.strerror(ctypes.get_errno())
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        return os.strerror(ctypes.get_errno())
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"),
                       ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    return ""


def _add_address(control, address):
    request = socket.inet_pton(socket.AF_INET6, address) + struct.pack("=Ii", 128, LOOPBACK_INDEX)
    fcntl.ioctl(control, SIOCSIFADDR, request)


def add_addresses(addresses):
    """Adds IPv6 addresses to the network, and waits until they can be used."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
        for address in addresses:
            _add_address(control, address)
    wire.wait_until(_can_be_used, "the addresses can be used")


def _can_be_used():
    """The kernel looks for duplicates of a new address on a queue of its own, on loopback, too: until
    then the address is tentative and cannot be bound."""
    with open("/proc/self/net/if_inet6", encoding="ascii") as file:
        return not any(int(line.split()[4], 16) & IFA_F_TENTATIVE for line in file)


def has_entered():
    """Whether the network is this process's own."""
    return _has_entered


def enter_own_network():
    """Moves this process into a network of its own. "", or the reason why that cannot be had."""
    global _has_entered
    if _has_entered:
        return ""
    why_not = _unshare()
    if why_not:
        return why_not
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", request)[1] | IFF_UP
        try:
            fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags))
        except PermissionError as error:  # root of a container that may not configure networks
            return f"loopback stays down: {error.strerror}"
    try:
        add_addresses((SERVER, *DEVICES, *ELSEWHERE))
    except OSError as error:
        return f"no IPv6 here: {error.strerror}"
    _has_entered = True
    return ""
