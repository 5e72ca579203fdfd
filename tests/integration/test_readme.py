# SPDX-License-Identifier: Apache-2.0
"""The examples of README, of hearsay(1) and of `--help` run as they stand, in their order, against a fresh
daemon, and find what the text says."""

import os
import re
import shlex
import signal
import subprocess

import pytest

import cli_runner
import conftest
import hearsay_wire as wire

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
SCAN = (r"A4\:2B\:8C\:01\:02\:03:77", r"3C\:37\:86\:5E\:11\:F0:48", r"3C\:37\:86\:5E\:11\:F4:40",
        r"F0\:9F\:C2\:7B\:3D\:18:32")
IW = "BSS a4:2b:8c:01:02:03(on wlan0)\n\tsignal: -54.00 dBm\n"
# Programs of other machines. `sudo` runs what it is given.
PROGRAMS = {"nmcli": "cat <<'END'\n" + "\n".join(SCAN) + "\nEND", "iw": f"printf '{IW}'",
            "sudo": 'exec "$@"', "jq": "cat"}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class Shell:
    """Runs lines of a shell in an empty folder: `hearsay` is ours, and asks our daemon."""

    def __init__(self, daemon, folder):
        self.folder, self.cli = folder, cli_runner.of_daemon(daemon)
        programs = folder / "programs"
        programs.mkdir()
        (programs / "hearsay").symlink_to(conftest.program(conftest.HEARSAY))
        for name, text in PROGRAMS.items():
            (programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (programs / name).chmod(0o755)
        # What is said of other access points holds for this one.
        self.env = self.cli.environment(PATH=f"{programs}:{os.environ['PATH']}",
                                        HEARSAY_SERVER=self.cli.server,
                                        HEARSAY_ADMIN=daemon.socket_path)

    def start(self, line):
        return subprocess.Popen(["sh", "-c", f"exec {line}"], cwd=self.folder, env=self.env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def run(self, line, codes=(0,)):
        """The standard output, and standard error."""
        done = subprocess.run(["sh", "-c", line], cwd=self.folder, env=self.env, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=wire.PATIENCE)
        assert done.returncode in codes, (line, done.returncode, done.stderr)
        return done.stdout, done.stderr

    def run_watch(self, line):
        """A watch that does not end by itself: it says where it is, and ends well when it is stopped."""
        with self.start(line) as process:
            said = process.stderr.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(wire.PATIENCE) == 0, (line, said, process.stderr.read())


@pytest.fixture
def shell(make_daemon, tmp_path):
    return Shell(make_daemon(start=False).make_local().start(), tmp_path)


def table(text):
    """The rows of a table of messages: similarity and text."""
    return [(float(row[1]), row[2]) for row in re.findall(r"^(\S+) +\S* ?(\d\.\d\d) (.*)$", text, re.M)]


def session():
    """The commands of README's session with the lines that are printed below each."""
    block = re.search(r"## A session\n\n```console\n(.*?)```", read("README.md"), re.S).group(1)
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        line, _, printed = part.partition("\n")
        yield re.sub(r"\s{2,}#.*", "", line).strip(), printed


def test_the_session_of_readme(shell):
    """Each command succeeds; the tables have the same messages, about as similar (the label of the place
    is another one in each store); a query by an access point finds all that was left at it."""
    keys, ran = {}, 0
    for line, printed in session():
        if line.startswith(("build/", "export PATH", "kill")):
            continue  # the daemon is there
        ran += 1
        if line.startswith("hearsay watch"):
            shell.run_watch(line)
            continue
        line = line.replace("ID TOKEN", "{id} {token}".format(**keys)) if "ID TOKEN" in line else line
        out, err = shell.run(line)
        if "deposit" in line and not keys:
            keys = dict(re.findall(r"^(id|token) +(\w+)$", out, re.M))
        if "nmcli" in line:
            assert out == printed
        elif printed:
            place, _, printed = printed.partition("\n")
            assert re.sub("[0-9a-f]{16}", "", err) == re.sub("[0-9a-f]{16}", "", place) + "\n"
            found, said = table(out), table(printed)
            assert len(found) == len(said) == 2 and found[0][1] == said[0][1]
            for one, other in zip(found, said):
                assert abs(one[0] - other[0]) <= 0.05, (line, found, said)
        if "--json" in line:
            assert len(out.splitlines()) == 2, "both were left at that access point"
        if "--contains topic:books" in line or "--topic coffee" in line:
            assert len(table(out)) == 1
        if line == "hearsay query":
            assert len(table(out)) == 2
    assert ran >= 10


def examples_of_manual():
    """The lines of the examples of hearsay(1) that begin with a prompt."""
    text = read("client", "man", "hearsay.1")
    text = text[text.index(".Sh EXAMPLES"):text.index(".Sh SEE ALSO")]
    for escape, plain in ((r"\(aq", "'"), (r"\(dq", '"'), (r"\-", "-"), (r"\e", "\\")):
        text = text.replace(escape, plain)
    return [line[2:] for line in text.splitlines() if line.startswith("$ ")]


def test_the_examples_of_the_manual(shell):
    """In their order. A query may find nothing (exit code 1)."""
    lines = examples_of_manual()
    assert len(lines) >= 8
    keys = {}
    for line in lines:
        if "ID TOKEN" in line:
            line = line.replace("ID TOKEN", "{id} {token}".format(**keys))
        line = line.replace("-s 192.168.8.1 ", "")
        out, _ = shell.run(line, (0, 1) if "query" in line else (0,))
        keys = dict(re.findall(r"^(id|token) +(\w+)$", out, re.M)) or keys


COMMANDS = ("deposit", "query", "watch", "here", "channel save", "context")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_the_help(shell, command):
    """Each line of `hearsay COMMAND --help` runs, with the files that it names."""
    team = shell.folder / ".config/hearsay/team"
    team.parent.mkdir(parents=True)
    team.write_text("correct horse battery staple\n")
    team.chmod(0o600)
    (shell.folder / "poster.png").write_bytes(b"\x89PNG\r\n")
    shell.env["HOME"] = shell.env["XDG_CONFIG_HOME"] = str(shell.folder)
    shell.env["XDG_CONFIG_HOME"] += "/.config"
    shell.run("hearsay channel save kitchen -l geo:u281zd")
    shell.run("hearsay deposit -l geo:u281zd -l topic:coffee text")
    text = subprocess.run([conftest.program(conftest.HEARSAY), *shlex.split(command), "--help"],
                          capture_output=True, text=True, check=True).stdout
    lines = [line[2:] for line in text[text.index("Examples:"):].splitlines()
             if re.match(r"  \w.*hearsay ", line) or line.startswith("  hearsay ")]
    assert lines, text
    for line in lines:
        if command == "watch":
            shell.run_watch(line)
        else:
            shell.run(line, (0, 1) if " query " in line or "hearsay query" in line else (0,))
