#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Old browsers can read the script of the page for phones.

A browser that does not know one sign of a script runs nothing of it. So the script, as it is served, has no
syntax newer than ES2018, with which Chrome 70 and Safari 12 came. The script is cut into tokens, so that
comments, texts and patterns are not taken for code. Years and versions are those of caniuse.com and
developer.mozilla.org.

usage: script_syntax.py EMBED SCRIPT...
"""

import importlib.machinery
import importlib.util
import pathlib
import re
import sys

TOKEN = re.compile(r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)
  | (?P<number>\.?\d(?:[eE][+-]|[\w.])*)
  | (?P<word>[#@]?[A-Za-z_$][\w$]*)
  | (?P<sign>\?\?=|\|\|=|&&=|\*\*=|\?\?|\?\.(?!\d)|\.\.\.|=>|[^\s\w])
  | (?P<space>\s+)
""", re.VERBOSE | re.DOTALL)
PATTERN = re.compile(r"/(?![*/])(?:[^\[/\\\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
# After these a slash divides; else it begins a pattern.
DIVIDES_AFTER = re.compile(r"[)\]}\w$'\"`]$")
WORDS_BEFORE_PATTERN = {"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else"}
NEW_SIGNS = {
    "??": "Chrome 80, Safari 13.1", "?.": "Chrome 80, Safari 13.1", "??=": "Chrome 85, Safari 14",
    "||=": "Chrome 85, Safari 14", "&&=": "Chrome 85, Safari 14",
}
NEW_WORDS = {"import": "a module or import()", "export": "a module", "static": "a class field or block"}


def tokens_of(source):
    """(kind, text, line) without comments and spaces."""
    at, last, line = 0, "", 1
    while at < len(source):
        is_pattern = source[at] == "/" and (
            not DIVIDES_AFTER.search(last) or last in WORDS_BEFORE_PATTERN)
        match = is_pattern and PATTERN.match(source, at) or TOKEN.match(source, at)
        if not match:
            raise SyntaxError(f"line {line}: {source[at:at + 20]!r}")
        kind = match.lastgroup or "pattern"
        if kind not in ("comment", "space"):
            last = match.group()
            yield kind, last, line
        line += match.group().count("\n")
        at = match.end()


def newer_syntax(source):
    """What Chrome 70 or Safari 12 cannot read, each as a sentence."""
    tokens = list(tokens_of(source))
    depth, functions = 0, []
    for number, (kind, text, line) in enumerate(tokens):
        before = tokens[number - 1][1] if number else ""
        after = tokens[number + 1][1] if number + 1 < len(tokens) else ""
        if kind == "number" and text.endswith("n"):
            yield f"line {line}: {text}: a BigInt (Chrome 67, Safari 14)"
        elif kind == "number" and "_" in text:
            yield f"line {line}: {text}: a separator in a number (Chrome 75, Safari 13)"
        elif kind == "sign" and text in NEW_SIGNS:
            yield f"line {line}: {text} ({NEW_SIGNS[text]})"
        elif kind == "word" and text[0] == "#":
            yield f"line {line}: {text}: a private member (Chrome 74, Safari 14.1)"
        elif kind == "word" and text in NEW_WORDS and before != "." and after != ":":
            yield f"line {line}: {text}: {NEW_WORDS[text]}"
        elif kind == "word" and text == "class" and before != "." and after != ":":
            yield f"line {line}: class: its fields would be newer (Chrome 72, Safari 14.1); none is needed here"
        elif kind == "pattern" and re.search(r"\(\?<[=!]|/[a-z]*[dv][a-z]*$", text):
            yield f"line {line}: {text}: a look behind, or a new flag (Safari 15 to 17)"
        elif kind == "text" and text[0] == "`" and "${" in text:
            yield f"line {line}: {text}: this check does not look into it; write it with +"
        elif kind == "word" and text == "await" and not functions:
            yield f"line {line}: await outside of a function (Chrome 89, Safari 15)"
        if text == "{":
            depth += 1
            if is_async_body(tokens, number):
                functions.append(depth)
        elif text == "}":
            if functions and functions[-1] == depth:
                functions.pop()
            depth -= 1


def is_async_body(tokens, brace):
    """Whether a brace opens the body of an async function."""
    words = [text for _, text, _ in tokens[max(0, brace - 30):brace]]
    return "async" in words and brace > 0 and tokens[brace - 1][1] in (")", "=>")


NEWER = ("let a = 64n", "a = 0xffn", "a = b ?? c", "a = b?.c", "a ??= b", "a ||= b", "a = 1_000",
         "a = /(?<=x)y/", "a = /y/v", "a = `${64n}`", "await a", "class A { b = 1 }", "import('a')", "a.#b",
         "a = b / 2; c = 3n", "return /x/.test(a) ? 1n : 0")
OLD = ("// 64n ?? b?.c\n", "/* a ?? b */ a = 'b?.c ??= 1n'", "a = `64n`", "a = /[/?.]??n/", "a = b ? .5 : c",
       "a = {...b}", "async () => { await a; }", "a = 0x1f", "a = b / c / d", "a.static = {class: 1}",
       "if (a) { b = x?1:2 }", "a = 1e-5")


def main():
    for source in NEWER:
        assert list(newer_syntax(source)), f"not found: {source}"
    for source in OLD:
        assert not list(newer_syntax(source)), f"{source}: {list(newer_syntax(source))}"
    loader = importlib.machinery.SourceFileLoader("embed", sys.argv[1])
    sys.dont_write_bytecode = True
    embed = importlib.util.module_from_spec(importlib.util.spec_from_loader("embed", loader))
    loader.exec_module(embed)
    for name in sys.argv[2:]:
        served = embed.shrink_js(pathlib.Path(name).read_text(encoding="utf-8"))
        found = list(newer_syntax(served))
        if found:
            sys.exit(f"{name}, as it is served, cannot be read by Chrome 70 or Safari 12:\n" + "\n".join(found))
        print(f"{name}: {sum(1 for _ in tokens_of(served))} tokens, none newer than ES2018")


main()
