# SPDX-License-Identifier: Apache-2.0
"""hearsayd's init script under procd: from UCI to a running daemon, and what may be wrong."""

import json
import os
import re
import shutil
import subprocess

import pytest
from router import FILES, wait_until

PROGRAM = "/usr/sbin/hearsayd"
OLD_STAYS = "the configuration of before stays in force"


def limit_of(router):
    """How many messages hearsayd keeps at most, as it says itself."""
    figures = json.loads(router.run("hearsay admin stats --json"))
    return figures["figures"]["messages_max"] if "figures" in figures else figures["messages_max"]


def reload_config(router):
    """As LuCI's Save & Apply does; procd calls the init script a second later."""
    router.run("reload_config")


def reload_and_wait(router, text="configuration reloaded"):
    since = router.mark()
    reload_config(router)
    router.wait_log(text, since)


# --- from start to stop ---------------------------------------------------------------------------


def test_disabled_runs_nothing(router):
    router.run("/etc/init.d/hearsayd start && /etc/init.d/hearsay-web start")
    for name in ("hearsayd", "hearsay-web"):
        assert router.service(name) == {}
    assert not router.run("ls /tmp/dnsmasq.d")


def test_starts_announced_and_stops(router):
    router.start()
    data = router.instance("hearsayd")["data"]["mdns"]["hearsay_7117"]
    assert data == {"service": "_hearsay._tcp.local", "port": 7117, "txt": ["txtvers=1"]}
    assert router.run("cat /tmp/dnsmasq.d/hearsay-hearsayd.conf").splitlines() == [
        "host-record=hearsayd.lan,192.168.8.1",
        "ptr-record=_hearsay._tcp.lan,hearsay._hearsay._tcp.lan",
        "srv-host=hearsay._hearsay._tcp.lan,hearsayd.lan,7117",
        "txt-record=hearsay._hearsay._tcp.lan,txtvers=1,tls=0",
    ]
    router.wait_log("dnsmasq: restarted")
    router.wait_log("listening on 192.168.8.1:7117 local")
    assert router.run("ps | awk '/[u]sr.sbin.hearsayd/ && !/ujail/ { print $2 }'").split() == ["hearsay"]
    since = router.mark()
    router.run("/etc/init.d/hearsayd stop")
    router.wait_log("stopping (SIGTERM)", since)
    wait_until(lambda: router.service("hearsayd") is None, "procd has forgotten it")
    assert not router.run("ls /tmp/dnsmasq.d")


def test_killed_is_started_again(router):
    pid = router.start()
    since = router.mark()
    router.run(f"kill -9 {pid}")
    router.wait_log("ready: hearsayd", since)
    assert router.pid("hearsayd") != pid


def test_what_procd_is_told(router):
    router.start()
    instance = router.instance("hearsayd")
    assert instance["respawn"] == {"threshold": 3600, "timeout": 5, "retry": 0}
    assert instance["term_timeout"] == 15


# --- changes --------------------------------------------------------------------------------------


def test_reload_keeps_the_process(router):
    pid = router.start()
    assert limit_of(router) == 10000
    router.configure("limits.messages=6000")
    reload_and_wait(router)
    assert limit_of(router) == 6000 and router.pid("hearsayd") == pid


def test_a_change_for_a_start_restarts(router):
    pid = router.start()
    router.configure("main.commit_delay=50ms", "limits.messages=6000")
    reload_and_wait(router, "ready: hearsayd")
    assert limit_of(router) == 6000 and router.pid("hearsayd") != pid
    assert not [line for line in router.lines if "needs a restart" in line]


def test_ports_of_root_restart(router):
    """hearsayd is not root any more when it reloads."""
    pid = router.start("main.port=700")
    router.configure("main.port=701")
    reload_and_wait(router, "listening on 192.168.8.1:701 local")
    assert router.pid("hearsayd") != pid


def test_a_host_that_goes_restarts(router):
    router.start("bar_upstairs=host", "bar_upstairs.accept=review")
    assert "bar-upstairs" in router.run("hearsay admin stats")
    router.run("uci delete hearsayd.bar_upstairs; uci commit hearsayd")
    reload_and_wait(router, "ready: hearsayd")
    assert "bar-upstairs" not in router.run("hearsay admin stats")


