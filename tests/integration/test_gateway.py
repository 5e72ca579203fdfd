# SPDX-License-Identifier: Apache-2.0
"""A gateway speaks for the addresses of others; here labels differ by address."""

import contextlib
import os
import pwd
import shutil
import socket
import tempfile

import pytest

import conftest
import hearsay_wire as wire
from hearsay_wire import pb

# Root is no gateway: where the tests run as root, the gateway is another user of each Debian.
GATEWAY = pwd.getpwnam("daemon") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
READING = {"on_behalf", "hello", "query", "get", "ping", "hood", "summary", "here", "watch", "unwatch"}
ITSELF = {"request_on_behalf"}  # only for a gateway that speaks for itself
WRITING = {"deposit", "withdraw", "report"}
LABELS = ["topic:jazz", "geo:u281zd", "place:bar"]

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


def packed(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.inet_pton(family, address)


@contextlib.contextmanager
def acting_as(uid):
    """The kernel tells the daemon the uid that connects."""
    before = os.geteuid()
    if uid != before:
        os.seteuid(uid)
    try:
        yield
    finally:
        if uid != before:
            os.seteuid(before)


class Gateway:
    """A daemon with a gateway's listener."""

    def __init__(self, daemon, path):
        self.daemon, self.path = daemon, path

    def configure(self, config):
        self.daemon.configure(f"listen = {self.path} gateway\ngateway_user = {GATEWAY.pw_name}\n{config}")

    def connect(self, address=None, uid=GATEWAY.pw_uid, local=None, agent="gateway", **options):
        """A connection that speaks for an address; without one the gateway speaks for itself."""
        with acting_as(uid):
            client = wire.Client(self.path, hello=False, **options)
        hello = pb.Hello(versions=[1], agent=agent)
        if address is not None:
            hello.on_behalf = address if isinstance(address, bytes) else packed(address)
        if local is not None:
            hello.on_behalf_local = packed(local)
        client.welcome = client.call(hello)
        return client


@pytest.fixture
def open_folder():
    """A folder that each user may enter, as those of the tests are not."""
    path = tempfile.mkdtemp(prefix="hearsay-gateway-", dir="/tmp")
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def make_gateway(make_daemon, open_folder):
    def make(config="", words="", name="gateway.sock"):
        path = os.path.join(open_folder, name)
        return Gateway(
            make_daemon(f"listen = {path} gateway{words}\ngateway_user = {GATEWAY.pw_name}\n{config}"),
            path,
        )

    return make


def refused_hello(gateway, **fields):
    with acting_as(GATEWAY.pw_uid):
        client = wire.Client(gateway.path, hello=False)
    with client:
        error = client.refused(pb.Hello(versions=[1], **fields))
        assert client.receive_until_end() == []
    return error


# --- who may speak for whom -----------------------------------------------------------------------


def test_a_gateway_that_speaks_for_itself_reads_only(make_gateway, rng):
    """It is told what it may do, does it without limits, and the rest is refused."""
    gateway = make_gateway("[limits]\nqueries_per_minute = 1\nquery_burst = 1\n")
    with gateway.connect() as client, gateway.daemon.client() as other:
        assert set(client.welcome.capabilities) == READING | ITSELF
        assert not client.welcome.limits.HasField("queries_per_minute")
        deposit = wire.deposit_of(rng, LABELS, payload=b"hello")
        other.call(deposit)
        for _ in range(20):
            assert len(client.call(wire.query_of(LABELS)).results) == 1
        assert client.call(pb.Get(id=deposit.id)).payload == b"hello"
        for body in (wire.deposit_of(rng, LABELS), pb.Withdraw(id=deposit.id, token=bytes(32)),
                     pb.Report(id=deposit.id)):
            error = client.refused(body)
            assert error.code == "FORBIDDEN" and "on_behalf" in error.error.message
        assert client.refused(pb.Stats()).code == "FORBIDDEN"


def test_a_gateway_gets_filters_beside_payloads(make_gateway, rng):
    """From them the page tells the topics of messages. They give way to payloads, and nobody else gets them."""
    gateway = make_gateway()
    with gateway.connect() as client, gateway.daemon.client() as other, gateway.connect("192.0.2.7") as phone:
        deposit = wire.deposit_of(rng, LABELS)
        other.call(deposit)
        query = wire.query_of(LABELS, k=30, with_payload=True)
        assert [one.filter for one in client.call(query).results] == [deposit.filter]
        assert not client.call(wire.query_of(LABELS)).results[0].HasField("filter")
        for reader in (other, phone):
            assert not reader.call(query).results[0].HasField("filter")
        for _ in range(20):
            other.call(wire.deposit_of(rng, LABELS, payload=4000 * b"x"))
        found = client.call(query).results
        assert len(found) == 21 and not any(one.HasField("filter") for one in found)


def test_a_gateway_that_speaks_for_a_client_is_that_client(make_gateway, rng):
    """It may write, has the limits of an address, and is no administrator."""
    gateway = make_gateway()
    with gateway.connect("192.0.2.7") as client:
        assert set(client.welcome.capabilities) == READING | WRITING
        assert client.welcome.limits.deposits_per_minute == 60
        assert client.call(wire.deposit_of(rng, LABELS)).HasField("deposited_ms")
        assert client.refused(pb.Stats()).code == "FORBIDDEN"


def test_only_gateways_speak_for_others(make_gateway):
    """TCP and the administrator's socket may not."""
    gateway = make_gateway()
    for address in (("127.0.0.1", gateway.daemon.port), gateway.daemon.socket_path):
        with wire.Client(address, hello=False) as client:
            error = client.refused(pb.Hello(versions=[1], on_behalf=packed("192.0.2.7")))
            assert error.code == "INVALID" and error.error.field == "on_behalf"
            assert client.receive_until_end() == []
    with gateway.daemon.client() as client:
        assert {"on_behalf", "request_on_behalf"}.isdisjoint(client.welcome.capabilities)


@only_root
def test_other_users_are_closed(make_gateway):
    """Neither root nor another user is the gateway's; the log says which user came."""
    gateway = make_gateway()
    for uid in (0, pwd.getpwnam("bin").pw_uid, 65534):
        with acting_as(uid):
            client = wire.Client(gateway.path, hello=False)
        with client, contextlib.suppress(ConnectionError, wire.Ended):
            client.send_bytes(wire.frame(wire.request(pb.Hello(versions=[1]), 1)))
            assert client.receive_until_end() == []
    gateway.daemon.wait_log(r"user 0 may not connect to .*gateway\.sock: `gateway_user` is user \d+")
    with gateway.connect() as client:
        assert client.welcome.version == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"on_behalf": b"\x7f\x00\x00"}, {"on_behalf": bytes(5)}, {"on_behalf": bytes(17)},
        {"on_behalf": bytes(4)}, {"on_behalf": bytes(16)}, {"on_behalf": packed("224.0.0.1")},
        {"on_behalf": packed("255.255.255.255")}, {"on_behalf": packed("ff02::1")},
        {"on_behalf": packed("::ffff:0.0.0.0")}, {"on_behalf_local": packed("2001:db8::1")},
        {"on_behalf": packed("192.0.2.7"), "on_behalf_local": packed("192.0.2.1")},
    ],
    ids=repr,
)
def test_no_address_of_one_client(make_gateway, fields):
    """Refused with the field that is wrong, and the connection ends."""
    error = refused_hello(make_gateway(), **fields)
    assert error.code == "INVALID" and error.error.field.startswith("on_behalf")


