# SPDX-License-Identifier: Apache-2.0
"""The examples of README, of the man pages and of `--help` run as they stand, in their order, against a fresh
daemon, and find what the text says. An example that cannot run is in CANNOT, with its reason."""

import os
import pwd
import re
import shlex
import signal
import subprocess
import textwrap

import pytest

import cli_runner
import hub_cluster
import conftest
import hearsay_wire as wire
from hearsay_wire import pb

WEB = os.environ.get("HEARSAY_WEB", "build/client/hearsay-web")
BRIDGE = os.environ.get("HEARSAY_BRIDGE", "build/client/hearsay-bridge")
ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
SCAN = (r"A4\:2B\:8C\:01\:02\:03:77", r"3C\:37\:86\:5E\:11\:F0:48", r"3C\:37\:86\:5E\:11\:F4:40",
        r"F0\:9F\:C2\:7B\:3D\:18:32")
IW = "BSS a4:2b:8c:01:02:03(on wlan0)\n\tsignal: -54.00 dBm\n"
# Programs of other machines. `sudo` runs what it is given.
PROGRAMS = {"nmcli": "cat <<'END'\n" + "\n".join(SCAN) + "\nEND", "iw": f"printf '{IW}'",
            "sudo": 'exec "$@"', "jq": "cat", "systemctl": 'echo "systemctl $*"'}
