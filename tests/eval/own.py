#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`run.py --own` with sightings that are made here: 20 places in two buildings, 300 m apart. Scans of a place meet, and
scans of two places do not. What is no sighting is refused with its line.

  own.py RUN_PY DIRECTORY"""

import gzip
import pathlib
import random
import subprocess
import sys

import sightings

PLACES, HEARD = 20, 30
GOOD = "1371713733\t1\t0\t2\t-7541.26\t4864920.77\ta4:2b:8c:01:02:03:-60\n"


def world(rng):
    """Lines of what is left, and of who asks."""
    places = [[":".join(f"{byte:02x}" for byte in [10] + rng.choices(range(256), k=5)) for _ in range(HEARD)]
              for _ in range(PLACES)]

    def line(at):
        heard = [f"{address}:{-50 - i - rng.randrange(4)}" for i, address in enumerate(places[at]) if rng.random() < 0.9]
        return "\t".join(["1371713733", "1", str(at % 2), "0", str(300 * at + rng.random()), "4864934", *heard]) + "\n"

    return ["# made up\n"] + [line(at) for at in range(PLACES) for _ in range(8)], [line(at) for at in range(PLACES)]


def shares(text, row):
    """The shares of a row of the table, in percent, without their intervals."""
    cells = next(line for line in text.splitlines() if line.startswith(f"| {row} |")).split("|")[2:-1]
    return [float(cell.split()[0]) for cell in cells]


def main():
    script, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    seed = random.SystemRandom().randrange(1 << 32)
    print("seed", seed)

    def run(left, asking, *more):
        for name, lines in (("training", left), ("validation", asking)):
            with gzip.open(directory / f"{name}.tsv.gz", "wt", encoding="utf-8") as file:
                file.writelines(lines)
        return subprocess.run([sys.executable, "-B", script, "--own", directory, "--dir", directory / "out",
                               *more], check=False, capture_output=True, text=True)

    made = run(*world(random.Random(seed)))
    if made.returncode == 77:
        print(made.stderr)
        return 77
    assert made.returncode == 0, made.stderr
    near, _, elsewhere, _, far, _ = shares(made.stdout, "scan / scan")
    assert near > 95 and elsewhere < 5 and far < 5, made.stdout
    assert shares(made.stdout, "scan+here / scan+here")[0] > 95, made.stdout
    assert shares(made.stdout, "disjoint scans of 12")[0] < 5, made.stdout

    other = run(*world(random.Random(seed)), "--seed", "1")
    assert other.returncode == 0 and other.stdout != made.stdout, other.stderr

    heard_nothing = GOOD[:GOOD.rindex("\t")] + "\n"
    for lines, expected in (
            ([GOOD, GOOD.replace("\t2\t", "\tsecond\t")], "line 2 of training.tsv.gz is no sighting"),
            ([GOOD.replace(":-60", "")], "line 1 of training.tsv.gz is no sighting"),
            (["1371713733\t1\n"], "line 1 of training.tsv.gz is no sighting"),
            ([heard_nothing], "one has no sighting with an access point")):
        refused = run(lines, [GOOD])
        assert refused.returncode == 1 and expected in refused.stderr, refused.stderr
        assert "Traceback" not in refused.stderr, refused.stderr
    (directory / "training.tsv.gz").write_bytes(gzip.compress(GOOD.encode())[:-9])
    cut = subprocess.run([sys.executable, "-B", script, "--own", directory, "--dir", directory / "out"],
                         check=False, capture_output=True, text=True)
    assert cut.returncode == 1 and "does not have training.tsv.gz" in cut.stderr, cut.stderr
    return 0


if __name__ == "__main__":
    sys.exit(main())
