# SPDX-License-Identifier: Apache-2.0
"""Who meets whom: which messages are within the bound of a query, for what phones and pages really send.

*Pairs* are a message of one file of sightings and a query of another: from within 10 m on the same floor, from another
building, from 100 m or more away; and scans that have no access point in common. *Positions* are two people some
metres apart, with nothing but a position. crowd.py has the places that share one store.

A kind of pair is called "message / query". `here` is a label of the access point at which both are, of ten million
possible ones. A query of one label (a topic, a place) asks with `contains`, too, as clients do."""

import functools
import math
import random

import bootstrap
import defaults
import filters
import labels
import metric
import nearness

SEED = 20261127
PAIRS = 1500  # of a group, at most
DRAWS = 3  # pairs of one query and group
NEAR, FAR = 10, 100  # metres
TOPICS = 500
JACCARD = 0.2  # similarity: the bound that hosts suggested before 0.2.0
ESTIMATED = 0.09  # similarity: its best bound, at which 1 % of strangers meet in the default profile of 0.2.0
STRENGTHS = [-40, -47, -53, -57, -60, -63, -65, -67, -69, -70, -71, -72, -72, -73, -74, -75, -76, -77, -78, -79, -80,
             -82, -83, -85, -86, -88]  # of a scan in a flat
RADIUS = 6378137  # of the sphere of Web Mercator, in which the data has positions
DISJOINT = (12, 20, 26, 40, 60, 100, 200)
DISJOINT_SCANS = 60
POSITION_PAIRS = 3000
POSITION_METRES = (10, 30, 100, 300, 1000, 3000, 10000)
# Rows that cannot reach the aim, because a single access point says too little; see docs/evaluation.md.
WEAK = ("AP only / scan", "scan / AP only")


# --- contexts -------------------------------------------------------------------------------------


def scan(heard):
    """`heard`: pairs of an address and a strength."""
    return labels.scan(heard)[0]


def strongest(heard):
    """The access point that a phone is connected to; its strength is not known."""
    return labels.wifi(max(heard, key=lambda one: one[1])[0])


def position(row):
    latitude = math.degrees(math.atan(math.sinh(row.north / RADIUS)))
    return labels.position(latitude, math.degrees(row.east / RADIUS))


def made_address(rng):
    return "0a:" + ":".join(f"{rng.randrange(256):02x}" for _ in range(5))


def made_scan(rng, count):
    return [(made_address(rng), rng.choice(STRENGTHS)) for _ in range(count)]


# --- pairs ----------------------------------------------------------------------------------------


