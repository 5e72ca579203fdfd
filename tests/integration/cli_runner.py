# SPDX-License-Identifier: Apache-2.0
"""Runs the hearsay command against a daemon, in an environment of its own."""

import json
import os
import subprocess
from datetime import datetime, timezone

import conftest
import hearsay_wire as wire


class Cli:
    """`hearsay` with a server (host:port or Unix path) and its own home directory."""

    def __init__(self, server, home):
        self.server, self.home = server, home

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("HEARSAY_SERVER", "XDG_"))}
        env.update(HOME=self.home, XDG_STATE_HOME=os.path.join(self.home, "state"), NO_COLOR="1")
        env["ASAN_OPTIONS"] = "detect_leaks=1"
        env.update(more)
        return env

    def command(self, *args):
        return [conftest.program(conftest.HEARSAY), "--server", self.server, *args]

    def start(self, *args, **options):
        return subprocess.Popen(self.command(*args), env=self.environment(), **options)

    def run_plain(self, *args, stdin=b"", env=None):
        """Without --server; bytes in and out: (exit code, stdout, stderr)."""
        return self._finish([conftest.program(conftest.HEARSAY), *args], stdin, env or {})

    def run_bytes(self, *args, stdin=b""):
        return self._finish(self.command(*args), stdin, {})

    def _finish(self, command, stdin, env):
        done = subprocess.run(command, input=stdin, capture_output=True, check=False,
                              env=self.environment(**env), timeout=wire.PATIENCE)
        text = done.stderr.decode(errors="backslashreplace")
        for report in conftest.REPORTS:
            assert report not in text, text
        return done.returncode, done.stdout, text

    def run(self, *args, stdin=""):
        """Text in and out: (exit code, stdout, stderr)."""
        code, out, err = self.run_bytes(*args, stdin=stdin.encode())
        return code, out.decode(), err

    def ok(self, *args, stdin=""):
        """The standard output of a run that must succeed."""
        code, out, err = self.run(*args, stdin=stdin)
        assert code == 0, err
        return out

    def json_lines(self, *args, stdin=""):
        return [json.loads(line) for line in self.ok(*args, stdin=stdin).splitlines()]


def of_daemon(daemon, unix=False):
    home = os.path.join(daemon.directory, "home")
    os.makedirs(home, exist_ok=True)
    return Cli(daemon.socket_path if unix else f"127.0.0.1:{daemon.port}", home)


def iso(ms):
    """Unix milliseconds as the command writes them."""
    whole = datetime.fromtimestamp(ms // 1000, timezone.utc)
    return whole.strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"
