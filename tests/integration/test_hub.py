# SPDX-License-Identifier: Apache-2.0
"""The hub of many access points: what its servers let each certificate do, and what they survive."""

import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile

import pytest

import conftest
import hearsay_wire as wire
import held_port
import hub_cluster
from hub_cluster import shard_of, wait_until
from nats_wire import NoAnswer, Refused

pytestmark = hub_cluster.needs_hub
HOSTS = {"ap1": "campus", "ap2": "campus", "ap3": "harbour"}


@pytest.fixture(scope="module")
def hub():
    made = hub_cluster.Hub(conftest.storage_root(), HOSTS)
    try:
        made.start().wait_ready().make_streams()
        yield made.wait_current()
    finally:
        made.remove()


def stored(hub, subject):
    """The newest message of a subject, None where there is none."""
    shard = subject.split(".")[1]
    try:
        with hub.connect("reader") as nats:
            return nats.api(f"STREAM.MSG.GET.h_{shard}", last_by_subj=subject)["message"]
    except Refused as error:
        assert error.args[0]["err_code"] == 10037, error  # no message found
        return None


def test_the_ports_of_a_server_are_nobody_elses():
    # Several hubs run side by side.
    held = hub_cluster.HeldPorts()
    for number in (held.number, held.number + hub_cluster.ROUTE_OFFSET):
        with pytest.raises(OSError, match="in use"):
            held_port.hold(number=number)


def test_an_access_point_writes_its_own_host_only(hub):
    with hub.connect("ap1") as nats:
        own = f"h.{shard_of('ap1')}.ap1.01"
        assert b'"seq"' in nats.request(own, b"state").data
        assert stored(hub, own)
        for subject in (f"h.{shard_of('ap2')}.ap2.01", f"h.{shard_of('ap1')}.ap2.01",
                        f"h.{(shard_of('ap1') + 1) % 16}.ap1.01", "h.rule.ap2.01"):
            with pytest.raises(Refused, match="Permissions Violation for Publish"):
                nats.request(subject, b"state")
            if not subject.startswith("h.rule"):
                assert stored(hub, subject) is None


def test_operators_words_cannot_be_forged(hub):
    with hub.connect("ap1") as nats:
        for subject in (f"o.{shard_of('ap1')}.ap1.01", f"o.{shard_of('ap2')}.ap2.01", "o.rule.ap1.01"):
            with pytest.raises(Refused, match="Permissions Violation for Publish"):
                nats.request(subject, b"gone")
    with hub.connect("reader") as nats:
        assert nats.api("STREAM.INFO.o")["state"]["messages"] == 0


def test_nobody_reads_what_is_stored_for_others(hub):
    shard = shard_of("ap2")
    with hub.connect("ap2") as nats:
        nats.request(f"h.{shard}.ap2.02", b"state")
    with hub.connect("ap1") as nats:
        for name in (f"STREAM.INFO.h_{shard}", f"STREAM.MSG.GET.h_{shard}", f"STREAM.DELETE.h_{shard}",
                     f"STREAM.PURGE.h_{shard}", f"STREAM.MSG.DELETE.h_{shard}", "STREAM.NAMES",
                     f"CONSUMER.CREATE.h_{shard}", f"CONSUMER.CREATE.h_{shard_of('ap1')}",
                     f"DIRECT.GET.h_{shard}.h.{shard}.ap2.02", f"DIRECT.GET.h_{shard}.h.{shard}.ap2.-",
                     "ACCOUNT.PURGE", "META.LEADER.STEPDOWN"):
            with pytest.raises(Refused, match="Permissions Violation for Publish"):
                nats.api(name, seq=1)
        for subject in (">", "h.>", f"h.{shard}.ap2.>", f"h.{shard_of('ap1')}.ap1.>", "o.>", "q.>",
                        f"o.{shard}.ap2.>", "q.campus.ap2", "a.campus.ap2", "a.campus.ap2.*", "r.ap1", "s.harbour.>", "$SYS.>", "$JS.>"):
            assert not nats.subscribe(subject), subject
    assert stored(hub, f"h.{shard}.ap2.02")


