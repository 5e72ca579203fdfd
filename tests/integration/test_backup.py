# SPDX-License-Identifier: Apache-2.0
"""Copies of a store in use, their way back, and storage given back."""

import os
import pwd
import shutil
import sqlite3
import stat
import subprocess
import tempfile
import threading

import pytest

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb

LABELS = ["topic:backup", "wifi:x"]


def everything(client):
    """All that an export has, by id."""
    found, after = {}, None
    while True:
        page = client.call(pb.Export(after=after))
        found.update((m.id, m.SerializeToString()) for m in page.messages)
        if not page.HasField("next"):
            return found
        after = page.next


def stock(client, rng, count, size=200, **fields):
    sent = [wire.deposit_of(rng, [*LABELS, f"topic:{i}"], payload=rng.randbytes(size), **fields)
            for i in range(count)]
    for answer in client.pipeline(sent):
        assert answer.WhichOneof("body") == "deposited"
    return sent


def restored(make_daemon, file):
    """A daemon on a new directory that the backup was brought into."""
    daemon = make_daemon(start=False)
    code, out, err = daemon.run("--config", daemon.config_file, "--data", daemon.data,
                                "--restore", file)
    return daemon, code, out, err


def test_there_and_back(make_daemon, rng):
    """Messages, hidden ones, marks and bans come back; cursors of the old store are void."""
    daemon = make_daemon("[host default]\nhide_after = 1\n")
    file = os.path.join(daemon.directory, "copy.db")
    with daemon.administrator() as client:
        sent = stock(client, rng, 300)
        client.call(pb.Report(id=sent[0].id))
        client.call(pb.Remove(id=sent[1].id, ban=True))
        answer = client.call(pb.Backup(path=file))
        expected = everything(client)
        later = wire.deposit_of(rng, LABELS)
        client.call(later)
        store_id = client.welcome.store_id
        place = client.call(pb.Here()).labels
    status = os.stat(file)
    assert answer.bytes == status.st_size > 0
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert not os.path.exists(file + ".part")
    with open(file, "rb") as copy:
        before = copy.read()
    other, code, out, err = restored(make_daemon, file)
    assert (code, err) == (0, "")
    target, result = out.splitlines()
    assert target.startswith(f"restoring {file} into {other.data}")
    assert result == f"300 messages restored into {other.data}"
    with open(file, "rb") as copy:
        assert copy.read() == before, "the backup stays as it is"
    with other.start().administrator() as client:
        assert everything(client) == expected
        assert [d.act for d in client.call(pb.Decisions()).decisions] == ["remove", "ban"]
        assert client.welcome.store_id != store_id
        assert client.call(pb.Here()).labels == place == [f"place:{store_id.hex()[:16]}"]
        assert client.refused(pb.Get(id=sent[0].id)).code == "NOT_FOUND"
        assert [m.id for m in client.call(pb.Reported()).messages] == [sent[0].id]
        assert client.refused(sent[1]).code == "ALREADY_EXISTS"
        assert client.refused(wire.deposit_of(rng, LABELS, payload=sent[1].payload)).code == "FORBIDDEN"
        assert client.refused(pb.Get(id=later.id)).code == "NOT_FOUND"
        client.call(later)


def test_while_it_is_in_use(make_daemon, rng):
    """A backup under deposits and withdrawals is of one moment: whole, and right."""
    daemon = make_daemon("[limits]\nmessages = 50000\n")
    file = os.path.join(daemon.directory, "copy.db")
    token = rng.randbytes(32)
    with daemon.administrator() as client, daemon.administrator() as busy:
        first = stock(client, rng, 6000, 1500, withdraw_hash=wire.withdraw_hash(token))
        done = threading.Event()
        log = []  # what was acknowledged, in order

        def work():
            number = 0
            while not done.is_set():
                one = wire.deposit_of(rng, LABELS)
                busy.call(one)
                log.append(("in", one.id))
                busy.call(pb.Withdraw(id=first[number].id, token=token))
                log.append(("out", first[number].id))
                number += 1

        thread = threading.Thread(target=work)
        thread.start()
        try:
            wire.wait_until(lambda: len(log) > 4, "work is under way")
            began = len(log)
            client.call(pb.Backup(path=file))
            ended = len(log) + 1
        finally:
            done.set()
            thread.join(wire.PATIENCE)
    other, code, _, err = restored(make_daemon, file)
    assert code == 0, err
    with other.start().administrator() as client:
        found = set(everything(client))
    states, now = [], {one.id for one in first}
    for what, message_id in log[: ended + 2]:
        now = now | {message_id} if what == "in" else now - {message_id}
        states.append(now)
    assert found in states[began - 1 :], "the state after one of the operations meanwhile"


