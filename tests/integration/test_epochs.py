# SPDX-License-Identifier: Apache-2.0
"""Epochs of the daemon: who is given keys, what is found with them and without, what is left when
they are over."""

import os
import re

import pytest

import hearsay_wire as wire
from hearsay_wire import pb

HERE = ["wifi:a4:2b:8c:01:02:03", "wifi:a4:2b:8c:01:02:04", "geo:u281zd", "topic:coffee"]
NEARBY = HERE[1:] + ["topic:tea"]
LONG = "[host default]\nepoch_length = 365d\nepoch_keep = 365d\nprofile = v2:1024/4\n"
PROFILE = "v2:1024/4"


def local(make_daemon, config=LONG, **options):
    """A daemon whose TCP listener is local and whose Unix socket is not."""
    return make_daemon(config, start=False, **options).make_local().start()


def epoch_of(client):
    return client.welcome.hosts[0].epoch


def ask(client, parts, **fields):
    return client.call(pb.Query(k=100, parts=parts, with_payload=True, **fields)).results


def part(labels, epoch=None):
    """A part for a context, in the open or in an epoch."""
    if epoch is None:
        return pb.QueryPart(filter=wire.filter_of(labels, PROFILE))
    return pb.QueryPart(epoch=epoch.number, filter=wire.filter_of(labels, PROFILE, (epoch.key,)))


def deposit(client, labels, payload, epoch=None, **fields):
    whole = part(labels, epoch)
    message_id = os.urandom(16)
    client.call(pb.Deposit(id=message_id, epoch=whole.epoch, filter=whole.filter, payload=payload,
                           **fields))
    return message_id


def test_keys_are_for_local_listeners(make_daemon):
    daemon = local(make_daemon)
    with daemon.client() as inside, daemon.administrator() as outside:
        epoch, other = epoch_of(inside), epoch_of(outside)
        assert len(epoch.key) == 32 and not other.HasField("key")
        assert (epoch.number, epoch.ends_ms, epoch.kept_ms) == (
            other.number, other.ends_ms, other.kept_ms)
        assert epoch.starts_ms <= inside.welcome.now_ms < epoch.ends_ms
        year = 365 * 24 * 3600 * 1000
        assert epoch.ends_ms % year == 0 and epoch.kept_ms == epoch.ends_ms + year


def test_without_a_local_listener_there_is_a_warning(make_daemon):
    daemon = make_daemon(LONG)
    daemon.wait_log("no listener is marked local")
    code, _, err = daemon.run("--check-config", "--config", daemon.config_file)
    assert code == 0 and err.count("warning: host default has epochs, but no listener is marked local") == 1


def test_without_the_key_chance_with_it_the_plain_distances(make_daemon):
    """The same context finds its message with the key at the distance of the plain labels; without
    the key, and in the open, nothing but chance."""
    daemon = local(make_daemon)
    with daemon.client() as client:
        epoch = epoch_of(client)
        secret = deposit(client, HERE, b"here", epoch)
        plain = deposit(client, HERE, b"open")
        found = {r.id: r for r in ask(client, [part(NEARBY, epoch), part(NEARBY)])}
        assert found[secret].epoch == epoch.number and found[plain].epoch == 0
        assert abs(found[secret].distance - found[plain].distance) < 100_000
        assert found[secret].distance < 500_000
        assert [r.id for r in ask(client, [part(HERE, epoch)], max_distance=0)] == [secret]
        # Without the key: the plain filter in the epoch, and a keyed one in the open.
        guess = pb.QueryPart(epoch=epoch.number, filter=wire.filter_of(HERE, PROFILE))
        assert all(r.distance > 850_000 for r in ask(client, [guess]))
        guess = pb.QueryPart(filter=wire.filter_of(HERE, PROFILE, (epoch.key,)))
        assert all(r.distance > 850_000 for r in ask(client, [guess]))


