# SPDX-License-Identifier: Apache-2.0
"""S6: a TLS server that sends bytes for ever, and never a word of the protocol.

The client of 0.1.0 looked at no clock while bytes came, and kept what TLS answered in memory.
"""

import contextlib
import os
import socket
import ssl
import subprocess
import tempfile
import time

import pytest

import certificates
import cli_runner
import hearsay_wire as wire
import sealed
import siege

MAY_FOLLOW = 32  # TLS_IDLE_RECORDS_MAX of proto/tls/tls.h
MIB = 1024 * 1024


def server_context(directory, version=ssl.TLSVersion.TLSv1_3):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificates.self_signed(directory))
    context.minimum_version = context.maximum_version = version
    context.num_tickets = 0  # they would take the first numbers of records
    if version == ssl.TLSVersion.TLSv1_2:
        context.set_ciphers("ECDHE+AESGCM+AES256")
    return context


def listen(is_narrow=False):
    """is_narrow: the kernel holds little of what nobody reads."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(wire.PATIENCE)
    if is_narrow:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    return listener


@contextlib.contextmanager
def client_of(listener, home, *options):
    """`hearsay ping`, which believes any server that it has not met."""
    os.makedirs(home, exist_ok=True)
    cli = cli_runner.Cli(f"127.0.0.1:{listener.getsockname()[1]}", str(home))
    with cli.start("--tls", *options, "ping", stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def accept(listener):
    stream, _ = listener.accept()
    stream.settimeout(wire.PATIENCE)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


def end_of(process):
    """Exit code and what was said, when the program has ended by itself."""
    out, err = process.communicate(timeout=wire.PATIENCE)
    assert out == b""
    return process.returncode, err.decode()


def test_key_updates_one_after_the_other(tmp_path):
    """Each waits for the answer to the one before: so many are taken, and not one more."""
    with listen() as listener, client_of(listener, tmp_path / "home", "--timeout", "1h") as process:
        with sealed.Sealed(accept(listener), server_context(tmp_path), server_side=True) as peer:
            wire.wait_until(lambda: peer.look() or peer.answered > 0, "Hello")
            peer.send(peer.seal.key_update())  # OpenSSL answers it when the next record comes
            sent = 1
            while sent < 10 * MAY_FOLLOW and not peer.has_ended:
                peer.send(peer.seal.key_update())
                sent += 1
                peer.is_hung_up_on()
            assert sent == MAY_FOLLOW + 1
        code, err = end_of(process)
        assert code == 3 and "records without application data" in err, err


def test_answers_that_the_server_does_not_read(tmp_path):
    """With a byte of data now and then, and nothing read: the client gives up before it has kept
    much of what TLS answers."""
    with listen(is_narrow=True) as listener, client_of(listener, tmp_path / "home", "--timeout",
                                                       "1h") as process:
        with sealed.Sealed(accept(listener), server_context(tmp_path), server_side=True) as peer:
            data = wire.frame(bytes(60000))
            sent = 0
            for byte in data:
                if sent > 2 * MIB or peer.has_ended:
                    break
                some = b"".join(peer.seal.key_update() for _ in range(MAY_FOLLOW - 1))
                some += peer.seal.record(sealed.APPLICATION, bytes([byte]))
                peer.send(some)
                sent += len(some)
            assert sent <= 2 * MIB, "it takes bytes for ever"
        code, err = end_of(process)
        assert code == 3 and "does not read" in err, err


def flood_handshake(stream, end=None):
    """Asks to begin the handshake anew, again and again, instead of going on with it."""
    record = b"\x16\x03\x03\x00\x04" + sealed.HELLO_REQUEST
    try:
        stream.recv(65536)  # ClientHello
        while end is None or time.monotonic() < end:
            stream.sendall(record * 5000)
    except OSError:
        pass


@pytest.mark.parametrize("options", [["--timeout", "1s"], ["--timeout", "200ms"]])
def test_a_handshake_that_goes_on_for_ever(tmp_path, options):
    """The client's deadline ends it while bytes are coming."""
    with listen() as listener, client_of(listener, tmp_path / "home", *options) as process:
        stream = accept(listener)
        server = siege.spawning.Process(target=flood_handshake, args=(stream,), daemon=True)
        server.start()
        stream.close()
        try:
            code, err = end_of(process)
        finally:
            server.kill()
            server.join()
        assert code == 3 and "in time" in err, err


# --- times, by tests/bench/hostile.py -------------------------------------------------------------


def serve_key_updates(listener, directory, end):
    with contextlib.suppress(OSError):
        with sealed.Sealed(accept(listener), server_context(directory), server_side=True) as peer:
            while time.monotonic() < end:
                peer.stream.sendall(b"".join(peer.seal.key_update() for _ in range(1000)))


def serve_handshakes(listener, directory, end):
    del directory
    with contextlib.suppress(OSError):
        flood_handshake(accept(listener), end)


def measure(program, seconds=12):
    """How long `hearsay --timeout 2s ping` takes with a server that floods it for `seconds`, and
    its memory. The client is the one built beside the daemon."""
    client = os.path.join(os.path.dirname(program), "..", "client", "hearsay")
    found = {}
    for name, work in (("KeyUpdates", serve_key_updates), ("handshake", serve_handshakes)):
        with tempfile.TemporaryDirectory() as directory, listen() as listener:
            server = siege.spawn(work, listener, directory, time.monotonic() + seconds)
            cli = cli_runner.Cli("unused", directory)
            began = time.monotonic()
            process = subprocess.Popen(
                [client, "--server", f"127.0.0.1:{listener.getsockname()[1]}", "--tls", "--timeout",
                 "2s", "ping"], env=cli.environment(), stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            peak = 0
            while process.poll() is None:
                with contextlib.suppress(OSError, StopIteration):
                    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                        peak = next(int(line.split()[1]) for line in file
                                    if line.startswith("VmHWM"))
                time.sleep(0.02)
            found[f"client ends after s, {name}"] = time.monotonic() - began
            found[f"client's memory MiB, {name}"] = peak / 1024
            server.kill()
            server.join()
    return found
