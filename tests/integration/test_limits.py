# SPDX-License-Identifier: Apache-2.0
"""What one address may do: connections, deposits and queries a minute. The tests' clients come from
this machine, which is exempt; so they use a listener that is `limited`."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time

import pytest

import conftest
import hearsay_wire as wire
from hearsay_wire import pb

HERE = ["topic:limits", "topic:address"]


@pytest.fixture
def limited(make_daemon):
    """A daemon with a second TCP listener that is limited: (daemon, address)."""

    def make(limits="", **options):
        daemon = make_daemon(f"listen = 127.0.0.2:0 limited\n[limits]\n{limits}\n", **options)
        found = daemon.find_log(r"listening on 127\.0\.0\.2:(\d+)")
        return daemon, ("127.0.0.2", int(found.group(1)))

    return make


def refusals(client, bodies):
    """`None` or the error, for each answer."""
    return [a.error if a.HasField("error") else None for a in client.pipeline(bodies)]


def deposit(rng, **fields):
    return wire.deposit_of(rng, HERE, **fields)


# --- connections ----------------------------------------------------------------------------------


def test_connections_of_one_address(limited):
    """One too many is told why, and closed; others are not kept out; who leaves makes room."""
    daemon, address = limited("sessions_per_address = 2\n")
    with wire.Client(address) as one, wire.Client(address):
        with wire.Client(address, hello=False) as third:
            (answer,) = third.receive_until_end()
            assert answer.id == 0
            assert wire.ERROR_CODES[answer.error.code] == "RATE_LIMITED"
            assert "address" in answer.error.message and answer.error.retry_after_ms > 0
        daemon.client().close()  # not limited
        one.close()

        def is_taken():
            with wire.Client(address, hello=False) as another:
                try:
                    another.post(pb.Hello(versions=[1]))
                    return another.receive().HasField("welcome")
                except (wire.Ended, ConnectionError):
                    return False  # it closed before it had read Hello

        wire.wait_until(is_taken, "room for another connection")


def test_refused_connections_take_nobodys_place(limited):
    """However many one address opens, those that it may not have do not fill `sessions`."""
    daemon, address = limited("sessions_per_address = 1\nsessions = 3\n")
    with wire.Client(address):
        crowd = []
        for _ in range(40):  # the first are told; then they are just closed, at once
            with contextlib.suppress(ConnectionResetError):
                crowd.append(socket.create_connection(address, wire.PATIENCE))
        with daemon.client() as two, daemon.client() as three:
            assert two.call(pb.Ping()).now_ms and three.call(pb.Ping()).now_ms
            with daemon.client(hello=False) as fourth:
                (answer,) = fourth.receive_until_end()
                assert "address" not in answer.error.message
        for one in crowd:
            one.close()


def test_connections_cost_a_query(limited):
    """Who connects again and again is told to wait, by the time that it takes."""
    _, address = limited("queries_per_minute = 1\nquery_burst = 3\n")
    for _ in range(3):
        wire.Client(address).close()
    with wire.Client(address, hello=False) as fourth:
        (answer,) = fourth.receive_until_end()
        assert wire.ERROR_CODES[answer.error.code] == "RATE_LIMITED"
        assert 0 < answer.error.retry_after_ms <= 60_000


# --- rates ----------------------------------------------------------------------------------------


def test_deposits_of_one_address(limited, rng):
    """The burst is taken, then RATE_LIMITED says when to come back; and then it is taken."""
    daemon, address = limited("deposits_per_minute = 120\ndeposit_burst = 3\n")
    with wire.Client(address) as client:
        began = time.monotonic()
        errors = refusals(client, [deposit(rng) for _ in range(6)])
        took_ms = (time.monotonic() - began) * 1000
        refused = [e for e in errors if e is not None]
        assert errors[:3] == [None] * 3 and refused
        for error in refused:
            assert wire.ERROR_CODES[error.code] == "RATE_LIMITED"
            assert 0 < error.retry_after_ms <= 500
            assert "deposits" in error.message
        assert len(refused) >= 3 - took_ms // 500
        # Queries have a bucket of their own, and so have other connections none.
        assert client.call(wire.query_of(HERE)).results
        again = deposit(rng)
        deadline = time.monotonic() + wire.PATIENCE
        while (error := refusals(client, [again])[0]) is not None:
            assert time.monotonic() < deadline
            time.sleep(error.retry_after_ms / 1000)  # as told: this is the event
    with daemon.client() as exempt:
        assert refusals(exempt, [deposit(rng) for _ in range(20)]) == [None] * 20


def test_a_bucket_outlives_its_connection(limited, rng):
    """Connecting anew gives no new tokens."""
    _, address = limited("deposits_per_minute = 1\ndeposit_burst = 2\n")
    with wire.Client(address) as client:
        assert refusals(client, [deposit(rng), deposit(rng)]) == [None, None]
    with wire.Client(address) as client:
        assert client.refused(deposit(rng)).code == "RATE_LIMITED"


def test_withdrawals_count_as_deposits(limited, rng):
    """A guesser of withdraw tokens runs out of his own."""
    _, address = limited("deposits_per_minute = 1\ndeposit_burst = 2\n")
    with wire.Client(address) as client:
        guess = pb.Withdraw(id=wire.new_id(rng), token=rng.randbytes(32))
        codes = [client.refused(guess).code for _ in range(3)]
        assert codes == ["NOT_FOUND", "NOT_FOUND", "RATE_LIMITED"]


def test_costly_queries_cost_more(limited):
    """A query pays for its parts, and for the slices and hashes of what it leaves out."""
    _, address = limited("queries_per_minute = 1\nquery_burst = 40\n")
    part = pb.QueryPart(filter=wire.filter_of(HERE))
    slices = [pb.Slice(bits=b"\1" * 8, hashes=15)] * 2
    with wire.Client(address) as client:  # 39 are left
        assert client.call(pb.Query(k=1, parts=[part] * 9)) is not None  # 9: 30
        assert client.call(pb.Query(k=1, parts=[part], exclude=slices)) is not None  # 1 + 11: 18
        assert client.call(pb.Query(k=1, parts=[part] * 4)) is not None  # 4: 14
        assert client.refused(pb.Get(id=bytes(16))).code == "NOT_FOUND"  # 1: 13
        assert client.call(pb.Summary()) is not None  # 1: 12
        assert client.call(pb.Here()) is not None  # 1: 11
        assert client.refused(pb.Query(k=1, parts=[part] * 12)).code == "RATE_LIMITED"
        assert client.call(pb.Query(k=1, parts=[part] * 11)) is not None  # 11: 0
        refused = client.refused(wire.query_of(HERE))
        assert refused.code == "RATE_LIMITED" and "queries" in refused.error.message
        assert client.call(pb.Ping()).now_ms  # free


def test_full_parts_cost_four_tokens(limited):
    """No bound rules out a message for a section that is more than half full: all are compared."""
    _, address = limited("query_fill_max = 100%\nqueries_per_minute = 1\nquery_burst = 10\n")
    usual, full = wire.filter_of(HERE), bytes([255] * 64)
    with wire.Client(address) as client:  # 9 are left
        assert client.call(pb.Query(k=1, parts=[pb.QueryPart(filter=full)])) is not None  # 4: 5
        assert client.call(wire.query_of(HERE, contains=HERE)) is not None  # 1: 4
        half = bytes([255] * 22 + [31] + [0] * 41)  # 181 of the 362 bits of wifi
        assert client.call(pb.Query(k=1, parts=[pb.QueryPart(filter=half)])) is not None  # 1: 3
        for fields in ({"filter": full}, {"filter": usual, "contains": full}):
            query = pb.Query(k=1, parts=[pb.QueryPart(**fields)])
            watch = pb.Watch(query=pb.Query(parts=[pb.QueryPart(**fields)]))
            for request in (query, watch):  # one token is missing, and a minute at most
                refused = client.refused(request)
                assert refused.code == "RATE_LIMITED"
                assert 0 < refused.error.retry_after_ms <= 60_000
        assert [client.refused(pb.Get(id=bytes(16))).code for _ in range(3)] == ["NOT_FOUND"] * 3
        refused = client.refused(query)  # 0 are left: four minutes, less what has passed
        assert 180_000 < refused.error.retry_after_ms <= 240_000


def test_what_costs_more_than_the_burst_takes_all_of_it(limited):
    """It is refused until the bucket is full, and then taken: never refused for ever."""
    _, address = limited("queries_per_minute = 6000\nquery_burst = 10\n")
    dear = pb.Query(k=1, parts=[pb.QueryPart(filter=wire.filter_of(HERE))] * 64)
    with wire.Client(address) as client:
        deadline = time.monotonic() + wire.PATIENCE
        while (error := refusals(client, [dear])[0]) is not None:
            assert wire.ERROR_CODES[error.code] == "RATE_LIMITED"
            assert 0 < error.retry_after_ms <= 100
            assert time.monotonic() < deadline
            time.sleep(error.retry_after_ms / 1000)  # as told: this is the event


def test_no_rate_is_no_limit(limited, rng):
    """0 turns a limit off."""
    _, address = limited("deposits_per_minute = 0\nqueries_per_minute = 0\n")
    with wire.Client(address) as client:
        assert client.welcome.limits.deposits_per_minute == 0
        assert not client.welcome.limits.HasField("deposit_burst")
        assert not any(refusals(client, [deposit(rng) for _ in range(200)]))
        assert not any(refusals(client, [wire.query_of(HERE, k=1)] * 500))


def test_reload_changes_the_rates(limited, rng):
    """SIGHUP takes new rates over, for those who are connected, too."""
    daemon, address = limited("deposits_per_minute = 1\ndeposit_burst = 1\n")
    with wire.Client(address) as client:
        assert refusals(client, [deposit(rng)]) == [None]
        assert client.refused(deposit(rng)).code == "RATE_LIMITED"
        daemon.configure(
            "listen = 127.0.0.2:0 limited\n[limits]\ndeposits_per_minute = 0\n"
        )
        at = len(daemon.log)
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_log("configuration reloaded", at)
        assert refusals(client, [deposit(rng)] * 5) == [None] * 5


# --- one sender's share ---------------------------------------------------------------------------


def test_clones_do_not_bury_the_rest(limited, rng):
    """30 % of an answer may be one address's; `capped` says that some were left out."""
    daemon, address = limited("deposits_per_minute = 0\nsender_share = 30%\n")
    nearest = ["topic:limits", "topic:address", "topic:third"]
    others, clones, owners = {}, {}, {}
    for i in range(12):
        with wire.Client(address, source=f"127.0.1.{i + 1}") as client:
            made = wire.deposit_of(rng, nearest[:1])
            others[made.id] = (made, client.call(made))
    with wire.Client(address, source="127.0.2.1") as client:
        for _ in range(50):
            made = wire.deposit_of(rng, nearest)
            clones[made.id] = (made, client.call(made))
    with daemon.client() as exempt:
        for _ in range(4):
            made = wire.deposit_of(rng, [*nearest, "topic:fourth"])
            owners[made.id] = (made, exempt.call(made))

        def ask(k):
            found = exempt.call(wire.query_of(nearest, k=k))
            assert found.exact
            return found, [sum(r.id in kind for r in found.results) for kind in (clones, owners, others)]

        found, counts = ask(10)
        assert counts == [3, 4, 3] and found.capped
        # The sender's own best: the newest, then the smallest id, of equally near ones.
        best = sorted(clones, key=lambda i: (-clones[i][1].deposited_ms, i))[:3]
        assert [r.id for r in found.results[:3]] == best
        found, counts = ask(1)
        assert counts == [1, 0, 0] and not found.capped
        found, counts = ask(100)
        assert counts == [30, 4, 12] and found.capped
        found, counts = ask(20)
        assert counts == [6, 4, 10] and found.capped

        # What was stored before the start belongs to nobody.
        daemon.restart()
    with daemon.client() as client:
        found = client.call(wire.query_of(nearest, k=10))
        assert len(found.results) == 10 and not found.capped
        assert all(r.id in clones for r in found.results)


