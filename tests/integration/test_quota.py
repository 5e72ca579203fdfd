# SPDX-License-Identifier: Apache-2.0
"""Expiry and quotas: what is stored stays within bounds, and goes when its time is over."""

import os
import signal

import hearsay_wire as wire
from hearsay_wire import pb

HERE = ["topic:quota", "topic:bounds"]


def deposit(rng, **fields):
    return wire.deposit_of(rng, HERE, **fields)


def codes(answers):
    """`deposited`, or the name of the error, for each answer."""
    return [
        wire.ERROR_CODES[a.error.code] if a.HasField("error") else a.WhichOneof("body")
        for a in answers
    ]


def stored_ids(client, **fields):
    return {r.id for r in client.call(wire.query_of(HERE, k=100, **fields)).results}


# --- expiry ---------------------------------------------------------------------------------------


def test_expired_is_gone(client, rng):
    """From its expiry on a message is neither found nor got; one that lives longer stays."""
    brief, long = deposit(rng, ttl_s=1), deposit(rng, ttl_s=1000)
    expires = client.call(brief).expires_ms
    client.call(long)
    while True:
        before = client.call(pb.Ping()).now_ms
        found = brief.id in stored_ids(client)
        after = client.call(pb.Ping()).now_ms
        if after < expires:
            assert found, "not gone before its time"
        elif before >= expires:
            assert not found, "gone at its time"
            break
    assert client.refused(pb.Get(id=brief.id)).code == "NOT_FOUND"
    assert long.id in stored_ids(client)


def test_expired_id_may_be_used_again(client, rng):
    """After its expiry an id is as good as new, swept or not."""
    brief = deposit(rng, ttl_s=1)
    expires = client.call(brief).expires_ms
    wire.wait_until(lambda: client.call(pb.Ping()).now_ms >= expires, "expiry")
    other = deposit(rng, id=brief.id, payload=b"other")
    assert not client.call(other).duplicate
    assert client.call(pb.Get(id=brief.id)).payload == b"other"


def test_expired_while_stopped(make_daemon, rng):
    """A message whose time ran out while the daemon was down is not there after the start."""
    daemon = make_daemon()
    with daemon.client() as client:
        brief, long = deposit(rng, ttl_s=1), deposit(rng, ttl_s=1000)
        client.call(long)
        expires = client.call(brief).expires_ms
        daemon.stop()
    daemon.start()
    with daemon.client() as client:
        wire.wait_until(lambda: client.call(pb.Ping()).now_ms >= expires, "expiry")
        assert stored_ids(client) == {long.id}


# --- quotas ---------------------------------------------------------------------------------------


def test_messages_of_a_host(make_daemon, rng):
    """A host's cap on messages: QUOTA says whose limit it is; other hosts are not full."""
    daemon = make_daemon("[host small]\nmessages = 3\n[host large]\n")
    with daemon.client() as client:
        answers = client.pipeline([deposit(rng) for _ in range(5)])
        assert codes(answers) == ["deposited"] * 3 + ["QUOTA"] * 2
        assert "messages" in answers[-1].error.message and "host" in answers[-1].error.message
        client.call(deposit(rng, host="large"))
        assert len(stored_ids(client)) == 3


def test_a_full_host_says_when_the_next_message_expires(make_daemon, rng):
    """That is, of its own messages: those of another host make no room here."""
    daemon = make_daemon("[host small]\nmessages = 2\n[host large]\n")
    with daemon.client() as client:
        client.call(deposit(rng, host="large", ttl_s=100))
        client.call(deposit(rng, ttl_s=7200))
        expires_ms = client.call(deposit(rng, ttl_s=3600)).expires_ms
        before_ms = client.call(pb.Ping()).now_ms
        [answer] = client.pipeline([deposit(rng, ttl_s=10)])
        after_ms = client.call(pb.Ping()).now_ms
        assert codes([answer]) == ["QUOTA"]
        goes_ms = expires_ms + 5000  # messages that have expired are deleted every 5 s
        assert goes_ms - after_ms <= answer.error.retry_after_ms <= goes_ms - before_ms


