# SPDX-License-Identifier: Apache-2.0
"""The init script of the page for moderators under procd."""

import os
import re

import pytest
from router import wait_until

URL = "http://192.168.1.1:7119/"
PASSWORD = "correct horse"
SET_PASSWORD = f"echo '{PASSWORD}' | /etc/init.d/hearsay-moderate set_password"
FILE = "/var/etc/hearsay/moderate.conf"


@pytest.fixture
def desk(router):
    """A router whose page for moderators is up in the network lan."""
    if not os.environ.get("HEARSAY_WEB"):
        pytest.skip("hearsay-web is not built")
    router.add_users("hearsay-web")
    router.try_run("ip address add 192.168.1.1/24 dev lo")
    router.set_addresses(guest=["192.168.8.1"], lan=["192.168.1.1", "fd00:1::1"])
    router.start("moderate.enabled=1")
    router.run("/etc/init.d/hearsay-moderate start; true")
    since = router.mark()
    router.run(SET_PASSWORD)
    router.wait_log("listening on 192.168.1.1:7119", since)
    return router


def log_in(router):
    """The page behind the password."""
    ticket = re.search(r'name="t" value="(\w+)"', router.run(f"wget -q -O - {URL}")).group(1)
    return router.run(f"""python3 -c '
import sys, urllib.request
form = b"t={ticket}&password={PASSWORD.replace(' ', '+')}"
sys.stdout.buffer.write(urllib.request.urlopen("{URL}", form, 60).read())
'""")


def test_an_address_that_is_not_there_yet(desk):
    desk.wait_log("listening on [fd00:1::1]:7119 freebind")


def get_from(router, address):
    """What the page answers to a device of this address; empty or an error: it does not."""
    return router.try_run(f"""python3 -c '
import socket
client = socket.create_connection(("192.168.1.1", 7119), 60, ("{address}", 0))
client.sendall(b"GET / HTTP/1.1\\r\\nHost: 192.168.1.1:7119\\r\\n\\r\\n")
print(client.recv(64))
'""")[1]


def test_a_password_is_all_it_takes(desk):
    desk.run("hearsay deposit -l a:b 'a rude message'")
    message = desk.run("hearsay query -l a:b --json").split('"id":"', 1)[1].split('"')[0]
    desk.run(f"hearsay report {message} 'not nice'")
    assert "a rude message" in log_in(desk)


def test_who_may_connect(desk):
    """The networks of the page, and nobody else."""
    assert re.findall("(?:listen|allow) = .*", desk.run(f"cat {FILE}")) == [
        "listen = 192.168.1.1:7119 freebind", "listen = [fd00:1::1]:7119 freebind",
        "allow = 192.168.1.1/24", "allow = fd00:1::1/64"]
    assert "HTTP/1.1 200 OK" in get_from(desk, "192.168.1.7")
    assert "HTTP" not in get_from(desk, "192.168.8.7")
    since = desk.mark()
    desk.configure("+moderate.allow=192.168.1.7")
    desk.run("reload_config")
    desk.wait_log("listening on 192.168.1.1:7119", since)
    assert re.findall("allow = .*", desk.run(f"cat {FILE}")) == ["allow = 192.168.1.7"]
    assert "HTTP" in get_from(desk, "192.168.1.7") and "HTTP" not in get_from(desk, "192.168.1.8")


def test_its_user(desk):
    status = desk.run(f"cat /proc/{desk.inmate('hearsay-moderate')}/status")
    assert re.search(r"^Uid:\s7119\s7119\s7119\s7119$", status, re.M)
    assert re.search(r"^Groups:\s7117 7119 $", status, re.M)
    assert desk.run(f"stat -c '%a %U %G' {FILE}") == "640 root hearsay-moderate\n"


def test_what_does_not_fit_changes_nothing(desk):
    pid = desk.pid("hearsay-moderate")
    for lines, sentence in (
            (["web.enabled=1", "+web.network=lan"],
             "hearsayd.moderate.network has lan, a network of the guests' page"),
            (["moderate.titel=Jules"], "hearsayd.moderate: unknown key `titel` in [moderate]"),
            (["moderate.password="], "hearsayd.moderate.password is not set: type /etc/init.d/hearsay-m"),
            (["moderate.password=open"], "hearsayd.moderate: `password` must be the line that")):
        before = desk.run("cat /etc/config/hearsayd")
        desk.configure(*lines)
        status, output = desk.try_run("/etc/init.d/hearsay-moderate reload")
        assert status == 1 and sentence in output, output
        assert "the configuration of before stays in force" in output
        assert desk.pid("hearsay-moderate") == pid
        desk.write("etc/config/hearsayd", before)


def test_a_change_starts_it_again(desk):
    pid, of_daemon = desk.pid("hearsay-moderate"), desk.pid("hearsayd")
    desk.configure("moderate.title=Jules")
    since = desk.mark()
    desk.run("reload_config")
    desk.wait_log("listening on 192.168.1.1:7119", since)
    assert desk.pid("hearsay-moderate") != pid and desk.pid("hearsayd") == of_daemon
    assert "Jules" in desk.run(f"wget -q -O - {URL}")
    desk.configure("moderate.enabled=0")
    desk.run("reload_config")
    wait_until(lambda: not desk.instance("hearsay-moderate"), "nothing runs")


def test_a_password_that_is_too_short(desk):
    before = desk.run("cat /etc/config/hearsayd")
    status, output = desk.try_run("echo short | /etc/init.d/hearsay-moderate set_password")
    assert status == 1 and "a password has 8 to 128 bytes in one line; nothing changed" in output
    assert desk.run("cat /etc/config/hearsayd") == before
