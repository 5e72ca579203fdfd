# SPDX-License-Identifier: Apache-2.0
"""Changes and Apply: what copies of a host are told, and what they take."""

import json
import os
import pwd
import shutil
import socket
import subprocess

import pytest

import cli_runner
import conftest
import hearsay_wire as wire
from hearsay_wire import pb
from test_ask import asked
from test_bridge import make_bridge  # noqa: F401 (a fixture)
from test_gateway import GATEWAY, acting_as, open_folder, packed  # noqa: F401 (a fixture)

OWNER = "[host default]\nreplicate = yes\n"
REPLICA = "[host default]\nrole = replica\n"
LABELS = ["topic:jazz", "geo:u281zd", "place:bar"]
TOKEN = bytes(range(32))


def pages(client, after=0, limit=None, host=None):
    """All answers to Changes from a number on."""
    while True:
        page = client.call(pb.Changes(after=after, limit=limit, host=host))
        yield page
        if not page.more:
            return
        assert page.next > after
        after = page.next


def changes(client, after=0, **fields):
    return [change for page in pages(client, after, **fields) for change in page.changes]


def apply(client, some, how=pb.AS_REPLICA, **fields):
    return client.call(pb.Apply(changes=some, **{"as": how}, **fields))


def states(some):
    """What a list of changes says: by id, or by kind and value of a rule."""
    known = {}
    for change in some:
        kind = next(name for name in ("message", "gone", "rule") if change.HasField(name))
        content = getattr(change, kind)
        key = (content.kind, content.value) if kind == "rule" else content.id
        known[key] = (kind, content.SerializeToString(deterministic=True))
    return known


def exported(daemon):
    with daemon.administrator() as operator:
        return sorted((m.SerializeToString(deterministic=True)
                       for m in operator.call(pb.Export()).messages))


def fill(bridge, rng):
    """Messages, shown, hidden, withdrawn and removed, and rules. Returns the deposits by name."""
    deposits = {}
    with bridge.daemon.client() as client, bridge.daemon.administrator() as operator:
        for name in ("plain", "withdrawn", "hidden", "removed", "approved", "reported"):
            deposits[name] = wire.deposit_of(rng, LABELS, payload=name.encode(),
                                             withdraw_hash=wire.withdraw_hash(TOKEN))
            client.call(deposits[name])
        client.call(pb.Withdraw(id=deposits["withdrawn"].id, token=TOKEN))
        operator.call(pb.Hide(id=deposits["hidden"].id))
        operator.call(pb.Remove(id=deposits["removed"].id))
        operator.call(pb.Hide(id=deposits["approved"].id))
        operator.call(pb.Restore(id=deposits["approved"].id))
        client.call(pb.Report(id=deposits["reported"].id, reason="because of everything"))
        operator.call(pb.Ban(payload_hash=bytes(32)))
        operator.call(pb.Ban(payload_hash=bytes([1]) * 32))
        operator.call(pb.Unban(payload_hash=bytes([1]) * 32))
        operator.call(pb.Notice(text="Tea is free.", lang="en"))
    return deposits


# --- Changes --------------------------------------------------------------------------------------


def test_the_feed_has_the_present_state(make_bridge, rng):  # noqa: F811
    """Each message and rule once, with what holds now, in the order of the numbers."""
    bridge = make_bridge(OWNER)
    deposits = fill(bridge, rng)
    with bridge.connect() as client:
        some = changes(client)
        numbers = [change.seq for change in some]
        assert numbers == sorted(set(numbers))
        by_id = {c.message.id: c.message for c in some if c.HasField("message")}
        gone = {c.gone.id: c.gone for c in some if c.HasField("gone")}
        rules = {(c.rule.kind, c.rule.value): c.rule for c in some if c.HasField("rule")}
        plain = by_id[deposits["plain"].id]
        assert plain.payload == b"plain" and plain.filter == deposits["plain"].filter
        assert plain.withdraw_hash == wire.withdraw_hash(TOKEN) and plain.state == 0
        assert by_id[deposits["hidden"].id].state == 4
        assert by_id[deposits["approved"].id].state == 1
        assert by_id[deposits["reported"].id].reports == 1
        assert gone[deposits["withdrawn"].id].why == pb.WAS_WITHDRAWN
        assert gone[deposits["removed"].id].why == pb.WAS_REMOVED
        assert gone[deposits["removed"].id].until_ms > client.welcome.now_ms
        assert not rules[1, bytes(32)].dropped and rules[1, bytes([1]) * 32].dropped
        assert rules[4, b"en\0Tea is free."].number == 1
        assert states(changes(client, limit=1)) == states(some)
        assert changes(client, after=numbers[-1]) == []
        assert [c.seq for c in changes(client, after=numbers[2])] == numbers[3:]


def test_administrators_may_read_the_feed(make_bridge, rng):  # noqa: F811
    """Others may not; only a bridge says what the copies have."""
    bridge = make_bridge(OWNER)
    fill(bridge, rng)
    with bridge.connect() as client, bridge.daemon.administrator() as operator, \
            bridge.daemon.client() as phone:
        some = changes(client)
        assert "changes" in operator.welcome.capabilities
        assert changes(operator) == some
        error = operator.refused(pb.Changes(replicated=some[0].seq))
        assert error.code == "INVALID" and error.error.field == "replicated"
        assert phone.refused(pb.Changes()).code == "FORBIDDEN"
        for other in (operator, phone):
            error = other.refused(pb.Apply(**{"as": pb.AS_OPERATOR}))
            assert error.code == "UNSUPPORTED" and "bridge" in error.error.message


