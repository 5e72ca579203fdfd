# SPDX-License-Identifier: Apache-2.0
"""Whether index, counters and store agree: quiet and under load, whole and damaged on purpose."""

import json
import os
import random
import sqlite3
import struct
import threading

import xxhash

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb

LABELS = ["topic:check", "wifi:x"]
COLUMNS = ("checksum seq host_id id epoch deposited_ms expires_ms reach_ppm withdraw_hash filter"
           " media_type payload").split()


def stock(client, rng, count, **fields):
    sent = [wire.deposit_of(rng, [*LABELS, f"topic:{i}"], payload=rng.randbytes(50), **fields)
            for i in range(count)]
    for answer in client.pipeline(sent):
        assert answer.WhichOneof("body") == "deposited"
    return sent


def database(daemon):
    return sqlite3.connect(os.path.join(daemon.data, "messages.db"), isolation_level=None)


def checksum(row):
    """As docs say a row is proved: so that only its content is wrong, and not its checksum."""
    parts = [row[name] for name in ("filter", "media_type", "payload")]
    parts[1] = parts[1].encode()
    head = struct.pack("<QQ", row["seq"], row["host_id"]) + row["id"]
    head += struct.pack("<QqqQ", row["epoch"], row["deposited_ms"], row["expires_ms"],
                        row["reach_ppm"])
    head += (row["withdraw_hash"] or b"") + struct.pack("<QQQ", *map(len, parts))
    value = xxhash.xxh3_64_intdigest(head, seed=0)
    for part in parts:
        value = xxhash.xxh3_64_intdigest(part, seed=value)
    return struct.unpack("<q", struct.pack("<Q", value))[0]


def change(daemon, message_id, **values):
    """Changes a row behind the daemon's back, with a checksum that fits it; says what it was."""
    connection = database(daemon)
    found = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM message WHERE id = ?",
                               [message_id]).fetchone()
    row = dict(zip(COLUMNS, found))
    assert checksum(row) == row["checksum"]
    before = dict(row)
    row.update(values)
    row["checksum"] = checksum(row)
    connection.execute(
        f"UPDATE message SET {', '.join(name + ' = ?' for name in COLUMNS)} WHERE seq = ?",
        [*row.values(), row["seq"]])
    connection.close()
    return before


def run(daemon, *statement):
    connection = database(daemon)
    assert connection.execute(*statement).rowcount == 1
    connection.close()


def test_all_is_well(make_daemon, rng):
    """Shown, hidden and removed messages, several hosts and epochs, and after a restart."""
    daemon = make_daemon("[host default]\nhide_after = 1\nepoch_length = 1h\n[host other]\n")
    for _ in range(2):
        with daemon.administrator() as client:
            assert not client.call(pb.Check()).problems
            sent = stock(client, rng, 300)
            stock(client, rng, 20, host="other")
            stock(client, rng, 20, epoch=client.welcome.hosts[0].epoch.number)
            for one in sent[:3]:
                client.call(pb.Report(id=one.id))
            client.call(pb.Restore(id=sent[0].id))
            client.call(pb.Remove(id=sent[1].id))
            answer = client.call(pb.Check())
            assert not answer.problems
            count = answer.messages
        daemon.stop()
        daemon.start()
    assert count == 2 * 340  # the removed one is there for a day
    with daemon.administrator() as client:
        answer = client.call(pb.Check())
        assert (list(answer.problems), answer.messages) == ([], count)


