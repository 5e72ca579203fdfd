# SPDX-License-Identifier: Apache-2.0
"""The hearsay command: what it prints, and its exit codes (0 ok, 1 negative, 2 usage,
3 connection, 4 refused)."""

import base64
import json
import os
import pathlib
import pty
import re
import shutil
import socket
import subprocess

import pytest

import cli_runner
import conftest
import fake_server
import hearsay_wire as wire
from hearsay_wire import pb

HERE = ["wifi:a4:2b:8c:01:02:03", "topic:coffee", "geo:u281zd"]
ON = [word for label in HERE for word in ("-l", label)]


@pytest.fixture
def cli(shared):
    return cli_runner.of_daemon(shared)


def deposit(cli, *args, labels=ON, stdin=""):
    return cli.json_lines("deposit", "--json", *labels, *args, stdin=stdin)[0]


def fresh(rng):
    """Labels of a context that no other test knows."""
    labels = [f"wifi:{rng.random()}" for _ in range(4)]
    return labels, [word for label in labels for word in ("-l", label)]


# --- deposit --------------------------------------------------------------------------------------


def test_deposit_prints_id_and_token(cli, client):
    """Id and withdraw token on standard output; the filter is the one that others make."""
    out = cli.ok("deposit", *ON, "Fresh pot upstairs")
    message_id = re.search(r"\b[0-9a-f]{32}\b", out).group()
    token = re.search(r"\b[0-9a-f]{64}\b", out).group()
    got = client.call(pb.Get(id=bytes.fromhex(message_id)))
    assert got.payload == b"Fresh pot upstairs" and got.media_type == "text/plain"
    nearest = client.call(wire.query_of(HERE, k=100, max_distance=0)).results
    assert bytes.fromhex(message_id) in {r.id for r in nearest}
    client.call(pb.Withdraw(id=bytes.fromhex(message_id), token=bytes.fromhex(token)))


class LaterServer(fake_server.FakeServer):
    """A later version, with a value more in each enum. Python keeps them as unknown fields."""

    def answer(self, request):
        if request.WhichOneof("body") == "hello":
            host = pb.HostInfo(name="default", profile="v2:512/4", suggested_max_distance=1_000_000)
            host.MergeFromString(b"\x40\x09\x48\x09\x58\x09")  # evict, accept, role
            return pb.Response(id=request.id, welcome=pb.Welcome(
                version=1, store_id=bytes(16), hosts=[host],
                limits=pb.Limits(frame_bytes=65536, parts_max=64)))
        deposited = pb.Deposited.FromString(b"\x18\x09")  # durability
        return pb.Response(id=request.id, deposited=deposited)


def test_enum_values_of_a_later_version(tmp_path):
    """Each is taken: absent where that has a meaning, else as what promises least."""
    with LaterServer() as server:
        cli = cli_runner.Cli(server.address, str(tmp_path))
        assert cli.json_lines("hosts", "--json")[0]["accept"] == "open"
        code, out, err = cli.run("deposit", "--json", *ON, "hello")
        assert code == 0 and json.loads(out)["durable"] is False, err


def test_deposit_options(cli, client, rng, tmp_path):
    """--ttl, --type, --file, --reach; text as words, standard input when there is neither."""
    _, on = fresh(rng)
    told = deposit(cli, "--ttl", "2h", "--type", "text/markdown", "--reach", "0.25", "# hi",
                   labels=on)
    got = client.call(pb.Get(id=bytes.fromhex(told["id"])))
    assert got.expires_ms - got.deposited_ms == 7_200_000
    assert told["expires"] == cli_runner.iso(got.expires_ms)
    assert (got.media_type, got.payload) == ("text/markdown", b"# hi")
    file = tmp_path / "picture"
    file.write_bytes(bytes(range(256)))
    got = client.call(pb.Get(id=bytes.fromhex(deposit(cli, "--file", str(file))["id"])))
    assert got.payload == bytes(range(256)) and got.media_type == "application/octet-stream"
    got = client.call(pb.Get(id=bytes.fromhex(deposit(cli, stdin="from a pipe\n")["id"])))
    assert got.payload == b"from a pipe\n"


