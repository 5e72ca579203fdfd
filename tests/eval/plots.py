# SPDX-License-Identifier: Apache-2.0
"""The evaluation's figures as pictures, by gnuplot; skipped, and said so, where it is not there."""

import shutil
import subprocess

HEAD = """set terminal svg size 720,420 font "sans-serif,13" background "#ffffff"
set grid
set key below
"""


def gnuplot(path, script):
    subprocess.run(["gnuplot"], input=f"{HEAD}set output '{path}'\n{script}", text=True, check=True,
                   timeout=60)


def block(name, rows):
    return f"${name} << END\n" + "".join(" ".join(map(str, row)) + "\n" for row in rows) + "END\n"


def draw_floors(path, figures):
    """Floors right, k = 1, against bits; a line for each number of hashes, plain and graded."""
    script, lines = "", []
    for contexts in ("plain", "graded"):
        for hashes in (1, 2, 3, 4):
            rows = [(row["bytes"] * 8, row["bits"]["1"]["floor"]) for row in figures
                    if row["contexts"] == contexts and row["profile"].endswith(f"/{hashes}")]
            if rows:
                name = f"{contexts}{hashes}"
                script += block(name, rows)
                lines.append(f"${name} using 1:2 with linespoints lc {hashes} dt "
                             f"{1 if contexts == 'graded' else 2} title '{contexts}, d = {hashes}'")
        exact = [row["bits"]["1"]["floor"] for row in figures
                 if row["contexts"] == contexts and row["profile"] == "exact sets"]
        if exact:
            lines.append(f"{exact[0]} with lines lc 'black' dt "
                         f"{1 if contexts == 'graded' else 2} title '{contexts}, exact sets'")
    gnuplot(path, script + "set logscale x 2\nset xtics (256, 512, 1024, 2048)\nset xrange [240:2200]\n"
            "set xlabel 'bits of a filter'\nset ylabel 'floors right, k = 1, per cent'\n"
            f"plot {', '.join(lines)}\n")


def draw_rules(path, figures):
    """Floors right against labels a context, for each rule of levels."""
    script = block("training", [(row["labels"], row["training"]["1"]["floor"]) for row in figures])
    script += block("validation", [(row["labels"], row["validation"]["1"]["floor"])
                                   for row in figures])
    ours = [row for row in figures if "builder" in row["rule"]]
    script += block("ours", [(row["labels"], row[part]["1"]["floor"]) for row in ours
                             for part in ("training", "validation")])
    gnuplot(path, script + "set xlabel 'labels a context'\n"
            "set ylabel 'floors right, k = 1, per cent'\n"
            "plot $training using 1:2 with points pt 7 title 'other people''s rows', "
            "$validation using 1:2 with points pt 5 title 'validation', "
            "$ours using 1:2 with points pt 6 ps 2.5 lc 'black' title 'the builder''s rule'\n")


def draw_meet(path, figures, least):
    """Kinds of pairs by phi and by Jaccard: near ones, and the most found of all others."""
    near = figures["pairs"].get("near", {})
    others = [kinds for group, kinds in figures["pairs"].items() if group not in ("near", "disjoint")]
    rows = []
    for at, (kind, row) in enumerate(near.items()):
        most = max((kinds[kind]["phi"]["mean"] for kinds in others if kind in kinds), default=0)
        rows.append((at, f'"{kind}"', row["phi"]["mean"], row["jaccard"], most))
    script = block("kinds", rows)
    gnuplot(path, script + f"set terminal svg size 720,{180 + 22 * len(rows)} font 'sans-serif,13' "
            f"background '#ffffff'\nset output '{path}'\n"
            f"set key below vertical maxcols 1\nset xrange [-2:102]\n"
            f"set yrange [{len(rows)}:-1]\nset xlabel 'per cent within the bound'\n"
            f"set arrow from {least},-1 to {least},{len(rows)} nohead dt 2\n"
            "plot $kinds using 3:1:ytic(2) with points pt 7 title 'near, by phi', "
            "$kinds using 4:1 with points pt 6 title 'near, by Jaccard', "
            "$kinds using 5:1 with points pt 2 title 'not near, by phi'\n")


def draw(directory, results, say):
    if not shutil.which("gnuplot"):
        say("SKIPPED: plots: there is no gnuplot")
        return
    if "matrix" in results:
        draw_floors(directory / "evaluation-floors.svg", results["matrix"])
    if "meet" in results:
        draw_meet(directory / "evaluation-meet.svg", results["meet"], 97)
    if "rules" in results:
        draw_rules(directory / "evaluation-rules.svg", results["rules"])
