#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the product, or its tests in C: files, lines of code and functions with many parameters, by folder.

usage: count_lines.py [--tests] [ROOT]

Lines of code are lines of .c and .h files in core, proto, client and daemon, or with --tests in tests, that are neither
blank nor comment only. A function has many parameters when its definition has more than five.
"""
import collections
import pathlib
import re
import sys

PARTS = ("core", "proto", "client", "daemon")
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
DEFINITION = re.compile(r"^[a-z][\w *]*\b\w+\(([^;{]*?)\)\n\{", re.MULTILINE)


def without_comments(text):
    return TOKEN.sub(lambda m: m.group(0) if m.group(0)[0] in "\"'" else re.sub(r"[^\n]", "", m.group(0)),
                     text)


def main():
    arguments = sys.argv[1:]
    parts = ("tests",) if "--tests" in arguments else PARTS
    roots = [argument for argument in arguments if argument != "--tests"]
    root = pathlib.Path(roots[0] if roots else pathlib.Path(__file__).parents[1])
    rows = collections.defaultdict(lambda: [0, 0, 0])
    for part in parts:
        for path in sorted((root / part).rglob("*.[ch]")):
            code = without_comments(path.read_text())
            row = rows[path.parent.relative_to(root).as_posix()]
            row[0] += path.suffix == ".c"
            row[1] += sum(1 for line in code.splitlines() if line.strip())
            row[2] += sum(1 for found in DEFINITION.findall(code) if found.count(",") > 4)
    print(f"{'folder':24}{'.c files':>9}{'lines':>8}{'> 5 parameters':>16}")
    for folder, (files, lines, many) in sorted(rows.items()):
        print(f"{folder + '/':24}{files:9}{lines:8}{many:16}")
    files, lines, many = (sum(row[i] for row in rows.values()) for i in range(3))
    print(f"{'all':24}{files:9}{lines:8}{many:16}")


if __name__ == "__main__":
    main()
