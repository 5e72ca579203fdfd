# SPDX-License-Identifier: Apache-2.0
"""The filters that are not messages': the summary of a host, a reader's memory of what it has seen,
and its memory of where it has been."""

import base64
import json
import random

import pytest

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb

LABELS = [f"wifi:ap{number}" for number in range(60)]


@pytest.fixture
def own(make_daemon):
    """A daemon that no other test deposits into."""
    return make_daemon()


# --- summary --------------------------------------------------------------------------------------


def expected_summary(deposits):
    """Union, smallest and largest cardinality, count; worked out from the deposits themselves."""
    union, sizes = 0, [wire.bits_of(d.filter).bit_count() for d in deposits]
    for deposit in deposits:
        union |= wire.bits_of(deposit.filter)
    return union, min(sizes, default=0), max(sizes, default=0), len(deposits)


def told(client, host=None):
    answer = client.call(pb.Summary(host=host) if host else pb.Summary())
    assert len(answer.union_filter) == 64
    return (wire.bits_of(answer.union_filter), answer.cardinality_min, answer.cardinality_max,
            answer.count)


def test_summary_is_right_after_each_change(own, rng):
    """After each deposit, duplicate and withdrawal, and after a restart: the OR of all filters."""
    with own.client() as client:
        assert told(client) == (0, 0, 0, 0)
        stored = []
        for _ in range(40):
            if stored and rng.random() < 0.4:
                deposit, token = stored.pop(rng.randrange(len(stored)))
                client.call(pb.Withdraw(id=deposit.id, token=token))
            else:
                token = rng.randbytes(32)
                deposit = wire.deposit_of(rng, rng.sample(LABELS, rng.randint(1, 20)),
                                          withdraw_hash=wire.withdraw_hash(token))
                client.call(deposit)
                assert client.call(deposit).duplicate
                stored.append((deposit, token))
            assert told(client) == expected_summary([d for d, _ in stored])
    own.restart()
    with own.client() as client:
        assert told(client) == expected_summary([d for d, _ in stored])


def test_summary_forgets_what_expired(own, rng):
    """Expired messages leave without anyone asking; the others' bits stay."""
    with own.client() as client:
        short = [wire.deposit_of(rng, rng.sample(LABELS, 12), ttl_s=1) for _ in range(3)]
        stays = wire.deposit_of(rng, rng.sample(LABELS, 5))
        for deposit in (*short, stays):
            client.call(deposit)
        assert told(client) == expected_summary([*short, stays])
        wire.wait_until(lambda: told(client) == expected_summary([stays]), "the sweep")


def test_summary_command(make_daemon, rng):
    """For people and as JSON; each host has its own; the union filter is base64."""
    daemon = make_daemon("[host a]\nprofile = v2:512/4\n[host b]\nprofile = v2:512/4\n")
    cli = cli_runner.of_daemon(daemon)
    with daemon.client() as client:
        deposits = [wire.deposit_of(rng, rng.sample(LABELS, n), host="b") for n in (3, 9)]
        for deposit in deposits:
            client.call(deposit)
    union, least, most, count = expected_summary(deposits)
    line = cli.json_lines("summary", "--host", "b", "--json")[0]
    assert wire.bits_of(base64.b64decode(line.pop("union_filter"))) == union
    assert line == {"host": "b", "profile": "v2:512/4", "messages": count,
                    "union_bits": union.bit_count(), "cardinality_min": least,
                    "cardinality_max": most}
    text = cli.ok("summary", "--host", "b")
    assert f"{union.bit_count()} of 512" in text and f"{least} to {most} bits" in text
    assert cli.json_lines("summary", "--json")[0]["messages"] == 0
    assert cli.run("summary", "--host", "c")[0] == 2


# --- ids already seen -----------------------------------------------------------------------------


def slices_of(ids, rng, byte_count=200, hashes=7, per_slice=50):
    """Slices by the independent encoder: position i of an id by XXH3-128 with the slice's seed."""
    slices = []
    for start in range(0, len(ids), per_slice):
        one = pb.Slice(hashes=hashes, seed=rng.choice([0, rng.getrandbits(64)]))
        bits = 0
        for message_id in ids[start:start + per_slice]:
            for place in wire.slice_positions(message_id, hashes, byte_count * 8, one.seed):
                bits |= 1 << place
        one.bits = bits.to_bytes(byte_count, "little")
        slices.append(one)
    return slices


