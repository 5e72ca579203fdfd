# SPDX-License-Identifier: Apache-2.0
"""Contexts to filters after docs/protocol.md, written a second time: a filter is a Python integer
whose bit p is bit p of the filter. Any disagreement with the C implementation shows."""

import base64
import functools

import xxhash

@functools.lru_cache(maxsize=None)
def of_label(label, bits, hashes):
    """The bits that one label sets in a profile of one section."""
    digest = xxhash.xxh3_128_intdigest(label.encode())
    high, low = divmod(digest, 1 << 64)
    mask = 0
    for i in range(hashes):
        turn = 19 * i % 64
        position = (low + (high << turn | high >> 64 - turn)) % (1 << 64) % bits
        while mask >> position & 1:
            position = (position + 1) % bits
        mask |= 1 << position
    return mask


def of_labels(labels, bits, hashes):
    mask = 0
    for label in labels:
        mask |= of_label(label, bits, hashes)
    return mask


class Profile:
    """A profile without joint sections: "512/2" or "wifi=416/2,any=96/2"."""

    def __init__(self, text):
        self.text = text
        self.sections = {}  # attribute, or "" for all: first bit, bits, hashes
        self.bits = 0
        for part in text.split(","):
            name, _, size = part.rpartition("=")
            bits, hashes = (int(number) for number in size.split("/"))
            self.sections[name] = (self.bits, bits, hashes)
            self.bits += bits

    def mask(self, labels):
        found = 0
        for label in labels:
            section = (self.sections.get("") or self.sections.get(label.partition(":")[0])
                       or self.sections["any"])
            first, bits, hashes = section
            found |= of_label(label, bits, hashes) << first
        return found


def from_base64(text):
    """A filter in stored form: bit p is bit p % 8 of byte p / 8."""
    return int.from_bytes(base64.b64decode(text, validate=True), "little")
