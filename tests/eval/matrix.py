# SPDX-License-Identifier: Apache-2.0
"""WiFi contexts through a running daemon, in many profiles: plain, graded by strength, and mixed,
which is graded with the hour of the scan and up to three topics that somebody drew.

Training rows go in with `hearsay import`, sightings as they are: the builder of libhearsay makes
the labels. The filters that the daemon stored are compared with those of our own implementation,
bit for bit, and a part of the answers with a search over all of them."""

import collections
import datetime
import heapq
import json
import random
import subprocess
import tempfile

import daemon
import filters
import labels
import search
import sightings

KS = (1, 3, 5, 7, 13, 21, 31)
K = max(KS)
FAR = 0.8  # by the bits, what shares less may share it by chance
TOPICS = 5000
CHECK_EACH = 20  # answers that are compared with a search over everything


class Problem(Exception):
    """Something is not as it should be."""


def topics(row):
    """One to three of 5,000, the first ones often (Zipf); the same in every run."""
    drawn = random.Random(f"{row.unix_s} {row.east} {row.number}")
    return [f"t{int(TOPICS ** drawn.random())}" for _ in range(drawn.randint(1, 3))]


def of_wifi(row, kind):
    """What hearsay makes of a scan; plain: the access points alone, all that were heard."""
    if kind == "plain":
        return [f"wifi:{bssid}" for bssid, _ in row.heard]
    return labels.scan(row.heard)[0]


def sensed(row, kind):
    found = {"labels": of_wifi(row, kind)}
    if kind == "mixed":
        moment = datetime.datetime.fromtimestamp(row.unix_s, datetime.timezone.utc)
        found |= {"time": moment.strftime("%Y-%m-%dT%H:%MZ"), "topics": topics(row)}
    return found


def labels_of(row, kind):
    found = of_wifi(row, kind)
    if kind == "mixed":
        found += labels.moment(row.unix_s * 1000)
        found += [label for text in topics(row) for label in labels.topic(text)]
    return found


def read_stored(server, host, kind, by_id):
    """Rows, masks and ranks in the daemon's order among equals: newer first, then smaller id."""
    lines = server.export(host.name)
    lines.sort(key=lambda line: line["id"])
    lines.sort(key=lambda line: line["deposited"], reverse=True)
    if {line["id"] for line in lines} != set(by_id) or len(lines) != len(by_id):
        raise Problem(f"{host.name}: {len(lines)} of {len(by_id)} messages are stored")
    rows = [by_id[line["id"]] for line in lines]
    masks = []
    for row, line in zip(rows, lines):
        masks.append(host.encoder.mask(labels_of(row, kind)))
        if filters.from_base64(line["filter"]) != masks[-1]:
            raise Problem(f"{host.name}: row {row.number} is stored with another filter than ours")
    return rows, masks


def check_answers(host, kind, validation, answers, rows, masks, metric="bits"):
    searcher = search.searcher(metric, host.encoder, masks)
    ranks = range(len(masks))
    for asked, answer in list(zip(validation, answers))[::CHECK_EACH]:
        query = host.encoder.mask(labels_of(asked, kind))
        want = [(daemon.id_of(rows[i].number), overlap, union)
                for i, overlap, union in searcher.nearest(query, ranks, K)]
        got = [(r["id"], r["intersection"], r["union"]) for r in answer["results"]]
        if got != want or not answer["exact"]:
            raise Problem(f"{host.name}: the answer to row {asked.number} is not the true one")


def score(validation, answers, by_id):
    figures = sightings.Score(KS)
    for asked, answer in zip(validation, answers, strict=True):
        figures.add(asked, [by_id[result["id"]] for result in answer["results"]])
    return figures.figures()


