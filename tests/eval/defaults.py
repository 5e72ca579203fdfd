# SPDX-License-Identifier: Apache-2.0
"""What a host has without configuration, read from the example that the daemon's table of keys makes."""

import pathlib
import re

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "daemon" / "hearsayd.conf.example"


def of(key):
    """The value of a key of the example."""
    found = re.search(rf"^#{key} = (.*)$", EXAMPLE.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise LookupError(f"{EXAMPLE} has no key {key}")
    return found.group(1)


def profile():
    """Without the version before it, as filters.Profile takes it."""
    return of("profile").removeprefix("v2:")


def max_distance():
    return float(of("suggested_max_distance"))


def least_similarity():
    """phi of a message that is just within the bound, in units of 2^-24."""
    millionths = 1_000_000 - round(max_distance() * 1_000_000)
    return -(-millionths * 2 ** 24 // 1_000_000)
