# SPDX-License-Identifier: Apache-2.0
"""The listener of a bridge: who may connect, and what is served there."""

import contextlib
import os
import pwd

import pytest

import hearsay_wire as wire
from hearsay_wire import pb
from test_gateway import GATEWAY as BRIDGE, acting_as, only_root, open_folder, packed  # noqa: F401

READING = {"hello", "query", "get", "ping", "hood", "summary", "here", "watch", "unwatch",
           "serve", "answered"}
LABELS = ["topic:jazz", "geo:u281zd", "place:bar"]
ADMINISTRATION = range(32, 50)  # the numbers of the requests of administration in the schema


class Bridge:
    """A daemon with a bridge's listener."""

    def __init__(self, daemon, path):
        self.daemon, self.path = daemon, path

    def connect(self, uid=BRIDGE.pw_uid, **options):
        with acting_as(uid):
            return wire.Client(self.path, **options)


@pytest.fixture
def make_bridge(make_daemon, open_folder):  # noqa: F811
    def make(config="", name="bridge.sock"):
        path = os.path.join(open_folder, name)
        return Bridge(
            make_daemon(f"listen = {path} bridge\nbridge_user = {BRIDGE.pw_name}\n{config}"), path)

    return make


def administrative_requests():
    """Each request of administration, with the fields that it needs."""
    needed = {"id": bytes(16), "path": "/tmp/hearsay-bridge-copy", "payload_hash": bytes(32)}
    for field in pb.Request.DESCRIPTOR.fields:
        if field.number in ADMINISTRATION:
            message = getattr(pb, field.message_type.name)
            names = {inner.name for inner in field.message_type.fields}
            yield field.name, message(**{n: v for n, v in needed.items() if n in names})


def test_no_administrators_request_is_served(make_bridge):
    """Each of them is refused, whoever the bridge's user is; nothing has changed."""
    bridge = make_bridge()
    names = set()
    with bridge.connect() as client, bridge.daemon.administrator() as operator:
        before = operator.call(pb.Stats())
        for name, request in administrative_requests():
            error = client.refused(request)
            assert error.code == "FORBIDDEN" and error.error.field == name, name
            assert "a bridge is no administrator" in error.error.message
            names.add(name)
        assert {"remove", "backup", "stats", "export", "ban", "notice", "reload"} <= names
        assert len(names) == len(ADMINISTRATION)
        assert names.isdisjoint(client.welcome.capabilities)
        assert not os.path.exists("/tmp/hearsay-bridge-copy")
        assert [f.value for f in operator.call(pb.Stats()).figures if f.name == "messages"] == \
            [f.value for f in before.figures if f.name == "messages"]


def test_a_bridge_reads_without_limits(make_bridge, rng):
    """It deposits, withdraws and reports nothing, and is no gateway either."""
    bridge = make_bridge("[limits]\nqueries_per_minute = 1\nquery_burst = 1\n")
    with bridge.connect() as client, bridge.daemon.client() as other:
        assert READING <= set(client.welcome.capabilities)
        assert {"deposit", "withdraw", "report", "on_behalf", "request_on_behalf"}.isdisjoint(client.welcome.capabilities)
        assert not client.welcome.limits.HasField("queries_per_minute")
        deposit = wire.deposit_of(rng, LABELS, payload=b"hello")
        other.call(deposit)
        for _ in range(20):
            assert len(client.call(wire.query_of(LABELS)).results) == 1
        for body in (wire.deposit_of(rng, LABELS), pb.Withdraw(id=deposit.id, token=bytes(32)),
                     pb.Report(id=deposit.id)):
            error = client.refused(body)
            assert error.code == "FORBIDDEN" and "a bridge may not" in error.error.message
        error = client.refused(pb.Here(), on_behalf=packed("192.0.2.7"))
        assert error.code == "INVALID" and error.error.field == "on_behalf"
    with acting_as(BRIDGE.pw_uid):
        client = wire.Client(bridge.path, hello=False)
    with client:
        error = client.refused(pb.Hello(versions=[1], on_behalf=packed("192.0.2.7")))
        assert error.code == "INVALID" and error.error.field == "on_behalf"