def test_merged_answers_are_those_of_one_list(make_daemon, rng):
    """Parts in several epochs give the k nearest of all, each once, as computed here."""
    config = "[host default]\nepoch_length = 1s\nepoch_keep = 60s\nprofile = v2:1024/4\n"
    daemon = local(make_daemon, config)
    epochs, messages = {}, {}
    with daemon.client() as client:
        epochs[epoch_of(client).number] = epoch_of(client)
        while len(epochs) < 4:
            pushed = client.receive()
            assert pushed.id == 0 and pushed.WhichOneof("body") == "epoch_changed"
            epochs[pushed.epoch_changed.epoch.number] = pushed.epoch_changed.epoch
        topics = [f"topic:{i}" for i in range(12)]
        living = [None, *epochs.values()]
        for i in range(60):
            labels, epoch = rng.sample(topics, 6), rng.choice(living)
            whole = part(labels, epoch)
            message_id = os.urandom(16)
            client.call(pb.Deposit(id=message_id, epoch=whole.epoch,
                                                filter=whole.filter))
            messages[message_id] = whole
        for _ in range(20):
            labels = rng.sample(topics, 6)
            parts = [part(labels, epoch) for epoch in rng.sample(living, rng.randint(1, 5))]
            answer = client.call(pb.Query(k=7, parts=parts, metric=pb.BITS))
            assert answer.exact
            expected = sorted(
                distance_ppm(p.filter, messages[m].filter)
                for m in messages for p in parts if p.epoch == messages[m].epoch)
            assert [r.distance for r in answer.results] == expected[:7]


def distance_ppm(a, b):
    shared, everything = wire.counts(a, b)
    return wire.rounded_ppm(everything - shared, everything)


def test_unknown_epochs(make_daemon):
    daemon = local(make_daemon, LONG + "epoch_open = refuse\n")
    with daemon.client() as client:
        epoch = epoch_of(client)
        other = pb.EpochInfo(number=epoch.number + 1, key=epoch.key)
        for wrong in (lambda: deposit(client, HERE, b"", other),
                      lambda: ask(client, [part(HERE, epoch), part(HERE, other)]),
                      lambda: client.call(pb.Summary(epoch=other.number)),
                      lambda: deposit(client, HERE, b"")):
            with pytest.raises(wire.Refused) as refused:
                wrong()
            assert refused.value.code == "UNKNOWN_EPOCH"
            needed = "the open" if refused.value.error.message.endswith("on site") else str(epoch.number)
            assert needed in refused.value.error.message
        deposit(client, HERE, b"", epoch)
        assert client.call(pb.Summary(epoch=epoch.number)).count == 1
        assert client.call(pb.Summary()).count == 0


def test_epochs_survive_restarts_and_a_crash(make_daemon):
    daemon = local(make_daemon)
    with daemon.client() as client:
        epoch = epoch_of(client)
        stored = deposit(client, HERE, b"here", epoch)
    for end in (daemon.stop, daemon.kill):
        end()
        daemon.start()
        with daemon.client() as client:
            assert epoch_of(client) == epoch
            assert [r.id for r in ask(client, [part(HERE, epoch)])] == [stored]
            assert client.call(pb.Get(id=stored)).epoch == epoch.number


def test_nothing_is_left_of_an_epoch_that_is_over(make_daemon):
    """Once it is swept away, key, filter and payload are not in the files that a stop leaves. (That
    the log of a running daemon is scrubbed within a minute is tested with the store.)"""
    config = "[host default]\nepoch_length = 1s\nepoch_keep = 1s\nprofile = v2:1024/4\n"
    daemon = local(make_daemon, config)
    with daemon.client() as client:
        epoch = epoch_of(client)
        payload = os.urandom(64)
        deposit(client, HERE, payload, epoch, ttl_s=3600)
        keyed = wire.filter_of(HERE, PROFILE, (epoch.key,))

    def held():
        text = b""
        for name in os.listdir(daemon.data):
            path = os.path.join(daemon.data, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    text += file.read()
        return [secret in text for secret in (bytes(epoch.key), keyed, payload)]

    assert held() == [True, True, True]
    with daemon.client() as client:
        while client.call(pb.Ping()).now_ms < epoch.kept_ms:
            client.pushes.append(client.receive())  # the next epoch
        wire.wait_until(lambda: client.refused(pb.Summary(epoch=epoch.number)), "the end")
        assert client.refused(pb.Query(k=1, parts=[part(HERE, epoch)])).code == "UNKNOWN_EPOCH"
    with daemon.administrator() as administrator:
        wire.wait_until(lambda: {figure.name: figure.value for figure in administrator.call(pb.Stats()).figures}[
            "messages"] == 0, "the sweep")
    daemon.stop()
    assert held() == [False, False, False]


@pytest.mark.parametrize("config,says", [
    ("epoch_length = 1h\nepoch_keep = 61h\n", "more than 60 times"),
    ("epoch_open = refuse\n", "nothing could be deposited"),
])
def test_configurations_that_make_no_sense(make_daemon, config, says):
    daemon = make_daemon("[host default]\n" + config, start=False)
    code, _, err = daemon.run("--config", daemon.config_file, "--data", daemon.data)
    assert code != 0 and re.search(says, err)
