# SPDX-License-Identifier: Apache-2.0
"""scripts/play, of `make play`: a page to look at, and nothing left of it after ^C."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request

import pytest

import conftest
import hearsay_wire as wire

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/play")
BUILD = os.path.dirname(os.path.dirname(conftest.binary(conftest.HEARSAYD)))
SAMPLES = 12


@pytest.fixture(autouse=True)
def native():
    if conftest.WRAPPER:
        pytest.skip("scripts/play starts the programs without a wrapper")


@pytest.fixture
def folder():
    """What the script writes; short enough for the path of a Unix socket."""
    with tempfile.TemporaryDirectory(prefix="hs-play-", dir="/tmp") as path:
        os.chmod(path, 0o755)
        yield path


def started(folder, listen=""):
    env = {**os.environ, "TMPDIR": folder, "PLAY_LISTEN": listen,
           "ASAN_OPTIONS": "verify_asan_link_order=0"}
    return subprocess.Popen([sys.executable, "-B", SCRIPT, BUILD], env=env, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


@contextlib.contextmanager
def playing(folder, listen=""):
    """The running script, once it has printed everything: (process, its output)."""
    process = started(folder, listen)
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "^C stops" in line:
                break
        else:
            raise AssertionError(process.stderr.read())
        yield process, "".join(lines)
    finally:
        if process.poll() is None:
            process.terminate()
        with process.stdout, process.stderr:
            process.wait(wire.PATIENCE)
            err = process.stderr.read()
        assert "Traceback" not in err, err


def url_in(output):
    return re.search(r"^ +(http://\S+/)$", output, re.M).group(1)


def get(url):
    with urllib.request.urlopen(url, timeout=wire.PATIENCE) as answer:
        return answer.read().decode()


def programs_of(folder):
    """The processes that run with a configuration in the folder."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
            if any(word.startswith(folder) for word in words):
                found[int(pid)] = os.path.basename(words[0])
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left(folder, number):
    """It serves all samples, of different ages, and ends both programs and their files."""
    with playing(folder) as (process, output):
        page = get(url_in(output))
        assert page.count("<h3") == SAMPLES
        assert len(set(re.findall(r"\d+ (?:min|h) ago|\d+ days? ago", page))) >= 4
        assert "القهوة" in page and "Wer singt mit?" in page
        assert "▀" not in output, "a code that leads a phone to itself"
        assert "Only this machine" in output and "Everybody" not in output
        assert sorted(programs_of(folder).values()) == ["hearsay-web", "hearsayd"]
        process.send_signal(number)
        assert process.wait(wire.PATIENCE) == 0
        assert "stopped" in process.stderr.read()
    assert programs_of(folder) == {}
    assert os.listdir(folder) == []


def test_no_program_is_root(folder):
    """Where root starts it, the programs are two other users."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    with playing(folder):
        owners = {os.stat(f"/proc/{pid}").st_uid for pid in programs_of(folder)}
        assert len(owners) == 2 and 0 not in owners


def test_a_reader_that_goes(folder):
    """As in `make play | head`: the script ends without a word."""
    process = started(folder)
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(wire.PATIENCE) == 0 and os.listdir(folder) == []


def test_two_at_once(folder):
    """The second one takes a free port."""
    with playing(folder) as (_, first), playing(folder) as (_, second):
        assert url_in(first) != url_in(second)
        assert "<h3" in get(url_in(first)) and "<h3" in get(url_in(second))
    assert os.listdir(folder) == []


def test_others_may_read_it(folder):
    """An address that is not loopback: the output says who can read it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("no address but loopback here")
        address = one.getsockname()[0]
    with playing(folder, address) as (_, output):
        assert f"http://{address}:" in output and "Everybody in this network" in output
        assert sum("▀" in line for line in output.splitlines()) > 10, "the code"
        assert "<h3" in get(url_in(output))
        poster = get(url_in(output) + "poster").replace("<wbr>", "")  # by name, and by address
        assert "http://hearsay.lan:" in poster and f"http://{address}:" in poster


@pytest.mark.parametrize("listen, sentence", [
    ("here", "numeric address"), ("0.0.0.0", "no address of one machine"),
    ("192.0.2.77", "has no such address"),
])
def test_a_wrong_address_is_named(folder, listen, sentence):
    process = started(folder, listen)
    _, err = process.communicate(timeout=wire.PATIENCE)
    assert process.returncode == 1 and sentence in err and "Traceback" not in err
    assert os.listdir(folder) == []


def test_a_program_that_ends_is_named(folder):
    with playing(folder) as (process, _):
        (daemon,) = (pid for pid, name in programs_of(folder).items() if name == "hearsayd")
        os.kill(daemon, signal.SIGKILL)
        assert process.wait(wire.PATIENCE) == 1
        assert "hearsayd ended by itself" in process.stderr.read()
    assert programs_of(folder) == {} and os.listdir(folder) == []
