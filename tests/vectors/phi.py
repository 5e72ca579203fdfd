# SPDX-License-Identifier: Apache-2.0
"""The phi coefficient of two filters, as docs/protocol.md has it, and its vectors. Filters are Python's
integers, bit p is bit p."""

import math
import random

import sections

ONE = 1 << 24

PROFILES = [sections.DEFAULT, "v2:512/4", "v2:wifi=320/2,place=79/8,any=113/3", "v2:64/4",
            "v2:a=1/1,b=2/1,c=3/1,any=58/2", "v2:4096/4", "v2:" + ",".join(f"a{i}=256/2" for i in range(16))]


def widths(profile):
    """The bits of each section."""
    return [int(section.split("=")[-1].split("/")[0]) for section in profile.removeprefix("v2:").split(",")]


def set_bits(profile, bits):
    """The set bits of each section."""
    counts, first = [], 0
    for b in widths(profile):
        counts.append((bits >> first & (1 << b) - 1).bit_count())
        first += b
    return counts


def sums(profile, asking, other):
    """(X, V of the filter that asks, V of the other) over the sections in which the first has bits."""
    first, x, v_asking, v_other = 0, 0, 0, 0
    for b in widths(profile):
        part = (1 << b) - 1
        one, two = asking >> first & part, other >> first & part
        a, c, i = one.bit_count(), two.bit_count(), (one & two).bit_count()
        if a > 0:
            x += 256 * i - 256 * a * c // b
            v_asking += 256 * a - 256 * a * a // b
            v_other += 256 * c - 256 * c * c // b
        first += b
    return x, v_asking, v_other


def phi(profile, asking, other):
    """In units of 2^-24."""
    x, v_asking, v_other = sums(profile, asking, other)
    if x <= 0 or v_asking * v_other == 0:
        return 0
    return min(ONE, (x << 34) // math.isqrt(v_asking * v_other << 20))


def some_bits(numbers, first, b, percent):
    return sum(1 << p for p in range(first, first + b) if numbers.random() * 100 < percent)


def some_filter(numbers, profile, percents):
    """Each section with one of some fills."""
    bits, first = 0, 0
    for b in widths(profile):
        bits |= some_bits(numbers, first, b, percents[int(numbers.random() * len(percents))])
        first += b
    return bits


def edges(profile):
    """Pairs with a name."""
    first = widths(profile)[0]
    m = sum(widths(profile))
    full, section = (1 << m) - 1, (1 << first) - 1
    few = 0b101 | 1 << m - 1
    return [("two empty filters", 0, 0), ("an empty query", 0, few), ("an empty message", few, 0),
            ("equal filters", few, few), ("two full filters", full, full), ("a full message", few, full),
            ("a full query", full, few), ("a section full in both", section | 1 << m - 1, section | 1 << m - 1),
            ("a section full in the message", few, section | few),
            ("a section full in the query", section | few, few),
            ("all bits but one", full ^ 1, full ^ 1), ("one bit", 1, 1), ("one bit, and another", 1, 2),
            ("a message with bits in another section", 1, 1 | 1 << m - 1),
            ("a query with bits in another section", 1 | 1 << m - 1, 1),
            ("halves that share nothing", full // 3, full ^ full // 3), ("equal halves", full // 3, full // 3)]


def phi_vectors(stored, ppm):
    numbers = random.Random(20261126)

    def pair(profile, what, a, b):
        m = sum(widths(profile))
        x, v_a, v_b = sums(profile, a, b)
        return {"profile": profile, "what": what, "a": stored(a, m), "b": stored(b, m), "intersection": (a & b).bit_count(),
                "x": x, "spread_a": v_a, "spread_b": v_b, "phi": phi(profile, a, b), "phi_b_asks": phi(profile, b, a),
                "distance_ppm": ppm(phi(profile, a, b), ONE)[0]}

    pairs = [pair(profile, what, a, b) for profile in PROFILES for what, a, b in edges(profile)]
    for number in range(210):
        profile = PROFILES[number % len(PROFILES)]
        a = some_filter(numbers, profile, (0, 3, 12, 12, 30, 60, 100) if number % 3 == 0 else (0, 5, 12))
        b = some_filter(numbers, profile, (0, 3, 12, 12, 30, 60, 100) if number % 3 == 0 else (0, 5, 12))
        if number % 2 == 0: # most of the bits of a, so that they are near
            b = b & some_filter(numbers, profile, (20,)) | a & some_filter(numbers, profile, (60, 90))
        pairs.append(pair(profile, "random", a, b))
    return {"about": "phi coefficients of two filters; README.md describes the fields", "pairs": pairs}
