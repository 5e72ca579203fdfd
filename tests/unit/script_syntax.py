#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Old browsers can read the script of the page for phones.

A browser that does not know one sign of a script runs nothing of it. So the script, as it is served, has no
syntax newer than ES2018, with which Chrome 70 and Safari 12 came. The script is cut into tokens, so that
comments, texts and patterns are not taken for code. Years and versions are those of caniuse.com and
developer.mozilla.org.

It is also checked that what is served says the same as the source: only names that the script declares are others
there, and each of them always the same one.

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
BYTES_MOST = 14 * 1024
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


def words_of(source):
    """(kind, text, is_property) of what says something, with `const` as `let`."""
    tokens = [token for token in tokens_of(source) if token[0] != "sign" or token[1] not in "();"]
    for number, (kind, text, _) in enumerate(tokens):
        before, after = (tokens[at][1] if 0 <= at < len(tokens) else "" for at in (number - 1, number + 1))
        is_property = kind == "word" and (before == "." or before in ("{", ",") and after == ":")
        yield kind, "let" if text == "const" else text, is_property


def names_of(source, served):
    """Which name each word of the source has as it is served. AssertionError: the two do not say the same."""
    own, other = list(words_of(source)), list(words_of(served))
    assert len(own) == len(other), f"{len(own)} and {len(other)} tokens"
    names = {}
    for (kind, text, is_property), (kind_served, text_served, is_property_served) in zip(own, other):
        assert (kind, is_property) == (kind_served, is_property_served), f"{text} and {text_served}"
        if kind == "word" and not is_property:
            assert names.setdefault(text, text_served) == text_served, f"{text}: {names[text]} and {text_served}"
        else:
            assert text == text_served, f"{text} and {text_served}"
    assert len(set(names.values())) == len(names), "two names are one where they are served"
    return names


# Names of properties, of the browser, in texts and in patterns stay; all others become short.
SHRUNK = (
    ("const number = (first, second) => {\n  return first.second / second;\n};\n", "number first second", ""),
    ("function size(from, {wide: w, high}) {\n  return document.from || w + high;\n}\n", "size from", "high"),
    ("for (const [one, ...all] of every) {\n  all[one] = {one: 'one', two: one ? all : one};\n}\n", "one all", "every"),
    ("let match = (text) => /^text[/]match$/.test(text) && 'match \\'text';\n", "match text", ""),
    ("try {\n  save(event => event.key);\n} catch (error) {\n  say(error);\n}\n", "event error", "save say"),
    ("const [a, bb] = [1, 0xbb];\nconst c = (as) => a + bb + as + window.a;\n", "a bb c", "window"),
)
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
    for source, shortened, unchanged in SHRUNK:
        names = names_of(source, embed.shrink_js(source))
        assert all(len(names[name]) == 1 for name in shortened.split()), names
        assert all(names[name] == name for name in unchanged.split()), names
    for name in sys.argv[2:]:
        source = pathlib.Path(name).read_text(encoding="utf-8")
        served = embed.shrink_js(source)
        names_of(source, served)
        found = list(newer_syntax(served))
        if found:
            sys.exit(f"{name}, as it is served, cannot be read by Chrome 70 or Safari 12:\n" + "\n".join(found))
        print(f"{name}: {len(served.encode())} bytes, {len(list(tokens_of(served)))} tokens, none newer than ES2018")
        if len(served.encode()) > BYTES_MOST:
            sys.exit(f"{name}: more than {BYTES_MOST} bytes as it is served")


main()
