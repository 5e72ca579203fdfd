# SPDX-License-Identifier: Apache-2.0
"""T10: 32 addresses deposit at once more than the storage takes in many seconds. In 0.2.0, 8 MiB of
deposits that waited stopped the reads of all clients, and an honest deposit came after all others. The
storage of this test does not go on at all until the test lets it (held_disk.c), so that the test counts
and looks at no clock."""

import contextlib
import fcntl
import os

import devices
import hearsay_wire as wire
import pytest
from hearsay_wire import pb

ADDRESSES, EACH, PAYLOAD = 32, 60, 4000
CONFIG = (f"call_filter = no\n[limits]\ndeposits_per_minute = {EACH}\ndeposit_burst = {EACH}\n"
          "queries_per_minute = 10000\nquery_burst = 1000\n")
LABELS = ["topic:market"]
# What waits before an honest deposit: 64 KiB of the first deposits, and one of each sender.
BEFORE = 64 * 1024 // PAYLOAD + ADDRESSES


class Burst:
    """Connections that each send many deposits at once."""

    def __init__(self, addresses, rng):
        self.clients = [wire.Client(address, source=source) for address, source in addresses]
        self.unsent = {}
        for client in self.clients:
            bodies = [wire.deposit_of(rng, LABELS, payload=rng.randbytes(PAYLOAD)) for _ in range(EACH)]
            self.unsent[client] = b"".join(wire.frame(wire.request(body, n + 2))
                                           for n, body in enumerate(bodies))
            client.socket.setblocking(False)

    def push(self):
        """Sends what is taken: whether anything was."""
        moved = False
        for client, data in self.unsent.items():
            with contextlib.suppress(BlockingIOError):
                sent = client.socket.send(data[:65536]) if data else 0
                self.unsent[client] = data[sent:]
                moved = moved or sent > 0
        return moved

    def finish(self):
        """Sends the rest, and counts the deposits that were taken."""
        taken = 0
        for client in self.clients:
            client.socket.setblocking(True)
            answers = client.exchange(self.unsent[client], EACH)
            taken += sum(answer.HasField("deposited") for answer in answers)
        return taken

    def close(self):
        for client in self.clients:
            client.close()


@contextlib.contextmanager
def held(path):
    """The storage stands still."""
    with open(path, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_a_burst_delays_no_reader_and_one_deposit_by_its_turn(make_daemon, rng, tmp_path, sanitized):
    """While nothing is stored an honest client reads as ever; then its deposit is among the first."""
    if sanitized:
        pytest.skip(f"nothing is preloaded under {sanitized}")
    preload = os.environ.get("HEARSAY_HELD_DISK") or pytest.skip("held_disk is not built")
    gate = tmp_path / "gate"
    environment = {"LD_PRELOAD": os.path.abspath(preload), "HEARSAY_HELD_DISK_FILE": str(gate)}
    daemon, address, ipv4 = devices.limited(
        lambda config: make_daemon(config, env=environment), CONFIG)
    gate.touch()
    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(wire.Client(ipv4, source="127.0.1.1"))
        depositor = stack.enter_context(wire.Client(ipv4, source="127.0.1.2"))
        watcher = stack.enter_context(daemon.client())
        watcher.call(pb.Watch(query=wire.query_of(LABELS, k=0)))
        # Half of them IPv4, because a /64 on link has the rates of 16 addresses.
        sources = [(address, source) for source in devices.DEVICES[:ADDRESSES // 2]]
        sources += [(ipv4, f"127.0.3.{n + 1}") for n in range(ADDRESSES // 2)]
        burst = stack.enter_context(contextlib.closing(Burst(sources, rng)))
        honest = wire.deposit_of(rng, LABELS, payload=b"honest")
        with held(gate):
            while burst.push():
                reader.call(pb.Ping())
            for _ in range(200):
                reader.call(wire.query_of(LABELS, k=3))
            depositor.post(honest)
            reader.call(pb.Ping())
        assert burst.finish() == ADDRESSES * EACH, "nobody's deposit is lost"
        assert depositor.receive().HasField("deposited")
        ids = []
        while honest.id not in ids:
            ids.append(watcher.receive().match.result.id)
        assert len(ids) <= BEFORE + 1, f"{len(ids) - 1} deposits came first"
