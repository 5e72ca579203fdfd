# SPDX-License-Identifier: Apache-2.0
"""The systemd unit: what it allows is what the daemon needs, and what it runs works."""

import ctypes
import errno
import os
import platform
import shlex
import socket
import subprocess

import pytest

import hearsay_wire as wire
from conftest import HEARSAYD, binary, is_native, program
from hearsay_wire import pb

UNIT = os.environ.get("HEARSAY_UNIT", "build/systemd/hearsayd.service")

ACT_ALLOW = 0x7FFF0000  # of libseccomp
ACT_EPERM = 0x00050000 | errno.EPERM
ARCH_I386 = 0x40000003
UNKNOWN_CALL = -1
ACT_NO_FAMILY = 0x00050000 | errno.EAFNOSUPPORT
COMPARE_EQUAL = 4
FAMILIES = 64  # more than there are


def settings_of(path):
    """Each setting of a unit: the values of all its lines, in order."""
    settings = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, equals, value = line.rstrip("\n").partition("=")
            if equals and not line.startswith("#"):
                settings.setdefault(name, []).append(value)
    return settings


@pytest.fixture(scope="module")
def unit():
    if not os.path.exists(UNIT):
        pytest.skip("built without libsystemd")
    return settings_of(UNIT)


# --- system calls ---------------------------------------------------------------------------------


def calls_of(name):
    """A system call, or all of a set (@name), as systemd has it."""
    if not name.startswith("@"):
        return {name}
    listed = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name],
                            capture_output=True, text=True, timeout=60, check=True).stdout
    words = [line.strip() for line in listed.splitlines()[1:] if line.startswith(" ")]
    return set().union(*(calls_of(word) for word in words if not word.startswith("#")))


def allowed_calls(unit):
    """Line by line, as systemd.exec(5) has it: what is listed comes in, after ~ it goes."""
    allowed = calls_of("@default")
    for line in unit["SystemCallFilter"]:
        named = set().union(*(calls_of(word) for word in line.lstrip("~").split()))
        allowed = allowed - named if line.startswith("~") else allowed | named
    return allowed


def is_32_bit(path):
    with open(path, "rb") as file:
        return file.read(5)[4] == 1  # ELF's class


def load_filter(library, names):
    """For this process from now on: these calls, and EPERM for all others."""
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(ACT_EPERM)))
    if platform.machine() == "x86_64" and is_32_bit(binary(HEARSAYD)):
        library.seccomp_arch_add(context, ctypes.c_uint32(ARCH_I386))  # as systemd does
    for name in names:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number != UNKNOWN_CALL:
            # A call that this machine does not have is refused, which does no harm.
            library.seccomp_rule_add(context, ctypes.c_uint32(ACT_ALLOW), number, 0)
    if library.seccomp_load(context) != 0:
        raise OSError("the filter cannot be loaded")


def test_filter_lets_the_daemon_have_its_own(make_daemon, unit, sanitized, rng):
    """Under exactly the unit's calls the daemon serves, and loads the filter that it wants."""
    if sanitized:
        pytest.skip(f"no filter of calls under {sanitized}")
    names = sorted(allowed_calls(unit))
    assert len(names) > 200, names
    assert {"seccomp", "prctl"} <= set(names), "what libseccomp loads a filter with"
    assert not {"io_uring_setup", "io_uring_enter", "ptrace", "mount", "setuid"} & set(names)
    library = ctypes.CDLL("libseccomp.so.2")
    daemon = make_daemon(preexec=lambda: load_filter(library, names))
    assert not daemon.find_log("not filtered")
    with daemon.client() as client:
        sent = wire.deposit_of(rng, ["topic:x"], payload=b"x")
        client.call(sent)
        assert client.call(pb.Get(id=sent.id)).payload == b"x"
    daemon.restart()
    with daemon.client() as client:
        assert client.call(pb.Get(id=sent.id)).payload == b"x"


