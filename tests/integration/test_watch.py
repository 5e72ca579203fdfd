# SPDX-License-Identifier: Apache-2.0
"""Watch: matches pushed as deposits come, once each and in order, also over restarts."""

import os
import signal

import pytest

import hearsay_wire as wire
from hearsay_wire import pb

PLACE = [f"wifi:place{n}" for n in range(12)]
METRICS = pytest.mark.parametrize("metric", [pb.BITS, pb.PHI], ids=["bits", "phi"])


def watch_of(labels, after_seq=None, **fields):
    query = wire.query_of(labels, **fields)
    query.ClearField("k")
    return pb.Watch(query=query, after_seq=after_seq)


def matches(client, count):
    """The next `count` frames, all of which are matches."""
    found = []
    while len(found) < count:
        response = client.receive()
        assert response.id == 0 and response.HasField("match"), response
        found.append(response.match)
    return found


def silence(client):
    """Nothing was pushed: a ping is the next that is answered."""
    client.call(pb.Ping())


def deposit(client, rng, labels, **fields):
    made = wire.deposit_of(rng, labels, **fields)
    client.call(made)
    return made


def near(rng, extra):
    """A context like PLACE."""
    return rng.sample(PLACE, 10) + [f"topic:{extra}"]


# --- what matches ---------------------------------------------------------------------------------


@METRICS
def test_a_match_has_what_a_result_has(daemon, rng, metric):
    with daemon.client() as reader, daemon.client() as writer:
        watching = reader.call(
            watch_of(PLACE, with_payload=True, max_distance=600_000, metric=metric))
        assert watching.watch_id != 0
        made = deposit(writer, rng, PLACE + ["topic:coffee"], media_type="text/markdown")
        (match,) = matches(reader, 1)
        assert match.watch_id == watching.watch_id
        assert match.seq > watching.seq
        (result,) = writer.call(wire.query_of(PLACE, with_payload=True, metric=metric)).results
        assert match.result == result
        assert match.result.payload == made.payload
        assert match.result.media_type == "text/markdown"


def test_without_payload(daemon, rng):
    with daemon.client() as reader, daemon.client() as writer:
        reader.call(watch_of(PLACE))
        made = deposit(writer, rng, PLACE)
        (match,) = matches(reader, 1)
        assert match.result.id == made.id
        assert not match.result.HasField("payload")
        assert not match.result.payload_omitted


@METRICS
def test_only_what_fits(daemon, rng, metric):
    """Distance, reach and contains, against the reference."""
    with daemon.client() as reader, daemon.client() as writer:
        asked = [
            watch_of(PLACE, max_distance=400_000, metric=metric),
            watch_of(PLACE, contains=["topic:t1"], metric=metric),
            watch_of(PLACE[:6], max_distance=700_000, metric=metric),
            watch_of(PLACE, metric=metric),
        ]
        watches = [(one, reader.call(one).watch_id) for one in asked]
        expected = {number: [] for _, number in watches}
        for n in range(120):
            labels = near(rng, f"t{n % 3}") if n % 4 else [f"wifi:far{n}-{k}" for k in range(12)]
            made = wire.deposit_of(rng, labels, reach=rng.choice([300_000, 1_000_000]))
            deposited = writer.call(made)
            alone = wire.Reference()
            alone.add(made, deposited)
            for one, number in watches:
                query = pb.Query()
                query.CopyFrom(one.query)
                query.k = 1
                expected[number] += [shape[0] for shape in alone.answer(query)]
        found = {number: [] for _, number in watches}
        for match in matches(reader, sum(map(len, expected.values()))):
            found[match.watch_id].append(match.result.id)
        assert found == expected
        assert all(found.values())
        silence(reader)


def context(rng):
    """A context of a place, of topics, or of both."""
    wifi = [f"wifi:{rng.randrange(3)}-{n}" for n in rng.sample(range(20), rng.choice([0, 1, 12]))]
    topics = [f"topic:{n}" for n in rng.sample(range(6), rng.randrange(3))]
    return wifi + topics or ["topic:0"]


