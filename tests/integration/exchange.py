# SPDX-License-Identifier: Apache-2.0
"""A database that one processor's daemon wrote is opened by all others', and the other way around.

scripts/matrix runs it. HEARSAY_EXCHANGE is a folder with one folder for each processor, in which
hearsayd and hearsay run that processor's programs.
"""

import hashlib
import os
import random
import shutil
import subprocess

import pytest

import cli_runner
import conftest
import hearsay_wire as wire
from hearsay_wire import pb
from test_moderation import From

FOLDER = os.environ.get("HEARSAY_EXCHANGE", "")
MACHINES = sorted(os.listdir(FOLDER)) if FOLDER else []
SECTIONS = "v2:wifi=256/2,geo=96/1,time=32/1,topic=96/2,joint(geo,time)=32/1"
PLAIN = wire.PROFILE
HOSTS = {"default": PLAIN, "cafe": SECTIONS}
CONFIG = f"""[limits]
sender_share = 100%
[host default]
hide_after = 2
epoch_length = 365d
epoch_keep = 365d
[host cafe]
profile = {SECTIONS}
"""
TOKEN = bytes(range(32))


def test_there_are_others():
    assert len(MACHINES) >= 2, "HEARSAY_EXCHANGE names programs of two processors at least"


class Foreign(conftest.Daemon):
    """A daemon of one of the processors."""

    machine = MACHINES[0] if MACHINES else ""

    def command(self):
        where = ["--config", self.config_file, "--data", self.data]
        return [os.path.join(FOLDER, self.machine, "hearsayd"), *where]

    def configure(self, config):
        super().configure(config)
        with open(self.config_file, encoding="utf-8") as file:
            text = file.read()
        with open(self.config_file, "w", encoding="utf-8") as file:
            file.write(text.replace("127.0.0.1:0\n", "127.0.0.1:0 local limited\n"))

    def start_as(self, machine):
        self.machine = machine
        return self.start()

    def check(self):
        """`hearsay admin check` of the same processor."""
        cli = cli_runner.of_daemon(self, unix=True)
        command = [os.path.join(FOLDER, self.machine, "hearsay"), "-s", self.socket_path]
        done = subprocess.run([*command, "admin", "check"], env=cli.environment(), check=False,
                              capture_output=True, text=True, timeout=wire.PATIENCE)
        assert done.returncode == 0, done.stdout + done.stderr
        with self.administrator() as client:
            assert not client.call(pb.Check()).problems


@pytest.fixture
def machine_daemon(make_daemon, monkeypatch):
    """A daemon that is not started yet, on a directory of its own."""
    monkeypatch.setattr(conftest, "Daemon", Foreign)
    return make_daemon(CONFIG, start=False)


def labels_of(rng, host):
    if host == "default":
        return [f"topic:{rng.randrange(30)}" for _ in range(6)]
    return [f"wifi:{rng.randrange(20)}", f"wifi:{rng.randrange(20)}", f"topic:{rng.randrange(9)}",
            rng.choice(["geo:u281zd", "geo:u281ze"]), f"time:2026-11-21T{rng.randrange(24):02}"]


def deposits_of(rng, host, count, **fields):
    """No two have the same payload: a ban of one must not hit another."""
    made = []
    for _ in range(count):
        one = wire.deposit_of(
            rng, labels_of(rng, host), HOSTS[host], host=host,
            payload=rng.randbytes(rng.choice([8, 300, 3000])), ttl_s=rng.randrange(90_000, 600_000),
            **fields)
        if rng.random() < 0.5:
            one.reach = rng.randrange(400_000, wire.WHOLE)
        if rng.random() < 0.5:
            one.media_type = rng.choice(["application/octet-stream", "text/html; charset=utf-8"])
        made.append(one)
    return made


def keyed_deposits(rng, client, count):
    """In the current epoch of the first host."""
    epoch = client.welcome.hosts[0].epoch
    made = deposits_of(rng, "default", count, epoch=epoch.number)
    for one in made:
        one.filter = wire.filter_of(labels_of(rng, "default"), PLAIN, (epoch.key,))
    return made