# Each example runs, or is here, by a text that is in it.
CANNOT = {
    "make demo": "it builds the tree",
    "make check": "it runs the tests",
    "ldconfig": "it changes the machine",
    "systemd-sysusers": "it changes the machine",
    "systemctl daemon-reload": "there is no service manager",
    "systemctl enable": "there is no service manager",
    "ReadWritePaths=": "a file of systemd, which nothing here reads",
    "admin unban 3f29c01d": "the number of a ban is another one in each store",
    "known remove": "only servers with TLS are known; test_tls.py has it",
    "admin pin": "there is no certificate; test_tls.py has it",
}
# What has happened before the examples of a command.
BEFORE = {
    "admin restore": "hearsay admin hide --why spam 00112233445566778899aabbccddeeff",
    "admin wait": "hearsay report --kind spam 00112233445566778899aabbccddeeff",
    "admin unban": "hearsay admin ban --text 'Buy now'",
}
MESSAGE = "00112233445566778899aabbccddeeff"  # the one of the examples


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class Shell:
    """Runs lines of a shell in an empty folder: `hearsay` is ours, and asks our daemon."""

    def __init__(self, daemon, folder):
        self.folder, self.cli = folder, cli_runner.of_daemon(daemon)
        programs = folder / "programs"
        programs.mkdir()
        for name, path in (("hearsay", conftest.HEARSAY), ("hearsayd", conftest.HEARSAYD),
                           ("hearsay-web", WEB), ("hearsay-bridge", BRIDGE)):
            if os.path.exists(path):
                (programs / name).symlink_to(conftest.program(path))
        for name, text in PROGRAMS.items():
            (programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (programs / name).chmod(0o755)
        # What is said of other access points holds for this one.
        self.env = self.cli.environment(PATH=f"{programs}:{os.environ['PATH']}",
                                        HEARSAY_SERVER=self.cli.server,
                                        HEARSAY_ADMIN=daemon.socket_path, TMPDIR=str(folder))

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

    def run_watch(self, line, says="", sign=signal.SIGINT, by="stderr"):
        """A command that does not end by itself: it says a line with that, and ends well when it is stopped."""
        with self.start(line) as process:
            said = next((said for said in getattr(process, by) if says in said), "")
            process.send_signal(sign)
            code = process.wait(wire.PATIENCE)
            assert code in (0, -signal.SIGINT) and said, (line, code, said, process.stderr.read())


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


def cannot(text):
    return any(part in text for part in CANNOT)


def blocks_of_readme():
    """The blocks of README besides the session: (language, text)."""
    return [(kind, textwrap.dedent(text)) for kind, text in re.findall(
        r"^ *```(\w+)\n(.*?)^ *```$", read("README.md"), re.M | re.S) if kind != "console"]


def test_the_blocks_of_readme(shell):
    """Lines of a configuration are correct; the commands are those that cannot run here."""
    for kind, text in blocks_of_readme():
        if kind == "ini":
            check_config(shell, "hearsayd.conf", text)
        else:
            assert [line for line in text.splitlines() if not cannot(line)] == []


# --- man pages ------------------------------------------------------------------------------------


def manual(name):
    """The text of a man page without escapes."""
    folder = "daemon" if name.startswith("hearsayd") else "client"
    text = read(folder, "man", name)
    for escape, plain in ((r"\(aq", "'"), (r"\(dq", '"'), (r"\-", "-"), (r"\e", "\\")):
        text = text.replace(escape, plain)
    return text


MANUALS = sorted(name for folder in ("client", "daemon") for name in os.listdir(os.path.join(ROOT, folder, "man")))


def literals(name):
    """What stands in a man page as one would type it: commands, or lines of a file."""
    return re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed$|^\.Dl ([^\n]*)$", manual(name), re.M | re.S)


def test_the_examples_of_the_manual(shell):
    """Those of hearsay(1), in their order. A query may find nothing (exit code 1)."""
    lines = [line[2:] for block, _ in literals("hearsay.1") for line in block.splitlines()]
    assert len(lines) >= 8
    keys = {}
    for line in lines:
        if "ID TOKEN" in line:
            line = line.replace("ID TOKEN", "{id} {token}".format(**keys))
        line = line.replace("-s 192.168.8.1 ", "")
        out, _ = shell.run(line, (0, 1) if "query" in line else (0,))
        keys = dict(re.findall(r"^(id|token) +(\w+)$", out, re.M)) or keys


def check_config(shell, name, text):
    """The lines of a file are a correct configuration, of the program that the page is about."""
    program = "hearsay-bridge" if name == "bridge.conf.5" else "hearsayd"
    if program == "hearsay-bridge":  # it opens its certificate, as a user who may not enter this folder
        hub_cluster.make_certificate(shell.folder, "host", "lobby")
        text = re.sub(r"^user = .*\n", "", text, flags=re.M)
    some_user = next(user.pw_name for user in pwd.getpwall() if 0 < user.pw_uid < 65534)
    text = re.sub(r"^(\w*user) = .*", rf"\1 = {some_user}", text, flags=re.M)  # those that packages make
    (shell.folder / "example.conf").write_text(text.replace("/etc/hearsay", str(shell.folder)))
    if (shell.folder / "programs" / program).exists():
        shell.run(f"{program} --check-config --config example.conf")


def run_command(shell, line):
    if line.startswith("hearsayd --data"):
        shell.run_watch(line.replace(":7117", ":0"), "ready", signal.SIGTERM)
    elif "--set-password" in line:
        (shell.folder / "moderate.conf").write_text("[moderate]\n")
        if (shell.folder / "programs/hearsay-web").exists():
            shell.run(f"echo a-long-password-1 | {line} --config moderate.conf")
    else:
        shell.run(line)


def run_literal(shell, name, text):
    if text.startswith(("$ ", "# ")):
        for line in text.splitlines():
            run_command(shell, line[2:])
    elif " = " in text:
        check_config(shell, name, text)
    else:
        run_command(shell, text)


@pytest.mark.parametrize("name", MANUALS)
def test_the_literal_texts_of_the_manuals(shell, name):
    """Commands run, and lines of a configuration are correct as they stand."""
    for block, line in literals(name):
        text = (block or line).strip()
        if not cannot(text) and not (name == "hearsay.1" and block):
            run_literal(shell, name, text)


# --- help -----------------------------------------------------------------------------------------


def help_of(*words):
    return subprocess.run([conftest.program(conftest.HEARSAY), *words, "--help"], capture_output=True, text=True,
                          check=True).stdout


def commands_of(text):
    return re.findall(r"^  ([a-z-]+) {2,}\S", text[text.index("Commands:"):].partition("\n\n")[0], re.M)


COMMANDS = ("", "deposit", "query", "watch", "here", "get", "withdraw", "report", "import", "export", "hosts", "ping",
            "channel", "known", "summary", "profile", "context", "admin",
            *(f"admin {name}" for name in (
                "stats", "hosts", "list", "restore", "hide", "remove", "log", "wait", "ban", "unban", "bans", "accept",
                "notice", "notices", "check", "backup", "compact", "reload", "log-level", "pin", "feed", "similar")))


def test_each_command_is_tried():
    assert COMMANDS == ("", *commands_of(help_of()), *(f"admin {name}" for name in commands_of(help_of("admin"))))


def test_no_reason_is_left_over():
    """Each text of CANNOT is in an example."""
    told = "".join([text for _, text in blocks_of_readme()] + [manual(name) for name in MANUALS]
                   + [help_of(*shlex.split(command)) for command in COMMANDS])
    assert [text for text in CANNOT if text not in told] == []


def prepare(shell, daemon):
    """What the examples name: files, a channel, a message with a secret, another address of the server."""
    team = shell.folder / ".config/hearsay/team"
    team.parent.mkdir(parents=True)
    team.write_text("correct horse battery staple\n")
    team.chmod(0o600)
    (shell.folder / "poster.png").write_bytes(b"\x89PNG\r\n")
    (shell.folder / "hearsayd.sock").symlink_to(daemon.socket_path)
    shell.env["HOME"] = shell.env["XDG_CONFIG_HOME"] = str(shell.folder)
    shell.env["XDG_CONFIG_HOME"] += "/.config"
    shell.run("hearsay channel save kitchen -l geo:u281zd")
    shell.run("hearsay deposit -l geo:u281zd -l topic:coffee text")
    shell.run("hearsay export > messages.jsonl")
    with daemon.client() as client:
        left = pb.Deposit(id=bytes.fromhex(MESSAGE), filter=wire.filter_of(["topic:example"]), payload=b"text",
                          media_type="text/plain", withdraw_hash=wire.withdraw_hash(bytes(32)))
        assert client.call(left).deposited_ms > 0
    shell.run(f"hearsay deposit --re {MESSAGE} answer")


def examples(text):
    """Lines that end with a backslash go on in the next one."""
    return [line.strip() for line in text[text.index("Examples:\n"):].replace("\\\n", " ").splitlines()[1:]
            if line.startswith("  ")]


def is_endless(line):
    return line.startswith("hearsay watch") or "--watch" in line or "--follow" in line


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_the_help(make_daemon, tmp_path, command):
    """Each line of `hearsay COMMAND --help` runs, with what it names. A query may find nothing (exit code 1)."""
    places = tmp_path / "places"
    places.write_text("192.0.2.0/24 = place:main | Main stage\n")
    daemon = make_daemon(f"[host default]\nreplicate = yes\nhere = place:bar\nhere_map = {places}\n[host cafe]\n",
                         start=False)
    daemon.make_local().start()
    shell = Shell(daemon, tmp_path)
    prepare(shell, daemon)
    lines = examples(help_of(*shlex.split(command)))
    assert lines, command
    shell.run(BEFORE.get(command, "true"))
    for line in lines:
        if cannot(line):
            continue
        for named, here in (("/srv/hearsayd.sock", daemon.socket_path), ("192.168.8.1", shell.cli.server),
                            ("TOKEN", "00" * 32), ("/var/lib/hearsay/", f"{tmp_path}/"),
                            ("--after 1200", "--after 0")):
            line = line.replace(named, here)
        if is_endless(line):
            shell.run_watch(line, by="stderr" if "hearsay watch" in line and "--re" not in line else "stdout")
        else:
            shell.run(line, (0, 1) if " query " in line or "hearsay query" in line else (0,))
