# SPDX-License-Identifier: Apache-2.0
"""What somebody can do at the hub who has the key of one access point: ap1. NATS does not look at the reply
subject of a message, and the servers' answers and those of bridges go where it says. So each attack here has
the subject of somebody else as its reply subject."""

import json

import pytest

import access_point
import conftest
import hub_cluster
from access_point import make_point  # noqa: F401
from hearsay_wire import letters, pb
from hub_cluster import shard_of, wait_until
from hub_site import Site
from nats_wire import Refused

pytestmark = hub_cluster.needs_hub
VICTIM = next(name for name in (f"cafe{n}" for n in range(1000)) if shard_of(name) == shard_of("ap1"))
HOSTS = {"ap1": "campus", "ap2": "campus", VICTIM: "campus"}  # VICTIM has the streams of ap1
OWN = f"h.{shard_of('ap1')}.ap1"


@pytest.fixture(scope="module")
def hub():
    made = hub_cluster.Hub(conftest.storage_root(), HOSTS)
    try:
        made.start().wait_ready().make_streams()
        yield made.wait_current()
    finally:
        made.remove()


@pytest.fixture
def thief(hub):
    """Connections to all servers, as one of them leads a stream."""
    made = [hub.connect("ap1", node) for node in hub.nodes]
    yield made
    for nats in made:
        nats.close()


def newest(hub, stream, subject):
    """The newest message of a subject, None where there is none."""
    with hub.connect("reader") as nats:
        try:
            return nats.api(f"STREAM.MSG.GET.{stream}", last_by_subj=subject)["message"]
        except Refused as error:
            assert error.args[0]["err_code"] == 10037, error  # no message found
            return None


def counts(hub):
    """How many messages each stream has; None: the stream is gone."""
    found = {}
    with hub.connect("reader") as nats:
        for stream in hub_cluster.STREAMS:
            try:
                found[stream] = nats.api(f"STREAM.INFO.{stream}")["state"]["messages"]
            except Refused:
                found[stream] = None
    return found


def attack(thief, subject, reply, data=b"forged", headers=None):
    """Sends on each connection, and then a state of the thief's own that is stored behind what was sent."""
    for nats in thief:
        nats.publish(subject, data, reply, headers)
        nats.flush()
    for nats in thief:
        for stream in (OWN, "h.rule.ap1"):
            assert b'"seq"' in nats.request(f"{stream}.ff", b"state").data


def victims(host):
    shard = shard_of(host)
    return [(f"h_{shard}", f"h.{shard}.{host}.01"), (f"h_{shard}", f"h.{shard}.{host}.-"), ("rule", f"h.rule.{host}.4-1"),
            ("o", f"o.{shard}.{host}.01"), ("rule", f"o.rule.{host}.4-1")]


@pytest.mark.parametrize("stream, subject", victims("ap2") + victims(VICTIM))
def test_no_acknowledgement_becomes_a_state_or_word(hub, thief, stream, subject):
    """The acknowledgement of the own state is stored as the state, the head or the word of another host."""
    attack(thief, f"{OWN}.02", subject)
    assert newest(hub, stream, subject) is None


@pytest.mark.parametrize("subject", [f"h.{shard_of('ap2')}.ap2.03", f"o.{shard_of('ap2')}.ap2.03"])
def test_no_answer_of_direct_get_becomes_a_state_or_word(hub, thief, subject):
    """The answer is the own head, so the thief chooses what it says."""
    thief[0].request(f"{OWN}.-", b"anything")
    attack(thief, f"$JS.API.DIRECT.GET.h_{shard_of('ap1')}.{OWN}.-", subject, b"")
    assert newest(hub, f"h_{shard_of('ap2')}" if subject[0] == "h" else "o", subject) is None


