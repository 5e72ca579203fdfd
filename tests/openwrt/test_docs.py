# SPDX-License-Identifier: Apache-2.0
"""Each command of docs/operations/openwrt.md, literally and in its order, on one router."""

import re
import shutil

import pytest
from router import FILES, wait_until

PAGE = FILES.parents[2] / "docs/operations/openwrt.md"

# Programs of OpenWrt that are not here: they say what they were asked to do.
STAND_INS = {
    "usr/bin/apk": "logger -t apk -- \"$*\"",
    "usr/bin/logread": "logger -t logread -- \"$*\"",
    "etc/init.d/firewall": "logger -t firewall -- \"$*\"",
    "etc/init.d/uhttpd": "logger -t uhttpd -- \"$*\"",
}


def blocks():
    return re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture
def furnished(router):
    for path, script in STAND_INS.items():
        router.write(path, f"#!/bin/sh\n{script}\n", 0o755)
    shutil.copy("/usr/bin/openssl", router.root / "usr/bin")
    router.write("etc/ssl/openssl.cnf", "[req]\ndistinguished_name = name\nx509_extensions = own\n"
                 "[name]\n[own]\nbasicConstraints = critical, CA:false\n")
    router.write("etc/config/uhttpd", "config uhttpd 'main'\n\tlist listen_http '0.0.0.0:80'\n"
                 "\tlist listen_https '0.0.0.0:443'\n")
    router.set_addresses(guest=["192.168.8.1"], lan=["192.168.1.1"])
    router.add_users("hearsay-web")
    router.run("ip address add 192.168.1.1/24 dev lo")
    router.run("( cd /etc/uci-defaults && . ./50-hearsay-firewall )\n"
               "/etc/init.d/hearsayd start; /etc/init.d/hearsay-web start\n"
               "/etc/init.d/hearsay-moderate start")
    return router


# What is to be seen after a block that has this line.
SEEN = {
    "uci set hearsayd.web.operator=": ["ready: hearsayd", "listening on 192.168.8.1:7118"],
    "uci set firewall.hearsay.enabled='1'": ["firewall: restart"],
    "uci add_list hearsayd.main.network='lan'": ["listening on 192.168.1.1:7117 local"],
    "uci set hearsayd.web.port='80'": ["uhttpd: restart", "listening on 192.168.8.1:80"],
    "set_password": ["listening on 192.168.1.1:7119"],
    "accept_schedule": ["configuration reloaded"],
    "uci set hearsayd.main.data=": ["ready: hearsayd 0.2.0, 1 host, data in /srv/hearsay"],
    "tls_certificate": ["TLS with /etc/hearsay/certificate.pem", "configuration reloaded"],
    "hearsayd restart": ["hearsay-web", "ready: hearsay-web"],
    "logread": ["logread: -e hearsay"],
}

OPEN = "hearsay admin accept open"  # the page closes the board at night


def test_commands(furnished):
    seen = dict(SEEN)
    assert len(blocks()) > 8
    for block in blocks():
        if "export" in block:
            furnished.run(f"{OPEN} && hearsay deposit -l a:b kept")
        since = furnished.mark()
        output = furnished.run(f"set -e\necho 'correct horse' | {{\n{block}}}")
        if "accept_schedule" in block:
            assert "0 of 10000 messages" in output
        for line in [line for line in seen if line in block]:
            for text in seen.pop(line):
                furnished.wait_log(text, since)
        if "export" in block:
            furnished.run("/etc/init.d/hearsayd stop")
            wait_until(lambda: furnished.service("hearsayd") is None, "hearsayd has stopped")
            furnished.run("rm -r /srv/hearsay; /etc/init.d/hearsayd start")
            wait_until(lambda: furnished.try_run(OPEN)[0] == 0, "hearsayd answers")
    assert not seen
    furnished.run("hearsay --tls -s 192.168.8.1 query -l a:b | grep kept")
    assert "Jules" in furnished.run("wget -q -O - http://192.168.8.1/")