# --- limits as if the client had come itself --------------------------------------------------------


def deposits_until_refused(client, rng):
    count = 0
    while True:
        try:
            client.call(wire.deposit_of(rng, LABELS))
        except wire.Refused as error:
            assert error.code == "RATE_LIMITED"
            return count
        count += 1


def test_page_and_command_share_one_bucket(make_gateway, rng):
    """What an address deposits through the gateway counts at port 7117, and back."""
    gateway = make_gateway("[limits]\ndeposits_per_minute = 1\ndeposit_burst = 6\n")
    source = "127.0.0.1"
    with gateway.connect(source) as page:
        assert deposits_until_refused(page, rng) == 6
    with gateway.connect("::ffff:" + source) as page:  # the same address in other clothes
        assert deposits_until_refused(page, rng) == 0
    with gateway.connect("127.0.0.2") as page:
        assert deposits_until_refused(page, rng) == 6


def test_a_limited_address_over_tcp_and_the_gateway(make_daemon, open_folder, rng):
    """The same through a TCP listener that limits clients of this machine, too."""
    path = os.path.join(open_folder, "gateway.sock")
    daemon = make_daemon(f"listen = {path} gateway\ngateway_user = {GATEWAY.pw_name}\n"
                         "listen = 127.0.0.9:0 limited\n"
                         "[limits]\ndeposits_per_minute = 1\ndeposit_burst = 4\n")
    port = int(daemon.find_log(r"listening on 127\.0\.0\.9:(\d+)").group(1))
    with wire.Client(("127.0.0.9", port), source="127.0.0.5") as client:
        assert deposits_until_refused(client, rng) == 4
    with Gateway(daemon, path).connect("127.0.0.5") as page:
        assert deposits_until_refused(page, rng) == 0
    with Gateway(daemon, path).connect("127.0.0.6") as page:
        assert deposits_until_refused(page, rng) == 4


