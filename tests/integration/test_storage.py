# SPDX-License-Identifier: Apache-2.0
"""The data directory: who may use it, what is refused, and what happens when the disk is full."""

import contextlib
import errno
import hashlib
import os
import pathlib
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import tempfile
import time

import pytest

import conftest
import hearsay_wire as wire
from hearsay_wire import pb

HERE = ["topic:storage", "topic:disk"]
SOURCE = pathlib.Path(__file__).parents[2]


def deposit(rng, **fields):
    return wire.deposit_of(rng, HERE, **fields)


def database(daemon):
    return os.path.join(daemon.data, "messages.db")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def stocked(make_daemon, rng, count=50):
    """A stopped daemon with messages, and those messages."""
    daemon = make_daemon()
    sent = [deposit(rng, payload=rng.randbytes(400)) for _ in range(count)]
    with daemon.client() as client:
        client.pipeline(sent)
    daemon.stop()
    return daemon, sent


def refuses_to_start(daemon):
    """Launches it and expects an orderly refusal; returns what it said."""
    daemon.launch()
    code = daemon.wait_exit()
    daemon.check_log()
    assert code in (1, 2), f"exit {code}:\n{daemon.log_text()}"
    assert "error: " in daemon.log_text() and "ready:" not in daemon.log_text()
    return daemon.log_text()


# --- whose it is ----------------------------------------------------------------------------------


def test_the_directory_is_private(daemon, rng):
    """The data directory and what is in it are for the daemon's user alone."""
    with daemon.client() as client:
        client.call(deposit(rng))
    assert stat.S_IMODE(os.stat(daemon.data).st_mode) == 0o700
    for name in os.listdir(daemon.data):
        assert os.stat(os.path.join(daemon.data, name)).st_mode & 0o077 == 0, name


def test_missing_parents_are_made(make_daemon):
    """--data may name a directory several levels deep that is not there yet."""
    daemon = make_daemon(start=False)
    daemon.data = os.path.join(daemon.data, "a", "b", "c")
    daemon.start()
    assert os.path.exists(database(daemon))


def test_one_daemon_to_a_directory(make_daemon, rng):
    """A second daemon on the same data is refused with a sentence; the first serves on."""
    first = make_daemon()
    second = make_daemon(start=False, data=first.data)
    assert first.data in refuses_to_start(second)
    with first.client() as client:
        client.call(deposit(rng))
    first.stop()
    second.start()


def test_a_file_in_place_of_the_directory(make_daemon):
    """A path that is no directory is refused by name."""
    daemon = make_daemon(start=False)
    with open(daemon.data, "w", encoding="utf-8") as file:
        file.write("not a directory")
    assert daemon.data in refuses_to_start(daemon)


def test_a_directory_that_others_may_write_to(make_daemon):
    """Where others may write, others may replace the store: refused, with what to do."""
    daemon = make_daemon(start=False)
    os.mkdir(daemon.data)
    os.chmod(daemon.data, 0o777)
    assert daemon.data in refuses_to_start(daemon)
    os.chmod(daemon.data, 0o700)
    daemon.start()


# --- durability -----------------------------------------------------------------------------------


def test_memory_is_no_storage(make_daemon, rng):
    """On tmpfs durability = storage is refused with the setting to change; relaxed is taken."""
    if not os.path.isdir("/dev/shm") or conftest.file_system_of("/dev/shm") != "tmpfs":
        pytest.skip("/dev/shm is no tmpfs here")
    memory = tempfile.mkdtemp(prefix="hearsay-", dir="/dev/shm")
    try:
        daemon = make_daemon(start=False, data=os.path.join(memory, "data"))
        said = refuses_to_start(daemon)
        assert "durability" in said and "relaxed" in said and memory in said
        daemon.configure("durability = relaxed\n")
        daemon.start()
        with daemon.client() as client:
            sent = deposit(rng)
            assert client.call(sent).durability == pb.RELAXED
            assert client.call(sent).durability == pb.RELAXED, "duplicates say so too"
        daemon.restart()
        with daemon.client() as client:
            assert client.call(pb.Get(id=sent.id)).payload == sent.payload
        daemon.stop()
    finally:
        shutil.rmtree(memory, ignore_errors=True)


# --- a file system without shared memory ----------------------------------------------------------


