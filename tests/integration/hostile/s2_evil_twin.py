# SPDX-License-Identifier: Apache-2.0
"""S2: a server that imitates an access point gives a client a key of its own for an epoch.

Store id, host and epoch number are in every Welcome, so anybody can send them. The victim is the
hearsay command. It meets the imitator once. Afterwards no message of the victim may be keyed with
the planted key, and the keys that other servers gave must still be there.
"""

import os
import re
import ssl

import pytest

import certificates
import cli_runner
import fake_server
import hearsay_wire as wire
from hearsay_wire import pb

HERE = ["wifi:a4:2b:8c:01:02:03", "wifi:a4:2b:8c:01:02:04", "geo:u281zd", "topic:coffee"]
ON = [word for label in HERE for word in ("-l", label)] + ["--no-here"]
LONG = "[host default]\nepoch_length = 365d\nepoch_keep = 365d\n"
PLANTED = bytes(range(32))
VISITS = 66  # by each of which 64 keys can be given: more than 4,096


class Twin(fake_server.FakeServer):
    """Answers with the Welcome that it is given; keeps the deposits that it gets."""

    def __init__(self, welcome, tls=None):
        self.welcome, self.deposits = welcome, []
        super().__init__(tls)

    def answer(self, request):
        kind = request.WhichOneof("body")
        if kind == "hello":
            return pb.Response(id=request.id, welcome=self.welcome)
        if kind == "deposit":
            self.deposits.append(request.deposit)
            return pb.Response(id=request.id, deposited=pb.Deposited(
                expires_ms=self.welcome.now_ms, durability=pb.ON_STORAGE))
        if kind == "query":
            return pb.Response(id=request.id, results=pb.Results(exact=True))
        return pb.Response(id=request.id, error=pb.Error(code=pb.UNSUPPORTED, message="no"))


def imitate(welcome, key=PLANTED):
    """The Welcome of another server, with another key for its current epoch."""
    twin = pb.Welcome()
    twin.CopyFrom(welcome)
    twin.hosts[0].epoch.key = key
    return twin


@pytest.fixture
def daemon(make_daemon):
    """Its TCP listener is for those on site, its Unix socket stands for anywhere else."""
    daemon = make_daemon(LONG, start=False)
    with open(daemon.config_file, encoding="utf-8") as file:
        text = file.read()
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(text.replace("127.0.0.1:0\n", "127.0.0.1:0 local\n"))
    return daemon.start()


def victims(daemon, *servers):
    """The hearsay command with one home, for several servers."""
    home = os.path.join(daemon.directory, "home")
    os.makedirs(home, exist_ok=True)
    return [cli_runner.Cli(server, home) for server in servers]


def stored(client, number, key):
    """What lies exactly at HERE in an epoch, keyed with `key`."""
    part = pb.QueryPart(epoch=number, filter=wire.filter_of(HERE, keys=(key,) if key else ()))
    found = client.call(pb.Query(k=100, parts=[part], max_distance=0, with_payload=True))
    return sorted(result.payload.decode() for result in found.results)


def test_planted_before_a_deposit_on_site(daemon):
    """Whoever has been at an imitator deposits on site with the key that the site gives, and is
    told that the other one was wrong."""
    with daemon.client() as client:
        welcome = client.welcome
    epoch = welcome.hosts[0].epoch
    with Twin(imitate(welcome)) as twin:
        at_twin, on_site = victims(daemon, f"127.0.0.1:{twin.port}", f"127.0.0.1:{daemon.port}")
        assert at_twin.run("query", *ON)[0] == 1
        code, _, err = on_site.run("deposit", *ON, "private")
        assert code == 0, err
    with daemon.client() as client:
        assert stored(client, epoch.number, PLANTED) == []
        assert stored(client, epoch.number, epoch.key) == ["private"]
    assert "another key than before" in err
    code, _, err = on_site.run("query", *ON)
    assert code == 0 and "another key" not in err, "the warning is given once"


def test_planted_before_a_deposit_from_elsewhere(daemon):
    """Without TLS a stored key may be anybody's: nothing is deposited with it, and it is asked with
    only beside the same labels in the open."""
    with daemon.administrator() as client:
        welcome = client.welcome
    number = welcome.hosts[0].epoch.number
    assert not welcome.hosts[0].epoch.HasField("key")
    with Twin(imitate(welcome)) as twin:
        at_twin, elsewhere = victims(daemon, f"127.0.0.1:{twin.port}", daemon.socket_path)
        assert at_twin.run("query", *ON)[0] == 1
    line = '{"labels": ["%s"], "text": "imported"}\n' % '", "'.join(HERE)
    codes = [elsewhere.run("deposit", *ON, "private")[0],
             elsewhere.run("import", "-", stdin=line)[0],
             elsewhere.run("query", *ON, "--epoch", "current")[0]]
    with daemon.client() as client:
        assert stored(client, number, PLANTED) == []
        assert stored(client, 0, None) == [], "it does not go to the open epoch unasked, either"
    assert codes == [2, 1, 2]
    _, _, err = elsewhere.run("deposit", *ON, "private")
    assert "without --tls" in err and "--epoch open" in err
    elsewhere.ok("deposit", *ON, "--epoch", "open", "public")
    assert "public" in elsewhere.ok("query", *ON)