# --- each request of a client of its own ------------------------------------------------------------


def reads_until_refused(client, address, body):
    """How many requests of an address are answered, and the error of the next one."""
    for count in range(100):
        try:
            client.call(body, on_behalf=packed(address))
        except wire.Refused as error:
            return count, error
    raise AssertionError("never refused")


def test_each_reading_request_is_of_its_own_client(make_daemon, open_folder, rng):
    """Each pays as if it had come itself: query, get, here and summary; not what names nobody."""
    path = os.path.join(open_folder, "gateway.sock")
    daemon = make_daemon(f"listen = {path} gateway\ngateway_user = {GATEWAY.pw_name}\n"
                         "listen = 127.0.0.9:0 limited\n"
                         "[limits]\nqueries_per_minute = 1\nquery_burst = 4\n")
    port = int(daemon.find_log(r"listening on 127\.0\.0\.9:(\d+)").group(1))
    deposit = wire.deposit_of(rng, LABELS)
    with daemon.client() as other:
        other.call(deposit)
    bodies = [wire.query_of(LABELS), pb.Get(id=deposit.id), pb.Here(), pb.Summary()]
    with Gateway(daemon, path).connect() as client:
        for number, body in enumerate(bodies):
            count, error = reads_until_refused(client, f"192.0.2.{number}", body)
            assert count == 4 and error.code == "RATE_LIMITED" and error.error.retry_after_ms > 0
        assert reads_until_refused(client, "::ffff:192.0.2.0", pb.Here())[0] == 0
        for body in bodies:
            client.call(body)
        assert reads_until_refused(client, "127.0.0.5", wire.query_of(LABELS))[0] == 4
        with wire.Client(("127.0.0.9", port), source="127.0.0.5", hello=False) as itself:
            # The connection costs a token, too, and there is none.
            assert itself.receive().error.code == pb.RATE_LIMITED
        # On the link of the page each IPv6 address is a client; from further away each /64.
        for last in ("::1", "::2"):
            near = {"on_behalf": packed("fd00" + last), "on_behalf_local": packed("fd00::9")}
            client.call(wire.query_of(LABELS), **near)
        assert reads_until_refused(client, "2001:db8::1", pb.Here())[0] == 4
        assert reads_until_refused(client, "2001:db8::2", pb.Here())[0] == 0


def test_a_refused_client_holds_no_other_one_up(make_gateway):
    """However often one is refused, the session goes on for the others."""
    gateway = make_gateway("[limits]\nqueries_per_minute = 1\nquery_burst = 1\n")
    with gateway.connect() as client:
        for _ in range(300):
            client.post(pb.Here(), on_behalf=packed("192.0.2.1"))
        request_id = client.post(pb.Here(), on_behalf=packed("192.0.2.2"))
        answers = [client.receive() for _ in range(301)]
    assert sum(answer.WhichOneof("body") == "error" for answer in answers) == 299
    assert next(answer for answer in answers if answer.id == request_id).HasField("here_labels")


