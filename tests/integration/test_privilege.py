# SPDX-License-Identifier: Apache-2.0
"""What the daemon may do to the machine: users, system calls, files, the unit."""

import contextlib
import os
import pwd
import random
import select
import shutil
import signal
import socket
import stat
import subprocess
import tempfile

import pytest

import conftest
import hearsay_wire as wire
from hearsay_wire import pb

USER = "nobody"

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@pytest.fixture
def open_directory():
    """A directory on storage that every user gets into, as those of the tests are not."""
    path = tempfile.mkdtemp(prefix="hearsay-user-", dir="/var/tmp")
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path)


def status_of(daemon, thread=None):
    pid = daemon.process.pid
    with open(f"/proc/{pid}/task/{thread or pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def low_port():
    """A free port that is root's."""
    for port in random.sample(range(700, 1024), 300):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    return pytest.fail("no port below 1024 is free")


def as_user(make_daemon, directory, more=""):
    """A daemon that becomes USER; its administrator's socket is in its data directory."""
    data = os.path.join(directory, "deep", "data")
    daemon = make_daemon(start=False, data=data)
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(f"[daemon]\nuser = {USER}\nlisten = 127.0.0.1:0\n{more}")
    return daemon


# --- users ----------------------------------------------------------------------------------------


@only_root
def test_a_socket_in_a_directory_of_root(make_daemon, open_directory):
    """The sentence says what to do about the directory."""
    daemon = as_user(make_daemon, open_directory, f"listen = {open_directory}/socket\n").launch()
    assert daemon.wait_exit() == 1
    assert "socket: permission denied; its directory belongs to somebody else: `chown` it" in daemon.log_text()


@only_root
def test_binds_as_root_and_goes_on_as_the_user(make_daemon, open_directory, rng):
    """A port below 1024, made by root; data, sockets and the process are the user's."""
    port = low_port()
    daemon = as_user(make_daemon, open_directory, f"listen = 127.0.0.1:{port}\n").start()
    user = pwd.getpwnam(USER)
    status = status_of(daemon)
    assert status["Uid"].split() == [str(user.pw_uid)] * 4
    assert status["Gid"].split() == [str(user.pw_gid)] * 4
    assert "0" not in status["Groups"].split()
    for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(status[kind], 16) == 0
    assert status["NoNewPrivs"] == "1"

    with wire.Client(("127.0.0.1", port)) as client:
        sent = wire.deposit_of(rng, ["topic:x"], payload=b"mine")
        client.call(sent)
    for name in os.listdir(daemon.data):
        info = os.lstat(os.path.join(daemon.data, name))
        assert info.st_uid == user.pw_uid, name
        assert stat.S_IMODE(info.st_mode) & 0o077 == 0, name
    assert stat.S_IMODE(os.stat(daemon.data).st_mode) == 0o700
    daemon.restart()
    with wire.Client(("127.0.0.1", port)) as client:
        assert client.call(pb.Get(id=sent.id)).payload == b"mine"


@only_root
def test_ends_with_its_parent(make_daemon, open_directory):
    """As init scripts of OpenWrt ask: a jail that is killed with -9 cannot end what is in it."""
    daemon = as_user(make_daemon, open_directory)
    parent = subprocess.Popen(
        ["sh", "-c", '"$@" & echo $!; wait', "sh", conftest.program(conftest.HEARSAYD), "--config",
         daemon.config_file, "--data", daemon.data], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "HEARSAY_END_WITH_PARENT": "1"})
    child = os.pidfd_open(int(parent.stdout.readline()))
    with parent:
        while "ready: " not in parent.stderr.readline():
            pass
        parent.kill()
    assert select.select([child], [], [], wire.PATIENCE)[0], "hearsayd has ended"
    os.close(child)


@only_root
def test_reloads_as_the_user(make_daemon, open_directory):
    """The file is read again by the user; where it cannot be, the start says so already."""
    daemon = as_user(make_daemon, open_directory).start()
    daemon.wait_log("cannot read .*a reload will be refused")
    os.chmod(daemon.config_file, 0o600)
    mark = len(daemon.log)
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_log("configuration not reloaded, the old one stays", mark)

    readable = os.path.join(open_directory, "hearsayd.conf")
    shutil.copy(daemon.config_file, readable)
    os.chmod(readable, 0o644)
    daemon.stop()
    daemon.config_file = readable
    daemon.start()
    assert not daemon.find_log("a reload will be refused")
    mark = len(daemon.log)
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_log("configuration reloaded", mark)


@only_root
def test_anothers_data_is_not_taken(make_daemon, open_directory):
    """Root's data directory stays root's; the sentence says what to do."""
    daemon = as_user(make_daemon, open_directory)
    os.makedirs(daemon.data, 0o700)
    with open(os.path.join(daemon.data, "roots"), "wb"):
        pass
    daemon.launch()
    assert daemon.wait_exit() == 1
    assert "belongs to user 0, but the program goes on as `nobody`: run `chown" in daemon.log_text()


