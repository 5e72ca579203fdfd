#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real WiFi contexts through a running daemon: does it find where people stood?

Imports the training rows of UJIIndoorLoc with `hearsay import` into hosts of several profiles, asks
for each validation row with `hearsay query --batch`, and counts how often the nearest message was
left in the same building and on the same floor. Beside it: the same with exact sets of labels,
computed here. Every answer is compared with a search over all filters, computed here as well, from
labels, with an implementation of its own.

Exit status: 0 all is as it should be, 1 it is not, 77 the data is not there.
"""

import argparse
import collections
import gzip
import json
import pathlib
import sys
import tempfile

SKIPPED = 77
try:
    import daemon
    import filters
    from search import Searcher
    from sightings import vote
except ImportError as missing:
    print(f"SKIPPED: {missing}; on Debian it is in python3-xxhash", file=sys.stderr)
    sys.exit(SKIPPED)

ROOT = pathlib.Path(__file__).resolve().parents[2]
K = 13
POINTS = 1.0  # the finest profile may be this far from the exact sets

Row = collections.namedtuple("Row", "number building floor position labels")


def read_rows(path, most):
    """The rows of one file, in its order; labels are what the context is made of."""
    rows = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            if most is not None and len(rows) == most:
                break
            fields = line.rstrip("\n").split("\t")
            labels = ["wifi:" + field.split(":")[0] for field in fields[6:] if field]
            rows.append(Row(len(rows) + 1, int(fields[2]), int(fields[3]),
                            f"{fields[4]} {fields[5]}", labels))
    return rows


def message_line(row):
    text = f"row {row.number}: building {row.building}, floor {row.floor}, position {row.position}"
    return json.dumps({"labels": row.labels, "text": text, "id": daemon.id_of(row.number)})


# --- exact sets of labels -----------------------------------------------------------------------


def set_mask(labels, numbers):
    """A set of labels as an integer, one bit a label."""
    return sum(1 << numbers.setdefault(label, len(numbers)) for label in set(labels))


# --- hit rates ----------------------------------------------------------------------------------


class Hits:
    """How often the building, and building and floor, were right: by the nearest, and by a vote."""

    def __init__(self):
        self.counts = [0, 0, 0, 0]
        self.queries = 0

    def add(self, asked, found):
        buildings = [row.building for row in found]
        floors = [(row.building, row.floor) for row in found]
        self.queries += 1
        self.counts[0] += buildings[0] == asked.building
        self.counts[1] += floors[0] == (asked.building, asked.floor)
        self.counts[2] += vote(buildings) == asked.building
        self.counts[3] += vote(floors) == (asked.building, asked.floor)

    def percentages(self):
        return [100 * count / self.queries for count in self.counts]


# --- one host -----------------------------------------------------------------------------------


class Problem(Exception):
    """Something is not as it should be."""


def read_stored(server, host, by_id):
    """The filters that the daemon has, in file order of the rows; they are compared with ours."""
    stored = {}
    for line in server.export(host.name):
        row = by_id[line["id"]]
        stored[row.number] = filters.from_base64(line["filter"])
        if stored[row.number] != filters.of_labels(row.labels, host.bits, host.hashes):
            raise Problem(f"{host.profile}: row {row.number} is stored with another filter")
    if len(stored) != len(by_id):
        raise Problem(f"{host.profile}: {len(stored)} of {len(by_id)} messages are stored")
    return [stored[number] for number in sorted(stored)]


def later_first(rows):
    """The daemon's order among messages that are equally near, see daemon.id_of."""
    return [-row.number for row in rows]


def check_answer(host, asked, answer, expected, training):
    got = [(r["id"], r["intersection"], r["union"]) for r in answer["results"]]
    want = [(daemon.id_of(training[i].number), overlap, union) for i, overlap, union in expected]
    if got != want or not answer["exact"]:
        raise Problem(f"{host.profile}: the answer to validation row {asked.number} is not the "
                      f"true one\n  got      {got}\n  expected {want}")


def run_host(server, host, training, validation, by_id):
    """Imports, asks and checks. Hit rates."""
    server.import_lines(host.name, (message_line(row) for row in training))
    searcher = Searcher(read_stored(server, host, by_id))
    ranks = later_first(training)
    questions = [json.dumps({"labels": row.labels}) for row in validation]
    first = server.query(host.name, questions, 1)
    many = server.query(host.name, questions, K)
    hits = Hits()
    for asked, one, answer in zip(validation, first, many, strict=True):
        mask = filters.of_labels(asked.labels, host.bits, host.hashes)
        expected = searcher.nearest(mask, ranks, K)
        check_answer(host, asked, answer, expected, training)
        check_answer(host, asked, one, expected[:1], training)
        hits.add(asked, [by_id[result["id"]] for result in answer["results"]])
    return hits.percentages()


