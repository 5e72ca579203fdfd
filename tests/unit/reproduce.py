#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/reproduce: its runs are those of docs/reproduce.md, the tables that it names are there, and
a wrong number, wrong data and a failing command are failures. `make reproduce` takes a folder of any name. Measures
nothing."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load():
    loader = importlib.machinery.SourceFileLoader("reproduce", str(ROOT / "scripts/reproduce"))
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("reproduce", loader))
    loader.exec_module(module)
    return module


def main():
    reproduce = load()
    rows, readers = reproduce.rows, reproduce.readers
    problems = reproduce.check()

    def failures(value=78.0, kind=readers.EXACT, command="true", data=(), plots=(), values=1):
        """Of a run with one number, which is 78.0 in the first table of docs/evaluation.md."""
        table = rows.Table("evaluation.md", "The question", 0,
                           lambda directory, committed: iter([(0, 1, kind, [value] * values)]))
        run = rows.Run("planted", command, data, (table,), plots, 0)
        with tempfile.TemporaryDirectory() as out:
            return bool(reproduce.reproduce(run, ROOT, pathlib.Path(out) / "run", pathlib.Path(out), []))

    rows.SUMS["DATA/run"] = rows.SUMS[str(ROOT / "Makefile")] = "0" * 64
    planted = {
        "the committed number": (failures(), False),
        "a number that is rounded to it": (failures(78.04), False),
        "another number": (failures(78.06), True),
        "the number with another sign": (failures(-78.0), True),
        "another time": (failures(900, readers.TIME), False),
        "a command that fails": (failures(command="false"), True),
        "a command that skips": (failures(0, command="sh -c exit${IFS}77"), False),
        "data that is missing": (failures(0, data=("DATA/run",)), False),
        "data that is not the data": (failures(data=(str(ROOT / "Makefile"),)), True),
        "a plot that was not drawn": (failures(plots=("none.svg",)), True),
        "a figure that is missing": (failures(kind=None), True),
        "no figure at all": (failures(values=0), True),
    }
    planted["zero, rounded from below"] = (not readers.EXACT.holds("0.0", -0.01), False)
    made = subprocess.run(["make", "-C", ROOT, "-n", "reproduce", "DATA=my own; data"], capture_output=True, text=True,
                          check=True).stdout
    planted["a folder of sightings with a blank"] = ("--own 'my own; data' " not in made, False)
    for name, (failed, expected) in planted.items():
        if failed != expected:
            problems = True
            print(f"FAILED: {name}: {'a failure' if failed else 'no failure'}")
    return int(problems)


if __name__ == "__main__":
    sys.exit(main())
