#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes builder.json: what is sensed, and the labels that it becomes.

The labels come from tests/eval/labels.py, an implementation of its own of the rules in
docs/contexts.md; it shares nothing with the C code. README.md describes the fields.

  make_builder.py          writes the file beside this script
  make_builder.py --check  compares what it would write with what is there
"""
import argparse
import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "eval"))
import labels  # noqa: E402 - found through the line above

WIFI = [("a4:2b:8c:01:02:03", None), ("A4:2B:8C:01:02:03", -90), ("A4-2B-8C-01-02-03", -54),
        ("a42b8c010203", -30), ("02:00:00:00:00:01", 0), ("fe:ff:ff:ff:ff:ff", -127),
        ("0a:0b:0c:0d:0e:0f", -91)]
WIFI += [("a4:2b:8c:01:02:03", dbm) for dbm in (-89, -82, -81, -74, -73, -66, -65, -58, -57, -50,
                                                -49, -42, -41, -34, -33, -10, -2, -1)]
WIFI_REFUSED = [("", None), ("a4:2b:8c:01:02", None), ("a4:2b:8c:01:02:0g", None),
                ("a4:2b-8c:01:02:03", None), ("a4:2b:8c:01:02:03:", None), ("a4 2b 8c 01 02 03", None),
                ("00:00:00:00:00:00", None), ("02:00:00:00:00:00", -42), ("020000000000", None), ("ff:ff:ff:ff:ff:ff", None),
                ("01:2b:8c:01:02:03", None), ("a4:2b:8c:01:02:03", 2), ("a4:2b:8c:01:02:03", -128),
                ("a42b.8c01.0203", None), ("+4:2b:8c:01:02:03", None), ("a4:2b:8c:01:02:03", -1000)]

POSITIONS = [(57.64911, 10.40744), (48.1497, 11.5678), (0, 0), (-0.0000001, -0.0000001), (90, 180),
             (-90, -180), (90, -180), (-33.8567844, 151.2152967), (40.6892494, -74.0445004),
             (89.9999, 179.9999), (-89.9999, -179.9999), (45 / 2**10, 45 / 2**17),
             (45 / 2**10 - 1e-9, 45 / 2**17 - 1e-9), (1e-300, -1e-300), (51.4779, 180),
             (51.4779, -180), (51.4779, 179.99999)]
# The middles of cells of 7 characters, and places a little before them: the first one, those at the poles, and those
# at 180 degrees. A middle counts as nearer to the east and to the north.
HALF = 45 / 2**16
POSITIONS += [(latitude - less, longitude - less) for less in (0, 1e-9)
              for latitude, longitude in [(HALF, HALF), (90 - HALF, 180 - HALF), (HALF - 90, HALF - 180)]]
POSITIONS_REFUSED = [(90.0000001, 0), (-90.0000001, 0), (0, 180.0000001), (0, -180.0000001),
                     (1e308, 0)]

TIMES = [0, -1, 3599999, 3600000, 1795183200000, 1709164800000, 951782400000, 1709251199999,
         253402300799999, -62135596800000, 4107542400000, 946684799999, -2203891200000,
         1798761599999, 1798761600000]

TOPICS = ["coffee", "Coffee", "COFFEE", "  coffee\t\n", "flat white", "Straße", "STRASSE", "ẞ",
          "Café", "Cafe\u0301", "CAFÉ", "\u212b", "A\u030a", "\u212a", "ﬁsh", "İstanbul", "ı",
          "ΟΔΟΣ", "οδος", "οδοσ", "ǅ", "ǆ", "\u0345", "\u1fb3", "\u1f88", "ᾳ\u0301", "\u0958",
          "\u0915\u093c", "가", "\u1100\u1161", "각", "\u1100\u1161\u11a8", "Ꭰ", "ꭰ", "ԵՒ",
          "\u0587", "q\u0307\u0323", "q\u0323\u0307", "日本語", "☕", "🎉 Party", "\u00a0x\u00a0",
          "\U00010400", "\U0001e900", "\u1e9b\u0323", "ŉ", "\u0390", "\u1fd3", "a" * 234,
          "A" * 234, "ß" * 117, "\ufb03" * 78, "\u200dz", "x:y@2", "#tea", " # Tea", "##tea", "c#", "\uff03\uff54\uff45\uff41",
          "rock \u2018n\u2019 roll", "rock 'n' roll", "\u02bcs", "flat  \t white", "flat\u00a0white", "flat\u3000\u2003white",
          "\u2615\ufe0f", "sh\u00ady", "\ufeffx\u200b\u2060", "\U0001f468\u200d\U0001f469", "\u00bd", "\u2460", "\u1e9e\u200d\u0301"]
TOPICS_REFUSED = ["", " ", "\t\r\n", "#", " # ", "\u200b", "\u3164", "a" * 235, "ß" * 118, "\u1f80" * 60]

PERCENT = list(range(101))

SCANS = [
    ("iw", "BSS a4:2b:8c:01:02:03(on wlan0) -- associated\n\tTSF: 7134812 usec (0d, 00:00:07)\n"
     "\tfreq: 5180\n\tsignal: -54.00 dBm\n\tSSID: cafe\n\tBSS Load:\n\t\t * station count: 3\n"
     "BSS A6:2B:8C:01:02:04(on wlan0)\n\tsignal: -81.50 dBm\n"
     "BSS 00:1f:3b:00:00:09(on wlan0)\n\tSSID: without a strength\n",
     [("a4:2b:8c:01:02:03", -54), ("a6:2b:8c:01:02:04", -81), ("00:1f:3b:00:00:09", None)]),
    ("iw, percent, carriage returns, no end",
     "BSS 02:00:00:00:00:01(on wlan0)\r\n\tsignal: 100/100\r\n"
     "BSS 02:00:00:00:00:02(on wlan0)\r\n\tsignal: 0/100",
     [("02:00:00:00:00:01", -40), ("02:00:00:00:00:02", -100)]),
    ("iw, halves go up", "BSS 02:00:00:00:00:01(on wlan0)\n\tsignal: -74.50 dBm\n"
     "BSS 02:00:00:00:00:02(on wlan0)\n\tsignal: -74.51 dBm\n",
     [("02:00:00:00:00:01", -74), ("02:00:00:00:00:02", -75)]),
    ("nmcli", "A4\\:2B\\:8C\\:01\\:02\\:03:77\n\nA6\\:2B\\:8C\\:01\\:02\\:04:30\n",
     [("a4:2b:8c:01:02:03", -54), ("a6:2b:8c:01:02:04", -82)]),
    ("nmcli, not escaped, one without strength", "A4:2B:8C:01:02:03:100\nA4:2B:8C:01:02:04\n",
     [("a4:2b:8c:01:02:03", -40), ("a4:2b:8c:01:02:04", None)]),
    ("the same one twice: the stronger sighting counts",
     "02\\:00\\:00\\:00\\:00\\:01:30\n02\\:00\\:00\\:00\\:00\\:01:77\n",
     [("02:00:00:00:00:01", -82), ("02:00:00:00:00:01", -54)]),
    ("nothing", "", []),
    ("a mark of UTF-8 in front", "\ufeffA4\\:2B\\:8C\\:01\\:02\\:03:77\n", [("a4:2b:8c:01:02:03", -54)]),
    ("what no access point can have is left out: addresses, strengths",
     "BSS 02:00:00:00:00:00(on wlan0)\n\tsignal: -42.00 dBm\n"
     "BSS 10:22:33:44:55:01(on wlan0)\n\tsignal: 0.00 dBm\n"
     "BSS 00:00:00:00:00:00(on wlan0)\n\tsignal: -42.00 dBm\n"
     "BSS 10:22:33:44:55:02(on wlan0)\n\tsignal: 10.00 dBm\n"
     "BSS 10:22:33:44:55:05(on wlan0)\n\tsignal: 1.00 dBm\n"
     "BSS ff:ff:ff:ff:ff:ff(on wlan0)\n"
     "BSS 10:22:33:44:55:03(on wlan0)\n\tsignal: -128.00 dBm\n"
     "BSS 10:22:33:44:55:04(on wlan0)\n\tsignal: -54.00 dBm\n",
     [("02:00:00:00:00:00", -42), ("10:22:33:44:55:01", 0), ("00:00:00:00:00:00", -42),
      ("10:22:33:44:55:02", 10), ("10:22:33:44:55:05", 11), ("ff:ff:ff:ff:ff:ff", None),
      ("10:22:33:44:55:03", -128), ("10:22:33:44:55:04", -54)]),
    ("only such", "02\\:00\\:00\\:00\\:00\\:00:77\n", [("02:00:00:00:00:00", -54)]),
    ("fractions as iw writes them", "BSS 10:22:33:44:55:01(on wlan0)\n\tsignal: -54.-50 dBm\n"
     "BSS 10:22:33:44:55:02(on wlan0)\n\tsignal: -54.-51 dBm\n"
     "BSS 10:22:33:44:55:03(on wlan0)\n\tsignal: 0.-60 dBm\n",
     [("10:22:33:44:55:01", -54), ("10:22:33:44:55:02", -55), ("10:22:33:44:55:03", -1)]),
    ("wpa_cli", "Selected interface 'wlan0'\nbssid / frequency / signal level / flags / ssid\n"
     "a4:2b:8c:01:02:03\t2412\t-54\t[WPA2-PSK-CCMP][ESS]\tcafe\n3c:37:86:5e:11:f0\t5180\t-71\t[ESS]\t\n",
     [("a4:2b:8c:01:02:03", -54), ("3c:37:86:5e:11:f0", -71)]),
    ("iwinfo", 'Cell 01 - Address: A4:2B:8C:01:02:03\n          ESSID: "cafe"\n'
     "          Mode: Master  Channel: 1\n          Signal: -54 dBm  Quality: 56/70\n"
     'Cell 02 - Address: 3C:37:86:5E:11:F0\n          ESSID: "x"\n          Signal: unknown  Quality: 0/70\n',
     [("a4:2b:8c:01:02:03", -54), ("3c:37:86:5e:11:f0", None)]),
    ("iwlist", "wlan0     Scan completed :\n          Cell 01 - Address: A4:2B:8C:01:02:03\n"
     '                    ESSID:"Signal level=-1 dBm"\n                    Quality=56/70  Signal level=-54 dBm  \n'
     "          Cell 02 - Address: 3C:37:86:5E:11:F0\n                    Quality:30/100  Signal level:77/100\n",
     [("a4:2b:8c:01:02:03", -54), ("3c:37:86:5e:11:f0", -54)]),
    ("iwlist, none", "wlan0     No scan results\n", []),
]
# Scans with something that cannot be read: how much of it, and the line of the first.
SCANS_WITH_ODD = [
    ("a device's name is a line of iw", 1, 5,
     "BSS a4:2b:8c:01:02:03(on wlan0)\n\tbeacon interval: 100 TUs\n\tsignal: -54.00 dBm\n"
     "\t\t * Device name: x\nBSS 10:22:33:44:55:66(on w)\n\tsignal: -1.00 dBm\nsignal: loud\n"
     "BSS a6:2b:8c:01:02:04(on wlan0)\n\tbeacon interval: 100 TUs\n\tsignal: -60.00 dBm\n\tsignal: -1.00 dBm\n",
     [("a4:2b:8c:01:02:03", -54), ("a6:2b:8c:01:02:04", -60)]),
    ("iw, an odd address, an odd strength", 2, 1,
     "BSS nonsense(on wlan0)\n\tsignal: -54.00 dBm\nBSS a4:2b:8c:01:02:03(on wlan0)\n\tsignal: -54.00 dBm\n"
     "BSS a6:2b:8c:01:02:04(on wlan0)\n\tsignal: loud\n", [("a4:2b:8c:01:02:03", -54)]),
    ("iw, cut off", 1, 3,
     "BSS a4:2b:8c:01:02:03(on wlan0)\n\tsignal: -54.00 dBm\nBSS a6:2b:8c:01:02:04(on wlan0)\n\tsign",
     [("a4:2b:8c:01:02:03", -54)]),
    ("iw, cut off at the end of a line", 1, 4,
     "BSS a4:2b:8c:01:02:03(on wlan0)\n\tsignal: -54.00 dBm\n\tSSID: x\nBSS a6:2b:8c:01:02:04(on wlan0)\n\tfreq: 2412\n",
     [("a4:2b:8c:01:02:03", -54)]),
    ("wpa_cli, cut off in a strength", 1, 2,
     "a4:2b:8c:01:02:03\t2412\t-54\t[ESS]\tcafe\n3c:37:86:5e:11:f0\t5180\t-7", [("a4:2b:8c:01:02:03", -54)]),
    ("another program's line before", 1, 1,
     "scan aborted!\nBSS a4:2b:8c:01:02:03(on wlan0)\n\tsignal: -54.00 dBm\n", [("a4:2b:8c:01:02:03", -54)]),
    ("nmcli, an odd address", 1, 2, "A4\\:2B\\:8C\\:01\\:02\\:03:77\nnonsense:5\n", [("a4:2b:8c:01:02:03", -54)]),
    ("wpa_cli, an odd strength", 1, 1, "a4:2b:8c:01:02:03\t2412\tloud\t[ESS]\t\n3c:37:86:5e:11:f0\t5180\t-71\t\t\n",
     [("3c:37:86:5e:11:f0", -71)]),
    ("iwinfo, an odd address, an odd strength", 2, 2,
     "Cell 01 - Address: A4:2B:8C:01:02:03\nCell 02 - Address: here\n  Signal: -54 dBm\n"
     "Cell 03 - Address: 3C:37:86:5E:11:F0\n  Signal: loud\n", [("a4:2b:8c:01:02:03", None)]),
]
# The strongest ones, whatever the order. At the edge of the 32 strongest ones three are equally strong, and some have
# no strength; one is seen twice.
CROWD = [(f"10:22:33:44:{i * 37 % 256:02x}:{i:02x}", -66 - i // 3) for i in range(60)]
CROWD = CROWD[::7] + [(b, d) for i, (b, d) in enumerate(CROWD) if i % 7]
SCANS += [
    ("of more than 32 the strongest",
     "".join(f"BSS {b}(on wlan0)\n\tsignal: {d}.00 dBm\n" for b, d in CROWD)
     + f"BSS {CROWD[3][0]}(on wlan0)\n\tsignal: -90.00 dBm\n",
     CROWD + [(CROWD[3][0], -90)]),
    ("of more than 50 labels the strongest",
     "".join(f"BSS {b}(on wlan0)\n\tsignal: {d + 30}.00 dBm\n" for b, d in CROWD), [(b, d + 30) for b, d in CROWD]),
    ("without strengths the lowest addresses", "".join(b + "\n" for b, _ in CROWD), [(b, None) for b, _ in CROWD]),
    ("those without a strength come last",
     "".join(b + "\n" for b, _ in CROWD[:31]) + "".join(f"{b}:30\n" for b, _ in CROWD[31:40]),
     [(b, None) for b, _ in CROWD[:31]] + [(b, -82) for b, _ in CROWD[31:40]]),
]
# Nothing of these can be read: the line that the sentence names; 0: it names none.
SCANS_REFUSED = [
    (1, "BSS nonsense(on wlan0)\n"),
    (2, "BSS a4:2b:8c:01:02:03(on wlan0)\n\tsignal: strong\n"),
    (2, "BSS a4:2b:8c:01:02:03(on wlan0)\n\tsignal: -54 dB\n"),
    (2, "BSS a4:2b:8c:01:02:03(on wlan0)\n\tsignal: -54.--50 dBm\n"),
    (2, "BSS a4:2b:8c:01:02:03(on wlan0)\n\tsignal: -54.5 dBm\n"),
    (2, "BSS a4:2b:8c:01:02:03(on wlan0)\n\tsignal: --54.00 dBm\n"),
    (2, "BSS a4:2b:8c:01:02:03(on wlan0)\n\tsignal: 101/100\n"),
    (1, "BSS a4:2b:8c:01:02:03:04(on wlan0)\n"),
    (1, "BSSID              SIGNAL\nA4:2B:8C:01:02:03  77\n"),
    (0, "A4\\:2B\\:8C\\:01\\:02\\:03:77\n\nA4\\:2B\\:8C\\:01\\:02\\:03:149\n"),
    (0, "".join(f"10:22:33:44:55:{i:02x}:{channel}\n" for i, channel in enumerate((1, 6, 11, 36, 44, 100)))),
    (1, "A4\\:2B\\:8C\\:01\\:02\\:03:\n"),
    (1, "76:A4\\:2B\\:8C\\:01\\:02\\:03\n"),  # SIGNAL,BSSID: no address begins with the strength
    (1, "76:A4:2B:8C:01:02:03\n"),
    (1, "A4\\:2B\\:8C:01\\:02\\:03:77\n"),
    (1, "*:A4\\:2B\\:8C\\:01\\:02\\:03:77\n"),
    (1, "A4\\:2B\\:8C\\:01\\:02\\:03:-54\n"),
    (1, "cafe:A4\\:2B\\:8C\\:01\\:02\\:03:77\n"),
    (1, "a4:2b:8c:01:02:03\t2412\tloud\t[ESS]\tcafe\n"),
    (1, "Cell 01 - Address: here\n"),
    (1, "command failed: Device or resource busy (-16)\n"),
]


def refused(make, *arguments):
    """Makes sure that the rules refuse it."""
    try:
        made = make(*arguments)
    except (ValueError, OverflowError):
        return
    raise AssertionError(f"{arguments} became {made}")


def scan_case(about, text, seen, unreadable=0, line=0):
    found, left_out = labels.scan(seen)
    left_out.update(unreadable=unreadable, unreadable_line=line)
    return {"about": about, "text": text, "seen": seen, "labels": found, "left_out": left_out}


def make():
    for case in WIFI_REFUSED:
        refused(labels.wifi, *case)
    for case in POSITIONS_REFUSED:
        refused(labels.position, *case)
    for case in TOPICS_REFUSED:
        refused(labels.topic, case)
    return {
        "about": "what is sensed, and the labels that it becomes; README.md describes the fields",
        "wifi": [{"bssid": b, "dbm": s, "labels": labels.wifi(b, s)} for b, s in WIFI],
        "wifi_refused": [{"bssid": b, "dbm": s} for b, s in WIFI_REFUSED],
        "positions": [{"latitude": a, "longitude": b, "labels": labels.position(a, b)}
                      for a, b in POSITIONS],
        "positions_refused": [{"latitude": a, "longitude": b} for a, b in POSITIONS_REFUSED],
        "times": [{"unix_ms": t, "labels": labels.moment(t)} for t in TIMES],
        "topics": [{"topic": t, "labels": labels.topic(t)} for t in TOPICS],
        "topics_refused": TOPICS_REFUSED,
        "percent_to_dbm": [labels.percent_to_dbm(p) for p in PERCENT],
        "scans": [scan_case(*case) for case in SCANS]
                 + [scan_case(about, text, seen, unreadable, line)
                    for about, unreadable, line, text, seen in SCANS_WITH_ODD],
        "scans_refused": [{"line": line, "text": text} for line, text in SCANS_REFUSED],
    }


def written(value):
    """JSON with one case a line."""
    parts = []
    for key, content in value.items():
        if isinstance(content, list) and content and isinstance(content[0], dict):
            rows = ",\n".join("  " + json.dumps(row) for row in content)
            parts.append(f' "{key}": [\n{rows}\n ]')
        else:
            parts.append(f' "{key}": {json.dumps(content)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    path = FOLDER / "builder.json"
    text = written(make())
    if not parser.parse_args().check:
        path.write_text(text, encoding="ascii")
        return 0
    if path.read_text(encoding="ascii") != text:
        print(f"{path} is not what make_builder.py writes")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
