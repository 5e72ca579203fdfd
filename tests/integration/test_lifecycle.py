# SPDX-License-Identifier: Apache-2.0
"""Start, stop, restart and reload, as clients see them."""

import os
import signal
import threading

import pytest

import hearsay_wire as wire
from hearsay_wire import pb

HERE = ["topic:life", "wifi:cycle"]


def deposit(rng, **fields):
    return wire.deposit_of(rng, HERE, **fields)


# --- restart --------------------------------------------------------------------------------------


@pytest.mark.parametrize("durability", ["storage", "relaxed"])
def test_restart_keeps_everything(make_daemon, rng, durability):
    """The same answers, ids, times and store id after a restart."""
    daemon = make_daemon(f"durability = {durability}\n[host a]\n[host b]\nprofile = v2:256/3\n")
    labels = [f"wifi:{n}" for n in range(40)]
    expected = pb.ON_STORAGE if durability == "storage" else pb.RELAXED
    queries = [
        wire.query_of(rng.sample(labels, 6), k=50, with_payload=True, metric=rng.choice([pb.BITS, pb.PHI]))
        for _ in range(20)
    ]
    queries += [wire.query_of(rng.sample(labels, 6), k=50, profile="v2:256/3", host="b")]
    with daemon.client() as client:
        bodies = [
            wire.deposit_of(rng, rng.sample(labels, 5), reach=rng.choice([600_000, wire.WHOLE]))
            for _ in range(200)
        ]
        bodies += [
            wire.deposit_of(rng, rng.sample(labels, 5), "v2:256/3", host="b") for _ in range(50)
        ]
        answers = client.pipeline(bodies)
        assert {a.deposited.durability for a in answers} == {expected}
        store_id = client.welcome.store_id
        before = [list(a.results.results) for a in client.pipeline(queries)]
    for _ in range(2):
        daemon.restart()
        with daemon.client() as client:
            assert client.welcome.store_id == store_id
            after = [list(a.results.results) for a in client.pipeline(queries)]
            assert after == before
            again = client.pipeline(bodies)
            for first, second in zip(answers, again):
                assert second.deposited.duplicate
                assert second.deposited.expires_ms == first.deposited.expires_ms


def test_clock_does_not_run_backwards_over_a_restart(make_daemon, rng):
    """Times after a restart are not before those that were told before."""
    daemon = make_daemon()
    last = 0
    for _ in range(3):
        with daemon.client() as client:
            assert client.welcome.now_ms >= last
            last = client.call(deposit(rng)).deposited_ms
        daemon.restart()
    with daemon.client() as client:
        assert client.call(pb.Ping()).now_ms >= last


def test_a_clock_that_is_behind_is_told(make_daemon, clock, rng):
    """Once, by a start and where it is found: messages live on by the store's clock."""
    if clock.is_fixed:
        pytest.skip("nothing is preloaded under sanitizers")
    daemon = make_daemon(env=clock.environment())
    with daemon.client() as client:
        stored = client.call(deposit(rng))
        assert "behind the store's" not in daemon.log_text()
        clock.move(-7200, only_wall=True)  # somebody sets it wrong
        client.call(deposit(rng))
        daemon.wait_log(r"warning: the system's clock is 7\d\d\d s behind the store's")
        clock.move(30)
        client.call(deposit(rng))
    assert daemon.log_text().count("behind the store's") == 1
    daemon.restart()
    with daemon.client() as client:
        assert client.call(pb.Ping()).now_ms >= stored.deposited_ms
        clock.move(30)
        client.call(pb.Ping())
    assert daemon.log_text().count("behind the store's") == 1, daemon.log_text()  # of the new start


# --- rest -----------------------------------------------------------------------------------------


def wakes_of(process):
    """How often the thread of the loop has waited for something."""
    with open(f"/proc/{process.pid}/task/{process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary_"))


def test_an_idle_daemon_sleeps(make_daemon, rng):
    """With nothing due, a daemon with messages and a watching client wakes at most once in 5 s."""
    daemon = make_daemon("log_level = debug\n[limits]\nidle_timeout = 0\n")
    with daemon.client() as client:
        client.pipeline([deposit(rng) for _ in range(50)])
        rests = int(daemon.wait_log(r"nothing is due for (\d+) s").group(1))
        assert rests >= 29
        asleep = len(daemon.log)
        before = wakes_of(daemon.process)
        daemon.wait_log(r"nothing is due for", start=asleep, patience=2 * rests * wire.SLOWNESS)
        assert wakes_of(daemon.process) - before <= rests // 5
        assert client.call(pb.Ping()).now_ms > 0


