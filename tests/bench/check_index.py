#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks hearsay-bench index: what it measures without options is what people leave, and in each workload the
tree gives the answers of the list.

usage: check_index.py --bench HEARSAY-BENCH --hearsayd HEARSAYD
"""
import argparse
import json
import re
import subprocess

WORKLOADS = ("campus", "town", "dense", "mixed", "board", "venue")
SCANS = ("campus", "town", "dense")
OLD = ("-m", "512", "-d", "4", "--metric", "bits", "--levels", "off")


def run_index(bench, *arguments):
    """The JSON objects of an index run, by engine."""
    command = [bench, "index", "--json", "-n", "2000", "--query-count", "20", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {line["engine"]: line for line in map(json.loads, done.stdout.splitlines())}


def read_default_profile(hearsayd):
    """The profile of a host whose configuration names none."""
    done = subprocess.run([hearsayd, "--config", "/dev/null", "--print-config"], capture_output=True, text=True,
                          check=True)
    return re.search(r"^profile = (\S+)$", done.stdout, re.MULTILINE)[1]


def check(condition, sentence):
    if not condition:
        raise SystemExit(f"check_index.py: {sentence}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bench", required=True)
    parser.add_argument("--hearsayd", required=True)
    options = parser.parse_args()
    profile = read_default_profile(options.hearsayd)
    for workload in WORKLOADS:
        runs = {levels: run_index(options.bench, "--workload", workload, "--levels", levels)
                for levels in ("on", "off")}
        for levels, engines in runs.items():
            check(engines["tree"]["recall"] == 1, f"{workload}, levels {levels}: the tree's answers are not the list's")
        if workload in SCANS:
            check(runs["on"]["list"]["mean_bits"] > 1.5 * runs["off"]["list"]["mean_bits"],
                  f"{workload}: levels add no labels")
    standard = run_index(options.bench)["tree"]
    check(standard["profile"] == profile, f"the profile is {standard['profile']}, and hearsayd's is {profile}")
    check(standard["metric"] == "phi", f"the metric is {standard['metric']}, and that of a query is phi")
    check(standard["levels"], "scans have no levels")
    old = run_index(options.bench, *OLD)["tree"]
    check((old["profile"], old["metric"], old["levels"]) == ("v2:512/4", "bits", False), f"old rows: {old}")
    print("hearsay-bench index measures what people leave")


main()