@METRICS
def test_a_watch_finds_what_a_query_finds(daemon, rng, metric):
    """Pushed as they come, caught up with afterwards, and asked for: the same, with all numbers."""
    with daemon.client() as reader, daemon.client() as writer:
        asked = []
        for n in range(12):
            fields = {"max_distance": rng.choice([200_000, 500_000, 780_000, 1_000_000])}
            labels = context(rng)
            if n == 1:  # finds all but those of a small reach
                fields["max_distance"] = 1_000_000
            if n % 3 == 0:
                fields["contains"] = [rng.choice(labels)]
            asked.append(watch_of(labels, metric=metric, **fields))
        live = {reader.call(one).watch_id: one for one in asked}
        made = [
            wire.deposit_of(rng, context(rng), reach=rng.choice([600_000, 1_000_000, 1_000_000]))
            for _ in range(100)
        ]
        writer.pipeline(made)
        expected = {}
        for number, one in live.items():
            query = pb.Query()
            query.CopyFrom(one.query)
            query.k = 100
            results = {result.id: result for result in writer.call(query).results}
            expected[number] = [results[d.id] for d in made if d.id in results]
        assert sum(map(len, expected.values())) > 30
        found = {number: [] for number in live}
        for match in matches(reader, sum(map(len, expected.values()))):
            found[match.watch_id].append(match.result)
        assert found == expected
        silence(reader)
        for number, one in live.items():
            with daemon.client() as late:
                late.call(pb.Watch(query=one.query, after_seq=0))
                again = matches(late, len(expected[number]))
                assert [match.result for match in again] == expected[number]
                silence(late)


def test_a_message_with_much_else_is_near_by_phi(daemon, rng):
    """A watch by one topic, which names no metric: the message's place takes it far away by bits."""
    with daemon.client() as reader, daemon.client() as writer:
        reader.call(watch_of(["topic:tea"], max_distance=500_000, metric=pb.BITS))
        watching = reader.call(watch_of(["topic:tea"], max_distance=500_000))
        made = deposit(writer, rng, PLACE + ["topic:tea"])
        (match,) = matches(reader, 1)
        assert (match.watch_id, match.result.id) == (watching.watch_id, made.id)
        silence(reader)


@METRICS
def test_several_parts_are_one_match(daemon, rng, metric):
    with daemon.client() as reader, daemon.client() as writer:
        parts = [PLACE[:4], PLACE, PLACE[4:]]
        parts = [pb.QueryPart(filter=wire.filter_of(part)) for part in parts]
        reader.call(pb.Watch(query=pb.Query(parts=parts, metric=metric)))
        made = deposit(writer, rng, PLACE)
        (match,) = matches(reader, 1)
        assert match.result.id == made.id
        assert match.result.distance == 0  # by the nearest part
        silence(reader)


def test_once_and_in_order(daemon, rng):
    """Duplicates, conflicts and refusals push nothing; sequence numbers grow."""
    with daemon.client() as reader, daemon.client() as writer:
        watching = reader.call(watch_of(PLACE, with_payload=True))
        made = [wire.deposit_of(rng, near(rng, n)) for n in range(300)]
        answers = writer.pipeline(made + made[:100])
        assert all(answer.HasField("deposited") for answer in answers)
        found = matches(reader, 300)
        assert [m.result.id for m in found] == [d.id for d in made]
        assert [m.result.payload for m in found] == [d.payload for d in made]
        assert watching.seq < found[0].seq
        assert all(a.seq < b.seq for a, b in zip(found, found[1:]))
        silence(reader)


def test_unwatch_ends_it(daemon, rng):
    with daemon.client() as reader, daemon.client() as writer:
        first = reader.call(watch_of(PLACE))
        second = reader.call(watch_of(PLACE))
        reader.call(pb.Unwatch(watch_id=first.watch_id))
        assert reader.refused(pb.Unwatch(watch_id=first.watch_id)).code == "NOT_FOUND"
        deposit(writer, rng, PLACE)
        (match,) = matches(reader, 1)
        assert match.watch_id == second.watch_id
        silence(reader)


def test_another_sessions_watch_is_not_ours(daemon):
    with daemon.client() as one, daemon.client() as other:
        watching = one.call(watch_of(PLACE))
        assert other.refused(pb.Unwatch(watch_id=watching.watch_id)).code == "NOT_FOUND"


def test_a_payload_larger_than_a_frame_is_omitted(make_daemon, rng):
    """With frames of 4 KiB a payload just below its limit does not fit beside the rest."""
    daemon = make_daemon("[limits]\nframe = 4K\npayload = 2K\n")
    with daemon.client() as reader, daemon.client() as writer:
        reader.call(watch_of(PLACE, with_payload=True))
        made = deposit(writer, rng, PLACE, payload=b"x" * 2048)
        (match,) = matches(reader, 1)
        assert match.result.payload == made.payload


