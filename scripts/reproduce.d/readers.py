# SPDX-License-Identifier: Apache-2.0
"""Reads the figures of committed tables out of what the measuring programs write.

A reader is called with the directory of its run and with the rows of the committed table, without
the header. It yields (row, column, kind, values): which cell (both from 0; column 0 has the name of
the row), how to compare, and the numbers that the cell has now, in their order.
"""
import csv
import json
import re

import pages


class Exact:
    """Rounded as the committed number is, the figure must be this number."""
    name = "exact"

    def holds(self, committed, value):
        decimals = len(committed.partition(".")[2])
        return float(f"{value:.{decimals}f}") == float(committed)  # as numbers: -0.0 is 0.0


class Timed:
    """A time, a rate, or what else depends on the machine: at most so many times more or less."""

    def __init__(self, most):
        self.most = most
        self.name = f"timed x{most}"

    def factor(self, committed, value):
        wanted = float(committed)
        if wanted <= 0 or value <= 0:
            return 1 if wanted == value else float("inf")
        return max(value / wanted, wanted / value)

    def holds(self, committed, value):
        return self.factor(committed, value) <= self.most


EXACT, RATIO, TIME = Exact(), Timed(1.5), Timed(3)

# ---- the thesis ----

PAIRS = ((256, 1), (512, 1), (256, 3), (512, 3))


