# SPDX-License-Identifier: Apache-2.0
"""Query with the scope HOOD: the answer of all hosts of a hood, as one list and sorting give it."""

import struct

import pytest

import cli_runner
import fake_server
import hearsay_wire as wire
from hearsay_wire import WHOLE, pb
from test_filters import is_excluded, slices_of

LABELS = [f"wifi:ap{n}" for n in range(30)] + [f"topic:t{n}" for n in range(8)]
PROFILES = [wire.PROFILE, "v2:512/4", "v2:wifi=256/2,geo=96/1,any=160/2"]
OPEN = "[limits]\ndeposit_fill_max = 100%\nquery_fill_max = 100%\ndeposit_fill_min = 0%\n"


def context(rng, most=10):
    return rng.sample(LABELS, rng.randint(1, most))


class Host:
    """A host as a world has made it, and its messages: id -> (Deposit, Deposited)."""

    def __init__(self, number, profile, hood, epoch):
        self.name, self.profile, self.hood = f"h{number}", profile, hood
        self.has_epochs, self.epoch = epoch, 0
        self.messages = {}

    def section(self):
        lines = [f"[host {self.name}]", f"profile = {self.profile}"]
        lines += [f"hood = {self.hood}"] if self.hood else []
        lines += ["epoch_length = 1d"] if self.has_epochs else []
        return "\n".join(lines) + "\n"


class Reference(wire.Reference):
    """The answer over several hosts, by brute force."""

    def __init__(self, asked, hosts):
        super().__init__(asked.profile)
        others = [h for h in hosts if asked.hood and h.hood == asked.hood and h is not asked]
        self.peers = [h for h in others if h.profile == asked.profile]
        self.other = len(others) - len(self.peers)
        self.asked = asked

    def _sees(self, query, host, deposit, deposited):
        if query.HasField("since_ms") and deposited.deposited_ms < query.since_ms:
            return []
        if query.HasField("until_ms") and deposited.deposited_ms >= query.until_ms:
            return []
        if is_excluded(deposit.id, query.exclude):
            return []
        parts = [p for p in query.parts
                 if p.epoch == deposit.epoch and (p.epoch == 0 or host is self.asked)]
        ranks = [(self._rank(query, p, deposit), p) for p in parts]
        return [r for r in ranks if r[0] is not None]

    def answer(self, query, now_ms=None):
        found = []
        for place, host in enumerate([self.asked, *self.peers]):
            for deposit, deposited in host.messages.values():
                seen = self._sees(query, host, deposit, deposited)
                if seen:
                    rank, part = min(seen, key=lambda r: r[0])
                    found.append((rank, -deposited.deposited_ms, deposit.id, place, part,
                                  (deposit, deposited)))
        def newest(entry):
            rank, *when_and_id, place = entry[:4]
            return (*when_and_id, rank, place)  # of one id at several hosts the nearer one

        nearest = sorted(found, key=newest if query.order == pb.NEWEST else lambda f: f[:4])[: query.k]
        if query.order == pb.TIME:
            nearest.sort(key=lambda f: f[1:3])
        names = [h.name for h in (self.asked, *self.peers)]
        return [(names[place], *self._shape(query, part, *message))
                for _, _, _, place, part, message in nearest]


def shapes(answer):
    return [(r.host, *wire.shape(r)) for r in answer.results]


def canonical(entries, order):
    """Messages of one id at several hosts may come in any order."""
    if order in (pb.TIME, pb.NEWEST):
        return sorted(entries, key=lambda e: (-e[6], e[1], e[0]))
    return entries


# --- random worlds --------------------------------------------------------------------------------


def make_world(make, rng, count):
    """A daemon of `count` hosts of a few hoods, profiles and epochs, with messages."""
    hosts = [Host(n, rng.choice(PROFILES[: rng.choice([1, 3])]), rng.choice(["", "a", "a", "b"]),
                  rng.random() < 0.3) for n in range(count)]
    daemon = make(OPEN + f"cache = {rng.choice([0, '8M'])}\n" + "".join(h.section() for h in hosts))
    with daemon.client() as client:
        for told, host in zip(client.welcome.hosts, hosts):
            assert (told.name, told.hood) == (host.name, host.hood)
            host.epoch = told.epoch.number
        for _ in range(3):
            fill_world(client, rng, hosts, 200)
    with daemon.administrator() as operator:
        thin_out(operator, rng, hosts)
    return daemon, hosts


