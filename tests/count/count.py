#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts instructions, system calls and bytes of fixed work, and compares them with docs/counts.json.

Instructions: hearsay-count does one work (a query, a deposit, ...) under callgrind, in one process and
one thread, with fixed seeds and a clock that stands still. Bytes: what SQLite writes for a deposit,
from the same run. System calls: strace counts those of a real hearsayd with one client over loopback;
the difference of a short and a long run leaves out the start and the end.

The counts do not depend on the load of the machine or on its model: valgrind shows every program
the same processor with AVX2. They depend on the compiler, its flags and the libraries, so docs/counts.json
names these, and with others the counts are skipped.

usage: count.py --program hearsay-count --hearsayd hearsayd --counts FILE
                [--update] [--runs N] [--work NAME]...

HEARSAY_DATA in the environment: a directory with ujiindoorloc/ (../shared/data), the real WiFi scans of
the works query-wifi and query-x5. The data is not in the repository; without it they are skipped.

Exit status: 0, also if something took less than before; 1 if something took more than its tolerance
allows; 77 if nothing could be counted.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
LEVELS = ("avx2", "scalar")
ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / os.environ.get("HEARSAY_DATA", "../shared/data") / "ujiindoorloc"
# What a work does once.
UNITS = {"query-campus": "query", "query-town": "query", "query-wifi": "query", "query-x5": "query",
         "query-dense": "query", "query-mixed": "query", "query-board": "query",
         "deposit": "deposit", "start": "start with 10,000", "page": "page", "summary": "summary"}
NEEDS_DATA = ("query-wifi", "query-x5")
# Works that are counted with the first level only, so that all takes not much longer than a minute.
FIRST_LEVEL_ONLY = ("query-x5", "query-dense", "query-mixed", "query-board")
# What a work prints of itself, counted with the first level only.
SAID = {"bytes written": "bytes_written", "bytes read": "bytes_read", "comparisons": "comparisons"}
# Of hearsay-count, to the port of a hearsayd.
CALLS = {"query": "ask-query", "deposit": "ask-deposit"}
CALLS_SHORT, CALLS_LONG = 100, 1100
CALLS_ROUNDS = 3
# A deposit goes to the writer's thread and back. How often the threads wait depends on the load.
CALLS_LEFT_OUT = {"query": (), "deposit": ("futex", "sched_yield", "epoll_wait", "epoll_ctl")}
TOLERANCE = {"instructions": 2.0, "bytes written": 2.0, "bytes read": 2.0, "comparisons": 2.0,
             "system calls": 5.0}
PARTS_KEPT = 10  # functions of a work, in the file
FUNCTIONS_TOLD = 5
STOP_S = 60


class Missing(Exception):
    """Something cannot be counted here, for this reason."""


class Broken(Exception):
    """A program that was started has failed."""


# --- callgrind ----------------------------------------------------------------------------------------


def name_function(function, library, program):
    """A name that stays the same when the program is built again: without the numbers of copies that the
    compiler made, and without addresses, which stand for functions whose names a library does not have."""
    function = re.sub(r"'\d+$", "", function)
    function = re.sub(r"\.(part|constprop|isra|cold|lto_priv)(\.\d+)*", "", function)
    if os.path.basename(library) == program:
        return function
    library = re.sub(r"\.so[.\d]*$", "", os.path.basename(library))
    return f"other functions ({library})" if function.startswith("0x") else f"{function} ({library})"


def read_callgrind(text, program):
    """Instructions of each function itself, without those that it calls.

    The format: `ob=` and `fn=` name what the following lines of costs are about, and a name in full
    comes once with its number in parentheses. The line behind `calls=` has the cost of a call."""
    names = {"ob": {}, "fn": {}}
    here = {"ob": "", "fn": ""}
    is_call = False
    costs = collections.Counter()
    for line in text.splitlines():
        named = re.match(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?$", line)
        if is_call:
            is_call = False
        elif named:
            table = names[named[2]]
            if named[4]:
                table[named[3]] = named[4]
            if not named[1]:
                here[named[2]] = table.get(named[3], "")
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[+*-]?\d* ?\d+$", line) and here["fn"]:
            costs[name_function(here["fn"], here["ob"], program)] += int(line.split()[-1])
    return costs


def run_work(options, level, work):
    """Runs a work under callgrind. Instructions a unit, by function; what the work says of itself a unit, by the
    kinds of SAID."""
    with tempfile.TemporaryDirectory(prefix="hearsay-count-") as directory:
        output = os.path.join(directory, "callgrind.out")
        place = os.path.join(directory, "data")
        os.mkdir(place)
        # A small environment, because the program's stack begins behind it.
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "HEARSAY_CPU": level}
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--dump-line=no",
                   f"--callgrind-out-file={output}", options.program, work, place]
        if work in NEEDS_DATA:
            command.append(str(DATA))
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise Broken(f"{work} under valgrind ended with {run.returncode}:\n{run.stdout}{run.stderr}")
        said = dict(line.split(" ", 1) for line in run.stdout.splitlines())
        units = int(said["units"])
        text = pathlib.Path(output).read_text(encoding="utf-8", errors="replace")
    costs = read_callgrind(text, os.path.basename(options.program))
    if not costs:
        raise Broken(f"callgrind has counted nothing of {work}")
    amounts = {kind: int(said[key]) / units for kind, key in SAID.items() if key in said}
    return {name: cost / units for name, cost in costs.items()}, amounts


