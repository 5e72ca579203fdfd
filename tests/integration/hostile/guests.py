# SPDX-License-Identifier: Apache-2.0
"""A guest network: an access point with a bridge, and devices that are each in a network namespace of
their own with a cable (a veth pair) to the bridge. Loopback, which devices.py has, has no neighbour
table, so that only here the kernel knows which device is behind an address.

    NET4.1, PREFIX::1     the access point, where the test and its daemons run
    each device           a link-layer address of its own, and as many addresses as the test gives it
"""

import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
import threading

import devices
import pytest

PREFIX, NET4 = "fd00:7117:1:1", "10.71.17"
SERVER4, SERVER6 = f"{NET4}.1", f"{PREFIX}::1"


def _ip(*commands):
    """Runs commands of `ip` in this thread's network: an error message, or ""."""
    done = subprocess.run(["ip", "-batch", "-"], input="\n".join(commands), text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return "" if done.returncode == 0 else done.stdout


# What `ip` says on a machine where nobody can make bridges and cables. Any other error is a fault of the
# test: were it a skip, nobody would see that the attacks are not tried any more.
CANNOT = ("not permitted", "not supported", "Unknown device type", "no network namespace")


def _check(why_not):
    if any(text in why_not for text in CANNOT):
        pytest.skip(f"no bridge with devices here: {why_not}")
    assert not why_not, why_not


def _must(*commands):
    _check(_ip(*commands))


def _remove_links():
    """Removes the bridge and its ends of the cables at once. Those of devices that are closed would go
    later, when the kernel cleans up their networks, and a test that was interrupted leaves all behind:
    the next bridge has the same names."""
    assert devices.has_entered(), "the network of this machine may have a bridge of this name"
    for _, name in socket.if_nameindex():
        if name == "guests" or name.startswith("port"):
            _ip(f"link del {name}")


def _set_network(descriptor):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, devices.CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def _own_network():
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


class Device:
    """A device on the bridge. `addresses` are IPv4 and IPv6."""

    def __init__(self, number, home, addresses):
        self.home, self.addresses, self.error = home, addresses, ""
        self.link = f"02:71:17:5a:{number // 256:02x}:{number % 256:02x}"
        self.network = None
        # A thread has a network of its own, so that `ip` can put the other end of the cable into
        # that of this process.
        thread = threading.Thread(target=self._connect, args=(number,))
        thread.start()
        thread.join()
        _check(self.error)

    def _connect(self, number):
        if ctypes.CDLL(None).unshare(devices.CLONE_NEWNET) != 0:
            self.error = "no network namespace"
            return
        self.network = _own_network()
        # The link-local address, too, can be used at once: the kernel asks for neighbours with it.
        given = [f"address add {one}/{64 if ':' in one else 24} dev eth0{' nodad' if ':' in one else ''}"
                 for one in (*self.addresses, f"fe80::{number:x}")]
        self.error = _ip(f"link add eth0 address {self.link} type veth peer name port{number} "
                         f"netns {os.getpid()}", "link set eth0 addrgenmode none", *given,
                         "link set eth0 up", "link set lo up")

    @contextlib.contextmanager
    def inside(self):
        """A socket that is made here is the device's."""
        _set_network(self.network)
        try:
            yield self
        finally:
            _set_network(self.home)

    def close(self):
        if self.network is not None:
            os.close(self.network)


class Guests:
    """The bridge, and the devices that were added."""

    def __init__(self):
        if os.geteuid() != 0:
            pytest.skip("only root can make devices on a bridge")
        if shutil.which("ip") is None:
            pytest.skip("there is no `ip`")
        self.home, self.devices, self.announced = _own_network(), [], 0
        _remove_links()
        _must("link add guests type bridge mcast_snooping 0", f"address add {SERVER4}/24 dev guests",
              f"address add {SERVER6}/64 dev guests nodad", "link set guests up")

    def add(self, *addresses):
        """One more device with these addresses, on the network at once."""
        number = len(self.devices) + 1
        device = Device(number, self.home, addresses)
        self.devices.append(device)
        _must(f"link set port{number} master guests", f"link set port{number} up")
        return device

    def flush(self):
        """The kernel forgets all neighbours."""
        _must("neigh flush dev guests")

    def announce(self, addresses):
        """The kernel learns a new link-layer address for each of these addresses, and says so to
        whoever listens."""
        self.announced += 1
        _must(*[f"neigh replace {one} lladdr 02:71:17:5b:00:{self.announced:02x} dev guests nud reachable"
                for one in addresses])

    def introduce(self, device):
        """The kernel learns the device behind each of its IPv4 addresses, without a daemon."""
        with socket.create_server((SERVER4, 0)) as listener:
            for source in device.addresses:
                with device.inside():
                    made = socket.socket()
                    made.bind((source, 0))
                    made.connect(listener.getsockname())
                listener.accept()[0].close()
                made.close()

    def add_own(self, addresses):
        """Gives addresses to the access point itself: they have no entry in its neighbour table."""
        _must(*[f"address add {one}/64 dev guests nodad" for one in addresses])

    def route(self, prefix, router, addresses):
        """Puts a /64 behind a device, which has these addresses of it: they are off link."""
        _must(f"route add {prefix}::/64 via {router.addresses[0]} dev guests")
        with router.inside():
            _must(*[f"address add {one}/128 dev lo nodad" for one in addresses])

    def close(self):
        _remove_links()
        for device in self.devices:
            device.close()
        os.close(self.home)


def unread(pid):
    """(bytes that wait at a process's netlink socket, messages that it has lost)"""
    inodes = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            inodes.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    with open("/proc/thread-self/net/netlink", encoding="ascii") as file:
        (fields,) = [line.split() for line in file if f"socket:[{line.split()[-1]}]" in inodes]
    return int(fields[4]), int(fields[8])


def addresses4(count, first):
    return [f"{NET4}.{number}" for number in range(first, first + count)]


def addresses6(count, first):
    return [f"{PREFIX}::{number:x}" for number in range(first, first + count)]


@pytest.fixture(name="guests")
def make_guests():
    if "qemu" in os.environ.get("HEARSAY_WRAPPER", ""):
        pytest.skip("QEMU does not let a program ask for the kernel's table of neighbours")
    made = Guests()
    yield made
    made.close()
