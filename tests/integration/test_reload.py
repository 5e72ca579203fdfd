# SPDX-License-Identifier: Apache-2.0
"""What a reload opens and closes: listeners and hosts; and that a refused one changes nothing."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import tempfile

import pytest

import conftest
import hearsay_wire as wire
import held_port
from hearsay_wire import pb

USER = "nobody"

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@pytest.fixture
def free_port():
    """Returns a function: address to a port that no other program gets as long as the test runs."""
    with contextlib.ExitStack() as held:
        yield lambda address="127.0.0.1": held.enter_context(
            held_port.hold(address)).getsockname()[1]


def reload(daemon, config=None, listen=None, done="configuration reloaded"):
    """Has the daemon read a new configuration, and waits until it says what came of it."""
    if listen is not None:
        with open(daemon.config_file, "w", encoding="utf-8") as file:
            lines = "".join(f"listen = {one}\n" for one in listen)
            file.write(f"[daemon]\n{lines}{config or ''}")
    elif config is not None:
        daemon.configure(config)
    mark = len(daemon.log)
    daemon.process.send_signal(signal.SIGHUP)
    return daemon.wait_log(done, mark)


REFUSED = "configuration not reloaded, the old one stays: "


def is_open(address):
    with socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET) as one:
        try:
            one.connect(address)
        except OSError:
            return False
        return True


# --- listeners ------------------------------------------------------------------------------------


def test_listeners_come_and_go(make_daemon, rng, free_port):
    """New addresses and sockets are open after a reload, old ones closed; who is connected stays."""
    daemon = make_daemon(start=False)
    first, second = free_port(), free_port("127.0.0.2")
    other = daemon.socket_path + "2"
    reload_to = [f"127.0.0.2:{second}", other]
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(f"[daemon]\nlisten = 127.0.0.1:{first}\nlisten = {daemon.socket_path}\n")
    daemon.launch().wait_log("ready: ")
    with wire.Client(("127.0.0.1", first)) as early, wire.Client(daemon.socket_path) as operator:
        reload(daemon, listen=reload_to)
        daemon.wait_log(f"no longer listening on 127.0.0.1:{first}$")
        assert daemon.find_log(f"listening on 127.0.0.2:{second}$")
        assert not is_open(("127.0.0.1", first)) and not os.path.exists(daemon.socket_path)
        assert stat.S_IMODE(os.stat(other).st_mode) == 0o600
        with wire.Client(("127.0.0.2", second)) as client, wire.Client(other) as administrator:
            sent = wire.deposit_of(rng, ["a:b"])
            client.call(sent)
            assert early.call(pb.Get(id=sent.id)).payload == sent.payload, "it stays connected"
            for one in (operator, administrator):
                assert one.call(pb.LogLevel()).level == "info"
    reload(daemon, listen=[f"127.0.0.1:{first}", daemon.socket_path, *reload_to])
    for address in (("127.0.0.1", first), ("127.0.0.2", second), daemon.socket_path, other):
        assert is_open(address)
    for _ in range(40):  # again and again: places are free when the old ones are closed
        reload(daemon, listen=[f"127.0.0.1:{first}", daemon.socket_path])
        reload(daemon, listen=reload_to)
    assert is_open(("127.0.0.2", second)) and not is_open(("127.0.0.1", first))


def test_unchanged_listeners_stay(make_daemon):
    """What stands in both configurations is the same socket: port 0 keeps its port."""
    daemon = make_daemon()
    before = os.stat(daemon.socket_path).st_ino
    reload(daemon, "[limits]\nk = 5\n")
    assert is_open(daemon.address) and os.stat(daemon.socket_path).st_ino == before
    assert len([line for line in daemon.log if line and "listening on" in line]) == 2


def test_words_of_a_listener(make_daemon):
    """`local` behind an address that stays holds for who comes from now on."""
    daemon = make_daemon("[host default]\nepoch_length = 1h\n")
    address, path = "127.0.0.1:0", daemon.socket_path
    hosts = "[host default]\nepoch_length = 1h\n"

    def is_given_the_key():
        with daemon.client() as client:
            return client.welcome.hosts[0].epoch.HasField("key")

    assert not is_given_the_key()
    reload(daemon, hosts, listen=[f"{address} local", path])
    assert is_given_the_key()
    reload(daemon, hosts, listen=[address, path])
    assert not is_given_the_key()


def test_an_address_that_is_taken(make_daemon, free_port):
    """The reload is refused as a whole: neither the other address opens nor anything else changes."""
    daemon = make_daemon()
    free = free_port("127.0.0.3")
    with socket.socket() as other:
        other.bind(("127.0.0.2", 0))
        other.listen()
        taken = other.getsockname()[1]
        reload(daemon, "[limits]\nk = 5\n", done=REFUSED + ".*another program has it",
               listen=[f"127.0.0.3:{free}", f"127.0.0.2:{taken}"])
    assert is_open(daemon.address) and is_open(daemon.socket_path)
    assert not is_open(("127.0.0.3", free))
    with daemon.client() as client:
        assert client.welcome.limits.k_max == 100
    reload(daemon, "[limits]\nk = 5\n", listen=[f"127.0.0.3:{free}", f"127.0.0.2:{taken}"])
    assert is_open(("127.0.0.3", free)) and is_open(("127.0.0.2", taken))


def test_a_certificate_that_is_not_there(make_daemon, free_port, tmp_path):
    """Keys are read after addresses were opened: what was opened is closed again."""
    daemon = make_daemon()
    free = free_port("127.0.0.3")
    reload(daemon, f"tls_certificate = {tmp_path}/none\ntls_key = {tmp_path}/none\n",
           listen=[f"127.0.0.3:{free} tls", daemon.socket_path], done=REFUSED)
    assert is_open(daemon.address) and not is_open(("127.0.0.3", free))


def test_all_addresses_instead_of_one(make_daemon, free_port):
    """The kernel does not let both be there for a moment: the sentence says that it is us."""
    daemon = make_daemon(start=False)
    port = free_port()
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(f"[daemon]\nlisten = 127.0.0.1:{port}\nlisten = {daemon.socket_path}\n")
    daemon.launch().wait_log("ready: ")
    reload(daemon, listen=[f"0.0.0.0:{port}", daemon.socket_path],
           done=REFUSED + ".*already in use; hearsayd has that port with another address itself.*needs a restart")
    assert is_open(("127.0.0.1", port))


def test_all_addresses_beside_one_at_the_start(make_daemon, free_port):
    """Whoever adds all addresses to the lines of loopback looks for no other program."""
    daemon = make_daemon(start=False)
    port = free_port()
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(f"[daemon]\nlisten = 127.0.0.1:{port}\nlisten = 0.0.0.0:{port}\n")
    daemon.launch().wait_log("already in use; hearsayd has that port with another line itself")
    assert daemon.wait_exit() == 1


def test_a_key_that_is_gone(make_daemon):
    """A user or a path that the new file does not name any more."""
    daemon = make_daemon("[daemon]\ngateway_user = daemon\n")
    reload(daemon, "", done=REFUSED + ".*`gateway_user` is not set any more, which needs a restart")


@only_root
def test_ports_of_root(make_daemon):
    """Below 1024 after privileges were given up: refused, and why."""
    directory = tempfile.mkdtemp(prefix="hearsay-reload-", dir="/var/tmp")
    try:
        os.chown(directory, pwd.getpwnam(USER).pw_uid, -1)
        daemon = make_daemon(start=False, data=os.path.join(directory, "data"))
        daemon.config_file = os.path.join(directory, "hearsayd.conf")
        path = os.path.join(directory, "socket")
        base = f"[daemon]\nuser = {USER}\nlisten = 127.0.0.1:0\nlisten = {path}\n"
        with open(daemon.config_file, "w", encoding="utf-8") as file:
            file.write(base)
        os.chmod(daemon.config_file, 0o644)
        os.chmod(directory, 0o755)
        daemon.start()
        with open(daemon.config_file, "a", encoding="utf-8") as file:
            file.write("listen = 127.0.0.2:817\n")
        reload(daemon, done=REFUSED + ".*ports below 1024 are root's.*a reload cannot bind")
        assert is_open(daemon.address)
    finally:
        shutil.rmtree(directory)


def test_freebind(make_daemon):
    """An address that the machine does not have yet: an error that names the word; with the word it
    is listened on, and reached as soon as it is there."""
    inside = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    probe = subprocess.run([*inside, "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("no network namespaces here")
    daemon = make_daemon(wrapper=inside, start=False)
    daemon.launch().wait_log("ready: ")
    path, addresses = daemon.socket_path, ["192.0.2.1:7117", "[2001:db8::1]:7117"]
    reload(daemon, listen=[addresses[0], path],
           done=REFUSED + ".*no such address: .*or write freebind behind one that it will have")
    reload(daemon, listen=[*(f"{address} freebind" for address in addresses), path])
    assert daemon.find_log(r"listening on 192\.0\.2\.1:7117 freebind$")
    enter = ["nsenter", "--net", "--target", str(daemon.process.pid)]
    for address, server in (("192.0.2.1/32", addresses[0]), ("2001:db8::1/128", addresses[1])):
        subprocess.run([*enter, "ip", "address", "add", address, "dev", "lo"], check=True)
        done = subprocess.run([*enter, conftest.program(conftest.HEARSAY), "--server", server,
                               "ping"], capture_output=True, text=True, check=False,
                              timeout=wire.PATIENCE)
        assert done.returncode == 0, done.stderr


# --- hosts ----------------------------------------------------------------------------------------


def test_added_hosts_are_opened(make_daemon, rng, tmp_path):
    """Messages, labels of what is around, epochs; and all of that after a restart, too."""
    daemon = make_daemon("[host lobby]\n", start=False).make_local().start()
    here = tmp_path / "here"
    here.write_text("geo:u281zd\n")
    more = (f"[host lobby]\n[host roof]\nhere_file = {here}\nmessages = 7\n"
            "[host cellar]\nprofile = v2:256/3\nepoch_length = 1h\n")
    with daemon.client() as early:
        reload(daemon, more)
        daemon.wait_log("host roof is open")
        daemon.wait_log("host cellar is open")
        sent = wire.deposit_of(rng, ["a:b"], host="roof")
        early.call(sent)
    deep = wire.deposit_of(rng, ["a:b"], profile="v2:256/3", host="cellar")
    with daemon.client() as client:
        hosts = {host.name: host for host in client.welcome.hosts}
        assert list(hosts) == ["lobby", "roof", "cellar"]
        assert hosts["roof"].messages == 7 and list(hosts["roof"].here) == ["geo:u281zd"]
        assert hosts["cellar"].profile == "v2:256/3"
        client.call(deep)
        wire.wait_until(lambda: _has_epoch(daemon), "an epoch of the new host")
    with daemon.administrator() as administrator:
        checked = administrator.call(pb.Check())
        assert not checked.problems
    daemon.restart()
    with daemon.client() as client:
        assert client.call(pb.Get(id=sent.id, host="roof")).payload == sent.payload
        assert client.call(pb.Get(id=deep.id, host="cellar")).payload == deep.payload
        assert [host.name for host in client.welcome.hosts] == ["lobby", "roof", "cellar"]


def _has_epoch(daemon):
    with daemon.client() as client:
        return client.welcome.hosts[2].HasField("epoch")


def test_hosts_that_need_a_restart(make_daemon, rng):
    """Removed, reordered, with another profile; and one that the store has from before."""
    daemon = make_daemon("[host lobby]\n[host roof]\n")
    with daemon.client() as client:
        sent = wire.deposit_of(rng, ["a:b"], host="roof")
        client.call(sent)
    for config, why in (("[host lobby]\n", "to remove a host needs a restart"),
                        ("[host roof]\n[host lobby]\n", "reorder hosts needs a restart"),
                        ("[host lobby]\n[host new]\n[host roof]\n", "behind the others"),
                        ("[host lobby]\nprofile = v2:256/3\n[host roof]\n", "needs a restart")):
        reload(daemon, config, done=REFUSED + ".*" + why)
    daemon.configure("[host lobby]\n")
    daemon.restart()
    reload(daemon, "[host lobby]\n[host roof]\n")
    daemon.wait_log("host roof is not opened: the store has it from before; restart")
    with daemon.client() as client:
        assert client.refused(pb.Get(id=sent.id, host="roof")).code == "UNKNOWN_HOST"
    daemon.restart()
    with daemon.client() as client:
        assert client.call(pb.Get(id=sent.id, host="roof")).payload == sent.payload


def test_as_many_hosts_as_there_may_be(make_daemon, rng):
    """From one to 64 in one reload, each with messages of its own."""
    names = [f"h{number}" for number in range(64)]
    daemon = make_daemon("[host h0]\n")
    reload(daemon, "".join(f"[host {name}]\n" for name in names))
    daemon.wait_log("host h63 is open")
    with daemon.client() as client:
        sent = [wire.deposit_of(rng, ["a:b"], host=name) for name in names]
        client.pipeline(sent)
        for one in sent:
            assert client.call(pb.Get(id=one.id, host=one.host)).payload == one.payload