@only_root
def test_a_start_that_was_killed_is_no_obstacle(make_daemon, open_directory):
    """Between making the data directory and giving it to the user: it is root's, and empty."""
    daemon = as_user(make_daemon, open_directory)
    os.makedirs(daemon.data, 0o700)
    daemon.start()
    assert os.stat(daemon.data).st_uid != 0


def test_users_that_cannot_be(make_daemon):
    """Names that nobody has, that are no names, and root."""
    for name, sentence in [("no-such-user-4711", "there is no user `no-such-user-4711`"),
                           ("root", "is root, who may do anything"),
                           ("4711", "must be a user's name, such as hearsay"),
                           ("a b", "must be a user's name, such as hearsay")]:
        daemon = make_daemon(f"user = {name}\n", start=False).launch()
        assert daemon.wait_exit() == 2
        assert sentence in daemon.log_text()


@only_root
def test_check_config_opens_the_key_as_the_user(make_daemon, open_directory):
    """As the daemon does: what only root can read is refused before a reload, and not by it."""
    key, certificate = (os.path.join(open_directory, name) for name in ("key.pem", "certificate.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", "30", "-keyout", key, "-out", certificate, "-subj", "/CN=x"],
                   check=True, capture_output=True)
    os.chmod(certificate, 0o644)
    os.chmod(key, 0o600)
    daemon = as_user(make_daemon, open_directory, "listen = 127.0.0.1:0 tls\n"
                     f"tls_certificate = {certificate}\ntls_key = {key}\n")
    for owner, code in ((0, 2), (pwd.getpwnam(USER).pw_uid, 0)):
        os.chown(key, owner, -1)
        done = subprocess.run([conftest.program(conftest.HEARSAYD), "--config", daemon.config_file,
                               "--check-config"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=wire.PATIENCE, check=False)
        assert done.returncode == code and (key in done.stdout) == (code != 0), done.stdout


@only_root
def test_root_is_told_that_it_is_root(make_daemon):
    assert make_daemon().find_log("running as root: set `user`")


def test_directory_that_others_may_write_is_refused(make_daemon):
    daemon = make_daemon(start=False)
    os.makedirs(daemon.data)
    os.chmod(daemon.data, 0o770)
    daemon.launch()
    assert daemon.wait_exit() == 1
    assert "others may write to the data directory" in daemon.log_text()
    assert "chmod go-w" in daemon.log_text()


# --- system calls ---------------------------------------------------------------------------------


def test_calls_are_filtered(make_daemon, sanitized):
    """All threads, from the moment that the daemon serves; not if it is told not to."""
    if sanitized:
        pytest.skip(f"no filter of calls under {sanitized}")
    daemon = make_daemon()
    without = make_daemon("call_filter = no\n")
    without.wait_log("system calls are not filtered: `call_filter = no`")
    before = int(status_of(without)["Seccomp_filters"])  # a container brings filters of its own
    for thread in os.listdir(f"/proc/{daemon.process.pid}/task"):
        assert int(status_of(daemon, thread)["Seccomp_filters"]) > before, "a thread without a filter"
    assert not daemon.find_log("not filtered")


def rings_of(daemon):
    folder = f"/proc/{daemon.process.pid}/fd"
    rings = []
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # closed since it was listed
            rings += [name] if "io_uring" in os.readlink(os.path.join(folder, name)) else []
    return rings


def test_loop_that_would_use_a_ring(make_daemon, sanitized):
    """libuv makes a ring with its loop, unasked from 1.50 on; the filter would refuse its use."""
    if sanitized:
        pytest.skip(f"no filter of calls under {sanitized}")
    preload = os.environ.get("HEARSAY_UV_RINGS", "build/tests/integration/libuv_rings.so")
    env = {"LD_PRELOAD": os.path.abspath(preload), "UV_USE_IO_URING": "1"}
    with_ring = make_daemon("call_filter = no\n", env=env)
    if not rings_of(with_ring):
        pytest.skip("no io_uring here")
    with with_ring.client() as client:
        client.call(pb.Ping())
    daemon = make_daemon(env=env)
    with daemon.client() as client:
        client.call(pb.Ping())
    assert not rings_of(daemon)


# --- the unit -------------------------------------------------------------------------------------


def test_the_unit_is_hardened():
    """Exposure of at most 1.6 by systemd's own reckoning; PrivateUsers= would make it 1.5, and
    `admin_group` impossible."""
    unit = os.environ.get("HEARSAY_UNIT", "build/systemd/hearsayd.service")
    if not os.path.exists(unit):
        pytest.skip("built without libsystemd")
    done = subprocess.run(
        ["systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=16", unit],
        capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Overall exposure level" in done.stdout
