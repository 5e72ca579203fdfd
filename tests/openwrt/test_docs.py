# SPDX-License-Identifier: Apache-2.0
"""Each command of docs/operations/openwrt.md, literally: each task from its heading on, on a router that
is open to guests and where nobody has done another task."""

import re
import shutil

import pytest
import router as openwrt
from router import FILES, wait_until

PAGE = FILES.parents[2] / "docs/operations/openwrt.md"

# Programs of OpenWrt that are not here: they say what they were asked to do.
STAND_INS = {
    "usr/bin/apk": "logger -t apk -- \"$*\"\ncase \"$*\" in *openssl-util*) "
                   "ln -s /owrt/openssl /usr/bin/openssl ;; esac",
    "usr/bin/logread": "logger -t logread -- \"$*\"",
    "etc/init.d/firewall": "logger -t firewall -- \"$*\"",
    "etc/init.d/uhttpd": "logger -t uhttpd -- \"$*\"",
}


def tasks():
    """Heading -> its blocks of commands."""
    parts = re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]
    found = {heading: re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
             for heading, text in zip(parts[::2], parts[1::2])}
    return {heading: blocks for heading, blocks in found.items() if blocks}


@pytest.fixture
def furnished():
    reason = openwrt.why_not()
    if reason:
        pytest.skip(reason)
    openwrt.build()
    router = openwrt.Router()
    try:
        furnish(router)
        yield router
        router.stop_all()
    finally:
        router.halt()


def furnish(router):
    for path, script in STAND_INS.items():
        router.write(path, f"#!/bin/sh\n{script}\n", 0o755)
    shutil.copy("/usr/bin/openssl", router.root / "owrt")
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


# What is to be seen after a block that has this line.
SEEN = {
    "apk add --allow-untrusted ./hearsayd-[": ["apk: add --allow-untrusted ./hearsayd-"],
    "uci set hearsayd.web.operator=": ["ready: hearsayd", "listening on 192.168.8.1:7118"],
    "uci set firewall.hearsay.enabled='1'": ["firewall: restart"],
    "uci add_list hearsayd.main.network='lan'": ["listening on 192.168.1.1:7117 local"],
    "uci set hearsayd.web.port='80'": ["uhttpd: restart", "listening on 192.168.8.1:80"],
    "set_password": ["listening on 192.168.1.1:7119"],
    "accept_schedule": ["configuration reloaded"],
    "uci set hearsayd.main.data=": [", 1 host, data in /srv/hearsay"],
    "uci set hearsayd.default.here=": ["configuration reloaded"],
    "apk del": ["apk: add --allow-untrusted ./hearsayd-ssl-"],
    "tls_certificate": ["TLS with /etc/hearsay/certificate.pem", "configuration reloaded"],
    "hearsayd restart": ["hearsay-web", "ready: hearsay-web"],
    "logread": ["logread: -e hearsay"],
}


def run_block(router, block):
    """Runs it, with a password for who asks; its output, when all that is to be seen was seen."""
    since = router.mark()
    output = router.run(f"set -e\necho 'correct horse' | {{\n{block}}}")
    for line in [line for line in SEEN if line in block]:
        for text in SEEN[line]:
            router.wait_log(text, since)
    return output


def before(router, block):
    """What an operator has done, and this page has not."""
    if "export" in block:
        router.run("hearsay deposit -l a:b kept")


def after(router, block, output):
    if "accept_schedule" in block:
        assert "0 of 10000 messages" in output
    if "port='80'" in block:
        # Until hearsayd has greeted hearsay-web, the page says that the board is away.
        wait_until(lambda: "Jules" in router.try_run("wget -q -O - http://192.168.8.1/")[1], "the page")
    if "export" in block:
        assert router.run("stat -c %a /etc/hearsay/messages.gz") == "600\n"
        router.run("/etc/init.d/hearsayd stop")
        wait_until(lambda: router.service("hearsayd") is None, "hearsayd has stopped")
        router.run("rm -r /srv/hearsay; /etc/init.d/hearsayd start")
        wait_until(lambda: router.try_run("hearsay ping")[0] == 0, "hearsayd answers")
    if "import" in block:
        router.run("hearsay query | grep kept")  # at this place, as before
    if "tls_certificate" in block:
        router.run("hearsay --tls -s 192.168.8.1 ping")


OPENED = "Open it to guests"


@pytest.mark.parametrize("heading", tasks())
def test_task(furnished, heading):
    if heading not in ("Install", OPENED):
        run_block(furnished, tasks()[OPENED][0])
    for block in tasks()[heading]:
        before(furnished, block)
        after(furnished, block, run_block(furnished, block))


def test_all_that_is_to_be_seen_is_on_the_page():
    blocks = [block for blocks in tasks().values() for block in blocks]
    assert len(tasks()) >= 7
    for line in SEEN:
        assert any(line in block for block in blocks), line
