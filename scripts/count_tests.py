#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts single cases: meson's log has the output of each program, which says what it ran.

meson's verdict stands above the output: a program that failed counts as one failure at least, and
one that says nothing of cases is a case itself.

usage: count_tests.py LOG...    prints a line for each test that failed and for each reason to skip, and at
the end `N passed, N failed, N skipped`. A log that cannot be read counts as one failure. The exit status is 0 if
nothing failed and something passed.
"""
import json
import re
import sys


def number(pattern, text):
    return sum(int(found) for found in re.findall(pattern, text, re.MULTILINE))


def count_cmocka(text):
    """What cmocka prints, from 1.1.6 on with the group's name; a program that died has begun a group and
    not ended it."""
    if not re.search(r"^\[==========\] (?:.*: )?Running \d+ test", text, re.MULTILINE):
        return None
    passed = len(re.findall(r"^\[       OK \] ", text, re.MULTILINE))
    ran = number(r"^\[==========\] (?:.*: )?(\d+) test\(s\) run", text)
    skipped = number(r"^\[  SKIPPED \] (?:.*: )?(\d+) test\(s\)", text)
    reasons = []
    for names in re.findall(r"listed below:\n((?:\[  SKIPPED \] .*\n?)+)", text):
        reasons += [line.split("] ", 1)[1] for line in names.splitlines()]
    return passed, max(0, ran - passed - skipped), skipped, reasons


def count_pytest(text):
    """The last line, `3 passed, 1 skipped in 0.12s`, and the reasons that -ra gives."""
    ends = re.findall(r"^(?:=+ )?((?:\d+ \w+(?:, )?)+) in [0-9.:]+m?s.*$", text, re.MULTILINE)
    if not ends:
        return None
    counts = {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", ends[-1])}
    reasons = []
    for times, reason in re.findall(r"^SKIPPED \[(\d+)\] (.*)$", text, re.MULTILINE):
        reasons += [reason] * int(times)
    failed = sum(counts.get(word, 0) for word in ("failed", "error", "errors", "xpassed"))
    return counts.get("passed", 0) + counts.get("xfailed", 0), failed, counts.get("skipped", 0), reasons


def count(entry):
    """(passed, failed, skipped, reasons for the skips) of one program."""
    text = entry.get("stdout", "") + "\n" + entry.get("stderr", "")
    passed, failed, skipped, reasons = count_cmocka(text) or count_pytest(text) or (0, 0, 0, [])
    result = entry["result"]
    if result == "SKIP":
        said = text.strip().splitlines()
        return passed, failed, max(1, skipped), reasons or said[-1:]
    if result in ("OK", "EXPECTEDFAIL"):
        if passed + failed + skipped == 0:
            passed = 1
    else:
        failed = max(1, failed)
    return passed, failed, skipped, reasons


def read_log(path):
    """The entries of one testlog.json."""
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def tally(logs):
    """Counts the logs: [passed, failed, skipped], the failures as lines, and the skips as (test, reason)."""
    total, failures, skips = [0, 0, 0], [], []
    for path in logs:
        try:
            entries = read_log(path)
        except (OSError, ValueError) as error:
            total[1] += 1
            failures.append(f"failed: no results: {error}")
            continue
        for entry in entries:
            *counts, reasons = count(entry)
            total = [sum(pair) for pair in zip(total, counts)]
            if counts[1]:
                failures.append(f"failed: {entry['name']}: {counts[1]} ({entry['result'].lower()})")
            unexplained = ["without a reason"] * max(0, counts[2] - len(reasons))
            skips += [(entry["name"], reason) for reason in reasons + unexplained]
    return total, failures, skips


def summary(total):
    return f"{total[0]} passed, {total[1]} failed, {total[2]} skipped"


def main():
    total, failures, skips = tally(sys.argv[1:])
    for failure in failures:
        print(failure)
    for name, reason in skips:
        print(f"skipped: {name}: {reason}")
    print(summary(total))
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())