def test_messages_in_all(make_daemon, rng):
    """The cap of all hosts together."""
    daemon = make_daemon("[limits]\nmessages = 4\n[host one]\n[host two]\n")
    with daemon.client() as client:
        answers = client.pipeline([deposit(rng, host=h) for h in ["one", "two"] * 3])
        assert codes(answers) == ["deposited"] * 4 + ["QUOTA"] * 2
        assert "server" in answers[-1].error.message


def test_bytes_of_a_host(make_daemon, rng):
    """Bytes count filter, media type and payload: 64 + 10 + 950 is a quarter of 4K."""
    daemon = make_daemon("[host small]\nbytes = 4K\n[host large]\n")
    with daemon.client() as client:
        answers = client.pipeline([deposit(rng, payload=b"x" * 950) for _ in range(5)])
        assert codes(answers) == ["deposited"] * 4 + ["QUOTA"]
        assert "bytes" in answers[-1].error.message
        client.call(deposit(rng, host="large", payload=b"x" * 950))


def test_bytes_in_all(make_daemon, rng):
    """The cap of bytes of all hosts together."""
    daemon = make_daemon("[limits]\nbytes = 4K\n[host one]\n[host two]\n")
    with daemon.client() as client:
        sent = [deposit(rng, payload=b"x" * 950, host=h) for h in ["one", "two"] * 3]
        assert codes(client.pipeline(sent)) == ["deposited"] * 4 + ["QUOTA"] * 2


def test_a_full_host_still_knows_its_messages(make_daemon, rng):
    """A duplicate needs no room, queries and withdrawals neither; one withdrawn makes room."""
    with make_daemon("[host small]\nmessages = 2\n").client() as client:
        token = rng.randbytes(32)
        first = deposit(rng, withdraw_hash=wire.withdraw_hash(token))
        second, third = deposit(rng), deposit(rng)
        assert codes(client.pipeline([first, second, third])) == ["deposited"] * 2 + ["QUOTA"]
        assert client.call(first).duplicate
        assert stored_ids(client) == {first.id, second.id}
        client.call(pb.Withdraw(id=first.id, token=token))
        client.call(third)
        assert stored_ids(client) == {second.id, third.id}


def test_the_oldest_make_room(make_daemon, rng):
    """`evict = oldest`: what was deposited first goes, from answers, `get`, payloads and storage."""
    daemon = make_daemon("[host small]\nmessages = 5\nevict = oldest\n[host large]\n")
    with daemon.client() as client:
        assert [host.evict for host in client.welcome.hosts] == [pb.OLDEST, pb.REJECT]
        sent = [deposit(rng) for _ in range(40)]
        large = [deposit(rng, host="large") for _ in range(3)]
        assert codes(client.pipeline(large)) == ["deposited"] * 3
        # Some by themselves, then many at once, which the store takes together.
        assert codes([a for s in sent[:10] for a in client.pipeline([s])]) == ["deposited"] * 10
        assert stored_ids(client) == {s.id for s in sent[5:10]}
        assert codes(client.pipeline(sent[10:])) == ["deposited"] * 30
        left = stored_ids(client)
        assert left == {s.id for s in sent[35:]}
        for one in sent[:35]:
            assert client.refused(pb.Get(id=one.id)).code == "NOT_FOUND"
        assert client.call(pb.Summary()).count == 5
        assert len(stored_ids(client, host="large")) == 3
        assert not client.call(sent[0]).duplicate  # its id is free again
        left = stored_ids(client)
    daemon.kill()
    daemon.start()
    with daemon.client() as client:
        assert stored_ids(client) == left and sent[0].id in left
        assert len(stored_ids(client, host="large")) == 3


