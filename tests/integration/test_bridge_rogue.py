# SPDX-License-Identifier: Apache-2.0
"""A wrong access point in a hood: it has a real certificate, and says over raw NATS what it likes."""

import threading
import time

import pytest

import hearsay_wire as wire
import hub_cluster
from hearsay_wire import pb
from hood_sites import HOOD, STORE, Ear, deposit, hub, letters, make_site, metrics  # noqa: F401
from hub_cluster import wait_until
from test_bridge_around import hood_query

pytestmark = hub_cluster.needs_hub
ALL = wire.group_of_all(count=1, newest_ms=2**62)
LABELS = ["topic:a", "topic:b", "topic:c"]


class Rogue(Ear):
    """Says that it may have everything, and answers queries with what `answer` returns."""

    def __init__(self, hub, answer, groups=(ALL,), name="ap9"):  # noqa: F811
        super().__init__(hub, name)
        assert self.serve()
        self.answer, self.asked, self.ends = answer, 0, False
        self.tell(name, full=True, seq=5, groups=groups)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.ends:
            try:
                message = self.nats.next(self.queries, 0.2)
            except hub_cluster.NoAnswer:
                continue
            except OSError:
                return
            self.asked += 1
            found = self.answer(letters.Letter.FromString(message.data).peer_query.query)
            if found is not None:
                self.nats.publish(message.reply, letters.Letter(version=1, peer_results=found).SerializeToString())

    def __exit__(self, *what):
        self.ends = True
        self.thread.join(wire.PATIENCE)
        super().__exit__(*what)


def results(*found, seq=5, **fields):
    return letters.PeerResults(store_id=STORE, seq=seq, results=pb.Results(results=found, complete=True, **fields))


def invented(rng, labels, **fields):
    now = int(time.time() * 1000)
    for name, value in (("filter", wire.filter_of(labels)), ("deposited_ms", now - 1000), ("expires_ms", now + 10**7)):
        fields.setdefault(name, value)
    return pb.Result(id=wire.new_id(rng), payload=b"invented", media_type="text/plain", intersection_count=9,
                     union_count=9, distance=0, **fields)


def ask(site, labels=LABELS, **fields):
    with site.daemon.client() as phone:
        return phone.call(hood_query(labels, site.name, max_distance=900_000, wait_ms=10_000, **fields))


def ask_until(site, complete=True, silent=0, **fields):
    """Asks until so many are silent, as on a busy machine more neighbours may miss their deadline."""
    return wait_until(lambda: ((got := ask(site, **fields)).complete, got.peers_silent) == (complete, silent)
                      and got, f"an answer with {silent} silent")


def meet(site, count):
    wait_until(lambda: metrics(site).get("peers") == count, "the neighbours")
    wait_until(lambda: ask(site).complete or metrics(site)["peers_silent_total"], "a whole hood")


def test_a_neighbour_that_may_have_everything(make_site, hub, rng):  # noqa: F811
    """All-ones summaries change no answer. Silent, it shows in `complete`; it costs no second deadline."""
    here, there = make_site("ap1", start=True), make_site("ap2", start=True)
    left = deposit(there, rng, 5, labels=lambda r: LABELS)
    with Rogue(hub, lambda query: results()) as rogue:
        meet(here, 2)
        for _ in range(40):
            assert {r.id for r in ask_until(here).results} == {one.id for one in left}
        assert rogue.asked >= 40
        rogue.answer = lambda query: None
        got = ask_until(here, complete=False, silent=1)
        assert {r.id for r in got.results} == {one.id for one in left}


def test_lies_about_messages(make_site, hub, rng):  # noqa: F811
    """What does not fit the query, has a filter of another length, or an epoch, is dropped. What is left
    is the rogue's own: no other host is named, and each message counts once."""
    here, there = make_site("ap1", start=True), make_site("ap2", start=True)
    (left,) = deposit(there, rng, 1, labels=lambda r: LABELS)
    mine = invented(rng, LABELS, host="ap2")
    lies = [invented(rng, ["topic:far", "topic:away"]), invented(rng, LABELS, filter=b"\x01" * 63),
            invented(rng, LABELS, epoch=3), mine, mine]
    with Rogue(hub, lambda query: results(*lies)):
        meet(here, 2)
        got = ask_until(here)
        assert sorted((r.host, r.id) for r in got.results) == sorted([("ap2", left.id), ("ap9", mine.id)])
        contains = hood_query(LABELS, "ap1", max_distance=900_000)
        contains.parts[0].contains = wire.filter_of(["topic:none"])
        with here.daemon.client() as phone:
            assert not phone.call(contains).results