def is_excluded(message_id, slices):
    return any(
        all(wire.bits_of(s.bits) >> place & 1
            for place in wire.slice_positions(message_id, s.hashes, len(s.bits) * 8, s.seed))
        for s in slices)


@pytest.fixture(scope="module")
def stocked(module_daemons):
    """A daemon with 300 messages, and what it should answer."""
    rng = random.Random(4)
    daemon, reference = module_daemons(), wire.Reference()
    deposits = [wire.deposit_of(rng, rng.sample(LABELS, rng.randint(1, 12))) for _ in range(300)]
    with daemon.client() as client:
        for deposit, answer in zip(deposits, client.pipeline(deposits)):
            reference.add(deposit, answer.deposited)
    return daemon, reference


@pytest.mark.parametrize("metric", [pb.BITS, pb.PHI], ids=["bits", "phi"])
def test_excluded_are_left_out_and_k_others_come(stocked, rng, metric):
    """The answer is that of a host without the excluded messages, to the last tie."""
    daemon, reference = stocked
    with daemon.client() as client:
        for _ in range(25):
            seen = rng.sample(sorted(reference.messages), rng.choice([0, 1, 60, 250, 300]))
            slices = slices_of(seen, rng)
            rest = wire.Reference()
            rest.messages = {key: value for key, value in reference.messages.items()
                             if not is_excluded(key, slices)}
            query = wire.query_of(rng.sample(LABELS, 6), k=rng.choice([1, 10, 100]), metric=metric,
                                  exclude=slices, with_payload=rng.random() < 0.5)
            answer = client.call(query)
            assert [wire.shape(r) for r in answer.results] == rest.answer(query)
            assert not {r.id for r in answer.results} & set(seen)
            assert len(answer.results) == min(query.k, len(rest.messages)) and answer.exact


def test_pages_by_exclusion(stocked, rng):
    """Asking again and again for what is not seen yet gives every message once."""
    daemon, reference = stocked
    seen = []
    with daemon.client() as client:
        while True:
            answer = client.call(wire.query_of(LABELS[:5], k=64,
                                               exclude=slices_of(seen, rng, 4000, 10, 300)))
            if not answer.results:
                break
            seen += [r.id for r in answer.results]
    assert len(seen) == len(set(seen))
    assert set(seen) <= set(reference.messages) and len(seen) >= len(reference.messages) - 2


def test_full_and_empty_slices(stocked):
    """A slice with all bits set is refused; a slice without any leaves out nothing."""
    with stocked[0].client() as client:
        full = wire.query_of(LABELS[:3], exclude=[pb.Slice(bits=b"\xff", hashes=32)])
        refusal = client.refused(full)
        assert refusal.code == "FILL_OUT_OF_RANGE" and refusal.error.field == "exclude.bits"
        none = client.call(wire.query_of(LABELS[:3], exclude=[pb.Slice(bits=b"\0" * 60000, hashes=1)]))
        assert len(none.results) == 10


# --- hearsay query --unseen -----------------------------------------------------------------------

SEEN_HEAD, SEEN_RECORD = 12, 24  # bytes of the file before the records, and of each


def on(labels):
    return [word for label in labels for word in ("-l", label)]


def seen_ids(path):
    """The ids in a memory of messages seen, read by the format that the documentation states."""
    raw = path.read_bytes()
    assert raw[:SEEN_HEAD] == b"hearSeen\1\0\0\0"
    assert int.from_bytes(raw[-8:], "little") == wire.checksum(raw[:-8])
    body = raw[SEEN_HEAD:-8]
    assert len(body) % SEEN_RECORD == 0
    return [body[at:at + 16].hex() for at in range(0, len(body), SEEN_RECORD)]


MISSED = 3


@pytest.fixture
def reader(stocked, tmp_path):
    return cli_runner.of_daemon(stocked[0]), tmp_path / "seen"