def test_only_reading_requests_name_their_client(make_gateway, rng):
    """Not what writes, lasts or administers; the sentence says what does, and the session goes on."""
    gateway = make_gateway()
    phone = packed("192.0.2.7")
    with gateway.connect() as client:
        for body in (wire.deposit_of(rng, LABELS), pb.Withdraw(id=bytes(16), token=bytes(32)),
                     pb.Report(id=bytes(16)), pb.Watch(query=wire.query_of(LABELS)), pb.Unwatch(),
                     pb.Ping(), pb.Stats(), pb.Hello(versions=[1])):
            error = client.refused(body, on_behalf=phone)
            assert error.code == "INVALID" and error.error.field == "on_behalf"
            assert "only query, get, here and summary" in error.error.message
        for fields in ({"on_behalf": bytes(5)}, {"on_behalf": bytes(4)}, {"on_behalf": packed("ff02::1")},
                       {"on_behalf_local": packed("fd00::1")}):
            error = client.refused(pb.Here(), **fields)
            assert error.code == "INVALID" and error.error.field == "on_behalf"
        for length in (3, 5):
            error = client.refused(pb.Here(), on_behalf=bytes(length))
            assert error.error.message == f"on_behalf has {length} bytes; 4 or 16 are allowed"
        assert client.call(pb.Ping())
    with gateway.connect("192.0.2.7") as client:
        error = client.refused(pb.Here(), on_behalf=phone)
        assert error.code == "INVALID" and "Hello has said already" in error.error.message
        assert client.call(pb.Here()) is not None
    for address in (("127.0.0.1", gateway.daemon.port), gateway.daemon.socket_path):
        with wire.Client(address) as client:
            error = client.refused(pb.Here(), on_behalf=phone)
            assert error.code == "INVALID" and "only a gateway" in error.error.message
    with acting_as(GATEWAY.pw_uid):
        client = wire.Client(gateway.path, hello=False)
    with client:
        error = client.refused(pb.Hello(versions=[1]), on_behalf=phone)
        assert error.code == "INVALID" and client.receive_until_end() == []


def test_reports_of_three_phones_hide(make_gateway, rng):
    """Each phone counts; one phone's reports count once."""
    gateway = make_gateway("[host lobby]\nhide_after = 3\n")
    deposit = wire.deposit_of(rng, LABELS)
    with gateway.connect("10.0.0.4") as client:
        client.call(deposit)
        client.call(pb.Report(id=deposit.id))  # of one's own message: does not count
    with gateway.connect("10.0.0.1") as client:
        client.call(pb.Report(id=deposit.id))
    with gateway.connect("10.0.0.1") as client:
        client.call(pb.Report(id=deposit.id))
        assert len(client.call(wire.query_of(LABELS)).results) == 1
    for phone in ("10.0.0.2", "10.0.0.3"):
        with gateway.connect(phone) as client:
            client.call(pb.Report(id=deposit.id))
    with gateway.connect() as client:
        assert len(client.call(wire.query_of(LABELS)).results) == 0


def test_connections_of_one_phone_are_counted(make_gateway):
    """The seventeenth connection of an address is refused, another address is not."""
    gateway = make_gateway("[limits]\nsessions_per_address = 3\n")
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(gateway.connect("10.0.0.1"))
        with acting_as(GATEWAY.pw_uid):
            more = stack.enter_context(wire.Client(gateway.path, hello=False))
        more.post(pb.Hello(versions=[1], on_behalf=packed("10.0.0.1")))
        answer = more.receive()
        assert answer.id == 0 and answer.error.code == pb.RATE_LIMITED
        assert more.receive_until_end() == []
        stack.enter_context(gateway.connect("10.0.0.2"))
    with gateway.connect("10.0.0.1") as client:  # the places are free again
        assert client.welcome.version == 1


def test_other_hoods_are_told(make_gateway):
    """A reload that changes hoods ends the gateway's own session, so that it greets again."""
    hosts = "[host lobby]\nhood = campus\n[host library]\n"
    gateway = make_gateway(hosts)
    with gateway.daemon.administrator() as operator, gateway.connect("10.0.0.1") as phone:
        page = gateway.connect()
        gateway.configure(hosts + "suggested_max_distance = 0.5\n")
        operator.call(pb.Reload())
        assert page.call(pb.Ping())  # the hoods are as before
        gateway.configure(hosts + "hood = campus\n")
        operator.call(pb.Reload())
        assert page.receive_until_end() == []
        assert phone.call(pb.Ping())
        with gateway.connect() as again:
            assert [host.hood for host in again.welcome.hosts] == ["campus", "campus"]