@pytest.mark.parametrize("trusted", [True, False])
def test_lies_about_times(make_site, hub, rng, trusted):  # noqa: F811
    """As many as it likes, newest for ever, expired, from before 1970: they are not shown, and crowd nobody out. Later
    than the clock here is left out only if that clock is trusted."""
    here, there = make_site("ap1"), make_site("ap2", start=True)
    with open(here.daemon.config_file, encoding="utf-8") as file:
        text = file.read()
    with open(here.daemon.config_file, "w", encoding="utf-8") as file:
        file.write(text.replace("[daemon]\n", f"[daemon]\nclock_patience = {0 if trusted else '365d'}\n", 1))
    here.start()
    (left,) = deposit(there, rng, 1, labels=lambda r: LABELS)
    now = int(time.time() * 1000)
    times = [(2**63 - 2, 2**63 - 1), (2**63 - 1, 2**63 - 1), (-2**63, 2**63 - 1), (now, 0), (now, 2**50), (0, 0)]
    if trusted:
        times.append((now + 10**8, now + 10**9))
    lies = [invented(rng, LABELS, deposited_ms=a, expires_ms=b) for a, b in times for _ in range(3)]
    with Rogue(hub, lambda query: results(*lies)):
        meet(here, 2)
        for fields in ({}, {"order": pb.NEWEST}, {"order": pb.NEWEST, "k": 3}):
            assert [r.id for r in ask_until(here, **fields).results] == [left.id]


def test_what_the_operator_has_banned(make_site, hub, rng):  # noqa: F811
    """A banned text does not come back from a neighbour, neither from an honest one nor from one that lies."""
    here, there = make_site("ap1", start=True), make_site("ap2", start=True)
    bad, again = [wire.deposit_of(rng, LABELS, host=name, payload=b"names a guest") for name in ("ap1", "ap2")]
    with here.daemon.client() as phone:
        phone.call(bad)
    with there.daemon.client() as phone:
        phone.call(again)
    (left,) = deposit(there, rng, 1, labels=lambda r: LABELS)
    with here.daemon.administrator() as operator:
        operator.call(pb.Remove(host="ap1", id=bad.id, ban=True))
    lie = invented(rng, LABELS)
    lie.payload = b"names a guest"
    with Rogue(hub, lambda query: results(lie)):
        meet(here, 2)
        for order in (pb.SIMILARITY, pb.NEWEST):
            assert [r.id for r in ask_until(here, order=order, with_payload=True).results] == [left.id]
        assert {r.id for r in ask_until(there, with_payload=True).results} == {again.id, left.id, lie.id}


def test_better_than_it_has_told(make_site, hub, rng):  # noqa: F811
    """Results that its own summary does not cover, without a newer message, mark it; it is asked last."""
    here = make_site("ap1", start=True)
    told = wire.group_of(wire.filter_of(LABELS[:1]), count=1, newest_ms=5)
    with Rogue(hub, lambda query: results(invented(rng, LABELS)), groups=[told]), Ear(hub, "ap9") as ear:
        meet(here, 1)
        ask(here)
        wait_until(lambda: metrics(here)["peers_faulty"] == 1, "the mark")
        assert "1 answered what they had not told" in here.bridge.status()
        ear.tell("ap9", full=True, seq=6, groups=[ALL])
        wait_until(lambda: metrics(here)["peers_faulty"] == 0, "a new summary")


def test_another_store_or_an_older_one(make_site, hub, rng):  # noqa: F811
    """The summary does not count any more, and a new one is asked for."""
    here = make_site("ap1", start=True)
    with Ear(hub, "ap9") as ear, Rogue(hub, lambda query: results(seq=4)):
        meet(here, 1)
        ask(here)
        assert ear.requests("ap9")