def test_unseen_shows_each_message_once(reader, stocked):
    """Again and again k others, until all have been shown; then nothing, with exit code 1.

    A message is taken for a seen one with a chance of 0.001, so of the 20 that the last round is
    about up to MISSED may be left out: more are as likely as one run in a hundred million.
    """
    cli, path = reader
    query = ["query", *on(LABELS[:5]), "-k", "70", "--max-distance", "1", "--json",
             "--unseen", str(path)]
    shown = []
    for _ in range(5):
        left = 300 - len(shown)
        found = cli.json_lines(*query)
        assert min(70, left) - (MISSED if left < 70 else 0) <= len(found) <= min(70, left)
        shown += [line["id"] for line in found]
        assert sorted(seen_ids(path)) == sorted(shown)
    assert len(set(shown)) == len(shown)
    code, out, err = cli.run(*query)
    if len(shown) == 300:
        assert (code, out) == (1, "") and "nothing found" in err


def test_only_what_was_shown_is_seen(reader, rng):
    """What lies beyond the suggested distance, or could not be printed, is not marked as seen."""
    cli, path = reader
    code, _, err = cli.run("query", *on(LABELS[:5]), "--max-distance", "0.2", "--unseen", str(path))
    assert code in (0, 1) and len(seen_ids(path)) <= 10, err
    before = path.read_bytes()
    with open("/dev/full", "wb") as full:
        process = cli.start("query", *on(LABELS[:5]), "-d", "1", "--unseen", str(path), stdout=full)
        assert process.wait(wire.PATIENCE) == 1
    assert path.read_bytes() == before


def test_seen_are_forgotten_when_they_expire(own, rng, tmp_path):
    """Ids leave the memory with their messages; the others stay."""
    cli, path = cli_runner.of_daemon(own), tmp_path / "seen"
    labels = rng.sample(LABELS, 8)
    with own.client() as client:
        short = wire.deposit_of(rng, labels, ttl_s=2)
        expires = client.call(short).expires_ms
        stays = wire.deposit_of(rng, labels)
        client.call(stays)
        query = ["query", *on(labels), "--unseen", str(path)]
        cli.ok(*query)
        assert sorted(seen_ids(path)) == sorted([short.id.hex(), stays.id.hex()])
        wire.wait_until(lambda: client.call(pb.Ping()).now_ms > expires + 100, "expiry")
        assert cli.run(*query)[0] == 1
        assert seen_ids(path) == [stays.id.hex()]


def make_seen(path, ids, expires_ms=2**62):
    body = b"hearSeen" + (1).to_bytes(4, "little") + b"".join(
        i + expires_ms.to_bytes(8, "little") for i in ids)
    path.write_bytes(body + wire.checksum(body).to_bytes(8, "little"))


def test_unseen_is_capped_by_the_frame(reader, rng):
    """16,320 ids go in a frame of 64 KiB; more is a clear error, and nothing is lost."""
    cli, path = reader
    query = ["query", *on(LABELS[:5]), "-d", "1", "-k", "1", "--unseen", str(path)]
    make_seen(path, [rng.randbytes(16) for _ in range(16_320)])
    cli.ok(*query)
    assert len(seen_ids(path)) == 16_321
    make_seen(path, [rng.randbytes(16) for _ in range(17_000)])
    before = path.read_bytes()
    code, out, err = cli.run(*query)
    assert (code, out) == (2, "") and "17000 messages" in err and "16320" in err
    assert path.read_bytes() == before
    cli.ok(*query, "--miss", "0.2")  # smaller slices
    make_seen(path, [rng.randbytes(16) for _ in range(20_000)], expires_ms=1)
    cli.ok(*query)
    assert len(seen_ids(path)) == 1  # what had expired is gone


def test_unseen_misses_as_told(stocked, rng, tmp_path):
    """The rate at which other messages are taken for seen ones stays below what was allowed."""
    daemon, reference = stocked
    cli, path = cli_runner.of_daemon(daemon), tmp_path / "seen"
    query = ["query", *on(LABELS[:5]), "-k", "100", "-d", "1", "--json"]
    nearest = {line["id"] for line in cli.json_lines(*query)}
    missed = 0
    for _ in range(20):
        make_seen(path, [rng.randbytes(16) for _ in range(400)])
        shown = [line["id"] for line in
                 cli.json_lines(*query, "--unseen", str(path), "--miss", "0.01")]
        assert len(shown) == 100  # others come for those that were missed
        missed += len(nearest - set(shown))
    assert missed <= 20 + 6 * 20 ** 0.5  # of 2,000


