# SPDX-License-Identifier: Apache-2.0
"""The filters that are not messages': the summary of a host, a reader's memory of what it has seen,
and its memory of where it has been."""

import base64
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
    daemon = make_daemon("[host a]\nprofile = v1:512/4\n[host b]\nprofile = v1:512/4\n")
    cli = cli_runner.of_daemon(daemon)
    with daemon.client() as client:
        deposits = [wire.deposit_of(rng, rng.sample(LABELS, n), host="b") for n in (3, 9)]
        for deposit in deposits:
            client.call(deposit)
    union, least, most, count = expected_summary(deposits)
    line = cli.json_lines("summary", "--host", "b", "--json")[0]
    assert wire.bits_of(base64.b64decode(line.pop("union_filter"))) == union
    assert line == {"host": "b", "profile": "v1:512/4", "messages": count,
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


@pytest.mark.parametrize("metric", [pb.BITS, pb.ESTIMATED], ids=["bits", "estimated"])
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


def test_full_slice_leaves_nothing(stocked):
    """A slice with all bits set leaves out all there is; a slice without any leaves out nothing."""
    with stocked[0].client() as client:
        full = client.call(wire.query_of(LABELS[:3], exclude=[pb.Slice(bits=b"\xff", hashes=32)]))
        assert not full.results and full.exact
        none = client.call(wire.query_of(LABELS[:3], exclude=[pb.Slice(bits=b"\0" * 60000, hashes=1)]))
        assert len(none.results) == 10