def test_a_change_answers_who_waits(make_bridge, rng):  # noqa: F811
    """At once, whatever changes; without a change the time passes and the answer is empty."""
    bridge = make_bridge(OWNER)
    with bridge.connect() as client, bridge.daemon.client() as phone, \
            bridge.daemon.administrator() as operator:
        deposit = wire.deposit_of(rng, LABELS, withdraw_hash=wire.withdraw_hash(TOKEN))
        acts = [lambda: phone.call(deposit), lambda: phone.call(pb.Report(id=deposit.id)),
                lambda: operator.call(pb.Hide(id=deposit.id)),
                lambda: operator.call(pb.Restore(id=deposit.id)),
                lambda: operator.call(pb.Ban(payload_hash=bytes(32))),
                lambda: operator.call(pb.Notice(text="x")),
                lambda: phone.call(pb.Withdraw(id=deposit.id, token=TOKEN))]
        after = 0
        for act in acts:
            number = client.post(pb.Changes(after=after, wait_ms=60000))
            client.call(pb.Ping())
            act()
            page = client.body_of(client.receive(), number)
            assert len(page.changes) == 1 and page.next > after
            after = page.next
        page = client.call(pb.Changes(after=after, wait_ms=1))
        assert not page.changes and page.next == after and not page.more


def test_a_stop_ends_the_waits(make_bridge):  # noqa: F811
    """The daemon does not wait a minute for a bridge."""
    bridge = make_bridge(OWNER)
    with bridge.connect() as client:
        number = client.post(pb.Changes(wait_ms=60000))
        client.call(pb.Ping())
        bridge.daemon.stop()
        answers = client.receive_until_end()
        assert [a.id for a in answers if a.WhichOneof("body") == "changed"] == [number]


def test_too_many_waits_are_answered_at_once(make_bridge):  # noqa: F811
    """192 wait (FEED_READERS); the next ones are answered, empty, before any of those."""
    bridge = make_bridge(OWNER)
    with bridge.connect() as client:
        numbers = [client.post(pb.Changes(wait_ms=60000, limit=1)) for _ in range(200)]
        for _ in range(8):
            answer = client.receive()
            assert answer.WhichOneof("body") == "changed" and not answer.changed.changes
            assert answer.id in numbers[192:]


FEED_FIELDS = {"Changed": {"changes", "next", "more", "waiting", "waiting_since_ms"},
               "Change": {"seq", "message", "gone", "rule", "decision"},
               "DecisionId": {"store_id", "number", "time_ms"},
               "Gone": {"id", "until_ms", "why"},
               "RuleState": {"kind", "value", "number", "created_ms", "dropped", "until_ms"},
               "ExportedMessage": {"id", "epoch", "filter", "media_type", "payload",
                                   "deposited_ms", "expires_ms", "reach", "withdraw_hash",
                                   "state", "reports", "answers"}}


def test_what_the_feed_does_not_tell(make_bridge, open_folder, rng):  # noqa: F811
    """Its bytes have no address, no reason of a report, no key of an epoch, no answer, no unknown field."""
    gateway = os.path.join(open_folder, "gate")
    os.mkdir(gateway, 0o755)
    os.chmod(gateway, 0o755)
    gateway += "/gateway.sock"
    other = "bin" if GATEWAY.pw_name != "bin" else "daemon"
    if os.geteuid() != 0:
        pytest.skip("only root can be a bridge and a gateway")
    bridge = make_bridge(f"listen = {gateway} gateway\ngateway_user = {other}\n"
                         "listen = 127.0.0.2:0 local limited\n"
                         f"{OWNER}epoch_length = 1h\nhide_after = 2\n")
    with acting_as(pwd.getpwnam(other).pw_uid):
        phone = wire.Client(gateway, hello=False)
    phone.call(pb.Hello(versions=[1], agent="agent-of-a-phone", on_behalf=packed("203.0.113.77")))
    reason = "she-knows-my-name"
    with phone, bridge.connect() as client, bridge.daemon.administrator() as operator:
        deposit = wire.deposit_of(rng, LABELS, payload=b"seen")
        phone.call(deposit)
        number = client.welcome.hosts[0].epoch.number
        phone.call(wire.deposit_of(rng, LABELS, payload=b"of an epoch", epoch=number))
        phone.call(wire.deposit_of(rng, LABELS, payload=b"to what was seen", answers=deposit.id))
        phone.call(pb.Report(id=deposit.id, reason=reason, kind=pb.ABOUT_ME))
        operator.call(pb.Hide(id=deposit.id, reason="the operator's own reason"))
        request = client.post(pb.Changes())
        data = client.receive_bytes()
        answer = pb.Response.FromString(data)
        assert answer.id == request and answer.changed.changes[0].message.payload == b"seen"
        for secret in (packed("203.0.113.77"), b"203.0.113.77", reason.encode(), b"own reason",
                       b"agent-of-a-phone", b"of an epoch", b"to what was", socket.inet_aton("127.0.0.1")):
            assert secret not in data, secret
        for name, fields in FEED_FIELDS.items():
            assert {f.name for f in getattr(pb, name).DESCRIPTOR.fields} == fields
        again = pb.Response.FromString(data)
        again.DiscardUnknownFields()
        assert again.SerializeToString() == data


