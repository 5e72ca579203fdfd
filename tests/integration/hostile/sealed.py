# SPDX-License-Identifier: Apache-2.0
"""A TLS connection whose records one writes oneself, after a handshake by Python's ssl.

Python cannot send a KeyUpdate, an empty record or a warning. A Sealed knows the keys, from the
key log, and seals whatever is wanted: AES-256-GCM with SHA-384, TLS 1.3 (RFC 8446) and 1.2.
"""

import ctypes
import hashlib
import hmac
import os
import socket
import ssl
import struct
import tempfile

import certificates
import hearsay_wire as wire

ALERT, HANDSHAKE, APPLICATION = 21, 22, 23
KEY_UPDATE_REQUESTED = b"\x18\x00\x00\x01\x01"
HELLO_REQUEST = b"\x00\x00\x00\x00"
WARNING_USER_CANCELED = b"\x01\x5a"

HASH, HASH_BYTES, KEY_BYTES, TAG_BYTES = hashlib.sha384, 48, 32, 16
EVP_GET_TAG = 0x10

_crypto = ctypes.CDLL("libcrypto.so.3")
_crypto.EVP_CIPHER_CTX_new.restype = _crypto.EVP_aes_256_gcm.restype = ctypes.c_void_p
_AES = ctypes.c_void_p(_crypto.EVP_aes_256_gcm())


class Gcm:
    def __init__(self, key):
        self.context = ctypes.c_void_p(_crypto.EVP_CIPHER_CTX_new())
        assert _crypto.EVP_EncryptInit_ex(self.context, _AES, None, key, None) == 1

    def seal(self, nonce, plain, about):
        out, tag = ctypes.create_string_buffer(len(plain) + 16), ctypes.create_string_buffer(16)
        count = ctypes.c_int()
        step = _crypto.EVP_EncryptUpdate
        assert _crypto.EVP_EncryptInit_ex(self.context, None, None, None, nonce) == 1
        assert step(self.context, None, ctypes.byref(count), about, len(about)) == 1
        if plain:
            assert step(self.context, out, ctypes.byref(count), plain, len(plain)) == 1
        assert _crypto.EVP_EncryptFinal_ex(self.context, tag, ctypes.byref(count)) == 1
        assert _crypto.EVP_CIPHER_CTX_ctrl(self.context, EVP_GET_TAG, TAG_BYTES, tag) == 1
        return out.raw[: len(plain)] + tag.raw

    def __del__(self):
        _crypto.EVP_CIPHER_CTX_free(self.context)


def _expand(secret, label, length):
    """HKDF-Expand-Label without a context; one block is enough."""
    label = b"tls13 " + label
    info = struct.pack(">HB", length, len(label)) + label + b"\0\1"
    return hmac.digest(secret, info, "sha384")[:length]


def _prf(secret, seed, length):
    """TLS 1.2's."""
    out, chain = b"", seed
    while len(out) < length:
        chain = hmac.digest(secret, chain, "sha384")
        out += hmac.digest(secret, chain + seed, "sha384")
    return out[:length]


class Seal13:
    """Seals one direction of TLS 1.3, from its first traffic secret on."""

    def __init__(self, secret):
        self._use(secret)

    def _use(self, secret):
        self.secret, self.number = secret, 0
        self.gcm, self.iv = Gcm(_expand(secret, b"key", KEY_BYTES)), _expand(secret, b"iv", 12)

    def record(self, kind, plain):
        header = struct.pack(">BHH", APPLICATION, 0x0303, len(plain) + 1 + TAG_BYTES)
        nonce = (int.from_bytes(self.iv, "big") ^ self.number).to_bytes(12, "big")
        self.number += 1
        return header + self.gcm.seal(nonce, plain + bytes([kind]), header)

    def key_update(self):
        sealed = self.record(HANDSHAKE, KEY_UPDATE_REQUESTED)
        self._use(_expand(self.secret, b"traffic upd", HASH_BYTES))
        return sealed


