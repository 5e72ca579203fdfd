# SPDX-License-Identifier: Apache-2.0
"""Fixtures: daemons of our own on directories of our own, checked for a clean end.

HEARSAYD and HEARSAY name the programs; HEARSAY_TEST_DIR (or the current directory) is where data
goes. It must not be in memory: durability = storage is refused there, which is a test of its own.

HEARSAY_WRAPPER is what to run each program with, an emulator or valgrind, HEARSAY_TEST_SLOWNESS how
many times longer everything may take with it.
"""

import atexit
import functools
import importlib
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

import hearsay_wire as wire
from clock import Clock

# Whoever starts the tests by nohup, or behind a shell, has these ignored. A child would inherit that, and a script
# cannot trap a signal that is ignored when it starts.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

HEARSAYD = os.environ.get("HEARSAYD", "build/daemon/hearsayd")
HEARSAY = os.environ.get("HEARSAY", "build/client/hearsay")
WRAPPER = os.environ.get("HEARSAY_WRAPPER", "")
STOP_SECONDS = 5.0 * wire.SLOWNESS
REPORTS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:",
           "handles left open", "Assertion")


def binary(path):
    found = shutil.which(path) or os.path.abspath(path)
    if not os.access(found, os.X_OK):
        pytest.exit(f"there is no program {path}: set HEARSAYD and HEARSAY", returncode=2)
    return found


