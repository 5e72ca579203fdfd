# SPDX-License-Identifier: Apache-2.0
"""Encrypted connections: against Python's ssl, `openssl s_client`, and the hearsay command."""

import hashlib
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import time
import warnings

import pytest

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb


def openssl(*args):
    return subprocess.run(["openssl", *args], capture_output=True, check=True, timeout=60).stdout


def version_of_openssl():
    return tuple(map(int, re.search(rb"OpenSSL (\d+)\.(\d+)", openssl("version")).groups()))


class Authority:
    """Certificates in a directory of their own: a root, and what it signed."""

    def __init__(self, directory):
        self.directory = str(directory)
        self.root = self.self_signed("root", "/CN=test root", ca=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def key(self, name):
        key = self.path(name + ".key")
        with open(key, "wb") as file:
            file.write(openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"))
        os.chmod(key, 0o600)
        return key

    def self_signed(self, name, subject, ca=False, hosts="DNS:localhost,IP:127.0.0.1"):
        """(certificate, key)."""
        key, certificate = self.key(name), self.path(name + ".pem")
        # Python from 3.13 on refuses an authority that does not name its key's usage.
        more = ["-addext", "basicConstraints=critical,CA:TRUE",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign"] if ca else [
            "-addext", f"subjectAltName={hosts}", "-addext", "basicConstraints=critical,CA:FALSE"]
        openssl("req", "-x509", "-new", "-key", key, "-out", certificate, "-days", "2", "-subj", subject,
                *more)
        return certificate, key

    def signed(self, name, hosts="DNS:localhost,IP:127.0.0.1", days=60):
        key, request = self.key(name), self.path(name + ".csr")
        certificate, extensions = self.path(name + ".pem"), self.path(name + ".ext")
        openssl("req", "-new", "-key", key, "-out", request, "-subj", f"/CN={name}")
        with open(extensions, "w", encoding="ascii") as file:
            file.write(f"subjectAltName={hosts}\nbasicConstraints=critical,CA:FALSE\n"
                       "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
        validity = ["-days", str(days)]
        if days < 0 and version_of_openssl() >= (3, 4):  # from then on it refuses fewer days than 0
            times = (time.gmtime(time.time() + shift * 86400) for shift in (days - 1, days))
            before, after = (time.strftime("%Y%m%d%H%M%SZ", one) for one in times)
            validity = ["-not_before", before, "-not_after", after]
        openssl("x509", "-req", "-in", request, "-CA", self.root[0], "-CAkey", self.root[1],
                "-CAcreateserial", "-out", certificate, *validity, "-extfile", extensions)
        return certificate, key


def pin_of(certificate):
    """SHA-256 of the public key, as RFC 7469 has it."""
    key = openssl("x509", "-in", certificate, "-noout", "-pubkey")
    with subprocess.Popen(["openssl", "pkey", "-pubin", "-outform", "DER"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        return hashlib.sha256(process.communicate(key)[0]).hexdigest()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


def config_of(identity, word="tls", more=""):
    return (f"listen = 127.0.0.1:0 {word}\ntls_certificate = {identity[0]}\n"
            f"tls_key = {identity[1]}\n{more}")


def port_of(daemon, word="tls"):
    return int(daemon.find_log(rf"listening on 127\.0\.0\.1:(\d+) {word}$").group(1))


def trusting(authority, identity=None, **limits):
    context = ssl.create_default_context(cafile=authority.root[0])
    for name, value in limits.items():
        setattr(context, name, value)
    if identity:
        context.load_cert_chain(*identity)
    return context


@pytest.fixture(scope="module")
def signed(authority):
    return authority.signed("server")


@pytest.fixture(scope="module")
def secured(module_daemons, signed):
    return module_daemons(config_of(signed))


@pytest.fixture
def command(make_daemon, secured, tmp_path):
    """The hearsay command with a home of its own, to the encrypted port."""
    os.makedirs(tmp_path / "home")
    return cli_runner.Cli(f"127.0.0.1:{port_of(secured)}", str(tmp_path / "home"))


# --- the daemon -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_speaks_both_versions(secured, authority, rng, version):
    """Deposits and answers, also ones of many records, over TLS 1.2 and 1.3."""
    context = trusting(authority, minimum_version=version, maximum_version=version)
    with wire.Client(("127.0.0.1", port_of(secured)), tls=context) as client:
        assert client.socket.version() == version.name.replace("_", ".")
        sent = [wire.deposit_of(rng, ["topic:tls"], payload=rng.randbytes(4000)) for _ in range(64)]
        for answer in client.pipeline(sent):
            assert answer.HasField("deposited"), answer
        found = client.call(wire.query_of(["topic:tls"], k=10, with_payload=True))
        by_id = {one.id: one.payload for one in sent}
        assert len(found.results) == 10
        assert all(by_id[one.id] == one.payload for one in found.results)


def test_older_versions_are_refused(secured, authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        wire.Client(("127.0.0.1", port_of(secured)), tls=context)


def test_with_openssl_s_client(secured, authority):
    """The certificate is verified, and bytes of the protocol come back."""
    hello = wire.frame(wire.request(pb.Hello(versions=[1]), 1))
    with subprocess.Popen(
        ["openssl", "s_client", "-quiet", "-verify_return_error", "-CAfile", authority.root[0],
         "-verify_hostname", "localhost", "-connect", f"127.0.0.1:{port_of(secured)}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(hello)
        process.stdin.flush()
        got = b""
        while len(got) < 4 or len(got) < 4 + int.from_bytes(got[:4], "big"):
            assert select.select([process.stdout], [], [], wire.PATIENCE)[0], "no answer"
            more = os.read(process.stdout.fileno(), 65536)
            assert more, process.stderr.read()
            got += more
        assert pb.Response.FromString(got[4:]).HasField("welcome")
        process.stdin.close()
        process.terminate()
        process.wait(wire.PATIENCE)


def test_handshake_byte_by_byte(secured, authority):
    """The client's side in memory, its bytes sent one at a time."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = trusting(authority).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with socket.create_connection(("127.0.0.1", port_of(secured)), wire.PATIENCE) as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def send():
            for byte in outgoing.read():
                stream.sendall(bytes([byte]))

        def until(step):
            while True:
                try:
                    result = step()
                    send()
                    return result
                except ssl.SSLWantReadError:
                    send()
                    got = stream.recv(7)
                    assert got, "the server ended"
                    incoming.write(got)

        until(ours.do_handshake)
        until(lambda: ours.write(wire.frame(wire.request(pb.Hello(versions=[1]), 1))))
        answer = b""
        while len(answer) < 4 or len(answer) < 4 + int.from_bytes(answer[:4], "big"):
            answer += until(lambda: ours.read(65536))
        assert pb.Response.FromString(answer[4:]).HasField("welcome")


def test_what_is_no_tls_is_ended(secured, authority):
    """Plain protocol, HTTP and noise on the encrypted port; the daemon goes on."""
    port = port_of(secured)
    for garbage in [wire.frame(wire.request(pb.Hello(versions=[1]), 1)), b"GET / HTTP/1.1\r\n\r\n",
                    bytes(range(256)) * 300, b"\x80\x2e\x01\x03\x03" + bytes(43),  # SSL 2's ClientHello
                    b"\x16\x03\x01\x40\x00" + b"\x01" * 20000]:
        with socket.create_connection(("127.0.0.1", port), wire.PATIENCE) as stream:
            try:
                stream.sendall(garbage)
                while stream.recv(65536):
                    pass
            except ConnectionError:
                pass
    with wire.Client(("127.0.0.1", port), tls=trusting(authority)) as client:
        client.call(pb.Ping())


def test_end_in_good_order(secured, authority):
    """After the last answer comes close_notify, so that nobody can cut answers off unnoticed."""
    with wire.Client(("127.0.0.1", port_of(secured)), hello=False,
                     tls=trusting(authority)) as client:
        client.socket.suppress_ragged_eofs = False  # an end without close_notify would raise
        client.send_bytes(wire.frame(b"\xff\xff"))
        (refusal,) = client.receive_until_end()
        assert refusal.error.code == pb.MALFORMED


def test_handshakes_have_a_deadline_and_a_bound(make_daemon, signed, authority):
    """Half a handshake ends after hello_timeout; more than tls_handshakes are not begun."""
    daemon = make_daemon(config_of(signed, more="[limits]\nhello_timeout = 1s\ntls_handshakes = 2\n"))
    port = port_of(daemon)
    halves = [socket.create_connection(("127.0.0.1", port), wire.PATIENCE) for _ in range(2)]
    for half in halves:
        half.sendall(b"\x16\x03\x01")
    with socket.create_connection(("127.0.0.1", port), wire.PATIENCE) as third:
        try:
            assert third.recv(1) == b"", "one more than the bound was taken"
        except ConnectionError:
            pass
    began = time.monotonic()
    for half in halves:
        try:
            assert half.recv(1) == b""
        except ConnectionError:
            pass
        half.close()
    assert time.monotonic() - began < 10
    with wire.Client(("127.0.0.1", port), tls=trusting(authority)) as client:
        client.call(pb.Ping())


def test_handshakes_that_never_come_are_said_once(make_daemon, signed, authority):
    """Silent connections: one line of the log for all of them, with the right reason, and a figure."""
    daemon = make_daemon(config_of(signed, more="[limits]\nhello_timeout = 1s\n"))
    port = port_of(daemon)
    silent = [socket.create_connection(("127.0.0.1", port), wire.PATIENCE) for _ in range(12)]

    def dropped(administrator, reason):
        return sum(one.value for one in administrator.call(pb.Stats()).figures
                   if one.name == f"dropped/{reason}/sessions_total")

    for one in silent:  # each is hung up on
        try:
            assert one.recv(1) == b""
        except ConnectionError:
            pass
        one.close()
    daemon.wait_log("handshake did not finish")  # written before the peer sees the end, read later
    lines = [line for line in daemon.log if "dropped" in line]
    assert len(lines) == 1, lines
    with daemon.administrator() as administrator:
        assert dropped(administrator, "handshake") == len(silent)
        assert dropped(administrator, "stuck") == dropped(administrator, "unread") == 0


def test_new_certificate_at_a_reload(make_daemon, authority):
    """SIGHUP takes the new one, sessions stay; one that is wrong is refused, and the old one stays."""
    first, second = authority.signed("first"), authority.signed("second")
    both = authority.path("both.pem"), authority.path("both.key")

    def put(identity):
        for source, target in zip(identity, both):
            with open(source, "rb") as old, open(target, "wb") as new:
                new.write(old.read())
        os.chmod(both[1], 0o600)

    def shown(daemon):
        with wire.Client(("127.0.0.1", port_of(daemon)), tls=trusting(authority)) as client:
            return client.socket.getpeercert(binary_form=True)

    def der(certificate):
        return openssl("x509", "-in", certificate, "-outform", "DER")

    def reload(daemon, pattern):
        mark = len(daemon.log)
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_log(pattern, mark)

    put(first)
    daemon = make_daemon(config_of(both))
    daemon.wait_log(f"TLS with .*, pin {pin_of(first[0])}")
    early = wire.Client(("127.0.0.1", port_of(daemon)), tls=trusting(authority))
    assert shown(daemon) == der(first[0])
    put(second)
    reload(daemon, "configuration reloaded")
    assert shown(daemon) == der(second[0])
    early.call(pb.Ping())
    early.close()

    put((first[0], second[1]))
    reload(daemon, "not reloaded, the old one stays: the key .* is not that of the certificate")
    put(second)
    with open(both[0], "w", encoding="ascii") as file:
        file.write("no certificate\n")
    reload(daemon, "not reloaded, the old one stays: cannot use the certificate ")
    assert shown(daemon) == der(second[0])


def test_client_certificates(make_daemon, signed, authority, tmp_path):
    """A listener with mutual-tls serves only who shows a certificate of those it knows."""
    friend, stranger = authority.signed("friend"), authority.self_signed("stranger", "/CN=stranger")
    daemon = make_daemon(config_of(signed, "mutual-tls", f"tls_client_ca = {authority.root[0]}\n"))
    address = ("127.0.0.1", port_of(daemon, "mutual-tls"))
    with wire.Client(address, tls=trusting(authority, friend)) as client:
        client.call(pb.Ping())
    for nobody in (None, stranger):
        with pytest.raises((ssl.SSLError, ConnectionError, wire.Ended)):
            wire.Client(address, tls=trusting(authority, nobody))

    os.makedirs(tmp_path / "home")
    command = cli_runner.Cli(f"127.0.0.1:{address[1]}", str(tmp_path / "home"))
    command.ok("--ca", authority.root[0], "--cert", friend[0], "--key", friend[1], "ping")
    code, _, err = command.run("--ca", authority.root[0], "ping")
    assert code == 3 and "asks for a client's certificate" in err, err
    code, _, err = command.run("--ca", authority.root[0], "--key", friend[1], "ping")
    assert code == 2 and "--key needs --cert" in err


def test_wrong_configurations(make_daemon, authority, signed):
    """Each is refused at the start, in words that name the file."""
    open_key = authority.path("open.key")
    with open(signed[1], "rb") as old, open(open_key, "wb") as new:
        new.write(old.read())
    os.chmod(open_key, 0o644)
    locked_key, no_key = authority.path("locked.key"), authority.path("no.key")
    openssl("pkey", "-in", signed[1], "-aes256", "-passout", "pass:secret", "-out", locked_key)
    with open(no_key, "w", encoding="ascii") as new:
        new.write("no key\n")
    os.chmod(no_key, 0o600)
    cases = [
        ("listen = 127.0.0.1:0 tls\n", 2, "needs `tls_certificate`"),
        (f"listen = 127.0.0.1:0 tls\ntls_certificate = {signed[0]}\n", 2, "needs `tls_key`"),
        (config_of(signed, "mutual-tls"), 2, "needs `tls_client_ca`"),
        (config_of(signed, "ssl"), 2, "`ssl` may not follow an address"),
        (config_of(("/nowhere.pem", signed[1])), 1, "cannot use the certificate /nowhere.pem"),
        (config_of((signed[0], "/nowhere.key")), 1, "cannot read the key /nowhere.key"),
        (config_of((signed[0], open_key)), 1, "others may read or change the key"),
        (config_of((signed[0], locked_key)), 1, "locked.key: it has a passphrase; `openssl pkey"),
        (config_of((signed[0], no_key)), 1, "no.key: it is no PEM file with a key"),
        (config_of((signed[1], signed[1])), 1, "it is no PEM file with a certificate"),
        (config_of((signed[0], signed[0])), 1, "others may read or change the key"),
        (config_of(signed, "mutual-tls", "tls_client_ca = /nowhere\n"), 1,
         "cannot use the certificates in /nowhere"),
    ]
    for config, code, sentence in cases:
        daemon = make_daemon(config, start=False).launch()
        assert daemon.wait_exit() == code, sentence
        assert sentence in daemon.log_text()


def not_after_ms(certificate):
    line = openssl("x509", "-in", certificate, "-noout", "-enddate").decode().strip()
    return int(ssl.cert_time_to_seconds(line.removeprefix("notAfter="))) * 1000


def test_check_config_looks_at_what_is_named(make_daemon, authority):
    """--check-config: the user, the files and the certificate's end, all in one go."""
    idle = make_daemon(start=False)

    def check(config):
        idle.configure(config)
        return idle.run("--config", idle.config_file, "--data", idle.data, "--check-config")

    good, soon = authority.signed("good"), authority.signed("soon", days=5)
    expired = authority.signed("gone", days=-1)
    code, out, err = check(config_of(good))
    assert code == 0 and "correct" in out and err == ""
    code, out, err = check(config_of(soon))
    assert code == 0 and "correct" in out
    assert re.search(f"warning: the certificate {soon[0]} expires on .*, in [45] days", err), err
    code, out, err = check(config_of(expired, more="user = nobody-4711\n"))
    assert code == 2 and out == ""
    assert len(err.splitlines()) == 2, err
    assert "there is no user `nobody-4711`" in err and f"{expired[0]} expired on " in err
    code, out, err = check(config_of((authority.path("none.pem"), good[1])))
    assert code == 2 and out == "" and authority.path("none.pem") in err
    code, out, err = check(config_of((good[0], soon[1])))
    assert code == 2 and out == "" and "is not that of the certificate" in err
    assert not os.path.exists(idle.data)


def test_the_end_of_a_certificate_is_said(make_daemon, authority):
    """At the start and at a reload: a warning when it has expired or soon does; and the figure."""
    expired, soon, good = (authority.signed(f"end{days}", days=days) for days in (-1, 5, 60))
    daemon = make_daemon(config_of(expired))
    warned = "warning: the certificate "
    assert daemon.find_log(rf"{warned}{expired[0]} expired on ")
    for identity, pattern in ((soon, rf"{warned}{soon[0]} expires on .*, in [45] days"), (good, None)):
        mark = len(daemon.log)
        daemon.configure(config_of(identity))
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_log("configuration reloaded", mark)
        with daemon.administrator() as administrator:
            found = {one.name: one.value for one in administrator.call(pb.Stats()).figures}
        assert found["certificate_not_after_timestamp_ms"] == not_after_ms(identity[0])
        assert daemon.find_log(pattern or warned, mark) if pattern else not daemon.find_log(
            warned, mark)
    end = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(not_after_ms(good[0]) / 1000))
    cli = cli_runner.of_daemon(daemon, unix=True)
    assert f"\nTLS        the certificate expires on {end}\n" in cli.ok("admin", "stats")
    line = f"\nhearsay_certificate_not_after_timestamp_seconds {not_after_ms(good[0]) // 1000}.000\n"
    text = cli.ok("admin", "stats", "--prometheus")
    assert line in text
    # The series that are not of a host are 41 at most.
    assert sum(each[0] != "#" and "host=" not in each for each in text.splitlines()) == 41


# --- the command ----------------------------------------------------------------------------------


def test_command_with_an_authority(command, authority):
    """--ca: the name must fit; with the system's roots alone it is not believed by certificate."""
    command.ok("--ca", authority.root[0], "deposit", "-l", "topic:cli", "over TLS")
    assert "over TLS" in command.ok("--ca", authority.root[0], "query", "-l", "topic:cli")
    code, _, err = command.run("--ca", authority.self_signed("other", "/CN=other", ca=True)[0], "ping")
    assert code == 3 and "not to be believed" in err, err
    code, _, err = command.run("--ca", "/nowhere.pem", "ping")
    assert code == 1 and "/nowhere.pem" in err


def test_command_checks_the_name(make_daemon, authority, tmp_path):
    daemon = make_daemon(config_of(authority.signed("elsewhere", "DNS:elsewhere.example")))
    os.makedirs(tmp_path / "home")
    command = cli_runner.Cli(f"127.0.0.1:{port_of(daemon)}", str(tmp_path / "home"))
    code, _, err = command.run("--ca", authority.root[0], "ping")
    assert code == 3 and "not to be believed" in err and "mismatch" in err, err


def test_command_with_a_pin(command, signed):
    pin = pin_of(signed[0])
    command.ok("--pin", pin, "ping")
    command.ok("--pin", ":".join(re.findall("..", pin.upper())), "ping")
    code, _, err = command.run("--pin", "00" * 32, "ping")
    assert code == 3 and f"its pin is {pin}" in err, err
    command.ok("--pin", "00" * 32, "--pin", pin, "ping")  # while a key changes
    command.ok("--pin", pin, "ping", "--pin", "00" * 32)
    code, _, err = command.run("--pin", "00" * 32, "--pin", "11" * 32, "ping")
    assert code == 3 and f"its pin is {pin}" in err, err
    code, _, err = command.run("--pin", pin, "--pin", pin[:-1], "ping")
    assert code == 2 and "is no pin" in err
    code, _, err = command.run("--pin", pin[:-1], "ping")
    assert code == 2 and "is no pin" in err
    code, _, err = command.run("--pin", pin[:-1], "--server", "127.0.0.1:1", "ping")  # nobody is there
    assert code == 2 and "is no pin" in err


def test_command_trusts_on_first_use(make_daemon, authority, tmp_path):
    """Met once, known from then on; another key is refused until its line is removed."""
    first = authority.self_signed("tofu1", "/CN=access point")
    daemon = make_daemon(config_of(first))
    port = port_of(daemon)
    os.makedirs(tmp_path / "home")
    command = cli_runner.Cli(f"127.0.0.1:{port}", str(tmp_path / "home"))
    code, _, err = command.run("--tls", "ping")
    assert code == 0 and "for the first time" in err and pin_of(first[0]) in err, err
    code, _, err = command.run("--tls", "ping")
    assert code == 0 and err == ""
    known = os.path.join(command.home, "state/hearsay/known_servers")
    assert os.stat(known).st_mode & 0o777 == 0o600
    with open(known, encoding="ascii") as file:
        assert file.read() == f"127.0.0.1:{port} {pin_of(first[0])}\n"

    second = authority.self_signed("tofu2", "/CN=access point")
    with open(known, "w", encoding="ascii") as file:
        file.write(f"# mine\n\nother:1 {'ab' * 32}\n127.0.0.1:{port} {pin_of(second[0])}\n")
    code, _, err = command.run("--tls", "ping")
    assert code == 3 and "another key than before" in err and known in err, err
    assert f"hearsay known remove 127.0.0.1:{port}" in err
    assert command.json_lines("known", "--json") == [
        {"server": "other:1", "pin": "ab" * 32},
        {"server": f"127.0.0.1:{port}", "pin": pin_of(second[0])}]
    assert command.ok("known").splitlines()[1] == f"127.0.0.1:{port} {pin_of(second[0])}"
    command.ok("known", "remove", f"127.0.0.1:{port}")
    with open(known, encoding="ascii") as file:
        assert file.read() == f"# mine\n\nother:1 {'ab' * 32}\n"
    code, _, err = command.run("--tls", "ping")
    assert code == 0 and "for the first time" in err
    with open(known, encoding="ascii") as file:
        assert pin_of(first[0]) in file.read()
    with open(known, "w", encoding="ascii") as file:
        file.write(f"127.0.0.1:{port}\n")
    code, _, err = command.run("--tls", "ping")
    assert code == 1 and f"{known}:1:" in err, err


def test_known_servers_are_removed_by_name(tmp_path):
    """A host without a port is that of the default port; what is not there is said; nothing is
    removed from a file that cannot be read as one."""
    command = cli_runner.Cli("127.0.0.1:1", str(tmp_path))
    assert command.ok("known") == ""
    code, _, err = command.run("known", "remove", "cafe")
    assert code == 1 and "cafe is not known" in err
    known = tmp_path / "state/hearsay/known_servers"
    known.parent.mkdir(parents=True)
    lines = [f"{name} {'%02x' % i * 32}\n" for i, name in enumerate(
        ["cafe:7117", "cafe:7118", "[fd00::1]:7117", "192.168.8.1:7117"])]
    known.write_text("".join(lines))
    for i, name in ((0, "cafe"), (2, "fd00::1"), (3, "192.168.8.1:7117")):
        command.ok("known", "remove", name)
        lines[i] = ""
        assert known.read_text() == "".join(lines)
    for words, what in ((["remove"], "missing"), (["remove", "/run/x"], "Unix socket"),
                        (["forget", "cafe"], "remove"), (["remove", "a", "b"], "too many")):
        code, _, err = command.run("known", *words)
        assert code == 2 and what in err, err
    known.write_text("cafe:7117 12\n")
    for words in ([], ["remove", "cafe"]):
        code, _, err = command.run("known", *words)
        assert code == 1 and f"{known}:1:" in err
    assert known.read_text() == "cafe:7117 12\n"


def test_the_pin_of_a_certificate(authority, signed, tmp_path):
    """admin pin says what the daemon logs, also for a certificate renewed with the same key."""
    command = cli_runner.Cli("127.0.0.1:1", str(tmp_path))
    assert command.ok("admin", "pin", signed[0]) == pin_of(signed[0]) + "\n"
    renewed = str(tmp_path / "renewed.pem")
    openssl("req", "-x509", "-new", "-key", signed[1], "-out", renewed, "-days", "3", "-subj",
            "/CN=renewed")
    assert command.ok("admin", "pin", renewed) == pin_of(signed[0]) + "\n"
    code, _, err = command.run("admin", "pin", signed[1])
    assert code == 1 and signed[1] in err
    assert command.run("admin", "pin")[0] == 2


def test_command_meets_the_wrong_port(secured, command, tmp_path):
    """TLS to a plain port, and plain to an encrypted one: each says what it may be."""
    plain = cli_runner.Cli(f"127.0.0.1:{secured.port}", command.home)
    code, _, err = plain.run("--tls", "ping")
    assert code == 3 and "does not speak TLS" in err, err
    code, _, err = command.run("ping")
    assert code == 3 and "may want TLS" in err, err
    unix = cli_runner.Cli(secured.socket_path, command.home)
    code, _, err = unix.run("--tls", "ping")
    assert code == 2 and "needs no TLS" in err, err


def test_command_pipelines_over_tls(command, authority, tmp_path):
    """Thousands of messages through one connection, and back."""
    lines = "".join(f'{{"labels": ["topic:n{i % 50}"], "text": "message {i}"}}\n' for i in range(3000))
    command.ok("--ca", authority.root[0], "import", "-", stdin=lines)
    found = command.json_lines("--ca", authority.root[0], "query", "-l", "topic:n7", "-k", "60", "--json")
    assert len(found) == 60 and all(one["distance"] == 0 for one in found)
