# SPDX-License-Identifier: Apache-2.0
"""The first exchange: versions, Welcome, and what it promises."""

import ctypes
import signal

import pytest

import hearsay_wire as wire
from hearsay_wire import pb

STA_UNSYNC = 64
MAXERROR_US = 16_000_000


def kernel_is_synchronised():
    """As docs/operations/clock.md says, of struct timex: modes, offset, freq, maxerror, esterror, status."""
    state = (ctypes.c_long * 40)()
    if ctypes.CDLL(None, use_errno=True).adjtimex(state) == -1:
        pytest.skip("the kernel may not be asked here")  # a container's filter of system calls
    status = ctypes.cast(state, ctypes.POINTER(ctypes.c_int))[5 * ctypes.sizeof(ctypes.c_long) // 4]
    return not status & STA_UNSYNC or state[3] < MAXERROR_US


SERVED = ["hello", "query", "get", "ping", "hood", "summary", "here", "watch", "unwatch",
          "deposit", "withdraw", "report"]
ADMINISTRATIVE = ["export", "stats", "reload", "log_level", "remove", "restore", "reported",
                  "ban", "unban", "bans", "accept", "backup", "compact", "check", "notice", "hide",
                  "decisions", "wait", "changes", "similar"]


def test_welcome_says_what_is_served(client):
    """Welcome carries version, store id, clock, limits, capabilities and hosts."""
    welcome = client.welcome
    assert welcome.version == 1
    assert len(welcome.store_id) == 16 and any(welcome.store_id)
    assert sorted(welcome.capabilities) == sorted(SERVED)
    assert welcome.agent.startswith("hearsayd/")
    assert [(h.name, h.profile) for h in welcome.hosts] == [("default", wire.PROFILE)]
    assert welcome.hosts[0].suggested_max_distance == 772_500
    assert not welcome.hosts[0].HasField("epoch"), "absent: epoch 0"


def test_default_limits(client):
    """The limits in force without configuration are those that are documented."""
    limits = client.welcome.limits
    assert limits.frame_bytes == 64 * 1024
    assert limits.media_type_bytes == 127
    assert limits.deposit_fill_min_ppm == 200
    assert limits.deposit_fill_max_ppm == 500_000
    assert limits.query_fill_max_ppm == 500_000
    assert 1 <= limits.ttl_default_s <= limits.ttl_max_s
    assert limits.k_max >= 10 and limits.parts_max >= 1 and limits.payload_bytes >= 200
    assert limits.requests_in_flight >= 64
    assert not limits.HasField("deposits_per_minute"), "absent: no such limit"


def test_configured_limits_and_hosts_are_announced(make_daemon):
    """What the operator sets is what Welcome says, hosts in the file's order."""
    daemon = make_daemon(
        "[limits]\nk = 7\npayload = 1K\nttl_default = 2h\nttl_max = 3d\nparts = 2\n"
        "[host market]\nprofile = v2:256/3\nsuggested_max_distance = 0.5\n"
        "[host cafe]\nprofile = v2:1024/4\n"
    )
    with daemon.client() as client:
        limits = client.welcome.limits
        assert (limits.k_max, limits.payload_bytes, limits.parts_max) == (7, 1024, 2)
        assert (limits.ttl_default_s, limits.ttl_max_s) == (7200, 3 * 86400)
        hosts = [(h.name, h.profile) for h in client.welcome.hosts]
        assert hosts == [("market", "v2:256/3"), ("cafe", "v2:1024/4")]
        assert client.welcome.hosts[0].suggested_max_distance == 500_000


def test_administrator_may_export(shared):
    """Administration is among the capabilities on the Unix socket, and only there."""
    with shared.administrator() as client:
        assert sorted(client.welcome.capabilities) == sorted(SERVED + ADMINISTRATIVE)


def test_the_highest_common_version(shared):
    """Among several versions offered the common one is chosen, in whatever order they come."""
    for versions in ([7, 1], [1, 7], [0, 1, 2, 3], list(range(1, 17))):
        with shared.client(hello=False) as client:
            assert client.call(pb.Hello(versions=versions)).version == 1


def test_no_common_version_is_told_and_ended(shared):
    """UNSUPPORTED_VERSION names the versions spoken, then the connection ends."""
    with shared.client(hello=False) as client:
        refusal = client.refused(pb.Hello(versions=[2, 9]))
        assert refusal.code == "UNSUPPORTED_VERSION"
        assert list(refusal.error.versions) == [1]
        assert refusal.error.message
        assert client.receive_until_end() == []


def test_hello_without_versions_is_refused(shared):
    """A Hello that speaks no version cannot be served: the error names the field."""
    with shared.client(hello=False) as client:
        refusal = client.refused(pb.Hello())
        assert refusal.code in ("INVALID", "UNSUPPORTED_VERSION")
        assert refusal.error.field == "versions"
        assert client.receive_until_end() == []


@pytest.mark.parametrize(
    "first",
    [
        pb.Ping(),
        pb.Get(id=bytes(16)),
        wire.query_of(["topic:x"]),
        pb.Deposit(id=bytes(16), filter=bytes(64)),
        pb.Stats(),
    ],
    ids=lambda body: type(body).__name__,
)
def test_nothing_is_served_before_hello(shared, first):
    """A first request that is not Hello is refused in words, and the connection ends."""
    with shared.client(hello=False) as client:
        refusal = client.refused(first)
        assert refusal.code == "INVALID" and refusal.error.field == "hello"
        assert "Hello" in refusal.error.message
        assert client.receive_until_end() == []


def test_nothing_behind_a_missing_hello_is_served(shared, rng):
    """Requests pipelined behind a wrong first one are not acted on."""
    deposit = wire.deposit_of(rng, ["topic:before-hello", "topic:never"])
    with shared.client(hello=False) as client:
        bodies = [pb.Ping(), pb.Hello(versions=[1]), deposit]
        client.send_bytes(
            b"".join(wire.frame(wire.request(b, i + 1)) for i, b in enumerate(bodies))
        )
        answers = client.receive_until_end()
        assert [a.WhichOneof("body") for a in answers] == ["error"]
    with shared.client() as client:
        assert client.refused(pb.Get(id=deposit.id)).code == "NOT_FOUND"


def test_second_hello_is_refused_and_nothing_else(client):
    """Hello is sent once; another is refused, and the session goes on."""
    refusal = client.refused(pb.Hello(versions=[1]))
    assert refusal.code == "INVALID" and refusal.error.field == "hello"
    assert client.call(pb.Ping()).now_ms > 0


def test_hello_and_requests_in_one_write(shared):
    """Requests may follow Hello without waiting for Welcome."""
    with shared.client(hello=False) as client:
        answers = client.pipeline([pb.Hello(versions=[1]), pb.Ping(), pb.Ping()])
        kinds = [a.WhichOneof("body") for a in answers]
        assert kinds == ["welcome", "pong", "pong"]


def test_ping_tells_the_host_clock(client):
    """Pong carries the host's clock, which does not run backwards."""
    before = client.welcome.now_ms
    times = [client.call(pb.Ping()).now_ms for _ in range(50)]
    assert times == sorted(times) and times[0] >= before


def test_clock_is_trusted_when_that_is_known(make_daemon):
    """A clock that has just started is trusted if the kernel says that it is synchronised, or the
    operator has no doubts; both change with a reload."""
    daemon = make_daemon(config="clock_patience = 1h\n")
    with daemon.client() as client:
        assert client.welcome.clock_trusted == kernel_is_synchronised()
        assert client.call(pb.Ping()).clock_trusted == kernel_is_synchronised()
        daemon.configure("clock_patience = 0\n")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_log("configuration reloaded")
        assert client.call(pb.Ping()).clock_trusted


def test_new_data_directory_has_new_store_id(make_daemon):
    """Cursors of another store are void: two databases never share an id."""
    ids = set()
    for _ in range(2):
        with make_daemon().client() as client:
            ids.add(client.welcome.store_id)
    assert len(ids) == 2


@pytest.mark.parametrize("is_used", [False, True])
def test_after_half_an_hour_without_power(make_daemon, clock, rng, is_used):
    """Whoever comes first after a boot is greeted by the clock that is right, and stays: also where messages of before
    move with the clock, because no time synchronisation has confirmed it."""
    if clock.is_fixed:
        pytest.skip("nothing is preloaded under sanitizers")
    daemon = make_daemon(env=clock.environment())
    with daemon.client() as client:
        before_ms = client.call(pb.Ping()).now_ms
        if is_used:
            client.call(wire.deposit_of(rng, ["a:b"]))
    daemon.stop()
    clock.move(1800, only_wall=True)
    daemon.start()
    clients = [daemon.client() for _ in range(20)]
    daemon.wait_log("the store's clock was set forward by 1[78]")
    for client in clients:
        assert client.call(pb.Ping()).now_ms >= before_ms + 1_790_000
        client.close()