# --- Apply ----------------------------------------------------------------------------------------


def test_a_copy_is_the_same(make_bridge, rng):  # noqa: F811
    """State by state, also after changes; applied twice, nothing changes."""
    owner = make_bridge(OWNER)
    copy = make_bridge_beside(make_bridge, owner, REPLICA)
    deposits = fill(owner, rng)
    with owner.connect() as source, copy.connect() as sink:
        assert sink.welcome.hosts[0].role == pb.REPLICA
        some = changes(source)
        assert apply(sink, some).changed == len(some)
        assert apply(sink, some).changed == 0
        assert exported(copy.daemon) == exported(owner.daemon)
        assert states(changes(sink)) == states(some)
        with copy.daemon.client() as reader:
            assert reader.call(pb.Get(id=deposits["plain"].id)).payload == b"plain"
            assert reader.refused(pb.Get(id=deposits["removed"].id)).code == "REMOVED"
            assert reader.refused(pb.Get(id=deposits["hidden"].id)).code == "NOT_FOUND"
            found = reader.call(wire.query_of(LABELS))
            assert {r.id for r in found.results} == {
                deposits[name].id for name in ("plain", "approved", "reported")}
            assert [n.text for n in found.notices] == ["Tea is free."]
        with owner.daemon.client() as phone, owner.daemon.administrator() as operator:
            phone.call(pb.Withdraw(id=deposits["plain"].id, token=TOKEN))
            operator.call(pb.Restore(id=deposits["hidden"].id))
            operator.call(pb.Restore(id=deposits["removed"].id))
            operator.call(pb.Notice(drop=1))
        more = changes(source, after=some[-1].seq)
        assert apply(sink, more).changed == len(more)
        for again in (some, more):  # from the beginning, as after a lost cursor
            apply(sink, again)
        assert exported(copy.daemon) == exported(owner.daemon)
        copy.daemon.restart()
        assert exported(copy.daemon) == exported(owner.daemon)
    with copy.connect() as sink:
        assert apply(sink, more).changed == 0


def make_bridge_beside(make_bridge, other, config):  # noqa: F811
    """A second daemon, with its socket beside that of another one."""
    name = "second-" + os.path.basename(other.path)
    return make_bridge(config, name=name)


def test_a_copy_refuses_and_names_the_owner(make_bridge, rng):  # noqa: F811
    """Deposits, withdrawals and reports."""
    copy = make_bridge(REPLICA)
    with copy.daemon.client() as client:
        assert client.welcome.hosts[0].role == pb.REPLICA
        for body in (wire.deposit_of(rng, LABELS), pb.Withdraw(id=bytes(16), token=TOKEN),
                     pb.Report(id=bytes(16))):
            error = client.refused(body)
            assert error.code == "FORBIDDEN" and error.error.field == "host"
            assert 'owner, the access point "default"' in error.error.message


def test_watches_see_what_a_bridge_brings(make_bridge, rng):  # noqa: F811
    """A new message, and one that its owner shows again; once each."""
    owner = make_bridge(OWNER)
    copy = make_bridge_beside(make_bridge, owner, REPLICA)
    with owner.connect() as source, copy.connect() as sink, owner.daemon.client() as phone, \
            owner.daemon.administrator() as operator, copy.daemon.client() as watcher:
        query = pb.Query(parts=[pb.QueryPart(filter=wire.filter_of(LABELS))], with_payload=True)
        watcher.call(pb.Watch(query=query))
        deposit = wire.deposit_of(rng, LABELS, payload=b"new")
        phone.call(deposit)
        after = 0

        def carry():
            nonlocal after
            for page in pages(source, after):
                apply(sink, page.changes)
                after = page.next

        carry()
        assert watcher.receive().match.result.payload == b"new"
        operator.call(pb.Hide(id=deposit.id))
        carry()
        operator.call(pb.Restore(id=deposit.id))
        carry()
        assert watcher.receive().match.result.payload == b"new"
        assert watcher.call(pb.Ping()) and watcher.pushes == []


def test_a_store_is_restored(make_bridge, rng):  # noqa: F811
    """RESTORING until the bridge says so, then OWNER, also after a restart; tokens work again."""
    owner = make_bridge(OWNER)
    deposits = fill(owner, rng)
    with owner.connect() as source:
        some = changes(source)
    fresh = make_bridge_beside(make_bridge, owner, OWNER)
    with fresh.connect() as sink, fresh.daemon.client() as phone:
        assert sink.welcome.hosts[0].role == pb.RESTORING
        error = phone.refused(pb.Withdraw(id=deposits["plain"].id, token=TOKEN))
        assert error.code == "STORAGE" and error.error.retry_after_ms > 0
        early = wire.deposit_of(rng, LABELS, payload=b"early")
        phone.call(early)
        assert apply(sink, some, pb.AS_RESTORE).changed == len(some)
        assert apply(sink, [], pb.AS_RESTORE, restored=True).changed == 0
        assert apply(sink, [], pb.AS_RESTORE, restored=True).changed == 0
        assert phone.refused(pb.Withdraw(id=bytes(16), token=TOKEN)).code == "NOT_FOUND"
        assert phone.refused(deposits["withdrawn"]).code == "ALREADY_EXISTS"
        phone.call(pb.Withdraw(id=deposits["plain"].id, token=TOKEN))
        told = states(changes(sink))
        assert early.id in told and told[deposits["plain"].id][0] == "gone"
        assert all(key[0] in (1, 4) for key in told if isinstance(key, tuple)), "the mark is not told"
    fresh.daemon.restart()
    with fresh.connect() as sink:
        assert sink.welcome.hosts[0].role == pb.OWNER