def test_under_load(make_daemon, rng):
    """What comes, goes, expires, is hidden and shown meanwhile is no problem."""
    daemon = make_daemon("[host default]\nhide_after = 1\nmessages = 3000\nevict = oldest\n")
    done = threading.Event()
    rounds = []

    def work(seed):
        mine = random.Random(seed)
        token = mine.randbytes(32)
        with daemon.administrator() as busy:
            while not done.is_set():
                sent = [wire.deposit_of(mine, [*LABELS, f"topic:{i}"], ttl_s=i % 3 + 1 if i < 20 else
                                        3600, withdraw_hash=wire.withdraw_hash(token))
                        for i in range(60)]
                for answer in busy.pipeline(sent):
                    assert answer.WhichOneof("body") == "deposited"
                busy.pipeline([pb.Withdraw(id=one.id, token=token) for one in sent[20:40]])
                busy.pipeline([pb.Report(id=one.id) for one in sent[40:50]])
                busy.pipeline([pb.Restore(id=one.id) for one in sent[40:45]])
                rounds.append(1)

    with daemon.administrator() as client:
        stock(client, rng, 2500)
        threads = [threading.Thread(target=work, args=[rng.random()]) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            wire.wait_until(lambda: len(rounds) > 2, "work is under way")
            checks = 0
            began = len(rounds)
            while checks < 5 or len(rounds) < began + 60:
                answer = client.call(pb.Check())
                assert not answer.problems and answer.messages > 1000
                checks += 1
        finally:
            done.set()
            for thread in threads:
                thread.join(wire.PATIENCE)
        assert not client.call(pb.Check()).problems


def problems_after(daemon, client, *statement):
    run(daemon, *statement)
    return list(client.call(pb.Check()).problems)


def test_damage_is_told(make_daemon, rng):
    """Rows changed behind the daemon's back are told by id, and by what is wrong with them."""
    daemon = make_daemon()
    with daemon.administrator() as client:
        sent = stock(client, rng, 400)
        names = [f"message {one.id.hex()} of host default: " for one in sent]
        reach = "its times, its reach or its size are others in the index"
        before = change(daemon, sent[5].id, reach_ppm=123456)
        assert list(client.call(pb.Check()).problems) == [names[5] + reach]
        other = bytearray(sent[7].filter)
        other[3] ^= 255
        change(daemon, sent[7].id, filter=bytes(other))
        found = list(client.call(pb.Check()).problems)
        assert found[:2] == [names[5] + reach, names[7] + "its filter is another one in the index"]
        assert all("summary" in one for one in found[2:])
        change(daemon, sent[7].id, filter=sent[7].filter)
        change(daemon, sent[5].id, reach_ppm=before["reach_ppm"])
        assert not client.call(pb.Check()).problems, "what is mended is well"
        assert problems_after(
            daemon, client, "UPDATE message SET payload = zeroblob(50) WHERE id = ?",
            [sent[390].id]) == [names[390] + "its row in the store is not as it was written"]
        found = problems_after(
            daemon, client, "INSERT INTO moderation SELECT 0, seq, 2, 1, 0, 0, '', NULL FROM message"
            " WHERE id = ?", [sent[8].id])
        assert found[0] == names[8] + "the store hides it, and memory has it as shown"
        assert "host default, epoch 0: messages shown: 399 in the store, 400 in the index" in found
    daemon.wait_log("check: message " + sent[8].id.hex())


def test_lost_rows_are_told(make_daemon, rng):
    """What the index has and the store has not shows in the counts; the command says so, too."""
    daemon = make_daemon()
    cli = cli_runner.of_daemon(daemon, unix=True)
    with daemon.administrator() as client:
        sent = stock(client, rng, 100)
        assert cli.ok("admin", "check") == (
            "all is well: 100 messages; index, counters and store agree\n")
        assert cli.json_lines("admin", "check", "--json") == [{"messages": 100, "problems": []}]
        found = problems_after(daemon, client, "DELETE FROM message WHERE id = ?", [sent[0].id])
        assert found[0] == "host default, epoch 0: messages shown: 99 in the store, 100 in the index"
        assert found[1].startswith("host default: messages (bytes): 99 (")
        code, out, _ = cli.run("admin", "check")
        assert (code, out.splitlines()) == (1, found)
        code, out, _ = cli.run("admin", "check", "--json")
        assert (code, json.loads(out)) == (1, {"messages": 99, "problems": found})
        connection = database(daemon)
        connection.execute("UPDATE message SET epoch = 77")
        connection.close()
        assert len(client.call(pb.Check()).problems) == 16, "bounded"
    assert cli.run("admin", "check", "all")[0] == 2


def test_one_at_a_time(make_daemon, rng):
    """A second one is told to wait; one whose client has gone is over; a stop does not wait."""
    daemon = make_daemon()
    with daemon.administrator() as client:
        stock(client, rng, 3000)
        answers = client.pipeline([pb.Check(), pb.Check()])
        refused = [one for one in answers if one.WhichOneof("body") == "error"]
        assert len(refused) == 1 and wire.ERROR_CODES[refused[0].error.code] == "RATE_LIMITED"
        with daemon.administrator() as gone:
            gone.post(pb.Check())

        def is_free():
            answer, = client.pipeline([pb.Check()])
            return answer.WhichOneof("body") == "checked"

        wire.wait_until(is_free, "the check of the client that has gone is over")
        client.post(pb.Check())
        daemon.stop()


def test_for_the_administrator_only(shared):
    """Over TCP it is FORBIDDEN, and no capability."""
    with shared.client() as client:
        assert client.refused(pb.Check()).code == "FORBIDDEN"
        assert "check" not in client.welcome.capabilities
    with shared.administrator() as client:
        assert "check" in client.welcome.capabilities
