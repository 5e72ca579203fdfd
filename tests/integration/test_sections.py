# SPDX-License-Identifier: Apache-2.0
"""Profiles with sections, from the configuration to the command: what an independent encoder
makes of the labels, what the host publishes, and what is refused."""

import json
import re

import pytest

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb

PROFILE = "v2:wifi=256/2,geo=96/1,time=32/1,topic=97/2,joint(geo,time)=31/1"
CONFIG = f"[host here]\nprofile = {PROFILE}\n[host plain]\n"
HERE = ["wifi:a4:2b:8c:01:02:03", "geo:u281zd", "time:2026-11-20T14", "topic:coffee"]


@pytest.fixture
def daemon(make_daemon):
    return make_daemon(CONFIG)


@pytest.fixture
def cli(daemon):
    return cli_runner.of_daemon(daemon)


def options(labels):
    return [word for label in labels for word in ("-l", label)]


def test_published_and_taken(daemon, rng):
    """Welcome has the profile's text; filters made by another implementation find their like."""
    with daemon.client() as client:
        assert [h.profile for h in client.welcome.hosts] == [PROFILE, wire.PROFILE]
        sent = wire.deposit_of(rng, HERE, PROFILE)
        client.call(sent)
        found = client.call(wire.query_of(HERE, profile=PROFILE)).results
        assert [(r.id, r.distance) for r in found] == [(sent.id, 0)]
        refusal = client.refused(wire.query_of(HERE[:1], profile="v2:256/4"))
        assert refusal.code == "PROFILE_MISMATCH"


# First bit and bits of each section of PROFILE.
PLACES = {"wifi": (0, 256), "geo": (256, 96), "time": (352, 32), "topic": (384, 97),
          "joint(geo,time)": (481, 31)}


@pytest.mark.parametrize("section", PLACES)
def test_the_fullest_section_counts(daemon, rng, section):
    """A section that is nearly full seems to contain each of its labels, however empty the others are. So
    each section has at most half of its bits set, and the refusal names the one that has more."""
    first, bits = PLACES[section]
    most = bits // 2
    fitting, too_full = (((1 << count) - 1 << first | 1).to_bytes(64, "little")
                         for count in (most, most + 1))
    with daemon.client() as client:
        client.call(pb.Deposit(id=wire.new_id(rng), filter=fitting))
        part = pb.QueryPart(filter=fitting, contains=fitting)
        assert len(client.call(pb.Query(parts=[part], k=10)).results) == 1
        for body, field in (
                (pb.Deposit(id=wire.new_id(rng), filter=too_full), "filter"),
                (pb.Query(parts=[pb.QueryPart(filter=too_full)], k=10), "parts.filter"),
                (pb.Query(parts=[pb.QueryPart(filter=fitting, contains=too_full)], k=10),
                 "parts.contains"),
                (pb.Watch(query=pb.Query(parts=[pb.QueryPart(filter=too_full)])),
                 "query.parts.filter")):
            refusal = client.refused(body)
            assert (refusal.code, refusal.error.field) == ("FILL_OUT_OF_RANGE", field)
            assert refusal.error.message == (
                f"{most + 1} of {bits} bits of the section {section} are set; at most {most} are taken here (50 %)")


def test_the_fill_of_one_section_for_all_labels(make_daemon, rng):
    """Without named sections the refusal speaks of the filter."""
    with make_daemon("[host plain]\nprofile = v2:512/4\n").client() as client:
        refusal = client.refused(pb.Deposit(id=wire.new_id(rng), filter=b"\xff" * 64))
        assert refusal.error.message == "512 of 512 bits are set; at most 256 are taken here (50 %)"
        refusal = client.refused(pb.Deposit(id=wire.new_id(rng), filter=bytes(64)))
        assert refusal.error.message == "0 of 512 bits are set; at least 1 must be (0.02 %)"
        part = pb.QueryPart(filter=bytes(64), contains=bytes(8))
        assert client.refused(pb.Query(k=1, parts=[part])).error.message == (
            "parts.contains has 8 bytes; the profile v2:512/4 of host \"plain\" takes 64")


@pytest.mark.parametrize("profile", ["v2:4096/1", "v2:2048/2", "v2:1024/1"])
def test_one_label_is_enough(make_daemon, rng, profile):
    """By default, with every profile: 4 of 4096 bits were "0.1 %; at least 0.1 % are taken here"."""
    with make_daemon(f"[host plain]\nprofile = {profile}\n").client() as client:
        client.call(wire.deposit_of(rng, ["topic:tea"], profile))


def test_contains_does_not_mix_messages(daemon, rng):
    """A place from one message and an hour from another are together in none of them."""
    with daemon.client() as client:
        moments = [("geo:u281zd", "time:2026-11-20T14"), ("geo:u0yhxx", "time:2026-11-21T09")]
        ids = []
        for moment in moments:
            deposit = wire.deposit_of(rng, [*moment, "topic:tea"], PROFILE)
            client.call(deposit)
            ids.append(deposit.id)
        for moment, wanted in [*zip(moments, ids), ((moments[0][0], moments[1][1]), None)]:
            query = wire.query_of(["topic:tea"], profile=PROFILE, contains=moment)
            found = [r.id for r in client.call(query).results]
            assert found == ([wanted] if wanted else [])
        for label, wanted in [(moments[0][0], ids[0]), (moments[1][1], ids[1])]:
            query = wire.query_of(["topic:tea"], profile=PROFILE, contains=[label])
            assert [r.id for r in client.call(query).results] == [wanted]


def stored_filters(daemon):
    with daemon.administrator() as client:
        return [m.filter for m in client.call(pb.Export(host="here")).messages]