def test_an_owner_takes_what_another_was_told_meanwhile(make_bridge, rng):  # noqa: F811
    """The host was taken over and taken back. What is gone there goes here, and what is gone here stays so."""
    owner = make_bridge(OWNER)
    with owner.daemon.client() as phone, owner.connect() as source:
        apply(source, [], pb.AS_RESTORE, restored=True)
        mine, theirs = (wire.deposit_of(rng, LABELS, withdraw_hash=wire.withdraw_hash(TOKEN)) for _ in range(2))
        phone.call(mine)
        phone.call(theirs)
        other = make_bridge_beside(make_bridge, owner, OWNER)
        with other.connect() as sink, other.daemon.client() as visitor:
            apply(sink, changes(source), pb.AS_RESTORE, restored=True)
            visitor.call(pb.Withdraw(id=theirs.id, token=TOKEN))
            new = wire.deposit_of(rng, LABELS)
            visitor.call(new)
            phone.call(pb.Withdraw(id=mine.id, token=TOKEN))
            assert apply(source, changes(sink), pb.AS_RESTORE).changed == 2
            assert apply(source, changes(sink), pb.AS_RESTORE).changed == 0
        assert [result.id for result in phone.call(wire.query_of(LABELS)).results] == [new.id]


def test_a_backup_is_restored_as_a_new_store_is(make_bridge, rng):  # noqa: F811
    """It is RESTORING, and takes what has changed since the backup."""
    owner = make_bridge(OWNER)
    deposits = [wire.deposit_of(rng, LABELS, withdraw_hash=wire.withdraw_hash(TOKEN))
                for _ in range(3)]
    file = os.path.join(owner.daemon.directory, "copy.db")
    with owner.connect() as source, owner.daemon.administrator() as operator:
        apply(source, [], pb.AS_RESTORE, restored=True)
        for deposit in deposits[:2]:
            operator.call(deposit)
        operator.call(pb.Backup(path=file))
        operator.call(pb.Withdraw(id=deposits[0].id, token=TOKEN))
        operator.call(deposits[2])
        some = changes(source)
    back = make_bridge_beside(make_bridge, owner, OWNER)
    back.daemon.stop()
    shutil.rmtree(back.daemon.data)
    code, _, err = back.daemon.run("--config", back.daemon.config_file, "--data", back.daemon.data,
                                   "--restore", file)
    assert (code, err) == (0, "")
    back.daemon.start()
    with back.connect() as sink, back.daemon.client() as phone:
        assert sink.welcome.hosts[0].role == pb.RESTORING
        assert apply(sink, some, pb.AS_RESTORE, restored=True).changed == 2
        assert sorted(r.id for r in phone.call(wire.query_of(LABELS)).results) == sorted(
            deposit.id for deposit in deposits[1:])


def test_a_hood_with_a_host_that_is_restoring(make_bridge, rng):  # noqa: F811
    """Its answers are not complete until the bridge says so. The bridge serves the hood, or no answer would be."""
    bridge = make_bridge("[host a]\nhood = campus\nreplicate = yes\n[host b]\nhood = campus\n")
    with bridge.connect() as served, bridge.daemon.client() as phone:
        served.call(pb.Serve(hoods=["campus"]))

        def is_complete(host):
            return asked((bridge, served, phone), wire.query_of(LABELS, host=host, scope=pb.HOOD))[0].complete

        assert not is_complete("a") and not is_complete("b")
        apply(served, [], pb.AS_RESTORE, restored=True, host="a")
        assert is_complete("a") and is_complete("b")


def test_a_host_that_is_restoring(make_bridge):  # noqa: F811
    """Its own answers are not complete until the bridge says so; those of other hosts are."""
    bridge = make_bridge("[host a]\nreplicate = yes\n[host b]\n")
    with bridge.connect() as client, bridge.daemon.client() as phone:
        assert not phone.call(wire.query_of(LABELS, host="a")).complete
        assert phone.call(wire.query_of(LABELS, host="b")).complete
        apply(client, [], pb.AS_RESTORE, restored=True, host="a")
        assert phone.call(wire.query_of(LABELS, host="a")).complete


def test_a_copy_is_never_complete(make_bridge):  # noqa: F811
    """It may lack what its owner has: at the copy, and in the hood of the copy."""
    bridge = make_bridge("[host a]\nhood = campus\n[host b]\nhood = campus\nrole = replica\n")
    with bridge.connect() as client:
        for host, scope, complete in (("a", pb.HERE, True), ("b", pb.HERE, False),
                                      ("a", pb.HOOD, False), ("b", pb.HOOD, False)):
            got = client.call(wire.query_of(LABELS, host=host, scope=scope))
            assert got.complete == complete, (host, scope)
            assert got.HasField("as_of_ms") == (scope == pb.HOOD)