def thesis_figures(directory):
    """{(bits, n, k, figure): {competitor: number}}"""
    found = {}
    with open(directory / "figures.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (int(row.pop("bits")), int(row.pop("n")), int(row.pop("k")), row.pop("figure"))
            found[key] = {name: float(value) for name, value in row.items() if name != "hashes" and value}
    return found


def thesis_100(directory, rows):
    """100 filters, beside what was published."""
    figures = thesis_figures(directory)
    for column, (bits, k) in enumerate(PAIRS, 1):
        def of(figure, *names, at=k, times=1, size=bits):
            return [figures[size, 100, at, figure][name] * times for name in names]

        ranks = [10.0 * k]
        yield 0, column, EXACT, of("wrong_ranks", "published_tree") + ranks
        yield 1, column, EXACT, of("wrong_ranks", "thesis_tree") + ranks
        yield 2, column, EXACT, [max(of("wrong_ranks", "list", "tree"))]
        yield 3, column, EXACT, of("squared_error_mean", "published_tree", times=1e6)
        yield 4, column, EXACT, of("squared_error_mean", "thesis_tree", times=1e6)
        yield 5, column, EXACT, of("deviation_percent", "published_tree")
        yield 6, column, EXACT, of("deviation_percent", "thesis_tree")
        yield 7, column, EXACT, of("cpu_us_median", "published_tree", "published_list")
        yield 8, column, TIME, of("cpu_us_median", "thesis_tree", "thesis_list")
        yield 9, column, TIME, of("cpu_us_median", "tree", "list")
        yield 10, column, EXACT, of("comparisons_counted_as_there", "published_tree", "published_list")
        yield 11, column, EXACT, of("comparisons_counted_as_there", "thesis_tree", "thesis_list")
        yield 12, column, EXACT, of("overlaps_computed", "thesis_tree", "thesis_list")
        if k == 1:
            yield 13, column, EXACT, of("memory_counted_as_there_bytes", "thesis_tree", "thesis_list", at=0)
            yield 14, column, EXACT, of("build_estimate", "thesis_tree", at=0)


def thesis_wrong(directory, rows):
    """The share of wrong ranks with 1,000 queries."""
    figures = thesis_figures(directory)
    for column, (bits, k) in enumerate(PAIRS, 1):
        yield 0, column, EXACT, [figures[bits, 100, k, "wrong_percent"]["published_tree"]]
        for row, n in enumerate((100, 1000, 3000), 1):
            yield row, column, EXACT, [figures[bits, n, k, "wrong_percent"]["thesis_tree"]]


def thesis_sizes(bits):
    """100 to 100,000 filters, k = 1."""
    lines = (("wrong_ranks", "thesis_tree", 1, EXACT), ("deviation_percent", "thesis_tree", 1, EXACT),
             ("cpu_us_median", "thesis_list", 1, TIME), ("cpu_us_median", "thesis_tree", 1, TIME),
             ("cpu_us_median", "list", 1, TIME), ("cpu_us_median", "tree", 1, TIME),
             ("comparisons_counted_as_there", "thesis_list", 1, EXACT),
             ("comparisons_counted_as_there", "thesis_tree", 1, EXACT),
             ("overlaps_computed", "thesis_tree", 1, EXACT), ("overlaps_computed", "list", 1, EXACT),
             ("overlaps_computed", "tree", 1, EXACT), ("memory_bytes_a_filter", "thesis_list", 0, EXACT),
             ("memory_bytes_a_filter", "thesis_tree", 0, EXACT), ("memory_bytes_a_filter", "list", 0, EXACT),
             ("memory_bytes_a_filter", "tree", 0, EXACT), ("build_us_a_filter", "thesis_tree", 0, TIME),
             ("build_us_a_filter", "list", 0, TIME), ("build_us_a_filter", "tree", 0, TIME),
             ("bulk_us_a_filter", "tree", 0, TIME))

    def read(directory, rows):
        figures = thesis_figures(directory)
        for column, n in enumerate((100, 1000, 10000, 100000), 1):
            for row, (figure, name, k, kind) in enumerate(lines):
                yield row, column, kind, [figures[bits, n, k, figure][name]]
    return read

# ---- the evaluation: run.py writes the same tables, with more rows and columns ----


def table_rows(directory, first, names):
    """{the first `names` cells: all cells} of the table of tables.md whose header begins with `first`."""
    rows, inside = {}, False
    for line in (directory / "tables.md").read_text(encoding="utf-8").splitlines():
        inside = line.startswith("|") and (inside or line.startswith("| " + first))
        if inside:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            rows[tuple(cells[:names])] = cells
    return rows


def places(directory, rows):
    """One table of places found. What the index reads depends on when it was arranged."""
    made = table_rows(directory, "contexts | profile | bytes", 2)
    counts = Timed(1.3)
    kinds = [None] * 2 + [EXACT] * 7 + [counts] * 3
    for number, row in enumerate(rows):
        cells = made[tuple(row[:2])]
        exact = row[1] in ("exact sets", "Euclidean distance")
        for column in range(2, len(row)):
            yield (number, column, EXACT if exact else kinds[column],
                   [float(text) for text in pages.numbers(cells[column])])


def headline(directory, rows):
    """The first table of the page: floors right and metres, k = 1."""
    made = table_rows(directory, "contexts | profile | bytes", 2)
    names = (("plain", "512/2"), ("graded", "512/2"), ("graded", "exact sets"), ("raw signals", "Euclidean distance"))
    for number, name in enumerate(names):
        cells = made[name]
        for column, place in ((1, 5), (2, 7), (3, 2)):
            yield number, column, EXACT, [float(text) for text in pages.numbers(cells[place])]


def same(first):
    """A table that is committed as it was made; its header begins with `first`."""
    def read(directory, rows):
        made = table_rows(directory, first, 1)
        for number, row in enumerate(rows):
            for column in range(1, len(row)):
                yield number, column, EXACT, [float(text) for text in pages.numbers(made[(row[0],)][column])]
    return read


def checkins(directory, rows):
    """What comes next."""
    made = table_rows(directory, "what says the next category", 1)
    for number, row in enumerate(rows):
        for column in range(1, len(row)):
            yield number, column, EXACT, [float(text) for text in pages.numbers(made[(row[0],)][column])]

# ---- performance: JSON objects of hearsay-bench ----


def records(directory):
    """The JSON objects that a program has printed, one a line."""
    lines = (directory / "stdout").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def bench(*cells):
    """`cells`: (row, column, kind, names of figures); a program that prints JSON objects. A figure of
    one of several objects is named BENCHMARK.FIGURE."""
    def read(directory, rows):
        figures = {}
        for record in records(directory):
            named = re.sub("_(avx512|avx2|neon|scalar)$", "", record["benchmark"])
            figures.update(record["figures"])
            figures.update({f"{named}.{name}": value for name, value in record["figures"].items()})
        for row, column, kind, *names in cells:
            yield row, column, kind, [figures[name] for name in names]
    return read


def load(directory, rows):
    """5,000 sessions: latencies of queries and of deposits."""
    found = {record.get("request"): record for record in records(directory) if "after_s" not in record}
    for row, request in enumerate(("query", "deposit")):
        for column, name in enumerate(("p50_ms", "p99_ms", "max_ms"), 1):
            yield row, column, TIME, [found[request][name]]
    yield 0, 4, TIME, [found[None]["daemon_cpu_share"], found[None]["daemon_peak_mib"]]


def attack(first):
    """Latencies beside one kind of attackers: two rows of a table, from the row `first` on."""
    def read(directory, rows):
        found = {record["request"]: record for record in records(directory) if "attack" in record}
        for row, request in enumerate(("query", "deposit"), first):
            yield row, 2, TIME, [found[request]["quiet_p99_ms"]]
            for column, name in enumerate(("control", "elsewhere", "attacked"), 3):
                yield row, column, TIME, [found[request][f"{name}_p99_ms"], found[request][f"{name}_ratio"]]
    return read

# ---- the small machine: the text of tests/bench/small_machine.py ----


def small_memory(directory, rows):
    """Resident: empty, after deposits, after a start; and the most of the last."""
    text = (directory / "figures").read_text(encoding="utf-8")
    for row, name, first in ((0, "resident in all", 0), (1, "most resident since the start", 2)):
        values = [float(value) for value in re.findall(rf"^{name} +([\d.]+)", text, re.M)]
        for column in range(first, 3):
            yield row, column + 1, Timed(1.2), [values[column]]


def small_written(directory, rows):
    """Bytes written for 1,000 deposits, a line for each rate."""
    text = (directory / "figures").read_text(encoding="utf-8")
    found = re.findall(r"^ +\d+ +\d+ s +\d+ s +\d+ +\d+ +(\d+) +(\d+) +(\d+)$", text, re.M)
    for row, (process, device, times) in enumerate(found):
        for column, value in ((2, int(process) / 1e6), (3, int(device) / 1e6), (4, int(times))):
            yield row, column, Timed(1.5), [value]


def tree_alone(directory, rows):
    """The tree asked alone: a JSON object for each engine and N. The bytes depend on no clock, but on the
    queries, which are the committed ones for the largest N only."""
    found = {(record["engine"], int(record["n"])): record for record in records(directory)}
    times = ("query_ns_median", "alone_ns_median", "cold_ns_median")
    for number, row in enumerate(rows):
        n = int(pages.numbers(row[0])[0])
        if ("tree", n) in found:
            for column, engine in ((1, "list"), (2, "tree")):
                yield number, column, TIME, [found[engine, n][name] / 1000 for name in times]
            kind = EXACT if n == max(found)[1] else Timed(1.1)
            yield number, 3, kind, [found["tree", n]["bytes_share"] * 100]