def fill_world(client, rng, hosts, count):
    """Deposits in one pipeline; some ids are at several hosts."""
    sent, ids, taken = [], [], set()
    for _ in range(count):
        host = rng.choice(hosts)
        fields = {"host": host.name, "withdraw_hash": wire.withdraw_hash(b"t" * 32)}
        if host.epoch and rng.random() < 0.4:
            fields["epoch"] = host.epoch
        if rng.random() < 0.3:
            fields["reach"] = rng.choice([300_000, 700_000])
        twin = rng.choice(ids) if ids and rng.random() < 0.2 else None
        if twin and (host, twin) not in taken:
            fields["id"] = twin
        one = wire.deposit_of(rng, context(rng), host.profile, **fields)
        ids.append(one.id)
        taken.add((host, one.id))
        sent.append((host, one))
    for (host, one), answer in zip(sent, client.pipeline([d for _, d in sent])):
        assert answer.HasField("deposited"), answer
        host.messages[one.id] = (one, answer.deposited)


def thin_out(operator, rng, hosts):
    """Some messages are withdrawn, hidden or removed."""
    for host in hosts:
        for message_id in list(host.messages):
            act = rng.choice([pb.Withdraw(token=b"t" * 32), pb.Hide(), pb.Remove()])
            if rng.random() < 0.15:
                act.host, act.id = host.name, message_id
                operator.call(act)
                del host.messages[message_id]


def random_query(rng, asked, hosts, times, ids):
    fields = {"host": asked.name, "scope": pb.HOOD, "k": rng.choice([1, 2, 10, 33, 100])}
    fields["metric"] = rng.choice([pb.BITS, pb.PHI])
    fields["order"] = rng.choice([pb.SIMILARITY, pb.TIME, pb.NEWEST])
    fields["with_payload"] = rng.random() < 0.5
    if rng.random() < 0.5:
        fields["max_distance"] = rng.choice([0, 250_000, 500_000, 800_000, WHOLE])
    if rng.random() < 0.3:
        fields["since_ms"] = rng.choice(times)
    if rng.random() < 0.3:
        fields["until_ms"] = fields.get("since_ms", times[0]) + rng.randint(1, 300)
    query = pb.Query(**fields)
    if rng.random() < 0.3:
        query.exclude.extend(slices_of(rng.sample(ids, min(len(ids), 20)), rng, 4000, 5, 50))
    for _ in range(rng.choice([1, 1, 2]) if len(hosts) > 8 else rng.choice([1, 2, 5])):
        part = query.parts.add(filter=wire.filter_of(context(rng), asked.profile))
        if asked.epoch and rng.random() < 0.4:
            part.epoch = asked.epoch
        if rng.random() < 0.3:
            part.contains = wire.filter_of(context(rng, 2), asked.profile)
    return query


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9, 17, 33, 64])
def test_random_worlds(make_daemon, rng, count):
    """All kinds of queries over all kinds of hoods: what brute force finds, to the last tie."""
    daemon, hosts = make_world(make_daemon, rng, count)
    members = [h for h in hosts if h.hood] or hosts
    times = sorted(a.deposited_ms for h in hosts for _, a in h.messages.values())
    ids = [i for h in hosts for i in h.messages]
    with daemon.client() as client:
        for _ in range(60):
            asked = rng.choice(members)
            query = random_query(rng, asked, hosts, times, ids)
            if not asked.hood:
                assert client.refused(query).error.field == "scope"
                continue
            reference = Reference(asked, hosts)
            answer = client.call(query)
            assert canonical(shapes(answer), query.order) == \
                canonical(reference.answer(query), query.order)
            is_open = any(p.epoch == 0 for p in query.parts)
            assert answer.exact and answer.complete and not answer.capped
            assert answer.peers == len(reference.peers)
            assert answer.peers_asked == (len(reference.peers) if is_open else 0)
            assert answer.peers_other == reference.other
            assert abs(answer.as_of_ms - client.call(pb.Ping()).now_ms) < 60_000


# --- who belongs to a hood ------------------------------------------------------------------------