@pytest.mark.parametrize("cache", ["0", "8M"])
def test_payloads_from_storage(make_daemon, rng, cache):
    daemon = make_daemon(f"[limits]\ncache = {cache}\n")
    with daemon.client() as reader, daemon.client() as writer:
        reader.call(watch_of(PLACE, with_payload=True))
        reader.call(watch_of(PLACE))
        made = [wire.deposit_of(rng, near(rng, n)) for n in range(100)]
        writer.pipeline(made)
        found = matches(reader, 200)
        assert [m.result.payload for m in found if m.result.HasField("payload")] == [
            d.payload for d in made
        ]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"until_ms": 1}, "query.until_ms"),
        ({"order": pb.TIME}, "query.order"),
        ({"exclude": [pb.Slice(bits=b"\0", hashes=1)]}, "query.exclude"),
        ({"wait_ms": 500}, "query.wait_ms"),
        ({"max_staleness_ms": 0}, "query.max_staleness_ms"),
    ],
)
def test_what_a_watch_has_no_use_for(daemon, fields, field):
    with daemon.client() as client:
        refusal = client.refused(watch_of(PLACE, **fields))
        assert (refusal.code, refusal.error.field) == ("INVALID", field)


def test_refusals(make_daemon):
    daemon = make_daemon("[limits]\nparts = 2\n")
    with daemon.client() as client:
        refusal = client.refused(pb.Watch(query=wire.query_of(PLACE, k=5)))
        assert (refusal.code, refusal.error.field) == ("INVALID", "query.k")
        part = pb.QueryPart(filter=wire.filter_of(PLACE))
        refusal = client.refused(pb.Watch(query=pb.Query(parts=[part] * 3)))
        assert (refusal.code, refusal.error.field) == ("INVALID", "query.parts")
        refusal = client.refused(pb.Watch(query=pb.Query()))
        assert refusal.code == "INVALID"
        refusal = client.refused(pb.Watch())
        assert (refusal.code, refusal.error.field) == ("INVALID", "query")
        refusal = client.refused(pb.Watch(query=pb.Query(host="nowhere", parts=[part])))
        assert refusal.code == "UNKNOWN_HOST"
        part.epoch = 7
        refusal = client.refused(pb.Watch(query=pb.Query(parts=[part])))
        assert (refusal.code, refusal.error.field) == ("UNKNOWN_EPOCH", "query.parts.epoch")
        part = pb.QueryPart(filter=b"\0" * 3)
        refusal = client.refused(pb.Watch(query=pb.Query(parts=[part])))
        assert (refusal.code, refusal.error.field) == ("PROFILE_MISMATCH", "query.parts.filter")
        wifi = ((1 << 362) - 1).to_bytes(64, "little")  # one section that is full
        for part in (pb.QueryPart(filter=wifi), pb.QueryPart(filter=bytes(64), contains=wifi)):
            refusal = client.refused(pb.Watch(query=pb.Query(parts=[part])))
            assert refusal.code == "FILL_OUT_OF_RANGE"
            assert "362 of 362 bits of the section wifi are set" in refusal.error.message


def test_limits(make_daemon):
    daemon = make_daemon("[limits]\nwatches_per_session = 3\nwatches = 4\n")
    with daemon.client() as one, daemon.client() as other:
        assert one.welcome.limits.watches_per_session == 3
        assert one.welcome.limits.watches == 4
        part = pb.QueryPart(filter=wire.filter_of(PLACE))
        two = pb.Watch(query=pb.Query(parts=[part, part]))  # counts as two
        watching = one.call(two)
        assert one.refused(two).code == "QUOTA"
        one.call(watch_of(PLACE))
        other.call(watch_of(PLACE))
        assert other.refused(watch_of(PLACE)).code == "QUOTA"
        one.call(pb.Unwatch(watch_id=watching.watch_id))
        other.call(watch_of(PLACE))
    with daemon.client() as third:  # what gone sessions had is free again

        def taken():
            try:
                third.call(two)
                return True
            except wire.Refused:
                return False

        wire.wait_until(taken, "the others' watches are gone")


def test_nobody_can_watch(make_daemon):
    with make_daemon("[limits]\nwatches_per_session = 0\n").client() as client:
        refusal = client.refused(watch_of(PLACE))
        assert refusal.code == "QUOTA"
        # Not "End another watch first": there is none.
        assert refusal.error.message == ("a session may watch with 0 filters, one for each part; "
                                         "its watches have 0, and this one has 1")


