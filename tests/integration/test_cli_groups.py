# SPDX-License-Identifier: Apache-2.0
"""Groups: with --group labels are keyed and messages sealed; the construct is checked with an
implementation of its own (tests/vectors/keyed.py) and keys from the vectors."""

import base64
import json
import os
import pty
import sys

import pytest

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb

VECTORS = os.path.join(wire.ROOT, "tests", "vectors")
sys.path.insert(0, VECTORS)
import keyed  # noqa: E402 (it lies beside the vectors)

with open(os.path.join(VECTORS, "keyed.json"), encoding="utf-8") as vectors:
    GROUPS = {group["secret"]: bytes.fromhex(group["group_key"])
              for group in json.load(vectors)["groups"]}
SECRET, OTHER = list(GROUPS)[:2]
SECTIONS = "v2:wifi=256/2,geo=96/1,time=32/1,topic=96/2,joint(geo,time)=32/1"
HERE = ["wifi:a4:2b:8c:01:02:03", "wifi:a4:2b:8c:01:02:04", "geo:u281zd", "time:2026-11-20T14",
        "topic:coffee"]
NEARBY = HERE[1:] + ["topic:tea"]


def on(labels):
    return [word for label in labels for word in ("-l", label)]


@pytest.fixture(scope="module")
def daemon_of_groups(module_daemons):
    return module_daemons(f"[host plain]\n[host cafe]\nprofile = {SECTIONS}\n")


@pytest.fixture
def cli(daemon_of_groups):
    return cli_runner.of_daemon(daemon_of_groups)


@pytest.fixture
def secret_file(tmp_path):
    def write(secret, name="team", mode=0o600):
        path = tmp_path / name
        path.write_text(secret + "\n", encoding="utf-8")
        path.chmod(mode)
        return str(path)
    return write


@pytest.mark.parametrize("host,profile", [("plain", wire.PROFILE), ("cafe", SECTIONS)])
def test_the_construct_is_the_documented_one(cli, daemon_of_groups, secret_file, host, profile):
    """The server is given the keyed filter and the sealed message, both as others make them."""
    told = cli.json_lines("deposit", "--json", "--host", host, *on(HERE), "--type", "text/x-tea",
                          "--group", secret_file(SECRET), "Third floor")[0]
    key, message_id = GROUPS[SECRET], bytes.fromhex(told["id"])
    with daemon_of_groups.client() as client:
        part = pb.QueryPart(filter=wire.filter_of(HERE, profile, (key,)))
        found = client.call(pb.Query(host=host, k=100, parts=[part], max_distance=0,
                                     with_payload=True)).results
    result = next(result for result in found if result.id == message_id)
    assert result.media_type == keyed.SEALED_TYPE
    assert b"Third" not in result.payload
    assert keyed.unseal(key, message_id, result.payload) == ("text/x-tea", b"Third floor")


def test_a_message_sealed_by_others_is_read(cli, daemon_of_groups, secret_file, rng):
    key, message_id = GROUPS[OTHER], rng.randbytes(16)
    sealed = keyed.seal(key, rng.randbytes(24), message_id, "text/plain", "Grüß Gott".encode())
    with daemon_of_groups.client() as client:
        client.call(pb.Deposit(host="plain", id=message_id, media_type=keyed.SEALED_TYPE,
                               filter=wire.filter_of(HERE, keys=(key,)), payload=sealed))
    group = secret_file(OTHER)
    lines = cli.json_lines("query", "--json", *on(HERE), "--group", group)
    assert [(line["text"], line["distance"]) for line in lines] == [("Grüß Gott", 0)]
    assert cli.ok("get", "--group", group, message_id.hex()) == "Grüß Gott"
    assert cli.json_lines("get", "--json", "--group", group, message_id.hex())[0]["type"] == (
        "text/plain")
    code, out, err = cli.run("get", "--group", secret_file(SECRET), message_id.hex())
    assert (code, out) == (1, "") and "not this group's" in err


def test_media_types_within(cli, daemon_of_groups, secret_file, rng):
    """No media type inside means text/plain, as in a deposit; what is none is not shown as one."""
    key = GROUPS[OTHER]
    rows = {"": "text/plain", "text": "application/octet-stream",
            "text/\x1b[31m": "application/octet-stream", "text/html": "text/html"}
    with daemon_of_groups.client() as client:
        for inner in rows:
            message_id = rng.randbytes(16)
            sealed = keyed.seal(key, rng.randbytes(24), message_id, inner, b"inner:" + inner.encode())
            client.call(pb.Deposit(host="plain", id=message_id, media_type=keyed.SEALED_TYPE,
                                   filter=wire.filter_of(["topic:inner"], keys=(key,)),
                                   payload=sealed))
    question = ["query", "-l", "topic:inner", "--group", secret_file(OTHER), "--host", "plain"]
    found = {line["text"] if "text" in line else base64.b64decode(line["payload_base64"]).decode():
             line["type"] for line in cli.json_lines(*question, "--json")}
    assert found == {"inner:" + inner: shown for inner, shown in rows.items()}
    out = cli.ok(*question)
    assert "(, " not in out and "\x1b" not in out
    assert out.count("application/octet-stream") == 2
    code, _, err = cli.run("deposit", "-l", "topic:inner", "--group", secret_file(OTHER),
                           "--type", "text", "x")
    assert code == 2 and "media type" in err