def test_a_withdrawn_message_gives_its_place_back(limited, rng):
    """What was left out for the cap is there when a better one of the same sender has gone."""
    daemon, address = limited("sender_share = 50%\n")
    token = rng.randbytes(32)
    with wire.Client(address, source="127.0.3.1") as client:
        near = wire.deposit_of(rng, HERE, withdraw_hash=wire.withdraw_hash(token))
        far = wire.deposit_of(rng, HERE[:1])
        client.call(near)
        client.call(far)
        found = client.call(wire.query_of(HERE, k=2))
        assert [r.id for r in found.results] == [near.id] and found.capped
        client.call(pb.Withdraw(id=near.id, token=token))
        found = client.call(wire.query_of(HERE, k=2))
        assert [r.id for r in found.results] == [far.id] and not found.capped


def test_a_share_of_all_is_no_cap(limited, rng):
    """100 % turns it off."""
    _, address = limited("sender_share = 100%\n")
    with wire.Client(address) as client:
        assert not client.welcome.limits.HasField("sender_share_ppm")
        for _ in range(10):
            client.call(deposit(rng))
        found = client.call(wire.query_of(HERE, k=10))
        assert len(found.results) == 10 and not found.capped


# --- the command ----------------------------------------------------------------------------------


def command(address, *words, stdin=""):
    """(exit code, stdout, stderr)"""
    done = subprocess.run(
        [conftest.program(conftest.HEARSAY), "-s", f"{address[0]}:{address[1]}", *words],
        input=stdin, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "XDG_STATE_HOME": os.environ["HEARSAY_TEST_STATE"]},
    )
    return done.returncode, done.stdout, done.stderr


