#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether docs/protocol.md alone is enough to make a label and its hash: the rules are read out of
the page, carried out, and compared with the vectors."""
import json
import math
import pathlib
import re
import sys
import unicodedata

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


def composed(text):
    return unicodedata.normalize("NFC", text)


def check_topics():
    first, last, one = (chr(int(n, 16)) for n in rule(
        r"white space at both ends \(U\+(....) to U\+(....) and U\+(....)\)"))
    rule(r"NFC\(toCasefold\(NFC\(text\)\)\)")
    rule(r"with status\nC or F")
    space = one + "".join(chr(n) for n in range(ord(first), ord(last) + 1))
    lowered = 0
    for case in BUILDER["topics"]:
        text = composed(case["topic"].strip(space))
        wanted = ["topic:" + composed(text.casefold())]  # Python's is C and F
        if case["labels"] != wanted:
            yield f"{case['topic']!r} makes {wanted} by the page"
        lowered += case["labels"] == ["topic:" + composed(text.lower())]
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


def main():
    wrong = [*check_wifi(), *check_topics(), *check_halves()]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
