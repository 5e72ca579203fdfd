#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the test vectors of labels, filters, and distances.

An implementation of its own, from docs/protocol.md's formulas and python3-xxhash alone; it shares
nothing with the C code. README.md describes the fields.

  make_vectors.py          writes the files beside this script
  make_vectors.py --check  compares what it would write with what is there
"""
import argparse
import json
import pathlib
import random
import sys

try:
    import xxhash
except ImportError:
    print("python3-xxhash is not installed: skipped")
    sys.exit(77)

import phi
import sections

FOLDER = pathlib.Path(__file__).resolve().parent
MASK64 = (1 << 64) - 1


# ---- the formulas ----

def hash_label(label):
    """The two halves of XXH3-128 with seed 0."""
    value = xxhash.xxh3_128_intdigest(label, seed=0)
    return value & MASK64, value >> 64


def positions(label, m, d):
    return sections.positions_of(sections.values_of(*hash_label(label), d), m)


def filter_of(labels, m, d):
    """A filter as an integer: bit p of the integer is bit p of the filter."""
    bits = 0
    for label in labels:
        for p in positions(label, m, d):
            bits |= 1 << p
    return bits


def stored(bits, m):
    """Bit p is bit p % 8 of byte p / 8."""
    return bits.to_bytes((m + 7) // 8, "little").hex()


def count(bits):
    return bin(bits).count("1")


def ppm(shared, whole):
    """Distance and similarity in millionths, the distance rounded up."""
    distance = 0 if whole == 0 else -((shared - whole) * 1000000 // whole)
    return distance, 1000000 - distance


def hex64(value):
    return f"{value:016x}"


# ---- labels ----

def sized(prefix, length, filler="abcdefghij"):
    """A label of exactly so many bytes."""
    return (prefix + filler * length)[:length]


LABELS = [
    # 3 bytes: the shortest label there is
    "a:b", "z:9",
    # 4 to 8
    "a:bc", "geo:u2", "topic:1", "topic:42",
    # 9 to 16
    "topic:tea", "geo:u281zd", "topic:coffee", "topic:caf\u00e9", "time:2026-11-20T", "topic:0123456789",
    # 17 to 128
    "time:2026-11-20T14", "wifi:a4:2b:8c:01:02:03", "wifi:a4:2b:8c:01:02:04", "topic:\u6771\u4eac\u30bf\u30ef\u30fc",
    "topic:\U0001f370\U0001f375", sized("topic:", 32), sized("topic:", 33), sized("topic:", 64),
    sized("topic:", 65), sized("topic:", 96), sized("topic:", 97), sized("topic:", 127), sized("topic:", 128),
    # 129 to 240
    sized("topic:", 129), sized("topic:", 144), sized("topic:", 160), sized("topic:", 200),
    "topic:" + "\u00fc" * 117, sized("topic:", 239), sized("topic:", 240),
]

# Profiles' sizes, and sizes that only core/bloom and sections take.
SIZES = [(512, 4), (256, 4), (384, 7), (64, 1), (4096, 32), (1, 1), (7, 6), (65, 4), (1000, 5)]

# For the bytes below 3, which no label has, but which hash differently.
RAW = ["", "a", "ab"]


def label_vectors():
    entries = []
    for label in RAW + LABELS:
        data = label.encode()
        low, high = hash_label(data)
        entries.append({
            "label": label,
            "bytes": data.hex(),
            "is_label": label in LABELS,
            "low64": hex64(low),
            "high64": hex64(high),
            "filters": [{
                "m": m,
                "d": d,
                "positions": positions(data, m, d),
                "filter": stored(filter_of([data], m, d), m),
            } for m, d in SIZES],
        })
    # Arithmetic that does not wrap at 64 bits gives other positions modulo 384, mostly.
    telling = 0
    for label in LABELS:
        low, high = hash_label(label.encode())
        unwrapped = [low + sections.turned_left(high, 19 * i) for i in range(7)]
        telling += positions(label.encode(), 384, 7) != sections.positions_of(unwrapped, 384)
    assert telling > len(LABELS) / 2
    contexts = []
    for size in (0, 1, 3, 12, len(LABELS)):
        for m, d in ((64, 2), (384, 3), (512, 4), (1024, 8)):
            bits = filter_of([label.encode() for label in LABELS[-size:] if size], m, d)
            contexts.append({
                "profile": f"v2:{m}/{d}",
                "labels": LABELS[-size:] if size else [],
                "cardinality": count(bits),
                "filter": stored(bits, m),
            })
    return {
        "about": "labels to positions to filter bytes; README.md describes the fields",
        "labels": entries,
        "contexts": contexts,
    }


# ---- distances ----

def pair(m, d, a, b):
    both, either = a & b, a | b
    distance, similarity = ppm(count(both), count(either))
    return {
        "profile": f"v2:{m}/{d}",
        "a": stored(a, m),
        "b": stored(b, m),
        "cardinality_a": count(a),
        "cardinality_b": count(b),
        "intersection": count(both),
        "union": count(either),
        "distance_ppm": distance,
        "similarity_ppm": similarity,
    }


def distance_vectors():
    # Only random() is sure to give the same numbers in every version of Python.
    numbers = random.Random(20261120)
    pairs = []
    for m, d in ((64, 2), (256, 4), (384, 3), (512, 4), (4096, 8)):
        full = (1 << m) - 1
        half = full // 3  # every other bit
        nearly = full >> 1
        for a, b in ((0, 0), (0, full), (full, 0), (full, full), (0, 1), (1, 1), (1, 2), (half, full ^ half),
                     (half, full), (nearly, full), (nearly, nearly), (full ^ 1, nearly), (0, nearly)):
            pairs.append(pair(m, d, a, b))
        for fill in (0.05, 0.3, 0.5, 0.8):
            for _ in range(3):
                base, a, b = (sum((numbers.random() < fill / 2) << p for p in range(m)) for _ in range(3))
                pairs.append(pair(m, d, base | a, base | b))
        context = [label.encode() for label in LABELS]
        pairs.append(pair(m, d, filter_of(context[:12], m, d), filter_of(context[4:16], m, d)))
    return {
        "about": "pairs of filters and what is said of them; README.md describes the fields",
        "pairs": pairs,
    }


# ---- slices ----

def slice_positions(id_, d, b, seed):
    h = xxhash.xxh3_128_intdigest(id_, seed=seed)
    return [value % b for value in sections.values_of(h & MASK64, h >> 64, d)]


def slice_vectors():
    numbers = random.Random(20261121)
    ids = [bytes(int(numbers.random() * 256) for _ in range(16)) for _ in range(60)]
    ids[0], ids[1] = bytes(16), b"\xff" * 16
    filters = []
    for sizes, seed in (([(1, 1)], 0), ([(3, 2)], 1), ([(40, 7)], 0), ([(150, 13)], (1 << 64) - 1),
                        ([(24, 4), (61, 9), (200, 16)], 0x0123456789abcdef), ([(500, 32)], 42)):
        slices = []
        for number, (byte_count, d) in enumerate(sizes):
            added = ids[number * 8:number * 8 + min(8, byte_count)]
            bits = 0
            for id_ in added:
                for p in slice_positions(id_, d, byte_count * 8, seed):
                    bits |= 1 << p
            slices.append({"bits": stored(bits, byte_count * 8), "hashes": d, "seed": hex64(seed),
                           "added": [id_.hex() for id_ in added]})
        found = [any(all(int.from_bytes(bytes.fromhex(s["bits"]), "little") >> p & 1
                         for p in slice_positions(id_, s["hashes"], len(s["bits"]) * 4, seed))
                     for s in slices) for id_ in ids]
        filters.append({"slices": slices,
                        "excluded": [i.hex() for i, f in zip(ids, found) if f],
                        "shown": [i.hex() for i, f in zip(ids, found) if not f]})
    return {
        "about": "filters of message ids as Query.exclude has them; README.md describes the fields",
        "filters": filters,
    }


# ---- files ----

def text_of(value, indent=0):
    """JSON with one line for each object that holds no other, so that a change is easy to see."""
    pad = " " * indent
    nested = isinstance(value, (dict, list)) and any(
        isinstance(item, dict) or (isinstance(item, list) and any(isinstance(i, dict) for i in item))
        for item in (value.values() if isinstance(value, dict) else value))
    if not nested:
        return json.dumps(value, ensure_ascii=True)
    if isinstance(value, dict):
        items = [f"{pad} {json.dumps(key)}: {text_of(item, indent + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + "\n" + pad + "}"
    return "[\n" + ",\n".join(f"{pad} {text_of(item, indent + 1)}" for item in value) + "\n" + pad + "]"


FILES = {
    "labels.json": label_vectors,
    "distances.json": distance_vectors,
    "phi.json": lambda: phi.phi_vectors(stored, ppm),
    "sections.json": lambda: sections.section_vectors(hash_label, stored, count, ppm),
    "slices.json": slice_vectors,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    differ = 0
    for name, make in FILES.items():
        text = text_of(make()) + "\n"
        path = FOLDER / name
        if options.check:
            there = path.read_text(encoding="ascii") if path.exists() else ""
            if there != text:
                print(f"{name} differs from what make_vectors.py writes")
                differ = 1
        else:
            path.write_text(text, encoding="ascii")
    return differ


if __name__ == "__main__":
    sys.exit(main())
