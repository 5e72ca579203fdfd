# SPDX-License-Identifier: Apache-2.0
"""What the hearsay command shows on a narrow terminal, when it is interrupted, and when nobody reads
what it prints."""

import json
import os
import pty
import re
import signal
import subprocess

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb


class Terminal:
    """A pseudo-terminal that a program writes to, and what it wrote so far."""

    def __init__(self):
        self.master, self.slave = pty.openpty()
        self.text = ""

    def __enter__(self):
        return self

    def __exit__(self, *args):
        os.close(self.master)
        self.close_slave()

    def close_slave(self):
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1

    def read(self):
        """What comes next; False at the end, when no program has the terminal any more."""
        try:
            data = os.read(self.master, 65536)
        except OSError:
            data = b""
        self.text += data.decode()
        return bool(data)

    def read_all(self):
        self.close_slave()
        while self.read():
            pass
        return self.text


def shown(cli, *args, columns=60, said=None):
    """What a command shows on a terminal of that many columns. `said` gets its lines elsewhere."""
    with Terminal() as terminal:
        env = cli.environment(COLUMNS=str(columns), TERM="dumb")
        with subprocess.Popen(cli.command(*args), env=env, stdin=subprocess.DEVNULL,
                              stdout=terminal.slave, stderr=subprocess.PIPE) as process:
            text = terminal.read_all()
            err = process.stderr.read()
            assert process.wait(wire.PATIENCE) == 0, err
    if said is not None:
        said.extend(err.decode().splitlines())
    return text.replace("\r\n", "\n")


def test_a_table_says_where_the_rest_is(make_daemon):
    """Whose text was cut for a narrow terminal learns how to read the whole of it."""
    cli = cli_runner.of_daemon(make_daemon())
    cli.ok("deposit", "-l", "a:b", "word " * 20)
    for columns, args, says in ((60, (), ["hearsay: texts are cut: hearsay get ID prints a whole one; --ids shows the ids"]),
                                (60, ("--ids",), ["hearsay: texts are cut: hearsay get ID prints a whole one"]),
                                (200, (), []), (60, ("--json",), [])):
        said = []
        page = shown(cli, "query", "--no-here", "-l", "a:b", *args, columns=columns, said=said)
        assert [line for line in said if "cut" in line] == says and ("\u2026" in page) == (says != []), page


# --- admin stats, admin hosts ---------------------------------------------------------------------


def test_stats_fit_a_narrow_terminal(make_daemon, rng):
    """No line of the page is wider than 60 columns, with long profiles and large numbers, too."""
    profile = "v2:wifi=288/2,time=32/1,topic=96/2,any=96/2"
    daemon = make_daemon("[limits]\nmessages = 16000000\nbytes = 16G\n"
                         f"[host the-reading-room]\nprofile = {profile}\n")
    cli = cli_runner.of_daemon(daemon, unix=True)
    with daemon.client() as client:
        client.pipeline([wire.deposit_of(rng, ["topic:a", "topic:b", "topic:c"], profile=profile) for _ in range(3)])
        page = shown(cli, "admin", "stats")
    assert max(map(len, page.splitlines())) <= 60, page
    words = page.split()
    assert "".join(words).count(profile) == 1, page
    assert "3 of 16000000 messages" in " ".join(words)
    assert all(line.startswith(" " * 9) for line in page.splitlines() if line.startswith(" "))
    wide = shown(cli, "admin", "stats", columns=100)
    assert len(wide.splitlines()) < len(page.splitlines()), "it uses the columns that there are"


def test_stats_of_one_and_none(make_daemon, rng):
    """One is not many, and there is no latency of what nobody has asked."""
    daemon = make_daemon()
    cli = cli_runner.of_daemon(daemon, unix=True)
    page = cli.ok("admin", "stats")
    assert "1 session, 0 refused, 0 requests under way" in page
    latencies = {line.split()[0]: line.split()[4:] for line in page.splitlines()
                 if line.startswith(("deposits", "queries"))}
    assert latencies == {"deposits": ["-"] * 4, "queries": ["-"] * 4}
    with daemon.client() as client:
        client.call(wire.deposit_of(rng, ["a:b"]))
        page = cli.ok("admin", "stats")
    (deposits,) = [line.split() for line in page.splitlines() if line.startswith("deposits")]
    assert deposits[1] == "1" and all(re.fullmatch(r"\d+\.\d\d?|\d+", part) for part in deposits[4:])
    (queries,) = [line.split() for line in page.splitlines() if line.startswith("queries")]
    assert queries[4:] == ["-"] * 4
    assert "2 sessions" in page