def without_shared_maps(sanitized, number):
    """The environment of a daemon for which the file system refuses shared memory with this errno."""
    if sanitized:
        pytest.skip(f"nothing is preloaded under {sanitized}")
    preload = os.environ.get("HEARSAY_NO_SHARED_MAPS",
                             "build/tests/integration/libno_shared_maps.so")
    return {"LD_PRELOAD": os.path.abspath(preload), "HEARSAY_NO_SHARED_MAPS_ERRNO": str(number)}


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENODEV], ids=["EINVAL", "ENODEV"])
def test_a_file_system_without_shared_memory(make_daemon, rng, sanitized, number):
    """JFFS2 maps no shared memory: all works, and other programs wait until the daemon stops."""
    daemon = make_daemon(env=without_shared_maps(sanitized, number))
    daemon.wait_log("refuses shared memory: the index of the log is on the heap")
    token = rng.randbytes(32)
    sent = [deposit(rng, withdraw_hash=wire.withdraw_hash(token)) for _ in range(50)]
    copy = os.path.join(daemon.directory, "copy.db")
    with daemon.administrator() as client:
        client.pipeline(sent)
        client.call(pb.Withdraw(id=sent[0].id, token=token))
        client.call(pb.Backup(path=copy))
        assert client.call(pb.Check()).messages == 49
        with sqlite3.connect(database(daemon), timeout=0) as other:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("SELECT count(*) FROM message")
        other.close()
    daemon.kill()
    with daemon.start().client() as client:
        answers = client.pipeline([pb.Get(id=one.id) for one in sent])
        assert [answer.HasField("got") for answer in answers] == [False] + [True] * 49
    daemon.stop()
    for path in (database(daemon), copy):
        with sqlite3.connect(path) as other:
            assert other.execute("SELECT count(*) FROM message").fetchone() == (49,)
        other.close()


ROUTER = "durability = relaxed\n[limits]\nbytes = 4M\nmessages = 10000\n"


@pytest.mark.parametrize("config, has_maps", [("", True), (ROUTER, True), (ROUTER, False)],
                         ids=["default", "router", "router-no-maps"])
def test_a_small_store_is_small(make_daemon, rng, sanitized, config, has_maps):
    """400 messages, each with a commit of its own, take less than 2.5 MB, also while the daemon runs."""
    env = {} if has_maps else without_shared_maps(sanitized, errno.EINVAL)
    daemon = make_daemon(config, env=env)

    def taken():
        return sum(os.stat(os.path.join(daemon.data, name)).st_blocks * 512
                   for name in os.listdir(daemon.data))

    with daemon.client() as client:
        for _ in range(400):
            client.call(deposit(rng, payload=rng.randbytes(200),
                                withdraw_hash=wire.withdraw_hash(rng.randbytes(32))))
    running = taken()
    daemon.stop()
    print(f"{running} bytes while it runs, {taken()} after it")
    assert max(running, taken()) < 2_500_000


# --- damage ---------------------------------------------------------------------------------------


def test_garbage_in_place_of_the_database(make_daemon):
    """A file that is no database is refused with what to do, and left as it is."""
    daemon = make_daemon(start=False)
    os.mkdir(daemon.data, 0o700)
    with open(database(daemon), "wb") as file:
        file.write(b"This was never a database.\n" * 1000)
    before = digest(database(daemon))
    said = refuses_to_start(daemon)
    assert "messages.db" in said
    assert digest(database(daemon)) == before