# --- query ----------------------------------------------------------------------------------------


def expected_json(result):
    """A Result as item 6 of the command's description has it."""
    made = {
        "id": result.id.hex(),
        "distance": result.distance / wire.WHOLE,
        "intersection": result.intersection_count,
        "union": result.union_count,
        "set_bits": list(result.set_bits),
        "deposited": cli_runner.iso(result.deposited_ms),
        "expires": cli_runner.iso(result.expires_ms),
    }
    try:
        assert result.media_type.startswith("text/") and b"\0" not in result.payload
        made["text"] = result.payload.decode()
    except (AssertionError, UnicodeDecodeError):
        made["payload_base64"] = base64.b64encode(result.payload).decode()
    return made


def test_query_json(cli, client, rng):
    """--json: one line a message, with exactly what the server said."""
    labels, on = fresh(rng)
    for n in range(5):
        client.call(wire.deposit_of(rng, labels[: 2 + n % 3], payload=f"grüße {n}".encode()))
    client.call(wire.deposit_of(rng, labels, media_type="image/png", payload=b"\x89PNG\0\xff"))
    lines = cli.json_lines("query", *on, "--json", "-k", "50", "--max-distance", "0.9")
    query = wire.query_of(labels, k=50, max_distance=900_000, with_payload=True)
    results = client.call(query).results
    assert len(lines) == len(results) >= 6
    for line, result in zip(lines, results):
        assert line.pop("type") == (result.media_type or "text/plain")
        assert line == expected_json(result)


def test_query_for_people(cli, rng):
    """A table with age, similarity and text; what is too far is counted on standard error."""
    labels, on = fresh(rng)
    deposit(cli, "hello over there", labels=on)
    code, out, err = cli.run("query", *on)
    assert code == 0 and "hello over there" in out and "1.00" in out
    code, out, err = cli.run("query", "-l", "topic:nobody-is-here", "-d", "0")
    assert code == 1 and out == "" and "nothing found" in err
    assert labels


def test_query_conditions(cli, rng):
    """--contains, --since, --until, --order, --metric are those of the protocol."""
    labels, on = fresh(rng)
    first = deposit(cli, "one", labels=on)["id"]
    second = deposit(cli, "two", labels=on[:-2])["id"]

    def ids(*args):
        code, out, _ = cli.run("query", *on, "--json", "-d", "0.7", *args)
        assert code in (0, 1)
        return [json.loads(line)["id"] for line in out.splitlines()]

    assert ids() == [first, second]
    assert ids("--contains", labels[-1]) == [first]
    assert ids("--order", "time") == [second, first]
    assert ids("--order", "time", "-k", "1") == [first]
    assert ids("--order", "newest", "-k", "1") == [second]
    code, out, _ = cli.run("query", *on, "--json", "-d", "0", "-k", "1", "--order", "newest")
    assert code == 0 and json.loads(out)["id"] == first, "the newest within the distance"
    assert ids("--metric", "phi") == [first, second]
    assert ids("--since", "1h") == [first, second]
    assert ids("--until", "1h") == []
    assert ids("--since", "2000-01-01T00:00Z", "--until", "2001-01-01T00:00Z") == []
    assert ids("-k", "1") == [first]


def test_a_query_is_by_phi(cli, client, rng):
    """Unless it names a metric. By bits, the distance that the host suggests is no bound, because it is one
    by phi; by phi a message that says much more than the query is near."""
    labels = [f"topic:{rng.random()}" for _ in range(9)]
    told = deposit(cli, "much more", labels=[word for label in labels for word in ("-l", label)])
    on = ["-l", labels[0], "--contains", labels[0], "--json"]
    for metric, args in ((pb.PHI, []), (pb.PHI, ["-m", "phi"]), (pb.BITS, ["-m", "bits"])):
        query = wire.query_of(labels[:1], k=1, contains=labels[:1], metric=metric, with_payload=True)
        (result,) = client.call(query).results
        assert result.id.hex() == told["id"]
        (line,) = cli.json_lines("query", *on, "-k", "1", *args)
        assert line.pop("type") == "text/plain" and line == expected_json(result)
        assert (result.distance < 772_500) == (metric == pb.PHI)