def test_answers_to_others_are_not_heard(hub):
    """ap1 listens on each inbox it can think of, while ap2 is answered forty times."""
    with hub.connect("ap1") as spy, hub.connect("ap2") as asker, hub.connect("reader") as reader:
        for subject in ("_INBOX.>", "_INBOX_ap2.>", "_INBOX_*.>", "_INBOX_ap2.*", "*.>", "*.1", "_INBOX_reader.>"):
            assert not spy.subscribe(subject), subject
        reader.subscribe("r.ap2")
        for _ in range(40):
            asker.subscriptions += 1
            inbox = f"{asker.inbox}.{asker.subscriptions}"
            assert asker.subscribe(inbox)
            asker.publish("r.ap2", b"page", inbox)
            asker.flush()
            reader.publish(reader.next("r.ap2").reply, b"answer")
            assert asker.next(inbox).data == b"answer"
        spy.flush()
        assert spy.waiting == []


def test_an_answer_is_allowed_once_to_who_asked(hub):
    """allow_responses: one, to the inbox of a question that came."""
    with hub.connect("ap1") as asker, hub.connect("ap2") as peer:
        inbox = "_INBOX_ap1.9"
        assert asker.subscribe(inbox) and peer.subscribe("a.campus.ap2.*")
        with pytest.raises(AssertionError):
            peer.publish(inbox, b"unasked")
            peer.flush()
            assert not peer.errors
        asker.publish("q.campus.ap2", b"query", inbox)
        asker.flush()
        before = len(peer.errors)
        peer.publish(peer.next("a.campus.ap2.ap1").reply, b"answer")
        peer.publish(inbox, b"again")
        peer.flush()
        assert asker.next(inbox).data == b"answer"
        assert len(peer.errors) == before + 1
        asker.flush()
        assert asker.waiting == []


def test_a_certificate_of_another_authority_is_refused(hub):
    with tempfile.TemporaryDirectory(dir=hub.directory) as other:
        hub_cluster.make_certificate(other, "host", "ap1")
        with open(f"{hub.keys}/ca.pem", encoding="ascii") as own:
            authority = own.read()
        with open(f"{other}/ca.pem", "w", encoding="ascii") as file:
            file.write(authority)
        with pytest.raises((OSError, Refused)):
            hub_cluster.Nats(hub.ports[0], other, "ap1")


def test_an_unknown_host_is_refused(hub):
    hub_cluster.make_certificate(hub.keys, "host", "ap9")
    with pytest.raises((OSError, Refused)):
        hub_cluster.Nats(hub.ports[0], hub.keys, "ap9")


def test_the_hub_outlives_each_of_its_servers(hub):
    shard = shard_of("ap3")
    for i, node in enumerate(hub.nodes.values()):
        node.kill()
        subject = f"h.{shard}.ap3.1{i}"

        def publish(subject=subject):
            try:
                with hub.connect("ap3") as nats:
                    return b'"seq"' in nats.request(subject, b"state", seconds=2).data
            except (NoAnswer, Refused, OSError):
                return False
        wait_until(publish, f"an acknowledgement without {node.name}", 120)
        node.start()
        hub.wait_ready().wait_current()
    assert all(stored(hub, f"h.{shard}.ap3.1{i}") for i in range(3))


# --- setup-hub ---

def test_setup_hub_changes_nothing_the_second_time(hub):
    text = hub.make_streams()
    assert "0 changed" in text and "stream " not in text, text
    text = hub.make_streams("--print", "--age", "30d")
    assert text.count("would be changed") == 17 + 1, text  # 16 and words, and the sum; rules have no age
    assert "0 changed" in hub.make_streams()
    text = hub.make_streams("--age", "30d")
    assert "17 changed" in text, text
    hub.make_streams()


def test_setup_hub_waits_for_a_server_that_starts():
    """Streams need three servers; two that are up first refuse them."""
    made = hub_cluster.Hub(conftest.storage_root(), HOSTS)
    first, *others = made.nodes.values()
    try:
        for node in others:
            node.start()
        made.wait_ready()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(made.make_streams)
            first.start()
            assert "stream h_0: made" in running.result()
    finally:
        made.remove()


def test_setup_hub_warns_of_the_servers(hub):
    text = hub.make_streams()
    for url in hub.urls:
        assert f"warning: {url}: nats-server" in text or hub_cluster.server_version() >= (2, 12, 7)
    # The servers have started with what was written for their own version.
    syncs = hub_cluster.server_version() >= (2, 10, 0)
    for node in hub.nodes.values():
        config = pathlib.Path(node.config).read_text(encoding="utf-8")
        assert ("sync_interval: always" in config) == syncs
    assert text.count("has no sync_interval") == (0 if syncs else 3), text
    if not syncs:
        assert "https://jepsen.io/analyses/nats-2.12.1" in text
        assert "https://advisories.nats.io/" in text


