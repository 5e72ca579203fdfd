# SPDX-License-Identifier: Apache-2.0
"""Vectors of profiles with sections: texts that are refused, labels to filters, distances.

A part of make_vectors.py, which calls section_vectors with its own formulas. Written from
docs/protocol.md; it shares nothing with the C code. README.md describes the fields.
"""
import re

MASK64 = (1 << 64) - 1
GEOHASH_6 = re.compile(r"[0-9b-hjkmnp-z]{6}")
DATE_HOUR = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}")
SECTION = re.compile(r"(?:([a-z][a-z0-9]*)|joint\(([a-z][a-z0-9]*),([a-z][a-z0-9]*)\))=([0-9]+)/([0-9]+)")


class NoSection(Exception):
    """A label of an attribute that has no section."""


def sections_of(profile):
    """[(name, members or None, first bit, bits, hashes)]; name None: takes every label."""
    whole = re.fullmatch(r"v2:([0-9]+)/([0-9]+)", profile)
    if whole:
        return [(None, None, 0, int(whole[1]), int(whole[2]))]
    found, first = [], 0
    for match in SECTION.finditer(profile):
        name, a, b, bits, hashes = match.groups()
        found.append((name or f"joint({a},{b})", None if name else (a, b), first, int(bits), int(hashes)))
        first += int(bits)
    assert "v2:" + ",".join(f"{n}={b}/{d}" for n, _, _, b, d in found) == profile, profile
    return found


def section_of(sections, label):
    attribute = label.split(":", 1)[0]
    by_name = {section[0]: section for section in sections if section[1] is None}
    if None in by_name:
        return by_name[None]
    if attribute in by_name and attribute != "any":
        return by_name[attribute]
    if "any" in by_name:
        return by_name["any"]
    raise NoSection(attribute)


def turned_left(number, by):
    by %= 64
    return (number << by | number >> 64 - by) & MASK64


def values_of(low, high, count):
    return [(low + turned_left(high, 19 * i)) & MASK64 for i in range(count)]


def positions_of(values, bits):
    """Each value modulo `bits`, or the next position that is none of those before it."""
    found = []
    for value in values:
        position = value % bits
        while position in found:
            position = (position + 1) % bits
        found.append(position)
    return found


def values(hash_label, label, count):
    return values_of(*hash_label(label.encode()), count)


def is_candidate(label, attribute):
    found, value = label.split(":", 1)
    if found != attribute:
        return False
    if attribute == "geo":
        return GEOHASH_6.fullmatch(value) is not None
    if attribute == "time":
        return DATE_HOUR.fullmatch(value) is not None
    return True


def encode(hash_label, profile, labels):
    """The filter as an integer."""
    sections = sections_of(profile)
    bits = 0
    for label in labels:
        _, _, first, size, hashes = section_of(sections, label)
        for position in positions_of(values(hash_label, label, hashes), size):
            bits |= 1 << first + position
    for _, members, first, size, hashes in sections:
        if members is None:
            continue
        for one in [label for label in labels if is_candidate(label, members[0])]:
            for other in [label for label in labels if is_candidate(label, members[1])]:
                pair = [x ^ y for x, y in zip(values(hash_label, one, hashes), values(hash_label, other, hashes))]
                for position in positions_of(pair, size):
                    bits |= 1 << first + position
    return bits


FULL = "v2:wifi=256/2,geo=96/1,time=32/1,topic=96/2,joint(geo,time)=32/1"
# 384 bits: arithmetic that does not wrap at 64 bits gives other positions, odd sizes too.
ODD = "v2:wifi=181/3,geo=59/1,time=17/2,topic=64/2,joint(geo,time)=63/3"
REST = "v2:any=300/4,wifi=43/2,joint(geo,time)=40/2,joint(topic,wifi)=1/1"

HERE = ["wifi:a4:2b:8c:01:02:03", "wifi:a4:2b:8c:01:02:04", "geo:u281z", "geo:u281zd", "geo:u281zd7",
        "geo:u281zd7q", "time:2026-11-20T14", "time:w5T10", "topic:coffee", "topic:caf\u00e9"]

CONTEXTS = [
    # what, labels
    ("nothing", []),
    ("each attribute, and a pair", HERE),
    ("no geohash of 6: no pair", [label for label in HERE if label != "geo:u281zd"]),
    ("no date and hour: no pair", [label for label in HERE if label != "time:2026-11-20T14"]),
    ("only the pair", ["geo:u281zd", "time:2026-11-20T14"]),
    ("the pair the other way round, and twice", ["time:2026-11-20T14", "geo:u281zd", "time:2026-11-20T14"]),
    ("two geohashes of 6: two pairs", ["geo:u281zd", "geo:u281ze", "time:2026-11-20T14"]),
    ("two of each: four pairs",
     ["geo:u281zd", "time:2026-11-20T14", "geo:u281ze", "time:2026-11-20T15", "geo:u281"]),
    ("values that are nearly candidates",
     ["geo:u281za", "geo:U281ZD", "geo:u281zi", "time:2026-11-20T14:00", "time:2026-11-20t14", "time:2026-11-20",
      "time:w5T14"]),
    ("digits at their places are enough", ["geo:000000", "time:9999-99-99T99"]),
    ("one side of a pair of topic and wifi", ["topic:tea"]),
    ("topic and wifi", ["topic:tea", "topic:coffee", "wifi:a4:2b:8c:01:02:03"]),
]

