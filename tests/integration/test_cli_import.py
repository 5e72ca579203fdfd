# SPDX-License-Identifier: Apache-2.0
"""import and export: many messages in and out, again and again, and through a crash."""

import json
import os
import time

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb


def made_lines(rng, count):
    """Lines to import, and the labels and text of each."""
    contents = []
    for number in range(count):
        labels = [f"wifi:{rng.randrange(300)}" for _ in range(rng.randint(3, 12))]
        contents.append({"labels": labels, "text": f"message {number} größer"})
    return contents


def write(path, contents):
    with open(path, "w", encoding="utf-8") as file:
        for line in contents:
            file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    return str(path)


def summary(cli, path, code=0):
    """The import's own count."""
    got, out, err = cli.run("import", "--json", path)
    assert got == code, err
    return json.loads(out), err


def test_import(daemon, rng, tmp_path):
    """Every line becomes a message that its own context finds."""
    cli = cli_runner.of_daemon(daemon)
    contents = made_lines(rng, 2000)
    contents[0] = {"labels": ["topic:typed", "topic:image", "topic:x"], "payload_base64": "AAH/",
                   "type": "image/png", "ttl": "2h", "id": "ab" * 16, "reach": 0.5}
    contents[1] = {"labels": ["topic:seconds", "topic:y", "topic:z"], "text": "", "ttl": 60}
    told, err = summary(cli, write(tmp_path / "lines", contents))
    assert told["deposited"] == 2000 and told["skipped"] == 0
    assert err == "", "no bar where nobody looks"
    with daemon.client() as client:
        got = client.call(pb.Get(id=b"\xab" * 16))
        assert (got.payload, got.media_type) == (b"\0\x01\xff", "image/png")
        assert got.expires_ms - got.deposited_ms == 7_200_000
        queries = [wire.query_of(c["labels"], k=100, max_distance=0, with_payload=True)
                   for c in contents]
        for content, answer in zip(contents[1:], client.pipeline(queries)[1:]):
            texts = {r.payload.decode() for r in answer.results.results}
            assert content["text"] in texts
        (brief,) = client.call(queries[1]).results
        assert brief.expires_ms - brief.deposited_ms == 60_000


def test_bad_lines(daemon, rng, tmp_path):
    """Bad lines are reported by number and skipped; the others go in; exit 1."""
    cli = cli_runner.of_daemon(daemon)
    bad = {
        2: "not json",
        3: '{"labels": ["topic:a"]}',
        5: '{"text": "no labels"}',
        6: '{"labels": ["nocolon"], "text": "x"}',
        8: '{"labels": ["topic:a", "topic:b"], "text": "x", "ttl": -5}',
        9: '{"labels": ["topic:a", "topic:b"], "text": "x", "ttl": "30d"}',
        10: '{"labels": ["topic:a", "topic:b"], "text": "x", "id": "12"}',
        11: '["a list"]',
        12: '{"labels": ["topic:a", "topic:b"], "text": "' + "x" * 5000 + '"}',
        13: '{"labels": ["topic:a", "topic:b"], "text": "x", "payload_base64": "AA=="}',
        14: '{"labels": ["topic:a", "topic:b"], "text": "x", "tll": 5}',
        15: "\x1b[2J",
    }
    contents = made_lines(rng, 20)
    for number, line in bad.items():
        contents[number - 1] = line
    told, err = summary(cli, write(tmp_path / "lines", contents), code=1)
    assert told["skipped"] == len(bad), err
    assert told["deposited"] == 20 - len(bad)
    for number in range(1, 21):
        assert (f"line {number}:" in err) == (number in bad), number
    assert "\x1b" not in err


def test_repeated(daemon, rng, tmp_path):
    """Run again, an import finds its own messages there: duplicates only."""
    cli = cli_runner.of_daemon(daemon)
    path = write(tmp_path / "lines", made_lines(rng, 500))
    assert summary(cli, path)[0]["deposited"] == 500
    again = summary(cli, path)[0]
    assert (again["deposited"], again["duplicates"]) == (0, 500)
    secret = [os.path.join(where, n) for where, _, names in os.walk(cli.home) for n in names]
    assert secret and all(os.stat(name).st_mode & 0o077 == 0 for name in secret)


