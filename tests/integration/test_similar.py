# SPDX-License-Identifier: Apache-2.0
"""Groups of near-duplicates: what an operator sees of a flood."""

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb

FLOOD = [f"wifi:02:00:00:00:00:{i:02x}" for i in range(20)]


def bits_of(filter_bytes):
    return int.from_bytes(filter_bytes, "little")


def is_near(a, b, within_ppm):
    """Whether the Jaccard distance of two filters is at most so many millionths."""
    union = (a | b).bit_count()
    return (union - (a & b).bit_count()) * 1_000_000 <= union * within_ppm


def plain_groups(messages, within_ppm):
    """The definition of docs/protocol.md: (count, oldest, newest) of each group, the largest first."""
    messages = sorted(messages)
    covered = set()
    groups = []
    for time, one, filter_bits in messages:
        if one in covered:
            continue
        members = [(at, other) for at, other, bits in messages if is_near(filter_bits, bits, within_ppm)]
        covered.update(other for _, other in members)
        if len(members) > 1:
            groups.append((len(members), (time, one), members[-1]))
    return sorted(groups, key=lambda group: (-group[0], group[1]))


def as_tuples(answer):
    return [(g.count, (g.oldest_ms, g.oldest), (g.newest_ms, g.newest)) for g in answer.groups]


def fill(client, rng):
    """A flood of equal messages, some that are near to it, and others. What Export has of them."""
    for number in range(60):
        labels = list(FLOOD)
        if number % 3 == 1:
            labels[rng.randrange(20)] = f"topic:{number}"
        elif number % 3 == 2:
            labels = [f"wifi:{rng.randrange(12)}", f"topic:{rng.randrange(3)}"]
        client.call(wire.deposit_of(rng, labels))
    return [(m.deposited_ms, m.id, bits_of(m.filter)) for m in client.call(pb.Export()).messages]


def test_groups_are_those_of_all_pairs(make_daemon, rng):
    """Any distance, any limit; and the same after a restart."""
    daemon = make_daemon()
    with daemon.administrator() as client:
        messages = fill(client, rng)
        for within in (0, 50_000, 150_000, 400_000, 999_999, 1_000_000):
            expected = plain_groups(messages, within)
            answer = client.call(pb.Similar(max_distance=within))
            assert as_tuples(answer) == expected
            assert (answer.total, answer.messages) == (len(expected), len(messages))
            few = client.call(pb.Similar(max_distance=within, limit=2))
            assert as_tuples(few) == expected[:2] and few.total == len(expected)
        assert expected[0][0] == len(messages), "distance 1: all are one group"
        equal = client.call(pb.Similar())
        assert equal.groups[0].count == 20
    daemon.stop()
    daemon.start()
    with daemon.administrator() as client:
        assert client.call(pb.Similar()) == equal


def test_others_are_served(make_daemon, rng):
    """Similar is answered when it is done; the requests behind it are served meanwhile."""
    daemon = make_daemon()
    with daemon.administrator() as client:
        fill(client, rng)
        similar = client.post(pb.Similar(max_distance=200_000))
        refused = client.post(pb.Similar(max_distance=200_000))
        answers = {answer.id: answer for answer in (client.receive(), client.receive())}
        assert answers[similar].similar_list.total > 0
        assert (wire.ERROR_CODES[answers[refused].error.code] == "RATE_LIMITED"
                or answers[refused].similar_list == answers[similar].similar_list)


def test_a_client_that_goes_ends_its_search(make_daemon, rng):
    """A long search holds up neither the requests behind it nor the next client."""
    daemon = make_daemon("[host default]\nmessages = 20000\n")
    with daemon.administrator() as client:
        for _ in range(4):
            deposits = [wire.deposit_of(rng, [f"wifi:{rng.randrange(50_000)}" for _ in range(15)])
                        for _ in range(2000)]
            assert all(answer.WhichOneof("body") == "deposited" for answer in client.pipeline(deposits))
        # In one write, so that the search cannot end before the daemon has the pings.
        made = [wire.request(body, client.new_id())
                for body in [pb.Similar(max_distance=500_000)] + 20 * [pb.Ping()]]
        client.send_bytes(b"".join(map(wire.frame, made)))
        assert [client.receive().id for _ in range(20)] == [ping.id for ping in made[1:]]
    with daemon.administrator() as other:
        wire.wait_until(lambda: other.pipeline([pb.Similar()])[0].WhichOneof("body") == "similar_list",
                        "the search has ended with its client")


def test_command(make_daemon, rng, tmp_path):
    """What the command prints, for people and as JSON; and what it needs."""
    daemon = make_daemon()
    with daemon.administrator() as client:
        messages = fill(client, rng)
        expected = plain_groups(messages, 150_000)
    cli = cli_runner.Cli(daemon.socket_path, str(tmp_path))
    text = cli.ok("admin", "similar", "--within", "0.15")
    rows = text.splitlines()
    assert rows[-1] == f"60 messages, {len(expected)} groups"
    assert rows[1].split()[0] == str(expected[0][0])
    assert expected[0][1][1].hex() in rows[1] and expected[0][2][1].hex() in rows[1]
    lines = cli.json_lines("admin", "similar", "--within", "0.15", "--limit", "3", "--json")
    assert [(line["count"], line["oldest"], line["newest"]) for line in lines] == [
        (count, oldest[1].hex(), newest[1].hex()) for count, oldest, newest in expected[:3]]
    few = cli.ok("admin", "similar", "--within", "0.15", "--limit", "1")
    assert few.splitlines()[-1].endswith("groups, the largest 1 above")
    code, _, wrong = cli.run("admin", "similar")
    assert code == 2 and "--within" in wrong