def test_without_the_secret_nothing_is_near(cli, make_daemon, secret_file):
    """The same context without the secret, or with another, is as far as chance has it; with the
    secret the distances are those of the plain labels, up to collisions."""
    cli = cli_runner.of_daemon(make_daemon("[host default]\nprofile = v2:2048/4\n"))
    group = secret_file(SECRET)
    cli.ok("deposit", *on(HERE), "--group", group, "ours")
    cli.ok("deposit", *on(HERE), "everyone's")

    def distances(labels, *args):
        lines = cli.json_lines("query", "--json", "--max-distance", "1", *on(labels), *args)
        return {line.get("text"): line["distance"] for line in lines}

    with_it, plain = distances(NEARBY, "--group", group), distances(NEARBY)
    assert with_it.keys() == {"ours"}  # the open one does not open
    assert abs(with_it["ours"] - plain["everyone's"]) < 0.05
    assert plain[None] > 0.9
    assert distances(HERE, "--group", group) == {"ours": 0}
    code, out, err = cli.run("query", *on(HERE), "--max-distance", "1", "--group",
                             secret_file(OTHER, "others"))
    assert (code, out) == (1, "") and "nothing found" in err


def test_groups_in_batches(cli, secret_file, rng):
    labels = [f"topic:{rng.random()}" for _ in range(4)]
    group = secret_file(SECRET)
    cli.ok("deposit", *on(labels), "--group", group, "ours")
    question = json.dumps({"labels": labels, "contains": labels[:1]})
    for args, texts in (["--group", group], ["ours"]), ([], []):
        answer = cli.json_lines("query", "--batch", "-", *args, stdin=question + "\n")[0]
        assert [result["text"] for result in answer["results"]] == texts


def test_a_message_that_is_too_large_once_sealed(cli, secret_file):
    """The limit is for what is sent; the sentence says what is left of it."""
    group = secret_file(SECRET)
    fits = 4096 - 41 - len("text/plain")
    cli.ok("deposit", *on(HERE), "--group", group, stdin="x" * fits)
    code, _, err = cli.run("deposit", *on(HERE), "--group", group, stdin="x" * (fits + 1))
    assert code == 4 and f"{fits + 1} bytes" in err and f"at most {fits}" in err


def test_where_the_secret_comes_from(cli, secret_file, tmp_path):
    """Files that others may read are refused, as ssh refuses them; secrets on the command line are
    warned of. What is no file (a pipe of the shell) has no mode that says anything."""
    _, _, err = cli.run("query", *on(HERE), "--group", secret_file(SECRET))
    assert "--group" not in err
    for mode in (0o644, 0o640, 0o620, 0o601):
        opened = secret_file(SECRET, "open", mode)
        code, out, err = cli.run("query", *on(HERE), "--group", opened)
        assert code == 2 and out == "" and f"chmod 600 {opened}" in err, err
    code, _, err = cli.run("query", *on(HERE), "--group", "/dev/stdin", stdin=SECRET + "\n")
    assert code != 2 and "others may read" not in err, err
    _, _, err = cli.run("query", *on(HERE), "--group", SECRET)
    assert "list of processes" in err
    told = cli.json_lines("deposit", "--json", *on(HERE), "--group", SECRET, "said aloud")[0]
    assert cli.ok("get", "--group", secret_file(SECRET + "\r"), told["id"]) == "said aloud"
    code, _, err = cli.run("query", *on(HERE), "--group", str(tmp_path / "missing"))
    assert code == 2 and "cannot open" in err
    for secret in ("short", "x" * 1025):
        code, _, err = cli.run("query", *on(HERE), "--group", secret_file(secret, "wrong"))
        assert code == 2 and f"{len(secret)} bytes" in err and "8 to 1024" in err


def test_the_terminal_is_asked_and_shows_nothing(cli, secret_file):
    told = cli.json_lines("deposit", "--json", *on(HERE), "--group", secret_file(SECRET), "psst")[0]
    pid, terminal = pty.fork()  # the child's controlling terminal
    if pid == 0:
        command = cli.command("get", "--group", "-", told["id"])
        os.execve(command[0], command, cli.environment())
    shown = b""
    while b"secret: " not in shown:
        shown += os.read(terminal, 4096)
    os.write(terminal, SECRET.encode() + b"\n")
    try:
        while chunk := os.read(terminal, 4096):
            shown += chunk
    except OSError:  # the end of a terminal
        pass
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, shown
    assert b"psst" in shown and SECRET.encode() not in shown
