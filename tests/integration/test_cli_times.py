# SPDX-License-Identifier: Apache-2.0
"""The hearsay command and a server that sends the most extreme times. The command shows no wrong
age, asks for no wrong time and remembers what it has shown."""

import pytest

import cli_runner
import fake_server
from hearsay_wire import pb

LATEST, EARLIEST = 2**63 - 1, -(2**63)
DAYS = LATEST // 86_400_000
ON = ["-l", "topic:coffee"]


class TimeServer(fake_server.FakeServer):
    """Answers each query with one message; keeps the queries. One connection after another."""

    def __init__(self, now_ms, deposited_ms=0, expires_ms=LATEST):
        self.now_ms, self.times = now_ms, {"deposited_ms": deposited_ms, "expires_ms": expires_ms}
        self.queries, self.deposits = [], []
        super().__init__()

    def answer(self, request):
        kind = request.WhichOneof("body")
        if kind == "hello":
            host = pb.HostInfo(name="default", profile="v2:512/4",
                               suggested_max_distance=1_000_000)
            return pb.Response(id=request.id, welcome=pb.Welcome(
                version=1, store_id=bytes(16), now_ms=self.now_ms, hosts=[host],
                limits=pb.Limits(frame_bytes=65536, parts_max=64)))
        if kind == "query":
            self.queries.append(request.query)
            result = pb.Result(id=bytes(range(16)), media_type="text/plain", payload=b"hello",
                               distance=0, **self.times)
            return pb.Response(id=request.id, results=pb.Results(results=[result], exact=True))
        self.deposits.append(request.deposit)
        return pb.Response(id=request.id, deposited=pb.Deposited(
            expires_ms=LATEST, durability=pb.ON_STORAGE))


@pytest.mark.parametrize(("now_ms", "deposited_ms", "age"), [
    (LATEST, EARLIEST, f"{DAYS}d"),
    (LATEST, -1, f"{DAYS}d"),
    (10, EARLIEST, f"{DAYS}d"),
    (EARLIEST, LATEST, "now"),
])
def test_ages(tmp_path, now_ms, deposited_ms, age):
    with TimeServer(now_ms, deposited_ms) as server:
        cli = cli_runner.Cli(server.address, str(tmp_path))
        _, row = cli.ok("query", *ON).splitlines()
        assert row.split()[0] == age
        assert cli.json_lines("query", "--json", *ON)[0]["text"] == "hello"


@pytest.mark.parametrize("option", ["--since", "--until"])
def test_spans_before_the_first_time(tmp_path, option):
    """6 h before the earliest time is that time, not one far in the future."""
    with TimeServer(EARLIEST) as server:
        cli = cli_runner.Cli(server.address, str(tmp_path))
        code, _, err = cli.run("query", *ON, option, "6h")
        # Until then nothing was deposited: the message is not one that was asked for.
        assert code == (0 if option == "--since" else 3), err
        for query in server.queries:
            assert query.since_ms <= 0 and (not query.HasField("until_ms") or query.until_ms <= 0)


def test_unseen(tmp_path):
    """What expires after the end of time is remembered."""
    with TimeServer(-(10**15)) as server:
        cli = cli_runner.Cli(server.address, str(tmp_path))
        for _ in range(2):
            assert "hello" in cli.ok("query", *ON, "--unseen", str(tmp_path / "seen"))
        assert [len(query.exclude) for query in server.queries] == [0, 1]


def test_import(tmp_path):
    """A message that expires at the end of time has the longest lifetime."""
    line = '{"labels": ["topic:coffee"], "text": "x", "expires": "9999-12-31T23:59:59Z"}\n'
    with TimeServer(EARLIEST) as server:
        cli = cli_runner.Cli(server.address, str(tmp_path))
        cli.run("import", "-", stdin=line)
        assert [deposit.ttl_s for deposit in server.deposits] == [2**32 - 1]