def test_switched_off_by_reload(router):
    router.start()
    router.configure("main.enabled=0")
    reload_and_wait(router, "stopping (SIGTERM)")
    wait_until(lambda: not router.instance("hearsayd"), "nothing runs")
    assert not router.run("ls /tmp/dnsmasq.d")
    router.configure("main.enabled=1")
    reload_and_wait(router, "ready: hearsayd")


def test_every_key_is_an_option(router):
    """Each key of the table, under its own name, at the value that --print-reference example has."""
    example = router.run(f"{PROGRAM} --print-reference example")
    lines = ["config daemon 'main'", "\toption enabled '1'"]
    seen = {}
    for line in example.splitlines():
        if line == "[limits]":
            lines.append("config limits 'limits'")
        elif line.startswith("[host "):
            lines.append("config host 'default'")
        match = re.match(r"#(\w+) = (.*)", line)
        if match and match.group(1) not in ("bridge_user", "tls_client_ca", "here_map", "here_file"):
            seen.setdefault(match.group(1), 0)
            kind = "list" if line.count(",") or match.group(1) in ("listen", "here", "accept_schedule") else "option"
            lines.append(f"\t{kind} {match.group(1)} '{match.group(2)}'")
    router.write("etc/config/hearsayd", "\n".join(lines) + "\n")
    status, output = router.try_run("/etc/init.d/hearsayd start")
    assert status == 0, output
    written = router.run("cat /var/etc/hearsay/hearsayd.conf")
    assert set(re.findall(r"^(\w+) = ", written, re.M)) == set(seen)


# --- wrong values ---------------------------------------------------------------------------------


WRONG = [
    ("limits.messages=many", "hearsayd.limits: `messages` must be a number"),
    ("limits.mesages=6000", "hearsayd.limits: unknown key `mesages` in [limits]; did you mean"),
    ("main.ttl_max=1d", "hearsayd.main: `ttl_max` does not belong into [daemon] but into [limits]"),
    ("default.evict=newest", "hearsayd.default: `evict`"),
    ("main.user=nobody-here", "nobody-here"),
    ("main.port=70000", "hearsayd.main.port must be a number from 1 to 65535; not `70000`"),
    ("main.port='7117\nlog_level = debug'", "hearsayd.main.port must be a number"),
    ("main.network='guest\nconf-script=/tmp/x'", "hearsayd.main.network must be names of networks"),
    ("other=thing", "hearsayd.other: unknown section [thing]"),
    ("default.here='a:b\nc:d'", "hearsayd.default.here has more than one line"),
]


def test_wrong_values_change_nothing(router):
    pid = router.start()
    for line, sentence in WRONG:
        router.reset()
        router.configure("main.enabled=1", "limits.sessions=77", line)
        since = router.mark()
        status, output = router.try_run("/etc/init.d/hearsayd reload")
        assert status == 1 and sentence in output and OLD_STAYS in output, output
        router.wait_log(sentence, since)
        router.wait_log(OLD_STAYS, since)
        assert router.pid("hearsayd") == pid
        assert "sessions = 77" not in router.run("cat /var/etc/hearsay/hearsayd.conf")


def test_a_semicolon_is_part_of_a_value(router):
    """It begins no comment: the daemon gets each value as it stands in UCI."""
    router.start("default.here='place:a ;b ; # c'")
    assert "\nhere = place:a ;b ; # c\n" in router.run("cat /var/etc/hearsay/hearsayd.conf")
    assert "place:a ;b ; # c" in router.run("hearsay here")


WRONG_FILES = [
    "uci set hearsayd.main.port=70000; uci commit hearsayd",
    "uci set hearsayd.main.port='7117\nconf-script=/tmp/evil'; uci commit hearsayd",
    "uci set hearsayd.main.network=lan; uci set hearsayd.limits.messages=many; uci commit hearsayd",
    ": >/etc/config/hearsayd",
]


