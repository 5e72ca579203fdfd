# SPDX-License-Identifier: Apache-2.0
"""What labels of positions know of nearness: two people some metres apart, at random places between
60 degrees south and north and in random directions; are they near each other?"""

import math
import random

import defaults
import filters
import labels
import metric

SEED = 20261121
METRES_A_DEGREE = 6371000 * math.pi / 180
DISTANCES = (3, 10, 30, 100, 300, 1000, 3000, 10000)


def moved(place, metres, bearing):
    """The place that many metres away, on a sphere, near enough for short ways."""
    latitude, longitude = place
    north = metres * math.cos(bearing) / METRES_A_DEGREE
    east = metres * math.sin(bearing) / METRES_A_DEGREE / math.cos(math.radians(latitude))
    return latitude + north, (longitude + east + 180) % 360 - 180


def metres_between(a, b):
    """On a sphere, near enough for short ways."""
    north = (a[0] - b[0]) * METRES_A_DEGREE
    east = (a[1] - b[1]) * METRES_A_DEGREE * math.cos(math.radians(a[0]))
    return math.hypot(north, east)


def run(pairs):
    """For each distance: per cent of the pairs that are as similar by phi as a host demands by default, and of those
    that have no label in common."""
    rng = random.Random(SEED)
    encoder = filters.Profile(defaults.profile())
    sections = metric.sections_of(encoder)
    found = []
    for metres in DISTANCES:
        near = nothing = 0
        for _ in range(pairs):
            here = (rng.uniform(-60, 60), rng.uniform(-180, 180))
            there = moved(here, metres, rng.uniform(0, 2 * math.pi))
            a, b = labels.position(*here), labels.position(*there)
            near += metric.phi(sections, encoder.mask(a), encoder.mask(b)) >= defaults.least_similarity()
            nothing += not set(a) & set(b)
        found.append({"metres": metres, "near": 100 * near / pairs, "nothing": 100 * nothing / pairs})
    return found