@pytest.mark.parametrize(
    "labels",
    [
        HERE,
        ["wifi:a", "wifi:b"],
        ["geo:u281zd", "geo:u281ze", "time:2026-11-20T14", "time:2026-11-20T15", "geo:u281"],
        ["time:w5T10", "geo:u281zd", "wifi:a", "topic:caf\u00e9"],
    ],
    ids=["all", "two", "pairs", "no-pair"],
)
def test_command_encodes_alike(daemon, cli, labels):
    """deposit and query use the host's profile, joint section included."""
    cli.ok("deposit", *options(labels), "hello")
    assert stored_filters(daemon) == [wire.filter_of(labels, PROFILE)]
    found = cli.json_lines("query", "--json", *options(labels))
    assert [(r["distance"], r["text"]) for r in found if "id" in r] == [(0, "hello")]
    cli.ok("deposit", "--host", "plain", *options([*labels, "word:x"]), "anything goes here")


def test_labels_without_a_section(daemon, cli):
    """Exit 2; the attribute and the sections that there are; nothing is stored."""
    for command in (["deposit", *options(HERE), "-l", "word:tea", "x"],
                    ["query", *options(HERE), "-l", "word:tea"],
                    ["query", *options(HERE), "--contains", "word:tea"]):
        code, out, err = cli.run(*command)
        assert (code, out) == (2, ""), (command, err)
        assert 'no section for the attribute "word"' in err
        assert "its sections are wifi, geo, time, topic" in err
    line = json.dumps({"labels": ["word:tea"], "text": "x"}) + "\n"
    code, _, err = cli.run("import", "-", stdin=line)
    assert code != 0 and 'no section for the attribute "word"' in err
    assert stored_filters(daemon) == []


def test_profile_describes_sections(cli):
    """Every section with its own rate; the rate of the whole is their product."""
    code, out, _ = cli.run_plain("profile", PROFILE, "--json", "--labels", "wifi=25,geo=2")
    told = json.loads(out)
    assert (code, told["profile"], told["bits"]) == (0, PROFILE, 512)
    sections = told["sections"]
    assert [(s["section"], s["first_bit"], s["bits"], s["hashes"], s["labels"]) for s in sections] == [
        ("wifi", 0, 256, 2, 25),
        ("geo", 256, 96, 1, 2),
        ("time", 352, 32, 1, 2),
        ("topic", 384, 97, 2, 3),
        ("joint(geo,time)", 481, 31, 1, 1),
    ]
    product = 1.0
    for s in sections:
        bits, hashes, labels = s["bits"], s["hashes"], s["labels"]
        assert s["expected_fill"] == pytest.approx(1 - (1 - hashes / bits) ** labels, rel=1e-4)
        fill = 1 - (1 - 1 / bits) ** (hashes * labels)
        assert s["false_positive_rate"] == pytest.approx(fill**hashes, rel=1e-4)
        product *= fill**hashes
    assert told["false_positive_rate"] == pytest.approx(product, rel=1e-4)
    assert told["labels"] == 25 + 2 + 2 + 3
    text = cli.run_plain("profile", PROFILE)[1].decode()
    assert all(s["section"] in text for s in sections) and "even" not in text
    even = cli.run_plain("profile", PROFILE.replace("97/2", "96/2").replace("31/1", "32/1"))[1].decode()
    assert "joint(geo,time): labels that collide" in even


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["v2:wifi=256/2,geo=96/1"], ["multiple of 64", "352"]),
        (["v2:wifi=256/2,geo=256/0"], ['section "geo=256/0"', "d must be 1 to 32"]),
        (["v2:wifi=256/2,wifi=256/2"], ['section "wifi=256/2"', "there already"]),
        (["v2:geo=32/1,joint(geo,time)=32/1"], ['"joint(geo,time)=32/1"', "no section of its own"]),
        ([PROFILE, "--labels", "word=3"], ["word", "wifi, geo, time, topic"]),
        ([PROFILE, "--labels", "wifi=x"], ["wifi=x"]),
        ([PROFILE, "--labels", "0"], ["1000000"]),
        (["v2:512/4", "--labels", "wifi=3"], ["wifi=3"]),
        (["--labels", "wifi=3"], ["wifi=3"]),
    ],
)
def test_profile_refusals(cli, arguments, words):
    code, out, err = cli.run_plain("profile", *arguments)
    assert (code, out) == (2, b"")
    for word in words:
        assert word in err


@pytest.mark.parametrize(
    "profile, word",
    [
        ("v2:wifi=256/2,geo=100/1", "356"),
        ("v2:wifi=256/2,geo=256/99", 'section "geo=256/99"'),
        ("v2:geo=32/1,joint(geo,time)=32/1", "any"),
    ],
)
def test_configuration_names_the_section(make_daemon, profile, word):
    """Exit 2 with file, line and what is wrong."""
    daemon = make_daemon(f"[host here]\nprofile = {profile}\n", start=False)
    daemon.launch()
    assert daemon.wait_exit() == 2
    assert daemon.find_log(re.escape(f"{daemon.config_file}:5: ") + ".*" + re.escape(word))


def test_the_profile_is_kept(daemon, rng):
    """Sections are part of what a host with messages cannot change, even at the same m."""
    with daemon.client() as client:
        client.call(wire.deposit_of(rng, HERE, PROFILE))
    daemon.stop()
    daemon.configure(CONFIG.replace("wifi=256/2,geo=96/1", "geo=96/1,wifi=256/2"))
    daemon.launch()
    assert daemon.wait_exit() == 2
    assert PROFILE in daemon.log_text()
    daemon.configure(CONFIG)
    daemon.start()
    with daemon.client() as client:
        assert len(client.call(wire.query_of(HERE, profile=PROFILE)).results) == 1