def networks_told(router):
    """The networks after whose changes procd calls the script."""
    service = json.loads(router.run("ubus call service list '{\"name\":\"hearsayd\",\"verbose\":true}'"))
    conditions = [trigger[1][1] for trigger in service["hearsayd"]["triggers"]]
    return [value for _, key, value in conditions if key == "interface"]


def seen_by_others(router):
    """What dnsmasq, umdns and procd are told."""
    return (router.run("cat /tmp/dnsmasq.d/hearsay-hearsayd.conf"), router.instance("hearsayd")["data"],
            networks_told(router))


def test_a_refused_restart_keeps_what_others_see(router, tmp_path):
    """A port that dnsmasq refuses takes DNS and DHCP of the whole router away."""
    if not shutil.which("dnsmasq"):
        pytest.skip("there is no dnsmasq")
    router.start()
    before = seen_by_others(router)
    assert before[2] == ["guest"]
    for command in WRONG_FILES:
        router.reset()
        router.configure("main.enabled=1")
        router.run(command)
        since = router.mark()
        status, output = router.try_run("/etc/init.d/hearsayd restart")
        assert status == 1 and OLD_STAYS in output, output
        router.wait_log("ready: hearsayd", since)
        assert seen_by_others(router) == before
        file = tmp_path / "hearsay.conf"
        file.write_text(before[0], encoding="utf-8")
        subprocess.run(["dnsmasq", "--test", f"--conf-file={file}"], check=True)


def test_a_host_without_a_name(router):
    router.run("uci add hearsayd host; uci commit hearsayd")
    router.configure("main.enabled=1")
    status, output = router.try_run("/etc/init.d/hearsayd start")
    assert status == 1 and "is a host without a name" in output and "not started" in output


def test_wrong_at_the_start_and_mended(router):
    router.configure("main.enabled=1", "limits.messages=many")
    status, output = router.try_run("/etc/init.d/hearsayd start")
    assert status == 1 and "not started" in output
    assert not router.instance("hearsayd")
    router.configure("limits.messages=6000")
    reload_and_wait(router, "ready: hearsayd")
    assert limit_of(router) == 6000


def test_a_file_that_uci_cannot_read(router):
    pid = router.start()
    router.write("etc/config/hearsayd", "config daemon 'main\n\toption enabled '1'\n")
    status, output = router.try_run("/etc/init.d/hearsayd reload")
    assert status == 1 and "/etc/config/hearsayd: Parse error" in output and OLD_STAYS in output
    assert router.pid("hearsayd") == pid


def test_a_key_that_its_user_cannot_read(router):
    pid = router.start()
    folder = router.root / "etc/hearsay"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", "30", "-keyout", folder / "key.pem", "-out", folder / "c.pem",
                    "-subj", "/CN=hearsay"], check=True, capture_output=True)
    try:
        (folder / "key.pem").chmod(0o600)
        router.configure("main.tls_certificate=/etc/hearsay/c.pem", "main.tls_key=/etc/hearsay/key.pem")
        status, output = router.try_run("/etc/init.d/hearsayd reload")
        assert status == 1 and "/etc/hearsay/key.pem" in output and OLD_STAYS in output, output
        assert "tls=0" in router.run("cat /tmp/dnsmasq.d/hearsay-hearsayd.conf")
        since = router.mark()
        router.run("chown hearsay /etc/hearsay/key.pem && /etc/init.d/hearsayd reload")
        router.wait_log("TLS with /etc/hearsay/c.pem", since)
        assert "tls=1" in router.run("cat /tmp/dnsmasq.d/hearsay-hearsayd.conf")
        assert router.pid("hearsayd") == pid
    finally:
        for file in folder.iterdir():
            file.unlink()


# --- addresses ------------------------------------------------------------------------------------


