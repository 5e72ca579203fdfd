#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the time and the bytes of a query against the number of messages, from the committed table
of docs/notes/tree.md ("The tree asked alone"). Needs gnuplot.

usage: growth.py [DIRECTORY]    default: docs/img; writes tree-growth-time.svg, tree-growth-bytes.svg
"""
import pathlib
import subprocess
import sys

import pages

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILTER_BYTES = 64
SETTINGS = """set terminal svg size 720,480 dynamic background '#ffffff'
set logscale xy
set format x '10^{%L}'
set xrange [7000:6000000]
set grid
set key below
set xlabel 'messages'
"""


def points():
    """One tuple for each N: N, the list's times, the tree's times (in turns, alone, cold), share read."""
    table = pages.table(ROOT / "docs" / "notes" / "tree.md", "The tree asked alone", 0)
    for row in table[1:]:
        numbers = [float(number) for number in pages.numbers(" ".join(row))]
        if len(numbers) != 8:
            sys.exit(f"a row of the table has {len(numbers)} numbers instead of 8: {row}")
        yield numbers[0], numbers[1:4], numbers[4:7], numbers[7] / 100


def draw(path, y_label, curves):
    """`curves`: {name: [(x, y), ...]}"""
    script = SETTINGS + f"set output '{path}'\nset ylabel '{y_label}'\n"
    for number, rows in enumerate(curves.values()):
        lines = "".join(f"{x:.0f} {y:.6g}\n" for x, y in rows)
        script += f"$c{number} << END\n{lines}END\n"
    script += "plot " + ", ".join(f"$c{number} using 1:2 with linespoints linewidth 2 title '{name}'"
                                  for number, name in enumerate(curves)) + "\n"
    subprocess.run(["gnuplot"], input=script, text=True, check=True, timeout=60)


def main():
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "img"
    rows = list(points())
    draw(directory / "tree-growth-time.svg", "time of a query, us (median)",
         {"list, asked alone": [(n, times[1]) for n, times, _, _ in rows],
          "tree, empty caches": [(n, times[2]) for n, _, times, _ in rows],
          "tree, in turns with the list": [(n, times[0]) for n, _, times, _ in rows],
          "tree, asked alone": [(n, times[1]) for n, _, times, _ in rows]})
    draw(directory / "tree-growth-bytes.svg", "KB of the index that a query reads",
         {"list": [(n, n * FILTER_BYTES / 1000) for n, *_ in rows],
          "tree": [(n, n * FILTER_BYTES * share / 1000) for n, *_, share in rows]})


if __name__ == "__main__":
    main()