def test_what_is_due_ends_the_rest(make_daemon, rng):
    """A message that expires while the daemon sleeps is deleted in time, and an idle client ends."""
    daemon = make_daemon("log_level = debug\n[limits]\nidle_timeout = 14s\n")
    with daemon.client() as client:
        expiry_ms = client.call(deposit(rng, ttl_s=12)).expires_ms
        daemon.wait_log(r"nothing is due for \d s")  # less than 10
        daemon.wait_log("1 message expired")
        daemon.wait_log("session 1 is gone")
    assert expiry_ms > 0


# --- stop -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_stop_before_it_is_ready(make_daemon, tmp_path, sig):
    """A signal after the first line and before the last one of the start ends it in order."""
    certificate = tmp_path / "certificate"
    os.mkfifo(certificate)  # the daemon waits in reading it, behind the line "listening on"
    daemon = make_daemon(f"listen = 127.0.0.1:0 tls\ntls_certificate = {certificate}\n"
                         f"tls_key = {certificate}\n", start=False)
    daemon.launch()
    daemon.wait_log("listening on 127")
    end = os.open(certificate, os.O_WRONLY)  # once the daemon has opened it
    daemon.process.send_signal(sig)
    os.close(end)
    assert daemon.wait_exit() == 0
    assert not daemon.find_log("ready: ")
    assert [line.split("info: ")[1] for line in daemon.log[-3:-1]] == [
        f"stopping ({sig.name})", "stopped"]


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_stop_with_idle_clients(make_daemon, sig):
    """Clients that only sit there do not hold up the end; they see a clean one."""
    daemon = make_daemon()
    clients = [daemon.client() for _ in range(5)] + [daemon.client(hello=False)]
    daemon.stop(sig)
    for client in clients:
        assert client.receive_until_end() == []
        client.close()


def test_stop_removes_the_socket(make_daemon):
    """The Unix socket's file goes with the daemon."""
    daemon = make_daemon()
    assert os.path.exists(daemon.socket_path)
    assert os.stat(daemon.socket_path).st_mode & 0o077 == 0, "for its owner alone"
    daemon.stop()
    assert not os.path.exists(daemon.socket_path)


def test_stale_socket_is_replaced(make_daemon):
    """What a killed daemon left does not keep the next one from starting."""
    daemon = make_daemon()
    daemon.kill()
    assert os.path.exists(daemon.socket_path)
    daemon.start()
    with daemon.administrator() as client:
        client.call(pb.Ping())


def flight(client, bodies, done):
    """Deposits all, and notes which were acknowledged until the connection ended."""
    acknowledged, refused, problem = [], [], None
    try:
        made = [wire.request(body, n + 1000) for n, body in enumerate(bodies)]
        data = b"".join(map(wire.frame, made))

        def send():
            try:
                client.send_bytes(data)
            except OSError:
                pass  # the end came first

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        for answer in client.receive_until_end():
            body = bodies[answer.id - 1000]
            if answer.HasField("deposited"):
                acknowledged.append(body)
            else:
                refused.append(wire.ERROR_CODES[answer.error.code])
        sender.join()
        client.close()
    except ConnectionResetError as error:
        problem = error
    done.append((acknowledged, refused, problem))


def test_stop_with_deposits_in_flight(make_daemon, rng):
    """Every deposit that was acknowledged is there afterwards; the others end cleanly."""
    daemon = make_daemon()
    done = []
    threads = []
    clients = [daemon.client() for _ in range(4)]
    for client in clients:
        bodies = [deposit(rng, payload=rng.randbytes(100)) for _ in range(6000)]
        threads.append(threading.Thread(target=flight, args=(client, bodies, done), daemon=True))
    with daemon.client() as observer:
        for thread in threads:
            thread.start()
        wire.wait_until(
            lambda: len(observer.call(wire.query_of(HERE, k=100)).results) == 100, "some deposits"
        )
        daemon.stop()
    for thread in threads:
        thread.join()
    acknowledged = [body for one, _, _ in done for body in one]
    print(f"{len(acknowledged)} of 24000 acknowledged")
    assert len(acknowledged) >= 100
    assert {code for _, codes, _ in done for code in codes} <= {"SHUTTING_DOWN"}
    daemon.start()
    with daemon.client() as client:
        for answer, body in zip(client.pipeline([pb.Get(id=b.id) for b in acknowledged]),
                                acknowledged):
            assert answer.got.payload == body.payload
    problems = [problem for _, _, problem in done if problem is not None]
    assert not problems, "a reset may have destroyed answers on their way"