def test_addresses_come_and_go(router):
    router.set_addresses()
    since = router.mark()
    pid = router.start()
    router.wait_log("network guest has no address yet: waiting for one", since)
    assert "hearsay-hearsayd.conf" not in router.run("ls /tmp/dnsmasq.d")

    for addresses, is_there in ((["192.168.8.1", "fd00:8::1"], True), ([], False),
                                (["192.168.8.1", "fd00:8::1"], True)):
        since = router.mark()
        router.set_addresses(guest=addresses)
        router.tell_network("guest", "interface.update" if is_there else "interface.down")
        router.wait_log("configuration reloaded", since)
        listening = router.run("cat /var/etc/hearsay/hearsayd.conf")
        for address in ("192.168.8.1:7117", "[fd00:8::1]:7117"):
            assert (f"listen = {address} local freebind" in listening) == is_there
            if is_there:
                router.wait_log(f"listening on {address} local", since)
        assert ("hearsay-hearsayd.conf" in router.run("ls /tmp/dnsmasq.d")) == is_there
        assert router.pid("hearsayd") == pid


def test_another_networks_address_changes_nothing(router):
    router.start()
    router.set_addresses(guest=["192.168.8.1"], lan=["192.168.1.1"])
    router.run("/etc/init.d/hearsayd reload")
    assert "192.168.1.1" not in router.run("cat /var/etc/hearsay/hearsayd.conf")
    assert networks_told(router) == ["guest"]
    router.configure("+main.network=lan")
    reload_and_wait(router)
    router.wait_log("listening on 192.168.1.1:7117 local")
    assert networks_told(router) == ["guest", "lan"]


def test_link_local_addresses_are_left_out(router):
    router.set_addresses(guest=["fe80::1", "192.168.8.1", "FEBF::1", "fd00:8::1", "fd00:8::2"])
    router.start()
    written = router.run("cat /var/etc/hearsay/hearsayd.conf")
    assert re.findall(r"^listen = (\S+) local", written, re.M) == ["192.168.8.1:7117", "[fd00:8::1]:7117", "127.0.0.1:7117"]


# --- storage and clock ----------------------------------------------------------------------------


def test_full_memory_keeps_the_old_file(router):
    pid = router.start()
    router.run("mkdir /tmp/keep && cp -a /var/etc/hearsay/. /tmp/keep/ && "
               "mount -t tmpfs -o size=8k tmpfs /var/etc/hearsay && "
               "cp -a /tmp/keep/hearsayd.conf /var/etc/hearsay/")
    try:
        router.try_run("cat /dev/zero >/var/etc/hearsay/filler")
        router.configure("limits.messages=6000")
        status, output = router.try_run("/etc/init.d/hearsayd reload")
        assert status == 1 and "is /tmp full?" in output and OLD_STAYS in output, output
        assert router.pid("hearsayd") == pid and limit_of(router) == 10000
    finally:
        router.run("umount /var/etc/hearsay; rm -rf /tmp/keep")


def test_a_stick_that_is_not_mounted(router):
    """Its messages do not go to the router's flash instead."""
    router.write("etc/config/fstab", "config mount\n\toption target '/overlay/usb'\n")
    router.run("mkdir -p /overlay/usb && chmod 777 /overlay/usb")
    try:
        router.configure("main.enabled=1", "main.data=/overlay/usb/hearsay")
        since = router.mark()
        router.run("/etc/init.d/hearsayd start")
        router.wait_log("data is on /overlay/usb, which is not mounted: waiting for it", since)
        assert not router.instance("hearsayd") and not router.run("find /overlay/usb /tmp/dnsmasq.d -mindepth 1")
        router.run("mount -t tmpfs -o size=5m tmpfs /overlay/usb && ubus call service event "
                   "'{\"type\":\"mount.add\",\"data\":{\"target\":\"/overlay/usb\"}}'")
        router.wait_log("data in /overlay/usb/hearsay", since)
        assert "hearsay-hearsayd.conf" in router.run("ls /tmp/dnsmasq.d")
    finally:
        (router.root / "etc/config/fstab").unlink()
        router.run("/etc/init.d/hearsayd stop")
        wait_until(lambda: router.try_run("umount /overlay/usb")[0] == 0, "the stick is free")


def test_full_overlay(router):
    """Messages on an overlay that is full: the daemon says so, and uci leaves the old file."""
    router.run("mount -t tmpfs -o size=5m tmpfs /overlay && mkdir -m 777 /overlay/data")
    try:
        router.start("main.data=/overlay/data/hearsay")
        router.try_run("cat /dev/zero >/overlay/filler")
        status, output = router.try_run("hearsay deposit -l a:b text")
        assert status != 0 and "STORAGE" in output, output
        router.run("rm /overlay/filler && hearsay deposit -l a:b text")
    finally:
        router.run("/etc/init.d/hearsayd stop")
        wait_until(lambda: router.try_run("umount /overlay")[0] == 0, "the overlay is free")


