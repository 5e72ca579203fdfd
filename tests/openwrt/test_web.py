# SPDX-License-Identifier: Apache-2.0
"""hearsay-web's init script under procd."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from router import wait_until

OLD_STAYS = "the configuration of before stays in force"
PAGE = "wget -q -O - http://192.168.8.1:7118/"
TOLD = "cat /tmp/dnsmasq.d/hearsay-web.conf"

# Prints the addresses that the DNS server of one address has for a name.
ASK = """
import socket, struct, sys
server, name = sys.argv[1:]
question = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + bytes([0, 0, 1, 0, 1])
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.connect((server, 53))
client.send(struct.pack(">6H", 1, 0x100, 1, 0, 0, 0) + question)
answer = client.recv(512)
rest = answer[12 + len(question):]
for at in range(struct.unpack(">H", answer[6:8])[0]):
    print(socket.inet_ntoa(rest[16 * at + 12:16 * at + 16]))
"""


@pytest.fixture
def page(router):
    """A router whose page is up."""
    if not os.environ.get("HEARSAY_WEB"):
        pytest.skip("hearsay-web is not built")
    router.start("web.enabled=1", "web.title=Jules")
    since = router.mark()
    router.run("/etc/init.d/hearsay-web start")
    router.wait_log("hearsay-web", since)
    router.wait_log("listening on 192.168.8.1:7118", since)
    # 503 until the page has its connection to hearsayd.
    wait_until(lambda: router.try_run(PAGE)[0] == 0, "the page is there")
    return router


def reload_web(router, text):
    since = router.mark()
    router.run("uci commit hearsayd; reload_config")
    router.wait_log(text, since)


def test_starts(page):
    assert "Jules" in page.run(PAGE)
    page.run("hearsay deposit -l a:b 'a message for phones'")
    # A list is a second old at most; who asks too often meanwhile is told to try again.
    wait_until(lambda: "a message for phones" in page.try_run(PAGE)[1], "the page shows the message")
    # The init script's --check-config, as root, does not knock at the gateway's socket: hearsayd logs in
    # the order of its connections, and the command is one more.
    since = page.mark()
    page.run("/etc/init.d/hearsay-web reload")
    page.run("hearsay admin accept closed")
    page.wait_log("closed", since)
    assert not [line for line in page.lines if "may not connect" in line]
    status = page.run(f"cat /proc/{page.inmate('hearsay-web')}/status")
    assert re.search(r"^Uid:\s7118\s7118\s7118\s7118$", status, re.M)


def test_an_address_that_is_not_usable_yet(page):
    """As an IPv6 address is in the first second, and without a carrier. The others stay."""
    since = page.mark()
    page.set_addresses(guest=["192.168.8.1", "fd00:9::1"])
    page.tell_network("guest")
    page.wait_log("listening on [fd00:9::1]:7118", since)
    page.wait_log("ready: hearsay-web", since)
    wait_until(lambda: "Jules" in page.try_run(PAGE)[1], "the page is there")


def test_rules_that_only_root_can_read(page):
    """Who may write UCI shall not show root's files to guests."""
    pid = page.pid("hearsay-web")
    page.write("etc/shadow", "root:$1$hash:0:0:99999:7:::\n", 0o600)
    page.run("uci delete hearsayd.web.rules && uci add_list hearsayd.web.rules=/etc/shadow")
    for command in ("reload", "restart"):
        status, output = page.try_run(f"uci commit hearsayd; /etc/init.d/hearsay-web {command}")
        assert status == 1 and "hearsayd.web: `rules`: " in output and OLD_STAYS in output, output
        if command == "reload":
            assert page.pid("hearsay-web") == pid
        wait_until(lambda: "Jules" in page.try_run(PAGE)[1], "the page is there")
        assert "hash" not in page.run(PAGE + "about")


def test_reload_keeps_the_process(page):
    pid, of_daemon = page.pid("hearsay-web"), page.pid("hearsayd")
    page.run("uci set hearsayd.web.title=Luise")
    reload_web(page, "configuration reloaded")
    assert "Luise" in page.run(PAGE) and page.pid("hearsay-web") == pid
    assert page.pid("hearsayd") == of_daemon


def test_rules_that_were_edited(page):
    page.run("mkdir -p /etc/hearsay && echo 'Be kind.' >/etc/hearsay/rules.txt")
    page.run("uci delete hearsayd.web.rules && uci add_list hearsayd.web.rules=/etc/hearsay/rules.txt")
    reload_web(page, "configuration reloaded")
    pid, since = page.pid("hearsay-web"), page.mark()
    page.run("echo 'No shouting.' >/etc/hearsay/rules.txt && /etc/init.d/hearsay-web reload")
    page.wait_log("configuration reloaded", since)
    assert "No shouting." in page.run(PAGE + "about") and page.pid("hearsay-web") == pid


def test_a_change_for_a_start_restarts(page):
    pid = page.pid("hearsay-web")
    page.run("uci set hearsayd.web.per_page=3")
    reload_web(page, "listening on 192.168.8.1:7118")
    assert page.pid("hearsay-web") != pid