def test_import_goes_as_fast_as_it_may(limited, tmp_path, monkeypatch):
    """A long import waits as it is told, says so once, and loses nothing."""
    monkeypatch.setenv("HEARSAY_TEST_STATE", str(tmp_path))
    daemon, address = limited("deposits_per_minute = 6000\ndeposit_burst = 20\n")
    lines = "".join(json.dumps({"labels": HERE, "text": f"number {i}"}) + "\n" for i in range(150))
    began = time.monotonic()
    code, out, err = command(address, "import", "-", stdin=lines)
    assert code == 0 and out.startswith("150 deposited, 0 already there, 0 skipped")
    assert time.monotonic() - began > 1.0  # 130 of them at 100 a second
    assert err.count("more deposits than are taken here; going on as fast as it allows") == 1
    with daemon.client() as client:
        assert client.call(pb.Summary()).count == 150


def test_batch_goes_as_fast_as_it_may(limited, tmp_path, monkeypatch):
    """The same for questions."""
    monkeypatch.setenv("HEARSAY_TEST_STATE", str(tmp_path))
    _, address = limited("queries_per_minute = 6000\nquery_burst = 20\n")
    lines = (json.dumps({"labels": HERE}) + "\n") * 100
    code, out, err = command(address, "query", "--batch", "-", stdin=lines)
    assert code == 0 and len(out.splitlines()) == 100
    assert err.count("more queries than are taken here; going on as fast as it allows") == 1