def draw_pairs(rng, training, validation):
    """Pairs of rows (message, query): near, in another building, far in the same building."""
    near, other, far = [], [], []
    for asked in rng.sample(validation, min(len(validation), PAIRS * 4 // 9)):
        ground = 1 / math.cosh(asked.north / RADIUS)  # metres of the ground a metre of the projection
        groups = ([], [], [])
        for row in training:
            if row.building != asked.building:
                groups[1].append(row)
                continue
            metres = math.hypot(row.east - asked.east, row.north - asked.north) * ground
            if metres >= FAR:
                groups[2].append(row)
            elif metres <= NEAR and row.floor == asked.floor:
                groups[0].append(row)
        for pairs, rows in zip((near, other, far), groups):
            pairs += [(rng.choice(rows), asked) for _ in range(DRAWS) if rows]
    for pairs in (near, other, far):
        rng.shuffle(pairs)
        del pairs[PAIRS:]
    return near, other, far


def contexts(rng, row, asked, are_near):
    """By kind: the labels of the message and of the query. Those who are near have the same `here` and topic."""
    here = f"place:{rng.randrange(10**7)}"
    there = here if are_near else f"place:{rng.randrange(10**7)}"
    one, two, three, another = (f"topic:t{number}" for number in rng.sample(range(TOPICS), 4))
    wanted = one if are_near else another
    left, sees = scan(row.heard), scan(asked.heard)
    at, stands = position(row), position(asked)
    link, linked = strongest(row.heard), strongest(asked.heard)
    kinds = {
        "scan / scan": (left, sees),
        "scan / scan+here": (left, [*sees, there]),
        "scan+here / scan": ([*left, here], sees),
        "scan+here / here": ([*left, here], [there]),
        "here / scan+here": ([here], [*sees, there]),
        "scan+here / scan+here": ([*left, here], [*sees, there]),
        "here / here": ([here], [there]),
        "AP only / scan": (link, sees),
        "scan / AP only": (left, linked),
        "AP+here / scan+here": ([*link, here], [*sees, there]),
        "scan+here / AP+here": ([*left, here], [*linked, there]),
        "scan+1 topic / scan": ([*left, one], sees),
        "scan+3 topics+here / scan+here": ([*left, one, two, three, here], [*sees, there]),
        "scan+3 topics / topic only": ([*left, one, two, three], [wanted]),
        "scan+3 topics+here / here": ([*left, one, two, three, here], [there]),
        "topic only / scan+topic": ([one], [*sees, wanted]),
        "scan+here+position / scan+here": ([*left, here, *at], [*sees, there]),
        "position / scan+position": (at, [*sees, *stands]),
        "position+topic+here / scan+here": ([*at, one, here], [*sees, there]),
        "position / position": (at, stands),
    }
    if are_near:
        kinds["scan+topic / scan+other topic"] = ([*left, one], [*sees, two])
    return kinds


def by_kind(rng, pairs, are_near):
    """By kind: the message, the query, and where the query was asked."""
    found = {}
    for row, asked in pairs:
        place = (asked.building, asked.floor, asked.east, asked.north)
        for kind, pair in contexts(rng, row, asked, are_near).items():
            found.setdefault(kind, []).append((*pair, place))
    return found


def disjoint(rng):
    """Scans that have no access point in common, and scans of 60 and of 12."""
    found = {}
    for count in DISJOINT:
        scans = [scan(made_scan(rng, count)) for _ in range(DISJOINT_SCANS)]
        found[f"disjoint scans of {count}"] = [(one, other, at) for at, one in enumerate(scans)
                                               for other in scans[:at]]
    found["disjoint scans of 60 / of 12"] = [(scan(made_scan(rng, 60)), scan(made_scan(rng, 12)), number)
                                             for number in range(400)]
    return found


def pairs_world(rows):
    """Kinds of pairs by group. Own data may have one building only: a group without pairs is left out."""
    rng = random.Random(SEED)
    near, other, far = draw_pairs(rng, *rows)
    world = {"near": by_kind(rng, near, True), "other building": by_kind(rng, other, False),
             "100 m or more": by_kind(rng, far, False), "disjoint": disjoint(rng)}
    return {group: kinds for group, kinds in world.items() if kinds}


def asks_with_contains(kind):
    return kind.endswith(("/ here", "/ topic only"))


def similarities(encoder, kind, pairs):
    """phi, Jaccard and the estimate of each pair. -1: the query asks with `contains`, and the message does not seem to
    contain it."""
    sections = metric.sections_of(encoder)
    only_with = asks_with_contains(kind)
    found = []
    for message, query, *_ in pairs:
        stored, asked = encoder.mask(message), encoder.mask(query)
        found.append((-1, -1, -1) if only_with and stored & asked != asked
                     else (metric.phi(sections, asked, stored), metric.jaccard(asked, stored),
                           metric.estimated(encoder, asked, stored)))
    return found


def pair_similarities(world, encoder):
    return {group: {kind: similarities(encoder, kind, pairs) for kind, pairs in kinds.items()}
            for group, kinds in world.items()}


@functools.lru_cache(maxsize=4)
def draws(groups):
    """The draws of an interval, which many kinds of the same pairs share."""
    return bootstrap.Bootstrap(groups, SEED)


def share(values, groups):
    """Per cent of true values, with its interval. Values of one group are not independent of each other."""
    return draws(tuple(groups)).interval(values)


def pair_rows(world, found, least):
    """Per cent within the bound; `least`: the least phi."""
    rows = {}
    for group, kinds in world.items():
        rows[group] = {}
        for kind, pairs in kinds.items():
            some = found[group][kind]
            rows[group][kind] = {
                "phi": share([phi >= least for phi, *_ in some], [place for *_, place in pairs]),
                "jaccard": 100 * sum(bits >= JACCARD for _, bits, _ in some) / len(some),
                "estimated": 100 * sum(labels >= ESTIMATED for *_, labels in some) / len(some)}
    return rows


# --- positions ------------------------------------------------------------------------------------


def position_similarities(encoder, count):
    """phi and Jaccard of pairs of positions, by metres apart."""
    rng = random.Random(SEED)
    sections = metric.sections_of(encoder)
    found = {}
    for metres in POSITION_METRES:
        found[metres] = []
        for _ in range(count):
            one = (rng.uniform(-60, 60), rng.uniform(-180, 180))
            other = nearness.moved(one, metres, rng.uniform(0, 2 * math.pi))
            message, query = (encoder.mask(labels.position(*place)) for place in (one, other))
            found[metres].append((metric.phi(sections, query, message), metric.jaccard(query, message)))
    return found


def position_rows(found, least):
    return {metres: {"phi": share([phi >= least for phi, _ in some], range(len(some))),
                     "jaccard": 100 * sum(bits >= JACCARD for _, bits in some) / len(some)}
            for metres, some in found.items()}


# --- all ------------------------------------------------------------------------------------------


class Measured:
    """What the tables and the search for the bound have in common: it takes the most time."""

    def __init__(self, rows, position_pairs):
        """`position_pairs`: 0 for somebody's own sightings, about which made-up positions say nothing."""
        self.encoder = filters.Profile(defaults.profile())
        self.world = pairs_world(rows)
        self.pairs = pair_similarities(self.world, self.encoder)
        self.positions = position_similarities(self.encoder, position_pairs) if position_pairs else {}


def run(measured):
    least = defaults.least_similarity()
    return {"profile": measured.encoder.text, "bound": defaults.max_distance(),
            "pairs": pair_rows(measured.world, measured.pairs, least),
            "positions": position_rows(measured.positions, least)}
