#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""thesis.py, and hearsay-bench's thesis and index, from outside.

    check_thesis.py --bench FILE --dir DIR               a small run; its CSV is computed anew here
    check_thesis.py --bench FILE --dir DIR --published   the published figures that it prints, from
                                                         the thesis's own files (--data DIR)

Exit status: 0 all is as it should be, 1 it is not, 77 the data or python3-xxhash is not there.
"""

import argparse
import csv
import pathlib
import shutil
import os
import subprocess
import sys
import tempfile

try:
    import xxhash
except ImportError:
    print("skipped: there is no python3-xxhash")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
MASK = 2**64 - 1
SETTINGS = ((256, 4), (512, 8))
MEASURED = ("thesis_list", "thesis_tree", "list", "tree")
PUBLISHED = ("published_list", "published_tree")
FIGURES_BY_K = ("wrong_ranks", "wrong_percent", "squared_error_mean", "deviation_percent",
                "cpu_us_median", "comparisons_counted_as_there", "overlaps_computed")
FIGURES = ("memory_counted_as_there_bytes", "memory_bytes_a_filter", "build_estimate",
           "build_set_tests_a_filter", "build_us_a_filter", "bulk_us_a_filter")


def expect(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


def close(left, right):
    return abs(left - right) <= 1e-6 * max(1, abs(left), abs(right))


class Random:
    """splitmix64, after its authors' description."""

    def __init__(self, state):
        self.state = state

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)


def make_filter(words, bits, hashes, random):
    filter_bits = 0
    for _ in range(50):
        word = words[random.next() % len(words)]
        value = 0
        for _ in range(hashes):
            value = xxhash.xxh3_64_intdigest(word, seed=value)
            filter_bits |= 1 << value % bits
    return filter_bits


def distance(left, right):
    return 1 - bin(left & right).count("1") / bin(left | right).count("1")


def emulator():
    wrapper = os.environ.get("HEARSAY_WRAPPER", "").split()
    if wrapper:
        wrapper[0] = shutil.which(wrapper[0])  # a test may have another PATH
    return wrapper


def run(bench, *arguments, env=None):
    return subprocess.run([*emulator(), bench, *map(str, arguments)], capture_output=True, text=True, env=env,
                          timeout=600, check=False)


def evaluate(bench, *arguments, env=None):
    """thesis.py"""
    command = [sys.executable, "-B", pathlib.Path(__file__).with_name("thesis.py"), " ".join([*emulator(), bench])]
    return subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, env=env, timeout=600,
                          check=False)


def thesis(bench, directory, words, *arguments):
    done = evaluate(bench, "--words", words, "--csv", directory, *arguments)
    expect(done.returncode == 0, f"thesis {arguments} failed: {done.stderr}")
    return done.stdout, read_rows(directory / "figures.csv"), read_rows(directory / "answers.csv")


def read_rows(path):
    with path.open(newline="") as file:
        return [{key: value if key == "figure" else float(value) if value else None
                 for key, value in row.items()} for row in csv.DictReader(file)]


def pick(figures, bits, n, k, figure):
    found = [row for row in figures
             if (row["bits"], row["n"], row["k"], row["figure"]) == (bits, n, k, figure)]
    expect(len(found) == 1, f"{len(found)} rows of {figure}, {bits} bits, {n} filters, k = {k}")
    return found[0]


def check_answers(words, seed, sizes, answers):
    """The filters made and compared here, by another implementation, give the same optimum."""
    for bits, hashes in SETTINGS:
        random = Random(Random(seed).next() ^ bits)
        queries = [make_filter(words, bits, hashes, random) for _ in range(10)]
        stored = [make_filter(words, bits, hashes, random) for _ in range(max(sizes))]
        for n in sizes:
            for q, query in enumerate(queries):
                truth = sorted(distance(query, other) for other in stored[:n])
                for k in (1, 3):
                    rows = [row for row in answers if
                            (row["bits"], row["n"], row["k"], row["query"]) == (bits, n, k, q)]
                    expect(len(rows) == k, f"{len(rows)} answers where k = {k}")
                    for rank, row in enumerate(rows):
                        for who in ("optimal", "thesis_list", "list", "tree"):
                            expect(close(row[who], truth[rank]),
                                   f"{who}: {row[who]}, not {truth[rank]}: {row}")
                        expect(row["thesis_tree"] is None or
                               row["thesis_tree"] >= truth[rank] - 1e-8, f"below the least: {row}")


def check_errors(sizes, figures, answers):
    """Wrong ranks and errors follow from the answers."""
    for bits, _ in SETTINGS:
        for n in sizes:
            for k in (1, 3):
                rows = [row for row in answers
                        if (row["bits"], row["n"], row["k"]) == (bits, n, k)]
                for who in MEASURED:
                    errors = [(1 if row[who] is None else row[who]) - row["optimal"]
                              for row in rows]
                    wrong = sum(error != 0 for error in errors)
                    value = {name: pick(figures, bits, n, k, name)[who] for name in FIGURES_BY_K}
                    expect(value["wrong_ranks"] == wrong, f"{who}: {wrong} are wrong, {value}")
                    expect(close(value["wrong_percent"], 100 * wrong / len(rows)), f"{value}")
                    expect(close(value["squared_error_mean"],
                                 sum(error * error for error in errors) / len(rows)), f"{value}")
                    expect(value["cpu_us_median"] > 0, f"{who} takes no time")