HOODS = """
[host lobby]
hood = campus
[host library]
hood = campus
[host private]
[host elsewhere]
hood = town
[host odd]
hood = campus
profile = v2:1024/4
"""


@pytest.fixture(scope="module")
def campus(module_daemons):
    return module_daemons(HOODS)


def leave(client, rng, host, labels, **fields):
    one = wire.deposit_of(rng, labels, host=host, **fields)
    client.call(one)
    return one


def hood_of(labels, host="lobby", **fields):
    return wire.query_of(labels, host=host, scope=pb.HOOD, with_payload=True, **fields)


def test_only_hosts_that_agreed(campus, rng):
    """Found: the messages of hosts with the same `hood` and profile, and no others."""
    labels = [f"topic:{rng.random()}"]
    with campus.client() as client:
        sent = {h: leave(client, rng, h, labels) for h in ("lobby", "library", "private", "elsewhere")}
        answer = client.call(hood_of(labels, max_distance=0))
        assert {(r.host, r.id, r.payload) for r in answer.results} == {
            (h, sent[h].id, sent[h].payload) for h in ("lobby", "library")}
        assert (answer.complete, answer.peers, answer.peers_asked, answer.peers_other) == (True, 1, 1, 1)
        (only,) = client.call(hood_of(labels, host="elsewhere", max_distance=0)).results
        assert (only.host, only.id) == ("elsewhere", sent["elsewhere"].id)


def test_a_hood_of_one_answers_as_here(campus, rng):
    """No peers: the answer is that of the host, and complete."""
    labels = [f"topic:{rng.random()}"]
    with campus.client() as client:
        leave(client, rng, "elsewhere", labels)
        here = client.call(wire.query_of(labels, host="elsewhere", with_payload=True))
        answer = client.call(hood_of(labels, host="elsewhere"))
        assert [wire.shape(r) for r in answer.results] == [wire.shape(r) for r in here.results]
        assert answer.complete and answer.peers == answer.peers_asked == answer.peers_other == 0
        assert here.complete and not here.HasField("as_of_ms")
        assert not any(r.HasField("host") for r in here.results)


def test_a_host_without_hood_asks_nobody(campus):
    with campus.client() as client:
        refusal = client.refused(hood_of(["topic:x"], host="private"))
        assert (refusal.code, refusal.error.field) == ("INVALID", "scope")
        assert '"private" belongs to no hood' in refusal.error.message


def test_welcome_tells_the_hood(campus):
    with campus.client() as client:
        assert "hood" in client.welcome.capabilities
        assert [h.hood for h in client.welcome.hosts] == ["campus", "campus", "", "town", "campus"]


def test_unknown_scope(campus):
    """A scope that is none is refused, and the connection lives."""
    with campus.client() as client:
        for scope in (0, 3, 2**31 - 1):
            query = wire.query_of(["topic:x"]).SerializeToString() + b"\x58" + varint(scope)
            body = b"\x08\x07" + b"\x22" + varint(len(query)) + query
            client.send_bytes(struct.pack(">I", len(body)) + body)
            error = client.receive().error
            assert (pb.ErrorCode.Name(error.code), error.field) == ("INVALID", "scope")
        client.call(pb.Ping())


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def test_no_watch_of_a_hood(campus):
    with campus.client() as client:
        query = wire.query_of(["topic:x"], k=0, host="lobby", scope=pb.HOOD)
        query.ClearField("k")
        refusal = client.refused(pb.Watch(query=query))
        assert (refusal.code, refusal.error.field) == ("INVALID", "query.scope")
        assert "a watch sees one host" in refusal.error.message


def test_the_host_of_a_result_has_it(campus, rng):
    """Result.host is where Get, Report and Withdraw find the message."""
    labels = [f"topic:{rng.random()}"]
    with campus.client() as client:
        leave(client, rng, "library", labels, withdraw_hash=wire.withdraw_hash(b"t" * 32))
        (found,) = client.call(hood_of(labels, max_distance=0)).results
        assert client.refused(pb.Get(host="lobby", id=found.id)).code == "NOT_FOUND"
        assert client.call(pb.Get(host=found.host, id=found.id)).payload == found.payload
        client.call(pb.Report(host=found.host, id=found.id))
        client.call(pb.Withdraw(host=found.host, id=found.id, token=b"t" * 32))
        assert not client.call(hood_of(labels, max_distance=0)).results


