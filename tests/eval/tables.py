# SPDX-License-Identifier: Apache-2.0
"""The evaluation's figures as tables in Markdown."""

import bound
import matrix
import meet


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


def of_distances(figures):
    heading = ["contexts", "profile", "nearest message: median distance", "90 % within",
               f"beyond {matrix.FAR}"]
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


def interval(figure, sign=""):
    return f"{figure['mean']:{sign}.2f} ({figure['low']:{sign}.2f} to {figure['high']:{sign}.2f})"


def of_intervals(title, by_profile, first):
    """Shares of one group of questions; beside them the change against the first profile."""
    ks = list(next(iter(by_profile.values())))
    heading = ["profile", *(f"k = {k}" for k in ks), *(f"k = {k}, less {first}" for k in ks)]
    rows = [[profile, *(interval(by_k[k]) for k in ks),
             *(interval(by_k[k]["change"], "+") for k in ks)] for profile, by_k in by_profile.items()]
    return f"{title}; per cent right, 95 % interval\n\n" + table(heading, rows)


def of_contains(kind, by_profile):
    names = [name for name in next(iter(by_profile.values())) if name != "fill"]
    rows = [[profile, f"{row['fill']:.1f} %", *(f"{row[name]:.2f} %" for name in names)]
            for profile, row in by_profile.items()]
    return (f"{kind}: messages that seem to contain an absent label\n\n"
            + table(["profile", "fill", *names], rows))


def of_weights(figures):
    """For each shape of context, how often the reader's topic comes first."""
    parts = []
    places = ("near", "floor", "building")
    for shape in next(iter(figures["profiles"].values())):
        rows = [[profile, *(f"{shapes[shape][place][key]:.1f} %" for place in places
                            for key in ("shared", "plain"))]
                for profile, shapes in figures["profiles"].items()]
        heading = ["profile", *(f"{place}: {key}" for place in places
                                for key in ("reader's topic", "no such topic"))]
        parts.append(f"{shape}: a message comes before one of other topics left near the reader, "
                     f"{figures['trials']} trials\n\n" + table(heading, rows))
    return "\n".join(parts)


def of_index(name, by_profile, first):
    rows = [[profile, f"{row['us']:.1f} us", f"{row['to_first']:.2f}", f"{row['ratio']:.2f}",
             f"{row['bytes']:.1f} %"] for profile, row in by_profile.items()]
    return (f"Index, {name}, k = 13\n\n"
            + table(["profile", "time", f"time / {first}", "time / list", "bytes"], rows))


def of_nearest(kind, by_profile, bound):
    rows = [[profile, f"{row['fill']:.1f} %", f"{row['median']:.2f}", f"{row['p90']:.2f}",
             f"{row['beyond']:.1f} %"] for profile, row in by_profile.items()]
    return (f"{kind}: how far the nearest message is\n\n"
            + table(["profile", "fill", "median", "90 % within", f"beyond {bound}"], rows))


def of_profiles(figures):
    first = figures["first"]
    parts = [f"Profiles: {figures['resamples']} resamples, seed {figures['seed']}\n"]
    parts += [of_intervals(f"Floors: {name}", row, first) for name, row in figures["floors"].items()]
    parts += [of_nearest(kind, row, figures["bound"]) for kind, row in figures["nearest"].items()]
    if "checkins" in figures:
        parts.append(of_intervals("Check-ins: the next category", figures["checkins"], first))
    parts += [of_contains(kind, row) for kind, row in figures["contains"].items()]
    parts.append("Mixed contexts: of the 10 nearest messages that seem to contain the reader's topic, "
                 "per cent that have it\n\n"
                 + table(["profile", "right"], [[profile, f"{share:.1f} %"]
                                                for profile, share in figures["board"].items()]))
    if "metres" in figures:
        parts.append("Positions, a topic and the hour: metres, medians\n\n" + table(
            ["profile", "to the nearest message", "mean of the 10 nearest"],
            [[profile, f"{row['nearest']:.0f}", f"{row['ten']:.0f}"]
             for profile, row in figures["metres"].items()]))
    parts.append(of_weights(figures["topics"]))
    parts += [of_index(name, row, first) for name, row in figures.get("index", {}).items()]
    return "\n".join(parts)


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
    rows = [[str(row["metres"]), f"{row['near']:.1f} %", f"{row['nothing']:.1f} %"] for row in figures]
    return ("Labels of positions: pairs within the default bound by phi\n\n"
            + table(["metres apart", "near", "nothing in common"], rows))


def short(figure):
    return f"{figure['mean']:.1f} ({figure['low']:.1f} to {figure['high']:.1f})"


def of_pairs(figures):
    """A row for each kind, a column for each group; scans without a common access point have rows of their own."""
    groups = [group for group in figures["pairs"] if group != "disjoint"]
    names = list(dict.fromkeys(kind for group in groups for kind in figures["pairs"][group]))
    heading = ["message / query", *(f"{group}: {key}" for group in groups for key in ("phi", "Jaccard"))]
    rows = []
    for name in names:
        cells = [figures["pairs"][group].get(name) for group in groups]
        rows.append([name, *(text for cell in cells for text in (
            ("-", "-") if cell is None else (short(cell["phi"]), f"{cell['jaccard']:.1f}")))])
    apart = [[name, short(row["phi"]), f"{row['jaccard']:.1f}"] for name, row in figures["pairs"]["disjoint"].items()]
    return (f"Pairs within the bound {figures['bound']} by phi, and within {1 - meet.JACCARD} by Jaccard, "
            f"{figures['profile']}; per cent, 95 % interval\n\n" + table(heading, rows) + "\n"
            + table(["scans without a common access point", "phi", "Jaccard"], apart))