def test_an_operators_word_from_elsewhere(make_bridge, rng):  # noqa: F811
    """Hides, shows, removes and bans at the owner, which lists it as a decision."""
    bridge = make_bridge(OWNER)
    with bridge.connect() as client, bridge.daemon.client() as phone, \
            bridge.daemon.administrator() as operator:
        deposit = wire.deposit_of(rng, LABELS, payload=b"a word")
        phone.call(deposit)
        [change] = changes(client)
        change.message.state = 4
        change.decision.CopyFrom(pb.DecisionId(store_id=bytes.fromhex("1a2b3c4d") * 4, number=1))
        assert apply(client, [change], pb.AS_OPERATOR).changed == 1
        change.ClearField("decision")
        assert phone.refused(pb.Get(id=deposit.id)).code == "NOT_FOUND"
        change.message.state = 1
        change.message.filter = wire.filter_of(["topic:other"])  # the stored one counts
        assert apply(client, [change], pb.AS_OPERATOR).changed == 1
        assert [r.id for r in phone.call(wire.query_of(LABELS, k=1)).results] == [deposit.id]
        assert phone.call(wire.query_of(LABELS, k=1)).results[0].distance == 0
        gone = pb.Gone(id=deposit.id, until_ms=change.message.expires_ms, why=pb.WAS_REMOVED)
        rule = pb.RuleState(kind=3, number=2, created_ms=client.welcome.now_ms)
        assert apply(client, [pb.Change(gone=gone), pb.Change(rule=rule)],
                     pb.AS_OPERATOR).changed == 2
        assert phone.refused(pb.Get(id=deposit.id)).code == "REMOVED"
        assert phone.refused(wire.deposit_of(rng, LABELS)).code == "FORBIDDEN"
        decisions = operator.call(pb.Decisions()).decisions
        assert [d.act for d in decisions] == ["hide", "restore", "remove", "accept-closed"]
        assert {d.uid for d in decisions} == {2**32 - 1}  # the hub, not root, whose number is 0
        ban = pb.RuleState(kind=1, value=bytes.fromhex("5e") * 32, created_ms=client.welcome.now_ms)
        who = pb.DecisionId(store_id=bytes.fromhex("1a2b3c4d") * 4, number=2)
        apply(client, [pb.Change(rule=ban, decision=who)], pb.AS_OPERATOR)
        log = cli_runner.of_daemon(bridge.daemon, bridge.daemon.socket_path).ok("admin", "log")
        assert f" hub  hide {deposit.id.hex()}: decided at the reader whose store is 1a2b3c4d\n" in log, log
        assert " hub  ban: 5e5e5e5e, decided at the reader whose store is 1a2b3c4d\n" in log, log


def test_conflicts_are_left_out(make_bridge, rng):  # noqa: F811
    """Another message of the same id stays, and is counted."""
    owner = make_bridge(OWNER)
    copy = make_bridge_beside(make_bridge, owner, REPLICA)
    with owner.connect() as source, copy.connect() as sink, owner.daemon.client() as phone:
        phone.call(wire.deposit_of(rng, LABELS, payload=b"first"))
        some = changes(source)
        apply(sink, some)
        some[0].message.payload = b"second"
        answer = apply(sink, some)
        assert (answer.changed, answer.conflicts) == (0, 1)
        with copy.daemon.client() as reader:
            assert reader.call(pb.Get(id=some[0].message.id)).payload == b"first"


@pytest.mark.parametrize("state", [0, 2])
def test_a_shorter_life_ends_a_message_of_a_copy(make_bridge, state):  # noqa: F811
    """The copy counts the message no more, nor lists it, when its owner says that it has expired."""
    copy = make_bridge(REPLICA)
    with copy.connect() as client, copy.daemon.administrator() as operator:
        now = client.welcome.now_ms
        change = message(deposited_ms=now - 60000, expires_ms=now + 3600000, state=state)

        def used():
            figures = {f.name: f.value for f in operator.call(pb.Stats()).figures}
            return [figures["host/default/" + name] for name in ("messages", "bytes")]

        assert apply(client, [change]).changed == 1 and used()[0] == 1
        change.message.expires_ms = now - 1000
        assert apply(client, [change]).changed == 1
        assert used() == [0, 0]
        assert not operator.call(pb.Reported()).messages


# --- acknowledge = replicated ---------------------------------------------------------------------


def test_an_acknowledgement_waits_for_the_copies(make_bridge, rng):  # noqa: F811
    """REPLICATED when the bridge has said so, ON_STORAGE when the time is over."""
    bridge = make_bridge(OWNER + "acknowledge = replicated\nreplicate_wait = 60s\n")
    with bridge.connect() as client, bridge.daemon.client() as phone:
        deposits = [wire.deposit_of(rng, LABELS) for _ in range(3)]
        numbers = [phone.post(deposit) for deposit in deposits]
        seen = await_changes(client, 3)
        assert phone.call(pb.Ping()), "the session goes on while answers wait"
        client.call(pb.Changes(after=seen[2].seq, replicated=seen[2].seq))
        for number in numbers:
            assert phone.body_of(phone.receive(), number).durability == pb.REPLICATED
        assert phone.call(deposits[0]).durability == pb.REPLICATED, "the same again"
        error = client.refused(pb.Changes(replicated=seen[2].seq + 1000000))
        assert error.error.field == "replicated"
        with open(bridge.daemon.config_file, encoding="utf-8") as file:
            text = file.read()
        with open(bridge.daemon.config_file, "w", encoding="utf-8") as file:
            file.write(text.replace("replicate_wait = 60s", "replicate_wait = 10ms"))
        with bridge.daemon.administrator() as operator:
            operator.call(pb.Reload())
        assert phone.call(wire.deposit_of(rng, LABELS)).durability == pb.ON_STORAGE