def test_never_overwrites(make_daemon, rng):
    """What is there stays, whatever it is; a path that cannot be is refused by name."""
    daemon = make_daemon()
    here = daemon.directory
    taken = os.path.join(here, "taken")
    with open(taken, "w", encoding="utf-8") as file:
        file.write("mine")
    os.symlink("nowhere", os.path.join(here, "link"))
    open(os.path.join(here, "half.part"), "w", encoding="utf-8").close()
    with daemon.administrator() as client:
        stock(client, rng, 3)
        for path, said in ((taken, "there already"), (here, "there already"),
                           (os.path.join(here, "link"), "there already"),
                           (os.path.join(here, "half"), "interrupted"),
                           (os.path.join(here, "no", "x"), "No such file"),
                           ("relative", "absolute")):
            refusal = client.refused(pb.Backup(path=path))
            assert (refusal.code, refusal.error.field) == ("INVALID", "path"), path
            assert said in refusal.error.message
        client.call(pb.Backup(path=os.path.join(here, "new")))
    with open(taken, encoding="utf-8") as file:
        assert file.read() == "mine"


def damage(path):
    """One bit of a payload: nothing but a checksum sees it."""
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE message SET payload = zeroblob(length(payload)) WHERE seq = 2")
    connection.close()


def test_restore_refuses(make_daemon, rng):
    """What is no whole backup is refused, and the directory stays empty of a store."""
    daemon = make_daemon()
    good = os.path.join(daemon.directory, "good.db")
    with daemon.administrator() as client:
        stock(client, rng, 5)
        client.call(pb.Backup(path=good))

    def variant(name, change):
        path = os.path.join(daemon.directory, name)
        shutil.copy(good, path)
        change(path)
        return path

    def version(path, number):
        with sqlite3.connect(path) as connection:
            connection.execute(f"PRAGMA user_version = {number}")
        connection.close()

    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    bad = {
        variant("cut.db", lambda path: os.truncate(path, 8192)): "damaged",
        variant("bit.db", damage): "damaged",
        variant("newer.db", lambda path: version(path, 999)): "Restore it with that version",
        variant("older.db", lambda path: version(path, 1)): "Restore it with that version",
        variant("text.db", lambda path: write(path, "x" * 4096)): "damaged",
        variant("tiny.db", lambda path: write(path, "x")): "no backup",
        variant("live.db", lambda path: write(path + "-wal", "log")): "not a backup",
        os.path.join(daemon.directory, "nowhere.db"): "No such file",
        daemon.directory: "no backup",
    }
    for path, said in bad.items():
        other, code, out, err = restored(make_daemon, path)
        assert code == 1 and "restored" not in out and said in err, (path, out, err)
        if os.path.isdir(other.data):
            assert [name for name in os.listdir(other.data) if name != "lock"] == []
    other, code, _, err = restored(make_daemon, good)
    assert code == 0, err
    code, _, err = other.run("--config", other.config_file, "--data", other.data, "--restore", good)
    assert code == 1 and "there is a store already" in err
    other.start()
    code, _, err = other.run("--config", other.config_file, "--data", other.data, "--restore", good)
    assert code == 1, "a daemon runs there"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_restore_as_root_for_a_service(make_daemon, rng):
    """A unit's User= is no setting: root restores as the owner of the directory, and says so."""
    daemon = make_daemon()
    folder = tempfile.mkdtemp(prefix="hearsay-restore-", dir="/var/tmp")
    owner = pwd.getpwnam("nobody")
    try:
        os.chmod(folder, 0o755)
        file, data = os.path.join(folder, "good.db"), os.path.join(folder, "data")
        with daemon.administrator() as client:
            stock(client, rng, 5)
            client.call(pb.Backup(path=file))
        os.mkdir(data, 0o700)
        os.chown(data, owner.pw_uid, owner.pw_gid)
        code, out, err = daemon.run("--config", daemon.config_file, "--data", data, "--restore",
                                    file)
        assert (code, err) == (0, ""), err
        assert out.splitlines() == [f"restoring {file} into {data} as user nobody",
                                    f"5 messages restored into {data}"]
        owners = {name: os.stat(os.path.join(data, name)).st_uid for name in os.listdir(data)}
        assert set(owners.values()) == {owner.pw_uid} and "messages.db" in owners
    finally:
        shutil.rmtree(folder)