REFUSED_LABELS = [
    # profile, label
    (FULL, "word:tea"),
    (FULL, "any:tea"),
    (FULL, "joint:tea"),
    (FULL, "wif:i"),
    (FULL, "wifi2:a"),
    (ODD, "w:wifi:a"),
]

DEFAULT = "v2:wifi=362/2,place=53/7,any=97/4"  # of a host
PROFILES = [
    DEFAULT, "v2:512/4", "v2:64/1", "v2:4096/32", FULL, ODD, REST,
    "v2:wifi=512/4", "v2:a=1/1,any=63/32", "v2:any=480/4,joint(geo,time)=32/1",
    "v2:a=1/1,b=1/1,c=1/1,d=1/1,e=1/1,f=1/1,g=1/1,h=1/1,i=1/1,j=1/1,k=1/1,l=1/1,m=1/1,n=1/1,o=1/1,any=4081/32",
    "v2:abcdefghijklmnopqrstuvwxyz012345=64/1",
]

REFUSED = [
    # text, why
    ("v1:512/4", "version"),
    ("v3:512/4", "version"),
    ("v2:500/4", "m is no multiple of 64"),
    ("v2:4160/4", "m is over 4096"),
    ("v2:512/0", "d is under 1"),
    ("v2:512/33", "d is over 32"),
    ("v2:0512/4", "a leading zero"),
    ("v2:wifi=256/2,geo=255/1", "the sum, 511, is no multiple of 64"),
    ("v2:wifi=4096/2,geo=64/1", "the sum is over 4096"),
    ("v2:wifi=0/2,geo=64/1", "a section without bits"),
    ("v2:wifi=256/0,geo=256/1", "d is under 1"),
    ("v2:wifi=256/2,geo=256/33", "d is over 32"),
    ("v2:wifi=256/2,wifi=256/2", "a section twice"),
    ("v2:any=64/1,joint(a,b)=32/1,joint(a,b)=32/1", "a joint section twice"),
    ("v2:any=512/4", "a single section for all labels has no name"),
    ("v2:512/4,geo=64/1", "a section without a name among others"),
    ("v2:wifi=512/4,", "a section is missing"),
    ("v2:wifi=256/4, geo=256/4", "a space"),
    ("v2:Wifi=512/4", "no attribute"),
    ("v2:wi-fi=512/4", "no attribute"),
    ("v2:abcdefghijklmnopqrstuvwxyz0123456=64/1", "a name of 33 bytes"),
    ("v2:joint=512/4", "joint needs two attributes"),
    ("v2:geo=32/1,joint(geo)=32/1", "joint needs two attributes"),
    ("v2:any=32/1,joint(a,b,c)=32/1", "joint takes two attributes"),
    ("v2:any=32/1,joint(joint(a,b),c)=32/1", "a joint section of a joint section"),
    ("v2:any=32/1,joint(any,geo)=32/1", "any is no attribute"),
    ("v2:geo=32/1,joint(geo,geo)=32/1", "the same attribute twice"),
    ("v2:any=32/1,joint(time,geo)=32/1", "not in alphabetical order"),
    ("v2:geo=32/1,joint(geo,time)=32/1", "labels of time have no section"),
    ("v2:" + ",".join(f"a{i}=4/1" for i in range(16)) + ",b=64/1", "17 sections"),
]


def section_vectors(hash_label, stored, count, ppm):
    def size(profile):
        return sum(section[3] for section in sections_of(profile))

    def context(profile, what, labels):
        bits = encode(hash_label, profile, labels)
        return {
            "profile": profile,
            "what": what,
            "labels": labels,
            "cardinality": count(bits),
            "filter": stored(bits, size(profile)),
        }

    def pair(profile, labels_a, labels_b):
        a, b = (encode(hash_label, profile, labels) for labels in (labels_a, labels_b))
        distance, _ = ppm(count(a & b), count(a | b))
        return {
            "profile": profile,
            "a": stored(a, size(profile)),
            "b": stored(b, size(profile)),
            "distance_ppm": distance,
        }

    contexts = [context(profile, what, labels) for profile in (FULL, ODD, REST, "v2:384/7")
                for what, labels in CONTEXTS]
    contexts.append(context(REST, "labels of other attributes go to any", ["word:tea", "any:x", "joint:y"]))
    return {
        "about": "profiles with sections; README.md describes the fields",
        "profiles": [{
            "profile": profile,
            "bits": size(profile),
            "sections": [{"name": name or "", "first_bit": first, "bits": bits, "hashes": hashes}
                         for name, _, first, bits, hashes in sections_of(profile)],
        } for profile in PROFILES],
        "refused_profiles": [{"profile": text, "why": why} for text, why in REFUSED],
        "contexts": contexts,
        "refused_labels": [{"profile": profile, "label": label} for profile, label in REFUSED_LABELS],
        "pairs": [pair(profile, a, b) for profile in (FULL, ODD, REST)
                  for a, b in (([], []), (HERE, []), (HERE, HERE), (HERE, HERE[:5]), (HERE[1:], HERE[:-1]),
                               (HERE[:3], ["wifi:x", "topic:y"]))],
    }
