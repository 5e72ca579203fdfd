#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The five experiments of the thesis (quality of answers, CPU time, memory, comparisons, build cost), beside the
figures that the thesis published, and with more filters than the thesis had. See docs/thesis.md.

    thesis.py BENCH [--csv DIR] [--plot DIR] [OPTION OF `hearsay-bench thesis`]...

BENCH is hearsay-bench, which asks the competitors. --csv writes figures.csv and answers.csv; --plot draws with gnuplot,
as SVG and PNG. Exit status: 0, or that of hearsay-bench.
"""
import argparse
import csv
import itertools
import math
import pathlib
import shutil
import statistics
import subprocess
import sys

import published

MEASURED = ("thesis_list", "thesis_tree", "list", "tree")
COLUMNS = MEASURED + ("published_list", "published_tree")
NAMES = ("thesis list", "thesis tree", "list", "tree", "publ. list", "publ. tree")
FANOUT = 7
BYTES_A_BIT = 4  # the thesis's program keeps each bit in an int

# figure: (text, digits, name of its plot, title, axis, whether the axis is logarithmic)
FIGURES = {
    "wrong_ranks": ("wrong ranks", 0),
    "wrong_percent": ("wrong ranks, %", 1, "wrong", "answers that differ from the true ones", "ranks, %", False),
    "squared_error_mean": ("squared error of the distance, mean", 6),
    "deviation_percent": ("deviation from the true distance, %", 2),
    "cpu_us_median": ("CPU time, us (median)", 2, "time", "CPU time of a query", "us", True),
    "comparisons_counted_as_there": ("comparisons, counted as there", 0),
    "overlaps_computed": ("overlaps really computed", 0, "overlaps", "overlaps computed for a query",
                          "filters and unions", True),
    "memory_counted_as_there_bytes": ("memory, counted as there (4 bytes a bit)", 0),
    "memory_bytes_a_filter": ("memory, bytes a filter", 1, "memory", "memory, filters included", "bytes a filter",
                              True),
    "build_estimate": ("build cost, estimated as there", 3),
    "build_set_tests_a_filter": ("subset and superset tests a filter", 1),
    "build_us_a_filter": ("build one after another, us CPU a filter", 2, "build",
                          "CPU time of building, one after another", "us a filter", True),
    "bulk_us_a_filter": ("build in bulk, us CPU a filter", 2),
}


def errors(truth, found):
    """Rank by rank: (wrong, error, distance found). A rank without a result counts as the greatest distance, 1."""
    found = found + [1.0] * (len(truth) - len(found))
    return [(distance != true, distance - true, distance) for true, distance in zip(truth, found)]


def qualities(ranks):
    """Figures of the answers, over all ranks of all queries."""
    wrong = sum(rank[0] for rank in ranks)
    return {"wrong_ranks": wrong, "wrong_percent": 100 * wrong / len(ranks),
            "squared_error_mean": sum(error * error for _, error, _ in ranks) / len(ranks),
            "deviation_percent": 100 * sum(abs(error) / distance for _, error, distance in ranks if distance > 0)
                                 / len(ranks)}


def of_k(answers, bits, n, k):
    """{figure: {column: value}} of one k; `answers` are those of each side, by the query."""
    figures = {figure: {} for figure in list(FIGURES)[:7]}
    for side, queries in answers.items():
        ranks = [rank for truth, answer in zip(answers["thesis_list"], queries)
                 for rank in errors(truth["distances"], answer["distances"])]
        values = qualities(ranks) | {
            "cpu_us_median": statistics.median(answer["us"] for answer in queries),
            "comparisons_counted_as_there": statistics.mean(answer["counted"] for answer in queries),
            "overlaps_computed": statistics.mean(answer["overlaps"] for answer in queries)}
        for figure, value in values.items():
            figures[figure][side] = value
    there = published.FIGURES.get((bits, k))
    if n == published.FILTERS and there:
        ranks = [rank for pair in zip(there.optimal, there.computed) for rank in errors(*pair)]
        for figure, value in qualities(ranks).items():
            figures[figure] |= {"published_list": 0, "published_tree": value}
        for side, us, counted in (("published_list", there.list_us, there.list_comparisons),
                                  ("published_tree", there.tree_us, there.tree_comparisons)):
            figures["cpu_us_median"][side] = statistics.median(us)
            figures["comparisons_counted_as_there"][side] = counted
    return figures


def of_building(built, bits, n):
    """{figure: {column: value}} of memory and building."""
    figures = {figure: {} for figure in list(FIGURES)[7:]}
    for side, row in built.items():
        figures["memory_bytes_a_filter"][side] = row["bytes"] / n
        figures["build_us_a_filter"][side] = row["build_us"]
        figures["bulk_us_a_filter"][side] = row["bulk_us"]
    for side in MEASURED[:2]:
        figures["memory_counted_as_there_bytes"][side] = built[side]["filters"] * bits * BYTES_A_BIT
    figures["build_set_tests_a_filter"]["thesis_tree"] = built["thesis_tree"]["tests"] / n
    # The thesis's estimate: N ln N for the keys, and log N to the base 7 for the place.
    figures["build_estimate"] = {"thesis_list": 1, "thesis_tree": n * math.log(n) + math.log(n) / math.log(FANOUT)}
    if n == published.FILTERS:
        there = published.FIGURES[bits, 1]
        figures["memory_counted_as_there_bytes"] |= {"published_list": there.list_bytes,
                                                     "published_tree": there.tree_bytes}
        figures["build_estimate"] |= {"published_list": published.LIST_COST, "published_tree": published.TREE_COST}
    return figures


class Report:
    def __init__(self, csv_directory, plot_directory):
        self.figures, self.answers, self.files = None, None, []
        self.plot_directory = plot_directory
        self.plots = {}  # {(figure, bits): {name of a curve: [(n, value)]}}
        if csv_directory:
            csv_directory.mkdir(exist_ok=True)
            self.figures = self.writer(csv_directory / "figures.csv", ("bits", "hashes", "n", "k", "figure") + COLUMNS)
            self.answers = self.writer(csv_directory / "answers.csv",
                                       ("bits", "hashes", "n", "k", "query", "rank", "optimal") + MEASURED)

    def writer(self, path, header):
        self.files.append(path.open("w", newline="", encoding="utf-8"))
        writer = csv.writer(self.files[-1], lineterminator="\n")
        writer.writerow(header)
        return writer

    def put(self, bits, hashes, n, k, figures):
        for figure, values in figures.items():
            text, digits, *plot = FIGURES[figure]
            row = [values.get(column, math.nan) for column in COLUMNS]
            print(f"{f'k = {k}: {text}' if k else text:49}"
                  + "".join(f" {'-' if math.isnan(value) else f'{value:.{digits}f}':>12}" for value in row))
            if self.figures:
                self.figures.writerow([bits, hashes, n, k, figure] + [cell(value) for value in row])
            for name, value in zip(NAMES, row[:len(MEASURED)]) if plot else ():
                # The list is never wrong, and a logarithmic axis has no zero.
                if not math.isnan(value) and (value > 0 or not plot[-1]):
                    curves = self.plots.setdefault((figure, bits), {})
                    curves.setdefault(f"{name}, k = {k}" if k else name, []).append((n, value))

    def put_answers(self, bits, hashes, n, k, answers):
        for query, truth in enumerate(answers["thesis_list"] if self.answers else ()):
            for rank, optimal in enumerate(truth["distances"]):
                found = [answers[side][query]["distances"][rank:rank + 1] or [math.nan] for side in MEASURED]
                self.answers.writerow([bits, hashes, n, k, query, rank + 1, cell(optimal)]
                                      + [cell(value) for value, in found])

    def close(self):
        for file in self.files:
            file.close()
        for (figure, bits), curves in self.plots.items() if self.plot_directory else ():
            draw(self.plot_directory, bits, FIGURES[figure][2:], curves)


def cell(value):
    return "" if math.isnan(value) else f"{value:.9g}"


def draw(directory, bits, plot, curves):
    """NAME.gp, which draws NAME.svg and NAME.png."""
    stem, title, axis, is_log = plot
    name = f"thesis-{stem}-{bits}"
    data = "".join(f"$c{i} << end\n" + "".join(f"{x} {y:.9g}\n" for x, y in points) + "end\n"
                   for i, points in enumerate(curves.values()))
    lines = ", \\\n     ".join(f"$c{i} using 1:2 with linespoints linewidth 2 title '{curve}'"
                               for i, curve in enumerate(curves))
    script = (f"# again: gnuplot {name}.gp\nset title '{title}' noenhanced\nset xlabel 'filters' noenhanced\n"
              f"set ylabel '{axis}' noenhanced\nset logscale x\nset format x '10^{{%L}}'\nset grid\n"
              f"set key below noenhanced\n{'set logscale y' if is_log else 'set yrange [0:*]'}\n{data}")
    for terminal, ending in (("svg size 720,480 dynamic", "svg"), ("pngcairo size 720,480", "png")):
        script += f"set terminal {terminal}\nset output '{name}.{ending}'\nplot {lines}\nunset output\n"
    (directory / f"{name}.gp").write_text(script, encoding="utf-8")
    subprocess.run(["gnuplot", f"{name}.gp"], cwd=directory, check=True, timeout=60, stdout=subprocess.DEVNULL)


def read(lines, report):
    """Takes hearsay-bench's lines: of each size and number of filters, what was built, and then what was answered."""
    rows = (line.rstrip("\n").split(",") for line in lines)
    for kind, *words in itertools.islice(rows, 1):
        print(f"{kind}: {words[0]}, XXH3-64 {words[1]}; 50 words a filter")
    for trial, group in itertools.groupby(rows, key=lambda row: tuple(map(int, row[1:4]))):
        built, answers = {}, {}
        for kind, *row in group:
            if kind == "built":
                built[row[3]] = dict(zip(("bytes", "build_us", "bulk_us", "filters", "tests"), map(float, row[4:])))
            else:
                counted, overlaps, us, *distances = map(float, row[6:])
                answers.setdefault(int(row[3]), {}).setdefault(row[5], []).append(
                    {"counted": counted, "overlaps": overlaps, "us": us, "distances": distances})
        if not answers:
            return  # hearsay-bench has failed, and says why
        bits, hashes, n = trial
        print(f"\n{f'{bits} bits, d = {hashes}, N = {n}':49}" + "".join(f" {name:>12}" for name in NAMES))
        for k, by_side in answers.items():
            report.put_answers(*trial, k, by_side)
            report.put(*trial, k, of_k(by_side, bits, n, k))
        report.put(*trial, 0, of_building(built, bits, n))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("bench", help="hearsay-bench")
    parser.add_argument("--csv", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--plot", type=pathlib.Path, metavar="DIR")
    options, rest = parser.parse_known_args()
    if options.plot:
        options.plot.mkdir(exist_ok=True)
        if shutil.which("gnuplot") is None:
            sys.exit("--plot needs gnuplot, which is not installed (Debian: gnuplot-nox)")
    report = Report(options.csv, options.plot)
    with subprocess.Popen([*options.bench.split(), "thesis", *rest], stdout=subprocess.PIPE, text=True) as bench:
        read(bench.stdout, report)
    if bench.returncode == 0:
        report.close()
    sys.exit(bench.returncode)


if __name__ == "__main__":
    main()