def test_hosts_show_how_full_they_are(make_daemon, rng):
    """admin hosts: the greater share of messages and bytes, of each host and of all together."""
    daemon = make_daemon("[host lobby]\nmessages = 8\n[host roof]\nbytes = 8K\n")
    cli = cli_runner.of_daemon(daemon, unix=True)
    with daemon.client() as client:
        client.pipeline([wire.deposit_of(rng, ["a:b"], host="lobby") for _ in range(2)])
        client.call(wire.deposit_of(rng, ["a:b"], host="roof", payload=b"x" * 4000))
    page = shown(cli, "admin", "hosts")
    assert max(map(len, page.splitlines())) <= 60, page
    assert re.search(r"^HOST +FULL +MESSAGES +BYTES$", page, re.MULTILINE)
    assert re.search(r"^lobby +25 % +2 of 8 ", page, re.MULTILINE), page
    assert re.search(r"^roof +50 % +1 of 100000 +4\.0 kB of 8\.1 kB$", page, re.MULTILINE), page
    assert re.search(r"^\(all hosts\) +0 % +3 of 100000 ", page, re.MULTILINE), page
    lobby, roof, together = cli.json_lines("admin", "hosts", "--json")
    assert (lobby["host"], lobby["full"], lobby["messages"], lobby["messages_max"]) == (
        "lobby", 0.25, 2, 8)
    assert roof["bytes"] > 4000 and roof["bytes_max"] == 8192
    assert together.keys() == lobby.keys() and together["host"] is None
    assert (together["messages"], together["messages_max"]) == (3, 100000)


# --- interrupted ----------------------------------------------------------------------------------


def import_line(number):
    return (json.dumps({"labels": ["topic:interrupted", f"wifi:{number}"],
                        "text": f"message {number}"}) + "\n").encode()


def interrupted_import(cli, daemon, sig, *args):
    """An import whose bar is there and whose lines are stored gets a signal: (code, stdout, what
    it showed, how many lines it was given)."""
    count = 0
    with Terminal() as terminal, daemon.administrator() as client:
        with subprocess.Popen(cli.command("import", *args, "-"), env=cli.environment(TERM="dumb"),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=terminal.slave) as process:
            os.set_blocking(terminal.master, False)
            while " lines  " not in terminal.text:  # drawn when it has gone on for a while
                process.stdin.write(import_line(count))
                process.stdin.flush()
                count += 1
                stored = count
                wire.wait_until(lambda: client.call(pb.Summary()).count >= stored,
                                "a line is stored")
                terminal.read()
            os.set_blocking(terminal.master, True)
            process.send_signal(sig)
            text = terminal.read_all()
            out = process.stdout.read()
            code = process.wait(wire.PATIENCE)
    return code, out, text, count


def test_import_that_is_interrupted(make_daemon):
    """^C: the bar is gone, and one sentence says what was imported and how to go on."""
    daemon = make_daemon()
    cli = cli_runner.of_daemon(daemon, unix=True)
    code, out, text, count = interrupted_import(cli, daemon, signal.SIGINT)
    assert code == 130 and out == b""
    bar, _, rest = text.rpartition("\r\x1b[K")
    assert " lines  " in bar and " lines  " not in rest
    told = re.fullmatch(r"hearsay: interrupted: (\d+) deposited, 0 already there, 0 skipped so far; "
                        "run the same command again to go on, nothing is stored twice\r\n", rest)
    assert told, rest
    assert 0 < int(told.group(1)) <= count, "those whose answers had come"


def test_import_that_is_terminated(make_daemon):
    """SIGTERM: the same; with --json the summary is that of what was done."""
    daemon = make_daemon()
    cli = cli_runner.of_daemon(daemon, unix=True)
    code, out, text, count = interrupted_import(cli, daemon, signal.SIGTERM, "--json")
    assert code == 143 and "interrupted: " in text
    summary = json.loads(out)
    assert 0 < summary.pop("deposited") <= count
    assert summary == {"duplicates": 0, "expired": 0, "skipped": 0}


# --- nobody reads ---------------------------------------------------------------------------------


def test_a_reader_that_has_enough(make_daemon, rng):
    """`export | head -1`: not a word, and the exit code that a shell gives for SIGPIPE."""
    daemon = make_daemon()
    cli = cli_runner.of_daemon(daemon, unix=True)
    with daemon.client() as client:
        client.pipeline([wire.deposit_of(rng, ["a:b"], payload=rng.randbytes(4000),
                                         media_type="application/octet-stream")
                         for _ in range(60)])
    for args in (("export",), ("query", "-l", "a:b", "--no-here", "-k", "50", "--json"),
                 ("hosts",)):
        read, write = os.pipe()
        stays = args == ("export",)  # the reader reads one byte, then goes
        if not stays:
            os.close(read)  # before the command starts: `hosts` writes less than the pipe holds
        process = cli.start(*args, stdout=write, stderr=-1)
        os.close(write)
        if stays:
            assert os.read(read, 1)
            os.close(read)
        _, err = process.communicate(timeout=wire.PATIENCE)
        assert (process.returncode, err) == (141, b""), args