# --- configuration --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "config, why",
    [
        ("listen = /run/x/g.sock gateway\n", "needs `gateway_user`"),
        ("listen = 127.0.0.1:7119 gateway\ngateway_user = daemon\n", "gateway is for a Unix socket"),
        ("listen = /run/x/g.sock gateway limited\ngateway_user = daemon\n", "exclude each other"),
        ("listen = /run/x/g.sock gateway\nlisten = /run/x/a.sock\ngateway_user = daemon\n",
         "a folder of its own"),
        ("listen = /run/x/g.sock gateway\ngateway_user = nobody-there\n", "(`gateway_user`)"),
        ("listen = /run/x/g.sock gateway\ngateway_user = root\n", "`gateway_user = root` is root"),
        ("listen = /run/x/g.sock gateway\ngateway_user = nobody\n", "`gateway_user = nobody` is user 65534"),
        ("user = daemon\nlisten = /run/x/g.sock gateway\ngateway_user = daemon\n",
         "a user of its own"),
    ],
)
def test_wrong_settings_are_named(make_daemon, tmp_path, config, why):
    """--check-config and the start say what is wrong, and what would be right."""
    daemon = make_daemon(start=False)
    path = tmp_path / "gateway.conf"
    path.write_text(f"[daemon]\ndata = {tmp_path}/data\n{config}")
    for options in (["--check-config"], []):
        code, _, err = daemon.run("--config", str(path), *options)
        assert code == 2 and why in err, err


def test_the_socket_is_apart(make_gateway):
    """Others may reach the gateway's socket; the administrator's stays closed to them."""
    gateway = make_gateway()
    assert os.stat(gateway.path).st_mode & 0o777 == 0o666
    assert os.stat(gateway.daemon.socket_path).st_mode & 0o077 == 0
    code, out, _ = gateway.daemon.run("--config", gateway.daemon.config_file, "--data",
                                      gateway.daemon.data, "--print-config")
    assert code == 0 and f"listen = {gateway.path} gateway\n" in out


# --- here by address ------------------------------------------------------------------------------


def write(path, text):
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


def labels_of(client):
    return list(client.call(pb.Here()).labels)


@pytest.fixture
def places(make_gateway, tmp_path):
    """A gateway's daemon with a table of places: (gateway, path)."""
    path = str(tmp_path / "places")
    write(path, "10.1.0.0/16 = place:one\n10.2.0.0/16 = place:two, topic:food\n"
                "2001:db8::/64 = place:three\n")
    return make_gateway(f"[host lobby]\nhere = place:default\nhere_map = {path}\n"), path


def test_three_prefixes_are_three_places(places, rng):
    """Each client is told its place in Welcome and when it asks, and finds that place's message."""
    gateway, _ = places
    expected = {"10.1.2.3": ["place:one"], "10.2.0.1": ["place:two", "topic:food"],
                "2001:db8::9": ["place:three"], "192.0.2.1": ["place:default"]}
    deposits = {}
    with contextlib.ExitStack() as stack:
        clients = {address: stack.enter_context(gateway.connect(address)) for address in expected}
        for address, labels in expected.items():
            assert list(clients[address].welcome.hosts[0].here) == labels
            assert labels_of(clients[address]) == labels
            deposits[address] = wire.deposit_of(rng, labels)
            clients[address].call(deposits[address])
        for address, labels in expected.items():
            nearest = clients[address].call(wire.query_of(labels, k=1)).results[0]
            assert nearest.id == deposits[address].id
        itself = stack.enter_context(gateway.connect())
        assert labels_of(itself) == ["place:default"]
        for address, labels in expected.items():
            asked = itself.call(pb.Here(), on_behalf=packed(address))
            assert list(asked.labels) == labels


def test_a_phone_that_moves_is_told(places):
    """The table changes; only those whose labels change, and the gateway itself, are told."""
    gateway, path = places
    with gateway.connect("10.1.2.3") as moved, gateway.connect("10.2.0.1") as stays, \
            gateway.connect() as itself:
        write(path, "10.1.0.0/16 = place:one\n10.1.2.3 = place:elsewhere\n"
                    "10.2.0.0/16 = place:two, topic:food\n")
        push = moved.receive()
        assert push.id == 0 and list(push.here_changed.labels) == ["place:elsewhere"]
        assert list(itself.receive().here_changed.labels) == ["place:default"]
        assert labels_of(moved) == ["place:elsewhere"]
        assert labels_of(stays) == ["place:two", "topic:food"] and stays.pushes == []