# --- what was missed ------------------------------------------------------------------------------


def test_what_came_after(daemon, rng):
    with daemon.client() as writer:
        made = [deposit(writer, rng, near(rng, n)) for n in range(200)]
    with daemon.client() as reader:
        watching = reader.call(watch_of(PLACE, after_seq=0, with_payload=True))
        found = matches(reader, 200)
        assert [m.result.id for m in found] == [d.id for d in made]
        assert found[-1].seq == watching.seq
        silence(reader)
    with daemon.client() as reader:
        reader.call(watch_of(PLACE, after_seq=found[149].seq))
        assert [m.result.id for m in matches(reader, 50)] == [d.id for d in made[150:]]
        silence(reader)


def test_since(daemon, rng):
    with daemon.client() as client:
        deposit(client, rng, PLACE)
        second = wire.deposit_of(rng, PLACE)
        wire.wait_until(lambda: client.call(pb.Ping()).now_ms > client.welcome.now_ms + 5, "time")
        at_ms = client.call(second).deposited_ms
        client.call(watch_of(PLACE, after_seq=0, since_ms=at_ms))
        (match,) = matches(client, 1)
        assert match.result.id == second.id
        silence(client)


def test_a_sequence_number_from_the_future(daemon, rng):
    """Of a store that was set back: there is nothing to catch up with."""
    with daemon.client() as client:
        deposit(client, rng, PLACE)
        watching = client.call(watch_of(PLACE, after_seq=2**63))
        assert watching.seq < 2**63
        made = wire.deposit_of(rng, PLACE)
        client.post(made)
        kinds = {client.receive().WhichOneof("body"), client.receive().WhichOneof("body")}
        assert kinds == {"match", "deposited"}


def test_gone_messages_are_left_out(daemon, rng):
    """Withdrawn and expired meanwhile."""
    token = rng.randbytes(32)
    with daemon.client() as client:
        withdrawn = deposit(client, rng, PLACE, withdraw_hash=wire.withdraw_hash(token))
        deposit(client, rng, PLACE, ttl_s=1)
        kept = deposit(client, rng, PLACE)
        client.call(pb.Withdraw(id=withdrawn.id, token=token))
        wire.wait_until(
            lambda: len(client.call(wire.query_of(PLACE)).results) == 1, "one has expired"
        )
        client.call(watch_of(PLACE, after_seq=0))
        (match,) = matches(client, 1)
        assert match.result.id == kept.id
        silence(client)


def test_held_messages_come_when_they_are_shown(make_daemon, rng):
    """In the order in which they are shown, once each; also to who was away, and over a restart."""
    daemon = make_daemon("[host default]\naccept = review\n")
    with daemon.administrator() as operator, daemon.client() as reader:
        one, two, three = (deposit(operator, rng, near(rng, n), payload=b"%d" % n) for n in range(3))
        watching = reader.call(watch_of(PLACE, with_payload=True))
        silence(reader)
        operator.call(pb.Restore(id=two.id))
        operator.call(pb.Restore(id=one.id))
        found = matches(reader, 2)
        assert [m.result.id for m in found] == [two.id, one.id]
        assert [m.result.payload for m in found] == [b"1", b"0"]
        assert watching.seq < found[0].seq < found[1].seq
        assert operator.refused(pb.Restore(id=two.id)).code == "INVALID"  # and changes nothing
        silence(reader)
    daemon.kill()
    daemon.start()
    with daemon.administrator() as operator, daemon.client() as reader:
        operator.call(pb.Restore(id=three.id))
        watching = reader.call(watch_of(PLACE, after_seq=found[0].seq))
        again = matches(reader, 2)
        assert [m.result.id for m in again] == [one.id, three.id]
        assert again[0].seq == found[1].seq < again[1].seq == watching.seq
        silence(reader)
        reader.call(watch_of(PLACE, after_seq=0))
        assert [m.result.id for m in matches(reader, 3)] == [two.id, one.id, three.id]
        silence(reader)


