# SPDX-License-Identifier: Apache-2.0
"""Who meets whom where many share one store: a thousand made-up places; two access points side by side; and an access
point whose labels are what it hears itself."""

import random

import labels
import meet
import metric

SIZES = (5, 8, 12, 16, 26, 40)  # access points of a place
PLACES, MESSAGES, READERS = 1000, 10, 300
NEWEST = 20
LINES = 100  # pairs of lines of here_map, side by side
HEARD = (8, 24, 60, 96, 120, 200)  # labels of an access point that scans
HEARD_PLACES = 200
HERE_MOST = 18  # here labels of access points that are added to a context
ROOM = (3, 5)  # of a section's bits, for labels times hashes, beyond which here labels of access points give way


def noisy(rng, place):
    """What one phone hears there: three of four access points, each some decibels off."""
    heard = [(address, min(-20, max(-95, dbm + round(rng.gauss(0, 4)))))
             for address, dbm in place if rng.random() < 0.75]
    return heard or place[:1]


# --- a thousand places ----------------------------------------------------------------------------


def places_world(count):
    """Contexts of messages with their place, in turns, the newest last; and those of readers."""
    rng = random.Random(meet.SEED)
    places = [meet.made_scan(rng, rng.choice(SIZES)) for _ in range(count)]
    messages = [(number, meet.scan(noisy(rng, place))) for _ in range(MESSAGES)
                for number, place in enumerate(places)]
    readers = [(number, meet.scan(noisy(rng, places[number])))
               for number in (rng.randrange(count) for _ in range(min(READERS, count)))]
    return messages, readers


def near_each(world, encoder, least, with_here):
    """For each reader: whether each message within the bound is of the reader's own place, and its phi. The newest are
    the last."""
    messages, readers = world
    stored = metric.Stored(encoder, [encoder.mask(context + [f"place:{number}"] * with_here)
                                     for number, context in messages])
    found = []
    for place, context in readers:
        scores = stored.phi(encoder.mask(context + [f"place:{place}"] * with_here))
        found.append([(messages[at][0] == place, score) for at, score in enumerate(scores) if score >= least])
    return found


def flat(by_reader):
    """Values of all readers, and the reader of each."""
    return ([value for some in by_reader for value in some],
            [reader for reader, some in enumerate(by_reader) for _ in some])


def place_values(near, least):
    """Of what `near_each` returned with the same or a farther bound, right and wrong ones by reader."""
    right = [[own for own, score in some if score >= least] for some in near]
    return {"own of all": right, "own of the newest": [some[-NEWEST:] for some in right],
            "found": [[True] * sum(some) + [False] * (MESSAGES - sum(some)) for some in right]}


def place_row(near, least):
    return {key: meet.share(*flat(some)) for key, some in place_values(near, least).items()}


# --- here labels ----------------------------------------------------------------------------------


def side_by_side(encoder, least):
    """Two lines of here_map name two places that hear the same, and at each is a message with each of ten scans. Per
    cent of the other line's messages within the bound; how often the own one of two with the same scan comes first; and
    how many of the ten nearest are of the own line."""
    rng = random.Random(meet.SEED)
    sections = metric.sections_of(encoder)
    within, first, ten = [], [], []
    for line in range(LINES):
        place = meet.made_scan(rng, rng.choice(SIZES))
        scans = [meet.scan(noisy(rng, place)) for _ in range(MESSAGES)]
        query = encoder.mask([*meet.scan(noisy(rng, place)), f"place:a{line}"])
        ours, theirs = ([metric.phi(sections, query, encoder.mask([*scan, f"place:{side}{line}"])) for scan in scans]
                        for side in ("a", "b"))
        within.append([score >= least for score in theirs])
        first.append([own > other for own, other in zip(ours, theirs)])
        nearest = sorted([(score, True) for score in ours] + [(score, False) for score in theirs])[-MESSAGES:]
        ten.append([own for _, own in nearest])
    return {"within": meet.share(*flat(within)), "first": meet.share(*flat(first)), "ten": meet.share(*flat(ten))}


def cut(heard, count):
    """Exactly so many labels of what an access point hears, the strongest first: lists of them by access point."""
    found = []
    for address, dbm in sorted(heard, key=lambda one: (-one[1], one[0])):
        found.append(labels.wifi(address, dbm)[:count])
        count -= len(found[-1])
    return [some for some in found if some]


def add_here(encoder, context, here):
    """The context with here labels of access points, which are few and take only the room that is left; see
    docs/protocol.md."""
    _, bits, hashes = encoder.sections["wifi"]
    found = list(context)
    for some in here:
        more = [label for label in some if label not in found]
        after = len(found) + len(more)
        if after * hashes * ROOM[1] > bits * ROOM[0] or after - len(context) > HERE_MOST:
            break
        found += more
    return found


def heard_rows(encoder, least):
    """`here` of hearsay-scan is what the access point itself hears, half of which phones hear, too. By the number of
    its labels: within the bound at the same place and at another one, how many here labels a scan leaves room for, and
    the most bits of the section of WiFi that are set."""
    rng = random.Random(meet.SEED)
    sections = metric.sections_of(encoder)
    (bits, where) = sections[list(encoder.sections).index("wifi")]
    found = {}
    for count in HEARD:
        contexts = []
        for _ in range(HEARD_PLACES):
            place = meet.made_scan(rng, rng.choice(SIZES))
            here = cut([*rng.sample(place, len(place) // 2), *meet.made_scan(rng, count)], count)
            left, sees = (meet.scan(noisy(rng, place)) for _ in range(2))
            contexts.append((left, add_here(encoder, left, here), add_here(encoder, sees, here),
                             add_here(encoder, [], here)))
        kinds = {"scan+here / scan+here": [], "here / scan+here": [], "scan / scan+here": [], "another place's": []}
        for at, (left, message, asked, here) in enumerate(contexts):
            query = encoder.mask(asked)
            for kind, context in (("scan+here / scan+here", message), ("here / scan+here", here),
                                  ("scan / scan+here", left), ("another place's", contexts[at - 1][1])):
                kinds[kind].append(metric.phi(sections, query, encoder.mask(context)))
        row = {kind: meet.share([score >= least for score in scores], range(len(scores)))
               for kind, scores in kinds.items()}
        added = [len(message) - len(left) for left, message, *_ in contexts]
        found[count] = {**row, "added": sum(added) / len(added),
                        "fill": max(100 * (encoder.mask(message) & where).bit_count() / bits
                                    for _, message, *_ in contexts)}
    return found


class Measured:
    """phi of all messages of all places, as far as the farthest bound that is asked about."""

    def __init__(self, encoder, least, count):
        world = places_world(count)
        self.count = count
        self.near = {kind: near_each(world, encoder, least, here)
                     for kind, here in (("scan", False), ("scan+here", True))}


def run(measured, encoder, least):
    return {"count": measured.count, "messages": MESSAGES,
            "places": {kind: place_row(near, least) for kind, near in measured.near.items()},
            "lines": side_by_side(encoder, least), "heard": heard_rows(encoder, least)}