def test_connections_of_one_certificate_are_bounded(hub):
    """Whoever has the key of an access point does not take the connections of the others."""
    with contextlib.ExitStack() as stack:
        refused = None
        for count in range(301):
            try:
                stack.enter_context(hub.connect("ap1", "n1"))
            except (Refused, OSError) as error:
                refused = error
                break
        assert count == 16 and "maximum account active connections" in str(refused), (count, refused)
        for name in ("ap2", "ap3", "reader"):
            stack.enter_context(hub.connect(name, "n1"))
    wait_until(lambda: can_connect(hub, "ap1"), "room for another connection")


def can_connect(hub, name):
    try:
        hub.connect(name, "n1").close()
        return True
    except (Refused, OSError):
        return False


def test_an_access_point_cannot_set_up_the_hub(hub):
    code, _, errors = hub.setup(name="ap1")
    assert code == 1
    assert "this certificate is of no hub bridge" in errors, errors


@pytest.mark.parametrize("line, right", [
    ("host AP1", "a line is `host NAME`"),
    ("host ap1 campus more", "a line is `host NAME`"),
    ("host ap1.>", "letters a-z"),
    ("host all campus", "no host may be called all"),
    ("host ap1 harbour", "host ap1 stands in line 1 already"),
    ("host ap2,ap1", "host ap1 stands in line 1 already"),
    ("hub ap1", "the certificate ap1 stands in line 1 already"),
    ("host ,", "a line is"),
    ("reader ap1", "or `hub NAME`"),
    ("host", "a line is"),
    ("hub reader campus", "a line is"),
    ("host " + 300 * "a", "a line is"),
    ("host " + 9000 * "a", "at most"),
])
def test_a_wrong_line_of_hosts_is_named(hub, tmp_path, line, right):
    hosts = tmp_path / "hosts.txt"
    hosts.write_text(f"host ap1 campus # the first\n\n{line}\n", encoding="utf-8")
    code, _, errors = hub.setup("--write", str(tmp_path), "--hosts", str(hosts), "--nats", "2.9.10")
    assert code == 1
    assert "hosts.txt:3:" in errors and right in errors, errors
    assert not (tmp_path / "rights.conf").exists()


def test_servers_sync_each_message_where_they_can(hub, tmp_path):
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("host ap1\nhub reader\n", encoding="utf-8")
    for version, is_synced in [("2.9.10", False), ("2.10.27", True), ("v2.12.1", True), ("3.0.0", True)]:
        code, text, errors = hub.setup("--write", str(tmp_path), "--hosts", str(hosts), "--nats", version)
        assert code == 0, errors
        assert ("sync_interval: always" in (tmp_path / "n1.conf").read_text(encoding="utf-8")) == is_synced
        assert ("has no sync_interval" in text) != is_synced
    for args, right in [(["--nats", "new"], "no version such as 2.10.27"),
                        (["--nats", "2.9.10", "--disk", "much"], "--disk"),
                        (["--nats", "2.9.10", "--disk", "4"], "`4` is less than 20M"),
                        (["--nats", "2.9.10", "--age", "8"], "--age: must be a duration with ")]:
        code, _, errors = hub.setup("--write", str(tmp_path), "--hosts", str(hosts), *args)
        assert code != 0 and right in errors, errors


def add(hub, *words):
    """hearsay-hub-add, with the files of the test's hub."""
    return subprocess.run(["sh", hub_cluster.CERTIFICATE.with_name("hearsay-hub-add"), "--config",
                           os.path.join(hub.directory, "setup.conf"), hub.keys, *words], text=True, check=False,
                          capture_output=True, env={**os.environ, "HEARSAY_BRIDGE": hub_cluster.BRIDGE})


def connects(hub, name):
    """Whether all servers take the certificate."""
    try:
        for node in hub.nodes:
            hub.connect(name, node).close()
    except (Refused, NoAnswer, OSError):
        return False
    return True


def publish(nats, subject):
    try:
        return b'"seq"' in nats.request(subject, b"state", seconds=2).data
    except NoAnswer:  # what comes while a server reads its configuration is lost
        return False


def wait_answered(hub, nats, subject, what):
    """After a reload one server of 2.9.10 may answer an access point no more, also a new connection of it, until it
    reads its rights once more: twice in 45 pairs of reloads. The other servers answer."""
    for _ in range(3):
        try:
            wait_until(lambda: publish(nats, subject), what, 10 * wire.SLOWNESS)
            return
        except AssertionError:
            for node in hub.nodes.values():
                node.reload()
    wait_until(lambda: publish(nats, subject), what)