def test_a_bridge_gets_no_keys(make_bridge):
    """Welcome has the epoch, without its key."""
    bridge = make_bridge("[host default]\nepoch_length = 1h\n")
    with bridge.connect() as client:
        assert client.welcome.hosts[0].epoch.number > 0
        assert not client.welcome.hosts[0].epoch.HasField("key")


@only_root
def test_other_users_are_closed(make_bridge):
    """Neither root nor another user is the bridge's; the log says which user came."""
    bridge = make_bridge()
    for uid in (0, pwd.getpwnam("bin").pw_uid, 65534):
        with acting_as(uid):
            client = wire.Client(bridge.path, hello=False)
        with client, contextlib.suppress(ConnectionError, wire.Ended):
            client.send_bytes(wire.frame(wire.request(pb.Hello(versions=[1]), 1)))
            assert client.receive_until_end() == []
    bridge.daemon.wait_log(r"user 0 may not connect to .*bridge\.sock: `bridge_user` is user \d+")
    with bridge.connect() as client:
        assert client.welcome.version == 1


@pytest.mark.parametrize(
    "config, why",
    [
        ("listen = /run/x/b.sock bridge\n", "needs `bridge_user`"),
        ("listen = 127.0.0.1:7119 bridge\nbridge_user = daemon\n", "bridge is for a Unix socket"),
        ("listen = /run/x/b.sock bridge gateway\nbridge_user = daemon\n", "bridge excludes gateway"),
        ("listen = /run/x/b.sock bridge local\nbridge_user = daemon\n", "no keys of epochs"),
        ("listen = /run/x/b.sock bridge\nlisten = /run/x/a.sock\nbridge_user = daemon\n",
         "a folder of its own"),
        ("listen = /run/x/b.sock bridge\nbridge_user = nobody-there\n", "(`bridge_user`)"),
        ("listen = /run/x/b.sock bridge\nbridge_user = root\n", "`bridge_user = root` is root"),
        ("listen = /run/x/b.sock bridge\nbridge_user = nobody\n", "`bridge_user = nobody` is user 65534"),
        ("[host a]\nacknowledge = replicated\n", "needs `replicate = yes`"),
        ("[host a]\nrole = replica\nacknowledge = replicated\n", "it is for the owner"),
        ("[host a]\nrole = reader\n", "`role` must be owner or replica; not `reader`"),
    ],
)
def test_wrong_settings_are_named(make_daemon, tmp_path, config, why):
    """--check-config and the start say what is wrong, and what would be right."""
    daemon = make_daemon(start=False)
    path = tmp_path / "bridge.conf"
    path.write_text(f"[daemon]\ndata = {tmp_path}/data\n{config}")
    for options in (["--check-config"], []):
        code, _, err = daemon.run("--config", str(path), *options)
        assert code == 2 and why in err, err


def test_the_socket_is_apart(make_bridge):
    """Others may reach the bridge's socket; the administrator's stays closed to them."""
    bridge = make_bridge()
    assert os.stat(bridge.path).st_mode & 0o777 == 0o666
    assert os.stat(bridge.daemon.socket_path).st_mode & 0o077 == 0


def test_role_and_replicate_need_a_restart(make_bridge):
    """A reload that changes them is refused; one that changes `acknowledge` is not."""
    bridge = make_bridge("[host default]\nreplicate = yes\n")
    text = open(bridge.daemon.config_file, encoding="utf-8").read()
    with bridge.daemon.administrator() as operator:
        for line in ("replicate = no\n", "replicate = yes\nrole = replica\n"):
            with open(bridge.daemon.config_file, "w", encoding="utf-8") as file:
                file.write(text.replace("replicate = yes\n", line))
            assert "which needs a restart" in operator.refused(pb.Reload()).error.message
        with open(bridge.daemon.config_file, "w", encoding="utf-8") as file:
            file.write(text + "acknowledge = replicated\nreplicate_wait = 10ms\n")
        operator.call(pb.Reload())
