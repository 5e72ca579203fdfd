# SPDX-License-Identifier: Apache-2.0
"""What is sensed on its way to a message: options, scans, lines of JSON, and the labels and filters
that come of them, compared with the evaluation's own implementation of the rules."""

import base64
import json
import re
import sys
import unicodedata
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import cli_runner
import hearsay_wire as wire

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "eval"))
import filters  # noqa: E402 - found through the line above
import labels  # noqa: E402

IW = """BSS a4:2b:8c:01:02:03(on wlan0) -- associated
\tTSF: 7134812 usec (0d, 00:00:07)
\tsignal: -54.00 dBm
\tSSID: caf\\xc3\\xa9
BSS 3c:37:86:5e:11:f0(on wlan0)
\tsignal: -71.00 dBm
"""
NMCLI = "A4\\:2B\\:8C\\:01\\:02\\:03:77\n3C\\:37\\:86\\:5E\\:11\\:F0:48\n"
# As each program prints it, written by hand after the sources of the programs. They are seeds of a fuzz target, too.
SCANS = Path(__file__).resolve().parents[1] / "fuzz" / "corpus" / "scan"
SEEN = [("a4:2b:8c:01:02:03", -54), ("3c:37:86:5e:11:f0", -71)]


@pytest.fixture
def cli(daemon):
    return cli_runner.of_daemon(daemon)


@pytest.fixture
def offline(tmp_path):
    """The command, with a server that is not there."""
    return cli_runner.Cli("127.0.0.1:1", str(tmp_path))


def shown(cli, *args, stdin="", profile="v2:512/2"):
    # Not by splitlines: labels may have characters that it takes for the end of a line.
    return json.loads(cli.ok("context", "--json", "--profile", profile, *args, stdin=stdin))


def labels_of(answer):
    return [entry["label"] for entry in answer["labels"]]


def of_sightings(sightings):
    return [label for bssid, dbm in sightings for label in labels.wifi(bssid, dbm)]


@pytest.mark.parametrize(("label", "right"), [
    ("topic:Coffee", "topic:coffee"),
    ("wifi:A4:2B:8C:01:02:03", "wifi:a4:2b:8c:01:02:03"),
    ("topic:coffee", None),
    ("anything:Else", None),
])
def test_a_label_that_no_other_client_writes(offline, label, right):
    """It is used as it is, with a warning that says what the others write."""
    code, out, err = offline.run("context", "--json", "--profile", "v2:512/2", "-l", label)
    assert code == 0 and labels_of(json.loads(out)) == [label]
    assert err == (f"hearsay: --label {label}: clients write {right}\n" if right else "")