def test_a_restart_forgets_nobody_who_stays(page):
    """The file is in the router's memory, and the program in its jail may write it."""
    page.run("uci set hearsayd.web.portal=offline")
    reload_web(page, "listening on 192.168.8.1:7118")
    assert page.run("ls -l /run/hearsay-stay").split()[2] == "-rw-------"
    assert not [line for line in page.lines if "must press" in line]
    pid, before = page.pid("hearsay-web"), page.run("md5sum /run/hearsay-stay/stayed")
    page.run("/etc/init.d/hearsay-web restart")
    page.wait_restart("hearsay-web", pid)
    assert page.run("md5sum /run/hearsay-stay/stayed") == before, "the same salt, or all are forgotten"


# --- the name of the page -------------------------------------------------------------------------


def test_the_name_leads_to_the_page(page):
    """And not to the addresses of hearsayd, which may be others, or none."""
    assert page.run(TOLD) == "host-record=hearsay.lan,192.168.8.1\n"
    page.set_addresses(guest=["192.168.8.1"], lan=["192.168.1.1"])
    since = page.mark()
    page.configure("main.network=lan")
    page.run("/etc/init.d/hearsayd reload")
    page.wait_log("configuration reloaded", since)
    assert page.run(TOLD) == "host-record=hearsay.lan,192.168.8.1\n"
    assert "hearsayd.lan,192.168.1.1\n" in page.run("cat /tmp/dnsmasq.d/hearsay-hearsayd.conf")
    page.run("/etc/init.d/hearsay-web stop")
    assert page.run("ls /tmp/dnsmasq.d") == "hearsay-hearsayd.conf\n"


def test_another_domain(page):
    page.write("etc/config/dhcp", "config dnsmasq\n\toption domain 'Home'\n")
    try:
        since = page.mark()
        page.run("/etc/init.d/hearsay-web reload")
        page.wait_log("ready: hearsay-web", since)
        assert page.run(TOLD) == "host-record=hearsay.home,192.168.8.1\n"
        poster = f"{PAGE}poster --header 'Host: hearsay.home:7118'"
        wait_until(lambda: "hearsay.home" in page.try_run(poster)[1].replace("<wbr>", ""), "the poster has the name")
        page.configure("+web.name=board.lan", "+web.name=hearsay.home")
        page.run("/etc/init.d/hearsay-web reload")
        assert re.findall("^name = (.*)", page.run("cat /var/etc/hearsay/web.conf"), re.M) == [
            "board.lan", "hearsay.home"]
    finally:
        page.write("etc/config/dhcp", "config dnsmasq\n\toption domain 'lan'\n")


def test_dnsmasq_tells_each_network_its_own_address(page, tmp_path):
    if not shutil.which("dnsmasq"):
        pytest.skip("there is no dnsmasq")
    page.run("ip address add 192.168.1.1/24 dev lo")
    page.set_addresses(guest=["192.168.8.1"], lan=["192.168.1.1"])
    since = page.mark()
    page.configure("+main.network=lan", "+web.network=lan")
    page.run("/etc/init.d/hearsayd reload; /etc/init.d/hearsay-web reload")
    page.wait_log("listening on 192.168.1.1:7118", since)
    file = tmp_path / "dnsmasq.conf"
    file.write_text("localise-queries\nno-resolv\nno-hosts\n" + page.run("cat /tmp/dnsmasq.d/*"))
    inside = ["nsenter", "-t", str(page.init), "-n"]
    server = subprocess.Popen([*inside, "dnsmasq", "--keep-in-foreground", f"--conf-file={file}",
                               "--pid-file", "--user=root"])
    try:
        def ask(address, name):
            return subprocess.run([*inside, sys.executable, "-c", ASK, address, name], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60,
                                  check=False).stdout.split()
        wait_until(lambda: ask("192.168.8.1", "hearsay.lan"), "dnsmasq answers")
        for address in ("192.168.8.1", "192.168.1.1"):
            for name in ("hearsay.lan", "hearsayd.lan"):
                assert ask(address, name) == [address]
    finally:
        server.terminate()
        server.wait()
        page.run("ip address del 192.168.1.1/24 dev lo")


# --------------------------------------------------------------------------------------------------


def test_wrong_value_changes_nothing(page):
    pid = page.pid("hearsay-web")
    for line, sentence in (("web.per_page=many", "hearsayd.web: `per_page` must be a number"),
                           ("web.heading=Jules", "hearsayd.web: unknown key `heading` in [web]"),
                           ("web.user=", "the page is not served as root")):
        page.reset()
        page.configure("web.enabled=1", "web.title=Luise", line)
        status, output = page.try_run("/etc/init.d/hearsay-web reload")
        assert status == 1 and sentence in output and OLD_STAYS in output, output
        assert page.pid("hearsay-web") == pid and "Jules" in page.run(PAGE)
