# SPDX-License-Identifier: Apache-2.0
"""Keyed contexts and sealed messages: what groups and epochs do to labels and payloads.

An implementation of its own, from docs/protocol.md, RFC 8439 (ChaCha20 and Poly1305) and
draft-irtf-cfrg-xchacha-03, with Python's integers; BLAKE2b is Python's own. It shares nothing with
the C code, nor with the library that it uses. Slow, and not safe against those who measure time.
"""
import hashlib
import hmac
import struct

SEALED_TYPE = "application/vnd.hearsay.sealed"
SALT = b"hearsay group v1"


def argon2id(secret):
    """A group's key. Needs python3-argon2, which is the reference implementation."""
    from argon2 import low_level
    return low_level.hash_secret_raw(secret, SALT, time_cost=3, memory_cost=64 * 1024, parallelism=1,
                                     hash_len=32, type=low_level.Type.ID, version=0x13)


def keyed(key, data):
    return hashlib.blake2b(data, digest_size=32, key=key).digest()


def key_label(label, group=None, epoch=None):
    """The bytes whose hash gives the positions: those of the label, keyed with what there is."""
    if group is not None:
        label = keyed(group, label)
    if epoch is not None:
        label = keyed(epoch, label)
    return label


def seal_key(group):
    return keyed(group, b"hearsay seal v1")


# ---- XChaCha20-Poly1305 ----

def rotate(x, n):
    return (x << n | x >> 32 - n) & 0xffffffff


def quarter(s, a, b, c, d):
    s[a] = s[a] + s[b] & 0xffffffff
    s[d] = rotate(s[d] ^ s[a], 16)
    s[c] = s[c] + s[d] & 0xffffffff
    s[b] = rotate(s[b] ^ s[c], 12)
    s[a] = s[a] + s[b] & 0xffffffff
    s[d] = rotate(s[d] ^ s[a], 8)
    s[c] = s[c] + s[d] & 0xffffffff
    s[b] = rotate(s[b] ^ s[c], 7)


def rounds(state):
    state = list(state)
    for _ in range(10):
        for columns in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                        (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter(state, *columns)
    return state


CONSTANTS = struct.unpack("<4I", b"expand 32-byte k")


def hchacha20(key, nonce16):
    s = rounds(CONSTANTS + struct.unpack("<8I", key) + struct.unpack("<4I", nonce16))
    return struct.pack("<8I", *(s[:4] + s[12:]))


def chacha20(key, counter, nonce12, data):
    out = bytearray()
    for at in range(0, len(data), 64):
        state = CONSTANTS + struct.unpack("<8I", key) + (counter,) + struct.unpack("<3I", nonce12)
        block = struct.pack("<16I", *((a + b) & 0xffffffff for a, b in zip(rounds(state), state)))
        out += bytes(x ^ y for x, y in zip(data[at:at + 64], block))
        counter += 1
    return bytes(out)


def poly1305(key, data):
    r = int.from_bytes(key[:16], "little") & 0x0ffffffc0ffffffc0ffffffc0fffffff
    total = 0
    for at in range(0, len(data), 16):
        total = (total + int.from_bytes(data[at:at + 16] + b"\1", "little")) * r % ((1 << 130) - 5)
    return ((total + int.from_bytes(key[16:], "little")) & ((1 << 128) - 1)).to_bytes(16, "little")


def tag_of(key, nonce12, associated, cipher):
    def padded(data):
        return data + bytes(-len(data) % 16)

    return poly1305(chacha20(key, 0, nonce12, bytes(32)), padded(associated) + padded(cipher) +
                    struct.pack("<QQ", len(associated), len(cipher)))


def seal(group, nonce, message_id, media_type, payload):
    key, nonce12 = hchacha20(seal_key(group), nonce[:16]), bytes(4) + nonce[16:]
    media_type = media_type.encode()
    cipher = chacha20(key, 1, nonce12, bytes([len(media_type)]) + media_type + payload)
    return nonce + cipher + tag_of(key, nonce12, message_id, cipher)


def unseal(group, message_id, sealed):
    """(media type, payload), or None where the key, the id or a byte is another."""
    nonce, cipher, tag = sealed[:24], sealed[24:-16], sealed[-16:]
    key, nonce12 = hchacha20(seal_key(group), nonce[:16]), bytes(4) + nonce[16:]
    if not hmac.compare_digest(tag, tag_of(key, nonce12, message_id, cipher)):
        return None
    plain = chacha20(key, 1, nonce12, cipher)
    return plain[1:1 + plain[0]].decode(), plain[1 + plain[0]:]