def test_a_context_that_is_too_full_is_told_of(make_daemon):
    """Before the server refuses it, with what to leave out: the attribute that has most labels."""
    cli = cli_runner.of_daemon(make_daemon("[host a]\n[host b]\nprofile = v2:a=33/1,b=31/1\n"))
    at = ["--at", "48.1497,11.5678"]
    topics = [word for i in range(30) for word in ("--topic", f"t{i}")]
    for words in (["deposit", *at, *topics, "text"], ["query", *at, *topics], ["watch", *at, *topics]):
        code, out, err = cli.run(*words)
        warned, refused = err.splitlines()
        assert (code, out) == (4, "")
        assert re.search(r"the section any has [5-9]\d\.\d % of its bits set, and the server takes at most "
                         r"50\.0 %: leave out some of its \d\d labels, of which 30 have the attribute topic$",
                         warned), warned
        assert "of the section any are set" in refused
    code, _, err = cli.run("query", *at, "--contains", "topic:t", *(w for i in range(60) for w in ("-c", f"t:{i}")))
    assert code == 4 and "leave out some of its 61 labels, of which 60 have the attribute t\n" in err
    # A position alone fits, and so does one label in a small section, and half of 31 bits.
    assert cli.run("deposit", *at, "text")[::2] == (0, "")
    labels = [f"b:{i}" for i in range(100)]
    while wire.bits_of(wire.filter_of(labels, "v2:a=33/1,b=31/1")).bit_count() > 15:
        labels.pop()
    on = [word for label in labels for word in ("-l", label)]
    assert cli.run("deposit", "--host", "b", *on, "text")[::2] == (0, "")
    code, _, err = cli.run("deposit", "--host", "b", *on, *(w for i in range(100) for w in ("-l", f"b:{i}")), "text")
    assert code == 4 and "the section b has " in err


def test_batch(cli, client, rng):
    """--batch: one answer a line, in order, with results, comparisons and exact."""
    contexts = [fresh(rng)[0] for _ in range(40)]
    for labels in contexts:
        client.call(wire.deposit_of(rng, labels))
    lines = [json.dumps({"labels": labels}) for labels in contexts]
    answers = cli.json_lines("query", "--batch", "-", "-k", "3", "-d", "1", stdin="\n".join(lines))
    assert len(answers) == len(contexts)
    for labels, answer in zip(contexts, answers):
        assert sorted(answer) == ["capped", "comparisons", "exact", "results"]
        said = client.call(wire.query_of(labels, k=3, with_payload=True))
        assert answer["results"] == [expected_json(r) for r in said.results]
        assert answer["exact"] is True and answer["comparisons"] == said.comparisons


def test_batch_from_a_file_with_bad_lines(cli, tmp_path):
    """A bad line has an error for an answer, in its place, and makes the exit code 1."""
    file = tmp_path / "questions"
    good = json.dumps({"labels": HERE})
    file.write_text("\n".join([good, "not json", '{"labels": 5}', '{"labels": ["x"]}', "", good]))
    code, out, _ = cli.run("query", "--batch", str(file), "-d", "1")
    answers = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert ["error" in a for a in answers] == [False, True, True, True, True, False]
    assert "line 2" in answers[1]["error"] and answers[4]["error"].startswith("line 5: it is empty")


def test_batch_as_a_conversation(cli):
    """Each answer comes before the next question must be asked."""
    process = cli.start("query", "--batch", "-", "-d", "1", stdin=-1, stdout=-1)
    for _ in range(5):
        process.stdin.write(json.dumps({"labels": HERE}).encode() + b"\n")
        process.stdin.flush()
        assert "results" in json.loads(process.stdout.readline())
    process.stdin.close()
    assert process.wait(wire.PATIENCE) == 0
    process.stdout.close()


# --- get, withdraw, ping, hosts, profile ----------------------------------------------------------