# --- system calls -------------------------------------------------------------------------------------


def read_strace(text):
    """Calls by name, from the table of strace -c."""
    return {line.split()[-1]: int(line.split()[3]) for line in text.splitlines()
            if re.match(r" *[\d.]+ +[\d.]+ +\d+ +\d+ ", line) and not line.endswith("total")}


def wait_until_ready(process):
    """The port of a hearsayd, when it says that it is ready."""
    said = ""
    for line in process.stderr:
        said += line
        if "ready: " in line:
            return int(re.search(r"listening on 127\.0\.0\.1:(\d+)", said)[1])
    if "ptrace" in said.lower():
        raise Missing("strace may not trace a process here")
    raise Broken(f"hearsayd under strace has ended:\n{said}")


def stop_traced(process):
    """Ends the daemon, and strace with it. A strace that is killed would leave the daemon running."""
    try:
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    except OSError:  # strace has ended by itself
        children = []
    for sent in (signal.SIGTERM, signal.SIGKILL):
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), sent)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
            return


def run_traced(options, kind, count):
    """System calls by name of a hearsayd that gets `count` requests, one after another."""
    with tempfile.TemporaryDirectory(prefix="hearsay-count-") as directory:
        config, table = (os.path.join(directory, name) for name in ("conf", "table"))
        pathlib.Path(config).write_text("[daemon]\nlisten = 127.0.0.1:0\n", encoding="utf-8")
        process = subprocess.Popen(
            ["strace", "-f", "-c", "-o", table, options.hearsayd, "--config", config,
             "--data", os.path.join(directory, "data")], stderr=subprocess.PIPE, text=True)
        try:
            port = wait_until_ready(process)
            client = subprocess.run([options.program, CALLS[kind], str(port), str(count)],
                                    capture_output=True, text=True, check=False)
            if client.returncode != 0:
                raise Broken(client.stderr)
        finally:
            stop_traced(process)
            process.stderr.close()
        return read_strace(pathlib.Path(table).read_text(encoding="utf-8"))


def count_once(options, kind):
    """System calls a request, by name."""
    short = run_traced(options, kind, CALLS_SHORT)
    long = run_traced(options, kind, CALLS_LONG)
    if not short or not long:
        raise Broken(f"strace has counted nothing for a {kind}")
    calls = {name: (count - short.get(name, 0)) / (CALLS_LONG - CALLS_SHORT)
             for name, count in long.items()}
    return {name: count for name, count in calls.items()
            if count >= 0.01 and name not in CALLS_LEFT_OUT[kind]}


def count_calls(options, kind):
    """The largest of some counts: a daemon that gets little of the processor sometimes needs fewer calls."""
    if shutil.which("strace") is None:
        raise Missing("strace is not installed")
    rounds = [count_once(options, kind) for _ in range(CALLS_ROUNDS)]
    return max(rounds, key=lambda calls: sum(calls.values()))


# --- what is here, and what the file holds for --------------------------------------------------------


def read_about(options):
    """What hearsay-count says of itself: a dictionary, with a list `works`."""
    run = subprocess.run([options.program, "about"], capture_output=True, text=True, check=True)
    about = {"works": []}
    for line in run.stdout.splitlines():
        key, value = line.split(" ", 1)
        if key == "work":
            about["works"].append(value)
        else:
            about[key] = value
    return about


def read_system():
    """Such as "debian 12": the libraries are the system's, and their instructions count, too."""
    try:
        text = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return "unknown"
    said = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', text, re.MULTILINE))
    return f"{said.get('ID', 'unknown')} {said.get('VERSION_ID', '')}".strip()


def has_avx2():
    return re.search(r"^flags\b.* avx2\b", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"),
                     re.MULTILINE) is not None


