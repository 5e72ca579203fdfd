# SPDX-License-Identifier: Apache-2.0
"""What is sensed, as labels: the rules of docs/contexts.md once more, independent of the C code.

Every function returns a list of labels in the order in which hearsay's builder gives them, or
raises ValueError where the builder refuses."""

import math
import re
import unicodedata
from datetime import datetime, timedelta, timezone
from fractions import Fraction

FLOOR_DBM = -95  # up to a step over it is level 1
STEP_DB = 8
STRONGEST = 32  # access points of a scan at most that become labels
LABELS_MAX = 50  # of a scan
DIGITS = "0123456789bcdefghjkmnpqrstuvwxyz"
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def levels(dbm, floor=FLOOR_DBM, step=STEP_DB):
    """How many labels a sighting becomes; dbm None: its strength is not known."""
    return 1 if dbm is None else max(1, math.ceil((dbm - floor) / step))


def address(text):
    """The usual form of six bytes."""
    if not re.fullmatch(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{2}(-[0-9A-Fa-f]{2}){5}"
                        r"|[0-9A-Fa-f]{12}", text, re.ASCII):
        raise ValueError(text)
    digits = re.sub("[:-]", "", text).lower()
    return ":".join(digits[i:i + 2] for i in range(0, 12, 2))


def is_bssid(name):
    """Whether an access point can have the address, which is in its usual form."""
    return int(name[:2], 16) % 2 == 0 and name not in ("00:00:00:00:00:00", "02:00:00:00:00:00")


def bssid(text):
    """The usual form of an access point's address."""
    name = address(text)
    if not is_bssid(name):
        raise ValueError(text)
    return name


def graded(name, count):
    """One label for each level."""
    return [f"wifi:{name}"] + [f"wifi:{name}@{level}" for level in range(2, count + 1)]


def wifi(text, dbm=None):
    if dbm is not None and not -127 <= dbm <= 0:
        raise ValueError(dbm)
    return graded(bssid(text), levels(dbm or None))  # 0: the driver does not know it


def scan(sightings):
    """The labels of pairs of an address and a strength, and how much of them was left out."""
    strengths = {}
    left_out = {"weaker": 0, "no_address": 0, "no_strength": 0}
    for text, dbm in sightings:
        name = address(text)
        if not is_bssid(name):
            left_out["no_address"] += 1
            continue
        if dbm is not None and not -127 <= dbm <= -1:
            left_out["no_strength"] += 1
            dbm = None
        strengths[name] = max(strengths.get(name, -math.inf), -math.inf if dbm is None else dbm)
    found = []
    order = sorted(strengths, key=lambda name: (-strengths[name], name))
    for taken, name in enumerate(order):
        more = graded(name, levels(None if strengths[name] == -math.inf else strengths[name]))
        if taken == STRONGEST or len(found) + len(more) > LABELS_MAX:
            left_out["weaker"] = len(order) - taken
            break
        found += more
    return found, left_out


def cell(column, row, length):
    """The geohash of a cell: bits of column and row in turn, column first, five a character."""
    columns, rows = (5 * length + 1) // 2, 5 * length // 2
    bits = "".join(a + b for a, b in zip(f"{column:0{columns}b}", f"{row:0{rows}b}" + " "))
    bits = bits.replace(" ", "")
    return "".join(DIGITS[int(bits[i:i + 5], 2)] for i in range(0, 5 * length, 5))


def place(latitude, longitude, length):
    """The column and the row of a position among the cells of a length, and the rest of the way to the next column
    and row, from 0 on and below 1."""
    width, height = 1 << (5 * length + 1) // 2, 1 << 5 * length // 2
    # Fractions, because longitude + 180 may round to the other side of an edge.
    across, up = (Fraction(longitude) + 180) / 360 * width, (Fraction(latitude) + 90) / 180 * height
    column, row = min(math.floor(across), width - 1), min(math.floor(up), height - 1)
    return column, row, across - column, up - row


def position(latitude, longitude):
    """The own cell of 6 characters, the four nearest ones of 7, and the own one of 8."""
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise ValueError((latitude, longitude))
    column, row, east, north = place(latitude, longitude, 7)
    half = Fraction(1, 2)
    columns = [column, (column + (1 if east >= half else -1)) % (1 << 18)]
    rows = [row, row + (1 if north >= half else -1)]
    nearest = [cell(x, y, 7) for y in rows if 0 <= y < 1 << 17 for x in columns]
    own = {length: cell(*place(latitude, longitude, length)[:2], length) for length in (6, 8)}
    return ["geo:" + name for name in (own[6], *nearest, own[8])]


def moment(unix_ms):
    hour = EPOCH + timedelta(milliseconds=unix_ms)
    return [hour.strftime("time:") + f"{hour.year:04d}" + hour.strftime("-%m-%dT%H"),
            f"time:w{hour.isoweekday()}T{hour.hour:02d}"]


# Unicode's Default_Ignorable_Code_Point, which Python does not know.
IGNORABLE = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
                       "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
                       "\U000e0000-\U000e0fff]")


def topic(text):
    composed = unicodedata.normalize("NFKC", IGNORABLE.sub("", text))
    folded = unicodedata.normalize("NFKC", composed.casefold())
    folded = re.sub("[\u2018\u2019\u02bc]", "'", re.sub("[\t\n\v\f\r ]+", " ", folded)).lstrip("# ").rstrip(" ")
    label = "topic:" + folded
    if not folded or "\0" in folded or len(label.encode()) > 240:
        raise ValueError(text)
    return [label]


def percent_to_dbm(percent):
    """The strength that NetworkManager shows as that percentage."""
    return next(dbm for dbm in range(-40, -101, -1)
                if 100 - int(100.0 * (-40 - dbm) / 60) <= percent)
