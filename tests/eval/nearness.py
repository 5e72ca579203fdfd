# SPDX-License-Identifier: Apache-2.0
"""What labels of positions know of nearness: two people some metres apart, at random places between
60 degrees south and north and in random directions; how alike are their sets of labels?"""

import math
import random

import labels

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
    """For each distance, without and with neighbours: the mean Jaccard similarity, and per cent of
    the pairs that have no label in common."""
    rng = random.Random(SEED)
    found = []
    for metres in DISTANCES:
        sums = {False: [0.0, 0], True: [0.0, 0]}
        for _ in range(pairs):
            here = (rng.uniform(-60, 60), rng.uniform(-180, 180))
            there = moved(here, metres, rng.uniform(0, 2 * math.pi))
            for neighbours, total in sums.items():
                a = set(labels.position(*here, neighbours))
                b = set(labels.position(*there, neighbours))
                total[0] += len(a & b) / len(a | b)
                total[1] += not a & b
        found.append({"metres": metres,
                      "alone": {"similarity": sums[False][0] / pairs,
                                "nothing": 100 * sums[False][1] / pairs},
                      "neighbours": {"similarity": sums[True][0] / pairs,
                                     "nothing": 100 * sums[True][1] / pairs}})
    return found