def await_changes(client, count):
    """The changes of a host, when there are so many."""
    while True:
        seen = changes(client)
        if len(seen) >= count:
            return seen
        client.call(pb.Changes(after=seen[-1].seq if seen else 0, wait_ms=1000))


def test_copies_that_have_lost_something(make_bridge, rng):  # noqa: F811
    """A bridge that publishes all again takes back what it has said."""
    bridge = make_bridge(OWNER + "acknowledge = replicated\nreplicate_wait = 10ms\n")
    with bridge.connect() as client, bridge.daemon.client() as phone:
        deposit = wire.deposit_of(rng, LABELS)
        assert phone.call(deposit).durability == pb.ON_STORAGE
        [change] = await_changes(client, 1)
        client.call(pb.Changes(after=change.seq, replicated=change.seq))
        assert phone.call(deposit).durability == pb.REPLICATED
        client.call(pb.Changes())
        assert phone.call(deposit).durability == pb.ON_STORAGE
        client.call(pb.Changes(after=change.seq, replicated=change.seq))
        assert phone.call(deposit).durability == pb.REPLICATED


def test_replicate_no_and_yes_again(make_bridge, rng):  # noqa: F811
    """No changes meanwhile; then the copies are told what was missed: what came, and what is gone."""
    bridge = make_bridge(OWNER)
    kept, gone, late = (wire.deposit_of(rng, LABELS, withdraw_hash=wire.withdraw_hash(TOKEN)) for _ in range(3))
    with bridge.daemon.client() as client, bridge.connect() as feed:
        client.call(kept)
        client.call(gone)
        cursor = list(pages(feed))[-1].next
    with open(bridge.daemon.config_file, encoding="utf-8") as file:
        yes = file.read()
    for text in (yes.replace("replicate = yes\n", "replicate = no\n"), yes):
        bridge.daemon.stop()
        with open(bridge.daemon.config_file, "w", encoding="utf-8") as file:
            file.write(text)
        bridge.daemon.start()
        if text != yes:
            with bridge.daemon.client() as client, bridge.connect() as feed:
                assert "keeps no changes" in feed.refused(pb.Changes(after=cursor)).error.message
                client.call(late)
                client.call(pb.Withdraw(id=gone.id, token=TOKEN))
    with bridge.connect() as feed:
        told = states(changes(feed, cursor))
    assert {id: kind for id, (kind, _) in told.items()} == {late.id: "message", gone.id: "gone"}


def test_a_change_in_a_later_page(make_bridge, rng):  # noqa: F811
    """A message that has changed comes with its change: until then the copies do not have it."""
    bridge = make_bridge(OWNER + "acknowledge = replicated\nreplicate_wait = 10ms\n")
    with bridge.connect() as client, bridge.daemon.client() as phone:
        deposits = [wire.deposit_of(rng, LABELS) for _ in range(3)]
        for deposit in deposits:
            phone.call(deposit)
        phone.call(pb.Report(id=deposits[1].id))
        await_changes(client, 3)
        page = client.call(pb.Changes(limit=2))
        assert [c.message.id for c in page.changes] == [deposits[0].id, deposits[2].id]
        page = client.call(pb.Changes(after=page.next, replicated=page.next))
        assert [c.message.id for c in page.changes] == [deposits[1].id] and not page.more
        assert phone.call(deposits[1]).durability == pb.ON_STORAGE
        client.call(pb.Changes(after=page.next, replicated=page.next))
        assert phone.call(deposits[1]).durability == pb.REPLICATED


def test_a_stop_answers_what_waits_for_copies(make_bridge, rng):  # noqa: F811
    """With ON_STORAGE, which is true."""
    bridge = make_bridge(OWNER + "acknowledge = replicated\nreplicate_wait = 60s\n")
    with bridge.connect() as client, bridge.daemon.client() as phone:
        number = phone.post(wire.deposit_of(rng, LABELS))
        client.call(pb.Changes(wait_ms=60000))
        bridge.daemon.stop()
        [answer] = [a for a in phone.receive_until_end() if a.id == number]
        assert answer.deposited.durability == pb.ON_STORAGE


# --- hostile input --------------------------------------------------------------------------------

NOW = 1795176000000
MESSAGE = {"id": bytes(16), "filter": wire.filter_of(LABELS), "deposited_ms": NOW,
           "expires_ms": NOW + 1000}


def message(**fields):
    return pb.Change(message=pb.ExportedMessage(**{**MESSAGE, **fields}))


def rule(**fields):
    return pb.Change(rule=pb.RuleState(**fields))


