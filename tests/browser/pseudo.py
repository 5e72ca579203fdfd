# SPDX-License-Identifier: Apache-2.0
"""A language that nobody speaks, for the test of the layout: the English texts with accents, 40 % longer,
written from the right. What is on a page without accents is not from a language file.

usage: pseudo.py EN.txt OUT.txt
"""
import pathlib
import re
import sys

ACCENTS = str.maketrans("aceginosuyACEGINOSUY", "áçéğïñöšúýÁÇÉĞÏÑÖŠÚÝ")
HEADS = {"tag": "qps", "name": "Ṗšéúđö", "direction": "rtl"}
LONGER = 0.4


def pseudo(text):
    """A text with accents, and with more words behind it; {0} and {1} stay."""
    parts = re.split(r"(\{\d\})", text)
    longer = "·öñé" * round(LONGER * len(text) / 4 + 0.5)
    return "".join(part if part.startswith("{") else part.translate(ACCENTS) for part in parts) + longer


def main():
    source, out = map(pathlib.Path, sys.argv[1:])
    lines = []
    for line in source.read_text(encoding="utf-8").splitlines():
        key, is_text, text = line.partition(" = ")
        if is_text and not line.startswith("#"):
            line = f"{key} = {HEADS.get(key) or pseudo(text)}"
        lines.append(line)
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