def test_restored_messages_take_a_new_number(make_daemon, rng):
    """Reports hide a message, the operator restores it: it comes under a new number to all who watch,
    once to each, and to those who were away later, also over kill -9. Nobody misses it."""
    daemon = make_daemon("[host default]\nhide_after = 1\n")
    with daemon.administrator() as operator, daemon.client() as had, daemon.client() as late:
        start = had.call(watch_of(PLACE)).seq
        one = deposit(operator, rng, PLACE)
        (first,) = matches(had, 1)
        operator.call(pb.Report(id=one.id))
        two = deposit(operator, rng, PLACE)
        (second,) = matches(had, 1)
        late.call(watch_of(PLACE))  # begins while it is hidden
        with daemon.client() as passing:  # catches up while it is hidden, and goes
            passing.call(watch_of(PLACE, after_seq=start))
            (passed,) = matches(passing, 1)
            assert passed.result.id == two.id and passed.seq == second.seq
            silence(passing)
        operator.call(pb.Restore(id=one.id))
        for watcher in (late, had):
            (match,) = matches(watcher, 1)
            assert match.result.id == one.id and match.seq > second.seq
            silence(watcher)
        assert operator.refused(pb.Restore(id=one.id)).code == "INVALID"
        silence(had)

    def check_again():
        expected = ((start, [two.id, one.id]), (first.seq, [two.id, one.id]),
                    (passed.seq, [one.id]), (match.seq, []))
        for after, ids in expected:
            with daemon.client() as again:
                again.call(watch_of(PLACE, after_seq=after))
                found = matches(again, len(ids))
                assert [m.result.id for m in found] == ids
                assert one.id not in ids or found[-1].seq == match.seq
                silence(again)

    check_again()
    daemon.kill()
    daemon.start()
    check_again()
    with daemon.client() as client, daemon.client() as watcher:
        watcher.call(watch_of(PLACE))
        deposit(client, rng, PLACE)
        assert matches(watcher, 1)[0].seq > match.seq, "no number is given twice"


def test_withdrawn_in_the_queue(make_daemon, rng):
    """A reader that reads nothing has little encoded for it: what goes meanwhile is not sent."""
    daemon = make_daemon("[limits]\nsession_output = 8M\n")
    token = rng.randbytes(32)
    count = 1000
    with daemon.administrator() as reader, daemon.client() as writer:
        reader.call(watch_of(PLACE, with_payload=True))
        made = [
            wire.deposit_of(
                rng, PLACE, payload=rng.randbytes(2000), withdraw_hash=wire.withdraw_hash(token)
            )
            for _ in range(count)
        ]
        writer.pipeline(made)
        gone = {d.id for d in made[count - 500 :]}
        writer.pipeline([pb.Withdraw(id=d.id, token=token) for d in made[count - 500 :]])
        last = deposit(writer, rng, PLACE)
        seen = []
        while not seen or seen[-1] != last.id:
            seen += [m.result.id for m in matches(reader, 1)]
        assert seen == [d.id for d in made[: count - 500]] + [last.id]
        assert not gone.intersection(seen)


# --- over restarts --------------------------------------------------------------------------------


def test_a_stream_of_deposits_with_kill_and_restart(daemon, rng):
    """kill -9 again and again: the reader resumes, misses nothing that was acknowledged, and sees
    nothing twice."""
    acknowledged = []
    seen = []
    seqs = []
    last = 0
    for _ in range(6):
        with daemon.client() as writer, daemon.client() as reader:
            reader.call(watch_of(PLACE, after_seq=last, with_payload=True))
            made = [wire.deposit_of(rng, near(rng, n)) for n in range(60)]
            data = b"".join(wire.frame(wire.request(d, writer.new_id())) for d in made)
            writer.send_bytes(data)
            stop_after = rng.randrange(1, 60)
            answered = set()
            for _ in range(stop_after):
                response = writer.receive()
                answered.add(made[response.id - 2].id)
            for _ in range(rng.randrange(0, 20)):
                (match,) = matches(reader, 1)
                seen.append(match.result.id)
                seqs.append(match.seq)
                last = match.seq
            daemon.kill()
            try:  # what was on its way is read, or not
                while rng.random() < 0.9:
                    (match,) = matches(reader, 1)
                    seen.append(match.result.id)
                    seqs.append(match.seq)
                    last = match.seq
            except (wire.Ended, ConnectionError):
                pass
            acknowledged += [d.id for d in made if d.id in answered]
        daemon.start()
    with daemon.client() as reader:
        stored = reader.call(pb.Summary()).count
        watching = reader.call(watch_of(PLACE, after_seq=last))
        while len(seen) < stored:
            (match,) = matches(reader, 1)
            seen.append(match.result.id)
            seqs.append(match.seq)
        silence(reader)
    assert seqs[-1] <= watching.seq
    assert len(seen) == len(set(seen)), "nothing twice"
    assert set(acknowledged) <= set(seen), "nothing missed"
    assert seqs == sorted(set(seqs))