@pytest.mark.parametrize("change, field, words", [
    (pb.Change(seq=5), "changes", "one of them"),
    (pb.Change(gone=pb.Gone(id=bytes(16), why=1), rule=pb.RuleState(kind=3)),
     "changes", "one of them"),
    (message(epoch=3), "changes.message.epoch", "stay at their host"),
    (message(filter=bytes(7)), "changes.message.filter", "takes"),
    (message(payload=bytes(5000)), "changes.message.payload", "up to"),
    (message(expires_ms=NOW), "changes.message.expires_ms", "after its"),
    (message(expires_ms=2**63 - 1), "changes.message.expires_ms", "9999"),
    (message(deposited_ms=-1), "changes.message.expires_ms", "1970"),
    (message(deposited_ms=-2**63, expires_ms=2**63 - 1),
     "changes.message.expires_ms", "1970"),
    (message(deposited_ms=0), "changes.message.expires_ms", "ten years"),
    (pb.Change(gone=pb.Gone(id=bytes(16), why=1, until_ms=-5)),
     "changes.gone.until_ms", "1970 to 9999"),
    (rule(kind=1, value=bytes(31)), "changes.rule.value", "none of this"),
    (rule(kind=2, value=bytes(3)), "changes.rule.value", "takes"),
    (rule(kind=2, value=bytes(64), number=1000001), "changes.rule.value",
     "none of this"),
    (rule(kind=3, number=3), "changes.rule.value", "none of this"),
    (rule(kind=4, value=b"no zero"), "changes.rule.value", "none of this"),
    (rule(kind=4, value=b"de\0a\nb", number=1), "changes.rule.value",
     "none of this"),
    (rule(kind=4, value=b"de\0a\0b\0c", number=1), "changes.rule.value",
     "none of this"),
    (rule(kind=4, value=b"de\0\xff", number=1), "changes.rule.value",
     "none of this"),
    (rule(kind=4, value=b"de\0a\0", number=1), "changes.rule.value", "none of this"),
    (rule(kind=4, value=b"de\0a\0" + 65 * b"x", number=1), "changes.rule.value", "none of this"),
    (rule(kind=4, value=b"", number=1), "changes.rule.value", "none of this"),
    (rule(kind=3, created_ms=-1), "changes.rule.created_ms", "1970"),
])
def test_wrong_changes_are_left_out(make_bridge, change, field, words):  # noqa: F811
    """Each is counted, and the log says what is wrong; the others of the request are applied."""
    copy = make_bridge(REPLICA)
    with copy.connect() as client:
        good = [message(id=bytes([n]) * 16, deposited_ms=client.welcome.now_ms,
                        expires_ms=client.welcome.now_ms + 10**6) for n in (7, 8)]
        answer = apply(client, [good[0], change, good[1]])
        assert (answer.changed, answer.conflicts) == (2, 1)
        for each in good:
            assert client.call(pb.Get(id=each.message.id))
        line = copy.daemon.wait_log("host default: a change from a bridge is left out: .*").group(0)
        assert field in line and words in line


@pytest.mark.parametrize("how", [pb.AS_OPERATOR, pb.AS_RESTORE])
def test_a_copy_listens_to_its_owner_only(make_bridge, how):  # noqa: F811
    copy = make_bridge(REPLICA)
    with copy.connect() as client:
        error = client.refused(pb.Apply(changes=[message()], **{"as": how}))
        assert (error.code, error.error.field) == ("INVALID", "as")
        assert "a copy of host" in error.error.message


def test_a_restore_with_a_wrong_change_ends(make_bridge):  # noqa: F811
    """The host is OWNER again, with all but that one."""
    bridge = make_bridge(OWNER)
    with bridge.connect() as client:
        good = message(deposited_ms=client.welcome.now_ms,
                       expires_ms=client.welcome.now_ms + 10**6)
        answer = apply(client, [message(id=bytes([7]) * 16, filter=bytes(7)), good],
                       pb.AS_RESTORE, restored=True)
        assert (answer.changed, answer.conflicts) == (1, 1)
    with bridge.connect() as client:
        assert client.welcome.hosts[0].role == pb.OWNER


@pytest.mark.parametrize("change, field", [
    (message(state=0), "changes.message.state"), (message(state=2), "changes.message.state"),
    (pb.Change(gone=pb.Gone(id=bytes(16), why=1)), "changes.gone.why"),
    (pb.Change(gone=pb.Gone(id=bytes(16), why=3)), "changes.gone.why"),
])
def test_what_an_operator_cannot_say(make_bridge, change, field):  # noqa: F811
    """It is left out; the operator's other words count."""
    bridge = make_bridge(OWNER)
    with bridge.connect() as client:
        accept = rule(kind=3, number=2, created_ms=client.welcome.now_ms)
        answer = apply(client, [change, accept], pb.AS_OPERATOR)
        assert (answer.changed, answer.conflicts) == (1, 1)
        assert field in bridge.daemon.wait_log(
            "a change from a bridge is left out: .*").group(0)


def test_wrong_requests_are_refused(make_bridge):  # noqa: F811
    """Unknown hosts, numbers of another store, hosts without a feed, words that do not fit."""
    bridge = make_bridge(OWNER + "[host plain]\n")
    with bridge.connect() as client:
        for body in (pb.Changes(host="nobody"), pb.Apply(host="nobody", **{"as": pb.AS_OPERATOR})):
            assert client.refused(body).code == "UNKNOWN_HOST"
        for body in (pb.Changes(host="plain"), pb.Apply(host="plain", **{"as": pb.AS_OPERATOR})):
            error = client.refused(body)
            assert error.error.field == "host" and "replicate = yes" in error.error.message
        for fields in ({"after": 2**64 - 1}, {"after": 2**63}, {"replicated": 2**64 - 1}):
            error = client.refused(pb.Changes(**fields))
            assert error.code == "INVALID" and error.error.field == next(iter(fields))
            assert "has not given such a number" in error.error.message
        assert client.refused(pb.Changes(wait_ms=2**32 - 1)).error.field == "wait_ms"
        assert client.call(pb.Changes(limit=2**32 - 1)).next >= 0
        error = client.refused(pb.Apply(changes=[message()], **{"as": pb.AS_REPLICA}))
        assert error.error.field == "as" and "is the owner" in error.error.message
        error = client.refused(pb.Apply(restored=True, **{"as": pb.AS_OPERATOR}))
        assert error.error.field == "restored"