def test_get(cli, client, rng):
    """The payload, byte for byte; --json with type and times; exit 1 when there is none."""
    sent = wire.deposit_of(rng, HERE, payload=bytes(range(256)), media_type="image/png")
    told = client.call(sent)
    code, out, _ = cli.run_bytes("get", sent.id.hex())
    assert code == 0 and out == sent.payload
    (line,) = cli.json_lines("get", "--json", sent.id.hex())
    assert line["payload_base64"] == base64.b64encode(sent.payload).decode()
    assert line["type"] == "image/png" and line["expires"] == cli_runner.iso(told.expires_ms)
    code, out, err = cli.run("get", "00" * 16)
    assert code == 1 and out == "" and err


def test_withdraw(cli):
    """Exit 4 with the wrong token, 0 with the right one, 1 when it is gone."""
    told = deposit(cli, "soon gone")
    assert cli.run("withdraw", told["id"], "00" * 32)[0] == 4
    assert cli.run("withdraw", told["id"], told["withdraw_token"])[0] == 0
    assert cli.run("withdraw", told["id"], told["withdraw_token"])[0] == 1
    other = deposit(cli, "to report and to withdraw")
    report = cli.json_lines("report", "--json", other["id"])
    assert report == [{"id": other["id"], "reported": True}]
    withdrawal = cli.json_lines("withdraw", "--json", other["id"], other["withdraw_token"])
    assert withdrawal == [{"id": other["id"], "withdrawn": True}]
    gone = cli.run("withdraw", "--json", other["id"], other["withdraw_token"])
    assert gone[:2] == (1, ""), "as of other commands: a sentence in standard error, and no line"
    assert cli.run("get", told["id"])[0] == 1


def test_ping_and_hosts(cli, client, make_daemon):
    """ping: exit 0 and the store; hosts: names, profiles, suggested distances."""
    assert cli.ok("ping")
    (line,) = cli.json_lines("ping", "--json")
    assert line["store_id"] == client.welcome.store_id.hex() and line["protocol"] == 1
    daemon = make_daemon("[host a]\nprofile = v2:256/3\n[host b]\n")
    other = cli_runner.of_daemon(daemon)
    hosts = other.json_lines("hosts", "--json")
    assert [(h["host"], h["profile"]) for h in hosts] == [("a", "v2:256/3"), ("b", wire.PROFILE)]
    assert "v2:256/3" in other.ok("hosts")
    deposit(other, "--host", "b", "in b")
    assert other.run("query", *ON, "--host", "a")[0] == 1
    assert other.run("query", *ON, "--host", "b")[0] == 0
    assert other.run("query", *ON, "--host", "c")[0] == 2


def test_profile(cli):
    """Sizing as in the formulas: m = ceil(-n ln p / (ln 2)^2), d = ceil(m/n ln 2); no server."""
    code, out, err = cli.run_plain("profile", "--labels", "20", "--fpr", "0.01", "--json")
    assert code == 0, err
    line = json.loads(out)
    assert (line["profile"], line["bits"], line["hashes"]) == ("v2:256/7", 256, 7)
    assert line["false_positive_rate"] == pytest.approx(0.0024, abs=0.0003) and line["expected_fill"] < 0.45
    code, out, _ = cli.run_plain("profile", "--labels", "20", "--fpr", "0.01")
    assert code == 0 and b"Most servers" not in out, "servers take what it recommends"
    assert re.search(rb"^bits \(m\) +256  \(192 by the formula;", out, re.M)
    code, out, _ = cli.run_plain("profile", "v2:192/7", "--labels", "20")
    assert code == 0 and b"A section is about 52 % full. Most servers refuse" in out
    code, out, _ = cli.run_plain("profile", cli.json_lines("hosts", "--json")[0]["profile"])
    assert code == 0 and b"Most servers" not in out, "the default profile"
    code, out, _ = cli.run_plain("profile", "v2:512/4", "--labels", "20")
    assert code == 0 and b"Most servers" not in out
    assert cli.run_plain("profile", "v2:500/4")[0] == 2