def test_a_gateway_is_told_which_deposits_are_taken(make_gateway):
    """By the operator's word and by a reload; only who speaks for itself is told."""
    gateway = make_gateway()
    with gateway.connect() as itself, gateway.connect("10.1.2.3") as phone, \
            gateway.daemon.administrator() as operator:
        for mode in ("closed", "review", "open"):
            operator.call(pb.Accept(mode=mode))
            push = itself.receive()
            assert push.id == 0 and push.accept_changed.host == "default"
            assert push.accept_changed.accept == pb.Acceptance.Value(mode.upper())
            assert not push.accept_changed.HasField("accept_until_ms")
        operator.call(pb.Accept(mode="auto"))  # open, as before
        with open(gateway.daemon.config_file, "a", encoding="utf-8") as file:
            file.write("[host default]\naccept = review\n")
        operator.call(pb.Reload())
        assert itself.receive().accept_changed.accept == pb.REVIEW
        assert phone.call(pb.Ping()) and phone.pushes == []
        assert operator.pushes == []


def test_a_gateway_is_told_the_notices(make_gateway):
    """Behind the greeting, with each change, and at the end; only who speaks for itself is told."""
    gateway = make_gateway()
    with gateway.daemon.administrator() as operator:
        operator.call(pb.Notice(text="one"))
        with gateway.connect() as itself, gateway.connect("10.1.2.3") as phone:
            def told():
                push = itself.receive()
                assert push.id == 0 and push.notices_changed.host == "default"
                return [notice.text for notice in push.notices_changed.notices]

            assert told() == ["one"]
            now = operator.call(pb.Ping()).now_ms
            operator.call(pb.Notice(text="two", until_ms=now + 2000 * int(wire.SLOWNESS)))
            assert told() == ["one", "two"]
            assert told() == ["one"]
            operator.call(pb.Notice(drop=1))
            assert told() == []
            assert phone.call(pb.Ping()) and phone.pushes == [] and operator.pushes == []


def test_a_bad_line_is_left_out(places):
    """The line is named, and the others count; a table of wrong lines is not taken."""
    gateway, path = places
    with gateway.connect("10.1.2.3") as client:
        write(path, "# new\n10.1.2.3/99 = place:x\n")
        gateway.daemon.wait_log(r"places: line 2: .*0 to 32; .*the here map stays as it was")
        assert labels_of(client) == ["place:one"]
        write(path, "10.1.2.3/99 = place:x\n10.1.0.0/16 = place:new\n10.9.0.0/16 = place:cu")
        gateway.daemon.wait_log(r"places: line 1: .*0 to 32; lines left out: 1")
        gateway.daemon.wait_log(r"places ends without a line feed")
        assert list(client.receive().here_changed.labels) == ["place:new"]


def test_a_reload_takes_the_table_away(places):
    """Without here_map, all are told the host's labels; no address is in the log."""
    gateway, path = places
    with gateway.connect("10.1.2.3") as client:
        with open(gateway.daemon.config_file, encoding="utf-8") as file:
            text = file.read()
        with open(gateway.daemon.config_file, "w", encoding="utf-8") as file:
            file.write(text.replace(f"here_map = {path}\n", ""))
        gateway.daemon.process.send_signal(conftest.signal.SIGHUP)
        assert list(client.receive().here_changed.labels) == ["place:default"]
    assert "10.1." not in gateway.daemon.log_text()


def test_a_large_table_is_read_beside_requests(places, rng):
    """65,536 lines are read while requests are answered."""
    gateway, path = places
    text = "".join(f"10.{i >> 12}.{i >> 4 & 255}.{(i & 15) * 16}/28 = place:p{i}\n"
                   for i in range(65536))
    with gateway.connect("10.1.2.3") as client:
        write(path, text)
        while not client.pushes:
            client.call(pb.Ping())
        assert list(client.pushes[0].here_changed.labels) == [f"place:p{1 << 12 | 2 << 4}"]
    gateway.daemon.wait_log(r"here map with 65536 prefixes")