def test_an_access_point_comes_and_goes_by_a_reload(hub):
    """One command and a reload: others stay connected. One that carries two hosts speaks for both."""
    hosts = os.path.join(hub.keys, "hosts.txt")
    shutil.copy(os.path.join(hub.directory, "hosts.txt"), hosts)
    before = pathlib.Path(hosts).read_text(encoding="ascii")
    with hub.connect("ap2") as old:
        assert old.subscribe("a.campus.ap2.*")
        done = add(hub, "late,later", "campus")
        assert done.returncode == 0 and "nats-server --signal reload" in done.stdout, done
        assert "`here = place:late`" in done.stdout and "To each reader: `role = replica`" in done.stdout
        assert "each of the hosts late,later" in done.stdout and "`name = late`" in done.stdout
        assert pathlib.Path(hosts).read_text(encoding="ascii") == before + "host late,later campus\n"
        again = add(hub, "late,later", "campus")
        assert again.returncode == 0 and pathlib.Path(hosts).read_text(encoding="ascii").count("late") == 2, again
        assert not connects(hub, "late")
        for node in hub.nodes.values():
            node.reload()
        wait_until(lambda: connects(hub, "late"), "the new one on all servers")
        for node in hub.nodes.values():
            node.reload()  # 2.9.10 makes a new account's imports at the second one
        wait_answered(hub, old, f"h.{shard_of('ap2')}.ap2.20", "an acknowledgement for the old one")
        with hub.connect("late") as new:
            for host in ("late", "later"):
                wait_answered(hub, new, f"h.{shard_of(host)}.{host}.01", "one for the new one")
                assert stored(hub, f"h.{shard_of(host)}.{host}.01")
            new.subscriptions += 1
            assert new.subscribe("_INBOX_late.q") and new.subscribe("a.campus.later.*")
            new.publish("q.campus.ap2", b"query", "_INBOX_late.q")
            old.publish(old.next("a.campus.ap2.late").reply, b"answer")
            assert new.next("_INBOX_late.q").data == b"answer"
            old.publish("q.campus.later", b"query")
            assert new.next("a.campus.later.ap2").data == b"query"
            pathlib.Path(hosts).write_text(before, encoding="ascii")
            code, _, errors = hub.setup("--write", hub.keys, "--hosts", hosts)
            assert code == 0, errors
            for node in hub.nodes.values():
                node.reload()
            with pytest.raises((Refused, OSError)):  # its connection is closed
                new.next("nothing", seconds=wire.PATIENCE)
    wait_until(lambda: connects(hub, "ap2") and not any_connects(hub, "late"), "the end of the new one")


def test_an_access_point_that_cannot_be_added_has_no_certificate(hub, tmp_path):
    """Else the next try warned of somebody who might have a copy of it."""
    hosts = pathlib.Path(hub.keys, "hosts.txt")
    shutil.copy(os.path.join(hub.directory, "hosts.txt"), hosts)
    for words in (("attic", "Campus"), ("attic", "campus", "--config")):
        done = add(hub, *words)
        assert done.returncode != 0 and not os.path.exists(os.path.join(hub.keys, "attic.pem")), done
    script = hub_cluster.CERTIFICATE.with_name("hearsay-hub-add")
    done = subprocess.run(["sh", script, "--config", tmp_path / "none", hub.keys, "attic"], text=True, check=False,
                          capture_output=True)
    assert done.returncode == 2 and "--config" in done.stderr, done
    assert not os.path.exists(os.path.join(hub.keys, "attic.pem"))


