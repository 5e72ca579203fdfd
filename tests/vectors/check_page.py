#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether docs/protocol.md alone is enough to make a label and its hash: the rules are read out of
the page, carried out, and compared with the vectors."""
import datetime
import json
import math
import pathlib
import re
import sys
import unicodedata

import sections

try:
    import xxhash
except ImportError as error:
    print(f"{error.name} is not installed: skipped")
    sys.exit(77)

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = (FOLDER.parents[1] / "docs/protocol.md").read_text(encoding="utf-8")
BUILDER = json.loads((FOLDER / "builder.json").read_text(encoding="utf-8"))


def rule(pattern):
    """What the page says, as the groups of a pattern."""
    found = re.search(pattern, PAGE)
    if not found:
        sys.exit(f"protocol.md does not say /{pattern}/")
    return found.groups()


def check_wifi():
    plus, step = map(int, rule(r"levels = max\(1, ceil\(\(s \+ (\d+)\) / (\d+)\)\)"))
    low, high = map(int, rule(r"for s whole dBm, (-\d+) to (-\d+)\. Without such a strength levels is 1"))
    for case in BUILDER["wifi"]:
        strength = case["dbm"]
        levels = 1 if strength is None or not low <= strength <= high else max(1, math.ceil((strength + plus) / step))
        bssid = ":".join(re.findall("..", re.sub("[:-]", "", case["bssid"].lower())))
        wanted = [f"wifi:{bssid}"] + [f"wifi:{bssid}@{level}" for level in range(2, levels + 1)]
        if case["labels"] != wanted:
            yield f"{case['bssid']} at {strength} dBm makes {wanted} by the page"


def check_times():
    (first,) = rule(r"`time:w5T14`, where w1 is (\w+) \|")
    for case in BUILDER["times"]:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=case["unix_ms"] // 1000)
        day = (moment.weekday() - "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split().index(first)) % 7
        wanted = [f"time:{moment.year:04}-{moment:%m-%dT%H}", f"time:w{day + 1}T{moment:%H}"]
        if case["labels"] != wanted:
            yield f"{case['unix_ms']} ms makes {wanted} by the page"


def composed(text):
    return unicodedata.normalize("NFKC", text)


def characters(text):
    """What "U+0009 to U+000D and U+0020" names."""
    ranges = re.findall(r"U\+(\w{4,5})(?:\s+to\s+U\+(\w{4,5}))?", text)
    return {chr(n) for first, last in ranges for n in range(int(first, 16), int(last or first, 16) + 1)}


def check_topics():
    unseen = characters(rule(r"1\. Remove [^:]*: (U\+[^.]*)\.\n")[0])
    rule(r"2\. NFKC\(toCasefold\(NFKC\(text\)\)\)\.")
    space = "".join(characters(rule(r"3\. One blank \(U\+0020\) for each run of (U\+.*?)\.\n")[0]))
    apostrophes = "".join(characters(rule(r"4\. An apostrophe \(U\+0027\) for each (U\+.*?), as")[0]))
    rule(r"5\. Remove all `#` and blanks at the beginning, and a blank at the end\.")
    rule(r"with status\nC or F")
    lowered = 0

    def by_the_page(topic, fold):
        text = composed("".join(c for c in topic if c not in unseen))
        text = re.sub(f"[{apostrophes}]", "'", re.sub(f"[{space}]+", " ", composed(fold(text))))
        return ["topic:" + text.lstrip("# ").removesuffix(" ")]

    for case in BUILDER["topics"]:
        wanted = by_the_page(case["topic"], str.casefold)  # Python's is C and F
        if case["labels"] != wanted:
            yield f"{case['topic']!r} makes {wanted} by the page"
        lowered += case["labels"] == by_the_page(case["topic"], str.lower)
    rule(r"It is not lower case")
    if lowered == len(BUILDER["topics"]):
        yield "no topic of the vectors shows that lower case is another thing"


def check_halves():
    label, whole, high, low = rule(
        r"The label `([^`]*)` has\n`(\w{32})`: h\.high64 is `(\w{16})`, h\.low64 is `(\w{16})`")
    number = xxhash.xxh3_128_intdigest(label.encode(), seed=0)
    if (whole, int(high, 16), int(low, 16)) != (f"{number:032x}", number >> 64, number % 2**64):
        yield f"the hash of {label} is {number:032x}"
    if xxhash.xxh3_128_digest(label.encode()) != bytes.fromhex(whole):
        yield f"{whole} is not the canonical form"


def check_exchange():
    """The example says a profile and labels: its filters are theirs."""
    profile, labels = rule(r"The host has the profile `([^`]*)`\. .* deposited with the labels\n([^;]*); the query")
    labels = re.findall(r"`([^`]*)`", labels)
    stored, asked = re.findall(r'"filter": "(\w*)"', PAGE)

    def hash_label(label):
        number = xxhash.xxh3_128_intdigest(label)
        return number % 2**64, number >> 64

    for name, found, its in (("deposit", stored, labels), ("query", asked, labels[:3])):
        wanted = sections.encode(hash_label, profile, its).to_bytes(64, "little").hex()
        if found != wanted:
            yield f"the filter of {its} in the {name} is {wanted} by the page"


def check_watch():
    """What hearsayd refuses in the query of a watch, the page says."""
    said = re.findall(r"`(\w+)`", rule(r"\n- The fields (`k`[^.]*?)\s+of the query have no meaning in a watch\.")[0])
    code = (FOLDER.parents[1] / "daemon/handler/watch.c").read_text(encoding="utf-8")
    refused = re.findall(r'"query\.(\w+)";\n *sentence = "(?!a watch for answers)', code)
    if sorted(said) != sorted(refused):
        yield f"a watch takes none of {refused}, and the page says {said}"


def main():
    wrong = [*check_wifi(), *check_times(), *check_topics(), *check_halves(), *check_exchange(), *check_watch()]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