def check_behaviour(figures):
    """What the thesis published shows, and what it did not see: with more filters all is wrong."""
    for bits, _ in SETTINGS:
        for k, tree, listed in ((1, 48, 200), (3, 280, 864)):
            counted = pick(figures, bits, 100, k, "comparisons_counted_as_there")
            for who, value in (("thesis_tree", tree), ("published_tree", tree),
                               ("thesis_list", listed), ("published_list", listed)):
                expect(counted[who] == value, f"{who}: {counted}")
            few = pick(figures, bits, 100, k, "wrong_percent")
            many = pick(figures, bits, 3000, k, "wrong_percent")
            expect(few["thesis_tree"] < 60, f"at 100 most is right: {few}")
            expect(many["thesis_tree"] >= 90, f"at 3000 nearly all is wrong: {many}")
            overlaps = pick(figures, bits, 3000, k, "overlaps_computed")
            expect(overlaps["thesis_tree"] < 300 < overlaps["thesis_list"], f"{overlaps}")
            expect(all(many[who] is None for who in PUBLISHED), f"none was published: {many}")
        memory = pick(figures, bits, 100, 0, "memory_counted_as_there_bytes")
        expect(memory["thesis_tree"] == memory["published_tree"] == 132 * 4 * bits, f"{memory}")
        expect(memory["thesis_list"] == memory["published_list"] == 100 * 4 * bits, f"{memory}")
        cost = pick(figures, bits, 100, 0, "build_estimate")
        expect(cost["published_tree"] == 462.884 and abs(cost["thesis_tree"] - 462.884) < 0.001,
               f"{cost}")
        tests = pick(figures, bits, 3000, 0, "build_set_tests_a_filter")
        expect(tests["thesis_tree"] == 2999, f"every filter is tested, both ways: {tests}")


def check_small_run(bench, directory):
    words = [f"word{i * i}{chr(97 + i % 26)}".encode() for i in range(5000)]
    words_file = directory / "words"
    words_file.write_bytes(b"".join(word + b"\n" for word in words))
    sizes = (100, 3000)
    arguments = ("-n", "100,3000", "--seed", 7)

    text, figures, answers = thesis(bench, directory, words_file, *arguments)
    checksum = f"{xxhash.xxh3_64_intdigest(words_file.read_bytes(), seed=0):016x}"
    expect(checksum in text, f"the checksum {checksum} is not printed")
    expect(len(figures) == len(SETTINGS) * len(sizes) * (2 * len(FIGURES_BY_K) + len(FIGURES)),
           f"{len(figures)} figures")
    check_answers(words, 7, sizes, answers)
    check_errors(sizes, figures, answers)
    check_behaviour(figures)
    again = thesis(bench, directory, words_file, *arguments)[2]
    expect(again == answers, "the same seed gave other answers")
    other = thesis(bench, directory, words_file, "-n", 100, "--seed", 8)[2]
    expect([row["optimal"] for row in other] !=
           [row["optimal"] for row in answers if row["n"] == 100], "another seed gave the same")


def check_refusals(bench, directory):
    for arguments, words in (
            (("thesis", "-n", "0"), "-n takes"),
            (("thesis", "-n", "5,"), "-n takes"),
            (("thesis", "--query-count", "1001"), "--query-count takes"),
            (("thesis", "--seed", "x"), "--seed takes"),
            (("thesis", "--words", directory / "nothing"), "cannot read"),
            (("thesis", "more"), "more is no option"),
            (("index", "-m", "256", "--profile", "v2:512/4"), "not both"),
            (("index", "-d", "4", "--profile", "v2:512/4"), "not both"),
            (("index", "-m", "12x"), "-m takes a number"),
            (("index", "-m", "100"), "multiple of 64"),
            (("index", "-d", "0"), "-d takes a number"),
            (("index", "--nothing"), "index --help"),
            (("index", "--engine", "list,abacus"), "--engine takes up to 4 names"),
            (("arrange", "--noise=1"), "--noise takes no value"),
            (("epochs", "-k"), "-k takes a number from 1 to 1000"),
            (("epochs", "--profile", "v2:100/4"), "--profile v2:100/4: m must be"),
            (("watch", "--radius", "0.5,2"), "distances from 0 to 1, not 2"),
            (("load", "--seconds", "0"), "--seconds takes a number from 1 to 86400, not 0"),
            (("load", "--attack", "rude"), "slow, unread, greedy or noise, not rude"),
            (("--rounds", "1x", "list"), "--rounds takes a number from 1 to 99, not 1x"),
            (("abacus",), "there is no command abacus"),
            (("list", "more"), "more is no option")):
        done = run(bench, *arguments)
        expect(done.returncode != 0 and words in done.stderr, f"{arguments}: {done.stderr}")
    for done in (run(bench, "index", "--plot", directory / "plots", env={"PATH": "/nonexistent"}),
                 evaluate(bench, "--plot", directory / "plots", env={"PATH": "/nonexistent"})):
        expect(done.returncode != 0 and "gnuplot-nox" in done.stderr, done.stderr)
    for command, option in (("thesis", "--query-count"), ("index", "--plot"), ("arrange", "--noise"),
                            ("epochs", "--skewed"), ("watch", "--radius"), ("load", "--attack"),
                            ("list", "--hearsayd")):
        done = run(bench, command, "--help")
        expect(done.returncode == 0 and option in done.stdout, f"{command} --help: {done.stdout}")


