# SPDX-License-Identifier: Apache-2.0
"""Which similarity is the default bound: suggested_max_distance is 1 less it.

For each candidate the rows of meet.py and crowd.py that decide: the worst pair that should meet, the worst that should
not, positions, and whose messages a reader is shown where a thousand places share one store. The bound is the least
similarity at which nearly all that a reader is shown is of the reader's own place, because each step more costs
messages that are near. A row of pairs misses its aim if its whole 95 % interval does."""

import crowd
import defaults
import meet
import metric

STEPS = [number / 400 for number in range(84, 97)]
NEAR_MIN, FAR_MAX = 97, 1  # per cent of pairs
OWN_MIN = {"scan": 94, "scan+here": 97}  # of what a reader is shown, per cent that are of the place
CLOSE, CLOSE_MIN, AWAY, AWAY_MAX = 30, 95, (3000, 10000), 2  # metres, and per cent of positions


def worst(measured, least):
    """Of the pairs that should meet the kind that does least, and of those that should not the one that does most."""
    shares = {(group, kind): sum(phi >= least for phi, *_ in some) / len(some)
              for group, kinds in measured.pairs.items() for kind, some in kinds.items() if kind not in meet.WEAK}
    near = {key: part for key, part in shares.items() if key[0] == "near"}
    far = {key: part for key, part in shares.items() if key[0] != "near" and "position" not in key[1]}
    found = []
    for group, kind in (min(near, key=near.get), max(far, key=far.get)):
        figure = meet.share([phi >= least for phi, *_ in measured.pairs[group][kind]],
                            [place for *_, place in measured.world[group][kind]])
        found.append({"kind": kind if group in ("near", "disjoint") else f"{group}: {kind}", **figure})
    return found


def failures(row):
    """What is not as it should be at one step."""
    said = [row["near"]["kind"]] if row["near"]["high"] < NEAR_MIN else []
    said += [row["far"]["kind"]] if row["far"]["low"] > FAR_MAX else []
    said += [f"{CLOSE} m"] if row["positions"][CLOSE]["high"] < CLOSE_MIN else []
    said += [f"{metres} m" for metres in AWAY if row["positions"][metres]["low"] > AWAY_MAX]
    said += [f"places by {kind}" for kind, least in OWN_MIN.items() if row["places"][kind]["own of the newest"] < least]
    return said


def run(measured, places):
    """`measured`, `places`: of meet.py and crowd.py, the places as far as the first step."""
    steps = []
    for step in STEPS:
        least = round(step * metric.ONE)
        near, far = worst(measured, least)
        own = {}
        for kind, found in places.near.items():
            own[kind] = {}
            for key, by_reader in crowd.place_values(found, least).items():
                values, _ = crowd.flat(by_reader)
                own[kind][key] = 100 * sum(values) / (len(values) or 1)
        row = {"similarity": step, "near": near, "far": far, "places": own,
               "positions": {metres: meet.share([phi >= least for phi, _ in measured.positions[metres]],
                                                range(len(measured.positions[metres])))
                             for metres in (CLOSE, *AWAY)}}
        steps.append({**row, "failures": failures(row)})
    return {"default": round(1 - defaults.max_distance(), 6), "steps": steps,
            "good": [row["similarity"] for row in steps if not row["failures"]]}
