# SPDX-License-Identifier: Apache-2.0
"""UJIIndoorLoc as sightings: where somebody stood, and which access points were heard how strongly.

The data names access points WAP001 to WAP520; here each has an address of its own, locally
administered, as the builder of contexts wants. In files of one's own they may have their addresses."""

import collections
import gzip
import math

import labels

Row = collections.namedtuple("Row", "number user building floor east north heard unix_s")


def address(name):
    if not name.startswith("WAP"):
        return labels.bssid(name)
    number = int(name.removeprefix("WAP"))
    return f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}"


class Bad(ValueError):
    """A line that is no sighting."""


def read_row(line, number):
    """The sighting of a line, the `number`th that heard anything; none if it heard nothing."""
    fields = line.rstrip("\n").split("\t")
    heard = tuple((address(name), int(dbm)) for name, dbm in
                  (field.rsplit(":", 1) for field in fields[6:] if field))
    where = (int(fields[1]), int(fields[2]), int(fields[3]), float(fields[4]), float(fields[5]))
    return Row(number, *where, heard, int(fields[0])) if heard else None


def read_rows(path, most=None):
    """The rows of one file that heard anything, in its order, or `most` of them, evenly spread; and
    how many heard nothing. Throws Bad, with the line's number."""
    rows = []
    deaf = 0
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for at, line in enumerate(lines, 1):
            if line.startswith("#"):
                continue
            try:
                row = read_row(line, len(rows) + 1)
            except (ValueError, IndexError) as error:
                raise Bad(f"line {at} of {path.name} is no sighting ({error}): it needs seconds since 1970, user, "
                          "building, floor, longitude and latitude, then ADDRESS:dBm for each access point, with a tab "
                          "between two of them") from error
            if row is None:
                deaf += 1
            else:
                rows.append(row)
    if most is not None and most < len(rows):
        rows = [rows[len(rows) * i // most] for i in range(most)]
    return rows, deaf


def vote(places):
    """What most say; among equally many, what the nearest of them says."""
    counts = collections.Counter(places)
    most = max(counts.values())
    return next(place for place in places if counts[place] == most)


class Score:
    """How often building and floor were right, and how far off the mean of the positions was, in
    the metres of the data's map projection, as the literature reports them."""

    def __init__(self, ks):
        self.ks = ks
        self.queries = 0
        self.buildings = [0] * len(ks)
        self.floors = [0] * len(ks)
        self.metres = [0.0] * len(ks)
        self.right = dict.fromkeys(ks, "")  # the floor, "1" or "0" for each question

    def add(self, asked, found):
        """`found`: rows, nearest first, at least max(ks)."""
        self.queries += 1
        for at, k in enumerate(self.ks):
            near = found[:k]
            self.buildings[at] += vote([row.building for row in near]) == asked.building
            floor = vote([(row.building, row.floor) for row in near])
            self.floors[at] += floor == (asked.building, asked.floor)
            self.right[k] += "01"[floor == (asked.building, asked.floor)]
            self.metres[at] += math.hypot(sum(row.east for row in near) / k - asked.east,
                                          sum(row.north for row in near) / k - asked.north)

    def figures(self):
        """{k: {building, floor: per cent, metres, right}}"""
        return {str(k): {"building": 100 * self.buildings[at] / self.queries,
                         "floor": 100 * self.floors[at] / self.queries,
                         "metres": self.metres[at] / self.queries,
                         "right": self.right[k]}
                for at, k in enumerate(self.ks)}