def check_plots(bench, directory):
    if shutil.which("gnuplot") is None:
        print("not checked: plots, for there is no gnuplot")
        return
    plots = directory / "plots"
    done = run(bench, "index", "--workload", "venue", "-n", 300, "-m", 256, "-d", 2,
               "--query-count", 5, "--plot", plots)
    expect(done.returncode == 0, done.stderr)
    done = evaluate(bench, "-n", "10,100", "--query-count", 2, "--words", directory / "words", "--plot", plots)
    expect(done.returncode == 0, done.stderr)
    names = ["index-time", "index-bytes"] + [
        f"thesis-{what}-{bits}" for bits, _ in SETTINGS
        for what in ("wrong", "time", "overlaps", "memory", "build")]
    for name in names:
        expect("<svg" in (plots / f"{name}.svg").read_text(), f"{name}.svg is none")
        expect((plots / f"{name}.png").read_bytes()[1:4] == b"PNG", f"{name}.png is none")
    points = (plots / "index-bytes.gp").read_text()
    expect("\n100 " in points and "\n300 " in points, f"100 and 300 filters: {points}")


def check_published(bench, directory, data):
    """The constants in published.py, by what is printed of them."""
    if not (data / "nn_256.csv").is_file():
        print(f"skipped: the thesis's result files are not in {data}")
        sys.exit(SKIPPED)
    words = directory / "words"
    words.write_text("one\ntwo\nthree\n")
    figures = thesis(bench, directory, words, "-n", 100)[1]
    read = lambda name: list(csv.reader((data / name).open(newline="")))
    for bits, _ in SETTINGS:
        for k, stem in ((1, "nn"), (3, "nn3")):
            rows = [list(map(float, row)) for row in read(f"{stem}_{bits}.csv")[1:] if row]
            pairs = [(row[1 + i], row[1 + k + i]) for row in rows for i in range(k)]
            times = [list(map(float, row)) for row in read(f"cputime_{stem}_{bits}.csv")[1:] if row]
            expected = {
                "wrong_ranks": (0, sum(best != found for best, found in pairs)),
                "squared_error_mean": (0, sum((found - best) ** 2 for best, found in pairs) /
                                       len(pairs)),
                "deviation_percent": (0, 100 * sum(abs(best - found) / found
                                                   for best, found in pairs) / len(pairs)),
                "cpu_us_median": tuple((sorted(row[column] for row in times)[4] +
                                        sorted(row[column] for row in times)[5]) / 2
                                       for column in (2, 1)),
                "comparisons_counted_as_there": ((200, 48) if k == 1 else (864, 280)),
            }
            for figure, values in expected.items():
                row = pick(figures, bits, 100, k, figure)
                expect(all(close(row[who], value) for who, value in zip(PUBLISHED, values)),
                       f"{values}, not {row}")
        column = [256, 512].index(bits)
        memory = [float(row[column]) for row in read("mem.csv")[1:] if row]
        row = pick(figures, bits, 100, 0, "memory_counted_as_there_bytes")
        expect([row[who] for who in PUBLISHED] == memory, f"{memory}, not {row}")
        row = pick(figures, bits, 100, 0, "build_estimate")
        expect([row[who] for who in PUBLISHED] == list(map(float, read("cost.csv")[1])), f"{row}")
    counted = {tuple(map(int, row)) for row in read("complexity.csv")[1:] if row}
    expect(counted == {(48, 200, 280, 864) * 2}, f"complexity.csv has {counted}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", required=True)
    parser.add_argument("--dir", required=True, help="temporary files are made here")
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--data", type=pathlib.Path,
                        default=ROOT.parent / "shared" / "data" / "thesis-2016")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.dir, prefix="thesis-") as name:
        directory = pathlib.Path(name)
        if arguments.published:
            check_published(arguments.bench, directory, arguments.data)
        else:
            check_small_run(arguments.bench, directory)
            check_refusals(arguments.bench, directory)
            check_plots(arguments.bench, directory)
    print("all is as it should be")


if __name__ == "__main__":
    main()
