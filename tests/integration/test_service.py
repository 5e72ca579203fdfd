# SPDX-License-Identifier: Apache-2.0
"""The service manager's side: inherited sockets, notices, the watchdog, the log."""

import os
import re
import signal
import socket
import subprocess
import sys

import pytest

import conftest
import hearsay_wire as wire
from hearsay_wire import pb

# Puts descriptors where the protocol of sd_listen_fds(3) wants them, then becomes the daemon.
LAUNCHER = """
import os, sys
fds = [int(fd) for fd in sys.argv[1].split(",")]
high = [os.dup2(fd, 100 + i) for i, fd in enumerate(fds)]
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i)
    os.set_inheritable(3 + i, True)
os.closerange(3 + len(high), 200)
os.environ.update(LISTEN_FDS=str(len(high)), LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


def listening(family, address):
    one = socket.socket(family, socket.SOCK_STREAM)
    one.bind(address)
    one.listen()
    return one


def launched_with(make_daemon, sockets, config=""):
    """A daemon that inherits these listening sockets."""
    numbers = [s.fileno() for s in sockets]
    wrapper = [sys.executable, "-c", LAUNCHER, ",".join(map(str, numbers))]
    return make_daemon(config, wrapper=wrapper, pass_fds=numbers, start=False)


@pytest.fixture
def notices():
    """A socket for notices as a service manager has; yields its path and a reader."""
    path = f"/tmp/hs-notify-{os.getpid()}"
    one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.bind(path)
    one.settimeout(wire.PATIENCE)

    def until(word):
        """All notices up to the one that has a line beginning with `word`."""
        got = []
        while not any(line.startswith(word) for line in got[-1:] and got[-1].split("\n")):
            got.append(one.recv(4096).decode())
        return got

    yield path, until
    one.close()
    os.unlink(path)


def needs_systemd():
    """Skips where the program was built without libsystemd."""
    with open(conftest.binary(conftest.HEARSAYD), "rb") as file:
        if b"sd_listen_fds" not in file.read():
            pytest.skip("built without libsystemd")


def test_inherited_tcp_socket(make_daemon):
    """An inherited socket replaces the configured TCP ones; the Unix socket stays."""
    inherited = listening(socket.AF_INET, ("127.0.0.1", 0))
    port = inherited.getsockname()[1]
    daemon = launched_with(make_daemon, [inherited])
    needs_systemd()
    daemon.start()
    assert daemon.port == port
    assert len(re.findall(r"listening on 127", daemon.log_text())) == 1
    with wire.Client(("127.0.0.1", port)) as client:
        client.call(pb.Ping())
        assert "export" not in client.welcome.capabilities
    with daemon.administrator() as client:
        assert "export" in client.welcome.capabilities
    daemon.stop()
    inherited.close()


def test_inherited_sockets_outlive_a_reload(make_daemon):
    """They stand for all TCP addresses, whatever `listen` says then; its words hold for them."""
    inherited = listening(socket.AF_INET, ("127.0.0.1", 0))
    port = inherited.getsockname()[1]
    daemon = launched_with(make_daemon, [inherited])
    needs_systemd()
    daemon.start()
    hosts = "[host default]\nepoch_length = 1h\n"
    mark = len(daemon.log)
    daemon.configure(f"listen = 127.0.0.1:{port} local\nlisten = 127.0.0.2:0\n{hosts}")
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_log("configuration reloaded", mark)
    assert not daemon.find_log(r"listening on 127\.0\.0\.2")

    def has_key():
        with wire.Client(("127.0.0.1", port)) as client:
            return client.welcome.hosts[0].epoch.HasField("key")

    wire.wait_until(has_key, "the key of an epoch, over an inherited socket that is local")
    daemon.stop()
    inherited.close()


def test_inherited_sockets_of_both_kinds(make_daemon):
    """Several sockets, a Unix one among them; who was waiting before the start is served."""
    path = f"/tmp/hs-inherit-{os.getpid()}"
    tcp, unix = listening(socket.AF_INET, ("127.0.0.1", 0)), listening(socket.AF_UNIX, path)
    try:
        daemon = launched_with(make_daemon, [tcp, unix])
        needs_systemd()
        early = wire.Client(tcp.getsockname(), hello=False)
        early.post(pb.Hello(versions=[1]))
        daemon.start()
        assert early.receive().HasField("welcome")
        early.close()
        with wire.Client(path) as client:
            assert "export" in client.welcome.capabilities
        daemon.stop()
        assert os.path.exists(path), "an inherited socket's file is not ours to remove"
    finally:
        tcp.close()
        unix.close()
        os.unlink(path)


def test_wrong_inherited_socket(make_daemon):
    """A datagram socket is refused in words."""
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind(("127.0.0.1", 0))
    daemon = launched_with(make_daemon, [one])
    needs_systemd()
    daemon.launch()
    assert daemon.wait_exit() in (1, 2)
    assert "stream" in daemon.log_text()
    daemon.check_log()
    one.close()


def test_notices(make_daemon, notices):
    """READY after the listeners are open, RELOADING and READY around a reload, STOPPING."""
    path, until = notices
    daemon = make_daemon(start=False, env={"NOTIFY_SOCKET": path})
    needs_systemd()
    daemon.start()
    assert "READY=1" in until("READY=1")[-1].split("\n")
    daemon.process.send_signal(signal.SIGHUP)
    reloading = until("READY=1")
    assert any("RELOADING=1" in n.split("\n") for n in reloading[:-1])
    assert any(re.search(r"^MONOTONIC_USEC=\d+$", n, re.MULTILINE) for n in reloading)
    daemon.configure("[limits]\nk = none\n")
    daemon.process.send_signal(signal.SIGHUP)
    until("READY=1")  # also after a reload that was refused
    daemon.stop()
    until("STOPPING=1")


def test_watchdog(make_daemon, notices):
    """WATCHDOG comes again and again, more often than asked for."""
    path, until = notices
    daemon = make_daemon(start=False, env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "300000"})
    needs_systemd()
    daemon.start()
    for _ in range(5):
        until("WATCHDOG=1")
    daemon.stop()


# --- the log --------------------------------------------------------------------------------------


def test_the_log_holds_no_addresses_labels_or_payloads(make_daemon, rng):
    """Whatever clients do, at the most talkative level: one event a line, nothing about them."""
    daemon = make_daemon("log_level = debug\n[limits]\nsessions = 4\nhello_timeout = 1s\n")
    secret = "payload-secret-4711"
    with daemon.client() as client:
        sent = wire.deposit_of(rng, ["wifi:a4:2b:8c:01:02:03"], payload=secret.encode(),
                               withdraw_hash=bytes(32))
        client.call(sent)
        client.refused(pb.Withdraw(id=sent.id, token=bytes(32)))
        client.call(wire.query_of(["wifi:a4:2b:8c:01:02:03"], with_payload=True))
        client.refused(wire.query_of(["topic:x"], k=0))
        client.refused(wire.query_of(["topic:x"], host="nowhere"))
        peers = [client.socket.getsockname()]
        extra = [daemon.client(hello=False) for _ in range(6)]
        peers += [e.socket.getsockname() for e in extra]
        for one in extra:
            one.receive_until_end()
            one.close()
        with wire.Client(daemon.address, hello=False) as garbage:
            garbage.send_bytes(b"GET / HTTP/1.1\r\n\r\n")
            garbage.receive_until_end()
    daemon.stop()
    lines = daemon.log_text().split("\n")
    assert len(lines) > 5
    for line in lines:
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (error|warning|info|debug): \S", line)
        if "listening on" not in line:
            assert "127.0.0.1" not in line, line
            for _, port in peers:
                assert not re.search(rf"\b{port}\b", line), line
        for private in (secret, "a4:2b", sent.id.hex()):
            assert private not in line, line


def test_what_clients_say_cannot_forge_lines(make_daemon):
    """Control characters in an agent's name are escaped in the log."""
    daemon = make_daemon("log_level = debug\n")
    with daemon.client(hello=False) as client:
        client.call(pb.Hello(versions=[1], agent="x\nerror: forged \x1b[31m"))
    daemon.stop()
    assert "forged" in daemon.log_text()
    assert not daemon.find_log(r"^error: forged") and "\x1b" not in daemon.log_text()


def test_the_journals_form(make_daemon):
    """Where the journal listens, lines begin with <n>."""
    daemon = make_daemon(start=False)
    read, write = os.pipe()
    status = os.fstat(write)
    env = {**os.environ, "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
    process = subprocess.Popen(daemon.command(), stderr=write, env=env)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as lines:
        for line in lines:
            assert re.match(r"<[3-7]>(error|warning|info|debug): ", line), line
            if "ready: " in line:
                process.send_signal(signal.SIGTERM)
    assert process.wait(wire.PATIENCE) == 0