def test_hosts_and_channels_complete(cli, make_daemon):
    """bash offers the hosts of the server that the line names, and the user's channels."""
    if not shutil.which("bash"):
        pytest.skip("no bash here")
    daemon = make_daemon("[host lobby]\n[host loft]\n[host roof]\n")
    names = cli_runner.of_daemon(daemon)
    names.ok("channel", "save", "kitchen", "-l", "a:b")
    names.ok("channel", "save", "garden", "-l", "a:c")
    root = pathlib.Path(__file__).resolve().parents[2]
    script = """
        source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; COMP_WORDS=(x "$3" ''); COMP_CWORD=1
        _hearsay; printf '%s\\n' "${COMPREPLY[@]}"
    """

    def complete(line, last, **env):
        command = conftest.program(conftest.HEARSAY) + " " + line
        done = subprocess.run(
            ["bash", "-c", script, "bash", root / "client/completion/hearsay.bash", command, last],
            capture_output=True, text=True, check=True, env=names.environment(**env),
            timeout=wire.PATIENCE)
        return set(done.stdout.split())

    for server in (f"--server {names.server}", f"--server={names.server}",
                   f"-s {daemon.socket_path}"):
        assert complete(f"{server} query --host lo", "lo") == {"lobby", "loft"}
        assert complete(f"query {server} --host=", "=") == {"lobby", "loft", "roof"}
    assert complete("query --host r", "r", HEARSAY_SERVER=names.server) == {"roof"}
    assert complete("query --channel k", "k") == {"kitchen"}
    assert complete("channel remove ", "") == {"kitchen", "garden"}


# --- exit codes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["nonsense"],
        ["depost"],
        ["query"],
        ["query", "--labels"],
        ["query", "-l", "no-colon"],
        ["query", "-l", "topic:x", "-k", "0"],
        ["query", "-l", "topic:x", "-k", "ten"],
        ["query", "-l", "topic:x", "--max-distance", "1.5"],
        ["query", "-l", "topic:x", "--since", "yesterday"],
        ["query", "-l", "topic:x", "--order", "size"],
        ["query", "-l", "topic:x", "--metric", "miles"],
        ["query", "-l", "topic:x", "word"],
        ["deposit", "text without labels"],
        ["deposit", "-l", "Topic:x", "text"],
        ["deposit", "-l", "topic:x", "--ttl", "soon", "text"],
        ["deposit", "-l", "topic:x", "--file", "/nonexistent"],
        ["deposit", "-l", "topic:x", "--file", "/dev/null", "and text"],
        ["get"],
        ["get", "xyz"],
        ["withdraw", "00" * 16],
        ["import"],
        ["import", "/nonexistent"],
        ["ping", "extra"],
        ["--server"],
        ["profile", "--fpr", "2"],
    ],
    ids=" ".join,
)
def test_usage(cli, args):
    """Exit 2, a sentence on standard error, nothing on standard output."""
    code, out, err = cli.run(*args)
    assert code == 2, (out, err)
    assert out == "" and err


def test_when_to_try_again(make_daemon):
    """A refusal that says for how long: exit 4, and the seconds as the server said them."""
    daemon = make_daemon("[limits]\nsessions = 1\n")
    with daemon.client():
        code, out, err = cli_runner.of_daemon(daemon).run("ping")
    assert code == 4 and out == "", err
    assert "RATE_LIMITED" in err and "worth trying again in 5 s" in err, err


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["query", "--help"]], ids=" ".join)
def test_help(cli, args):
    """Help and version are data: standard output, exit 0, no server needed."""
    code, out, err = cli.run_plain(*args, env={"HEARSAY_SERVER": "127.0.0.1:1"})
    assert code == 0 and out and err == ""


