# SPDX-License-Identifier: Apache-2.0
"""A NATS client over TLS by the protocol: what a test needs, and what an attacker would write."""

import fnmatch
import json
import select
import socket
import ssl
import time

import hearsay_wire as wire


class Refused(Exception):
    """The server said -ERR, or a JetStream answer has an error."""


class NoAnswer(Exception):
    """Nobody answered in time, or nobody is there to."""


class Message:
    def __init__(self, subject, reply, headers, data):
        self.subject, self.reply, self.headers, self.data = subject, reply, headers, data

    def json(self):
        found = json.loads(self.data)
        if "error" in found:
            raise Refused(found["error"])
        return found


def parse_headers(block):
    """A dictionary; the status line's number is under "Status"."""
    first, *lines = block.decode().split("\r\n")
    found = {}
    if status := first.removeprefix("NATS/1.0").strip():
        found["Status"] = status.split()[0]
    for line in lines:
        if line:
            name, value = line.split(":", 1)
            found[name] = value.strip()
    return found


class Nats:
    """One connection; `name` is whose certificate it shows, and of whom its inbox is."""

    def __init__(self, port, folder, name, inbox=None):
        self.inbox = inbox or f"_INBOX_{name}"
        self.errors, self.waiting, self.subscriptions = [], [], 0
        self.buffer = b""
        plain = socket.create_connection(("127.0.0.1", port), timeout=wire.PATIENCE)
        self.socket = plain
        line = self._line()
        assert line.startswith(b"INFO "), line
        self.info = json.loads(line[5:])
        context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python does by itself from 3.13 on
        context.load_cert_chain(f"{folder}/{name}.pem", f"{folder}/{name}.key")
        self.socket = context.wrap_socket(plain, server_hostname="127.0.0.1")
        hello = {"verbose": False, "pedantic": False, "tls_required": True, "headers": True,
                 "no_responders": True, "lang": "python", "version": "0", "protocol": 1}
        self._send(f"CONNECT {json.dumps(hello)}\r\nPING\r\n".encode())
        self._until_pong()
        if self.errors:
            raise Refused(self.errors[0])

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    def close(self):
        self.socket.close()

    # --- bytes ---

    def _send(self, data):
        self.socket.sendall(data)

    def _fill(self):
        got = self.socket.recv(65536)
        if not got:
            raise Refused(self.errors[-1] if self.errors else "the server closed the connection")
        self.buffer += got

    def _line(self):
        while b"\r\n" not in self.buffer:
            self._fill()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def _bytes(self, count):
        while len(self.buffer) < count:
            self._fill()
        found, self.buffer = self.buffer[:count], self.buffer[count:]
        return found

    def _step(self):
        """Takes one thing from the server; returns its first word."""
        words = self._line().split(b" ")
        kind = words[0].upper()
        if kind == b"PING":
            self._send(b"PONG\r\n")
        elif kind == b"-ERR":
            self.errors.append(b" ".join(words[1:]).decode().strip("'"))
        elif kind in (b"MSG", b"HMSG"):
            self.waiting.append(self._message(kind, words[1:]))
        return kind

    def _message(self, kind, words):
        total = int(words[-1])
        head = int(words[-2]) if kind == b"HMSG" else 0
        places = words[: -2 if head else -1]
        body = self._bytes(total + 2)[:-2]
        reply = places[2].decode() if len(places) > 2 else None
        return Message(places[0].decode(), reply, parse_headers(body[:head]) if head else {},
                       body[head:])

    def _until_pong(self):
        while self._step() != b"PONG":
            pass

    # --- words ---

    def flush(self):
        """All that was sent has been taken by the server, and its complaints are in `errors`."""
        self._send(b"PING\r\n")
        self._until_pong()

    def publish(self, subject, data=b"", reply="", headers=None):
        """`headers` are a dictionary, or the bytes of the whole block, be they right or not."""
        block = headers if isinstance(headers, bytes) else b""
        if headers and not block:
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            block = f"NATS/1.0\r\n{lines}\r\n".encode()
        sizes = f"{len(block)} {len(block) + len(data)}" if headers else str(len(data))
        verb = "HPUB" if headers else "PUB"
        self._send(f"{verb} {subject} {reply + ' ' if reply else ''}{sizes}\r\n".encode() + block
                   + data + b"\r\n")

    def subscribe(self, subject):
        """True if the server let it."""
        before = len(self.errors)
        self.subscriptions += 1
        self._send(f"SUB {subject} {self.subscriptions}\r\n".encode())
        self.flush()
        return len(self.errors) == before

    def next(self, subject=None, seconds=wire.PATIENCE):
        """The next message, of this subject if it is named, which may end with .*; NoAnswer where none comes."""
        end = time.monotonic() + seconds
        while True:
            for i, message in enumerate(self.waiting):
                if subject is None or fnmatch.fnmatchcase(message.subject, subject):
                    return self.waiting.pop(i)
            ready = self.buffer or self.socket.pending() or select.select(
                [self.socket], [], [], max(0, end - time.monotonic()))[0]
            if not ready:
                raise NoAnswer(subject)
            self._step()

    def request(self, subject, data=b"", headers=None, seconds=wire.PATIENCE):
        self.subscriptions += 1
        number, inbox = self.subscriptions, f"{self.inbox}.{self.subscriptions}"
        before = len(self.errors)
        self._send(f"SUB {inbox} {number}\r\nUNSUB {number} 1\r\n".encode())
        self.publish(subject, data, inbox, headers)
        self.flush()
        if len(self.errors) > before:
            raise Refused(self.errors[-1])
        answer = self.next(inbox, seconds)
        if answer.headers.get("Status") == "503":
            raise NoAnswer(f"{subject}: nobody is there")
        return answer

    def api(self, name, /, seconds=wire.PATIENCE, **fields):
        """A request to JetStream."""
        body = json.dumps(fields).encode() if fields else b""
        return self.request(f"$JS.API.{name}", body, seconds=seconds).json()