# --- exact sets ---------------------------------------------------------------------------------


def run_exact(training, validation):
    """Hit rates with the sets themselves; how many queries have a tie at the top."""
    numbers = {}
    searcher = Searcher([set_mask(row.labels, numbers) for row in training])
    ranks = later_first(training)
    hits = Hits()
    ties = 0
    for asked in validation:
        found = searcher.nearest(set_mask(asked.labels, numbers), ranks, K)
        ties += found[0][1] * found[1][2] == found[1][1] * found[0][2]
        hits.add(asked, [training[i] for i, _, _ in found])
    return hits.percentages(), ties


# --- the whole ----------------------------------------------------------------------------------


def run_daemon(options, hosts, training, validation):
    by_id = {daemon.id_of(row.number): row for row in training}
    with tempfile.TemporaryDirectory(prefix="hearsay-eval-", dir=options.dir) as directory, \
            daemon.Daemon(options.hearsayd, options.hearsay, directory, hosts) as server:
        return {host.profile: run_host(server, host, training, validation, by_id) for host in hosts}


def print_table(figures):
    print(f"{figures['stored']} messages stored, {figures['empty']} rows without labels not, "
          f"{figures['queries']} queries; per cent right\n")
    print("| contexts as | building, k = 1 | floor, k = 1 | building, k = 13 | floor, k = 13 |")
    print("|---|---|---|---|---|")
    for name, rates in figures["rates"].items():
        print(f"| {name} | " + " | ".join(f"{rate:.2f}" for rate in rates) + " |")
    print(f"\n{figures['queries']} queries a profile, k = 1 and k = {K}: every answer is the one "
          f"that a search over all stored filters gives.")
    print(f"{figures['ties']} queries have a tie at the top (exact sets).")


def evaluate(options):
    hosts = [daemon.Host(profile) for profile in options.profiles.split(",")]
    training = read_rows(options.data / "training.tsv.gz", options.rows)
    validation = read_rows(options.data / "validation.tsv.gz", options.queries)
    taken = [row for row in training if row.labels]
    rates = run_daemon(options, hosts, taken, validation)
    rates["exact sets"], ties = run_exact(taken, validation)
    return {
        "stored": len(taken),
        "empty": len(training) - len(taken),
        "queries": len(validation),
        "rates": rates,
        "ties": ties,
    }


def check_goal(figures):
    """The finest profile against the exact sets, where both had the whole data."""
    finest = figures["rates"].get("2048/4")
    if finest is None:
        return
    for got, exact in zip(finest, figures["rates"]["exact sets"], strict=True):
        if abs(got - exact) > POINTS:
            raise Problem(f"2048/4 has {got:.2f} %, exact sets {exact:.2f} %: more than "
                          f"{POINTS:.0f} point apart")


def parse_arguments():
    parser = argparse.ArgumentParser(description="Evaluate hearsayd on real WiFi contexts.")
    parser.add_argument("--data", type=pathlib.Path,
                        default=ROOT.parent / "shared" / "data" / "ujiindoorloc",
                        help="directory of training.tsv.gz and validation.tsv.gz")
    parser.add_argument("--hearsayd", default=ROOT / "build" / "daemon" / "hearsayd")
    parser.add_argument("--hearsay", default=ROOT / "build" / "client" / "hearsay")
    parser.add_argument("--profiles", default="256/4,512/4,1024/4,2048/4",
                        help="bits/hashes, separated by commas (default: %(default)s)")
    parser.add_argument("--rows", type=int, help="take only so many training rows")
    parser.add_argument("--queries", type=int, help="take only so many validation rows")
    parser.add_argument("--dir", default=".", help="where the temporary data directory is made")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    return parser.parse_args()


def main():
    options = parse_arguments()
    missing = [name for name in ("training.tsv.gz", "validation.tsv.gz")
               if not (options.data / name).exists()]
    if missing:
        print(f"SKIPPED: {options.data} has no {' and no '.join(missing)}", file=sys.stderr)
        return SKIPPED
    try:
        figures = evaluate(options)
        if options.json:
            print(json.dumps(figures))
        else:
            print_table(figures)
        check_goal(figures)
    except (Problem, daemon.Failed) as problem:
        print(f"uji.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
