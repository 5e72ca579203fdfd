#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes keyed.json: keyed labels and contexts, sealed messages. README.md describes the fields.

  make_keyed.py          writes the file beside this script
  make_keyed.py --check  compares what it would write with what is there
"""
import argparse
import json
import pathlib
import random
import re
import sys

try:
    import xxhash
    from argon2 import low_level  # noqa: F401 (keyed.py uses it)
except ImportError as error:
    print(f"{error.name} is not installed: skipped")
    sys.exit(77)

import keyed
import sections

FILE = pathlib.Path(__file__).resolve().parent / "keyed.json"
MASK64 = (1 << 64) - 1
SECRETS = ["correct horse battery staple", "8 bytes!", "z\u00fcrich \u2615 am fr\u00fchst\u00fcck", "x" * 1024]
NEAR = sections.HERE[:5] + ["wifi:a4:2b:8c:01:02:99", "time:2026-11-20T15", "topic:tea"]


def hash_with(group, epoch):
    """As sections.encode wants it: the plain label's bytes to the halves of the keyed one's hash."""
    def halves(label):
        value = xxhash.xxh3_128_intdigest(keyed.key_label(label, group, epoch), seed=0)
        return value & MASK64, value >> 64
    return halves


def text(key):
    return None if key is None else key.hex()


def context(profile, what, labels, group, epoch):
    size = sum(section[3] for section in sections.sections_of(profile))
    bits = sections.encode(hash_with(group, epoch), profile, labels)
    return {"profile": profile, "what": what, "group_key": text(group), "epoch_key": text(epoch),
            "labels": labels, "cardinality": bin(bits).count("1"),
            "filter": bits.to_bytes((size + 7) // 8, "little").hex()}


def opens_as(media_type):
    """What a reader takes the inner media type for."""
    if media_type == "":
        return "text/plain"
    fits = re.fullmatch(r"[ -.0-~]+/[ -~]+", media_type)
    return media_type if fits else "application/octet-stream"


def sealed(group, generator, media_type, payload):
    nonce, message_id = generator.randbytes(24), generator.randbytes(16)
    whole = keyed.seal(group, nonce, message_id, media_type, payload)
    assert keyed.unseal(group, message_id, whole) == (media_type, payload)
    return {"group_key": group.hex(), "seal_key": keyed.seal_key(group).hex(), "id": message_id.hex(),
            "nonce": nonce.hex(), "media_type": media_type, "opens_as": opens_as(media_type),
            "payload": payload.hex(),
            "sealed": whole.hex()}


def spoilt(entry, what, **changes):
    return {key: changes.get(key, entry[key]) for key in ("group_key", "id", "sealed")} | {"what": what}


def flipped(data, at):
    data = bytearray.fromhex(data)
    data[at] ^= 1
    return data.hex()


def make():
    generator = random.Random(7117)
    groups = [keyed.argon2id(secret.encode()) for secret in SECRETS]
    epoch = bytes(range(32))
    messages = [
        sealed(groups[0], generator, "text/plain", "Fresh pot upstairs".encode()),
        sealed(groups[1], generator, "text/plain", b""),
        sealed(groups[2], generator, "image/" + "x" * 121, generator.randbytes(1000)),
        sealed(groups[0], generator, "", generator.randbytes(63)),
        sealed(groups[0], generator, "a//", b"the first slash counts"),
        sealed(groups[0], generator, "//a", b"no type before the first slash"),
        sealed(groups[0], generator, "text/\x1b[31m", b"not for a terminal"),
    ]
    first = messages[0]
    return {
        "about": "keyed contexts and sealed messages; README.md describes the fields",
        "groups": [{"secret": secret, "group_key": group.hex()} for secret, group in zip(SECRETS, groups)],
        "labels": [{"label": label, "group_key": text(group), "epoch_key": text(one),
                    "keyed": keyed.key_label(label.encode(), group, one).hex()}
                   for label in (sections.HERE[0], sections.HERE[-1], "a:" + "b" * 238)
                   for group, one in ((groups[0], None), (None, epoch), (groups[0], epoch))],
        "contexts": [context(profile, what, labels, group, one)
                     for profile in ("v2:512/4", "v2:384/7", sections.FULL, sections.ODD, sections.REST)
                     for what, labels in sections.CONTEXTS[1:] + [("a context nearby", NEAR)]
                     for group, one in ((groups[0], None), (None, epoch), (groups[0], epoch))],
        "sealed": messages,
        "refused": [
            spoilt(first, "another group's key", group_key=groups[1].hex()),
            spoilt(first, "another message's id", id=messages[1]["id"]),
            spoilt(first, "the nonce is another", sealed=flipped(first["sealed"], 0)),
            spoilt(first, "a byte is another", sealed=flipped(first["sealed"], 30)),
            spoilt(first, "the tag is another", sealed=flipped(first["sealed"], -1)),
            spoilt(first, "the end is missing", sealed=first["sealed"][:-2]),
            spoilt(first, "too short for nonce and tag", sealed=first["sealed"][:2 * 40]),
            spoilt(first, "nothing at all", sealed=""),
        ],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    made = json.dumps(make(), indent=1, ensure_ascii=True) + "\n"
    if not arguments.check:
        FILE.write_text(made)
    elif FILE.read_text() != made:
        print(f"{FILE.name} is not what this script writes")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
