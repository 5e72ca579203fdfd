# SPDX-License-Identifier: Apache-2.0
"""What luci-app-hearsay writes (luci.json, which tests/browser/test_luci.py makes anew in Chromium), given
to the init scripts; and the figures that its program tells rpcd. rpcd and LuCI are not here."""

import json
import os

import pytest
from router import FILES, HERE, wait_until

APP = FILES.parent / "luci-app-hearsay"
PLUGIN = "usr/libexec/rpcd/hearsay"
NOTHING_REFUSED = {"main": False, "web": False, "moderate": False}


@pytest.fixture
def luci(router):
    router.write(PLUGIN, (APP / "root" / PLUGIN).read_text(encoding="utf-8"), 0o755)
    return router


def save(router):
    lines = []
    for section, options in json.loads((HERE / "luci.json").read_text(encoding="utf-8")).items():
        for option, value in options.items():
            if isinstance(value, list):
                router.try_run(f"uci delete hearsayd.{section}.{option}")
                lines += [f"+{section}.{option}='{item}'" for item in value]
            else:
                lines.append(f"{section}.{option}='{value}'")
    router.configure(*lines)


def status_of(router):
    return json.loads(router.run(f"/{PLUGIN} call status"))


def change(router, line, text):
    since = router.mark()
    router.configure(line)
    router.run("reload_config")
    router.wait_log(text, since)


def test_the_init_scripts_take_what_the_page_writes(luci):
    if not os.environ.get("HEARSAY_WEB"):
        pytest.skip("hearsay-web is not built")
    save(luci)
    since = luci.mark()
    luci.run("/etc/init.d/hearsayd start")
    luci.wait_log("ready: hearsayd", since)
    luci.run("/etc/init.d/hearsay-web start")
    luci.wait_log("listening on 192.168.8.1:7118", since)
    get = "wget -q -O - http://192.168.8.1:7118"
    # 503 until the page has its connection to hearsayd.
    wait_until(lambda: "B\u00fccherei ; Ost" in luci.try_run(f"{get}/")[1], "the page is there")
    about = luci.run(f"{get}/about")
    assert "Main Street 1" in about and "jules@example.org" in about
    luci.run(f"{get}/poster")  # where the page of LuCI has a link


def test_the_figures(luci):
    luci.start("default.accept=review")
    status = status_of(luci)
    assert (status["running"], status["refused"]) == (True, NOTHING_REFUSED)
    assert (status["accept"], status["set_by"]) == ("review", "configuration")
    luci.run("hearsay deposit -l a:b 'a message'")
    assert status_of(luci)["stats"]["host/default/pending"] == 1
    change(luci, "limits.ttl_max=1h", "the configuration of before stays in force")
    status = status_of(luci)
    assert (status["running"], status["refused"]) == (True, {**NOTHING_REFUSED, "main": True})
    change(luci, "limits.ttl_max=3d", "configuration reloaded")
    assert status_of(luci)["refused"] == NOTHING_REFUSED
    change(luci, "default.here='a:b\nc:d'", "has more than one line")  # the script itself refuses it
    luci.wait_log("the configuration of before stays in force", luci.mark() - 1)
    assert status_of(luci)["refused"] == {**NOTHING_REFUSED, "main": True}
    luci.run("uci delete hearsayd.default.here")
    change(luci, "limits.ttl_max=2d", "configuration reloaded")
    assert status_of(luci)["refused"] == NOTHING_REFUSED
    luci.run("/etc/init.d/hearsayd stop")
    assert status_of(luci) == {"running": False, "code": 3, "refused": NOTHING_REFUSED}
    luci.run("rm /usr/bin/hearsay")
    assert status_of(luci) == {"running": False, "code": 127, "refused": NOTHING_REFUSED}