@functools.cache
def program(path):
    """What to run: the program, or a script that runs it with the wrapper, in its process."""
    found = binary(path)
    if not WRAPPER:
        return found
    folder = tempfile.mkdtemp(prefix="hearsay-wrapped-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chmod(folder, 0o755)  # for tests that run the program as another user
    script = os.path.join(folder, os.path.basename(found))
    with open(script, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {WRAPPER} {shlex.quote(found)} "$@"\n')
    os.chmod(script, 0o755)
    return script


def is_sanitized(path):
    with open(path, "rb") as file:
        data = file.read()
    return b"__asan_init" in data or b"__tsan_init" in data


@functools.cache
def is_native(path):
    """Whether a program is for the processor of this Python: filters of system calls that the tests load
    are for that one, and kill others."""
    def kind(name):
        with open(name, "rb") as file:
            header = file.read(20)  # of an ELF file: 4 is the class, 18 the machine
        return header[4], header[18:]
    return kind(path) == kind(sys.executable)


def file_system_of(path):
    """The type of the file system that holds `path`, by the longest mount point above it."""
    best, kind = "", ""
    path = os.path.realpath(path)
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _, point, name = line.split()[:3]
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best):
                best, kind = point, name
    return kind


def storage_root():
    for root in (os.environ.get("HEARSAY_TEST_DIR"), os.getcwd(), "/var/tmp"):
        if root and os.access(root, os.W_OK) and file_system_of(root) not in ("tmpfs", "ramfs"):
            return root
    return pytest.exit("no directory on storage: set HEARSAY_TEST_DIR to one", returncode=2)


def seed_of():
    return int(os.environ.get("HEARSAY_TEST_SEED", time.time_ns() % 1_000_000))


class Daemon:
    """One hearsayd on its own directory; may be started again and again on the same data."""

    def __init__(self, root, sockets, config="", args=(), env=None, data=None, preexec=None,
                 pass_fds=(), wrapper=()):
        self.directory = tempfile.mkdtemp(prefix="d", dir=root)
        self.data = data or os.path.join(self.directory, "data")
        self.config_file = os.path.join(self.directory, "hearsayd.conf")
        # A Unix socket's path is short: it cannot live below any build directory.
        self.socket_path = os.path.join(sockets, os.path.basename(self.directory))
        self.args, self.env, self.preexec = list(args), env or {}, preexec
        self.pass_fds, self.wrapper = pass_fds, list(wrapper)
        self.process = self.port = self.reader = None
        self.has_ended = False
        self.words = ""  # behind the TCP address
        self.log = []
        self.news = threading.Condition()
        self.configure(config)

    def configure(self, config):
        """Writes the configuration file; `config` goes on in section [daemon]."""
        with open(self.config_file, "w", encoding="utf-8") as file:
            file.write(f"[daemon]\nlisten = 127.0.0.1:0{self.words}\n"
                       f"listen = {self.socket_path}\n{config}")

    def make_local(self):
        """Marks the TCP listener as local, so that its clients have here labels and keys of epochs."""
        self.words = " local"
        with open(self.config_file, encoding="utf-8") as file:
            text = file.read()
        with open(self.config_file, "w", encoding="utf-8") as file:
            file.write(text.replace("127.0.0.1:0\n", "127.0.0.1:0 local\n"))
        return self

    def command(self):
        where = ["--config", self.config_file, "--data", self.data]
        return [*self.wrapper, program(HEARSAYD), *where, *self.args]

    # --- start and end ---

    def launch(self):
        """Starts the program and does not wait for it to be ready."""
        self.log, self.port, self.has_ended = [], None, False
        env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0", **self.env}
        for name in ("NOTIFY_SOCKET", "JOURNAL_STREAM", "LISTEN_FDS", "WATCHDOG_USEC"):
            if name not in self.env:
                env.pop(name, None)
        self.process = subprocess.Popen(
            self.command(), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env, text=True,
            errors="backslashreplace", preexec_fn=self.preexec, pass_fds=self.pass_fds,
        )
        self.reader = threading.Thread(
            target=self._read_log, args=(self.process.stderr, self.log), daemon=True
        )
        self.reader.start()
        return self

    def start(self):
        self.launch()
        self.wait_log(r"ready: ")
        bound = self.find_log(r"listening on 127\.0\.0\.1:(\d+)(?: limited| local)*$")
        self.port = int(bound.group(1)) if bound else None
        return self

    def _read_log(self, stream, log):
        for line in stream:
            print(line, end="")  # shown where a test fails
            with self.news:
                log.append(line.rstrip("\n"))
                self.news.notify_all()
        with self.news:
            log.append(None)  # the end
            self.news.notify_all()
        stream.close()

    def find_log(self, pattern, start=0):
        for line in self.log[start:]:
            match = line is not None and re.search(pattern, line)
            if match:
                return match
        return None

    def wait_log(self, pattern, start=0, patience=wire.PATIENCE):
        """Waits for a line that matches; fails when the program ends or time runs out first."""
        def settled():
            return self.find_log(pattern, start) or None in self.log
        with self.news:
            self.news.wait_for(settled, patience)
        match = self.find_log(pattern, start)
        assert match, f"no log line /{pattern}/ in:\n{self.log_text()}"
        return match

    def log_text(self):
        return "\n".join(line for line in self.log if line is not None)

    def wait_exit(self, patience=wire.PATIENCE):
        code = self.process.wait(patience)
        self.reader.join(patience)
        self.has_ended = True
        return code

    def stop(self, sig=signal.SIGTERM, seconds=STOP_SECONDS):
        """Asks it to end, and checks that it does so as promised."""
        began = time.monotonic()
        self.process.send_signal(sig)
        code = self.wait_exit()
        took = time.monotonic() - began
        self.check_log()
        assert code == 0, f"exit {code} on signal {sig}:\n{self.log_text()}"
        assert took < seconds, f"{took:.1f} s to stop:\n{self.log_text()}"

    def kill(self):
        self.process.kill()
        self.wait_exit()
        self.check_log()

    def check_log(self):
        text = self.log_text()
        for report in REPORTS:
            assert report not in text, text

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def check_alive(self):
        """It has not ended by itself: every end that a test expects goes through wait_exit."""
        if self.process is not None and not self.has_ended and not self.is_running():
            raise AssertionError(f"exit {self.process.returncode} unasked:\n{self.log_text()}")

    def restart(self):
        self.stop()
        return self.start()

    def run(self, *args, stdin=None):
        """Runs the program with other arguments to its end: (exit code, stdout, stderr)."""
        done = subprocess.run(
            [program(HEARSAYD), *args], input=stdin, capture_output=True, text=True, timeout=60,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    # --- as seen by clients ---

    @property
    def address(self):
        return ("127.0.0.1", self.port)

    def client(self, **options):
        return wire.Client(self.address, **options)

    def administrator(self, **options):
        return wire.Client(self.socket_path, **options)

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()


@pytest.fixture(scope="module", autouse=True)
def own_network(request):
    """Attacks, the files in hostile/, run in a network namespace: see hostile/devices.py. The
    process moves into it before any daemon is started. (A conftest.py in hostile/ would hide this
    one from modules that import it.)"""
    if request.path.parent.name == "hostile":
        devices = importlib.import_module("devices")
        why_not = devices.enter_own_network()
        if why_not:
            pytest.skip(f"no network of our own: {why_not}")


@pytest.fixture(scope="session")
def sanitized():
    """What else is in the daemon's process, "" if nothing: its memory and calls are not its own."""
    if WRAPPER:
        return os.path.basename(shlex.split(WRAPPER)[0])
    return "a sanitizer" if is_sanitized(binary(HEARSAYD)) else ""


@pytest.fixture
def clock(tmp_path, sanitized):
    """The clocks of daemons with its environment(). Nothing is preloaded under a sanitizer: there they cannot move."""
    return Clock(tmp_path / "clock", is_fixed=bool(sanitized))


@pytest.fixture
def rng():
    seed = seed_of()
    print(f"HEARSAY_TEST_SEED={seed}")
    return random.Random(seed)


def _daemons():
    """A factory of daemons; all that still run are stopped and checked at the end."""
    root = tempfile.mkdtemp(prefix="hearsay-", dir=storage_root())
    sockets = tempfile.mkdtemp(prefix="hs-", dir="/tmp")
    made = []

    def make(config="", start=True, **options):
        daemon = Daemon(root, sockets, config, **options)
        made.append(daemon)
        return daemon.start() if start else daemon

    try:
        yield make
        for daemon in made:
            daemon.check_alive()
            if daemon.is_running():
                daemon.stop()
    finally:
        for daemon in made:
            if daemon.is_running():
                daemon.kill()
        shutil.rmtree(root, ignore_errors=True)
        shutil.rmtree(sockets, ignore_errors=True)


@pytest.fixture
def make_daemon():
    yield from _daemons()


@pytest.fixture(scope="module")
def module_daemons():
    yield from _daemons()


@pytest.fixture
def daemon(make_daemon):
    """A daemon with its defaults."""
    return make_daemon()


@pytest.fixture(scope="module")
def shared(module_daemons):
    """One daemon with its defaults for all tests of a file that leave no trace that matters."""
    return module_daemons()


@pytest.fixture
def client(shared):
    with shared.client() as one:
        yield one
