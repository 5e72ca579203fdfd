# SPDX-License-Identifier: Apache-2.0
"""What measured attacks have in common: a daemon with a processor to itself, attackers and an
honest client on another one, and the times that the honest client waits.

A script's `measure(program)` runs one daemon, old or new, under its attack and returns figures by
name. It is called again and again by tests/bench/hostile.py, in turn for both programs. The
configuration must be one that 0.1.0 takes, too. Every load is bounded in time.
"""

import contextlib
import multiprocessing
import os
import shutil
import subprocess
import tempfile
import time

import devices
import hearsay_wire as wire

DAEMON_PROCESSOR, OTHERS_PROCESSOR = 0, 1

spawning = multiprocessing.get_context("fork")


class MeasuredDaemon:
    """hearsayd on DAEMON_PROCESSOR, with a data directory of its own. Its process id is `pid`."""

    def __init__(self, program, config="", tls=False):
        """`config` goes on in section [daemon]. Listens on PREFIX::1 and 127.0.0.1, `limited`."""
        self.directory = tempfile.mkdtemp(prefix="hearsay-siege-", dir=os.environ.get(
            "HEARSAY_TEST_DIR", "/var/tmp"))
        self.socket_path = os.path.join(self.directory, "s")
        self.log_path = os.path.join(self.directory, "log")
        words = "tls limited" if tls else "limited"
        self.port = 7117
        self.command = [program, "--config", os.path.join(self.directory, "conf"), "--data",
                        os.path.join(self.directory, "data")]
        with open(self.command[2], "w", encoding="utf-8") as file:
            file.write(f"[daemon]\nlisten = [{devices.SERVER}]:7117 {words}\n"
                       f"listen = 127.0.0.1:7117 {words}\nlisten = {self.socket_path}\n{config}")
        self.start()

    def start(self):
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                self.command, stderr=log, stdin=subprocess.DEVNULL,
                preexec_fn=lambda: os.sched_setaffinity(0, {DAEMON_PROCESSOR}))
        self.pid = self.process.pid
        wire.wait_until(lambda: "ready: " in self.log(), "the daemon is ready")

    def kill_and_start(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def administrator(self, **options):
        return wire.Client(self.socket_path, **options)

    def client(self, source=None, **options):
        """By IPv6 from `source`, one of devices', or by IPv4 from `source` in 127.0.0.0/8."""
        host = "127.0.0.1" if source is not None and "." in source else devices.SERVER
        return wire.Client((host, self.port), source=source, **options)

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _on_others_processor(work, *args):
    os.sched_setaffinity(0, {OTHERS_PROCESSOR})
    work(*args)


def spawn(work, *args):
    """Starts work(*args) in a process of its own on OTHERS_PROCESSOR."""
    process = spawning.Process(target=_on_others_processor, args=(work, *args), daemon=True)
    process.start()
    return process


@contextlib.contextmanager
def attackers(work, places, seconds):
    """One process for each of `places` runs work(place, end), end on time.monotonic, at most
    `seconds` from now; all are ended when the block ends."""
    end = time.monotonic() + seconds
    processes = [spawn(work, place, end) for place in places]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.join()


def _go_first():
    """Real-time scheduling, where this is allowed: the honest client shares a processor with the
    attackers, and the kernel would let an attacker finish its slice of some milliseconds first."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def _wait_in_turn(ask, seconds, pause_s, queue):
    waits = []
    _go_first()
    try:
        end = time.monotonic() + seconds
        step = ask()
        while time.monotonic() < end:
            began = time.monotonic()
            try:
                step()
            except (OSError, wire.Ended):
                waits.append(seconds)
                break
            waits.append(time.monotonic() - began)
            time.sleep(pause_s)
    finally:
        queue.put(waits)


def honest_waits_ms(ask, seconds, pause_s=0.01):
    """Times of one honest client in a process of its own on OTHERS_PROCESSOR, for `seconds`.
    `ask()` connects and returns the function that makes one request and checks its answer. A
    request that never ends counts as `seconds`. Sorted, in milliseconds."""
    queue = spawning.Queue()
    process = spawn(_wait_in_turn, ask, seconds, pause_s, queue)
    try:
        waits = queue.get(timeout=seconds * 3)
    except Exception:  # queue.Empty: it hangs in its first request
        waits = [seconds]
    process.kill()
    process.join()
    return sorted(wait * 1000 for wait in waits) or [seconds * 1000]


def quantile(ordered, share):
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