def test_no_server(cli):
    """Exit 3 where nobody listens, and where what listens says nothing in time."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert cli.run_plain("--server", address, "ping")[0] == 3  # bound, not listening
        silent.listen()
        code, _, err = cli.run_plain("--server", address, "--timeout", "500ms", "ping")
        assert code == 3 and err
    assert cli.run_plain("--server", "/nonexistent/socket", "ping")[0] == 3


def test_refused(cli):
    """Exit 4 with the server's sentence: a limit of the server's."""
    code, out, err = cli.run("query", *ON, "-k", "101")
    assert code == 4 and out == "" and "100" in err
    code, out, err = cli.run("deposit", *ON, "--ttl", "30d", "too long")
    assert code == 4 and out == "" and "the ttl is 30d; it must be 1s to 7d" in err
    assert cli.run("deposit", *ON, stdin="x" * 5000)[0] == 4
    assert cli.run("export")[0] == 4


def test_where_the_server_is(cli, shared):
    """--server, else HEARSAY_SERVER; TCP or a Unix path."""
    code, _, err = cli.run_plain("ping", env={"HEARSAY_SERVER": cli.server})
    assert code == 0, err
    code, _, err = cli.run_plain("ping", env={"HEARSAY_SERVER": shared.socket_path})
    assert code == 0, err
    env = {"HEARSAY_SERVER": "127.0.0.1:1"}
    assert cli.run_plain("ping", env=env)[0] == 3
    assert cli.run_plain("--server", shared.socket_path, "ping", env=env)[0] == 0
    assert cli.run_plain("ping", "--server", cli.server, env=env)[0] == 0


def test_closed_output(cli):
    """A reader that goes away, or a full disk, is no success."""
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    deposit(cli, "something to print")
    with open("/dev/full", "wb") as full:
        process = cli.start("query", *ON, "--json", stdout=full, stderr=-1)
        _, err = process.communicate(timeout=wire.PATIENCE)
    assert process.returncode == 1 and err


@pytest.mark.parametrize("closed", [(0,), (0, 1), (0, 1, 2), (1,), (2,)])
def test_closed_streams(cli, client, closed):
    """Nothing that is opened takes the place of a stream that is not there: no read from the
    connection, no output to it."""
    if "valgrind" in os.environ.get("HEARSAY_WRAPPER", ""):
        pytest.skip("valgrind opens streams of its own in their place")
    def close():
        for fd in closed:
            os.close(fd)
    label = f"topic:closed{len(closed)}{closed[0]}"
    line = json.dumps({"labels": [label], "text": "hello"}).encode()
    for args in (["import", "-"], ["query", "--batch", "-"], ["deposit", "-l", label, "hello"]):
        process = cli.start(*args, stdin=-1, stdout=-1, stderr=-1, preexec_fn=close)
        process.communicate(line, timeout=wire.PATIENCE)
        assert process.returncode in (0, 1), args
    stored = len(client.call(wire.query_of([label], max_distance=0)).results)
    assert stored == (1 if 0 in closed else 2)


# --- other people's text --------------------------------------------------------------------------


EVIL = [
    "\x1b[2Jcleared",
    "\x1b]0;title\x07",
    "\x9b31mred",
    "back\b\b\b\bfront",
    "over\rwritten",
    "left \u202e to right",
    "line\nbreak AGE 1.00",
]


@pytest.mark.parametrize("text", EVIL, ids=lambda t: ascii(t)[1:20])
def test_messages_cannot_speak_to_the_terminal(cli, rng, text):
    """Control characters in messages are shown, not sent: in the table, on a terminal, in JSON."""
    _, on = fresh(rng)
    told = deposit(cli, text, labels=on)
    # Other tests' messages may be within the suggested distance by chance.
    on = [*on, "--max-distance", "0"]
    shown = cli.ok("query", *on)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown), repr(shown)
    assert len(shown.splitlines()) == 2, "one message is one line"
    for args in (["query", *on], ["get", told["id"]], ["query", *on, "--json"]):
        seen = on_a_terminal(cli, *args)
        assert "\x1b[2J" not in seen and "\x1b]0" not in seen and "\b" not in seen
        assert "\u202e" not in seen and "\x9b" not in seen and "\x07" not in seen
        assert not re.search(r"\r(?!\n|\r)", seen), "only the terminal's own line ends"
    (line,) = cli.json_lines("query", *on, "--json")
    assert line["text"] == text


def on_a_terminal(cli, *args):
    """What the command writes when its output is a terminal."""
    master, slave = pty.openpty()
    process = cli.start(*args, stdout=slave, stdin=slave, stderr=slave)
    os.close(slave)
    seen = b""
    try:
        while True:
            more = os.read(master, 4096)
            if not more:
                break
            seen += more
    except OSError:
        pass  # the terminal's other end is closed
    os.close(master)
    process.wait(wire.PATIENCE)
    return seen.decode(errors="backslashreplace")