def test_labels_and_filter(offline, rng):
    """Labels, positions and filter are those of the other implementation, for any profile."""
    for _ in range(20):
        bits, hashes = rng.choice([64, 192, 512, 4096]), rng.randint(1, 6)
        bssid, dbm = f"{rng.randrange(1, 2**46) << 2 & ~(1 << 40):012x}", rng.randint(-127, 0)
        place = (round(rng.uniform(-90, 90), 6), round(rng.uniform(-180, 180), 6))
        # Not fromtimestamp, which on 32-bit machines ends in 2038.
        hour = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=rng.randrange(4 * 10**9))
        expected = (labels.wifi(bssid, dbm) + labels.position(*place)
                    + labels.moment(int(hour.timestamp() * 1000)) + labels.topic("Grüße")
                    + ["any:thing"])
        answer = shown(offline, "--wifi", f"{bssid}={dbm}", "--at", f"{place[0]:f},{place[1]:f}",
                       "--time", hour.strftime("%Y-%m-%dT%H:%M:%SZ"), "--topic", "GRÜSSE", "-l",
                       "any:thing", profile=f"v2:{bits}/{hashes}")
        assert labels_of(answer) == expected
        for entry in answer["labels"]:
            mask = filters.of_label(entry["label"], bits, hashes)
            assert entry["positions"] == [i for i in range(bits) if mask >> i & 1]
        whole = filters.of_labels(expected, bits, hashes)
        assert base64.b64decode(answer["filter"]) == whole.to_bytes(bits // 8, "little")
        assert (answer["bits"], answer["set"]) == (bits, whole.bit_count())
        assert answer["fill"] == pytest.approx(whole.bit_count() / bits, abs=1e-6)


def test_for_people(offline):
    """Without --json the same is told in lines."""
    out = offline.ok("context", "--profile", "v2:64/1", "--topic", "Tea", "-l", "a:\u202eb")
    lines = out.splitlines()
    assert lines[0].split() == ["profile", "v2:64/1"] and lines[1].split() == ["labels", "2"]
    mask = filters.of_labels(["topic:tea", "a:\u202eb"], 64, 1)
    assert lines[2].split() == ["topic:tea", str(filters.of_label("topic:tea", 64, 1).bit_length() - 1)]
    assert "\\u{202e}" in lines[3]
    assert lines[4].startswith(f"fill     {mask.bit_count()} of 64 bits")
    assert lines[5].split() == ["filter", base64.b64encode(mask.to_bytes(8, "little")).decode()]


SECTIONS = "v2:wifi=256/2,geo=96/1,time=32/1,topic=97/2,joint(geo,time)=31/1"


def test_sections(offline):
    """With sections each label's positions are in its own; what pairs of a place and an hour set is
    told by itself, once, and is all of the filter that no label sets."""
    place, hour = labels.position(48.1497, 11.5678), labels.moment(1795183200000)
    for given, expected in [
        (("--at", "48.1497,11.5678", "--time", "2026-11-20T14:00Z"), place + hour),
        (("--at", "48.1497,11.5678", "-l", "time:w5T14"), place + ["time:w5T14"]),
        (("--topic", "Tea",), ["topic:tea"]),
    ]:
        answer = shown(offline, *given, profile=SECTIONS)
        assert labels_of(answer) == expected
        for entry in answer["labels"]:
            assert entry["positions"] == sorted(set(wire.positions(entry["label"], SECTIONS)))
        assert answer["joint"] == sorted(set(wire.joint_positions(expected, SECTIONS)))
        assert bool(answer["joint"]) == ("--time" in given)
        assert base64.b64decode(answer["filter"]) == wire.filter_of(expected, SECTIONS)
        assert answer["set"] == wire.bits_of(wire.filter_of(expected, SECTIONS)).bit_count()
        lines = offline.ok("context", "--profile", SECTIONS, *given).splitlines()
        told = [line.split()[1:] for line in lines if line.startswith("joint ")]
        assert told == ([[str(p) for p in answer["joint"]]] if answer["joint"] else [])
    code, _, err = offline.run("context", "--profile", SECTIONS, "-l", "word:tea")
    assert code == 2 and "its sections are wifi, geo, time, topic" in err


def test_the_picture(offline):
    """docs/contexts.md shows a filter of the README's scan; both are as they are printed."""
    root = Path(__file__).resolve().parents[2]
    scan = re.search(r"\| tee scan .*?\n(.*?)\$ ", (root / "README.md").read_text("utf-8"), re.DOTALL)[1]
    page = (root / "docs" / "contexts.md").read_text("utf-8")
    picture = re.search(r"^bit\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1]
    rows = re.findall(r"^ *(\d+) ([.#]+) *(\S*)$", picture, re.MULTILINE)
    assert len(rows) == len(picture.splitlines()) and scan.count("\n") == 4
    drawn = "".join(cells for _, cells, _ in rows)
    assert [int(first) for first, _, _ in rows] == [
        sum(len(cells) for _, cells, _ in rows[:i]) for i in range(len(rows))]
    profile = "v2:" + ",".join(name for _, _, name in rows if name)
    assert f"--profile '{profile}'" in page
    answer = shown(offline, "--scan", "-", "--at", "48.1497,11.5678", "--time", "2026-11-20T14:00Z",
                   "--topic", "Coffee", stdin=scan, profile=profile)
    bits = wire.bits_of(base64.b64decode(answer["filter"]))
    assert drawn == "".join("#" if bits >> i & 1 else "." for i in range(512))
    assert len(answer["joint"]) == 1 and drawn[:256].count("#") == 28


def test_unicode(offline):
    """Every character that Python's Unicode knows is folded and composed as Python does it, alone
    and between others that combine. Python's tables are of Unicode 14 (Debian 12), utf8proc's of 15:
    characters that only the newer one has are left out here."""
    def usual(code):
        # Surrogates are no characters; NUL cannot be in an argument.
        return unicodedata.category(chr(code)) not in ("Cn", "Cs") and code != 0

    codes = [code for code in range(0x110000)
             if usual(code) and not (0xe000 <= code <= 0xf8ff or code >= 0xf0000)]
    assert len(codes) > 140_000
    wrong = []
    for start in range(0, len(codes), 4000):
        part = codes[start:start + 4000]
        topics = [f"e{chr(code)}\u0323\u0301{chr(code)}ſ" for code in part]
        args = [arg for topic in topics for arg in ("--topic", topic)]
        answer = shown(offline, *args)
        expected = list(dict.fromkeys(label for topic in topics for label in labels.topic(topic)))
        got = labels_of(answer)
        if got != expected:
            wrong += [(a, b) for a, b in zip(got, expected) if a != b][:5]
    assert not wrong


def test_scans(offline, tmp_path):
    """iw's and nmcli's output mean the same, from a file and from standard input; several sources
    add up, and of two sightings of one access point the stronger counts."""
    path = tmp_path / "scan"
    path.write_text(IW, encoding="utf-8")
    expected = of_sightings(SEEN)
    assert labels_of(shown(offline, "--scan", str(path))) == expected
    assert labels_of(shown(offline, "--scan", "-", stdin=NMCLI)) == expected
    assert labels_of(shown(offline, "--scan", "-", "--wifi", "A42B8C010203=-90", stdin=NMCLI)) == expected
    more = labels_of(shown(offline, "--scan", "-", "--wifi", "A42B8C010203=-30", stdin=NMCLI))
    assert set(more) == set(expected) | set(labels.wifi("a42b8c010203", -30))


@pytest.mark.parametrize("name", ["iw", "nmcli", "wpa_cli", "iwinfo", "iwlist", "termux.json", "ubus.json"])
def test_formats(offline, name):
    """Each program's output, as it prints it, also with one access point that cannot be read."""
    text = (SCANS / name).read_text("utf-8")
    seen = [("a4:2b:8c:01:02:03", -54), ("a4:2b:8c:01:02:04", -100 if name == "nmcli" else -89)]
    assert labels_of(shown(offline, "--scan", "-", stdin=text)) == of_sightings(seen)
    odd = re.sub("(?i)a4(.{1,2})2b(.{1,2})8c(.{1,2})01(.{1,2})02(.{1,2})04", "here", text)
    code, out, err = offline.run("context", "--json", "--profile", "v2:512/2", "--scan", "-", stdin=odd)
    assert code == 0 and labels_of(json.loads(out)) == of_sightings(seen[:1])
    assert "access points left out: 1 that could not be read" in err


@pytest.mark.parametrize("text, said", [
    ("", "the scan saw no access point"),
    ("command failed: Device or resource busy (-16)\n", 'line 1 of the scan, "command failed'),
    ("hello\n", "Android's `termux-wifi-scaninfo` is read, too"),
    ("[]", "the scan saw no access point"),
    ("[{", "line 1 of the scan is no JSON, or the scan was cut off there"),
    ('{"API_ERROR": "Location needs to be enabled"}', "termux-wifi-scaninfo failed: Location needs"),
    ('{"results": 1}', "neither of `termux-wifi-scaninfo` nor of `ubus call iwinfo scan"),
    ('[{"bssid": "here", "rssi": -54}]', "no access point of the scan has"),
    ("A4\\:2B\\:8C\\:01\\:02\\:03:149\n", "channels where strengths should be"),
    ("76:A4\\:2B\\:8C\\:01\\:02\\:03\n", "ask for `nmcli -c no -t -f BSSID,SIGNAL device wifi list`"),
    ('[{"bssid": "02:00:00:00:00:00", "rssi": -54}]', "Android says 02:00:00:00:00:00 where"),
    ('[{"bssid": "a4:2b:8c:01:02:03", "signal_dbm": -54}]', "no access point of the scan has"),
    ("B\0S\0S\0 \0", "in UTF-16, as Windows' PowerShell"),
    # What is refused names what works there.
    *((text, instead) for instead, texts in {
        "ask for `nmcli -c no -t -f BSSID,SIGNAL device wifi list`": (
            "\x1b[32mA4\\:2B\\:8C\\:01\\:02\\:03\x1b[0m:77\n", "*:A4\\:2B\\:8C\\:01\\:02\\:03:77\n",
            "A4\\:2B\\:8C\\:01\\:02\\:03:77:Ca\\:fe\n", "BSSID:                 A4:2B:8C:01:02:03\n",
            "IN-USE  BSSID              SSID  MODUS  KANAL\n*       A4:2B:8C:01:02:03  Cafe  Infra  1\n"),
        "give each address with its strength in dBm, where 77 % is -62 dBm": (
            "\r\nSchnittstellenname : WLAN\r\n\r\nSSID 1 : Cafe\r\n    BSSID 1      : a4:2b:8c:01:02:03\r\n",),
        "what macOS says of WiFi is not read": (
            "                            SSID BSSID             RSSI CHANNEL HT CC SECURITY\n",
            "Wi-Fi:\n\n      Software Versions:\n", '{"SPAirPortDataType": []}'),
        "ask for `termux-wifi-scaninfo`": (
            "    BSSID              Frequency      RSSI           Age(sec)     SSID\n", "Latest scan results:\n"),
        "a record of scans of many places": (
            "WigleWifi-1.6,appRelease=2.99\n", "\nBSSID, First time seen, Last time seen, channel\n"),
        "ask for `iw dev wlan0 scan`": ("            Available networks\n",),
        "of the access point in use only": ("Connected to a4:2b:8c:01:02:03 (on wlan0)\n", "Not connected.\n"),
        "ask for `wpa_cli scan_results`": ("Selected interface 'wlan0'\nOK\n",),
        "the program that should scan has failed": (
            "FAIL-BUSY\n", "Command failed: Not found\n", "Error: NetworkManager is not running.\n",
            "wlan0     Interface doesn't support scanning : Operation not permitted\n"),
    }.items() for text in texts),
])
def test_scans_of_nothing(cli, text, said):
    """If nothing can be read, nothing is deposited and nothing asked, even where a topic is given, too."""
    for command in (("deposit", "meant for this place"), ("query",)):
        code, out, err = cli.run(*command, "--scan", "-", "--topic", "x", stdin=text)
        assert (code, out) == (1, "") and said in err, (command, err)
    code, _, err = cli.run("query", "--topic", "x")
    assert code == 1 and "nothing found" in err


@pytest.mark.parametrize("rest, left_out", [
    # Names are not read, so what is in them costs nothing: bytes that are no UTF-8 (ubus prints a name as it is),
    # NUL, half a surrogate pair, an escaped backslash before a u.
    (b'"ssid": "Caf\xe9"}, {"bssid": "here", "rssi": -1}]', 1), (b'"ssid": "\\u0000"}]', 0), (b'"ssid": "\\ud83d"}]', 0),
    (b'"ssid": "\\\\u"}]', 0), (b'"ssid": "\x01"}]', 0),
    (b'"ssid": "x"}, {"bssid": "3c:37:86:5e:11:f0", "rs', 1), (b'"x": NaN}, {"bssid": "a4:2b:8c:01:02:03", "rssi": -54}]', 1),
])
def test_odd_json(offline, rest, left_out):
    """Neither a name nor the end of the scan costs the access points that can be read; a fraction is rounded."""
    text = b'\xef\xbb\xbf[{"bssid": "a4:2b:8c:01:02:03", "rssi": -54.5, ' + rest
    code, out, err = offline.run_bytes("context", "--json", "--profile", "v2:512/2", "--scan", "-", stdin=text)
    assert code == 0 and labels_of(json.loads(out)) == of_sightings([("a4:2b:8c:01:02:03", -54)])
    assert ("access points left out: 1 that could not be read" in err) == bool(left_out)
    assert ("cut off" in err) == rest.endswith(b'"rs')


def test_of_a_scan_the_strongest(offline, rng):
    """One line says how many were left out and why; one odd access point does not cost the scan. Not 32 are taken
    here, because so strong ones have more labels than a scan may have."""
    crowd = [(f"10:22:33:44:55:{i:02x}", -40 - i // 2) for i in range(71)]
    rng.shuffle(crowd)
    odd = [("02:00:00:00:00:00", -30), ("10:22:33:44:55:a0", 10), ("10:22:33:44:55:a1", 0)]
    text = "".join(f"BSS {bssid}(on wlan0)\n\tsignal: {dbm}.00 dBm\n" for bssid, dbm in odd + crowd)
    for seen in (odd + crowd, odd):
        args = ("context", "--json", "--profile", "v2:512/2", "--scan", "-")
        code, out, err = offline.run(*args, stdin=text if seen != odd else text[:text.index("BSS", text.index(":a1"))])
        assert code == 0 and labels_of(json.loads(out)) == labels.scan(seen)[0]
        weaker = labels.scan(seen)[1]["weaker"]
        assert weaker == (0 if seen == odd else 66)
        crowded = f"{weaker} because the others are stronger, " if weaker else ""
        assert err == (f"hearsay: access points left out: {crowded}1 because no access point has such an address "
                       "(Android says 02:00:00:00:00:00 where it hides one); strengths left out: 2 because they are "
                       "not from -127 to -1 dBm\n")
    code, out, err = offline.run("deposit", "--no-here", "--scan", "-", "x", stdin="02:00:00:00:00:00:77\n")
    assert (code, out) == (1, "") and "no access point of the scan has an address" in err


def test_now(offline):
    """--time now is this hour, and 2h is two hours ago; without it there is no label of time."""
    before = datetime.now(timezone.utc)
    now = labels_of(shown(offline, "--time", "now"))
    ago = labels_of(shown(offline, "--time", "2h"))
    after = datetime.now(timezone.utc)
    moments = [int(t.timestamp() * 1000) for t in (before, after)]
    assert now in [labels.moment(ms) for ms in moments]
    assert ago in [labels.moment(ms - 7_200_000) for ms in moments]
    assert labels_of(shown(offline, "-l", "a:b")) == ["a:b"]


def test_mistakes(offline, tmp_path):
    """What is wrong is named, before any server is asked."""
    bad = tmp_path / "bad"
    bad.write_text("BSS here(on wlan0)\n", encoding="utf-8")
    huge = tmp_path / "huge"
    huge.write_bytes(b"\n" * (4 * 1024 * 1024 + 1))
    cases = {
        (): "the context is empty",
        ("--no-here",): "the context is empty",
        ("--wifi", "a4:2b:8c:01:02"): '"a4:2b:8c:01:02" is not an access point\'s address',
        ("--wifi", "a4:2b:8c:01:02:03="): "has no strength",
        ("--wifi", "a4:2b:8c:01:02:03=54"): "dBm from -127 to 0",
        ("--wifi", "a4:2b:8c:01:02:03=-128"): "dBm from -127 to 0",
        ("--wifi", "a4:2b:8c:01:02:03=-5x"): "has no strength",
        ("--wifi", "x" * 100 + "=-50"): "is not an access point's address",
        ("--wifi", "02:00:00:00:00:00=-42"): "Android gives it to apps that may not know the address",
        ("--at", "48.1"): "is not LAT,LON",
        ("--at", "48.1,11.5,7"): "is not LAT,LON",
        ("--at", "0x10,1"): "is not LAT,LON",
        ("--at", "nan,1"): "is not LAT,LON",
        ("--at", "90.1,0"): "latitude from -90 to 90",
        ("--at", "0,-180.5"): "longitude from -180",
        ("--neighbours", "--at", "48.1,11.5"): "there is no option --neighbours",
        ("--time", "noon"): "is neither now",
        ("--topic", " "): "the topic is empty",
        ("--topic", "a" * 235): "takes 235 bytes; there is room for 234",
        ("-l", "nocolon"): 'label "nocolon"',
        ("--scan", str(bad)): 'line 1 of the scan, "BSS here(on wlan0)"',
        ("--scan", str(huge)): "over 4194304 bytes",
        ("--scan", str(tmp_path / "none")): "cannot open",
        ("--scan", str(tmp_path)): "cannot read",
    }
    for args, said in cases.items():
        # Without a context the access point is asked; with --no-here it is not.
        commands = ("context", "query", "deposit", "here") if args else ("context",)
        for command in ("query", "deposit") if args == ("--no-here",) else commands:
            more = {"deposit": ["x"], "here": ["--memory", str(tmp_path / "way")]}.get(command, [])
            code, out, err = offline.run(command, *args, *more)
            assert (code, out) == (1 if args[-1:] == (str(bad),) else 2, "") and said in err, (command, args, err)
    assert not (tmp_path / "way").exists()
    code, _, err = offline.run("deposit", "--scan", "-", stdin=IW)
    assert code == 2 and "cannot both be standard input" in err
    code, _, err = offline.run("context", "-l", "a:b", "--profile", "v2:7/1")
    assert code == 2 and "v2:7/1" in err
    code, _, err = offline.run("query", "--batch", "-", "--topic", "x")
    assert code == 2 and "exclude each other" in err
    assert offline.run("context", "-l", "a:b")[0] == 3, "without --profile the server is asked"


def test_deposit_and_query(daemon):
    """A message that was left by a scan is found by another scanner's output of the same place,
    nearest where the strengths are alike, and by plain labels of the same form."""
    cli = cli_runner.of_daemon(daemon)
    cli.ok("deposit", "--scan", "-", "--topic", "Coffee", "near", stdin=IW)
    cli.ok("deposit", "--wifi", "a4-2b-8c-01-02-03=-90", "--wifi", "3C37865E11F0=-38", "--topic",
           "coffee", "far", stdin=IW)
    found = cli.json_lines("query", "--json", "--scan", "-", "--topic", "COFFEE", stdin=NMCLI)
    assert [message["text"] for message in found] == ["near", "far"]
    assert found[0]["distance"] == 0 < found[1]["distance"] < 1
    typed = [arg for label in of_sightings(SEEN) + ["topic:coffee"] for arg in ("-l", label)]
    assert cli.json_lines("query", "--json", *typed) == found
    (answer,) = cli.json_lines("context", "--json", "--topic", "x")
    assert answer["profile"] == wire.PROFILE, "the host's"
    # import takes the filter as it is printed, and the message is near whoever asks with the labels.
    line = {"profile": answer["profile"], "filter": answer["filter"], "text": "by its filter"}
    cli.ok("import", "-", stdin=json.dumps(line))
    (message,) = cli.json_lines("query", "--json", "--topic", "x", "--no-here", "-k", "1")
    assert message["text"] == "by its filter" and message["distance"] == 0


def test_lines_of_json(daemon, tmp_path):
    """import and query --batch take what is sensed as keys; wrong values are named."""
    cli = cli_runner.of_daemon(daemon)
    sensed = {"wifi": {"A4:2B:8C:01:02:03": -54, "3c37865e11f0": None}, "at": [48.1497, 11.5678],
              "time": "2026-11-20T14:00Z", "topics": ["Coffee"], "labels": ["any:thing"]}
    path = tmp_path / "lines"
    path.write_text(json.dumps({**sensed, "text": "here"}) + "\n", encoding="utf-8")
    cli.ok("import", str(path))
    expected = (labels.wifi("a42b8c010203", -54) + labels.wifi("3c37865e11f0")
                + labels.position(48.1497, 11.5678) + labels.moment(1795183200000)
                + ["topic:coffee", "any:thing"])
    (answer,) = cli.json_lines("query", "--batch", "-", stdin=json.dumps(sensed) + "\n")
    (same,) = cli.json_lines("query", "--batch", "-", stdin=json.dumps({"labels": expected}) + "\n")
    assert answer == same and answer["results"][0]["distance"] == 0
    bad = {
        '{"wifi": ["a"]}': '"wifi" is not an object',
        '{"wifi": {"a4:2b:8c:01:02:03": -54.5}}': "the strength of a4:2b:8c:01:02:03",
        '{"wifi": {"a4:2b:8c:01:02:03": 54}}': "the strength of a4:2b:8c:01:02:03",
        '{"wifi": {"nothing": -54}}': "is not an access point's address",
        '{"at": [1]}': '"at" is not [latitude, longitude]',
        '{"at": [91, 0]}': "latitude from -90",
        '{"at": {"lat": 1}}': '"at" is not',
        '{"at": [1, 2], "neighbours": true}': 'there is no key "neighbours"',
        '{"time": "noon"}': '"time" is not a moment',
        '{"topics": "coffee"}': '"topics" is not an array',
        '{"topics": [" "]}': "the topic is empty",
        '{"wifi": {}}': "the context is empty",
        '{"wifi": {"02:00:00:00:00:00": -42}}': "no access point can have such an address",
        '{"k": 3}': "the context is missing",
        '{"wify": {}}': 'did you mean "wifi"?',
    }
    code, out, _ = cli.run("query", "--batch", "-", stdin="".join(line + "\n" for line in bad))
    assert code == 1
    for line, said in zip(out.splitlines(), bad.values(), strict=True):
        assert said in json.loads(line)["error"], line


def test_room_for_topics(daemon):
    """A position, a time and four topics have room in the default profile, whatever bits their labels have: twelve
    labels, times four hashes, are less than half of the section `any`."""
    cli = cli_runner.of_daemon(daemon)
    said = {"52.52,13.405": ("coffee", "open stage", "lunch", "books"),
            "48.8566,2.3522": ("coffee", "queue", "open stage", "books"),
            "47.3769,8.5417": ("coffee", "queue", "open stage", "music"),
            "53.5511,9.9937": ("coffee", "queue", "open stage", "lost and found")}
    for at, topics in said.items():
        options = [part for topic in topics for part in ("--topic", topic)]
        code, _, err = cli.run("deposit", "--at", at, "--time", "2026-11-27T18:00Z", *options, "x")
        assert (code, err) == (0, ""), at


def test_scans_in_lines_of_json(daemon, rng):
    """"wifi" is a scan, too: the strongest count, and all lines together have one line about the others."""
    cli = cli_runner.of_daemon(daemon)
    crowd = {f"10:22:33:44:55:{i:02x}": -80 - i // 2 for i in range(71)}
    strongest = {bssid: dbm for bssid, dbm in crowd.items() if dbm >= -95}
    names = list(crowd)
    rng.shuffle(names)
    scans = [{"02:00:00:00:00:00": -30, **{name: crowd[name] for name in names}}, {**strongest, "10:22:33:44:55:a0": 0}]
    lines = [json.dumps({"wifi": wifi}) + "\n" for wifi in scans + [strongest]]
    assert len(strongest) == 32
    said = ("hearsay: access points left out: 40 because the others are stronger, 1 because no access point has such an "
            "address (Android says 02:00:00:00:00:00 where it hides one); strengths left out: 1 because they are not "
            "from -127 to -1 dBm\n")
    code, out, err = cli.run("import", "-", stdin=lines[0].replace("}}", '}, "text": "x"}'))
    assert (code, out) == (0, "1 deposited, 0 already there, 0 skipped\n")
    assert err.startswith("hearsay: access points left out: 39 because")
    code, out, err = cli.run("query", "--batch", "-", stdin="".join(lines))
    assert code == 0 and err == said
    assert [json.loads(line)["results"][0]["distance"] for line in out.splitlines()] == [0, 0, 0]
