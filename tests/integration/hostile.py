# SPDX-License-Identifier: Apache-2.0
"""What tests of hostile peers have in common: a client that means well and checks that it goes on
being answered rightly, and what the daemon holds before, at the worst moment, and after."""

import contextlib
import os
import resource
import select

import hearsay_wire as wire
from hearsay_wire import pb

MIB = 1024 * 1024
# What malloc, SQLite's caches and the bystander's own messages may add to any bound.
SLACK = 8 * MIB


def open_files(daemon):
    """How many descriptors, without the store's: under load it opens its database once more."""
    folder, count = f"/proc/{daemon.process.pid}/fd", 0
    for number in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            count += not os.readlink(f"{folder}/{number}").startswith(daemon.data)
    return count


def reset_peak(daemon):
    """From now on peak_bytes means from now on; where that may not be set, it is stricter."""
    with contextlib.suppress(PermissionError):
        with open(f"/proc/{daemon.process.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")


def peak_bytes(daemon):
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def raise_descriptors(wanted):
    """For this process and the daemons that it starts. How many there can be, up to `wanted`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    return wanted


class Bystander:
    """Deposits, asks and gets, and compares all of it with what the reference says."""

    def __init__(self, daemon, rng, client=None):
        self.client = client or daemon.client()
        self.rng, self.reference = rng, wire.Reference()
        for _ in range(20):
            self.deposit()

    def labels(self):
        pick = self.rng.randrange
        return [f"topic:bystander{pick(3)}", f"wifi:bystander{pick(5)}", "time:bystander"]

    def deposit(self):
        made = wire.deposit_of(self.rng, self.labels())
        self.reference.add(made, self.client.call(made))

    def check(self):
        self.deposit()
        # what strangers leave elsewhere is further away than that
        query = wire.query_of(self.labels(), k=10, with_payload=True, max_distance=500_000)
        found = self.client.call(query)
        assert list(map(wire.shape, found.results)) == self.reference.answer(query)
        assert found.exact and not found.capped
        known = self.rng.choice(list(self.reference.messages.values()))[0]
        assert self.client.call(pb.Get(id=known.id)).payload == known.payload


@contextlib.contextmanager
def besieged(daemon, rng, bound, sanitized, client=None):
    """A bystander for what happens within. Afterwards it is still served, memory was never above
    `bound` bytes more than before, and all descriptors have come back."""
    bystander = Bystander(daemon, rng, client)
    bystander.check()
    files, before = open_files(daemon), daemon.resident_bytes()
    reset_peak(daemon)
    yield bystander
    bystander.check()
    grown = peak_bytes(daemon) - before
    print(f"grew by {grown / MIB:.1f} MiB of {(bound + SLACK) / MIB:.1f}")
    if not sanitized:  # a sanitizer keeps what was freed, and shadows of it
        assert grown <= bound + SLACK
    wire.wait_until(lambda: open_files(daemon) <= files, "descriptors have come back")
    bystander.check()
    bystander.client.close()


def push(client, data):
    """Sends what the socket takes at once. How many bytes; None when the server has hung up."""
    client.socket.setblocking(False)
    try:
        return client.socket.send(data)
    except BlockingIOError:
        return 0
    except ConnectionError:
        return None
    finally:
        client.socket.settimeout(client.patience)


def readable(clients, wait=0):
    """Those that have something to read, or were hung up on."""
    poll = select.poll()
    by_file = {client.socket.fileno(): client for client in clients}
    for file in by_file:
        poll.register(file, select.POLLIN)
    return [by_file[file] for file, _ in poll.poll(wait * 1000)]


def last_words(client):
    """The codes of all answers, which are errors, up to the server's end, or until it cuts us off."""
    codes = []
    with contextlib.suppress(ConnectionError, wire.Ended):
        while True:
            codes.append(wire.ERROR_CODES[client.receive().error.code])
    return codes