@pytest.mark.parametrize("subject", [f"h.{shard_of('ap2')}.ap2.04", f"o.{shard_of('ap2')}.ap2.04"])
@pytest.mark.parametrize("answerer, asked", [("reader", "r.ap1"), ("ap2", "q.campus.ap2")])
def test_no_answer_of_a_bridge_becomes_a_state_or_word(hub, thief, subject, answerer, asked):
    """A bridge that answers wherever it is told to."""
    with hub.connect(answerer) as bridge:
        assert bridge.subscribe(hub_cluster.heard_as(asked))
        for nats in thief:
            nats.publish(asked, b"question", subject)
        for _ in thief:
            bridge.publish(bridge.next().reply, b"answer")
        bridge.flush()
        attack(thief[:1], f"{OWN}.05", "")
    assert newest(hub, f"h_{shard_of('ap2')}" if subject[0] == "h" else "o", subject) is None


@pytest.mark.parametrize("api", ["STREAM.PURGE", "STREAM.DELETE", "STREAM.LEADER.STEPDOWN"])
@pytest.mark.parametrize("stream", [f"h_{shard_of('ap2')}", f"h_{shard_of('ap1')}", "o", "rule"])
def test_no_stream_is_emptied_or_deleted(hub, thief, api, stream):
    """Answers of the servers, with a text and without one, are requests to JetStream."""
    shard = shard_of("ap2")
    with hub.connect("ap2") as nats:
        for subject in (f"h.{shard}.ap2.07", f"h.{shard}.ap2.08", "h.rule.ap2.4-7"):
            nats.request(subject, b"state")
    with hub.connect("reader") as nats:
        nats.request(f"o.{shard}.ap2.07", b"word")
    before, leader = counts(hub), hub.ask(f"STREAM.INFO.{stream}")["cluster"]["leader"]
    thief[0].request(f"{OWN}.-", b"")  # its answer has no text
    get = f"$JS.API.DIRECT.GET.h_{shard_of('ap1')}.{OWN}.-"
    for subject in (get, f"{OWN}.06"):
        attack(thief, subject, f"$JS.API.{api}.{stream}", b"")
    after = counts(hub)
    assert all(after[name] is not None and after[name] >= before[name] for name in before), (before, after)
    assert hub.ask(f"STREAM.INFO.{stream}")["cluster"]["leader"] == leader


def test_no_answer_reaches_the_inbox_of_another(hub, thief):
    with hub.connect("ap2") as nats:
        assert nats.subscribe("_INBOX_ap2.7")
        attack(thief, f"{OWN}.09", "_INBOX_ap2.7")
        nats.flush()
        assert nats.waiting == []


def test_headers_reach_no_further_than_the_own_host(hub, thief):
    """A roll-up of all would empty the stream; a number of another's would hide what the other sends next."""
    shard = shard_of(VICTIM)
    with hub.connect(VICTIM) as nats:
        nats.request(f"h.{shard}.{VICTIM}.0a", b"state")
        for rollup in ("all", "sub"):
            answer = thief[0].request(f"{OWN}.0a", b"state", {"Nats-Rollup": rollup})
            assert b'"error"' in answer.data, answer.data
    assert newest(hub, f"h_{shard}", f"h.{shard}.{VICTIM}.0a")


def test_direct_get_gives_the_own_head_only(hub, thief):
    """The body of the request names another message."""
    shard = shard_of(VICTIM)
    with hub.connect(VICTIM) as nats:
        nats.request(f"h.{shard}.{VICTIM}.0b", b"secret of another")
    thief[0].request(f"{OWN}.-", b"own")
    body = json.dumps({"last_by_subj": f"h.{shard}.{VICTIM}.0b"}).encode()
    for data in (body, b'{"seq":1}', b'{"next_by_subj":"h.>"}', b'{"batch":100,"next_by_subj":">"}'):
        for nats in thief:
            answer = nats.request(f"$JS.API.DIRECT.GET.h_{shard}.{OWN}.-", data)
            assert b"secret" not in answer.data and answer.headers.get("Status") in ("400", "408"), answer.headers


