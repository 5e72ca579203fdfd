#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the page for phones uses each of its texts.

A text of client/web/lang/ is used if its key, or the key without the category of a plural, is a literal of the C of
client/web/; or if a literal such as "moderate.view_%s" makes the key from a word that is a literal of the same file, where a hyphen stands for the underscore of a key.
The test web_page finds the opposite, a key without a text. A small file with a planted fault is checked before.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OF_EMBED = {"tag", "name", "direction"}  # scripts/embed reads them
PLURAL = re.compile(r"\.(?:zero|one|two|few|many|other)$")


def forms(text):
    """What the keys look like that a file uses."""
    literals = {literal.replace("-", "_") for literal in re.findall(r'"([\w.%-]+)"', text)}
    words = "|".join(sorted(word for word in literals if "%" not in word))
    for literal in literals:
        yield re.sub(r"%(?:\\\.\d+)?s", f"(?:{words})", re.escape(literal))


def unused(keys, texts):
    pattern = re.compile("|".join(form for text in texts for form in forms(text)))
    for key in keys:
        if key not in OF_EMBED and not pattern.fullmatch(key) and not pattern.fullmatch(PLURAL.sub("", key)):
            yield key


def self_test():
    texts = ['lang_text(lang, "list.new"); print(key, "view.%.8s", "all", "a-b"); write("list.count")', 'write("few")']
    keys = ["list.new", "view.all", "view.a_b", "view.few", "list.count.one", "list.old", "name"]
    found = list(unused(keys, texts))
    if found != ["view.few", "list.old"]:
        yield f"of the planted texts was said {found}"


def main():
    wrong = list(self_test())
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "client/web").glob("**/*.c"))]
    for path in sorted((ROOT / "client/web/lang").glob("*.txt")):
        keys = re.findall(r"^([\w.]+) = ", path.read_text(encoding="utf-8"), re.MULTILINE)
        wrong += (f"{path.relative_to(ROOT)}: no page uses {key}: use it, or remove it" for key in unused(keys, texts))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