def test_a_command_says_when_to_come_back(limited, tmp_path, monkeypatch):
    """One deposit too many, or one connection, is refused with the time to wait."""
    monkeypatch.setenv("HEARSAY_TEST_STATE", str(tmp_path))
    _, address = limited(
        "deposits_per_minute = 1\ndeposit_burst = 1\nqueries_per_minute = 1\nquery_burst = 3\n"
    )
    assert command(address, "deposit", "-l", HERE[0], "text")[0] == 0
    code, _, err = command(address, "deposit", "-l", HERE[0], "text")
    assert code == 4 and "RATE_LIMITED" in err and "worth trying again in" in err
    assert command(address, "ping")[0] == 0
    code, _, err = command(address, "ping")  # the fourth connection
    assert code == 4 and "RATE_LIMITED" in err and "worth trying again in" in err


# --- what is said ---------------------------------------------------------------------------------


def test_welcome_says_all_limits(limited):
    """Whoever is limited is told by how much; who is not, is told of no rates."""
    daemon, address = limited("messages = 500\nbytes = 1M\n[host small]\nmessages = 7\n")
    with wire.Client(address) as client, daemon.client() as exempt:
        limits = client.welcome.limits
        assert (limits.deposits_per_minute, limits.deposit_burst) == (60, 60)
        assert (limits.queries_per_minute, limits.query_burst) == (1200, 300)
        assert (limits.sessions, limits.sessions_per_address) == (256, 16)
        assert limits.session_output_bytes == 1 << 20
        assert (limits.messages, limits.bytes) == (500, 1 << 20)
        (host,) = client.welcome.hosts
        assert (host.messages, host.bytes) == (7, 1 << 20)
        limits = exempt.welcome.limits
        for field in ("deposits_per_minute", "queries_per_minute", "sessions_per_address"):
            assert not limits.HasField(field)
        assert limits.sessions == 256


def test_a_limited_unix_socket(make_daemon, rng, tmp_path):
    """All clients of a Unix socket that is limited are one."""
    daemon = make_daemon("[limits]\ndeposits_per_minute = 1\ndeposit_burst = 2\n", start=False)
    with open(daemon.config_file, encoding="utf-8") as file:
        text = file.read().replace(daemon.socket_path, f"{daemon.socket_path} limited")
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(text)
    daemon.start()
    with daemon.administrator() as one, daemon.administrator() as other:
        assert refusals(one, [deposit(rng), deposit(rng)]) == [None, None]
        assert other.refused(deposit(rng)).code == "RATE_LIMITED"
