# SPDX-License-Identifier: Apache-2.0
"""What hearsayd takes on a small machine: memory, by what it is for; its size, and its libraries';
bytes written to storage, by the rate of deposits. For scripts/small, which makes the small machine.

Messages of 512 bits with 200 bytes of payload, by an encoder of its own. Times are one run's.
"""

import argparse
import json
import os
import random
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))
import conftest  # noqa: E402 (it lies in another folder)
import hearsay_wire as wire  # noqa: E402
from hearsay_wire import pb  # noqa: E402

COUNT, PLACES, LABELS, HEARD = 100_000, 2_000, 20, 14
PAYLOAD_BYTES, FILTER_BYTES = 200, 64
IN_FLIGHT, WARM_UP = 250, 700
CONFIG = f"[limits]\nmessages = {2 * COUNT}\n"


class Workload:
    """Contexts of places: most of a place's access points each."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.places = []
        for place in range(PLACES):
            labels = [f"wifi:02:00:{place >> 8:02x}:{place & 255:02x}:00:{i:02x}"
                      for i in range(LABELS)]
            self.places.append([sum(1 << p for p in set(wire.positions(label)))
                                for label in labels])

    def filter(self):
        bits = 0
        for label in self.rng.sample(self.rng.choice(self.places), HEARD):
            bits |= label
        return bits.to_bytes(FILTER_BYTES, "little")

    def deposit(self, ttl_s=86400):
        return pb.Deposit(id=self.rng.randbytes(16), filter=self.filter(), ttl_s=ttl_s,
                          payload=self.rng.randbytes(PAYLOAD_BYTES), media_type="text/plain",
                          withdraw_hash=self.rng.randbytes(32))


class Quiet(conftest.Daemon):
    """A daemon whose log is kept and not shown."""

    def _read_log(self, stream, log):
        for line in stream:
            with self.news:
                log.append(line.rstrip("\n"))
                self.news.notify_all()
        with self.news:
            log.append(None)  # the end
            self.news.notify_all()
        stream.close()

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Machine:
    """Where the daemon runs: its control group, its storage."""

    def __init__(self, options):
        self.group, self.device = options.group, options.device
        self.store, self.sockets = options.store, tempfile.mkdtemp(prefix="hs-")
        self.daemons = []

    def join(self):
        if self.group:
            with open(os.path.join(self.group, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write(str(os.getpid()))

    def daemon(self, name):
        root = os.path.join(self.store, name)
        os.makedirs(root, exist_ok=True)
        self.daemons.append(Quiet(root, self.sockets, CONFIG, preexec=self.join))
        return self.daemons[-1]

    def read(self, *names):
        """The number in the first of these files of the group that is there."""
        for name in names:
            path = os.path.join(self.group, name)
            if self.group and os.path.exists(path):
                with open(path, encoding="ascii") as file:
                    return int(file.read())
        return None

    def killed(self):
        """Processes that the kernel has ended for want of memory; None: not known."""
        for name in ("memory.events", "memory.oom_control"):
            path = os.path.join(self.group, name)
            if self.group and os.path.exists(path):
                with open(path, encoding="ascii") as file:
                    return int(re.search(r"oom_kill (\d+)", file.read()).group(1))
        return None

    def written(self):
        """Bytes that came to the device, from whomever; None: it has none of its own."""
        if not self.device:
            return None
        with open(os.path.join(self.device, "stat"), encoding="ascii") as file:
            return int(file.read().split()[6]) * 512


def mib(count):
    return f"{count / 2**20:8.2f} MiB"


def heading(text):
    print(f"\n## {text}\n")


# --- size -----------------------------------------------------------------------------------------

def bits_of_program():
    with open(conftest.program(conftest.HEARSAYD), "rb") as file:
        return 32 * file.read(5)[4]  # ELF's class


def stripped_bytes(path):
    with tempfile.NamedTemporaryFile() as copy:
        shutil.copyfile(path, copy.name)
        subprocess.run(["strip", "-s", copy.name], check=True)
        return os.path.getsize(copy.name)


def part_bytes(archive):
    """Code and data of all objects of a part."""
    out = subprocess.run(["size", "-t", archive], capture_output=True, text=True, check=True).stdout
    return int(out.splitlines()[-1].split()[3])


def counted(pid, name):
    """Bytes to or from storage, as the kernel counts for a process."""
    with open(f"/proc/{pid}/io", encoding="ascii") as file:
        return int(re.search(rf"^{name}: (\d+)", file.read(), re.M).group(1))


def libraries_of(program):
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"(/\S+\.so\S*) \(", out)))


def print_sizes(build):
    program = conftest.program(conftest.HEARSAYD)
    heading("Size")
    print(f"{'hearsayd, stripped':36}{stripped_bytes(program):>10}")
    for part, archives in (("core", ["core/libcore.a"]),
                           ("daemon", ["daemon/libdaemon.a", "daemon/libhearsay-system.a"]),
                           ("proto", ["proto/libproto.a", "proto/libhearsay-pb.a"]),
                           ("tls", ["proto/tls/libtls.a"])):
        paths = [os.path.join(build, archive) for archive in archives]
        total = sum(part_bytes(path) for path in paths if os.path.exists(path))
        print(f"{'  of its code and data: ' + part:36}{total:>10}")
    total = 0
    for path in libraries_of(program):
        size = os.path.getsize(os.path.realpath(path))
        total += size
        print(f"{os.path.basename(path):36}{size:>10}")
    print(f"{'libraries in all':36}{total:>10}")


# --- memory ---------------------------------------------------------------------------------------

def resident(pid):
    """Resident bytes of a process by what is mapped: the program, libraries, the rest."""
    rows, name = {}, ""
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as file:
        for line in file:
            head = re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+\s*(.*)", line)
            if head:
                name = os.path.basename(head.group(1)) or "anonymous"
            elif line.startswith("Rss:"):
                rows[name] = rows.get(name, 0) + int(line.split()[1]) * 1024
    return rows


def most_resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"^VmHWM:\s+(\d+) kB", file.read(), re.M).group(1)) * 1024


def figures_of(daemon):
    """`hearsay admin stats`, by name."""
    with daemon.administrator() as client:
        return {figure.name: figure.value for figure in client.call(pb.Stats()).figures}


def print_memory(title, machine, daemon):
    rows = resident(daemon.process.pid)
    figures = figures_of(daemon)
    program = rows.pop("hearsayd", 0)
    libraries = {name: rows.pop(name) for name in list(rows) if ".so" in name}
    shared = sum(rows.pop(name) for name in list(rows) if name.endswith("-shm"))
    stack = sum(rows.pop(name) for name in list(rows) if name.startswith("[stack"))
    anonymous = sum(rows.values())  # the heap, large blocks, threads' stacks
    index = figures["host/default/index_bytes"]
    known = index + figures["cache_bytes"] + figures["store_memory_bytes"]
    known += figures["output_bytes"]
    heading(title)
    for name, value in (("index: filters, ids, table of ids", index),
                        ("payload cache", figures["cache_bytes"]),
                        ("SQLite: pages, statements", figures["store_memory_bytes"]),
                        ("unread answers", figures["output_bytes"]),
                        ("other: buffers, arranging, threads", anonymous - known),
                        ("stack", stack), ("index of SQLite's log", shared),
                        ("hearsayd itself", program),
                        ("libraries", sum(libraries.values()))):
        print(f"{name:36}{mib(value)}")
    total = anonymous + program + shared + stack + sum(libraries.values())
    print(f"{'resident in all':36}{mib(total)}")
    print(f"{'most resident since the start':36}{mib(most_resident(daemon.process.pid))}")
    for name, value in sorted(libraries.items(), key=lambda item: -item[1])[:6]:
        print(f"{'  of libraries: ' + name:36}{mib(value)}")
    peak = machine.read("memory.peak", "memory.max_usage_in_bytes")
    if peak is not None:
        print(f"{'control group, most, with file pages':36}{mib(peak)}")


def fill(daemon, workload, count):
    began = time.monotonic()
    with daemon.administrator() as client:
        for done in range(0, count, IN_FLIGHT):
            batch = [workload.deposit() for _ in range(min(IN_FLIGHT, count - done))]
            for answer in client.pipeline(batch):
                assert answer.WhichOneof("body") == "deposited", answer
    return time.monotonic() - began


def ask(daemon, workload, count):
    """Sorted seconds of queries one at a time, each of which finds k messages."""
    took = []
    with daemon.administrator() as client:
        for _ in range(count):
            query = pb.Query(k=10, parts=[pb.QueryPart(filter=workload.filter())],
                             with_payload=True)
            began = time.monotonic()
            found = client.call(query)
            took.append(time.monotonic() - began)
            assert len(found.results) == 10 and found.exact
    return sorted(took)


def run_memory(machine, workload):
    daemon = machine.daemon("memory").start()
    print_memory("Memory, empty", machine, daemon)
    seconds = fill(daemon, workload, COUNT)
    took = ask(daemon, workload, 1000)
    print_memory(f"Memory, {COUNT} messages after their deposits", machine, daemon)
    print(f"\n{COUNT} deposits in {seconds:.0f} s, the making of them in Python included; 1,000 "
          f"queries one at a time: median {took[500] * 1e3:.1f} ms, 99th of a hundred "
          f"{took[990] * 1e3:.1f} ms")
    daemon.stop()
    began = time.monotonic()
    daemon.start()
    seconds = time.monotonic() - began
    processor, read = daemon.processor_seconds(), counted(daemon.process.pid, "read_bytes")
    daemon.wait_log("all loaded messages are arranged", patience=10 * wire.PATIENCE)
    arranged = time.monotonic() - began
    took = ask(daemon, workload, 1000)
    print_memory(f"Memory, {COUNT} messages after a start and 1,000 queries", machine, daemon)
    print(f"\nready after {seconds:.1f} s, {processor:.1f} s of them on a processor, {mib(read).strip()} "
          f"read; arranged after {arranged:.1f} s; queries: median {took[500] * 1e3:.1f} ms")
    daemon.stop()
    return daemon


# --- what is written ------------------------------------------------------------------------------

def process_written(pid):
    return counted(pid, "write_bytes")


def settle(machine):
    os.sync()
    return machine.written()


def warm_up(daemon, workload, rate):
    """Until the log has its full length and is written from its beginning again, as it mostly is."""
    if rate.delay_s > 0:
        fill(daemon, workload, 12 * IN_FLIGHT)  # that many at a time share a commit
        return
    with daemon.administrator() as client:
        for _ in range(WARM_UP):
            client.call(workload.deposit())


def deposit_at(client, workload, rate):
    """The answers to deposits that are sent when their time comes, answered or not."""
    answers = []
    client.socket.setblocking(False)
    began = time.monotonic()
    for i in range(rate.count):
        left = 0
        while left >= 0:
            left = began + i / rate.per_second - time.monotonic()
            if select.select([client.socket], [], [], max(left, 0))[0]:
                client.take_available(answers)
        client.post(workload.deposit(rate.ttl_s))
    while len(answers) < rate.count:
        select.select([client.socket], [], [], wire.PATIENCE)
        client.take_available(answers)
    return answers


class Rate:
    """RATE:COUNT, and perhaps :LIFETIME and :COMMIT_DELAY, seconds."""

    def __init__(self, text):
        numbers = [int(number) for number in text.split(":")]
        self.per_second, self.count, self.ttl_s, self.delay_s = (
            numbers + [None, None, 86400, 0][len(numbers):])


def run_rate(machine, daemon, workload, rate):
    """Deposits at a rate: commits, bytes by the process and by the device, which may be None."""
    daemon.configure(f"commit_delay = {rate.delay_s}{'s' if rate.delay_s else ''}\n{CONFIG}")
    daemon.start()
    warm_up(daemon, workload, rate)
    device, process = settle(machine), process_written(daemon.process.pid)
    before = figures_of(daemon)["store_transactions_total"]
    with daemon.administrator() as client:
        answers = deposit_at(client, workload, rate)
    assert all(answer.WhichOneof("body") == "deposited" for answer in answers)
    commits = figures_of(daemon)["store_transactions_total"] - before
    process = process_written(daemon.process.pid) - process
    device = None if device is None else settle(machine) - device
    daemon.stop()
    return commits, process, device


def print_rates(machine, workload, rates, daemon):
    heading("Written to storage for 1,000 deposits")
    print("Into a store of over 100,000 messages. The payloads of 1,000 are 200,000 bytes, with "
          "filters,\nids and hashes 312,000. process: /proc/PID/io, pages that the daemon wrote. "
          "device: what came to\nthe device, with the file system's own. times: that, by the "
          "payloads.\n")
    print(f"{'a second':>9}{'lifetime':>10}{'commit_delay':>14}{'deposits':>10}{'commits':>9}"
          f"{'process':>13}{'device':>13}{'times':>8}")
    for rate in rates:
        commits, process, device = run_rate(machine, daemon, workload, rate)
        shown = "-" if device is None else f"{device * 1000 // rate.count}"
        share = (process if device is None else device) / rate.count / PAYLOAD_BYTES
        print(f"{rate.per_second:>9}{rate.ttl_s:>8} s{rate.delay_s:>12} s{rate.count:>10}"
              f"{commits:>9}{process * 1000 // rate.count:>13}{shown:>13}{share:>8.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "store", "device", "group", "limit", "rates"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    machine, workload = Machine(options), Workload(1)
    try:
        return measure(options, machine, workload)
    finally:
        for daemon in machine.daemons:
            if daemon.is_running():
                daemon.process.kill()
        shutil.rmtree(machine.sockets, ignore_errors=True)


def measure(options, machine, workload):
    """All of it. 0, or 1 when the kernel had to end something."""
    print(f"# hearsayd as a small machine has it\n\nlimit: {options.limit}; "
          f"HEARSAY_CPU={os.environ.get('HEARSAY_CPU', '')}; {bits_of_program()} bits, kernel "
          f"{os.uname().machine}")
    print_sizes(options.build)
    daemon = run_memory(machine, workload)
    print_rates(machine, workload, [Rate(text) for text in options.rates.split()], daemon)
    killed = machine.killed()
    known = "nobody limited it" if killed is None else f"{killed} processes ended by the kernel"
    print(f"\ninside: {'yes' if not killed else 'NO'} ({known})")
    return 0 if not killed else 1


if __name__ == "__main__":
    sys.exit(main())
