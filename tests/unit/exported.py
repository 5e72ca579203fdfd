#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether libhearsay exports the functions of its headers and no others, and Debian's list of symbols has them.

Compares the functions that client/hearsay/ declares with HEARSAY_API, the names in client/hearsay.map, and those in
packaging/debian/libhearsay0.symbols. A small text with a planted fault of each kind is checked before.
"""
import pathlib
import re
import sys


def read_headers(text):
    text = re.sub(r"/\*.*?\*/|^#.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\bHEARSAY_API\b[^;(]*?\b(hearsay_\w+)\(", text)


def read_map(text):
    return re.findall(r"^ +(hearsay_\w+);$", text, re.MULTILINE)


def read_symbols(text):
    return re.findall(r"^ (hearsay_\w+)@HEARSAY_0 ", text, re.MULTILINE)


def check(headers, exported, symbols):
    for name in sorted(set(headers) ^ set(exported)):
        yield f"{name} is " + ("declared, but not in hearsay.map" if name in headers else "exported, but not declared")
    for name in sorted(set(exported) ^ set(symbols)):
        yield f"{name} is " + ("not in libhearsay0.symbols" if name in exported else "in libhearsay0.symbols only")


def self_test():
    header = ("#define HEARSAY_API x\n/* HEARSAY_API int hearsay_no(void); */\nHEARSAY_API int hearsay_a(int b,\n"
              "  int c);\nHEARSAY_API const struct hearsay_e *hearsay_d(void);\n")
    assert read_headers(header) == ["hearsay_a", "hearsay_d"], read_headers(header)
    assert read_map("H {\nglobal:\n    hearsay_a;\nlocal:\n    *;\n};\n") == ["hearsay_a"]
    assert read_symbols(" HEARSAY_0@HEARSAY_0 0.2.0\n hearsay_a@HEARSAY_0 0.2.0\n") == ["hearsay_a"]
    assert len(list(check(["a", "b"], ["a", "c"], ["c", "d"]))) == 4
    assert not list(check(["a"], ["a"], ["a"]))


def main():
    self_test()
    root = pathlib.Path(__file__).parents[2]
    headers = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "client/hearsay").glob("*.h")))
    exported = (root / "client/hearsay.map").read_text(encoding="utf-8")
    symbols = (root / "packaging/debian/libhearsay0.symbols").read_text(encoding="utf-8")
    problems = list(check(read_headers(headers), read_map(exported), read_symbols(symbols)))
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