@pytest.mark.parametrize("damage", ["cut", "flip", "other", "newer", "empty"])
def test_damaged_memory_is_refused_and_kept(reader, damage):
    """A clear error before anything is asked; the file stays byte for byte."""
    cli, path = reader
    cli.ok("query", *on(LABELS[:5]), "-d", "1", "--unseen", str(path))
    raw = bytearray(path.read_bytes())
    if damage == "cut":
        raw = raw[:-9]
    elif damage == "flip":
        raw[40] ^= 1
    elif damage == "other":
        raw = bytearray(b"#!/bin/sh\necho important\n")
    elif damage == "newer":
        raw[8] = 2
        raw[-8:] = wire.checksum(bytes(raw[:-8])).to_bytes(8, "little")
    else:
        raw = bytearray()
    path.write_bytes(raw)
    code, out, err = cli.run("query", *on(LABELS[:5]), "--unseen", str(path))
    assert (code, out) == (1, "") and str(path) in err
    assert {"newer": "version 2", "cut": "damaged", "flip": "damaged"}.get(damage, "is not a") in err
    assert path.read_bytes() == raw


def test_unseen_usage(reader):
    """What makes no sense together is said so."""
    cli, path = reader
    for words in (["--batch", "-", "--unseen", str(path)], ["--batch", "-", "--memory", str(path)],
                  [*on(LABELS[:1]), "--miss", "0.1"],
                  [*on(LABELS[:1]), "--unseen", str(path), "--miss", "0"],
                  [*on(LABELS[:1]), "--unseen", str(path), "--miss", "0.6"]):
        assert cli.run("query", *words)[0] == 2, words
    assert not path.exists()


# --- hearsay here, hearsay query --memory ----------------------------------------------------------


def here(cli, path, labels, *more):
    return cli.json_lines("here", "--memory", str(path), "--json", *on(labels), *more)[0]


def test_recent_contexts_blend(own, rng, tmp_path):
    """A context stays for R rounds; a query with the memory finds what was left along the way."""
    cli, path = cli_runner.of_daemon(own), tmp_path / "way"
    stations = [[f"wifi:s{s}-{i}" for i in range(4)] for s in range(6)]
    with own.client() as client:
        ids = []
        for station in stations:
            deposit = wire.deposit_of(rng, station)
            client.call(deposit)
            ids.append(deposit.id.hex())
    for now, station in enumerate(stations):
        told = here(cli, path, station, *(["--rounds", "3"] if now == 0 else []))
        lately = [label for s in stations[max(0, now - 2):now + 1] for label in s]
        blended = wire.filter_of(lately)
        assert base64.b64decode(told["filter"]) == blended
        assert told["rounds"] == 3 and told["profile"] == wire.PROFILE
        assert told["memory_bits"] == wire.bits_of(blended).bit_count()
        assert told["here_bits"] == wire.bits_of(wire.filter_of(station)).bit_count()
        near = cli.json_lines("query", "--memory", str(path), "--json", "-k", "3", "-d", "1")
        assert {line["id"] for line in near} >= set(ids[max(0, now - 2):now + 1])
    # labels add to it; the memory itself stays as it is
    before = path.read_bytes()
    near = cli.json_lines("query", "--memory", str(path), *on(stations[0]), "--json", "-k", "4")
    assert ids[0] in {line["id"] for line in near}
    assert path.read_bytes() == before
    assert "rounds" in cli.ok("here", "--memory", str(path), *on(stations[1]))


SECTIONS = "v2:wifi=256/2,geo=96/1,time=32/1,topic=97/2,joint(geo,time)=31/1"