class Seal12:
    """Seals one direction of TLS 1.2; the Finished was record 0."""

    def __init__(self, key, salt):
        self.gcm, self.salt, self.number = Gcm(key), salt, 1

    def record(self, kind, plain):
        explicit = struct.pack(">Q", self.number)
        about = explicit + struct.pack(">BHH", kind, 0x0303, len(plain))
        self.number += 1
        sealed = explicit + self.gcm.seal(self.salt + explicit, plain, about)
        return struct.pack(">BHH", kind, 0x0303, len(sealed)) + sealed


class Sealed:
    """One connection over `stream`, after its handshake. Sends only what it is told to send."""

    def __init__(self, stream, context, server_side):
        self.stream = stream
        self.heard = b""  # of the handshake, for TLS 1.2
        self.answered, self.has_ended = 0, False  # bytes since; the other side hung up
        handle, log = tempfile.mkstemp(prefix="keys-", dir=os.environ.get("HEARSAY_TEST_DIR"))
        os.close(handle)
        context.keylog_filename = log
        try:
            self.seal = self._shake_hands(context, server_side, log)
        finally:
            os.unlink(log)

    def _shake_hands(self, context, server_side, log):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        ours = context.wrap_bio(incoming, outgoing, server_side=server_side)
        while True:
            try:
                ours.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.stream.sendall(outgoing.read())
                got = self.stream.recv(65536)
                if not got:
                    raise wire.Ended("in the handshake") from None
                self.heard += got
                incoming.write(got)
        self.stream.sendall(outgoing.read())
        self.answered = incoming.pending  # what came with the end of the handshake
        assert ours.cipher()[0].endswith("AES_256_GCM_SHA384") or "AES256-GCM" in ours.cipher()[0]
        with open(log, encoding="ascii") as file:
            secrets = {line.split()[0]: line.split()[1:] for line in file if line[0] != "#"}
        if ours.version() == "TLSv1.3":
            name = "SERVER_TRAFFIC_SECRET_0" if server_side else "CLIENT_TRAFFIC_SECRET_0"
            return Seal13(bytes.fromhex(secrets[name][1]))
        client_random, master = map(bytes.fromhex, secrets["CLIENT_RANDOM"])
        server_random = self.heard[11:43]  # of the ServerHello, the first that came
        keys = _prf(master, b"key expansion" + server_random + client_random, 2 * KEY_BYTES + 8)
        return Seal12(keys[:KEY_BYTES], keys[2 * KEY_BYTES :][:4])

    def send(self, data):
        """All of it, unless the other side has hung up."""
        try:
            self.stream.sendall(data)
        except ConnectionError:
            self.has_ended = True

    def push(self, data):
        """What the other side takes at once. How many bytes."""
        self.stream.setblocking(False)
        try:
            return self.stream.send(data)
        except BlockingIOError:
            return 0
        except ConnectionError:
            self.has_ended = True
            return 0
        finally:
            self.stream.settimeout(wire.PATIENCE)

    def look(self):
        """Takes in what has come. Whether the other side has hung up."""
        self.stream.setblocking(False)
        try:
            while not self.has_ended:
                got = self.stream.recv(65536)
                self.answered += len(got)
                self.has_ended = not got
        except BlockingIOError:
            pass
        except ConnectionError:
            self.has_ended = True
        finally:
            self.stream.settimeout(wire.PATIENCE)
        return self.has_ended

    def is_hung_up_on(self):
        """Waits until the other side answers, or hangs up: whether it hangs up."""
        before = self.answered
        wire.wait_until(lambda: self.look() or self.answered > before, "an answer, or the end",
                        pause=0.001)
        return self.has_ended

    def close(self):
        self.stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def careless(version=ssl.TLSVersion.TLSv1_3):
    """A client's context that believes every certificate."""
    context = certificates.any_server()
    context.minimum_version = context.maximum_version = version
    if version == ssl.TLSVersion.TLSv1_2:
        context.set_ciphers("ECDHE+AESGCM+AES256")
    return context


def connect(address, version=ssl.TLSVersion.TLSv1_3, source=None):
    """A client that has shaken hands with the daemon there."""
    stream = socket.create_connection(address, wire.PATIENCE,
                                      source_address=(source, 0) if source else None)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        return Sealed(stream, careless(version), server_side=False)
    except BaseException:
        stream.close()
        raise
