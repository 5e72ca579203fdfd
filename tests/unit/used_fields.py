#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether hearsayd and the command use each field of a query and of its answer.

The structs and the codec are made from the schema, so a field that nobody reads or sets is no error of the compiler: it
is silently 0. PLACES says which files must name each field of a message as a member of a struct, and NOT_USED which
fields they need not name, with the reason. A small text with a planted fault of each kind is checked before.
"""
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HANDLER = "daemon/handler/query*.c"
COMMAND = "client/cli/cmd/query*.[ch]"
PLACES = (("Query", HANDLER), ("Results", HANDLER), ("Query", COMMAND), ("Results", COMMAND))
NOT_USED = {
    ("Query", COMMAND, "answers"): "hearsay get --answers asks with it",
    ("Query", COMMAND, "exclude"): "hearsay_seen_exclude of libhearsay sets it",
    ("Query", COMMAND, "floor"): "only a bridge asks with it",
    ("Query", COMMAND, "wait_ms"): "the default is right for people",
    ("Results", COMMAND, "seq"): "it is for a bridge",
}


def check(place, fields, text, not_used):
    message, files = place
    for field in fields:
        is_used = re.search(rf"(?:\.|->){field}\b", text) is not None
        reason = not_used.get((message, files, field.removesuffix("_ppm")))
        if not is_used and reason is None:
            yield (f"{files} do not use {message}.{field}: make them use it, or say in NOT_USED of "
                   "tests/unit/used_fields.py why they need not")
        if is_used and reason is not None:
            yield f"{files} use {message}.{field}: take it out of NOT_USED"


def self_test():
    place = ("M", "a.c")
    for text, not_used, said in (
            ("x->one = y.two;", {}, []),
            ("x->one = two;", {}, ["a.c do not use M.two"]),
            ("x->one_more = y.two;", {}, ["a.c do not use M.one"]),
            ("x->one = 1;", {("M", "a.c", "two"): "why"}, []),
            ("x->one = y.two;", {("M", "a.c", "two"): "why"}, ["a.c use M.two"])):
        found = list(check(place, ["one", "two"], text, not_used))
        if len(found) != len(said) or not all(line.startswith(part) for line, part in zip(found, said)):
            yield f"of {text!r} and {sorted(not_used)} was said {found}, not {said}"


def read_schema():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "proto/generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    return generate.Schema([str(ROOT / "proto/hearsay.proto"), str(ROOT / "proto/bridge.proto")])


def main():
    wrong = list(self_test())
    schema = read_schema()
    for place in PLACES:
        text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob(place[1])))
        fields = [field.own() for field in schema.messages[place[0]].fields]
        wrong += check(place, fields, text, NOT_USED)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
