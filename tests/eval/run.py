#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The evaluation of contexts, in one command: figures, tables and plots into one directory.

  run.py --data ../shared/data --dir eval-results
  run.py --part matrix --profiles 512/1,512/2

Parts: rules (which levels a strength becomes), matrix (UJIIndoorLoc through the daemon, plain,
graded and mixed with other labels, in many profiles), profiles (which one is the default, with
intervals, from UJIIndoorLoc and Foursquare), meet (who meets whom within the default bound), bound (which bound that
is), checkins (Foursquare), nearness (positions, which needs no data). A part whose data is not there is skipped, and
that is said. --own FOLDER measures who meets whom among one's own sightings instead.

Exit status: 0 all is as it should be, 1 it is not, 77 no data at all."""

import argparse
import json
import multiprocessing
import pathlib
import sys
import time

SKIPPED = 77
try:
    import bound
    import checkins
    import crowd
    import daemon
    import defaults
    import matrix
    import meet
    import metric
    import mixed
    import nearness
    import plots
    import profiles
    import rules
    import sightings
    import tables
except ImportError as missing:
    print(f"SKIPPED: {missing}; on Debian it is in python3-xxhash", file=sys.stderr)
    sys.exit(SKIPPED)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROFILES = ",".join(f"{bits}/{hashes}" for bits in (256, 512, 1024, 2048)
                    for hashes in (1, 2, 3, 4))
# Of mixed contexts: sections beside one section of as many bits.
MIXED = ";".join(["512/2", "512/4", "wifi=416/2,any=96/2", "wifi=448/2,any=64/1",
                  "wifi=384/2,topic=96/2,time=32/2", "wifi=480/4,any=32/1", "1024/2", "1024/4",
                  "wifi=832/2,any=192/2", "wifi=960/2,any=64/1"])
PARTS = ["rules", "matrix", "profiles", "meet", "bound", "checkins", "nearness"]
PAIRS = 2000  # of nearness
FEW = 100  # places and pairs of positions, where not all rows are taken
GOAL = 89.0  # floors right, k = 1, graded, 512 bits


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def goal_missed(figures):
    """Graded contexts in 512 bits against the goal, where the whole data was used."""
    for row in figures:
        if row["contexts"] == "graded" and row["profile"] in ("512/1", "512/2"):
            floor = row["bits"]["1"]["floor"]
            if floor < GOAL:
                return f"graded {row['profile']}: {floor:.2f} % of floors right, not {GOAL} %"
    return None


def bound_missed(found):
    """The default bound against those that the whole data gives."""
    if found and found["default"] not in found["good"]:
        return f"the default bound is similarity {found['default']}; those that miss nothing: {found['good']}"
    return None


def checkin_path(options):
    """None, and a note, if the data is not there."""
    path = options.data / "foursquare-nyc" / "checkins.tsv.gz"
    if path.exists():
        return path
    say(f"SKIPPED: check-ins: there is no {path}")
    return None


def run_profiles(options, programs, bench, rows):
    with multiprocessing.Pool(min(2, multiprocessing.cpu_count())) as pool:
        tools = (bench, options.dir, options.data / "ujiindoorloc", pool)
        return profiles.run(programs, tools, rows, checkin_path(options),
                            options.candidates.split(";"), say, options.rows)


def run_meet(options, rows, wanted, results):
    """The parts meet and bound, which look at the same pairs and places."""
    least = defaults.least_similarity()
    measured = meet.Measured(rows, meet.POSITION_PAIRS if options.rows is None else FEW)
    first = round(bound.STEPS[0] * metric.ONE) if "bound" in wanted else least
    places = crowd.Measured(measured.encoder, first, crowd.PLACES if options.rows is None else FEW)
    say("pairs, positions and places")
    if "meet" in wanted:
        results["meet"] = meet.run(measured)
        results["crowd"] = crowd.run(places, measured.encoder, least)
        results["mixed"] = mixed.run(measured.encoder, rows, least)
        say("who meets whom")
    if "bound" in wanted:
        results["bound"] = bound.run(measured, places)
        say("the bound")


def run_own(options):
    """The table of pairs of somebody's own sightings."""
    try:
        rows = [sightings.read_rows(options.own / f"{name}.tsv.gz")[0] for name in ("training", "validation")]
    except (OSError, EOFError, ValueError) as error:
        print(f"run.py: {options.own} does not have training.tsv.gz and validation.tsv.gz as docs/evaluation.md "
              f"describes them: {error}", file=sys.stderr)
        return 1
    if not all(rows):
        print(f"run.py: of the two files in {options.own}, one has no sighting with an access point", file=sys.stderr)
        return 1
    text = tables.of_own(meet.run(meet.Measured(rows, 0)))
    (options.dir / "tables.txt").write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