def test_same_line_twice(daemon, tmp_path):
    """The line's number counts: one text twice is two messages."""
    cli = cli_runner.of_daemon(daemon)
    line = {"labels": ["topic:twice", "topic:same"], "text": "again"}
    assert summary(cli, write(tmp_path / "lines", [line, line]))[0]["deposited"] == 2


def test_another_secret_is_another_import(daemon, rng, tmp_path):
    """Ids derive from the secret in the state file: with another one it is not the same import."""
    cli = cli_runner.of_daemon(daemon)
    path = write(tmp_path / "lines", made_lines(rng, 10))
    for name in ("one", "two"):
        out = cli.ok("import", "--json", "--state", str(tmp_path / name), path)
        assert json.loads(out)["deposited"] == 10


def test_resumed_after_a_crash(make_daemon, rng, tmp_path):
    """The daemon is killed in the middle and comes back: the import, run again, completes it."""
    daemon = make_daemon("[limits]\nmessages = 1000000\n")
    cli = cli_runner.of_daemon(daemon, unix=True)
    contents = made_lines(rng, 20_000)
    path = write(tmp_path / "lines", contents)
    process = cli.start("--timeout", "1s", "import", path, stdout=-1, stderr=-1)
    with daemon.administrator() as client:
        wire.wait_until(lambda: len(client.call(pb.Export(limit=500)).messages) > 100, "a start")
    daemon.kill()
    process.kill()
    process.communicate()
    daemon.start()
    told = summary(cli, path)[0]
    print(told)
    assert told["deposited"] + told["duplicates"] == 20_000 and told["skipped"] == 0
    assert told["duplicates"] > 0
    assert len(cli.json_lines("export")) == 20_000


def test_goes_on_when_the_daemon_comes_back(make_daemon, rng, tmp_path):
    """A running import outlives a restart of the daemon by itself."""
    daemon = make_daemon("[limits]\nmessages = 1000000\n")
    cli = cli_runner.of_daemon(daemon, unix=True)
    path = write(tmp_path / "lines", made_lines(rng, 20_000))
    process = cli.start("import", "--json", path, stdout=-1, stderr=-1)
    with daemon.administrator() as client:
        wire.wait_until(lambda: len(client.call(pb.Export(limit=500)).messages) > 100, "a start")
    daemon.kill()
    daemon.start()
    out, err = process.communicate(timeout=wire.PATIENCE)
    assert process.returncode == 0, err
    told = json.loads(out)
    assert told["deposited"] + told["duplicates"] == 20_000
    assert len(cli.json_lines("export")) == 20_000


def test_export_and_import_elsewhere(make_daemon, rng, tmp_path):
    """export | import into another daemon gives the same answers, and withdrawals still work."""
    first, second = make_daemon(), make_daemon()
    source = cli_runner.of_daemon(first, unix=True)
    target = cli_runner.of_daemon(second)
    labels = [f"wifi:{n}" for n in range(100)]
    token = rng.randbytes(32)
    bodies = [
        wire.deposit_of(rng, rng.sample(labels, rng.randint(2, 15)), payload=rng.randbytes(50),
                        media_type="application/octet-stream",
                        reach=rng.choice([500_000, wire.WHOLE]),
                        withdraw_hash=wire.withdraw_hash(token))
        for _ in range(300)
    ]
    with first.client() as client:
        client.pipeline(bodies)
        client.call(wire.deposit_of(rng, labels[:5], payload="grüße".encode()))
    exported = source.ok("export")
    lines = [json.loads(line) for line in exported.splitlines()]
    assert [line["id"] for line in lines[:-1]] == [b.id.hex() for b in bodies]
    for line in lines:
        assert {"id", "filter", "type", "deposited", "expires"} <= set(line)
    assert lines[-1]["text"] == "grüße"
    began = time.monotonic()
    told = json.loads(target.ok("import", "--json", "-", stdin=exported))
    took_ms = (time.monotonic() - began) * 1000
    assert told["deposited"] == 301

    def answers(daemon, queries):
        with daemon.client() as client:
            return [
                sorted((r.distance, r.id, r.payload, r.media_type)
                       for r in answer.results.results)
                for answer in client.pipeline(queries)
            ]

    queries = [
        wire.query_of(rng.sample(labels, 8), k=100, max_distance=limit, with_payload=True)
        for limit in (200_000, 600_000, 750_000) for _ in range(20)
    ]
    assert answers(first, queries) == answers(second, queries)
    again = json.loads(target.ok("import", "--json", "-", stdin=exported))
    assert (again["deposited"], again["duplicates"]) == (0, 301)
    with second.client() as client:
        client.call(pb.Withdraw(id=bodies[0].id, token=token))
        stays = client.call(pb.Get(id=bodies[1].id))
    with first.client() as client:
        left = client.call(pb.Get(id=bodies[1].id))
    # Whole seconds are left when it is sent; it counts from when it arrives.
    assert -took_ms <= left.expires_ms - stays.expires_ms < 61_000, "it does not live longer"