def test_wrong_answers(make_site, hub, rng):  # noqa: F811
    """No letter, another letter, another version, too many results: a neighbour without an answer, or k of them."""
    here = make_site("ap1", start=True)
    many = [invented(rng, LABELS) for _ in range(50)]
    with Rogue(hub, lambda query: results(*many)) as rogue:
        meet(here, 1)
        wait_until(lambda: len(ask(here, k=5).results) == 5, "five of them")
        rogue.answer = lambda query: letters.PeerResults(store_id=STORE)
        ask_until(here, complete=False, silent=1)
        rogue.answer = lambda query: letters.PeerResults(store_id=b"short", results=pb.Results(complete=True))
        ask_until(here, complete=False, silent=1)
        rogue.answer = lambda query: results()
        wait_until(lambda: ask(here).complete, "a right answer")


def query_letter(labels=LABELS, **fields):
    query = wire.query_of(labels, with_payload=True, **fields)
    return letters.Letter(version=1, peer_query=letters.PeerQuery(query=query))


def answer_of(ear, host, letter):
    """The answer; again if there is none, as the servers may not know yet that the bridge listens."""
    for patience in (2, 2, wire.PATIENCE):
        try:
            answer = ear.nats.request(f"q.{HOOD}.{host}", letter.SerializeToString(), seconds=patience)
            return letters.Letter.FromString(answer.data).peer_results
        except hub_cluster.NoAnswer:
            continue
    raise hub_cluster.NoAnswer(host)


def test_a_flood_of_queries(make_site, hub, rng):  # noqa: F811
    """Above the rate queries are refused at once; hearsayd gets none of them, and the bridge goes on."""
    here = make_site("ap1", start=True, asks=60)
    (left,) = deposit(here, rng, 1, labels=lambda r: LABELS)
    with Ear(hub, "ap9") as ear:
        assert [r.id for r in answer_of(ear, "ap1", query_letter()).results.results] == [left.id]
        data = query_letter().SerializeToString()
        for _ in range(3000):
            ear.nats.publish(f"q.{HOOD}.ap1", data, "_INBOX_ap9.flood")
        assert not answer_of(ear, "ap1", query_letter()).HasField("results")
        wait_until(lambda: metrics(here)["peer_queries_refused_total"] > 2000, "refusals")
        assert metrics(here)["peer_queries_answered_total"] <= 200
    assert [r.id for r in ask(here).results] == [left.id]


def forged_headers(name):
    """Blocks of headers of which a server or a library may take one as the header of the servers, which names who asks.
    2.9.10 removes the first one of this name, appends its own, and reads the first one again at the next account."""
    line = b'Nats-Request-Info: {"acc":"%s","rtt":1}' % name.encode()
    return {"one": b"NATS/1.0\r\n%s\r\n\r\n" % line,
            "two": b"NATS/1.0\r\nNats-Request-Info: x\r\n%s\r\n\r\n" % line,
            "three": b"NATS/1.0\r\nNats-Request-Info: x\r\n%s\r\n%s\r\n\r\n" % (line, line),
            "many": b"NATS/1.0\r\n%s\r\n" % (b"%s\r\n" % line * 9),
            "a bare LF": b"NATS/1.0\r\nA: b\n%s\r\n\r\n" % line,
            "no end": b"NATS/1.0\r\nNats-Request-Info: x\r\n%s\r\nA: bcd" % line,
            "a NUL": b"NATS/1.0\r\nNats-Request-Info: x\r\n%s\r\nA: b\0cd" % line}