def run_wifi(options, programs, results):
    """The parts that need UJIIndoorLoc. Whether they were wanted and the data is there."""
    wanted = {"rules", "matrix", "profiles", "meet", "bound"} & set(options.part)
    folder = options.data / "ujiindoorloc"
    missing = [name for name in ("training.tsv.gz", "validation.tsv.gz")
               if not (folder / name).exists()]
    if wanted and missing:
        say(f"SKIPPED: {', '.join(sorted(wanted))}: {folder} has no {' and no '.join(missing)}")
    if not wanted or missing:
        return False
    training, deaf = sightings.read_rows(folder / "training.tsv.gz", options.rows)
    validation, _ = sightings.read_rows(folder / "validation.tsv.gz", options.queries)
    results["wifi"] = {"stored": len(training), "deaf": deaf, "queries": len(validation),
                       "labels": matrix.counts(training)}
    bench = options.bench if options.bench.exists() else None
    if bench is None and wanted & {"matrix", "profiles"}:
        say(f"SKIPPED: time and bytes of the index: there is no {options.bench}")
    if "matrix" in wanted:
        by_kind = {"plain": options.profiles.split(","), "graded": options.profiles.split(","),
                   "mixed": options.mixed.split(";")}
        results["matrix"] = matrix.run(programs, (bench, options.dir), training, validation,
                                       by_kind, say)
    if "profiles" in wanted:
        results["profiles"] = run_profiles(options, programs, bench, (training, validation))
    if wanted & {"meet", "bound"}:
        run_meet(options, (training, validation), wanted, results)
    if "rules" in wanted:
        results["rules"] = rules.run(training, validation,
                                     names=options.rules.split(";") if options.rules else None)
    return True


def run_checkins(options, programs, results):
    path = checkin_path(options) if "checkins" in options.part else None
    if path is None:
        return False
    results["checkins"] = checkins.run(programs, options.dir, path, say, options.rows)
    return True


def parse_arguments():
    parser = argparse.ArgumentParser(description="Evaluate contexts on real data.")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data",
                        help="directory of ujiindoorloc/ and foursquare-nyc/")
    parser.add_argument("--own", type=lambda text: pathlib.Path(text).expanduser(),
                        help="directory of one's own training.tsv.gz (what is left) and validation.tsv.gz "
                             "(who asks): only who meets whom there")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("eval-results"),
                        help="where results go, and daemons keep their data meanwhile")
    parser.add_argument("--part", action="append", choices=PARTS,
                        help="only this one; may be given again")
    parser.add_argument("--profiles", default=PROFILES, help="of matrix (default: %(default)s)")
    parser.add_argument("--mixed", default=MIXED,
                        help="of mixed contexts, separated by semicolons (default: %(default)s)")
    parser.add_argument("--candidates", default=";".join(profiles.CANDIDATES),
                        help="of profiles; separated by semicolons, all compared with the first one "
                             "(default: %(default)s)")
    parser.add_argument("--rules", help="names of rules, separated by semicolons")
    parser.add_argument("--rows", type=int, help="take only so many rows that are stored")
    parser.add_argument("--queries", type=int, help="take only so many rows that ask")
    parser.add_argument("--seed", type=int, default=meet.SEED,
                        help="of the pairs, positions and places that are drawn (default: %(default)s)")
    parser.add_argument("--hearsayd", default=ROOT / "build" / "daemon" / "hearsayd")
    parser.add_argument("--hearsay", default=ROOT / "build" / "client" / "hearsay")
    parser.add_argument("--bench", type=pathlib.Path,
                        default=ROOT / "build" / "tests" / "bench" / "hearsay-bench")
    options = parser.parse_args()
    options.part = options.part or PARTS
    meet.SEED = options.seed
    return options


def main():
    options = parse_arguments()
    options.dir.mkdir(parents=True, exist_ok=True)
    if options.own:
        return run_own(options)
    programs = (options.hearsayd, options.hearsay)
    results = {}
    try:
        ran = [run_wifi(options, programs, results), run_checkins(options, programs, results)]
    except (matrix.Problem, daemon.Failed) as problem:
        print(f"run.py: {problem}", file=sys.stderr)
        return 1
    if "nearness" in options.part:
        results["nearness"] = nearness.run(min(options.rows or PAIRS, PAIRS))
    elif not any(ran):
        return SKIPPED
    (options.dir / "results.json").write_text(json.dumps(results, indent=1) + "\n",
                                              encoding="utf-8")
    text = tables.of_all(results)
    (options.dir / "tables.md").write_text(text, encoding="utf-8")
    print(text)
    plots.draw(options.dir, results, say)
    missed = None
    if not options.rows and not options.queries:
        missed = goal_missed(results.get("matrix", [])) or bound_missed(results.get("bound"))
    if missed:
        print(f"run.py: {missed}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