def nearest_distances(answers, bound=FAR):
    """Median and 90th percentile of the distance of the nearest message, and per cent of the
    questions whose nearest lies beyond `bound`."""
    sorted_ones = sorted(answer["results"][0]["distance"] for answer in answers)
    beyond = sum(distance > bound for distance in sorted_ones)
    return {"median": sorted_ones[len(sorted_ones) // 2],
            "p90": sorted_ones[9 * len(sorted_ones) // 10],
            "beyond": 100 * beyond / len(sorted_ones)}


def mean_fill(host, masks):
    return 100 * sum(mask.bit_count() for mask in masks) / len(masks) / host.bits


def index_bytes(bench, directory, host, masks, queries):
    """Per cent of all filters' bytes that the index reads for a question, k = 13, by
    `hearsay-bench index` with the same filters; None without it."""
    if bench is None:
        return None
    size = host.bits // 8
    with tempfile.TemporaryDirectory(prefix="hearsay-eval-", dir=directory) as place:
        for name, ones in (("stored", masks), ("asked", queries)):
            with open(f"{place}/{name}", "wb") as file:
                file.write(b"".join(mask.to_bytes(size, "little") for mask in ones))
        done = subprocess.run([str(bench), "index", "--workload", f"filters:{place}/stored",
                               "--queries", f"{place}/asked", "--profile", f"v2:{host.profile}",
                               "--metric", "bits", "-k", "13", "--json"], capture_output=True, text=True, check=True,
                              timeout=300)
    by_engine = {line["engine"]: line for line in map(json.loads, done.stdout.splitlines())}
    if by_engine["tree"]["recall"] != 1:
        raise Problem(f"{host.name}: the tree's answers are not those of the list")
    return 100 * by_engine["tree"]["bytes_share"]


def import_rows(server, host, kind, training):
    server.import_lines(host.name, (json.dumps({**sensed(row, kind), "text": "",
                                                "id": daemon.id_of(row.number)}) for row in training))


def ask(server, host, kind, training, validation, place):
    by_id = {daemon.id_of(row.number): row for row in training}
    rows, masks = read_stored(server, host, kind, by_id)
    questions = [json.dumps(sensed(row, kind)) for row in validation]
    by_bits = server.query(host.name, questions, K)
    check_answers(host, kind, validation, by_bits, rows, masks)
    comparisons = {}
    for k in (1, 13):
        answers = server.query(host.name, questions, k)
        comparisons[str(k)] = sum(answer["comparisons"] for answer in answers) / len(answers)
    asked = [host.encoder.mask(labels_of(row, kind)) for row in validation]
    return {"contexts": kind, "profile": host.profile,
            "bytes": host.bits // 8, "comparisons": comparisons,
            "index_bytes": index_bytes(*place, host, masks, asked),
            "fill": mean_fill(host, masks),
            "nearest": nearest_distances(by_bits),
            "bits": score(validation, by_bits, by_id)}


def without_index(training, **rest):
    """What is searched by looking at all."""
    return {"comparisons": {"1": len(training), "13": len(training)}, "index_bytes": None,
            "fill": None, "nearest": None, **rest}


def run_exact(kind, training, validation):
    """The sets of labels themselves, without filters, by Jaccard; rows in file order, newer first."""
    numbers = {}

    def mask(row):
        found = 0
        for label in labels_of(row, kind):
            found |= 1 << numbers.setdefault(label, len(numbers))
        return found

    searcher = search.Searcher([mask(row) for row in training])
    ranks = [-row.number for row in training]
    figures = sightings.Score(KS)
    for asked in validation:
        near = searcher.nearest(mask(asked), ranks, K)
        figures.add(asked, [training[i] for i, _, _ in near])
    size = sum(len(label) for row in training for label in labels_of(row, kind)) / len(training)
    return without_index(training, contexts=kind, profile="exact sets", bytes=round(size),
                         bits=figures.figures())


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
    return without_index(training, contexts="raw signals", profile="Euclidean distance", bytes=520,
                         bits=figures.figures())


def run_kind(programs, place, kind, training, validation, profiles, say):
    """`place`: hearsay-bench or None, and a directory. All rows go in, then the daemon starts anew."""
    found = []
    hosts = [daemon.Host(profile) for profile in profiles]
    with tempfile.TemporaryDirectory(prefix="hearsay-eval-", dir=place[1]) as data, \
            daemon.Daemon(*programs, data, hosts) as server:
        for host in hosts:
            import_rows(server, host, kind, training)
        server.restart()
        for host in hosts:
            found.append(ask(server, host, kind, training, validation, place))
            say(f"{kind} {host.profile}: floors right, k = 1: "
                f"{found[-1]['bits']['1']['floor']:.2f} %")
    return [*found, run_exact(kind, training, validation)]


def run(programs, place, training, validation, profiles, say):
    """Figures of every kind and profile, and of exact sets. `profiles`: by kind."""
    found = []
    for kind, some in profiles.items():
        found += run_kind(programs, place, kind, training, validation, some, say)
    return [*found, run_raw(training, validation)]


def counts(training):
    """Sightings and graded labels of a row, on average."""
    total = collections.Counter()
    for row in training:
        total["plain"] += len(row.heard)
        total["graded"] += len(labels_of(row, "graded"))
        total["mixed"] += len(set(labels_of(row, "mixed")))
    return {kind: count / len(training) for kind, count in total.items()}