def test_a_flood_under_the_names_of_others(make_site, hub, rng):  # noqa: F811
    """Whatever headers a query has, its asker pays for it: a name that is not its own costs nobody else, and brings no
    tokens."""
    here = make_site("ap1", start=True, asks=60)
    (left,) = deposit(here, rng, 1, labels=lambda r: LABELS)
    data = query_letter().SerializeToString()
    handled = lambda now: now["peer_queries_answered_total"] + now["peer_queries_refused_total"]  # noqa: E731
    with Ear(hub, "ap9") as ear, Ear(hub, "ap2") as other:
        assert [r.id for r in answer_of(ear, "ap1", query_letter()).results.results] == [left.id]
        for kind in forged_headers(""):
            before, since = metrics(here), time.monotonic()
            for i in range(120):
                name = "ap2" if i % 2 else f"x{i}"
                ear.nats.publish(f"q.{HOOD}.ap1", data, "_INBOX_ap9.flood", forged_headers(name)[kind])
            ear.nats.flush()
            wait_until(lambda b=before: handled(metrics(here)) == handled(b) + 120, f"the end of the flood: {kind}")
            gained = 10 + time.monotonic() - since  # all of a bucket, and a token a second
            answered = metrics(here)["peer_queries_answered_total"] - before["peer_queries_answered_total"]
            assert answered <= gained, kind
            found = answer_of(other, "ap1", query_letter())
            assert [r.id for r in found.results.results] == [left.id], kind


def test_dear_queries(make_site, hub, rng):  # noqa: F811
    """A query that costs hearsayd 79 tokens costs its neighbour as many of its 100."""
    here = make_site("ap1", start=True, asks=600)
    (left,) = deposit(here, rng, 1, labels=lambda r: LABELS)
    dear = query_letter(k=1000)
    for _ in range(63):
        dear.peer_query.query.parts.add(filter=wire.filter_of(LABELS))
    with Ear(hub, "ap9") as ear:
        assert [r.id for r in answer_of(ear, "ap1", query_letter()).results.results] == [left.id]
        answer = ear.nats.request(f"q.{HOOD}.ap1", dear.SerializeToString())
        found = letters.Letter.FromString(answer.data).peer_results
        assert [r.id for r in found.results.results] == [left.id]
        before = metrics(here)["peer_queries_answered_total"]
        for _ in range(20):
            ear.nats.publish(f"q.{HOOD}.ap1", dear.SerializeToString(), "_INBOX_ap9.dear")
        wait_until(lambda: metrics(here)["peer_queries_refused_total"] >= 15, "refusals")
        assert metrics(here)["peer_queries_answered_total"] <= before + 5


def test_what_a_neighbour_may_not_ask(make_site, hub, rng):  # noqa: F811
    """Messages of epochs stay on site; a query for another host gets this one's; notices are not passed on."""
    here = make_site("big-1", "big-2", start=True, host_lines="epoch_length = 1d\n")
    (left,) = deposit(here, rng, 1, labels=lambda r: LABELS)
    (other,) = deposit(here, rng, 1, host="big-2", labels=lambda r: LABELS)
    with here.daemon.client() as phone:
        epoch = phone.welcome.hosts[0].epoch.number
    with here.daemon.administrator() as operator:
        operator.call(pb.Notice(host="big-1", text="Closed on Monday"))
    with Ear(hub, "ap9") as ear:
        asked = query_letter()
        asked.peer_query.query.host = "big-2"
        found = answer_of(ear, "big-1", asked).results
        assert [r.id for r in found.results] == [left.id] and not found.notices
        assert [r.id for r in answer_of(ear, "big-2", asked).results.results] == [other.id]
        asked.peer_query.query.parts.add(filter=wire.filter_of(LABELS), epoch=epoch)
        assert not answer_of(ear, "big-1", asked).HasField("results")
        for wrong in (letters.Letter(version=1), query_letter(k=0), letters.Letter(version=2)):
            assert not answer_of(ear, "big-1", wrong).HasField("results")


def write_head(hub, store):  # noqa: F811
    """What `take` does at the hub."""
    letter = letters.Letter(version=1, head=letters.Head(store_id=store, seq=1, as_of_ms=1, term=9))
    with hub.connect("ap1") as nats:
        nats.request(f"h.{hub_cluster.shard_of('ap1')}.ap1.-", letter.SerializeToString()).json()


def hold_head(hub, store):  # noqa: F811
    """Writes the head again if it is not there, as the store would: nats-server 2.9.10 takes two heads that come at once,
    though the second one names an earlier head as the last."""
    shard = hub_cluster.shard_of("ap1")
    with hub.connect("ap1") as nats:
        answer = nats.request(f"$JS.API.DIRECT.GET.h_{shard}.h.{shard}.ap1.-")
    if letters.Letter.FromString(answer.data).head.store_id != store:
        write_head(hub, store)


