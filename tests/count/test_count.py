# SPDX-License-Identifier: Apache-2.0
"""count.py with a valgrind that writes what the test plants: growth fails and names functions, a drop
passes and says what to do, and another build is skipped with a sentence."""
import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "count"), str(ROOT / "scripts")]
import count  # noqa: E402
import count_tests  # noqa: E402

PROGRAM = """#!{python}
import sys
if sys.argv[1] == "about":
    print("compiler gcc 12\\nprocessor x86-64\\nflags optimization=3\\nmeasures 1")
    print("work deposit\\nwork query-wifi")
else:
    print("units 10\\nbytes_written 5000\\nbytes_read 70000\\ncomparisons 300")
"""

# Writes the costs of the file `costs` beside it, in callgrind's format.
VALGRIND = """#!{python}
import json, os, subprocess, sys
output = next(a.split("=", 1)[1] for a in sys.argv if a.startswith("--callgrind-out-file="))
costs = json.load(open(os.path.join(os.path.dirname(sys.argv[0]), "costs")))
with open(output, "w") as file:
    file.write("events: Ir\\nob=(1) /build/hearsay-count\\n")
    for i, (name, cost) in enumerate(costs.items()):
        file.write(f"fn=({{i + 1}}) {{name}}\\n0 {{cost}}\\n")
sys.exit(subprocess.call([a for a in sys.argv[1:] if not a.startswith("--")]))
"""

# Of ten units: 10,000 instructions a unit.
COSTS = {"walk": 40000, "scan": 30000, "offer": 10000, "encode": 8000, "decode": 6000, "copy": 4000,
         "wipe": 2000}


class Place:
    """A directory with the fakes and a file of counts."""

    def __init__(self, path, monkeypatch, capsys):
        self.path, self.monkeypatch, self.capsys = path, monkeypatch, capsys
        self.counts = path / "counts.json"
        for name, text in (("hearsay-count", PROGRAM), ("valgrind", VALGRIND)):
            (path / name).write_text(text.format(python=sys.executable))
            (path / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(path))  # no strace
        monkeypatch.setattr(count, "DATA", path / "no data")
        monkeypatch.setattr(count, "has_avx2", lambda: True)
        monkeypatch.setattr(count, "read_system", lambda: "debian 12")

    def run(self, costs, *arguments):
        """(exit status, output)"""
        (self.path / "costs").write_text(json.dumps(costs))
        self.monkeypatch.setattr(sys, "argv", [
            "count.py", "--program", str(self.path / "hearsay-count"), "--hearsayd", "none",
            "--counts", str(self.counts), *arguments])
        status = count.main()
        return status, self.capsys.readouterr().out

    def alter(self, **values):
        self.counts.write_text(json.dumps({**json.loads(self.counts.read_text()), **values}))


@pytest.fixture
def place(tmp_path, monkeypatch, capsys):
    """With the counts of COSTS in the file."""
    made = Place(tmp_path, monkeypatch, capsys)
    assert made.run(COSTS, "--update")[0] == 0
    return made


def test_equal_counts_pass(place):
    status, output = place.run(COSTS)
    assert status == 0
    assert "5 passed, 0 failed, 3 skipped" in output
    assert max(map(len, output.split("SKIPPED")[0].splitlines())) <= 80


def test_growth_within_the_tolerance_passes(place):
    assert place.run({**COSTS, "walk": 41900})[0] == 0


def test_growth_fails_and_names_the_five_functions_that_grew_most(place):
    grown = {name: cost + 100 * (i + 1) for i, (name, cost) in enumerate(COSTS.items())}
    status, output = place.run({**grown, "scan": 33000})
    assert status == 1
    assert "deposit avx2: instructions grew by more than 2 %" in output
    assert "scan: 3,300, was 3,000" in output
    named = output.split("most in\n")[1].split("\n\n")[0].splitlines()
    assert [line.split(":")[0].strip() for line in named] == ["scan", "wipe", "copy", "decode", "encode"]
    assert "3 passed, 2 failed, 3 skipped" in output  # both levels; bytes and comparisons are as before


def test_a_stored_count_of_three_per_cent_less_fails(place):
    """The other way round: the file has less than what is counted."""
    counts = json.loads(place.counts.read_text())
    counts["instructions"]["deposit avx2"]["count"] *= 0.97
    counts["instructions"]["deposit avx2"]["parts"]["offer"] -= 300
    place.counts.write_text(json.dumps(counts))
    status, output = place.run(COSTS)
    assert status == 1
    assert "most in\n  offer: 1,000, was 700" in output


def test_a_function_that_is_new_is_named(place):
    status, output = place.run({**COSTS, "lock": 5000})
    assert status == 1
    assert "most in\n  lock: 500, was at most 200" in output


def test_a_drop_passes_and_says_take_it_over(place):
    status, output = place.run({**COSTS, "walk": 20000})
    assert status == 0
    assert "take it over with `make count-update`" in output


@pytest.mark.parametrize("kind", count.SAID)
def test_more_of_what_a_work_says_fails(place, kind):
    counts = json.loads(place.counts.read_text())
    counts[kind]["deposit"]["count"] *= 0.97
    place.counts.write_text(json.dumps(counts))
    status, output = place.run(COSTS)
    assert status == 1
    assert f"deposit: {kind} grew by more than 2 %" in output


