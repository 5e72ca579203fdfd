# SPDX-License-Identifier: Apache-2.0
"""How the rule of levels was chosen: how many labels a sighting of some strength becomes.

The rules are compared on the training rows alone: each seventh of them asks for the nearest row that
somebody else took, with another phone. What the validation rows say is printed beside it, and was
not used to choose. Filters are made and searched here, without the daemon."""

import math
import multiprocessing

import filters
import labels
import search
import sightings

KS = (1, 13)
EACH = 7  # training rows that ask


def linear(floor, step):
    return lambda dbm: max(1, math.ceil((dbm - floor) / step))


def power(count, exponent):
    return lambda dbm: max(1, math.ceil(count * ((dbm + 105) / 105) ** exponent))


RULES = {
    "plain: one label": lambda dbm: 1,
    "ceil((dBm + 105) / 30)": linear(-105, 30),
    "ceil((dBm + 105) / 20)": linear(-105, 20),
    "ceil((dBm + 105) / 10)": linear(-105, 10),
    "ceil((dBm + 105) / 5)": linear(-105, 5),
    "ceil((dBm + 95) / 10)": linear(-95, 10),
    "ceil((dBm + 95) / 8), the builder's": linear(labels.FLOOR_DBM, labels.STEP_DB),
    "ceil((dBm + 90) / 20)": linear(-90, 20),
    "ceil((dBm + 90) / 10)": linear(-90, 10),
    "ceil((dBm + 90) / 8)": linear(-90, 8),
    "ceil((dBm + 90) / 6)": linear(-90, 6),
    "ceil((dBm + 90) / 5)": linear(-90, 5),
    "ceil((dBm + 85) / 8)": linear(-85, 8),
    "ceil((dBm + 85) / 6)": linear(-85, 6),
    "ceil(8 ((dBm + 105) / 105)^2)": power(8, 2),
    "ceil(16 ((dBm + 105) / 105)^2)": power(16, 2),
    "ceil(24 ((dBm + 105) / 105)^2)": power(24, 2),
    "ceil(32 ((dBm + 105) / 105)^2)": power(32, 2),
    "ceil(64 ((dBm + 105) / 105)^e)": power(64, math.e),
}


def encode(row, rule, bits, hashes):
    return filters.of_labels((label for bssid, dbm in row.heard
                              for label in labels.graded(bssid, rule(dbm))), bits, hashes)


def try_rule(job):
    """One rule with one profile: figures among the training rows, and of the validation rows."""
    name, bits, hashes, training, validation, each = job
    rule = RULES[name]
    masks = [encode(row, rule, bits, hashes) for row in training]
    searcher = search.Searcher(masks)
    ranks = [-row.number for row in training]
    others = {user: [i for i, row in enumerate(training) if row.user != user]
              for user in {row.user for row in training}}
    inside = sightings.Score(KS)
    for asked, mask in list(zip(training, masks))[::each]:
        if len(others[asked.user]) >= max(KS):
            near = searcher.nearest(mask, ranks, max(KS), others[asked.user])
            inside.add(asked, [training[i] for i, _, _ in near])
    outside = sightings.Score(KS)
    for asked in validation:
        near = searcher.nearest(encode(asked, rule, bits, hashes), ranks, max(KS))
        outside.add(asked, [training[i] for i, _, _ in near])
    count = sum(rule(dbm) for row in training for _, dbm in row.heard)
    return {"rule": name, "profile": f"{bits}/{hashes}", "labels": count / len(training),
            "fill": 100 * sum(searcher.counts) / len(masks) / bits,
            "training": inside.figures(), "validation": outside.figures()}


def run(training, validation, profiles=((512, 2),), each=EACH, names=None):
    jobs = [(name, bits, hashes, training, validation, each)
            for name in (names or RULES) for bits, hashes in profiles]
    with multiprocessing.Pool(min(2, multiprocessing.cpu_count())) as pool:
        return pool.map(try_rule, jobs, chunksize=1)