def says_nothing(ear, host):
    ear.ask_summary(host)
    try:
        ear.word(host, 1)
        return False
    except hub_cluster.NoAnswer:
        return True


def test_a_store_that_another_one_has_fenced(make_site, hub, rng, monkeypatch):  # noqa: F811
    """It tells nothing and answers nobody: the store that owns the host does. When it is the owner again, it does."""
    monkeypatch.setenv("HEARSAY_BRIDGE_HEAD_MS", "300")
    here = make_site("ap1")
    (left,) = deposit(here, rng, 1, labels=lambda r: LABELS)
    here.start(keepalive_ms=100)
    wait_until(lambda: metrics(here).get("owner"), "the owner")
    with Ear(hub, "ap9") as ear:
        store = ear.word("ap1").store_id
        assert [r.id for r in answer_of(ear, "ap1", query_letter()).results.results] == [left.id]
        write_head(hub, STORE)
        wait_until(lambda: metrics(here)["fenced"] or hold_head(hub, STORE), "FENCED")
        wait_until(lambda: says_nothing(ear, "ap1"), "silence", 3 * wire.PATIENCE)
        try:
            ear.nats.request(f"q.{HOOD}.ap1", query_letter().SerializeToString(), seconds=1)
            raise AssertionError("an answer")
        except hub_cluster.NoAnswer:
            pass
        assert "silent: another store owns it at the hub" in here.bridge.status()
        write_head(hub, store)
        assert ear.word("ap1", 3 * wire.PATIENCE).store_id == store
        assert [r.id for r in answer_of(ear, "ap1", query_letter()).results.results] == [left.id]


def test_foreign_subjects(make_site, hub, rng):  # noqa: F811
    """It cannot hear the queries of others, nor tell summaries for them, nor hear their answers."""
    here, there = make_site("ap1", start=True), make_site("ap2", start=True)
    deposit(there, rng, 1, labels=lambda r: LABELS)
    meet(here, 1)
    with Ear(hub, "ap9") as ear:
        for subject in (f"q.{HOOD}.ap2", f"a.{HOOD}.ap2", f"a.{HOOD}.ap2.*", f"q.{HOOD}.>", "_INBOX_ap1.>", "_R_.>",
                        ">"):
            ear.nats.subscribe(subject)
        before = metrics(here)["peer_summaries_void_total"]
        ear.tell("ap2", full=True, seq=9, groups=[ALL])
        for _ in range(10):
            assert len(ask_until(here).results) == 1
        assert metrics(here)["peer_summaries_void_total"] == before
        heard = [m.subject for m in ear.nats.waiting if not m.subject.startswith("s.")]
        assert not heard, heard


def test_a_flood_of_summaries(make_site, hub, rng):  # noqa: F811
    """What is too large or comes too fast is dropped and counted, and `status` names whose it is. The others are
    known all the same, and answers are right."""
    here, there = make_site("ap1", start=True), make_site("ap2", start=True)
    left = deposit(there, rng, 5, labels=lambda r: LABELS)
    with Ear(hub, "ap9") as ear:
        ear.tell("ap9", full=True, seq=1, groups=[ALL])
        meet(here, 2)
        assert metrics(here)["peer_summaries_dropped_total"] == 0
        ear.send("ap9", rng.randbytes(60_000))
        wait_until(lambda: metrics(here)["peer_summaries_dropped_total"] == 1, "the one that is too large")
        for _ in range(3000):
            ear.send("ap9", rng.randbytes(1000))
        ear.nats.flush()
        wait_until(lambda: metrics(here)["peer_summaries_dropped_total"] > 1000, "those that came too fast")
        assert {r.id for r in ask_until(here, complete=False, silent=1).results} == {one.id for one in left}
        text = here.bridge.status()
        assert "ap9 publishes too much: " in text and "ap2 publishes" not in text, text
        assert max(map(len, text.splitlines())) <= 60, text
        here.bridge.wait_log("hood campus: summaries of ap9 are dropped")
