# SPDX-License-Identifier: Apache-2.0
"""A daemon for one evaluation, and the `hearsay` command that talks to it over the network."""

import json
import os
import re
import signal
import subprocess
import tempfile
import threading

import filters

START_S = 30
STOP_S = 10
COMMAND_S = 600


class Failed(Exception):
    """The daemon or a command did not do what it was asked to."""


class Host:
    """One host of the daemon, named after its profile: 512/2, or sections."""

    def __init__(self, profile):
        self.profile = profile
        self.encoder = filters.Profile(profile)
        self.bits = self.encoder.bits
        self.hashes = self.encoder.sections.get("", (0, 0, None))[2]  # None: there are sections
        self.name = "p" + re.sub("[^a-z0-9]+", "-", profile)


def configuration(hosts):
    """Contexts of a single label are taken: real scans have them, and 4 bits of 2048 are 0.2 %. So
    are those that fill 256 bits with 3 hashes a label nearly whole, as to show what comes of it.
    Everything else that is set is room for the whole data."""
    text = ("[daemon]\ndurability = relaxed\n[limits]\ndeposit_fill_min = 0%\n"
            "deposit_fill_max = 100%\nquery_fill_max = 100%\nmessages = 1000000\nbytes = 1G\nk = 100\nttl_default = 24h\n")
    for host in hosts:
        text += f"\n[host {host.name}]\nprofile = v2:{host.profile}\n"
    return text


def id_of(number):
    """The id of the message with this number in an import. Of equally near messages the daemon gives the
    newest first, and of one millisecond the smallest id. These ids fall while the numbers rise: so the
    message that stands later comes first, in every run, however many share a millisecond."""
    return f"{2 ** 128 - 1 - number:032x}"


class Daemon:
    """Runs from entering to leaving, with its data in `directory`."""

    def __init__(self, hearsayd, hearsay, directory, hosts):
        self.hearsay = str(hearsay)
        self.directory = directory
        # Paths of sockets are short by law of the system; that of the data may not be.
        self.socket_directory = tempfile.TemporaryDirectory(prefix="hearsay-")
        self.socket = os.path.join(self.socket_directory.name, "socket")
        self.server = None
        self.lines = []
        self.ready = threading.Event()
        self.arranged = threading.Event()
        config = os.path.join(directory, "hearsayd.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(configuration(hosts))
        self.arguments = [str(hearsayd), "--config", config, "--data",
                          os.path.join(directory, "data"), "--listen", "127.0.0.1:0", "--listen",
                          self.socket]
        self.process = None
        self.reader = None

    def __enter__(self):
        self._start()
        return self

    def restart(self):
        """Anew from what is stored, so that the index is arranged as a whole."""
        self._stop()
        self._start()
        if not self.arranged.wait(START_S):
            raise Failed("the messages were not arranged:\n" + "".join(self.lines))

    def _start(self):
        self.server = None
        self.ready.clear()
        self.arranged.clear()
        try:
            self.process = subprocess.Popen(self.arguments, stderr=subprocess.PIPE, text=True)
        except OSError as error:
            raise Failed(f"{self.arguments[0]}: {error.strerror}; name it with --hearsayd") from None
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        self.ready.wait(START_S)
        if self.server is None:
            self.__exit__()
            raise Failed("the daemon did not start:\n" + "".join(self.lines))

    def __exit__(self, *_):
        self._stop()
        self.socket_directory.cleanup()

    def _stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stderr.close()

    def _read_log(self):
        address = None
        for line in self.process.stderr:
            self.lines.append(line)
            found = re.search(r"listening on (127\.0\.0\.1:\d+)", line)
            address = found.group(1) if found else address
            if "ready: " in line:
                self.server = address
                self.ready.set()
            if "all loaded messages are arranged" in line:
                self.arranged.set()
        self.ready.set()  # it ended

    def _run(self, server, arguments, lines=()):
        """Runs a command; what it prints."""
        command = [self.hearsay, *arguments, "--server", server]
        try:
            done = subprocess.run(command, input="".join(line + "\n" for line in lines),
                                  capture_output=True, text=True, timeout=COMMAND_S, check=False)
        except OSError as error:
            raise Failed(f"{self.hearsay}: {error.strerror}; name it with --hearsay") from None
        except subprocess.TimeoutExpired:
            raise Failed(f"hearsay {arguments[0]} took more than {COMMAND_S} s") from None
        if done.returncode != 0:
            raise Failed(f"hearsay {' '.join(arguments)} ended with {done.returncode}:\n"
                         + done.stderr)
        return done.stdout

    def import_lines(self, host, lines):
        state = os.path.join(self.directory, f"import-{host}")
        self._run(self.server, ["import", "--host", host, "--state", state, "-"], lines)

    def query(self, host, lines, k, metric="bits"):
        out = self._run(self.server, ["query", "--batch", "-", "--host", host, "-k", str(k),
                                      "--max-distance", "1", "--metric", metric], lines)
        return [json.loads(line) for line in out.splitlines()]

    def export(self, host):
        out = self._run(self.socket, ["export", "--host", host])
        return [json.loads(line) for line in out.splitlines()]