def test_one_id_at_two_hosts_is_two_results(campus, rng):
    """Nobody can take the place of a message by a message of the same id at another host."""
    labels = [f"topic:{rng.random()}"]
    with campus.client() as client:
        first = leave(client, rng, "library", labels)
        second = leave(client, rng, "lobby", labels, id=first.id, payload=b"another")
        answer = client.call(hood_of(labels, max_distance=0))
        assert sorted((r.host, r.payload) for r in answer.results) == [
            ("library", first.payload), ("lobby", second.payload)]


def test_too_many_parts(make_daemon):
    """A query of more than 128 searches is refused with the numbers; 128 are taken."""
    daemon = make_daemon("".join(f"[host h{n}]\nhood = all\n" for n in range(64)))
    with daemon.client() as client:
        part = pb.QueryPart(filter=wire.filter_of(["topic:x"]))
        two = client.call(pb.Query(k=1, scope=pb.HOOD, parts=[part] * 2))
        assert (two.peers, two.complete) == (63, True)
        refusal = client.refused(pb.Query(k=1, scope=pb.HOOD, parts=[part] * 3))
        assert (refusal.code, refusal.error.field) == ("INVALID", "parts")
        assert refusal.error.message == (
            "3 parts in epoch 0 at 64 hosts, and 0 in other epochs, are more than 128 searches; "
            "ask with fewer parts")


# --- limits ---------------------------------------------------------------------------------------


def limited(daemon, **options):
    """A client whose address has the limits of an address."""
    port = daemon.find_log(r"listening on 127\.0\.0\.2:(\d+) limited$").group(1)
    return wire.Client(("127.0.0.2", int(port)), **options)


def test_a_hood_costs_four_tokens(make_daemon):
    """A client connects with 9 tokens, and asks twice: 1 + 2 * 4."""
    daemon = make_daemon("listen = 127.0.0.2:0 limited\n[limits]\nquery_burst = 9\n"
                         "queries_per_minute = 1\n[host a]\nhood = x\n")
    with limited(daemon) as client:
        for _ in range(2):
            client.call(hood_of(["topic:x"], host="a"))
        assert client.refused(hood_of(["topic:x"], host="a")).code == "RATE_LIMITED"


def test_one_senders_share_is_of_the_whole_answer(make_daemon, rng):
    """An address is one sender at all hosts: of 10 results 3 are its, and the answer is capped."""
    hosts = "".join(f"[host h{n}]\nhood = x\n" for n in range(4))
    daemon = make_daemon("listen = 127.0.0.2:0 limited\n" + hosts)
    with limited(daemon) as client:
        for n in range(8):
            leave(client, rng, f"h{n % 4}", ["topic:x"])
        answer = client.call(hood_of(["topic:x"], host="h0"))
        assert (len(answer.results), answer.capped, answer.exact) == (3, True, True)


def test_long_searches_of_a_hood(make_daemon, rng):
    """Searches of several turns: every client has the one answer, and clients that leave and a reload
    that takes a host out of the hood disturb nobody."""
    config = OPEN + "messages = 100000\n" + "".join(f"[host h{n}]\nhood = x\n" for n in range(8))
    daemon = make_daemon(config)
    with daemon.administrator() as client:
        for _ in range(8):  # the hosts in turns: of equally near messages the newest are found
            batch = [wire.deposit_of(rng, context(rng), host=f"h{n % 8}") for n in range(3000)]
            assert all(a.HasField("deposited") for a in client.pipeline(batch))
        query = pb.Query(k=100, host="h0", scope=pb.HOOD, metric=pb.PHI)
        for _ in range(4):
            query.parts.add(filter=wire.filter_of(context(rng)))
        expected = shapes(client.call(query))
        assert len(expected) == 100 and len({e[0] for e in expected}) > 2
        clients = [daemon.client() for _ in range(6)]
        for one in clients:
            for _ in range(5):
                one.post(query)
        for one in clients[:3]:
            one.close()
        for one in clients[3:]:
            for _ in range(5):
                assert shapes(one.receive().results) == expected
        for one in clients[3:]:
            one.post(query)
        daemon.configure(config.replace("[host h7]\nhood = x\n", "[host h7]\n"))
        client.call(pb.Reload())
        for one in clients[3:]:
            assert one.receive().results.peers in (6, 7)
            one.close()
        assert "h7" not in {e[0] for e in shapes(client.call(query))}