@pytest.mark.parametrize("where", ["header", "schema", "middle"])
def test_damaged_database(make_daemon, rng, where):
    """Damage is found at the start, said with what to do, and nothing is overwritten."""
    daemon, _ = stocked(make_daemon, rng, 400)
    size = os.path.getsize(database(daemon))
    page = 4096
    at = {"header": 0, "schema": 100, "middle": size // 2 // page * page}[where]
    with open(database(daemon), "r+b") as file:
        file.seek(at)
        file.write(bytes(rng.randrange(1, 256) for _ in range(page)))
    before = digest(database(daemon))
    said = refuses_to_start(daemon)
    assert "messages.db" in said
    assert any(word in said for word in ("restore", "backup", "move", "rename", "aside")), said
    assert digest(database(daemon)) == before


def test_empty_database(make_daemon):
    """Who has lost all messages is told; on a new directory there is nothing to tell."""
    daemon = make_daemon()
    assert not daemon.find_log("is empty, and begins anew")
    daemon.stop()
    os.truncate(database(daemon), 0)
    daemon.start()
    assert daemon.find_log("warning: .*/messages.db is empty, and begins anew")


def test_truncated_database(make_daemon, rng):
    """A database that lost its end is refused too."""
    daemon, _ = stocked(make_daemon, rng, 400)
    size = os.path.getsize(database(daemon))
    os.truncate(database(daemon), size // 2 // 4096 * 4096)
    before = digest(database(daemon))
    refuses_to_start(daemon)
    assert digest(database(daemon)) == before


@pytest.mark.parametrize("by, says", [(1, "newer"), (-1, "after 0.2.0"), (-5, "hearsayd 0.2.0")])
def test_database_of_another_version(make_daemon, rng, by, says):
    """A newer or an older schema is refused, not written to, with advice."""
    daemon, _ = stocked(make_daemon, rng)
    with sqlite3.connect(database(daemon)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        assert version >= 3
        connection.execute(f"PRAGMA user_version = {version + by}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    before = digest(database(daemon))
    said = refuses_to_start(daemon)
    assert says in said and "nstall that version again" in said
    assert digest(database(daemon)) == before


@pytest.mark.parametrize("package", ["hearsayd", "hearsay-bridge"])
def test_a_purge_removes_the_state_of_its_program(tmp_path, package):
    """And nothing else: not what the operator has put into /etc/hearsay, and not the state of the other program."""
    folders = {"hearsayd": "var/lib/hearsay", "hearsay-bridge": "var/lib/hearsay-bridge"}
    for name in (*folders.values(), "etc/hearsay"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").touch()
    text = (SOURCE / f"packaging/debian/{package}.postrm").read_text(encoding="utf-8")
    for action in ("remove", "purge"):
        subprocess.run(["sh", "-c", text.replace(" /", f" {tmp_path}/"), "postrm", action], check=True)
        assert {other for other, folder in folders.items() if not (tmp_path / folder).exists()} == \
            ({package} if action == "purge" else set())
    assert (tmp_path / "etc/hearsay/file").exists()


def run_preinst(daemon, schema, action="upgrade", package="hearsayd"):
    """Debian's package of a hearsayd that reads `schema`: what it says, or nothing if it goes on."""
    with open(SOURCE / f"packaging/debian/{package}.preinst", encoding="utf-8") as script:
        text = script.read().replace("#SCHEMA#", str(schema))
    root = os.path.join(daemon.directory, "root")
    os.makedirs(os.path.join(root, "etc/hearsay"), exist_ok=True)
    with open(os.path.join(root, "etc/hearsay/hearsayd.conf"), "w", encoding="utf-8") as config:
        config.write("[daemon]\n\tdata : /data \n")
    if not os.path.lexists(os.path.join(root, "data")):
        os.symlink(daemon.data, os.path.join(root, "data"))
    done = subprocess.run(["sh", "-c", text, "preinst", action, "0.2.0"], text=True, check=False,
                          capture_output=True, env={**os.environ, "DPKG_ROOT": root,
                                                    "DPKG_MAINTSCRIPT_PACKAGE": package})
    assert (done.returncode != 0) == (done.stderr != "")
    return done.stderr


def test_a_package_that_cannot_read_the_store_is_not_installed(make_daemon, rng):
    """Whether the schema is in the log alone, or in the database."""
    header = (SOURCE / "daemon/store/schema.h").read_text(encoding="utf-8")
    schema = int(re.search(r"STORE_VERSION = (\d+)", header).group(1))
    daemon = make_daemon()
    with daemon.client() as client:
        stock = [deposit(rng) for _ in range(3)]
        client.pipeline(stock)
    for stop in (lambda: None, daemon.stop):
        stop()
        assert run_preinst(daemon, schema) == ""
        assert run_preinst(daemon, schema + 1, "install") == ""
        said = run_preinst(daemon, schema + 1)
        assert f"/data/messages.db has schema {schema}" in said and "To take them along: `hearsay export`" in said
    assert not os.path.exists(database(daemon) + "-wal")
    with contextlib.closing(sqlite3.connect(database(daemon))) as db:
        db.execute("PRAGMA user_version = 8")  # of hearsay 0.2.0, whose labels set other bits
    assert "They cannot be taken along" in run_preinst(daemon, schema)


@pytest.mark.parametrize("package", ["hearsay", "hearsay-bridge", "hearsay-web"])
def test_what_belongs_to_a_hearsayd_that_stays_stays_too(make_daemon, rng, package):
    """Else the page for phones is a new one, which the old hearsayd does not serve."""
    daemon, _ = stocked(make_daemon, rng)
    assert run_preinst(daemon, 10**6, package=package) == ""  # hearsayd is not on this machine
    program = os.path.join(daemon.directory, "root/usr/sbin/hearsayd")
    os.makedirs(os.path.dirname(program))
    with open(program, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o755)
    assert run_preinst(daemon, 10**6, "install", package) == ""
    assert f"{package}: hearsayd stays as it is" in run_preinst(daemon, 10**6, package=package)


def test_another_programs_database(make_daemon):
    """An SQLite database of somebody else is not taken over."""
    daemon = make_daemon(start=False)
    os.mkdir(daemon.data, 0o700)
    with sqlite3.connect(database(daemon)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
        connection.execute("INSERT INTO bookmarks VALUES ('https://example.org')")
    connection.close()
    before = digest(database(daemon))
    refuses_to_start(daemon)
    assert digest(database(daemon)) == before


def test_the_database_opens_elsewhere(make_daemon, rng):
    """One sound file that sqlite3 opens: every message is a row, and integrity_check agrees."""
    daemon, sent = stocked(make_daemon, rng)
    with sqlite3.connect(f"file:{database(daemon)}?mode=ro", uri=True) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tables = [
            name for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        ]
        rows = {t: connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables}
    connection.close()
    assert len(sent) in rows.values(), rows


# --- a full disk ----------------------------------------------------------------------------------


def limit_files(size):
    """For the child: a limit on file sizes, which makes writes fail instead of ending it."""
    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    return prepare


def test_full_disk(make_daemon, rng):
    """No room: STORAGE to the depositor, queries go on; with room again deposits work again."""
    daemon = make_daemon(preexec=limit_files(1 << 20))
    stored, codes = [], []
    with daemon.client() as client:
        for _ in range(100):
            bodies = [deposit(rng, payload=rng.randbytes(2000)) for _ in range(50)]
            for body, answer in zip(bodies, client.pipeline(bodies)):
                if answer.HasField("deposited"):
                    stored.append(body)
                else:
                    codes.append(wire.ERROR_CODES[answer.error.code])
                    assert answer.error.message and answer.error.retry_after_ms > 0
            if codes:
                break
        assert set(codes) == {"STORAGE"} and len(stored) > 20
        assert len(client.call(wire.query_of(HERE, k=10, with_payload=True)).results) == 10
        client.call(pb.Ping())
        resource.prlimit(
            daemon.process.pid, resource.RLIMIT_FSIZE,
            (resource.RLIM_INFINITY, resource.RLIM_INFINITY),
        )

        def works_again():
            one = deposit(rng)
            (answer,) = client.pipeline([one])
            if answer.HasField("deposited"):
                stored.append(one)
            return answer.HasField("deposited")

        wire.wait_until(works_again, "deposits after there is room again")
        for answer, body in zip(client.pipeline([pb.Get(id=b.id) for b in stored]), stored):
            assert answer.got.payload == body.payload
    daemon.restart()
    with daemon.client() as client:
        for answer, body in zip(client.pipeline([pb.Get(id=b.id) for b in stored]), stored):
            assert answer.got.payload == body.payload


def test_a_database_that_is_moved_away(daemon, rng):
    """What would be lost at the end is not acknowledged. It goes on when the files are back."""
    def move(begin, end):
        for suffix in ("", "-wal", "-shm"):
            os.rename(database(daemon) + begin + suffix, database(daemon) + end + suffix)

    with daemon.administrator() as client:
        removed = deposit(rng)
        client.call(removed)
        client.call(deposit(rng))
        move("", ".away")
        for request in (deposit(rng), pb.Remove(id=removed.id)):
            assert client.refused(request).code == "STORAGE"
        daemon.wait_log("warning: storage: the database was moved, removed or replaced while hearsayd runs")
        shutil.copyfile(database(daemon) + ".away", database(daemon))
        assert client.refused(deposit(rng)).code == "STORAGE", "another file with its name is not it"
        move(".away", "")
        client.call(deposit(rng))
        client.call(pb.Remove(id=removed.id))
    daemon.restart()
    with daemon.client() as client:
        assert len(client.call(wire.query_of(HERE)).results) == 2


def test_another_programs_lock(make_daemon, rng):
    """Deposits fail after a moment, once for all that wait; queries go on, and so does the end."""
    daemon = make_daemon("durability = relaxed\n")
    with daemon.client() as client, daemon.client() as other:
        client.call(deposit(rng))
        locker = sqlite3.connect(database(daemon), isolation_level=None)
        locker.execute("BEGIN IMMEDIATE")
        assert client.refused(deposit(rng)).code == "STORAGE"
        count = int(20000 / wire.SLOWNESS)  # all of them are answered before the end
        many = [pb.Withdraw(id=rng.randbytes(16), token=bytes(32)) for _ in range(count)]
        began = time.monotonic()
        answers = client.pipeline(many)
        assert {wire.ERROR_CODES[a.error.code] for a in answers} == {"STORAGE"}
        assert time.monotonic() - began < 20 * wire.SLOWNESS
        assert len(other.call(wire.query_of(HERE, with_payload=True)).results) == 1
        assert len(daemon.log) < 50, "not a line for each"
        locker.execute("ROLLBACK")
        client.call(deposit(rng))
        locker.execute("BEGIN IMMEDIATE")
        many = [wire.request(body, number) for number, body in enumerate(many, 100)]
        full = [daemon.client() for _ in range(max(2, int(8 / wire.SLOWNESS)))]
        for one in full:
            one.socket.setblocking(False)
            one.socket.send(b"".join(map(wire.frame, many)))
        daemon.stop()
        locker.close()


def test_read_errors(make_daemon, rng):
    """A payload that cannot be read is STORAGE to who asks; the rest goes on."""
    daemon = make_daemon("[limits]\ncache = 0\n")
    sent = [deposit(rng, payload=rng.randbytes(3000)) for _ in range(300)]
    with daemon.client() as client:
        client.pipeline(sent)
    daemon.restart()
    with daemon.client() as client:
        with open(database(daemon), "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(8192)
            file.write(b"\xa5" * (size - 8192))
        answers = client.pipeline([pb.Get(id=s.id) for s in sent])
        kinds = {
            wire.ERROR_CODES[a.error.code] if a.HasField("error") else "got" for a in answers
        }
        print(kinds)
        assert kinds <= {"STORAGE", "got", "NOT_FOUND", "INTERNAL"}
        client.call(pb.Ping())
        assert len(client.call(wire.query_of(HERE, k=20)).results) == 20


def test_small_stores_take_little_storage(make_daemon, rng):
    """With limits for a router, 400 messages of 200 bytes take less than 2 MB, the log included."""
    daemon = make_daemon("[limits]\nbytes = 16M\n")
    with daemon.administrator() as client:
        for _ in range(400):
            client.call(deposit(rng, payload=rng.randbytes(200)))
        used = sum(os.stat(os.path.join(daemon.data, name)).st_blocks * 512
                   for name in os.listdir(daemon.data))
    assert used < 2_000_000


# --- what is gone is gone -------------------------------------------------------------------------


def on_disk(daemon, secret):
    """The files of the data directory that hold these bytes."""
    found = []
    for name in os.listdir(daemon.data):
        path = os.path.join(daemon.data, name)
        if stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb") as file:
                if secret in file.read():
                    found.append(name)
    return found


def test_withdrawn_payloads_leave_the_disk(make_daemon, clock, rng):
    """A withdrawn payload is on no file any more: within a minute, and at the latest at the end."""
    daemon = make_daemon(env=clock.environment())
    token, secrets = rng.randbytes(32), [rng.randbytes(64) for _ in range(2)]
    with daemon.client() as client:
        client.pipeline([deposit(rng, payload=rng.randbytes(300)) for _ in range(100)])
        for secret in secrets:
            sent = deposit(rng, payload=secret, withdraw_hash=wire.withdraw_hash(token))
            client.call(sent)
            assert on_disk(daemon, secret)
            client.call(pb.Withdraw(id=sent.id, token=token))
            if secret is secrets[0]:  # the second one's turn may be as late as a minute
                clock.wait_scrubbed(lambda: client.call(deposit(rng)), lambda: not on_disk(daemon, secrets[0]),
                                    "the payload is gone from the disk")
    daemon.stop()
    assert not on_disk(daemon, secrets[1])


def test_withdrawn_payloads_leave_the_disk_after_a_crash(make_daemon, rng):
    """What was withdrawn just before a crash is gone after the next start and end."""
    daemon = make_daemon()
    token, secret = rng.randbytes(32), rng.randbytes(64)
    sent = deposit(rng, payload=secret, withdraw_hash=wire.withdraw_hash(token))
    with daemon.client() as client:
        client.call(sent)
        client.call(pb.Withdraw(id=sent.id, token=token))
        daemon.kill()
    daemon.start()
    daemon.stop()
    assert not on_disk(daemon, secret)