class Written:
    """What a daemon was given, and how it is to be found again."""

    def __init__(self, daemon, rng):
        self.references = {host: wire.Reference(profile) for host, profile in HOSTS.items()}
        with daemon.client() as inside, daemon.administrator() as client:
            self.keyed = keyed_deposits(rng, inside, 20)
            self.open = deposits_of(rng, "default", 60, withdraw_hash=wire.withdraw_hash(TOKEN))
            self.cafe = deposits_of(rng, "cafe", 40, withdraw_hash=wire.withdraw_hash(TOKEN))
            for one, answer in zip(self.open + self.cafe + self.keyed,
                                   client.pipeline(self.open + self.cafe + self.keyed)):
                assert answer.WhichOneof("body") == "deposited", answer
                if one.epoch == 0:
                    self.references[one.host].add(one, answer.deposited)
            self.queries = [self.query(rng, host, metric) for host in HOSTS for _ in range(10)
                            for metric in (pb.BITS, pb.PHI)]
            self.moderate(daemon, client)

    def query(self, rng, host, metric):
        return wire.query_of(labels_of(rng, host), 20, HOSTS[host], host=host, metric=metric,
                             with_payload=True, max_distance=rng.choice([800_000, wire.WHOLE]))

    def forget(self, host, message_id):
        del self.references[host].messages[message_id]

    def moderate(self, daemon, client):
        """Some are withdrawn, removed, reported, hidden, restored; payloads and filters banned."""
        self.withdrawn, self.removed, self.hidden, self.restored, self.told = self.open[:5]
        client.call(pb.Withdraw(id=self.withdrawn.id, token=TOKEN))
        client.call(pb.Remove(id=self.removed.id, ban=True))
        client.call(pb.Withdraw(host="cafe", id=self.cafe[0].id, token=TOKEN))
        self.forget("cafe", self.cafe[0].id)
        senders = From(daemon)
        for number, one in ((1, self.hidden), (2, self.hidden), (1, self.restored),
                            (2, self.restored), (3, self.told)):
            senders.report(number, one.id, reason=f"reason {number}")
        client.call(pb.Restore(id=self.restored.id))
        for one in (self.withdrawn, self.removed, self.hidden):
            self.forget("default", one.id)
        client.call(pb.Ban(host="cafe", payload_hash=hashlib.blake2b(b"spam", digest_size=32).digest()))
        client.call(pb.Ban(host="cafe", filter=self.cafe[0].filter, max_distance=100_000))
        client.call(pb.Accept(host="cafe", mode="review"))
        self.spam = deposits_of(random.Random(1), "cafe", 1)[0]
        self.spam.payload = b"spam"

    def check_answers(self, client):
        """Queries as by comparing with everything; what is gone stays gone."""
        for query in self.queries:
            found = [wire.shape(result) for result in client.call(query).results]
            assert found == self.references[query.host].answer(query)
        assert client.refused(self.withdrawn).code == "ALREADY_EXISTS"
        assert client.refused(pb.Get(id=self.withdrawn.id)).code == "NOT_FOUND"
        assert client.refused(pb.Get(id=self.hidden.id)).code == "NOT_FOUND"
        assert client.refused(self.removed).code in ("ALREADY_EXISTS", "FORBIDDEN")
        assert client.refused(self.spam).code == "FORBIDDEN"
        again = client.call(self.open[10])
        assert again.duplicate


def seen(daemon):
    """All that a daemon tells of its messages, for comparison."""
    told = []
    with daemon.administrator() as client, daemon.client() as inside:
        after = None
        while True:
            page = client.call(pb.Export(after=after))
            told += page.messages
            if not page.HasField("next"):
                break
            after = page.next
        for host in HOSTS:
            told.append(client.call(pb.Reported(host=host)))
            told.append(client.call(pb.Reported(host=host, pending=True)))
            told.append(client.call(pb.Bans(host=host)))
            told.append(client.call(pb.Accept(host=host)))
            told.append(client.call(pb.Summary(host=host)))
        epoch = inside.welcome.hosts[0].epoch
        told.append(epoch)
        told.append(client.call(pb.Summary(epoch=epoch.number)))
        told.append(client.welcome.store_id)
    return told


@pytest.mark.parametrize("writer", MACHINES)
def test_written_on_one_opened_on_all(machine_daemon, rng, writer):
    """The same answers everywhere; what the others add and take away is right for the writer."""
    daemon = machine_daemon.start_as(writer)
    written = Written(daemon, rng)
    expected = seen(daemon)
    with daemon.administrator() as client:
        written.check_answers(client)
    daemon.check()
    daemon.stop()
    original = daemon.data + "-original"
    shutil.copytree(daemon.data, original)
    for reader in MACHINES:
        shutil.rmtree(daemon.data)
        shutil.copytree(original, daemon.data)
        daemon.start_as(reader)
        assert seen(daemon) == expected, f"{reader} of {writer}"
        with daemon.administrator() as client:
            written.check_answers(client)
            client.call(pb.Withdraw(id=written.open[20].id, token=TOKEN))
            for answer in client.pipeline(deposits_of(rng, "default", 10)):
                assert answer.WhichOneof("body") == "deposited", answer
            client.call(pb.Accept(host="cafe", mode="open"))
        daemon.check()
        changed = seen(daemon)
        daemon.stop()

        daemon.start_as(writer)
        assert seen(daemon) == changed, f"{writer} of {reader}"
        daemon.check()
        daemon.stop()
