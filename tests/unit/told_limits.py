#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether clients are told of each limit that they must know.

The Welcome has what `limits` of struct config has (daemon/config/config.h). Each key of [limits] in
daemon/config/table.c must have its field there, or its field must stand in NOT_TOLD with the reason why clients need
not know it. The default in the field's comment, "Default: 4,096", must be `.standard` of the key. A small text with a
planted fault of each kind is checked before.
"""
import pathlib
import re
import sys

NOT_TOLD = {
    "log_bytes": "when the store checkpoints its log changes no answer",
    "addresses": "how many senders are remembered is seen by nobody; a forgotten one only has full buckets again",
    "tls_handshakes_max": "it holds before a client is greeted",
    "output_bytes": "it is about all sessions together; of its own a client knows session_output_bytes",
    "cache_bytes": "how much is kept in memory changes no answer",
    "hello_timeout_s": "it holds before a client is greeted",
    "idle_timeout_s": "a client that needs a session to stay open sends a ping or watches, whatever the time is",
}


def read_fields(table):
    """The fields of the keys of [limits], in order; one that clients are told begins with `limits.`."""
    return re.findall(r'\bLIMITS_KEY\("\w+", ([\w.]+)\)', table)


UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "s": 1, "m": 60, "h": 3600, "d": 86400, "%": 10000}


def check_defaults(table, schema):
    rows = re.findall(r'\bLIMITS_KEY\("\w+", limits\.(\w+)\)(.*?)(?=\w+_KEY\(|\Z)', table, re.DOTALL)
    for field, row in rows:
        number, unit = re.search(r'\.standard = "([\d.]+)([A-Za-z%]?)"', row).groups()
        value = f"{float(number) * UNITS[unit]:,.0f}"
        comment = re.search(rf"((?:^ *//[^\n]*\n)+) *optional \w+ {field} = ", schema, re.MULTILINE)
        if not comment or not re.search(rf"Default:[\s/]+{value}[ .]", comment[1]):
            yield (f"the comment of {field} in proto/hearsay.proto must end with \"Default: {value}.\", the default of "
                   "daemon/config/table.c, perhaps with the value in words behind the number")


def check(table, not_told):
    fields = read_fields(table)
    for field in fields:
        if not field.startswith("limits.") and field not in not_told:
            yield (f"clients are not told of {field}: make it a field of Limits in proto/hearsay.proto, or say in "
                   "NOT_TOLD of tests/unit/told_limits.py why not")
    for field in sorted(set(not_told) - set(fields)):
        yield f"NOT_TOLD has {field}, which is the field of no key of [limits]"


def self_test():
    table = '{LIMITS_KEY("a", limits.a_max), TYPE, .standard = "4K"},\n{LIMITS_KEY("b", b_s)},'
    twice = table + table.replace("a_max", "c_max")
    schema = "// So many. Default: 4,096.\noptional uint32 a_max = 1;\n// Default: 4,095.\noptional uint32 c_max = 2;"
    if [text[:20] for text in check_defaults(twice, schema)] != ["the comment of c_max"]:
        yield f"of the default of c_max was said {list(check_defaults(twice, schema))}"
    for not_told, said in (
            ({"b_s": "why"}, []),
            ({}, ["clients are not told of b_s"]),
            ({"b_s": "why", "a_max": "why"}, ["NOT_TOLD has a_max"])):
        found = list(check(table, not_told))
        if len(found) != len(said) or not all(text.startswith(part) for text, part in zip(found, said)):
            yield f"with {sorted(not_told)} was said {found}, not {said}"


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    table = (root / "daemon/config/table.c").read_text(encoding="utf-8")
    schema = (root / "proto/hearsay.proto").read_text(encoding="utf-8")
    wrong = [*self_test(), *check(table, NOT_TOLD), *check_defaults(table, schema)]
    for text in wrong:
        print(text)
    print(f"{len(read_fields(table))} limits, {len(NOT_TOLD)} of them not told")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