def test_numbers_of_messages_are_not_guessed(hub, thief, make_point, rng):  # noqa: F811
    """The hub drops a message whose Nats-Msg-Id was there before, and acknowledges it. Neighbours see store and seq."""
    point = make_point(VICTIM).start()
    point.bridge.wait_log("this store is the owner")
    _, letter = wait_until(lambda: access_point.letter_at_hub(hub, VICTIM, "-"), "the head")
    for i in range(1, 60):
        number = f"{letter.head.store_id.hex()}:{letter.head.seq + i}"
        thief[0].request(f"{OWN}.0c", b"state", {"Nats-Msg-Id": number})
    point.wait_published(point.deposit(rng, 5))
    point.bridge.stop()


def test_a_full_hub_loses_nothing(hub, make_point, rng):  # noqa: F811
    """The stream refuses; the bridge says so, tries on, and all arrives when there is room."""
    point = make_point("ap2").start()
    point.bridge.wait_log("this store is the owner")
    stream = f"h_{shard_of('ap2')}"
    info = hub.ask(f"STREAM.INFO.{stream}")
    hub.ask(f"STREAM.UPDATE.{stream}", **{**info["config"], "max_bytes": info["state"]["bytes"] + 20_000})
    ids = point.deposit(rng, 100, payload=rng.randbytes(1000))
    point.bridge.wait_log("the hub does not store what is published: .*maximum bytes")
    assert "maximum bytes" in point.bridge.run("status").stdout
    assert len(access_point.states(hub, "ap2") & {each.hex() for each in ids}) < 100
    hub.make_streams()
    point.wait_published(ids)
    point.bridge.stop()


@pytest.fixture
def reader(hub, make_daemon):
    site = Site(hub, make_daemon, "reader", {"ap1": "replica"})
    try:
        yield site.start()
        site.stop()
    finally:
        site.remove()


def test_a_state_counts_for_its_subject_only(hub, reader, thief, rng):
    """A subject that has another id than the state, and subjects that would be more than a subject in JSON: the
    reader's bridge has superseded states overwritten, and names their subject."""
    shard, victim, id = shard_of(VICTIM), f"h.{shard_of(VICTIM)}.{VICTIM}.0d", rng.randbytes(16)
    with hub.connect(VICTIM) as nats:
        nats.request(victim, b"state")
    letter = letters.Letter(version=1, change=pb.Change(gone=pb.Gone(id=id, until_ms=1 << 42, why=pb.WAS_WITHDRAWN)))
    for last in (f'x","next_by_subj":"{victim}', rng.randbytes(16).hex(), id.hex().upper(), f"{id.hex()}.1"):
        for _ in range(2):
            thief[0].request(f"{OWN}.{last}", letter.SerializeToString())
    for _ in range(2):
        thief[0].request(f"{OWN}.{id.hex()}", letter.SerializeToString())
    wait_until(lambda: states_of(hub, f"{OWN}.{id.hex()}") == 1, "that what is right is overwritten")
    assert newest(hub, f"h_{shard}", victim)
    reader.bridge.wait_log("no state of this subject")


def states_of(hub, subject):
    info = hub.ask(f"STREAM.INFO.h_{shard_of('ap1')}", subjects_filter=subject)
    return (info["state"].get("subjects") or {}).get(subject)


def test_a_message_has_a_bound(hub):
    """Above max_payload the server closes the connection, and stores nothing."""
    with hub.connect("ap1") as nats:
        with pytest.raises((Refused, OSError)):
            nats.request(f"{OWN}.0e", bytes(2 * nats.info["max_payload"]))
    assert newest(hub, f"h_{shard_of('ap1')}", f"{OWN}.0e") is None


def test_questions_that_nobody_answers_hold_up_nobody(hub, thief):
    """20,000 at a time; another one's state is acknowledged meanwhile."""
    with hub.connect("ap2") as nats:
        for each in thief:
            for i in range(20_000):
                each.publish("q.campus.ap2" if i % 2 else "r.ap1", b"question", f"_INBOX_ap1.{i}")
            each.flush()
        assert b'"seq"' in nats.request(f"h.{shard_of('ap2')}.ap2.0f", b"state").data