def test_export_of_all_hosts(make_daemon, rng):
    """Every host's messages, or those of one; hosts are named in the lines."""
    daemon = make_daemon("[host a]\n[host b]\n")
    with daemon.client() as client:
        client.pipeline([wire.deposit_of(rng, ["topic:h"], host=h) for h in "aabbb"])
    cli = cli_runner.of_daemon(daemon, unix=True)
    assert [line["host"] for line in cli.json_lines("export")] == list("aabbb")
    assert len(cli.json_lines("export", "--host", "b")) == 3
    assert cli.run("export", "--host", "c")[0] == 2


def test_a_filter_of_another_profile(make_daemon, rng):
    """It is as long as the host's, and would be stored and never found: the line is skipped, and says why. So is one of
    hearsay 0.2.0, which has no profile."""
    first, second = make_daemon(), make_daemon("[host default]\nprofile = v2:wifi=352/2,any=160/3\n")
    with first.client() as client:
        client.call(wire.deposit_of(rng, ["topic:h"]))
    line = cli_runner.of_daemon(first, unix=True).json_lines("export")[0]
    assert line["profile"] == wire.PROFILE
    cli = cli_runner.of_daemon(second)
    code, out, err = cli.run("import", "--json", "-", stdin=json.dumps(line) + "\n")
    assert code == 1 and json.loads(out)["skipped"] == 1 and f"made for the profile {wire.PROFILE}" in err and "wifi=352/2" in err
    del line["profile"]
    code, out, err = cli.run("import", "--json", "-", stdin=json.dumps(line) + "\n")
    assert code == 1 and json.loads(out)["skipped"] == 1 and 'needs the "profile"' in err


def test_messages_of_a_host_go_to_another_one(make_daemon, tmp_path):
    """As docs/operations/backup.md says it, without a tool that changes the lines."""
    old, new = (cli_runner.of_daemon(daemon, daemon.socket_path) for daemon in (
        make_daemon(f"[host {host}]\nhere = place:lobby\n") for host in ("lobby", "bar")))
    old.ok("deposit", "--topic", "tea", "a text")
    (tmp_path / "lobby.jsonl").write_text(old.ok("export", "--host", "lobby"), encoding="utf-8")
    code, _, err = new.run("import", str(tmp_path / "lobby.jsonl"))
    assert code == 1 and 'line 1: the server has no host "lobby"; --host NAME' in err, err
    assert new.run("query", "--topic", "tea")[0] == 1
    new.ok("import", "--host", "bar", str(tmp_path / "lobby.jsonl"))
    assert "a text" in new.ok("query", "--topic", "tea")


def test_one_odd_line_costs_no_other(make_daemon):
    """Lines for another host or of nonsense are named, also exported ones; a mark of UTF-8 in front, a blank line
    with a carriage return, and the half of a line at the end of a file that was cut off cost nothing else."""
    text = ("\ufeff" + json.dumps({"labels": ["topic:a"], "text": "first"}) + "\r\n\r\nnonsense\n"
            + json.dumps({"filter": "AAAA", "profile": "v2:64/1", "text": "x", "host": "nowhere"}) + "\n"
            + json.dumps({"labels": ["topic:a"], "text": "x", "host": "nowhere"}) + "\n"
            + json.dumps({"labels": ["topic:a"], "text": "second"}) + "\n" + '{"labels": ["topic:')
    code, out, err = cli_runner.of_daemon(make_daemon()).run("import", "--json", "-", stdin=text)
    assert code == 1 and json.loads(out) == {"deposited": 2, "duplicates": 0, "expired": 0, "skipped": 4}
    for said in ("line 3: not JSON", 'line 4: the server has no host "nowhere"', 'line 5: the server has no host "nowhere"',
                 "line 7: not JSON: premature end of input"):
        assert said in err, err
