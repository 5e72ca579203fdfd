#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of hearsay-bench: each round runs the old, the new and the old again.

usage: compare.py --old BENCH --new BENCH [--rounds N] [--command "index -n 20000"]...

For each figure, over the rounds: the median of the old build, the median ratio of new to old, and
the smallest and largest ratio of the old build to itself, which is what the machine's noise does.
Without --command: index (campus 100,000 and a million, wifi, wifi x10), query, deposit, start and
memory; wifi needs ../shared/data and is left out, with a note, where that is missing.
"""
import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIFI = ROOT.parent / "shared" / "data" / "ujiindoorloc"
# These lines of JSON say what was measured; all others are figures.
NAMES = {"n", "m", "d", "k", "queries", "seed", "recall", "count"}


def default_commands():
    index = "index --engine tree "
    commands = [index + "-n 100000", index + "-n 1000000 --query-count 100"]
    if WIFI.is_dir():
        commands += [index + f"--workload wifi:{WIFI}", index + f"--workload wifi:{WIFI} --copies 10"]
    else:
        print(f"no {WIFI}: wifi is left out", file=sys.stderr)
    return commands + ["query --rounds 1", "deposit --rounds 1", "start --rounds 1", "memory --rounds 1"]


def figures_of(bench, command):
    """The figures of one run: {name: value}."""
    result = subprocess.run([bench, *shlex.split(command), "--json"], capture_output=True, text=True, timeout=900)
    if result.returncode != 0:
        sys.exit(f"{bench} {command}: exit status {result.returncode}\n{result.stderr}")
    figures = {}
    for line in result.stdout.splitlines():
        if line.startswith("{"):
            record = json.loads(line)
            for name, value in record.get("figures", record).items():
                if isinstance(value, (int, float)) and name not in NAMES:
                    figures[name] = value
    return figures


def compare(old, new, command, rounds):
    runs = [[figures_of(bench, command) for bench in (old, new, old)] for _ in range(rounds)]
    print(f"\n{command}  ({rounds} rounds)")
    print(f"{'figure':34}{'old':>14}{'new/old':>9}{'old/old':>18}")
    for name in runs[0][0]:
        if all(run[0][name] for run in runs):
            self_ratios = [run[2][name] / run[0][name] for run in runs]
            middles = [statistics.median(run[1][name] / ((run[0][name] + run[2][name]) / 2) for run in runs)]
            print(f"{name:34}{statistics.median(run[0][name] for run in runs):14.6g}{middles[0]:9.3f}"
                  f"{min(self_ratios):9.3f}-{max(self_ratios):.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--command", action="append")
    arguments = parser.parse_args()
    for command in arguments.command or default_commands():
        compare(arguments.old, arguments.new, command, arguments.rounds)


if __name__ == "__main__":
    main()
