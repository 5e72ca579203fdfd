# SPDX-License-Identifier: Apache-2.0
"""hearsay watch: messages printed as they come, over restarts of the daemon."""

import json
import signal
import subprocess
import threading

import pytest

import cli_runner
import hearsay_wire as wire

PLACE = [f"wifi:02:00:00:00:00:{n:02x}" for n in range(12)]
CONTEXT = [option for label in PLACE for option in ("-l", label)]


class Watch:
    """`hearsay watch` under way; its lines gather in `out` and `err`."""

    def __init__(self, daemon, *args):
        # By the Unix socket: it has the same name after a restart. There the server sends here labels,
        # which the messages of these tests do not have.
        self.process = cli_runner.of_daemon(daemon, unix=True).start(
            "watch", "--no-here", *CONTEXT, *args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.out, self.err = [], []
        self.threads = [
            threading.Thread(target=self._gather, args=pair, daemon=True)
            for pair in [(self.process.stdout, self.out), (self.process.stderr, self.err)]
        ]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def _gather(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))

    def wait_lines(self, count):
        wire.wait_until(
            lambda: len(self.out) >= count or self.process.poll() is not None, f"{count} lines"
        )
        return list(self.out)

    def wait_end(self):
        code = self.process.wait(timeout=wire.PATIENCE)
        for thread in self.threads:
            thread.join()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.wait_end()


def leave(client, rng, text, **fields):
    made = wire.deposit_of(rng, PLACE, payload=text.encode(), **fields)
    client.call(made)
    return made


def texts(lines):
    return [json.loads(line)["text"] for line in lines]


def test_prints_as_they_come(daemon, rng):
    with daemon.client() as client, Watch(daemon, "--json", "--after-seq", "0") as watch:
        for n in range(5):
            leave(client, rng, f"message {n}")
            lines = watch.wait_lines(n + 1)
            assert texts(lines) == [f"message {i}" for i in range(n + 1)]
        seqs = [json.loads(line)["seq"] for line in lines]
        assert seqs == sorted(seqs)
        watch.process.send_signal(signal.SIGINT)
        assert watch.wait_end() == 0
        assert watch.err == []


def test_text(daemon, rng):
    with daemon.client() as client:
        leave(client, rng, "hello there")
        with Watch(daemon, "--after-seq", "0", "--count", "1") as watch:
            assert watch.wait_end() == 0
            assert watch.out[0].split() == ["AGE", "SIMILARITY", "TEXT"]
            assert watch.out[1].endswith("1.00 hello there")


def test_since_and_count(daemon, rng):
    with daemon.client() as client:
        made = [leave(client, rng, f"m{n}") for n in range(4)]
        with Watch(daemon, "--since", "1h", "--count", "3", "--json") as watch:
            assert watch.wait_end() == 0
            assert texts(watch.out) == ["m0", "m1", "m2"]
        seq = json.loads(watch.out[2])["seq"]
        with Watch(daemon, "--after-seq", str(seq), "--count", "1", "--json") as watch:
            assert watch.wait_end() == 0
            assert json.loads(watch.out[0])["id"] == made[3].id.hex()


def test_conditions(daemon, rng):
    with daemon.client() as client:
        client.call(wire.deposit_of(rng, [f"wifi:far{n}" for n in range(12)], payload=b"far"))
        leave(client, rng, "plain")
        client.call(wire.deposit_of(rng, PLACE + ["topic:coffee"], payload=b"coffee"))
        args = ["--after-seq", "0", "--count", "1", "--json", "--contains", "topic:coffee"]
        with Watch(daemon, *args) as watch:
            assert watch.wait_end() == 0
            assert texts(watch.out) == ["coffee"]
        with Watch(daemon, "--after-seq", "0", "--count", "1", "--json", "-d", "0") as watch:
            assert watch.wait_end() == 0
            assert texts(watch.out) == ["plain"]


def test_metric(daemon, rng):
    """By phi a message of this place is near, whatever else it is about."""
    with daemon.client() as client:
        topics = [f"topic:{n}" for n in range(10)]
        client.call(wire.deposit_of(rng, PLACE + topics, payload=b"much else"))
        client.call(wire.deposit_of(rng, PLACE, payload=b"plain"))
        args = ["--after-seq", "0", "--json", "--max-distance", "0.5"]
        for metric, found in (("phi", ["much else", "plain"]), ("bits", ["plain"])):
            with Watch(daemon, *args, "--metric", metric, "--count", str(len(found))) as watch:
                assert watch.wait_end() == 0
                assert texts(watch.out) == found


def test_survives_restarts(daemon, rng):
    """kill -9 and restarts: nothing missed, nothing twice."""
    with Watch(daemon, "--json", "--after-seq", "0") as watch:
        left = []
        for restart in range(3):
            with daemon.client() as client:
                for n in range(20):
                    left.append(f"{restart}.{n}")
                    leave(client, rng, left[-1])
            if restart == 0:
                watch.wait_lines(20)
            daemon.kill()
            daemon.start()
        with daemon.client() as client:
            left.append("last")
            leave(client, rng, "last")
        assert texts(watch.wait_lines(len(left))) == left
        assert any("trying again" in line for line in watch.err)
        watch.process.send_signal(signal.SIGTERM)
        assert watch.wait_end() == 0


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--after-seq", "x"], "--after-seq takes a number"),
        (["--count", "0"], "count"),
        (["--contains", "nothing"], "label"),
    ],
)
def test_misuse(daemon, args, sentence):
    code, out, err = cli_runner.of_daemon(daemon).run("watch", *CONTEXT, *args)
    assert (code, out) == (2, "")
    assert sentence in err


def test_refusals_and_no_server(make_daemon):
    daemon = make_daemon("[limits]\nwatches_per_session = 0\n")
    code, out, err = cli_runner.of_daemon(daemon).run("watch", *CONTEXT)
    assert (code, out) == (4, "")
    assert "filters" in err
    daemon.stop()
    code, out, err = cli_runner.of_daemon(daemon).run("watch", *CONTEXT)
    assert (code, out) == (3, "")


def test_help(daemon):
    assert "--after-seq" in cli_runner.of_daemon(daemon).ok("watch", "--help")