def test_catching_up_while_deposits_come(daemon, rng):
    """Watches that begin in the middle of a stream, at any position, see each message once."""
    with daemon.client() as writer:
        made = [deposit(writer, rng, near(rng, n)) for n in range(300)]
        more = [wire.deposit_of(rng, near(rng, n)) for n in range(400)]
        readers = []
        for n in range(0, 400, 50):
            for one in more[n : n + 50]:
                writer.post(one)
            reader = daemon.client()
            reader.post(watch_of(PLACE, after_seq=0, with_payload=n % 100 == 0))
            readers.append(reader)
        for _ in more:
            assert writer.receive().HasField("deposited")
        for reader in readers:
            assert reader.receive().HasField("watching")
            assert [m.result.id for m in matches(reader, 700)] == [d.id for d in made + more]
            silence(reader)
            reader.close()


def test_stopping_ends_watches(daemon, rng):
    with daemon.client() as reader:
        reader.call(watch_of(PLACE))
        os.kill(daemon.process.pid, signal.SIGTERM)
        assert reader.receive_until_end() == []
        daemon.wait_exit()


# --- slow readers ---------------------------------------------------------------------------------


def flood(daemon, rng, reader):
    """Deposits until the reader, which reads nothing, is dropped."""
    with daemon.client() as writer:
        for _ in range(200):
            writer.pipeline(
                [wire.deposit_of(rng, PLACE, payload=rng.randbytes(3000)) for _ in range(50)]
            )
            if daemon.find_log("dropped: it does not read"):
                return
    raise AssertionError("the slow reader was not dropped")


def test_a_slow_reader_is_dropped_and_learns_why(make_daemon, rng):
    daemon = make_daemon("[limits]\nsession_output = 512K\n")
    with daemon.administrator() as reader:
        token = reader.welcome.resume_token
        assert len(token) >= 16
        reader.call(watch_of(PLACE, with_payload=True))
        flood(daemon, rng, reader)
    with daemon.client(hello=False) as again:
        welcome = again.call(pb.Hello(versions=[1], resume_token=token))
        assert pb.ErrorCode.Name(welcome.dropped.code) == "QUOTA"
        assert "did not read" in welcome.dropped.message
        assert welcome.resume_token != token
    with daemon.client(hello=False) as again:  # it is told once
        welcome = again.call(pb.Hello(versions=[1], resume_token=token))
        assert not welcome.HasField("dropped")


def test_unknown_tokens(daemon):
    for token in [b"x", b"y" * 16, b"z" * 64]:
        with daemon.client(hello=False) as client:
            assert not client.call(pb.Hello(versions=[1], resume_token=token)).HasField("dropped")


def test_a_dropped_reader_misses_nothing(make_daemon, rng):
    daemon = make_daemon("[limits]\nsession_output = 512K\nmessages = 100000\nbytes = 1G\n")
    seen = []
    with daemon.administrator() as reader:
        reader.call(watch_of(PLACE, with_payload=True))
        flood(daemon, rng, reader)
        last = 0
        try:
            while True:
                (match,) = matches(reader, 1)
                seen.append(match.result.id)
                last = match.seq
        except (wire.Ended, ConnectionError):
            pass
    with daemon.client() as reader:
        watching = reader.call(watch_of(PLACE, after_seq=last))
        while last < watching.seq:
            (match,) = matches(reader, 1)
            seen.append(match.result.id)
            last = match.seq
        stored = reader.call(pb.Summary()).count
    assert len(seen) == len(set(seen)) == stored


def test_many_watches_of_many_sessions(make_daemon, rng):
    """All are told, and memory for them is given back."""
    daemon = make_daemon("[limits]\nsessions = 128\n")
    places = [[f"wifi:p{p}-{n}" for n in range(12)] for p in range(20)]
    readers = [daemon.client() for _ in range(60)]
    for n, reader in enumerate(readers):
        for p in range(5):
            reader.call(watch_of(places[(n + p) % 20], max_distance=500_000))
    with daemon.client() as writer:
        made = [deposit(writer, rng, place + ["topic:x"]) for place in places]
    for n, reader in enumerate(readers):
        expected = {made[(n + p) % 20].id for p in range(5)}
        assert {m.result.id for m in matches(reader, 5)} == expected
        silence(reader)
        reader.close()