def test_compact(make_daemon, rng):
    """After messages have gone the file is shorter, and what is left is all there."""
    daemon = make_daemon()
    path = os.path.join(daemon.data, "messages.db")
    token = rng.randbytes(32)
    with daemon.administrator() as client:
        sent = stock(client, rng, 2000, 2000, withdraw_hash=wire.withdraw_hash(token))
        client.pipeline([pb.Withdraw(id=one.id, token=token) for one in sent[100:]])
        expected = everything(client)
        answer = client.call(pb.Compact())
        assert answer.bytes_before > 3_000_000 and answer.bytes_after < 640_000
        assert os.path.getsize(path) == answer.bytes_after
        assert everything(client) == expected and len(expected) == 100
        client.call(wire.deposit_of(rng, LABELS))
        left = set(os.listdir(daemon.data)) - {"lock", "messages.db", "messages.db-wal",
                                               "messages.db-shm"}
        assert not left, "no temporary file"
    daemon.kill()
    with daemon.start().administrator() as client:
        assert len(everything(client)) == 101


@pytest.mark.parametrize("body", [pb.Compact(), pb.Backup])
def test_stopping_does_not_wait(make_daemon, rng, body):
    """A daemon that is told to stop ends in time, whatever it was asked for."""
    daemon = make_daemon()
    file = os.path.join(daemon.directory, "copy.db")
    with daemon.administrator() as client:
        stock(client, rng, 3000, 3000)
        client.post(pb.Backup(path=file) if body is pb.Backup else body)
        daemon.stop()
    if os.path.exists(file):
        assert restored(make_daemon, file)[1] == 0, "if it is there it is whole"
    with daemon.start().administrator() as client:
        assert len(everything(client)) == 3000


def test_cli(make_daemon, rng):
    """backup and compact on the command line; relative paths are the caller's."""
    daemon = make_daemon()
    cli = cli_runner.of_daemon(daemon, unix=True)
    file = os.path.join(daemon.directory, "copy.db")
    with daemon.client() as client:
        client.call(wire.deposit_of(rng, LABELS))
    assert cli.ok("admin", "backup", file).endswith(f" backed up to {file}\n")
    code, _, err = cli.run("admin", "backup", file)
    assert code == 4 and "not overwritten" in err
    assert "before" in cli.ok("admin", "compact")
    relative = os.path.relpath(file + "2")
    said = cli.ok("admin", "backup", relative).rstrip("\n").split(" backed up to ")[1]
    assert os.path.isabs(said) and os.path.samefile(said, file + "2")
    assert os.path.getsize(file + "2") > 0
    with cli.start("admin", "backup", file[1:] + "3", cwd="/", stdout=subprocess.PIPE, text=True) as at_root:
        assert at_root.communicate()[0].endswith(f" backed up to {file}3\n"), "one slash"
    assert cli.run("admin", "backup")[0] == 2
    for shift in "a", "ab":  # the sentence cuts the path, within a character of one of the two
        path = f"/{shift}/" + "/".join(["\u00e4" * 100] * 3)
        code, _, err = cli.run("admin", "backup", path)
        assert code == 4 and "No such file" in err, err