def test_a_stolen_certificate_needs_another_name(hub):
    """The servers know a certificate by its name alone: one that was taken out works again with a line of its name."""
    hosts = pathlib.Path(hub.keys, "hosts.txt")
    shutil.copy(os.path.join(hub.directory, "hosts.txt"), hosts)
    before = hosts.read_text(encoding="ascii")
    done = add(hub, "cafe", "campus")
    assert done.returncode == 0 and "warning" not in done.stderr, done
    assert "warning" not in add(hub, "cafe", "campus").stderr  # its line is there: nothing comes back
    for end in ("pem", "key"):
        shutil.copy(os.path.join(hub.keys, f"cafe.{end}"), os.path.join(hub.keys, f"thief.{end}"))
    hosts.write_text(before, encoding="ascii")  # taken out, as docs/hub.md says
    done = add(hub, "cafe", "campus")
    assert done.returncode == 0 and "cafe has a certificate already, and no line" in done.stderr, done
    for end in ("pem", "key"):
        os.remove(os.path.join(hub.keys, f"cafe.{end}"))
    hosts.write_text(before, encoding="ascii")
    done = add(hub, "cafe", "campus")  # a new key does not help
    assert done.returncode == 0 and "an earlier certificate of cafe is as good as this one" in done.stderr, done

    def reload_until(check, what):
        for _ in range(2):
            for node in hub.nodes.values():
                node.reload()
        wait_until(check, what)
    reload_until(lambda: connects(hub, "thief") and connects(hub, "cafe"), "what the warning warns of")
    hosts.write_text(before, encoding="ascii")
    done = add(hub, "cafe2,cafe", "campus")  # as docs/bridge.md advises: the host stays, its certificate has a new name
    assert done.returncode == 0 and "warning" not in done.stderr, done
    reload_until(lambda: connects(hub, "cafe2") and not any_connects(hub, "thief"), "the end of the thief")
    with hub.connect("cafe2") as new:
        wait_answered(hub, new, f"h.{shard_of('cafe')}.cafe.01", "an acknowledgement for the host")
    hosts.write_text(before, encoding="ascii")
    assert hub.setup("--write", hub.keys, "--hosts", str(hosts))[0] == 0
    reload_until(lambda: not any_connects(hub, "cafe2"), "the hub as it was")


def any_connects(hub, name):
    try:
        hub.connect(name).close()
    except (Refused, NoAnswer, OSError):
        return False
    return True


@pytest.mark.parametrize("words, right", [
    (["all", "campus"], "no host may be called all"),
    (["reader"], "it says CN=reader,OU=hub, a host says CN=reader"),
    (["n1"], "it says CN=hub,OU=server"),
    (["ap1", "harbour"], "host ap1 stands in line"),
    (["AP", "harbour"], "letters a-z"),
])
def test_a_wrong_access_point_is_not_added(hub, words, right):
    hosts = pathlib.Path(hub.keys, "hosts.txt")
    shutil.copy(os.path.join(hub.directory, "hosts.txt"), hosts)
    before = [hosts.read_bytes(), pathlib.Path(hub.keys, "rights.conf").read_bytes()]
    done = add(hub, *words)
    assert done.returncode != 0 and right in done.stderr, done
    assert [hosts.read_bytes(), pathlib.Path(hub.keys, "rights.conf").read_bytes()] == before
    assert not pathlib.Path(hub.keys, "hosts.txt.new").exists()


@pytest.mark.parametrize("words, right", [
    (["server", "ap1", "127.0.0.1"], "it says CN=ap1, a server says CN=hub,OU=server"),
    (["hub", "ap1"], "it says CN=ap1, a hub says CN=ap1,OU=hub"),
    (["server", "n1", "10.9.9.9"], "is not for 10.9.9.9"),
    (["server", "n1", "elsewhere.example"], "is not for elsewhere.example"),
])
def test_no_certificate_of_another_kind_is_kept(hub, words, right):
    done = subprocess.run(["sh", hub_cluster.CERTIFICATE, hub.keys, *words], text=True, check=False, capture_output=True)
    assert done.returncode == 2 and right in done.stderr, done
    for same in (["server", "n1", "127.0.0.1", "localhost"], ["host", "ap1"], ["hub", "reader"]):
        hub_cluster.make_certificate(hub.keys, *same)


def open_route(hub, name):
    """What a server says to who wants to be another one, with the certificate of `name`."""
    context = ssl.create_default_context(cafile=f"{hub.keys}/ca.pem")
    context.load_cert_chain(f"{hub.keys}/{name}.pem", f"{hub.keys}/{name}.key")
    port = hub.nodes["n2"].port + hub_cluster.ROUTE_OFFSET
    said = b""
    with socket.create_connection(("127.0.0.1", port), wire.PATIENCE) as plain, \
            context.wrap_socket(plain, server_hostname="127.0.0.1") as route:
        route.sendall(b'CONNECT {"name":"spy","cluster":"hearsay","tls_required":true}\r\nPING\r\n')
        while b"PONG" not in said and b"-ERR" not in said:
            got = route.recv(65536)
            if not got:
                break
            said += got
    return said


def test_only_servers_open_routes(hub):
    """A certificate of the same authority is not enough to become a part of the cluster."""
    for name in ("ap1", "reader"):
        said = open_route(hub, name)
        assert b"-ERR 'Authorization Violation'" in said and b"PONG" not in said, said
    assert b"PONG" in open_route(hub, "n1")
