#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times under attack, of one hearsayd and of another one, in turn, and the medians of both.

usage: hostile.py --old HEARSAYD --new HEARSAYD [--rounds N] [NAME]...

The attacks are the scripts of tests/integration/hostile that have a `measure`; NAME is the
beginning of a script's name, such as s1. Needs two processors, and root or user namespaces.
"""

import argparse
import importlib
import os
import pathlib
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE.parent / "integration" / "hostile"


def scripts_named(names):
    found = []
    for path in sorted(SCRIPTS.glob("s*_*.py")):
        wanted = not names or any(path.stem.startswith(name.lower() + "_") for name in names)
        module = importlib.import_module(path.stem) if wanted else None
        if hasattr(module, "measure"):
            found.append(module)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()

    sys.dont_write_bytecode = True
    sys.path[:0] = [str(SCRIPTS), str(SCRIPTS.parent)]
    os.environ.setdefault("HEARSAY_TEST_DIR", tempfile.gettempdir())
    import devices

    why_not = devices.enter_own_network()
    if why_not:
        sys.exit(f"no network of our own: {why_not}")
    programs = {"old": os.path.abspath(options.old), "new": os.path.abspath(options.new)}
    for module in scripts_named(options.names):
        figures = {}  # name -> {"old": [...], "new": [...]}
        for number in range(options.rounds):
            # In turn, and each of them first every other time.
            for which in ("old", "new") if number % 2 == 0 else ("new", "old"):
                for name, value in module.measure(programs[which]).items():
                    figures.setdefault(name, {"old": [], "new": []})[which].append(value)
                    print(f"  {module.__name__} {which} {name}: {value:.4g}", file=sys.stderr)
        for name, values in figures.items():
            old, new = (statistics.median(values[which]) for which in ("old", "new"))
            print(f"| {module.__name__} | {name} | {old:.4g} | {new:.4g} |", flush=True)


if __name__ == "__main__":
    main()
