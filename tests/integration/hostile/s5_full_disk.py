# SPDX-License-Identifier: Apache-2.0
"""S5: a disk that is full stays full. Deposits filled the file system until nothing could be
written any more: no withdrawal, no removal, no expiry, not after a restart either."""

import os
import resource
import signal
import tempfile

import pytest

import hearsay_wire as wire
import small_storage
from hearsay_wire import pb

SIZE = 14 * 1024 * 1024
LABELS = ["topic:storage", "topic:disk"]
PAYLOAD_BYTES = 2000
SOON_S = 2


@pytest.fixture
def storage():
    path = tempfile.mkdtemp(prefix="hearsay-small-")
    why_not = small_storage.mount(path, SIZE)
    if why_not:
        os.rmdir(path)
        pytest.skip(f"no file system of our own: {why_not}")
    yield path
    small_storage.unmount(path)
    os.rmdir(path)


@pytest.fixture
def daemon(make_daemon, storage):
    return make_daemon("durability = relaxed\n", data=os.path.join(storage, "data"))


def code_of(answer):
    return wire.ERROR_CODES[answer.error.code] if answer.HasField("error") else ""


def fill(client, rng, token, **fields):
    """Deposits until the first is refused. The messages that were stored, and the refusals."""
    stored, refused = [], []
    while not refused:
        bodies = [wire.deposit_of(rng, LABELS, payload=rng.randbytes(PAYLOAD_BYTES),
                                  withdraw_hash=wire.withdraw_hash(token), **fields)
                  for _ in range(50)]
        for body, answer in zip(bodies, client.pipeline(bodies)):
            if answer.HasField("deposited"):
                stored.append(body)
            else:
                refused.append(answer.error)
    return stored, refused


def assert_stored(client, messages):
    """Each of them is there, and is what was deposited."""
    for first in range(0, len(messages), 50):
        part = messages[first:first + 50]
        for body, answer in zip(part, client.pipeline([pb.Get(id=m.id) for m in part])):
            assert code_of(answer) == "" and answer.got.payload == body.payload


def deposits_work(client, rng):
    def works():
        body = wire.deposit_of(rng, LABELS, payload=rng.randbytes(PAYLOAD_BYTES))
        return code_of(client.pipeline([body])[0]) == ""
    return works


def test_deleting_works_on_a_full_disk(daemon, rng):
    """Withdrawal, removal and expiry work, restarts too, and deposits come back by themselves."""
    token = rng.randbytes(32)
    with daemon.administrator() as client:
        stored, refused = fill(client, rng, token)
        assert {wire.ERROR_CODES[error.code] for error in refused} == {"STORAGE"}
        assert all(error.retry_after_ms > 0 for error in refused)
        assert len(stored) * PAYLOAD_BYTES > SIZE / 3  # a row of this size takes a page
        codes = [code_of(answer) for answer in client.pipeline(
            [pb.Withdraw(id=m.id, token=token) for m in stored[:30]])]
        assert codes == [""] * 30, "withdrawals on the full disk"
        client.call(pb.Remove(id=stored[30].id))
        del stored[:31]
        wire.wait_until(deposits_work(client, rng), "deposits in what the withdrawals left")
        _, refused = fill(client, rng, token, ttl_s=SOON_S)
        assert {wire.ERROR_CODES[error.code] for error in refused} == {"STORAGE"}
        assert "nearly full" in refused[0].message
        wire.wait_until(deposits_work(client, rng), "deposits in what has expired")
        fill(client, rng, token)
    daemon.kill()
    with daemon.start().administrator() as client:
        assert_stored(client, stored)
        assert code_of(client.pipeline([pb.Withdraw(id=stored[0].id, token=token)])[0]) == ""
        codes = {code_of(answer) for answer in client.pipeline(
            [pb.Withdraw(id=m.id, token=token) for m in stored[1:]])}
        assert codes == {""}, "everything can go"
    daemon.restart()
    with daemon.administrator() as client:
        assert deposits_work(client, rng)()


def test_other_programs_fill_the_disk(daemon, storage, rng):
    """What fails then is told, nothing is lost, and all works again when the others are gone."""
    token = rng.randbytes(32)
    with daemon.administrator() as client:
        stored, _ = fill(client, rng, token)
        filler = os.path.join(storage, "filler")
        with open(filler, "wb", buffering=0) as file:
            with pytest.raises(OSError):
                while True:
                    file.write(bytes(4096))
        fate = dict(zip((m.id for m in stored[:30]), client.pipeline(
            [pb.Withdraw(id=m.id, token=token) for m in stored[:30]])))
        assert {code_of(answer) for answer in fate.values()} <= {"", "STORAGE"}
        assert code_of(client.pipeline([wire.deposit_of(rng, LABELS)])[0]) == "STORAGE"
        os.unlink(filler)
        left = [m for m in stored if m.id not in fate or code_of(fate[m.id]) != ""]
        codes = {code_of(answer) for answer in client.pipeline(
            [pb.Withdraw(id=m.id, token=token) for m in left[:100]])}
        assert codes == {""}
        assert_stored(client, left[100:])
        wire.wait_until(deposits_work(client, rng), "deposits after the others have gone")
    daemon.restart()
    with daemon.administrator() as client:
        assert_stored(client, left[100:])


def test_a_failure_is_told_behind_refusals(make_daemon, storage, rng):
    """The log has just told of a refused deposit, and tells at once that the operator's removal failed."""
    daemon = make_daemon("durability = relaxed\n", data=os.path.join(storage, "data"),
                         preexec=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
    with daemon.administrator() as client:
        stored, _ = fill(client, rng, rng.randbytes(32))
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        assert client.refused(pb.Remove(id=stored[0].id)).code == "STORAGE"
        daemon.wait_log("warning: storage: ")


def test_the_start_warns(daemon):
    """Limits that do not fit into the file system are said at the start."""
    daemon.wait_log(r"warning: .*`messages` and `bytes` allow a store of \d+ MiB .* has room for 1[34]"
                    r" MiB")