def test_a_file_without_a_kind_is_updated(place):
    """The kind is new, so the file has neither its rows nor its tolerance."""
    counts = json.loads(place.counts.read_text())
    del counts["comparisons"], counts["tolerance_percent"]["comparisons"]
    place.counts.write_text(json.dumps(counts))
    assert place.run(COSTS, "--update")[0] == 0
    assert json.loads(place.counts.read_text())["comparisons"]["deposit"]["count"] == 30


def test_a_stored_count_that_nothing_counts_fails(place):
    """A gate may not go without a word."""
    counts = json.loads(place.counts.read_text())
    counts["instructions"]["page avx2"] = counts["instructions"]["deposit avx2"]
    place.counts.write_text(json.dumps(counts))
    status, output = place.run(COSTS)
    assert status == 1
    assert "instructions of page avx2: docs/counts.json has it, and nothing counted it" in output


@pytest.mark.parametrize("key, other", [("compiler", "gcc 14"), ("flags", "optimization=2"),
                                        ("system", "debian 13")])
def test_counts_of_another_build_are_skipped_with_a_sentence(place, key, other):
    place.alter(**{key: other})
    status, output = place.run({**COSTS, "walk": 80000})
    assert status == 77
    assert f"SKIPPED [1] the counts hold for the {key} \"{other}\", and here it is" in output


def test_a_machine_without_valgrind_is_skipped_with_a_sentence(place):
    (place.path / "valgrind").unlink()
    status, output = place.run(COSTS)
    assert status == 77
    assert "SKIPPED [1] valgrind is not installed" in output


def test_a_work_without_a_stored_count_fails(place):
    place.alter(instructions={})
    status, output = place.run(COSTS)
    assert status == 1
    assert "deposit avx2: there are no instructions to compare with; `make count-update`" in output


def test_an_update_is_stable_and_keeps_what_cannot_be_counted_here(place):
    counts = json.loads(place.counts.read_text())
    counts["instructions"]["query-wifi avx2"] = counts["instructions"]["deposit avx2"]
    place.counts.write_text(json.dumps(counts))
    place.run(COSTS, "--update")
    first = place.counts.read_text()
    place.run({**COSTS, "walk": 40100}, "--update")  # 0.1 % more is noise
    assert place.counts.read_text() == first
    assert list(json.loads(first)["instructions"]) == ["deposit avx2", "deposit scalar", "query-wifi avx2"]
    place.alter(compiler="gcc 14")  # what was counted with another compiler goes
    place.run(COSTS, "--update")
    assert list(json.loads(place.counts.read_text())["instructions"]) == ["deposit avx2", "deposit scalar"]


def test_an_update_takes_growth_over(place):
    grown = {**COSTS, "walk": 60000}
    assert place.run(grown)[0] == 1
    assert place.run(grown, "--update")[0] == 0
    assert place.run(grown)[0] == 0


def test_a_program_that_fails_is_a_failure(place):
    (place.path / "valgrind").write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no memory')\n")
    status, output = place.run(COSTS)
    assert status == 1
    assert "no memory" in output


def test_ci_counts_each_row(place):
    """scripts/count_tests.py reads what count.py prints last."""
    _, output = place.run(COSTS)
    passed, failed, skipped, reasons = count_tests.count({"stdout": output, "result": "OK"})
    assert (passed, failed, skipped) == (5, 0, 3)
    assert "query-wifi: the data UJIIndoorLoc is not in" in reasons[0]
    assert reasons[1:] == [f"system calls of a {kind}: strace is not installed"
                           for kind in ("query", "deposit")]
    _, output = place.run({**COSTS, "walk": 80000})
    assert count_tests.count({"stdout": output, "result": "FAIL"})[:3] == (3, 2, 3)


def test_costs_of_functions_are_read():
    """Calls do not count; copies and recursion of a function are one; addresses have no name."""
    text = """events: Ir
ob=(1) /build/hearsay-count
fl=(1) ../core/tree/open.c
fn=(1) walk_open
0 100
cob=(2) /usr/lib/libsqlite3.so.0.8.6
cfn=(2) sqlite3_step
calls=3 0
0 999999
0 20
fn=(3) put_message'2
0 7
fn=(4) put_message.part.0
0 5
ob=(2)
fn=(2)
0 50
fn=(5) 0x00000000000ff650
0 4
fn=(6) 0x00000000000ff651
0 2
ob=(1)
fn=(1)
0 1
totals: 189
"""
    assert count.read_callgrind(text, "hearsay-count") == {
        "walk_open": 121, "put_message": 12, "sqlite3_step (libsqlite3)": 50,
        "other functions (libsqlite3)": 6}


def test_calls_are_read():
    text = """% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000300           1       300           read
 40.00    0.000200           1       200        10 epoll_ctl
------ ----------- ----------- --------- --------- ----------------
100.00    0.000500           1       500        10 total
"""
    assert count.read_strace(text) == {"read": 300, "epoll_ctl": 200}


def test_the_counts_of_the_repository():
    """Each work has its row for each level, in a file that one can read."""
    text = (ROOT / "docs" / "counts.json").read_text()
    counts = json.loads(text)
    assert set(counts["instructions"]) == {f"{work} {level}" for work in count.UNITS
                                           for level in count.levels_of(work)}
    assert set(counts["bytes written"]) == {"deposit"}
    queries = {work for work, unit in count.UNITS.items() if unit == "query"}
    assert set(counts["bytes read"]) == set(counts["comparisons"]) == queries
    assert set(counts["system calls"]) == set(count.CALLS)
    assert counts["tolerance_percent"] == count.TOLERANCE
    assert len(text) < 10000