def test_those_that_expire_first_make_room(make_daemon, rng):
    """`evict = soonest-expiring`, by bytes: as many go as the new one needs."""
    daemon = make_daemon("[host small]\nbytes = 4K\nevict = soonest-expiring\n")
    with daemon.client() as client:
        assert client.welcome.hosts[0].evict == pb.SOONEST_EXPIRING
        sent = [deposit(rng, payload=b"x" * 950, ttl_s=ttl) for ttl in (500, 100, 300, 200)]
        assert codes(client.pipeline(sent)) == ["deposited"] * 4
        double = deposit(rng, payload=b"x" * 1900, ttl_s=400)
        client.call(double)
        assert stored_ids(client) == {sent[0].id, sent[2].id, double.id}
        whole = deposit(rng, payload=b"x" * 4000)
        client.call(whole)
        assert stored_ids(client) == {whole.id}
        assert client.refused(deposit(rng, payload=b"x" * 4096)).code == "QUOTA"  # more than all
        assert stored_ids(client) == {whole.id}


def test_what_waits_for_review_displaces_nothing(make_daemon, rng):
    """Deposits that nobody has looked at do not push out what is shown."""
    daemon = make_daemon("[host small]\nmessages = 2\nevict = oldest\n")
    with daemon.client() as client:
        shown = [deposit(rng) for _ in range(2)]
        assert codes(client.pipeline(shown)) == ["deposited"] * 2
        daemon.configure("[host small]\nmessages = 2\nevict = oldest\naccept = review\n")
        at = len(daemon.log)
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_log("configuration reloaded", at)
        assert codes(client.pipeline([deposit(rng) for _ in range(3)])) == ["QUOTA"] * 3
        assert stored_ids(client) == {one.id for one in shown}


def test_an_evicted_payload_is_gone_from_answers(make_daemon, rng):
    """The cache keeps no payload of a message that went."""
    with make_daemon("[host small]\nmessages = 1\nevict = oldest\n").client() as client:
        first = deposit(rng, payload=b"first")
        client.call(first)
        assert client.call(wire.query_of(HERE, with_payload=True)).results[0].payload == b"first"
        client.call(deposit(rng, payload=b"second"))
        found = client.call(wire.query_of(HERE, with_payload=True)).results
        assert [r.payload for r in found] == [b"second"]
        again = deposit(rng, id=first.id, payload=b"other")
        client.call(again)
        assert client.call(pb.Get(id=first.id)).payload == b"other"


def test_an_expired_message_makes_no_room_for_a_larger_one(make_daemon, rng):
    """Who deposits again under ids whose time is over is held to the caps like everyone else."""
    with make_daemon("[limits]\nbytes = 64K\nk = 500\n").client() as client:
        small = [deposit(rng, payload=b"", ttl_s=1) for _ in range(300)]
        answers = client.pipeline(small)
        assert codes(answers) == ["deposited"] * 300
        expiry = max(a.deposited.expires_ms for a in answers)
        wire.wait_until(lambda: client.call(pb.Ping()).now_ms >= expiry, "expiry")
        large = [deposit(rng, id=s.id, payload=b"x" * 4000) for s in small]
        assert set(codes(client.pipeline(large))) <= {"deposited", "QUOTA"}
        assert len(stored_ids(client)) * 4000 <= 64 << 10


def test_refused_deposits_do_not_count(make_daemon, rng):
    """Conflicts and duplicates leave the count as it was, pipelined or not."""
    with make_daemon("[host small]\nmessages = 6\n").client() as client:
        first = deposit(rng)
        other = deposit(rng, id=first.id, payload=b"other")
        answers = codes(client.pipeline([first, first, other, other, first]))
        assert answers == ["deposited"] * 2 + ["ALREADY_EXISTS"] * 2 + ["deposited"]
        answers = codes(client.pipeline([deposit(rng) for _ in range(6)]))
        assert answers == ["deposited"] * 5 + ["QUOTA"]


def test_quota_counts_what_was_there_before(make_daemon, rng):
    """After a restart the stored messages count as before."""
    daemon = make_daemon("[host small]\nmessages = 3\n")
    with daemon.client() as client:
        client.pipeline([deposit(rng) for _ in range(2)])
    daemon.restart()
    with daemon.client() as client:
        answers = client.pipeline([deposit(rng) for _ in range(3)])
        assert codes(answers) == ["deposited"] + ["QUOTA"] * 2