def require_here(about, stored):
    """Raises Missing if this build, or this machine, cannot be compared with the file."""
    if shutil.which("valgrind") is None:
        raise Missing("valgrind is not installed")
    if about["processor"] != "x86-64":
        raise Missing("the counts are for x86-64")
    if about["measures"] != "1":
        raise Missing("hearsay-count was built without <valgrind/callgrind.h>: remove it, and build again")
    if not has_avx2():
        raise Missing("this processor has no AVX2, which libc's functions would use")
    for key, here in (("compiler", about["compiler"]), ("flags", about["flags"]),
                      ("system", read_system())):
        if stored and stored[key] != here:
            raise Missing(f"the counts hold for the {key} \"{stored[key]}\", and here it is \"{here}\"")


# --- comparing ----------------------------------------------------------------------------------------


# kind: a key of TOLERANCE; name: the work, with the CPU level; parts: functions or system calls.
Row = collections.namedtuple("Row", "kind name unit count parts")


def tidy(value):
    """As the file has it."""
    return round(value) if value >= 100 else round(value, 2)


def show(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def judge(row, stored, tolerance):
    """("ok", "more", "less", or "new" without a stored count; the change in per cent)."""
    if stored is None:
        return "new", 0.0
    change = 100.0 * (row.count - stored["count"]) / stored["count"]
    return ("more" if change > tolerance else "less" if change < -tolerance else "ok"), change


def tell_growth(row, stored, tolerance):
    """Names the functions, or system calls, that grew most. The file has only the largest of before."""
    before = stored["parts"]
    least = min(before.values(), default=0)
    grown = [(count - before.get(name, least), name) for name, count in row.parts.items()]
    print(f"\n{row.name}: {row.kind} grew by more than {tolerance:g} %; most in")
    for growth, name in sorted(grown, reverse=True)[:FUNCTIONS_TOLD]:
        if growth * 1000 >= stored["count"]:  # less is noise
            was = show(before[name]) if name in before else f"at most {show(least)}"
            print(f"  {name}: {show(row.parts[name])}, was {was}")


def compare_rows(rows, counts):
    """Prints a table. The rows that grew, with what the file has of them and the tolerance."""
    failed = []
    kind = None
    for row in rows:
        tolerance = {**TOLERANCE, **counts.get("tolerance_percent", {})}[row.kind]
        stored = counts.get(row.kind, {}).get(row.name)
        verdict, change = judge(row, stored, tolerance)
        if row.kind != kind:
            kind = row.kind
            print(f"{kind:22}{'for each':20}{'stored':>12}{'now':>12}{'change':>10}")
        was = show(stored["count"]) if stored else "-"
        print(f"  {row.name:20}{row.unit:20}{was:>12}{show(row.count):>12}{change:>+8.2f} %")
        if verdict in ("more", "new"):
            failed.append((row, stored, tolerance))
        elif verdict == "less":
            print("    This takes less than before: take it over with `make count-update`.")
    return failed


def lost_rows(rows, counts, skips):
    """The rows of the file that were neither counted nor skipped: a gate that has gone without a word."""
    counted = {(row.kind, row.name) for row in rows}
    return [f"{kind} of {name}" for kind in TOLERANCE for name in counts.get(kind, {})
            if (kind, name) not in counted
            and not any(skip.startswith((f"{name.split()[0]}:", f"{kind} of a {name}:")) for skip in skips)]


def tell_failed(failed):
    for row, stored, tolerance in failed:
        if stored is None:
            print(f"\n{row.name}: there are no {row.kind} to compare with; `make count-update` adds them")
        else:
            tell_growth(row, stored, tolerance)
    print("\nIf that is meant, `make count-update` takes it over; the commit says why.")


def write_counts(path, rows, stored, about):
    """Writes the file anew. Rows that were not counted, or differ by less than a tenth of the tolerance,
    stay if they hold for the same build: so a commit changes the rows that it is about."""
    here = {"compiler": about["compiler"], "flags": about["flags"], "system": read_system()}
    is_same = all(stored.get(key) == value for key, value in here.items())
    counts = {
        "about": ["Instructions, bytes and system calls of fixed work: `make count` compares them,",
                  "`make count-update` writes this file. docs/notes/counts.md says how to read it."],
        **here, "tolerance_percent": TOLERANCE}
    for kind in TOLERANCE:
        counts[kind] = dict(stored.get(kind, {})) if is_same else {}
        for row in rows:
            change = abs(judge(row, counts[kind].get(row.name), 0.0)[1])
            if row.kind == kind and (row.name not in counts[kind] or change * 10 >= TOLERANCE[kind]):
                parts = sorted(row.parts.items(), key=lambda part: (-part[1], part[0]))
                counts[kind][row.name] = {
                    "for each": row.unit, "count": tidy(row.count),
                    "parts": {name: tidy(count) for name, count in parts[:PARTS_KEPT]}}
        counts[kind] = dict(sorted(counts[kind].items()))
    pathlib.Path(path).write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    print(f"{path} is written")


# --- counting -----------------------------------------------------------------------------------------


def plan(options, about, skips):
    """The works to count, with their levels."""
    works = [work for work in about["works"] if not options.work or work in options.work]
    for work in [work for work in works if work in NEEDS_DATA and not has_data()]:
        skips.append(f"{work}: the data UJIIndoorLoc is not in {os.path.relpath(DATA, ROOT)}")
        works.remove(work)
    # The longest first, so that the processors end together.
    works.sort(key=lambda work: work != "query-x5")
    return [(work, level) for work in works for level in levels_of(work)]


def levels_of(work):
    return LEVELS[:1] if work in FIRST_LEVEL_ONLY else LEVELS


def has_data():
    return all((DATA / name).exists() for name in ("training.tsv.gz", "validation.tsv.gz"))


def count_all(options, about, skips):
    """All rows, in the order of the table."""
    tasks = plan(options, about, skips) * options.runs
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda task: run_work(options, task[1], task[0]), tasks))
    runs = collections.defaultdict(list)
    said = {}
    for (work, level), (costs, amounts) in zip(tasks, results):
        runs[work, level].append(costs)
        if level == LEVELS[0]:
            said[work] = amounts
    rows = [Row("instructions", f"{work} {level}", UNITS[work], sum(runs[work, level][0].values()),
                runs[work, level][0]) for work in UNITS for level in LEVELS if (work, level) in runs]
    rows += [Row(kind, work, UNITS[work], said[work][kind], {}) for kind in SAID for work in UNITS
             if kind in said.get(work, {})]
    if options.runs > 1:
        tell_spread(runs)
    return rows + count_all_calls(options, skips)


