# SPDX-License-Identifier: Apache-2.0
"""What readers find in a store of mixed contexts: 40 % of the messages have here labels alone, as those of the page for
phones do, 30 % a scan, too, 20 % a scan and topics, 10 % a position and a topic. Here is a cell of 30 m of a floor.

Right are messages of the reader's cell, and those left on the reader's floor within 20 m. Of equally near messages the
newest comes first, so that whoever floods the store is first."""

import heapq
import math
import random

import crowd
import labels
import meet
import metric

KINDS = {"here only": 40, "scan, here": 30, "scan, here, topics": 20, "position, topic, here": 10}
READERS = 150
TOPICS = 200  # by Zipf's law
CELL, RIGHT = 30, 20  # metres
TEN = 10
ALONE = 1000  # messages with one topic that nobody else has
GROUND = math.cos(math.radians(40))  # metres of the ground a metre of the data's projection


def topics(rng, count):
    weights = [1 / (at + 1) for at in range(TOPICS)]
    return sorted({f"topic:t{at}" for at in rng.choices(range(TOPICS), weights, k=count)})


def here(row):
    return (f"place:{row.building}/{row.floor}/{row.east * GROUND // CELL:.0f}/"
            f"{row.north * GROUND // CELL:.0f}")


def is_right(asked, row):
    if here(asked) == here(row):
        return True
    same = (asked.building, asked.floor) == (row.building, row.floor)
    return same and math.hypot(asked.east - row.east, asked.north - row.north) * GROUND <= RIGHT


def store(rng, training):
    """Rows in a random order, the newest last; what each leaves, its kind and its topics."""
    rows = rng.sample(training, len(training))
    contexts, kinds, had = [], [], []
    for row, kind in zip(rows, rng.choices(list(KINDS), KINDS.values(), k=len(rows))):
        some = {"scan, here, topics": lambda: topics(rng, rng.randint(1, 3)),
                "position, topic, here": lambda: topics(rng, 1)}.get(kind, list)()
        context = [here(row), *some]
        context += meet.scan(row.heard) if kind.startswith("scan") else []
        context += meet.position(row) if kind.startswith("position") else []
        contexts.append(context)
        kinds.append(kind)
        had.append(set(some))
    return rows, contexts, kinds, had


def spam(training):
    """Contexts that want to be everybody's neighbours."""
    heard = {}
    for row in training:
        for address, _ in row.heard:
            heard[address] = heard.get(address, 0) + 1
    common = sorted(heard, key=lambda address: (-heard[address], address))
    graded = labels.graded
    cells = sorted({here(row) for row in training})

    def levels(count, level):
        return [label for address in common[:count] for label in graded(address, level)]

    return {"200 made-up APs": [label for at in range(200) for label in graded(f"0a:00:00:00:00:{at:02x}", 2)],
            "every AP": levels(len(common), 1), "the 60 commonest APs": levels(60, 4),
            "the 16 commonest APs": levels(16, 7), "the 8 commonest APs": levels(8, 10),
            "240 places": cells[:240], "the commonest topic": ["topic:t0"],
            "20 topics": [f"topic:t{at}" for at in range(20)]}


def ten_newest_first(scores, places):
    """The ten nearest of `places`, whose scores are given in the same order; the newest of equal ones first."""
    return heapq.nlargest(TEN, zip(scores, places))


def run(encoder, rows, least):
    training, validation = rows
    rng = random.Random(meet.SEED)
    left, contexts, kinds, had = store(rng, training)
    masks = [encoder.mask(context) for context in contexts]
    stored = metric.Stored(encoder, masks)
    spammed = {name: encoder.mask(context) for name, context in spam(training).items()}
    sections = metric.sections_of(encoder)
    right, entered = {}, {name: [] for name in spammed}
    mix, board = {kind: 0 for kind in KINDS}, []
    for asked in rng.sample(validation, min(READERS, len(validation))):
        wanted = topics(rng, 1)
        sees, there = meet.scan(asked.heard), here(asked)
        queries = {"scan, here": ([*sees, there], None), "scan": (sees, None), "here": ([there], [there]),
                   "board: scan, here, topic": ([*sees, there, *wanted], wanted)}
        for name, (context, contained) in queries.items():
            query = encoder.mask(context)
            want = encoder.mask(contained or [])
            places = [at for at, mask in enumerate(masks) if mask & want == want] if contained else range(len(masks))
            ten = ten_newest_first(stored.phi(query, places), places)
            if not ten:
                continue
            if contained == wanted:
                board.append([wanted[0] in had[at] for _, at in ten])
            else:
                right.setdefault(name, []).append([is_right(asked, left[at]) for _, at in ten])
            if name == "here":
                for _, at in ten:
                    mix[kinds[at]] += 1
            for kind, mask in spammed.items():
                score = metric.phi(sections, query, mask)
                entered[kind].append(mask & want == want and score > 0 and score >= ten[-1][0])
    return {"right": {name: meet.share(*crowd.flat(some)) for name, some in right.items()},
            "board": meet.share(*crowd.flat(board)),
            "mix": {kind: 100 * count / (sum(mix.values()) or 1) for kind, count in mix.items()},
            "stored": {kind: 100 * kinds.count(kind) / len(kinds) for kind in KINDS},
            "spam": {kind: 100 * sum(some) / len(some) for kind, some in entered.items()},
            "alone": topic_alone(rng, encoder, masks, training, least)}


def topic_alone(rng, encoder, masks, training, least):
    """Of 1,000 messages with a topic, among all others, how many are found by the topic alone: of those that seem to
    contain it, all, as clients ask; and those within the bound. And how many others seem to have it."""
    (asked,) = wanted = ["topic:alone"]
    query = encoder.mask(wanted)
    sections = metric.sections_of(encoder)
    some = [encoder.mask([*meet.scan(row.heard), here(row), asked, *topics(rng, rng.randint(0, 2))])
            for row in rng.sample(training, min(ALONE, len(training)))]
    found = [mask for mask in some if mask & query == query]
    return {"left": len(some), "found": len(found),
            "within": sum(metric.phi(sections, query, mask) >= least for mask in found),
            "others": sum(mask & query == query for mask in masks)}
