# SPDX-License-Identifier: Apache-2.0
"""The evaluation's figures as tables in Markdown."""

import matrix


def table(heading, rows):
    lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def of_rules(rules):
    heading = ["labels of a sighting", "labels a context", "fill", "other people's rows: floor, k = 1",
               "k = 13", "validation: floor, k = 1", "k = 13"]
    rows = [[f"`{row['rule']}`", f"{row['labels']:.1f}", f"{row['fill']:.1f} %",
             *(f"{row[part][k]['floor']:.2f}" for part in ("training", "validation")
               for k in ("1", "13"))] for row in rules]
    return f"Rules of levels, {rules[0]['profile']}; per cent of floors right\n\n" + table(heading, rows)


def of_matrix(figures):
    heading = ["contexts", "profile", "bytes", "fill", "building, k = 1", "floor, k = 1",
               "floor, k = 13", "metres, k = 1", "metres, k = 13", "comparisons, k = 1", "k = 13",
               "index bytes, k = 13"]
    rows = []
    for row in figures:
        bits = row["bits"]
        rows.append([row["contexts"], row["profile"], str(row["bytes"]),
                     "-" if row["fill"] is None else f"{row['fill']:.1f} %",
                     f"{bits['1']['building']:.2f}", f"{bits['1']['floor']:.2f}",
                     f"{bits['13']['floor']:.2f}", f"{bits['1']['metres']:.1f}",
                     f"{bits['13']['metres']:.1f}", *(f"{row['comparisons'][k]:,.0f}" for k in ("1", "13")),
                     "-" if row["index_bytes"] is None else f"{row['index_bytes']:.1f} %"])
    return "Places found, by the distance of bits; per cent right\n\n" + table(heading, rows)


def of_metrics(figures):
    heading = ["contexts", "profile", *(f"floor, k = {k}: bits" for k in (1, 13)),
               *(f"floor, k = {k}: estimated" for k in (1, 13))]
    rows = [[row["contexts"], row["profile"],
             *(f"{row[metric][k]['floor']:.2f}" for metric in ("bits", "estimated")
               for k in ("1", "13"))] for row in figures if row["estimated"]]
    return "Estimated distance against that of bits; per cent of floors right\n\n" + table(heading, rows)


def of_distances(figures):
    heading = ["contexts", "profile", "nearest message: median distance", "90 % within",
               "beyond 0.8"]
    rows = [[row["contexts"], row["profile"], f"{row['nearest']['median']:.2f}",
             f"{row['nearest']['p90']:.2f}", f"{row['nearest']['beyond']:.1f} %"]
            for row in figures if row["nearest"]]
    return "How far the nearest message is\n\n" + table(heading, rows)


def of_neighbours(figures):
    """How many neighbours are best."""
    heading = ["contexts", "profile", *(f"k = {k}" for k in matrix.KS)]
    rows = [[row["contexts"], row["profile"],
             *(f"{row['bits'][str(k)]['floor']:.2f}" for k in matrix.KS)] for row in figures]
    return "Floors right by the vote of k; per cent\n\n" + table(heading, rows)


def of_checkins(figures):
    ks = list(next(iter(figures["contexts"].values())))
    heading = ["what says the next category", *(f"k = {k}" for k in ks)]
    rows = [[f"nearest by {kind}", *(f"{hits[k]:.2f}" for k in ks)]
            for kind, hits in figures["contexts"].items()]
    rows += [[name, f"{rate:.2f}", *([""] * (len(ks) - 1))]
             for name, rate in figures["frequent"].items()]
    return (f"Check-ins: {figures['left']} messages, {figures['asked']} questions, "
            f"{figures['profile']}; per cent right\n\n" + table(heading, rows))


def of_nearness(figures):
    heading = ["metres apart", "similarity: own cells", "nothing in common", "similarity: neighbours too",
               "nothing in common"]
    rows = [[str(row["metres"]), *(text for kind in ("alone", "neighbours") for text in
                                   (f"{row[kind]['similarity']:.3f}", f"{row[kind]['nothing']:.1f} %"))]
            for row in figures]
    return "Labels of positions, Jaccard similarity of the sets\n\n" + table(heading, rows)


def of_all(results):
    parts = []
    if "wifi" in results:
        wifi = results["wifi"]
        parts.append(f"{wifi['stored']} rows stored ({wifi['deaf']} heard nothing), "
                     f"{wifi['queries']} queries; labels a row: {wifi['labels']['plain']:.1f} plain, "
                     f"{wifi['labels']['graded']:.1f} graded, {wifi['labels']['mixed']:.1f} mixed\n")
    if "matrix" in results:
        parts += [of_matrix(results["matrix"]), of_metrics(results["matrix"]),
                  of_neighbours(results["matrix"]), of_distances(results["matrix"])]
    if "rules" in results:
        parts.append(of_rules(results["rules"]))
    if "checkins" in results:
        parts.append(of_checkins(results["checkins"]))
    if "nearness" in results:
        parts.append(of_nearness(results["nearness"]))
    return "\n".join(parts)
