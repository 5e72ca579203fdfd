#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether pages and tests say the default profile, its bound, the fill of a query and the rule of WiFi levels as the
program has them.

These facts stand where people read them, in many places, and in tests that name them on purpose. Each place where a
text looks like one of them must say what the source says. Notes tell what was tried, and are left out. Texts with
planted faults are checked before.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("client", "daemon/config", "docs", "packaging", "proto", "tests/bench", "tests/integration", "tests/model",
           "tests/unit", "tests/vectors")
ENDINGS = {".1", ".c", ".h", ".md", ".proto", ".py"}
OTHER = {"v2:wifi=320/2,place=79/8,any=113/3", "v2:wifi=362/2,place=57/8,any=93/5"}  # no defaults any more
PLACES = {
    "profile": re.compile(r"(v2:wifi=\d+/\d+,place=\d+/\d+,any=\d+/\d+)"),
    "distance": re.compile(r"^suggested_max_distance = ([\d.]+)$", re.MULTILINE),
    "similarity": re.compile(r" = (\d+), */\*[^*]*: the default bound of hosts"),
    "fill": re.compile(r"query\s+filters\s+with\s+more\s+than\s+(\d+) % of"),
    "levels": re.compile(r"ceil\(\((?:s|dBm|dbm) \+\s+(?:\* )?(\d+)\) / (\d+)\)"),
    "labels": re.compile(r"\bmost 32\b[^.]{0,60}?\bat most (\d+)(?:\*\*| labels)"),
}


def facts():
    """What the source says of each kind."""
    table = (ROOT / "daemon/config/table.c").read_text(encoding="utf-8")
    build = (ROOT / "client/context/build.h").read_text(encoding="utf-8")
    header = (ROOT / "client/hearsay/context.h").read_text(encoding="utf-8")
    standard = {key: re.search(rf'_KEY\("{key}".*?\.standard = "([^"]+)"', table, re.DOTALL)[1]
                for key in ("profile", "suggested_max_distance", "query_fill_max")}
    similarity = 1_000_000 - round(1_000_000 * float(standard["suggested_max_distance"]))
    floor, step = (re.search(rf"CONTEXT_WIFI_{name} = -?(\d+)", build)[1] for name in ("FLOOR", "STEP"))
    return {"profile": standard["profile"], "distance": standard["suggested_max_distance"],
            "similarity": str(similarity), "fill": standard["query_fill_max"].removesuffix("%"),
            "levels": f"{floor} {step}", "labels": re.search(r"HEARSAY_SCAN_LABELS_MAX\s+(\d+)", header)[1]}


def check(name, text, right):
    for kind, pattern in PLACES.items():
        for found in pattern.finditer(text):
            said = " ".join(part for part in found.groups() if part)
            if said not in OTHER and said != right[kind]:
                line = text.count("\n", 0, found.start()) + 1
                yield f"{name}:{line}: the default's {kind}: {said} here, and {right[kind]} in the program"


def self_test(right):
    texts = {"v2:wifi=1/2,place=3/4,any=5/6": 1, right["profile"]: 0, "suggested_max_distance = 0.1\n": 1,
             "query\nfilters with more than 1 % of": 1, "NEAR = 1, /* near: the default bound of hosts": 1,
             "max(1, ceil((s + 1) / 2))": 1, "ceil((dBm +\n * 1) / 2)": 1, "at most 32 with at most 7 labels": 1,
             "**at most 32**, and only as long as all\nlabels are **at most 7**": 1}
    for text, count in texts.items():
        if len(list(check("planted", text, right))) != count:
            yield f"of {text!r} there are not {count} findings"


def main():
    right = facts()
    found = list(self_test(right))
    paths = [ROOT / "README.md", *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")))]
    for path in paths:
        if path.suffix in ENDINGS and path != pathlib.Path(__file__).resolve() and "notes" not in path.parts:
            found += check(path.relative_to(ROOT), path.read_text(encoding="utf-8"), right)
    print("\n".join(found) or "each page says what the program does")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
