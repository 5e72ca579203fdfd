# SPDX-License-Identifier: Apache-2.0
"""The programs in procd's jail: what they see, where they write, and how they end."""

import json
import os
import re
import subprocess

import pytest
from router import wait_until
from test_moderate import SET_PASSWORD
from test_web import PAGE

PROGRAMS = ("hearsayd", "hearsay-web", "hearsay-moderate")
KEY, CERTIFICATE = "/etc/hearsay/key.pem", "/etc/hearsay/c.pem"


@pytest.fixture
def jailed(router):
    """A router with the three programs."""
    if not os.environ.get("HEARSAY_WEB"):
        pytest.skip("hearsay-web is not built")
    router.add_users("hearsay-web")
    router.try_run("ip address add 192.168.1.1/24 dev lo")
    router.set_addresses(guest=["192.168.8.1"], lan=["192.168.1.1"])
    since = router.mark()  # the change of the configuration may start the page, before it is asked to start
    router.start("web.enabled=1", "moderate.enabled=1")
    router.run("/etc/init.d/hearsay-web start")
    router.run("/etc/init.d/hearsay-moderate start; true")
    router.run(SET_PASSWORD)
    router.wait_log("listening on 192.168.8.1:7118", since)
    router.wait_log("listening on 192.168.1.1:7119", since)
    wait_until(lambda: router.try_run(PAGE)[0] == 0, "the page is there")
    yield router
    for file in (router.root / "etc/hearsay").iterdir():
        file.unlink()


def mounts(router, pid):
    """{path: whether it may be written to}, as the process sees them."""
    fields = [line.split() for line in router.run(f"cat /proc/{pid}/mountinfo").splitlines()]
    return {each[4]: "rw" in each[5].split(",") and "rw" in each[-1].split(",") for each in fields}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_the_programs_may_do(jailed, name):
    pid = jailed.inmate(name)
    status = jailed.run(f"cat /proc/{pid}/status")
    assert not re.search(r"^Uid:.*\s0\s", status, re.M)
    for line in (r"CapEff:\s0+", r"CapPrm:\s0+", r"NoNewPrivs:\s1", r"Seccomp:\s2", r"NSpid:\s\d+\s1"):
        assert re.search(f"^{line}$", status, re.M), line
    _, seen = jailed.try_run(f"cd /proc/{pid}/root; ls . etc tmp var")
    for hidden in ("shadow", "config", "init.d", "uci"):
        assert hidden not in seen.split(), seen
    # As root, who may do more than the program.
    for place in (".", "etc", "usr", "usr/sbin", "var/etc/hearsay", "etc/hearsay"):
        code, output = jailed.try_run(f"cd /proc/{pid}/root; touch {place}/there")
        assert code != 0 and "Read-only" in output, f"{place}: {output}"
    written = {path for path, may in mounts(jailed, pid).items()
               if may and not re.match("/(dev|proc)(/|$)", path)}
    data = {"/tmp/hearsay", "/run/hearsay", "/run/hearsay-web"}
    assert written == (data if name == "hearsayd" else set())


NETLINK = """
for socket in $(ls -l /proc/PID/fd | sed -n 's/.*socket:\\[\\([0-9]*\\)\\]/\\1/p'); do
    grep -w "$socket" /proc/PID/net/netlink
done; true"""


def test_hearsayd_sees_the_neighbours(jailed):
    """The jail has the router's network, and does not refuse netlink."""
    found = jailed.run(NETLINK.replace("PID", str(jailed.inmate("hearsayd"))))
    assert len(found.splitlines()) == 1, found


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("victim", ["ujail", "program"])
def test_killed_with_its_jail(jailed, name, victim):
    """A program that outlived its jail would hold the port, and the next one could not start."""
    warder, program = jailed.pid(name), jailed.inmate(name)
    since = jailed.mark()
    jailed.run(f"kill -9 {warder if victim == 'ujail' else program}")
    wait_until(lambda: jailed.try_run(f"test -e /proc/{program}")[0] != 0, "the program has ended")
    jailed.wait_restart(name, warder)
    jailed.wait_log("ready: ", since)
    assert not [line for line in jailed.lines[since:] if "in use" in line]
    wait_until(lambda: jailed.try_run(PAGE)[0] == 0, "the page has hearsayd")


def certificate(router, days):
    """A new one, in place of the old one: both files are others."""
    folder = router.root / "etc/hearsay"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", str(days), "-keyout", folder / "key.new", "-out", folder / "c.new",
                    "-subj", "/CN=hearsay"], check=True, capture_output=True)
    router.run(f"chown hearsay /etc/hearsay/key.new; mv /etc/hearsay/key.new {KEY}; mv /etc/hearsay/c.new {CERTIFICATE}")


def expiry(router):
    figures = json.loads(router.run("hearsay admin stats --json"))
    return figures.get("figures", figures).get("certificate_not_after_timestamp_ms")


def reload_and_wait(router, text):
    since = router.mark()
    router.run("reload_config")
    router.wait_log(text, since)


def test_files_that_are_replaced(jailed):
    """As acme and uci do: by a new file of the same name. The process stays."""
    pid = jailed.pid("hearsayd")
    certificate(jailed, 30)
    jailed.configure(f"main.tls_certificate={CERTIFICATE}", f"main.tls_key={KEY}",
                     "default.here_map=/etc/hearsay/places")
    jailed.write("etc/hearsay/places", "192.168.8.0/24 = a:b\n")
    reload_and_wait(jailed, "configuration reloaded")
    jailed.wait_log("here map with 1 prefixes")
    before = expiry(jailed)
    certificate(jailed, 60)
    jailed.write("etc/hearsay/places.new", "192.168.8.0/24 = a:b\n192.168.1.0/24 = c:d\n")
    jailed.run("mv /etc/hearsay/places.new /etc/hearsay/places")
    jailed.wait_log("here map with 2 prefixes")
    # No line is waited for: procd signals nothing where an earlier reload has read these files.
    jailed.run("reload_config")
    wait_until(lambda: expiry(jailed) > before, "the new certificate is there")
    assert jailed.pid("hearsayd") == pid


def test_a_file_in_a_new_folder(jailed):
    """procd starts the program again: a jail gets no mount later."""
    pid = jailed.pid("hearsay-web")
    jailed.write("root/house/rules.txt", "No shouting in the library\n")
    jailed.configure("web.rules=/root/house/rules.txt")
    jailed.run("reload_config")
    jailed.wait_restart("hearsay-web", pid)
    wait_until(lambda: "No shouting" in jailed.try_run(f"{PAGE}about")[1], "the rules are shown")


def test_a_router_without_ujail(router):
    """The same, without a jail."""
    with router.without_ujail():
        pid = router.start()
        assert router.run(f"readlink /proc/{pid}/ns/mnt") == router.run("readlink /proc/1/ns/mnt")
        assert "hearsayd" in router.run(f"cat /proc/{pid}/comm")
        router.stop_all()
