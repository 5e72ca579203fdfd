#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One dialect of C, as far as a script can see it. A test, and part of `make lint`.

usage: dialect.py [FILE]...    core, proto, client and daemon when none is named

In the code, comments and strings left out:
  rc        a status has the name rc: no `int error`, `int err`, `int ret`, `int res`, `int result`
  sizeof    sizeof(x), with parentheses
  const     no `const` on a local variable that is neither a pointer nor a table
  names     a static function of a .c file has a name of two words or more: `query_begin`, not
            `begin`, as names stand in backtraces by themselves
  cast      CONTAINER_OF instead of a cast from an embedded member to its struct
  includes  the own header first, then <system> headers, then <library> headers, then "ours"
and in comments:
  divider   /* --- title ---...--- */, 100 columns wide
"""
import pathlib
import re
import sys

PARTS = ("core", "proto", "client", "daemon")
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
# Called by the bodies of kernels, core/bits/rows.h and others, which each instruction set includes.
KERNEL = re.compile(r"core/bits/(scalar|avx2|avx512|neon)\.c|core/bits/(columns|lanes|rows|vec|x86)\.h")
LIBRARY = re.compile(r"(uv|sqlite3|sodium|jansson|xxhash|ini|seccomp|utf8proc)\.h|(openssl|systemd|protobuf-c)/.*")

CODE_RULES = (
    (re.compile(r"^.*\bint (error|err|ret|res|result)\b(?! ?\()(?!.*/\*).*", re.MULTILINE),
     "a status has the name rc"),
    (re.compile(r"\bsizeof [^(].*|\bsizeof \(.*"), "sizeof(x), with parentheses"),
    (re.compile(r"^ +const ((struct |enum |unsigned |long )*\w+) \w+ =.*", re.MULTILINE),
     "no const on a local variable that is neither a pointer nor a table"),
    (re.compile(r"^static [\w *]*\b(?!main\b)[a-z0-9]+\(.*", re.MULTILINE),
     "a static function has a name of two words or more"),
    (re.compile(r"= \((struct \w+) \*\)(\(void \*\))?(\w+|\(\(char \*\).*offsetof.*);.*"),
     "CONTAINER_OF instead of a cast"),
)
DIVIDER = re.compile(r"^/\* ?-{2,}.*", re.MULTILINE)
DIVIDER_RIGHT = re.compile(r"/\* --- [^-].* -+ \*/")
INCLUDE = re.compile(r'^#include (["<])([^">]+)[">]', re.MULTILINE)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def check_includes(name, text):
    found = INCLUDE.findall(text)
    own = name.removesuffix(".c") + ".h"
    if name.endswith(".c") and ("\"", own) in found[1:]:
        yield 1, f"the own header, {own}, comes first"
    # A unit of several files has one header, which stands in their folder.
    if found and found[0][0] == "\"" and name.rpartition("/")[0] == found[0][1].rpartition("/")[0]:
        found = found[1:]
    ranks = [0 if kind == "<" and not LIBRARY.fullmatch(what) else 1 if kind == "<" else 2
             for kind, what in found]
    if ranks != sorted(ranks):
        yield 1, "includes: <system>, then <library>, then \"ours\""


def check(name, text):
    code = TOKEN.sub(lambda m: m.group(0) if "include" in text[max(0, m.start() - 9):m.start()]
                     else blank(m), text)
    for pattern, rule in CODE_RULES:
        if KERNEL.fullmatch(name) and "static function" in rule:
            continue
        for match in pattern.finditer(code):
            yield line_of(code, match.start()), rule
    for match in DIVIDER.finditer(text):
        if not DIVIDER_RIGHT.fullmatch(match.group(0)) or len(match.group(0)) != 100:
            yield line_of(text, match.start()), "a divider is /* --- title ---...--- */, 100 columns wide"
    if not KERNEL.fullmatch(name):
        yield from check_includes(name, text)


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    paths = [pathlib.Path(name).resolve() for name in sys.argv[1:]] or sorted(
        path for part in PARTS for path in (root / part).rglob("*.[ch]"))
    wrong = 0
    for path in paths:
        name = path.relative_to(root).as_posix()
        for line, rule in check(name, path.read_text()):
            print(f"{name}:{line}: {rule}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
