#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`run.py --own` with sightings that are made here: 20 places in two buildings, 300 m apart. Scans of a place meet, and
scans of two places do not. What is no sighting is refused with its line. The third metric,
the estimate, has the figures that the metric ESTIMATED had.

  own.py RUN_PY DIRECTORY"""

import gzip
import pathlib
import random
import subprocess
import sys
import types

import metric
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


def shares(text, group, row):
    """By phi, by Jaccard and by the estimate, in per cent: of a row of the table of a group."""
    lines = text[text.index(f"\n{group}"):].splitlines()
    return [float(share) for share in next(line for line in lines if line.startswith(f"{row:32}"))[32:].split()[:3]]


def check_estimated():
    """Labels in 1/65536 and similarities in millionths, from the test vectors of 0.2.0, whose tables were of integers."""
    one = types.SimpleNamespace(sections={"": (0, 64, 2)})
    for bits, labels in ((0, 0), (1, 33027), (32, 1453635), (63, 8721810), (64, 10175445)):
        assert round(metric.estimated_labels(one, (1 << bits) - 1) * 65536) == labels, bits
    for a, b, similarity in (("0d631140b2a9d012", "05131340a08be007", 396761), ("5" * 16, "f" * 16, 142857),
                             ("5" * 16, "a" * 16, 0), ("f" * 16, "f" * 16, 1000000), ("0", "0", 1000000), ("0", "1", 0)):
        assert round(metric.estimated(one, int(a, 16), int(b, 16)) * 1e6) == similarity, (a, b)
    several = types.SimpleNamespace(sections={"wifi": (0, 256, 2), "geo": (256, 96, 1), "time": (352, 32, 1),
                                              "topic": (384, 96, 2)})
    mask = 0b1111 | 0b1111 << 256 | 0b11 << 352 | 0b1111 << 384
    assert round(metric.estimated_labels(several, mask) * 65536) == 132107 + 267762 + 135347 + 133881
    assert metric.estimated(several, mask, mask | (1 << 256) - 1) < 0.02  # a section that is full holds far more


def main():
    check_estimated()
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
    assert min(shares(made.stdout, "near", "scan / scan")) > 95, made.stdout
    assert max(shares(made.stdout, "other building", "scan / scan")) < 5, made.stdout
    assert max(shares(made.stdout, "100 m or more", "scan / scan")) < 5, made.stdout
    by_phi, *others = shares(made.stdout, "near", "scan+here / here")
    assert by_phi > 95 and max(others) < 50, made.stdout
    assert max(shares(made.stdout, "no access point in common", "disjoint scans of 12")) < 5, made.stdout
    assert all(len(line) <= 80 for line in made.stdout.splitlines()), made.stdout

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