# --- configuration --------------------------------------------------------------------------------


def test_a_reload_ends_the_consent(make_daemon, rng):
    """A host whose `hood` is taken away is not asked any more, and asks nobody."""
    daemon = make_daemon(HOODS)
    with daemon.client() as client, daemon.administrator() as operator:
        leave(client, rng, "library", ["topic:x"])
        assert len(client.call(hood_of(["topic:x"])).results) == 1
        daemon.configure(HOODS.replace("[host library]\nhood = campus\n", "[host library]\n"))
        operator.call(pb.Reload())
        answer = client.call(hood_of(["topic:x"]))
        assert not answer.results and answer.peers == 0
        assert client.refused(hood_of(["topic:x"], host="library")).error.field == "scope"


@pytest.mark.parametrize("hood", ["Campus", "-x", "a b", "x" * 64])
def test_names_that_are_none(make_daemon, hood):
    daemon = make_daemon(f"[host a]\nhood = {hood}\n", start=False)
    code, _, err = check_config(daemon)
    assert code != 0 and "`hood` must be a name of letters a-z" in err and hood in err


def test_a_hood_of_65_hosts(make_daemon):
    daemon = make_daemon("".join(f"[host h{n}]\nhood = all\n" for n in range(65)), start=False)
    code, _, err = check_config(daemon)
    assert code != 0 and "at most 64" in err


def check_config(daemon):
    return daemon.run("--config", daemon.config_file, "--data", daemon.data, "--check-config")


# --- the command ----------------------------------------------------------------------------------


def test_query_prints_the_hosts(campus, rng):
    """A column HOST, and as the last line how many hosts were asked, and when."""
    topic = f"topic:{rng.random()}"
    with campus.client() as client:
        leave(client, rng, "library", [topic], payload=b"from the library")
        leave(client, rng, "lobby", [topic], payload=b"from the lobby")
    cli = cli_runner.of_daemon(campus)
    lines = cli.ok("query", "--hood", "-d", "0", "--label", topic).splitlines()
    assert lines[0].split() == ["AGE", "SIMILARITY", "HOST", "TEXT"]
    assert {tuple(line.split()[-4:]) for line in lines[1:3]} == {
        ("library", "from", "the", "library"), ("lobby", "from", "the", "lobby")}
    assert lines[3].startswith("asked 1 of 1 other hosts, as of ")
    assert lines[3].endswith("; 1 with another profile not asked") and len(lines) == 4
    columns = [line.index("from the") for line in lines[1:3]]
    assert columns == [lines[0].index("TEXT")] * 2
    *found, said = cli.json_lines("query", "--hood", "--json", "-d", "0", "--label", topic)
    assert {f["host"] for f in found} == {"library", "lobby"}
    assert (said["asked"], said["peers"], said["other_profile"], said["complete"]) == (1, 1, 1, True)
    code, out, err = cli.run("query", "--hood", "--label", "topic:nothing-of-this", "-d", "0")
    assert code == 1 and out.startswith("asked 1 of 1 other hosts") and "nothing found" in err
    code, _, err = cli.run("query", "--hood", "--host", "private", "--label", topic)
    assert code == 4 and "belongs to no hood" in err
    code, _, err = cli.run("query", "--hood", "--unseen", "seen", "--label", topic)
    assert code == 2 and "--hood and --unseen exclude each other" in err


class OldServer(fake_server.FakeServer):
    """It knows no hoods."""

    def answer(self, request):
        assert request.HasField("hello"), request
        host = pb.HostInfo(name="default", profile=wire.PROFILE)
        return pb.Response(id=request.id, welcome=pb.Welcome(
            version=1, store_id=bytes(16), limits=pb.Limits(frame_bytes=65536), hosts=[host]))


def test_a_server_that_knows_no_hoods(tmp_path):
    """It would answer for one host: the command says so, and asks nothing."""
    with OldServer() as server:
        cli = cli_runner.Cli(server.address, str(tmp_path))
        code, out, err = cli.run("query", "--hood", "--label", "topic:x")
        assert code == 2 and not out and "too old to ask a hood" in err


