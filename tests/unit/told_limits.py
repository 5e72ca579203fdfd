#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether clients are told of each limit that they must know.

Each field of struct config_limits (daemon/config/config.h) must be read where the Welcome's Limits are filled
(daemon/handler/hello.c), or stand in NOT_TOLD with the reason why clients need not know it. A
small text with a planted fault of each kind is checked before.
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


def read_fields(config):
    """The fields of struct config_limits, in order."""
    body = re.search(r"^struct config_limits \{\n(.*?)^\};", config, re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"^\s*\w+ (\w+);", re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL), re.MULTILINE)


def check(config, hello, not_told):
    fields = read_fields(config)
    told = set(re.findall(r"\blimits->(\w+)", hello))
    if "config_sessions_of_address(limits)" in hello:  # the smaller one of two limits
        told.add("sessions_per_address")
    for field in fields:
        if field not in told and field not in not_told:
            yield (f"clients are not told of {field}: add it to Limits in proto/hearsay.proto and to "
                   "daemon/handler/hello.c, or say in NOT_TOLD of tests/unit/told_limits.py why not")
        if field in told and field in not_told:
            yield f"{field} is told in the Welcome: take it out of NOT_TOLD"
    for field in sorted(set(not_told) - set(fields)):
        yield f"NOT_TOLD has {field}, which struct config_limits does not have"


def self_test():
    config = "struct config_limits {\n    uint32_t a; /* one; */\n    uint64_t b;\n};\n"
    for hello, not_told, said in (
            ("x = limits->a;", {"b": "why"}, []),
            ("x = limits->a;", {}, ["clients are not told of b"]),
            ("x = limits->a + limits->b;", {"b": "why"}, ["b is told in the Welcome"]),
            ("x = limits->a;", {"b": "why", "c": "why"}, ["NOT_TOLD has c"])):
        found = list(check(config, hello, not_told))
        if len(found) != len(said) or not all(text.startswith(part) for text, part in zip(found, said)):
            yield f"of {hello!r} and {sorted(not_told)} was said {found}, not {said}"


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    config = (root / "daemon/config/config.h").read_text(encoding="utf-8")
    hello = (root / "daemon/handler/hello.c").read_text(encoding="utf-8")
    wrong = [*self_test(), *check(config, hello, NOT_TOLD)]
    for text in wrong:
        print(text)
    print(f"{len(read_fields(config))} limits, {len(NOT_TOLD)} of them not told")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