def test_full_overlay_with_the_configuration(router):
    """uci says nothing, and leaves an empty file."""
    pid = router.start()
    router.run("cp /etc/config/hearsayd /tmp/kept && mount -t tmpfs -o size=8k tmpfs /etc/config && "
               "cp /tmp/kept /etc/config/hearsayd")
    try:
        router.try_run("cat /dev/zero >/etc/config/filler")
        router.run("uci set hearsayd.limits.messages=6000 && uci commit hearsayd")
        status, output = router.try_run("/etc/init.d/hearsayd reload")
        assert status == 1 and "has no section 'main': was the flash full?" in output
        assert OLD_STAYS in output
        assert router.pid("hearsayd") == pid and limit_of(router) == 10000
    finally:
        router.run("umount /etc/config; rm -rf /tmp/kept /tmp/.uci")


def test_read_only_root(router):
    router.configure("main.enabled=1")
    router.run("mount -o remount,bind,ro /")
    try:
        assert "Read-only" in router.try_run("touch /etc/config/x")[1]
        since = router.mark()
        router.run("/etc/init.d/hearsayd start")
        router.wait_log("ready: hearsayd", since)
        assert router.run("hearsay deposit -l a:b text")
    finally:
        router.run("mount -o remount,bind,rw /")


def test_data_on_a_read_only_root(router):
    router.configure("main.enabled=1", "main.data=/root/hearsay")
    router.run("mount -o remount,bind,ro /")
    try:
        since = router.mark()
        router.run("/etc/init.d/hearsayd start")
        router.wait_log("the data directory /root/hearsay", since)
    finally:
        router.run("/etc/init.d/hearsayd stop; mount -o remount,bind,rw /")


def test_no_clock_at_boot(router):
    """It is 1970 until somebody sets the clock. Messages can be left all the same."""
    if not os.environ.get("HEARSAY_EARLIER"):
        pytest.skip("hearsay-web is not built, and with it the clock of the tests")
    shutil.copy(os.environ["HEARSAY_EARLIER"], router.root / "owrt/lib/libearlier.so")
    program = router.root / "usr/sbin/hearsayd"
    program.rename(program.with_suffix(".real"))
    router.write("usr/sbin/hearsayd", "#!/bin/sh\nexport LD_PRELOAD=/owrt/lib/libearlier.so\n"
                 "export EARLIER_S=$(date +%s)\nexec /usr/sbin/hearsayd.real \"$@\"\n", 0o755)
    with router.without_ujail():  # the jail would have neither date nor the library
        try:
            router.start()
            assert " 1970-01-01T" in router.lines[-1]
            router.run("hearsay deposit -l a:b text && hearsay query -l a:b | grep text")
            assert "false" in router.run("hearsay ping --json | grep clock_trusted")
        finally:
            router.run("/etc/init.d/hearsayd stop")
            program.with_suffix(".real").rename(program)


# --- the other files ------------------------------------------------------------------------------


def test_firewall_rules_are_off(router):
    """The rules are made once, and stay as somebody has set them."""
    script = "cd /etc/uci-defaults && ( . ./50-hearsay-firewall )"
    router.run(script)
    for rule, port in (("hearsay", "7117"), ("hearsay_web", "7118")):
        assert router.run(f"uci show firewall.{rule} | sed 's/.*\\.{rule}//'").split() == [
            "=rule", f".name='Allow-{rule.replace('_', '-')}'", ".src='guest'", ".proto='tcp'",
            f".dest_port='{port}'", ".target='ACCEPT'", ".enabled='0'"]
    router.run("uci set firewall.hearsay.enabled=1 && uci commit firewall")
    router.run(script)
    assert router.run("uci get firewall.hearsay.enabled") == "1\n"
    assert router.run("uci show firewall | grep -c =rule") == "2\n"
