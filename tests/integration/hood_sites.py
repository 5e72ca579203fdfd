# SPDX-License-Identifier: Apache-2.0
"""Sites of one hood (hub_site), and a stranger at the hub that hears and says what it likes."""

import contextlib
import os
import time

import pytest

import conftest
import hearsay_wire as wire
import hub_cluster
import hub_site
from access_point import letters
from hearsay_wire import pb
from hub_cluster import NoAnswer

HOOD = "campus"
STORE = bytes(range(16))


# Access points by the names of their hosts: two of them have two.
POINTS = [("big-1", "big-2"), ("twin-1", "twin-2"), *((f"ap{n}",) for n in range(1, 11))]


class HoodHub(hub_cluster.Hub):
    def __init__(self, root):
        super().__init__(root, {host: HOOD for point in POINTS for host in point})

    def write_servers(self):
        hosts = os.path.join(self.directory, "hosts.txt")
        with open(hosts, "w", encoding="utf-8") as file:
            file.writelines(f"host {','.join(point)} {HOOD}\n" for point in POINTS)
            file.writelines(f"hub {name}\n" for name in self.readers)
        code, _, errors = self.setup(
            "--write", self.keys, "--hosts", hosts, "--store", f"{self.directory}/store", "--disk",
            "1G", "--nats", ".".join(map(str, hub_cluster.server_version())))
        assert code == 0, errors


@pytest.fixture(scope="module", name="hub")
def hub_of_module():
    made = HoodHub(conftest.storage_root())
    try:
        made.start().wait_ready().make_streams()
        yield made.wait_current()
    finally:
        made.remove()


hub = hub_of_module


class HoodSite(hub_site.Site):
    def __init__(self, hub, make_daemon, hosts, replicate="yes", host_lines="", asks=100000):
        super().__init__(hub, make_daemon, hosts[0], {host: "owner" for host in hosts},
                         limits="[limits]\ndeposits_per_minute = 0\nqueries_per_minute = 0\nk = 1000\n",
                         host_lines=host_lines)
        if replicate == "no":
            with open(self.daemon.config_file, encoding="utf-8") as file:
                text = file.read()
            with open(self.daemon.config_file, "w", encoding="utf-8") as file:
                file.write(text.replace("replicate = yes", "replicate = no"))
        self.use_one_server()
        with open(self.bridge.config, "a", encoding="utf-8") as file:
            file.write(f"[hood {HOOD}]\nasks_per_minute = {asks}\n")

    def use_one_server(self):
        """All bridges connect to the first server of the hub."""
        with open(self.bridge.config, encoding="utf-8") as file:
            lines = file.readlines()
        first = next(line for line in lines if line.startswith("nats = "))
        with open(self.bridge.config, "w", encoding="utf-8") as file:
            file.writelines(line for line in lines if line == first or not line.startswith("nats = "))

    def start(self, keepalive_ms=0):
        if not self.daemon.is_running():
            self.daemon.start()
        since = len(self.bridge.log)
        self.bridge.start({"HEARSAY_BRIDGE_KEEPALIVE_MS": str(keepalive_ms)})
        self.bridge.wait_log(r"connected to the hub", since)
        return self


@pytest.fixture(name="make_site")
def site_maker(make_daemon, hub):
    made = []
    with hub.connect(hub.readers[0]) as reader:  # the stores of earlier tests are no predecessors
        for shard in range(hub_cluster.SHARDS):
            reader.api(f"STREAM.PURGE.h_{shard}")

    def make(*hosts, start=False, **options):
        site = HoodSite(hub, make_daemon, hosts, **options)
        made.append(site)
        if start:
            site.start()
        return site
    yield make
    for site in made:
        if site.bridge.process is not None:
            site.bridge.stop()
        site.remove()


make_site = site_maker


def metrics(site):
    return hub_site.figures_of(site.bridge.status("--metrics"))


def labels_of(rng, count=4, words=400):
    return [f"topic:w{rng.randrange(words)}" for _ in range(count)]


def deposit(site, rng, count, host=None, labels=labels_of, **fields):
    """Leaves messages at a host of the site; returns the deposits."""
    made = [wire.deposit_of(rng, labels(rng), host=host or site.name, **fields) for _ in range(count)]
    if not site.daemon.is_running():
        site.daemon.start()
    with site.daemon.client() as client:
        for first in range(0, count, 64):
            for answer in client.pipeline(made[first:first + 64]):
                assert answer.WhichOneof("body") == "deposited", answer
    return made


class Ear:
    """A connection with the certificate of an access point, by raw NATS."""

    def __init__(self, hub, name):
        self.name, self.nats = name, hub.connect(name)
        assert self.nats.subscribe(f"s.{HOOD}.>")
        self.queries = hub_cluster.heard_as(f"q.{HOOD}.{name}")

    def serve(self):
        """Hears the queries for its host."""
        return self.nats.subscribe(self.queries)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.nats.close()

    def word(self, host, seconds=wire.PATIENCE):
        """The next word of a host."""
        end = time.monotonic() + seconds
        while True:
            message = self.nats.next(f"s.{HOOD}.{host}", max(0.01, end - time.monotonic()))
            with contextlib.suppress(Exception):
                letter = letters.Letter.FromString(message.data)
                if letter.HasField("peer_summary"):
                    return letter.peer_summary

    def requests(self, host, seconds=wire.PATIENCE):
        """Waits until somebody asks for the full word of the host."""
        others = []
        try:
            while True:
                message = self.nats.next(None, seconds)
                others.append(message)
                with contextlib.suppress(Exception):
                    letter = letters.Letter.FromString(message.data)
                    if letter.HasField("summary_ask") and letter.summary_ask.host == host:
                        return True
        finally:
            self.nats.waiting[:0] = others

    def send(self, host, data):
        self.nats.publish(f"s.{HOOD}.{host}", data)

    def ask_summary(self, host):
        ask = letters.SummaryAsk(host=host) if host else letters.SummaryAsk()
        self.send(self.name, letters.Letter(version=1, summary_ask=ask).SerializeToString())

    def tell(self, host, **fields):
        """Publishes a word."""
        fields.setdefault("store_id", STORE)
        fields.setdefault("profile", wire.PROFILE)
        fields.setdefault("as_of_ms", int(time.time() * 1000))
        word = letters.PeerSummary(**fields)
        self.send(host, letters.Letter(version=1, peer_summary=word).SerializeToString())
        self.nats.flush()


__all__ = ["HOOD", "STORE", "Ear", "HoodSite", "NoAnswer", "covers", "deposit", "hub", "labels_of", "letters", "make_site",
           "metrics", "pb"]