def of_own(figures):
    """The pairs with all three metrics for a terminal: a table for each group; the interval of phi is beyond column 60."""
    lines = ["Pairs within the bound of each metric, per cent", "", f"profile    {figures['profile']}",
             f"phi        within {figures['bound']}, the default", f"Jaccard    within {1 - meet.JACCARD}, before 0.2.0",
             f"estimated  within {1 - meet.ESTIMATED}, its own best bound"]
    for group, kinds in figures["pairs"].items():
        heading = "no access point in common" if group == "disjoint" else f"{group}: message / query"
        lines += ["", f"{heading:32} {'phi':>5} {'Jaccard':>8} {'estimated':>10}  phi, 95 %"]
        lines += [f"{kind:32} {row['phi']['mean']:5.1f} {row['jaccard']:8.1f} {row['estimated']:10.1f}  "
                  f"{row['phi']['low']:.1f} to {row['phi']['high']:.1f}" for kind, row in kinds.items()]
    return "\n".join(lines) + "\n"


def of_positions(figures):
    rows = [[f"{int(metres):,}", short(row["phi"]), f"{row['jaccard']:.1f}"]
            for metres, row in figures["positions"].items()]
    return ("Two positions within the bound; per cent, 95 % interval\n\n"
            + table(["metres between positions", "phi", "Jaccard"], rows))


def of_crowd(figures):
    rows = [[kind, *(short(row[key]) for key in ("own of all", "own of the newest", "found"))]
            for kind, row in figures["places"].items()]
    lines = figures["lines"]
    kinds = [kind for kind in next(iter(figures["heard"].values())) if kind not in ("added", "fill")]
    heard = [[str(count), *(f"{row[kind]['mean']:.1f}" for kind in kinds),
              f"{row['added']:.0f}", f"{row['fill']:.0f}"] for count, row in figures["heard"].items()]
    return "\n".join([
        f"{figures['count']:,} places of {figures['messages']} messages in one store; per cent, 95 % interval\n\n"
        + table(["readers ask with", "own place among all within the bound", "among the 20 newest", "found"], rows),
        "Two lines of here_map side by side\n\n"
        + table(["two lines, one scan", "per cent, 95 % interval"],
                [["the other line's messages within the bound", short(lines["within"])],
                 ["of two messages with the same scan, the own line's comes first", short(lines["first"])],
                 ["of the ten nearest of twenty, the own line's", short(lines["ten"])]]),
        "here of hearsay-scan, by its labels: per cent within the bound\n\n"
        + table(["labels of here", *kinds, "labels added to a scan", "most bits set"], heard)])


def of_mixed(figures):
    alone = figures["alone"]
    rows = [[f"ten nearest by {name}: right", short(figure)] for name, figure in figures["right"].items()]
    rows += [["board of a topic: has it", short(figures["board"])],
             [f"topic alone: found of {alone['left']:,}", f"{alone['found']:,}"],
             ["topic alone: within the bound", f"{alone['within']:,}"],
             ["topic alone: others that seem to have it", f"{alone['others']:,}"]]
    rows += [[f"the page's ten: {kind}", f"{share:.0f} (of the store {figures['stored'][kind]:.0f})"]
             for kind, share in figures["mix"].items()]
    rows += [[f"spam in anybody's ten: {kind}", f"{share:.1f}"] for kind, share in figures["spam"].items()]
    return "A mixed store; per cent, but for topic alone\n\n" + table(["what readers find", "measured"], rows)


def of_bound(figures):
    heading = ["similarity", "least near", "most of the others",
               *(f"{metres:,} m" for metres in (bound.CLOSE, *bound.AWAY)),
               *(f"{kind}: own of the newest" for kind in bound.OWN_MIN), *(f"{kind}: found" for kind in bound.OWN_MIN),
               "missed"]
    rows = [[f"{row['similarity']:.4f}", *(f"{row[key]['mean']:.1f} {row[key]['kind']}" for key in ("near", "far")),
             *(f"{figure['mean']:.1f}" for figure in row["positions"].values()),
             *(f"{row['places'][kind]['own of the newest']:.1f}" for kind in bound.OWN_MIN),
             *(f"{row['places'][kind]['found']:.1f}" for kind in bound.OWN_MIN), ", ".join(row["failures"]) or "-"]
            for row in figures["steps"]]
    good = ", ".join(f"{step:.4f}" for step in figures["good"]) or "none"
    return f"The bound: nothing is missed at {good}; the default is {figures['default']}\n\n" + table(heading, rows)


def of_all(results):
    parts = []
    if "wifi" in results:
        wifi = results["wifi"]
        parts.append(f"{wifi['stored']} rows stored ({wifi['deaf']} heard nothing), "
                     f"{wifi['queries']} queries; labels a row: {wifi['labels']['plain']:.1f} plain, "
                     f"{wifi['labels']['graded']:.1f} graded, {wifi['labels']['mixed']:.1f} mixed\n")
    if "matrix" in results:
        parts += [of_matrix(results["matrix"]),
                  of_neighbours(results["matrix"]), of_distances(results["matrix"])]
    if "profiles" in results:
        parts.append(of_profiles(results["profiles"]))
    for name, tabulate in (("meet", of_pairs), ("meet", of_positions), ("crowd", of_crowd), ("mixed", of_mixed),
                           ("bound", of_bound)):
        if name in results:
            parts.append(tabulate(results[name]))
    if "rules" in results:
        parts.append(of_rules(results["rules"]))
    if "checkins" in results:
        parts.append(of_checkins(results["checkins"]))
    if "nearness" in results:
        parts.append(of_nearness(results["nearness"]))
    return "\n".join(parts)