def test_missing_filter_is_a_warning(make_daemon, unit, sanitized):
    """Where loading a filter is not allowed; `call_filter = no` is no reason for a warning."""
    if sanitized:
        pytest.skip(f"no filter of calls under {sanitized}")
    names = sorted(allowed_calls(unit) - {"seccomp"})
    library = ctypes.CDLL("libseccomp.so.2")
    daemon = make_daemon(preexec=lambda: load_filter(library, names))
    daemon.wait_log("warning: system calls are not filtered: .*does not allow it")
    assert not make_daemon("call_filter = no\n").find_log("warning: system calls")


# --- families of addresses ------------------------------------------------------------------------


class Comparison(ctypes.Structure):
    """struct scmp_arg_cmp of libseccomp."""

    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64),
                ("b", ctypes.c_uint64)]


def load_families(library, names):
    """For this process from now on: sockets of these families only, as systemd refuses others."""
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(ACT_ALLOW)))
    number = library.seccomp_syscall_resolve_name(b"socket")
    allowed = {int(getattr(socket, name)) for name in names}
    for family in set(range(FAMILIES)) - allowed:
        library.seccomp_rule_add_array(context, ctypes.c_uint32(ACT_NO_FAMILY), number, 1,
                                       (Comparison * 1)(Comparison(0, COMPARE_EQUAL, family, 0)))
    if library.seccomp_load(context) != 0:
        raise OSError("the filter cannot be loaded")


def test_families_let_the_daemon_see_neighbours(make_daemon, unit, sanitized):
    """With the unit's families the daemon reads the table of neighbours; without, it says so, and
    serves."""
    if sanitized:
        pytest.skip(f"no filter of calls under {sanitized}")
    if not is_native(binary(HEARSAYD)):
        pytest.skip("a filter of this processor's calls kills a daemon for another one")
    (families,) = unit["RestrictAddressFamilies"]
    library = ctypes.CDLL("libseccomp.so.2")
    daemon = make_daemon(preexec=lambda: load_families(library, families.split()))
    assert not daemon.find_log("table of neighbours")
    without = set(families.split()) - {"AF_NETLINK"}
    daemon = make_daemon(preexec=lambda: load_families(library, without))
    assert daemon.find_log("warning: the table of neighbours cannot be read .*allow AF_NETLINK")
    with daemon.client() as client:
        client.call(pb.Ping())


# --- what it runs ---------------------------------------------------------------------------------


def test_reload_checks_the_file_first(make_daemon, unit):
    """`systemctl reload` fails if the first command does; then the daemon hears of nothing."""
    check, reload = (shlex.split(line) for line in unit["ExecReload"])
    assert reload == ["/bin/kill", "-HUP", "$MAINPID"]
    assert check[0] == shlex.split(unit["ExecStart"][0])[0], "the program that runs"
    assert check[1:] == shlex.split(unit["ExecStart"][0])[1:] + ["--check-config"]

    daemon = make_daemon(start=False)
    command = [program(HEARSAYD), *check[1:], "--config", daemon.config_file]
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0
    daemon.configure("colour = red\n")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert f"{daemon.config_file}:4: unknown key `colour`" in done.stderr


# --- what it may take -----------------------------------------------------------------------------


def test_no_core_dumps(unit):
    assert unit["LimitCORE"] == ["0"]


def test_limits_leave_room(make_daemon, unit, rng, sanitized):
    """After all kinds of work the daemon is far from its limits."""
    number, suffix = unit["MemoryMax"][0][:-1], unit["MemoryMax"][0][-1]
    memory_max = int(number) << {"M": 20, "G": 30}[suffix]
    daemon = make_daemon()
    with daemon.client() as client, daemon.administrator() as administrator:
        sent = wire.deposit_of(rng, ["topic:x"], payload=b"x")
        client.call(sent)
        client.call(pb.Get(id=sent.id))
        administrator.call(pb.Check())
    if not sanitized:  # whose memory is not the daemon's own
        assert daemon.resident_bytes() < memory_max / 8
    assert len(os.listdir(f"/proc/{daemon.process.pid}/task")) <= int(unit["TasksMax"][0]) / 4