def test_a_copy_without_room_says_so(make_bridge, rng):  # noqa: F811
    """Nothing is evicted. All of a request that fits is applied, and the rest is counted. What a request takes
    away makes room for its messages, also for those before; so in the end nothing is missing."""
    owner = make_bridge(OWNER)
    copy = make_bridge_beside(make_bridge, owner, REPLICA + "messages = 2\n")
    with owner.connect() as source, copy.connect() as sink, owner.daemon.client() as phone:
        deposits = [wire.deposit_of(rng, LABELS, withdraw_hash=wire.withdraw_hash(TOKEN))
                    for _ in range(3)]
        for deposit in deposits:
            phone.call(deposit)
        some = changes(source)
        done = apply(sink, some)
        assert (done.changed, done.no_room) == (2, 1)
        with copy.daemon.client() as reader:
            assert {r.id for r in reader.call(wire.query_of(LABELS)).results} == {
                one.id for one in deposits[:2]}
            phone.call(pb.Withdraw(id=deposits[0].id, token=TOKEN))
            gone = changes(source, after=some[-1].seq)
            page = [some[2], *gone]
            done = apply(sink, page)
            assert (done.changed, done.no_room) == (2, 0)
        assert exported(copy.daemon) == exported(owner.daemon)


def test_a_restore_without_room_goes_on(make_bridge):  # noqa: F811
    """The host is RESTORING until all has room: the bridge sends it again."""
    bridge = make_bridge(OWNER + "messages = 1\n")
    with bridge.connect() as client:
        now = client.welcome.now_ms
        some = [message(id=bytes([n]) * 16, deposited_ms=now, expires_ms=now + 10**6)
                for n in range(2)]
        request = pb.Apply(changes=some, restored=True, **{"as": pb.AS_RESTORE})
        assert client.call(request).no_room == 1
        with bridge.connect() as again:
            assert again.welcome.hosts[0].role == pb.RESTORING
        del request.changes[0]
        request.changes.insert(0, pb.Change(gone=pb.Gone(id=some[0].message.id, why=1,
                                                         until_ms=now + 10**6)))
        done = client.call(request)
        assert (done.changed, done.no_room) == (2, 0)
        with bridge.connect() as again:
            assert again.welcome.hosts[0].role == pb.OWNER


def test_a_large_backlog_in_pages(make_bridge, rng):  # noqa: F811
    """Pages fit the frame, whatever the payloads; the copy is whole."""
    owner = make_bridge(OWNER)
    copy = make_bridge_beside(make_bridge, owner, REPLICA)
    with owner.connect() as source, copy.connect() as sink, owner.daemon.client() as phone:
        for answer in phone.pipeline([wire.deposit_of(rng, LABELS, payload=rng.randbytes(
                rng.choice([0, 10, 4096]))) for _ in range(300)]):
            assert answer.WhichOneof("body") == "deposited"
        total = 0
        for page in pages(source):
            total += apply(sink, page.changes).changed
        assert total == 300
        assert sorted(states(changes(sink))) == sorted(states(changes(source)))


# --- the command ----------------------------------------------------------------------------------


def test_the_command_prints_the_feed(make_bridge, rng):  # noqa: F811
    """One line of JSON a change; --after leaves out, --follow goes on; a host without says why."""
    bridge = make_bridge(OWNER + "[host plain]\n")
    fill(bridge, rng)
    with bridge.connect() as client:
        some = changes(client)
    hearsay = [conftest.program(conftest.HEARSAY), "--server", bridge.daemon.socket_path, "admin", "feed"]

    def run(*options):
        done = subprocess.run([*hearsay, *options], capture_output=True, text=True, check=False)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    code, lines, _ = run()
    assert code == 0 and [line["seq"] for line in lines] == [change.seq for change in some]
    told = {line.get("id") or (line["rule"], line["value"]): line for line in lines}
    for change in some:
        if change.HasField("message"):
            line = told[change.message.id.hex()]
            assert line["text"] == change.message.payload.decode()
            assert line["state"] == ["shown", "approved", "hidden", "pending", "withheld"][
                change.message.state]
        elif change.HasField("gone"):
            assert told[change.gone.id.hex()]["gone"] in ("withdrawn", "removed")
    assert told["ban-payload", bytes(32).hex()]["dropped"] is False
    assert run("--after", str(some[-1].seq)) == (0, [], "")
    code, _, err = run("--after", "x")
    assert code == 2 and "takes a number" in err
    code, _, err = run("--host", "plain")
    assert code != 0 and "replicate = yes" in err
    with subprocess.Popen([*hearsay, "--follow", "--after", str(some[-1].seq)],
                          stdout=subprocess.PIPE, text=True) as follow:
        with bridge.daemon.client() as phone:
            phone.call(wire.deposit_of(rng, LABELS, payload=b"later"))
        assert json.loads(follow.stdout.readline())["text"] == "later"
        follow.terminate()