@pytest.mark.parametrize("closed", [(2,), (0, 1, 2)])
def test_closed_streams(make_daemon, closed):
    """Started without a standard error, the daemon logs to nowhere: to no file, socket or pipe."""
    def close():
        for fd in closed:
            os.close(fd)

    def listens():
        """Nothing is logged; and the socket has a name before somebody listens at it."""
        try:
            with daemon.administrator():
                return True
        except (FileNotFoundError, ConnectionRefusedError):
            return False
    daemon = make_daemon(start=False, preexec=close).launch()
    wire.wait_until(listens, "the socket")
    with daemon.administrator() as client:
        client.call(pb.Ping())
        for fd in closed:
            assert os.readlink(f"/proc/{daemon.process.pid}/fd/{fd}") == "/dev/null"
    daemon.stop()


def test_new_connections_while_stopping(make_daemon):
    """When it ends, its port is free again at once."""
    daemon = make_daemon()
    port = daemon.port
    with daemon.client() as client:
        client.call(pb.Ping())
        daemon.stop()
    with pytest.raises(ConnectionRefusedError):
        wire.Client(("127.0.0.1", port))


# --- reload ---------------------------------------------------------------------------------------


def reload(daemon, expected):
    start = len(daemon.log)
    daemon.process.send_signal(signal.SIGHUP)
    return daemon.wait_log(expected, start)


def test_reload_changes_limits(make_daemon, rng):
    """SIGHUP takes new limits without dropping sessions: the open ones live under them."""
    daemon = make_daemon("[limits]\nk = 10\nttl_max = 2d\n")
    with daemon.client() as client:
        client.call(deposit(rng, ttl_s=100_000))
        daemon.configure("[limits]\nk = 3\nttl_max = 1h\nttl_default = 30m\nmessages = 2\n")
        reload(daemon, "configuration reloaded")
        assert client.refused(wire.query_of(HERE, k=4)).code == "INVALID"
        assert len(client.call(wire.query_of(HERE, k=3)).results) == 1
        assert client.refused(deposit(rng, ttl_s=3601)).code == "INVALID"
        answer = client.call(deposit(rng))
        assert answer.expires_ms - answer.deposited_ms == 1_800_000
        assert client.refused(deposit(rng)).code == "QUOTA"
        with daemon.client() as other:
            assert other.welcome.limits.k_max == 3
            assert other.welcome.store_id == client.welcome.store_id


def test_reload_of_a_wrong_file(make_daemon):
    """All or nothing: the old configuration stays, the log names file and line."""
    daemon = make_daemon("[limits]\nk = 10\n")
    with daemon.client() as client:
        daemon.configure("[limits]\nk = 3\nparts = none\n")
        line = reload(daemon, r"error: .*not reloaded").string
        assert f"{daemon.config_file}:6: " in line and "parts" in line
        client.call(wire.query_of(HERE, k=10))
        os.unlink(daemon.config_file)
        assert daemon.config_file in reload(daemon, r"error: .*not reloaded").string
        client.call(wire.query_of(HERE, k=10))


@pytest.mark.parametrize(
    "config, key",
    [
        ("durability = relaxed\n", "durability"),
        ("[limits]\nframe = 128K\nk = 3\n", "frame"),
        ("[host default]\nprofile = v2:256/4\n", "profile"),
        ("[host other]\n", "host"),
    ],
)
def test_reload_of_what_needs_a_restart(make_daemon, config, key):
    """A key that cannot change while the daemon runs is named, and nothing else is taken."""
    daemon = make_daemon()
    with daemon.client() as client:
        daemon.configure(config)
        assert key in reload(daemon, r"error: .*not reloaded").string
        client.call(wire.query_of(HERE, k=100))
        with daemon.client() as other:
            assert other.welcome.limits == client.welcome.limits
            assert list(other.welcome.hosts) == list(client.welcome.hosts)


def test_reload_of_the_log_level(make_daemon):
    """The log level changes with a reload, both ways."""
    daemon = make_daemon()
    daemon.configure("log_level = debug\n")
    reload(daemon, "configuration reloaded")
    start = len(daemon.log)
    daemon.client().close()
    daemon.wait_log("debug: ", start)
    daemon.configure("log_level = info\n")
    reload(daemon, "configuration reloaded")


def test_reload_again_and_again_under_load(make_daemon, rng):
    """Reloads in the middle of a flight lose nothing."""
    daemon = make_daemon()
    with daemon.client() as client:
        done = []

        def fly():
            done.extend(client.pipeline([deposit(rng) for _ in range(2000)]))

        thread = threading.Thread(target=fly, daemon=True)
        thread.start()
        for _ in range(10):
            reload(daemon, "configuration reloaded")
        thread.join()
        assert len(done) == 2000 and all(a.HasField("deposited") for a in done)
