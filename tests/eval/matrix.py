# SPDX-License-Identifier: Apache-2.0
"""Plain and graded WiFi contexts through a running daemon, in many profiles.

Training rows go in with `hearsay import`, sightings as they are: the builder of libhearsay makes
the labels. The filters that the daemon stored are compared with those of our own implementation,
bit for bit, and a part of the answers with a search over all of them."""

import collections
import hashlib
import heapq
import json
import tempfile

import daemon
import filters
import labels
import search
import sightings

KS = (1, 3, 5, 7, 13, 21, 31)
K = max(KS)
SUGGESTED = 0.8  # a host's suggested_max_distance, unless configured
CHECK_EACH = 20  # answers that are compared with a search over everything


class Problem(Exception):
    """Something is not as it should be."""


def message_id(row):
    """The same in every run: messages of one millisecond are told apart by it."""
    return hashlib.blake2b(b"uji row %d" % row.number, digest_size=16).hexdigest()


def sensed(row, graded):
    return {"wifi": {bssid: dbm if graded else None for bssid, dbm in row.heard}}


def mask_of(row, graded, bits, hashes):
    return filters.of_labels((label for bssid, dbm in row.heard
                              for label in labels.wifi(bssid, dbm if graded else None)),
                             bits, hashes)


def read_stored(server, host, graded, by_id):
    """Rows, masks and ranks in the daemon's order among equals: newer first, then smaller id."""
    lines = server.export(host.name)
    lines.sort(key=lambda line: line["id"])
    lines.sort(key=lambda line: line["deposited"], reverse=True)
    if {line["id"] for line in lines} != set(by_id) or len(lines) != len(by_id):
        raise Problem(f"{host.name}: {len(lines)} of {len(by_id)} messages are stored")
    rows = [by_id[line["id"]] for line in lines]
    masks = []
    for row, line in zip(rows, lines):
        masks.append(mask_of(row, graded, host.bits, host.hashes))
        if filters.from_base64(line["filter"]) != masks[-1]:
            raise Problem(f"{host.name}: row {row.number} is stored with another filter than ours")
    return rows, masks


def check_answers(host, graded, validation, answers, rows, masks):
    searcher = search.Searcher(masks)
    ranks = range(len(masks))
    for asked, answer in list(zip(validation, answers))[::CHECK_EACH]:
        query = mask_of(asked, graded, host.bits, host.hashes)
        want = [(message_id(rows[i]), overlap, union)
                for i, overlap, union in searcher.nearest(query, ranks, K)]
        got = [(r["id"], r["intersection"], r["union"]) for r in answer["results"]]
        if got != want or not answer["exact"]:
            raise Problem(f"{host.name}: the answer to row {asked.number} is not the true one")


def score(validation, answers, by_id):
    figures = sightings.Score(KS)
    for asked, answer in zip(validation, answers, strict=True):
        figures.add(asked, [by_id[result["id"]] for result in answer["results"]])
    return figures.figures()


def nearest_distances(answers):
    """Median and 90th percentile of the distance of the nearest message, and per cent of the
    questions whose nearest lies beyond the distance that hosts suggest by default."""
    sorted_ones = sorted(answer["results"][0]["distance"] for answer in answers)
    beyond = sum(distance > SUGGESTED for distance in sorted_ones)
    return {"median": sorted_ones[len(sorted_ones) // 2],
            "p90": sorted_ones[9 * len(sorted_ones) // 10],
            "beyond": 100 * beyond / len(sorted_ones)}


def run_host(server, host, graded, training, validation):
    by_id = {message_id(row): row for row in training}
    server.import_lines(host.name, (json.dumps({**sensed(row, graded), "text": "",
                                                "id": message_id(row)}) for row in training))
    rows, masks = read_stored(server, host, graded, by_id)
    questions = [json.dumps(sensed(row, graded)) for row in validation]
    by_bits = server.query(host.name, questions, K)
    estimated = server.query(host.name, questions, K, "estimated")
    check_answers(host, graded, validation, by_bits, rows, masks)
    comparisons = sum(answer["comparisons"] for answer in by_bits) / len(by_bits)
    return {"contexts": "graded" if graded else "plain", "profile": host.profile,
            "bytes": host.bits // 8, "comparisons": comparisons,
            "fill": 100 * sum(mask.bit_count() for mask in masks) / len(masks) / host.bits,
            "nearest": nearest_distances(by_bits),
            "bits": score(validation, by_bits, by_id),
            "estimated": score(validation, estimated, by_id)}


def run_exact(graded, training, validation):
    """The sets of labels themselves, without filters; rows in file order, newer first."""
    numbers = {}

    def mask(row):
        found = 0
        for bssid, dbm in row.heard:
            for label in labels.wifi(bssid, dbm if graded else None):
                found |= 1 << numbers.setdefault(label, len(numbers))
        return found

    searcher = search.Searcher([mask(row) for row in training])
    ranks = [-row.number for row in training]
    figures = sightings.Score(KS)
    for asked in validation:
        near = searcher.nearest(mask(asked), ranks, K)
        figures.add(asked, [training[i] for i, _, _ in near])
    size = sum(len(label) for row in training for bssid, dbm in row.heard
               for label in labels.wifi(bssid, dbm if graded else None)) / len(training)
    return {"contexts": "graded" if graded else "plain", "profile": "exact sets",
            "bytes": round(size), "comparisons": len(training), "fill": None,
            "nearest": None, "bits": figures.figures(), "estimated": None}


def run_raw(training, validation):
    """What the publishers of the data compared with: the Euclidean distance of the raw signals of
    all access points, each as dBm + 105, and 0 where it is not heard. |a - b|^2 is computed as
    |a|^2 + |b|^2 - 2 ab, and ab over those rows only that heard what the query heard."""
    heard_by = collections.defaultdict(list)
    squares = []
    for at, row in enumerate(training):
        squares.append(sum((dbm + 105) ** 2 for _, dbm in row.heard))
        for bssid, dbm in row.heard:
            heard_by[bssid].append((at, dbm + 105))
    figures = sightings.Score(KS)
    for asked in validation:
        distances = squares[:]  # |asked|^2 is the same for all
        for bssid, dbm in asked.heard:
            for at, signal in heard_by.get(bssid, ()):
                distances[at] -= 2 * signal * (dbm + 105)
        near = heapq.nsmallest(K, range(len(training)), key=lambda at: (distances[at], -at))
        figures.add(asked, [training[at] for at in near])
    return {"contexts": "raw signals", "profile": "Euclidean distance", "bytes": 520,
            "comparisons": len(training), "fill": None, "nearest": None, "bits": figures.figures(),
            "estimated": None}


def run(programs, directory, training, validation, profiles, say):
    """Figures of every kind and profile, and of exact sets."""
    found = []
    for graded in (False, True):
        hosts = [daemon.Host(profile) for profile in profiles]
        with tempfile.TemporaryDirectory(prefix="hearsay-eval-", dir=directory) as place, \
                daemon.Daemon(*programs, place, hosts) as server:
            for host in hosts:
                found.append(run_host(server, host, graded, training, validation))
                say(f"{found[-1]['contexts']} {host.profile}: floors right, k = 1: "
                    f"{found[-1]['bits']['1']['floor']:.2f} %")
        found.append(run_exact(graded, training, validation))
    return [*found, run_raw(training, validation)]


def counts(training):
    """Sightings and graded labels of a row, on average."""
    total = collections.Counter()
    for row in training:
        total["plain"] += len(row.heard)
        total["graded"] += sum(labels.levels(dbm) for _, dbm in row.heard)
    return {kind: count / len(training) for kind, count in total.items()}