def test_recent_contexts_of_sections(make_daemon, rng, tmp_path):
    """Contexts are told as to query and deposit. In a memory of a profile with sections the filters
    of whole contexts blend: pairs of a place and an hour that were there together, and no others."""
    cli = cli_runner.of_daemon(make_daemon(f"[host here]\nprofile = {SECTIONS}\n"))
    path = str(tmp_path / "way")
    rounds = [(("--scan", "-", "--topic", "Tea", "-l", "geo:u281zd", "-l", "time:2026-11-20T14"),
               ["wifi:a4:2b:8c:01:02:03", "wifi:a4:2b:8c:01:02:03@2", "wifi:a4:2b:8c:01:02:03@3", "topic:tea",
                "geo:u281zd", "time:2026-11-20T14"]),
              (("-l", "geo:u0yhxx", "--time", "2026-11-21T09:00Z"),
               ["geo:u0yhxx", "time:2026-11-21T09", "time:w6T09"])]
    blended = 0
    for given, labels in rounds:
        cli.ok("deposit", *given, "here", stdin="A4\\:2B\\:8C\\:01\\:02\\:03:40\n")
        told = json.loads(cli.ok("here", "--memory", path, "--json", *given,
                                 stdin="A4\\:2B\\:8C\\:01\\:02\\:03:40\n"))
        blended |= wire.bits_of(wire.filter_of(labels, SECTIONS))
        assert told["here_bits"] == wire.bits_of(wire.filter_of(labels, SECTIONS)).bit_count()
        assert wire.bits_of(base64.b64decode(told["filter"])) == blended
    both = rounds[0][1] + rounds[1][1]
    assert wire.bits_of(wire.filter_of(both, SECTIONS)) & ~blended, "pairs across the rounds"
    # Distances are those of the blend; with a context too, of that as well.
    for given, more in [((), []), (("--topic", "Jazz"), ["topic:jazz"])]:
        asked = blended | (wire.bits_of(wire.filter_of(more, SECTIONS)) if more else 0)
        near = cli.json_lines("query", "--memory", path, *given, "--json", "-d", "1")
        wanted = []
        for _, labels in rounds:
            bits = wire.bits_of(wire.filter_of(labels, SECTIONS))
            wanted.append(((asked & bits).bit_count(), (asked | bits).bit_count()))
        assert sorted((line["intersection"], line["union"]) for line in near) == sorted(wanted)
    code, _, err = cli.run("here", "--memory", path, "-l", "word:tea")
    assert code == 2 and 'no section for the attribute "word"' in err


def test_here_needs_no_server_twice(own, tmp_path):
    """The profile comes from the server, from --profile, or from the file."""
    path = tmp_path / "way"
    cli = cli_runner.of_daemon(own)
    away = cli_runner.Cli("127.0.0.1:1", cli.home)
    assert away.run("here", "--memory", str(path), *on(LABELS[:2]))[0] == 3
    assert here(cli, path, LABELS[:2])["rounds"] == 8
    assert here(away, path, LABELS[2:4], "--rounds", "2")["rounds"] == 2
    other = tmp_path / "other"
    assert here(away, other, LABELS[:2], "--profile", "v2:256/4")["profile"] == "v2:256/4"
    before = other.read_bytes()
    for words in (["query", "--memory"], ["here", *on(LABELS[:1]), "--host", "default", "--memory"]):
        code, _, err = cli.run(*words, str(other))
        assert code == 1 and "v2:256/4" in err and wire.PROFILE in err
    assert other.read_bytes() == before


def test_here_leaves_a_damaged_memory(own, tmp_path):
    """A clear error, and nothing lost; a bad label does not cost a round either."""
    cli, path = cli_runner.of_daemon(own), tmp_path / "way"
    here(cli, path, LABELS[:3])
    raw = bytearray(path.read_bytes())
    assert cli.run("here", "--memory", str(path), "-l", "no label")[0] == 2
    assert path.read_bytes() == raw
    raw[60] ^= 4
    path.write_bytes(raw)
    for words in (["here", *on(LABELS[:1])], ["query"]):
        code, out, err = cli.run(*words, "--memory", str(path))
        assert (code, out) == (1, "") and "damaged" in err and str(path) in err
    assert path.read_bytes() == raw
    code, _, err = cli.run("query", "--memory", str(tmp_path / "none"))
    assert code == 1 and "none" in err
    for words in (on(LABELS[:1]), ["--memory", str(path)],
                  ["--memory", str(path), *on(LABELS[:1]), "--rounds", "0"],
                  ["--memory", str(path), *on(LABELS[:1]), "--rounds", "256"]):
        assert cli.run("here", *words)[0] == 2