def test_the_sweep_makes_room(make_daemon, rng):
    """Expired messages go without anyone asking for them, and leave room for others."""
    with make_daemon("[host small]\nmessages = 600\n").client() as client:
        answers = client.pipeline([deposit(rng, ttl_s=1) for _ in range(601)])
        assert codes(answers) == ["deposited"] * 600 + ["QUOTA"]

        def has_room():
            return codes(client.pipeline([deposit(rng)])) == ["deposited"]

        wire.wait_until(has_room, "room after expiry")

        def has_all_room():
            client.pipeline([deposit(rng) for _ in range(50)])
            return len(stored_ids(client)) == 100

        wire.wait_until(has_all_room, "more than one slice is swept")


def test_space_is_reused(make_daemon, rng):
    """Stored bytes do not grow with every generation of messages."""
    daemon = make_daemon("[limits]\nmessages = 500\n")
    sizes = []
    with daemon.client() as client:
        for _ in range(3):
            answers = []

            def stored():
                bodies = [deposit(rng, ttl_s=1, payload=b"x" * 2000) for _ in range(250)]
                answers.extend(codes(client.pipeline(bodies)))
                return answers.count("deposited") >= 500

            wire.wait_until(stored, "a generation of messages")
            sizes.append(os.path.getsize(os.path.join(daemon.data, "messages.db")))
    daemon.stop()
    assert os.path.getsize(os.path.join(daemon.data, "messages.db")) < 2 * 500 * 2500 + (1 << 20)


# --- what an operator sees of it ------------------------------------------------------------------


def lines_with(daemon, text):
    return [line for line in daemon.log if line is not None and text in line]


def test_a_full_host_is_told_of(make_daemon, rng):
    """One line when a host becomes full, one when it has room again, and figures by reason."""
    daemon = make_daemon("[host small]\nmessages = 3\n")
    token = rng.randbytes(32)
    kept = [deposit(rng, withdraw_hash=wire.withdraw_hash(token)) for _ in range(3)]
    with daemon.client() as client, daemon.administrator() as administrator:
        def figures():
            return {one.name: one.value for one in administrator.call(pb.Stats()).figures}

        assert codes(client.pipeline(kept)) == ["deposited"] * 3
        assert figures()["host/small/full"] == 0
        refused = codes(client.pipeline([deposit(rng) for _ in range(50)]))
        assert refused == ["QUOTA"] * 50
        client.refused(pb.Get(id=wire.new_id(rng)))
        after = figures()
        assert after["host/small/full"] == 1
        assert (after["refused/quota/requests_total"], after["refused/not_found/requests_total"]) == (50, 1)
        daemon.wait_log("refused by limits")  # the last line
        assert len(lines_with(daemon, "is full")) == 1
        assert len(lines_with(daemon, "refused by limits")) == 1
        client.call(pb.Withdraw(id=kept[0].id, token=token))
        daemon.wait_log("host small: there is room again")
        assert figures()["host/small/full"] == 0


def test_refused_connections_are_counted(make_daemon):
    """Connections beyond the limit leave one line and a figure, however many they are."""
    daemon = make_daemon("listen = 127.0.0.2:0 limited\n[limits]\nsessions_per_address = 1\n")
    port = int(daemon.find_log(r"listening on 127\.0\.0\.2:(\d+)").group(1))
    with wire.Client(("127.0.0.2", port)), daemon.administrator() as administrator:
        for _ in range(5):
            with wire.Client(("127.0.0.2", port), hello=False) as other:
                other.receive_until_end()
        figures = {one.name: one.value for one in administrator.call(pb.Stats()).figures}
        assert figures["refused_connections_total"] == 5
        daemon.wait_log("refused by limits")
        assert len(lines_with(daemon, "refused by limits")) == 1
