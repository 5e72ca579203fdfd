# SPDX-License-Identifier: Apache-2.0
"""Foursquare check-ins: does the nearest context tell what somebody does next?

A check-in is a context: venue, position, category, hour. Each check-in but the last of its week
leaves a message that says the category of the one after it. Later check-ins ask; it is a hit when
the message found says what came next. Beside it what needs no contexts: always the category that
is most frequent, or most frequent after this category, or after this category at this hour.

The split is in time: of each person's weeks the first two thirds leave messages, the others ask.
The data has no dates; week numbers of one person ascend, and are taken for the order in time."""

import collections
import gzip
import json
import tempfile

import daemon
import labels
import matrix
import search
import sightings

KS = (1, 5, 13, 50)
K = max(KS)
PROFILE = "512/2"
CHECK_EACH = 500
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

Checkin = collections.namedtuple("Checkin", "person week at day hour venue category next")

# What the context is made of: keys of a line of JSON.
KINDS = {
    "category": lambda c: {"topics": [c.category]},
    "category, hour": lambda c: {"topics": [c.category], "labels": [f"hour:{c.hour:02d}"]},
    "venue, category, hour": lambda c: {"topics": [c.category],
                                        "labels": [f"venue:{c.venue}", f"hour:{c.hour:02d}"]},
    "venue, position, category, hour, hour of week":
        lambda c: {"topics": [c.category], "at": list(c.at),
                   "labels": [f"venue:{c.venue}", f"hour:{c.hour:02d}",
                              f"time:w{DAYS.index(c.day) + 1}T{c.hour:02d}"]},
}


def read(path):
    """All check-ins that have a next one in their week."""
    found = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]
    for row, after in zip(rows, rows[1:]):
        if row[1] == after[1]:
            found.append(Checkin(int(row[2]), int(row[1]), (float(row[3]), float(row[4])), row[5],
                                 int(row[6]), row[7], row[8], after[8]))
    return found


def split(checkins):
    """Those of each person's earlier weeks, and those of the later ones."""
    weeks = collections.defaultdict(set)
    for checkin in checkins:
        weeks[checkin.person].add(checkin.week)
    first_later = {}
    for person, numbers in weeks.items():
        ordered = sorted(numbers)
        first_later[person] = ordered[2 * len(ordered) // 3]
    earlier = [c for c in checkins if c.week < first_later[c.person]]
    later = [c for c in checkins if c.week >= first_later[c.person]]
    return earlier, later


def most_frequent(earlier, later, key):
    """Per cent right of: the most frequent next category among those with the same key."""
    overall = collections.Counter(c.next for c in earlier)
    tables = collections.defaultdict(collections.Counter)
    for checkin in earlier:
        tables[key(checkin)][checkin.next] += 1
    hits = sum((tables.get(key(c)) or overall).most_common(1)[0][0] == c.next for c in later)
    return 100 * hits / len(later)


def mask_of(sensed, encoder):
    found = [label for topic in sensed["topics"] for label in labels.topic(topic)]
    found += sensed.get("labels", [])
    found += labels.position(*sensed["at"]) if "at" in sensed else []
    return encoder.mask(found)


def check(host, kind, earlier, later, answers, stored, metric):
    """Some answers, against a search over all filters of our own; times and ids as stored."""
    order = sorted(stored, key=lambda line: line["id"])
    order.sort(key=lambda line: line["deposited"], reverse=True)
    at = {daemon.id_of(i): i for i in range(len(earlier))}
    masks = [mask_of(KINDS[kind](earlier[at[line["id"]]]), host.encoder)
             for line in order]
    searcher = search.searcher(metric, host.encoder, masks)
    for asked, answer in list(zip(later, answers))[::CHECK_EACH]:
        query = mask_of(KINDS[kind](asked), host.encoder)
        want = [(order[i]["id"], overlap, union)
                for i, overlap, union in searcher.nearest(query, range(len(masks)), K)]
        got = [(r["id"], r["intersection"], r["union"]) for r in answer["results"]]
        if got != want:
            raise matrix.Problem(f"check-ins by {kind}: an answer is not the true one")


def run_kind(server, host, kind, earlier, later, metric="bits"):
    """For each k, "1" or "0" for each question: did the vote of the nearest say what came next?"""
    server.import_lines(host.name, (json.dumps({**KINDS[kind](c), "text": c.next,
                                                "id": daemon.id_of(i)})
                                    for i, c in enumerate(earlier)))
    stored = server.export(host.name)
    says = {line["id"]: line["text"] for line in stored}
    answers = server.query(host.name, [json.dumps(KINDS[kind](c)) for c in later], K, metric)
    check(host, kind, earlier, later, answers, stored, metric)
    right = {str(k): "" for k in KS}
    for asked, answer in zip(later, answers, strict=True):
        said = [says[result["id"]] for result in answer["results"]]
        for k in KS:
            right[str(k)] += "01"[sightings.vote(said[:k]) == asked.next]
    return right


def run(programs, directory, path, say, most=None):
    earlier, later = split(read(path))
    earlier, later = earlier[:most], later[:most]
    found = {"left": len(earlier), "asked": len(later), "profile": PROFILE, "contexts": {}}
    found["frequent"] = {
        "the most frequent category": most_frequent(earlier, later, lambda c: None),
        "most frequent at this hour": most_frequent(earlier, later, lambda c: c.hour),
        "most frequent after this category": most_frequent(earlier, later, lambda c: c.category),
        "most frequent after this category at this hour":
            most_frequent(earlier, later, lambda c: (c.category, c.hour)),
        "most frequent after this venue": most_frequent(earlier, later, lambda c: c.venue),
    }
    for kind in KINDS:
        host = daemon.Host(PROFILE)
        with tempfile.TemporaryDirectory(prefix="hearsay-eval-", dir=directory) as place, \
                daemon.Daemon(*programs, place, [host]) as server:
            right = run_kind(server, host, kind, earlier, later)
        found["contexts"][kind] = {k: 100 * text.count("1") / len(text)
                                   for k, text in right.items()}
        say(f"check-ins by {kind}: k = 1: {found['contexts'][kind]['1']:.2f} %")
    return found
