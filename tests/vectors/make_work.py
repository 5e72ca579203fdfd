#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes work.json: deposits and reports, and the proofs of work on them, by docs/protocol.md.

  make_work.py          writes the file beside this script
  make_work.py --check  compares what it would write with what is there
"""
import argparse
import hashlib
import json
import pathlib
import struct
import sys

FILE = pathlib.Path(__file__).resolve().parent / "work.json"


def blake(data):
    return hashlib.blake2b(data, digest_size=32).digest()


def counted(data):
    return struct.pack("<I", len(data)) + data


def zero_bits(digest):
    return 256 - int.from_bytes(digest, "big").bit_length()


def content_of(case):
    parts = {name: bytes.fromhex(case[name])
             for name in ("store_id", "id", "filter", "payload", "withdraw_hash")}
    return blake(
        b"hearsay-work-1" + parts["store_id"] + counted(case["host"].encode()) + parts["id"]
        + struct.pack("<Q", case["epoch"]) + struct.pack("<I", case["reach"])
        + counted(parts["filter"]) + counted(case["media_type"].encode())
        + counted(parts["payload"]) + counted(parts["withdraw_hash"]))


def report_content_of(case):
    parts = {name: bytes.fromhex(case[name]) for name in ("store_id", "id", "resume_token")}
    return blake(b"hearsay-report-work-1" + parts["store_id"] + counted(case["host"].encode())
                 + parts["id"] + counted(parts["resume_token"]))


def proof_of(content, work):
    return blake(content + struct.pack("<Q", work))


def finished(case, bits):
    content = (report_content_of if "resume_token" in case else content_of)(case)
    work = 0
    while zero_bits(proof_of(content, work)) < bits:
        work += 1
    proof = proof_of(content, work)
    return {**case, "bits": bits, "content": content.hex(), "work": work, "proof": proof.hex(),
            "zero_bits": zero_bits(proof)}


def cases():
    least = {
        "store_id": bytes(range(160, 176)).hex(), "host": "default",
        "id": bytes(range(16, 32)).hex(), "epoch": 0, "reach": 1000000,
        "filter": (b"\1" + bytes(63)).hex(), "media_type": "text/plain", "payload": "",
        "withdraw_hash": "",
    }  # fmt: skip
    most = {
        **least, "host": "a-host-of-63-" + "x" * 50, "epoch": 2**62 + 3, "reach": 0,
        "filter": bytes(range(256)).hex() * 2, "media_type": "text/html; charset=utf-8",
        "payload": "Grüße".encode().hex() * 20, "withdraw_hash": bytes(range(32)).hex(),
    }  # fmt: skip
    report = {
        "store_id": bytes(range(160, 176)).hex(), "host": "a-host-of-63-" + "x" * 50,
        "id": bytes(range(16, 32)).hex(), "resume_token": bytes(range(64, 80)).hex(),
    }  # fmt: skip
    for case in (least, most, report):
        for bits in (0, 1, 8, 15):
            yield finished(case, bits)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    text = json.dumps(list(cases()), indent=1) + "\n"
    if not check:
        FILE.write_text(text, encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != text:
        sys.exit(f"{FILE.name} is not what this script would write")


if __name__ == "__main__":
    main()