def test_an_epoch_that_never_was(daemon):
    """A key for an epoch that the true server does not have ends neither query nor watch."""
    with daemon.administrator() as client:
        welcome = client.welcome
    planted = imitate(welcome)
    planted.hosts[0].epoch.number += 1000
    with Twin(planted) as twin:
        at_twin, on_site = victims(daemon, f"127.0.0.1:{twin.port}", f"127.0.0.1:{daemon.port}")
        assert at_twin.run("query", *ON)[0] == 1
    on_site.ok("deposit", *ON, "private")
    assert "private" in on_site.ok("query", *ON)
    code, out, err = on_site.run("watch", *ON, "--after-seq", "0", "--count", "1")
    assert code == 0 and "private" in out, err
    assert "current one only" in err


def test_keys_are_not_pushed_out(daemon, rng):
    """66 visits to a hostile server, that gives 64 keys each, under one store id or under many:
    what was said at another access point is still found from elsewhere."""
    with daemon.client() as client:
        welcome = client.welcome
    on_site, elsewhere = victims(daemon, f"127.0.0.1:{daemon.port}", daemon.socket_path)
    on_site.ok("deposit", *ON, "private")
    assert "private" in elsewhere.ok("query", *ON)
    hostile = pb.Welcome()
    hostile.CopyFrom(welcome)
    del hostile.hosts[:]
    for h in range(64):
        host = hostile.hosts.add()
        host.CopyFrom(welcome.hosts[0])
        host.name = f"h{h}"
    with Twin(hostile) as twin:
        (at_twin,) = victims(daemon, f"127.0.0.1:{twin.port}")
        for store_ids in (1, VISITS):
            for visit in range(VISITS):
                hostile.store_id = b"hostile%9d" % (visit % store_ids)
                for host in hostile.hosts:
                    host.epoch.number = visit + 1
                    host.epoch.key = rng.randbytes(32)
                assert at_twin.run("query", *ON)[0] == 1
            assert "private" in elsewhere.ok("query", *ON), f"{store_ids} store ids"


# --- with TLS -------------------------------------------------------------------------------------


@pytest.fixture
def secured(make_daemon, tmp_path):
    """Encrypted listeners for those on site, and for others."""
    return make_daemon("listen = 127.0.0.1:0 tls\nlisten = 127.0.0.1:0 tls local\n" +
                       certificates.config_lines(tmp_path) + LONG)


def tls_twin(welcome, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificates.self_signed(tmp_path, "twin"))
    return Twin(imitate(welcome), context)


def look_at(daemon):
    """(port for others, port for those on site, the Welcome that the latter get)."""
    context = certificates.any_server()
    welcomes = {}
    for line in daemon.log:
        match = re.search(r"listening on 127\.0\.0\.1:(\d+) tls", line)
        if match:
            port = int(match.group(1))
            with wire.Client(("127.0.0.1", port), tls=context) as client:
                welcomes[port] = client.welcome
    elsewhere, on_site = sorted(
        welcomes, key=lambda port: welcomes[port].hosts[0].epoch.HasField("key"))
    assert not welcomes[elsewhere].hosts[0].epoch.HasField("key")
    return elsewhere, on_site, welcomes[on_site]


@pytest.mark.parametrize("plain", [False, True])
def test_planted_under_another_pin(secured, tmp_path, plain):
    """With TLS a key belongs to the pin of the server that gave it: one that was planted under
    another pin, or without TLS, is not used at the true server, from elsewhere."""
    port, _, welcome = look_at(secured)
    number = welcome.hosts[0].epoch.number
    with Twin(imitate(welcome)) if plain else tls_twin(welcome, tmp_path) as twin:
        at_twin, elsewhere = victims(secured, f"127.0.0.1:{twin.port}", f"127.0.0.1:{port}")
        words = [] if plain else ["--tls"]
        assert at_twin.run("query", *words, *ON)[0] == 1
    elsewhere.ok("deposit", "--tls", *ON, "private")
    with secured.client() as client:
        assert stored(client, number, PLANTED) == []
        assert stored(client, number, welcome.hosts[0].epoch.key) == []
        assert stored(client, 0, None) == ["private"], "no key of this server is known"


def test_a_true_key_outlives_an_imitator(secured, tmp_path):
    """The key that was given on site is used from elsewhere, whoever gave another one meanwhile.
    It is not used where there is no TLS, though store and host are the same."""
    port, site_port, welcome = look_at(secured)
    epoch = welcome.hosts[0].epoch
    with tls_twin(welcome, tmp_path) as twin, Twin(imitate(welcome)) as plain_twin:
        on_site, at_twin, at_plain_twin, elsewhere, plainly = victims(
            secured, *(f"127.0.0.1:{number}" for number in (
                site_port, twin.port, plain_twin.port, port, secured.port)))
        on_site.ok("deposit", "--tls", *ON, "first")
        assert at_twin.run("query", "--tls", *ON)[0] == 1
        assert at_plain_twin.run("query", *ON)[0] == 1
        code, _, err = at_plain_twin.run("deposit", *ON, "to the imitator")
        assert code == 0, err
        assert [deposit.filter for deposit in plain_twin.deposits] == [
            wire.filter_of(HERE, keys=(PLANTED,))], "not keyed with the other server's key"
    elsewhere.ok("deposit", "--tls", *ON, "later")
    assert "first" in elsewhere.ok("query", "--tls", *ON, "--epoch", "current")
    assert plainly.run("deposit", *ON, "unsafe")[0] == 2
    with secured.client() as client:
        assert stored(client, epoch.number, epoch.key) == ["first", "later"]
        assert stored(client, epoch.number, PLANTED) == []