def tell_spread(runs):
    """How much the runs of a work differ."""
    spreads = []
    for (work, level), costs in runs.items():
        sums = [sum(cost.values()) for cost in costs]
        spreads.append((100.0 * (max(sums) - min(sums)) / min(sums), f"{work} {level}"))
    for spread, name in sorted(spreads, reverse=True):
        print(f"{name}: {len(costs)} runs differ by {spread:.3f} %")


def count_all_calls(options, skips):
    """One after another, because the threads of hearsayd meet more often on a machine without load."""
    rows = []
    for kind in CALLS:
        if options.work and f"calls-{kind}" not in options.work:
            continue
        try:
            calls = count_calls(options, kind)
            rows.append(Row("system calls", kind, kind, sum(calls.values()), calls))
        except Missing as missing:
            skips.append(f"system calls of a {kind}: {missing}")
    return rows


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", required=True, help="hearsay-count")
    parser.add_argument("--hearsayd", required=True)
    parser.add_argument("--counts", required=True, help="docs/counts.json")
    parser.add_argument("--update", action="store_true", help="write the file instead of comparing")
    parser.add_argument("--runs", type=int, default=1, help="how often each work runs; says how they differ")
    parser.add_argument("--work", action="append", choices=[*UNITS, *(f"calls-{kind}" for kind in CALLS)],
                        help="only this work; calls-...: system calls")
    return parser.parse_args()


def read_counts(options):
    try:
        return json.loads(pathlib.Path(options.counts).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}


def main():
    options = read_options()
    began = time.monotonic()
    counts = read_counts(options)
    skips = []
    passed = failed = 0
    try:
        about = read_about(options)
        require_here(about, {} if options.update else counts)
        rows = count_all(options, about, skips)
        grown = compare_rows(rows, counts)
        if options.update:
            write_counts(options.counts, rows, counts, about)
        elif grown:
            tell_failed(grown)
            failed = len(grown)
        passed = len(rows) - failed
        lost = [] if options.work or options.update else lost_rows(rows, counts, skips)
        for what in lost:
            print(f"{what}: docs/counts.json has it, and nothing counted it")
        failed += len(lost)
    except Missing as missing:
        skips.append(str(missing))
    except Broken as broken:
        print(broken)
        failed += 1
    for skip in skips:
        print(f"SKIPPED [1] {skip}")
    # As pytest says it, for scripts/count_tests.py.
    print(f"{passed} passed, {failed} failed, {len(skips)} skipped in {time.monotonic() - began:.2f}s")
    return 1 if failed else 0 if passed else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
