# SPDX-License-Identifier: Apache-2.0
"""packaging/openwrt/luci-app-hearsay without a browser: menu, Makefile, translations, and the program
that tells the page the figures, with a real hearsayd and without one. tests/browser/test_luci.py has
the page itself."""

import ast
import json
import os
import re
import shutil
import subprocess

import pytest

import conftest
import hearsay_wire as wire

APP = os.path.join(wire.ROOT, "packaging", "openwrt", "luci-app-hearsay")
PLUGIN = os.path.join(APP, "root", "usr", "libexec", "rpcd", "hearsay")
LABELS = ["topic:luci"]
NOTHING_REFUSED = {"main": False, "web": False, "moderate": False}


def read(*path):
    with open(os.path.join(APP, *path), encoding="utf-8") as file:
        return file.read()


VIEW = read("htdocs", "luci-static", "resources", "view", "hearsay.js")
MENU = json.loads(read("root", "usr", "share", "luci", "menu.d", "luci-app-hearsay.json"))
ACL = json.loads(read("root", "usr", "share", "rpcd", "acl.d", "luci-app-hearsay.json"))


def test_the_menu_names_what_exists():
    (entry,) = MENU.values()
    path = entry["action"]["path"]
    assert entry["action"]["type"] == "view"
    assert os.path.exists(os.path.join(APP, "htdocs", "luci-static", "resources", "view", f"{path}.js"))
    assert entry["depends"] == {"acl": list(ACL), "uci": {"hearsayd": True}}


def test_the_makefile_has_the_version_of_the_programs():
    with open(os.path.join(wire.ROOT, "meson.build"), encoding="utf-8") as file:
        version = re.search(r"version: '([0-9.]+)'", file.read()).group(1)
    makefile = read("Makefile")
    assert f"PKG_VERSION:={version}\n" in makefile
    assert makefile.index("/rules.mk") < makefile.index("LUCI_DEPENDS") < makefile.index("/luci.mk")


# --- translations ---------------------------------------------------------------------------------


def po_entries(text):
    """msgid (or both of a plural) -> msgstr (or all of a plural)."""
    entries = {}
    for block in text.split("\n\n"):
        assert "fuzzy" not in block and "\n#~" not in block, block
        parts = {}
        for line in block.splitlines():
            match = re.match(r'(msg\w+(?:\[\d\])?) (".*")$', line)
            if match:
                key = match.group(1)
                parts[key] = ast.literal_eval(match.group(2))
            elif line.startswith('"'):
                parts[key] += ast.literal_eval(line)
        if parts and parts["msgid"]:
            one = (parts["msgid"], parts.get("msgid_plural"))
            assert one not in entries, one
            entries[one] = [value for name, value in sorted(parts.items()) if name.startswith("msgstr")]
    return entries


def words_of_the_page():
    found = {(ast.literal_eval(text), None) for text in re.findall(r"\b_\(('(?:[^'\\]|\\.)*')", VIEW)}
    found |= {tuple(map(ast.literal_eval, pair)) for pair in
              re.findall(r"\bN_\(\w+, ('(?:[^'\\]|\\.)*'), ('(?:[^'\\]|\\.)*')\)", VIEW)}
    assert len(re.findall(r"\bN?_\(", VIEW)) == len(re.findall(r"\b_\('", VIEW)) + len(
        [1 for one in found if one[1]]), "a text that is no literal"
    return (found | {(entry["title"], None) for entry in MENU.values()}
            | {(entry["description"], None) for entry in ACL.values()})


def test_the_german_translation_is_whole():
    template = po_entries(read("po", "templates", "hearsay.pot"))
    german = po_entries(read("po", "de", "hearsay.po"))
    assert set(template) == words_of_the_page()
    assert set(german) == set(template)
    assert all(not any(value) for value in template.values())
    for (one, many), translated in german.items():
        assert len(translated) == (2 if many else 1) and all(translated), one
        for text in translated:
            assert sorted(re.findall("%.", text)) == sorted(re.findall("%.", one)), one


# --- the figures ----------------------------------------------------------------------------------

SHELLS = [["dash"], ["busybox", "ash"]]


@pytest.fixture(params=SHELLS, ids=lambda shell: shell[-1])
def ask(request, tmp_path):
    """Runs the program as rpcd does. `socket` is where hearsayd would be; None: no `hearsay` there."""
    if shutil.which(request.param[0]) is None:
        pytest.skip(f"there is no {request.param[0]}")
    os.symlink(conftest.program(os.environ.get("HEARSAY", "build/client/hearsay")),
               tmp_path / "hearsay")

    def run(*words, socket):
        path = os.environ["PATH"] if socket is None else f"{tmp_path}:{os.environ['PATH']}"
        env = {"PATH": path, "HOME": str(tmp_path), "HEARSAY_ADMIN": socket or "/nowhere",
               "HEARSAY_FILES": str(tmp_path)}
        shell = [shutil.which(request.param[0]), *request.param[1:]]
        return subprocess.run([*shell, PLUGIN, *words], input="{}", capture_output=True, text=True,
                              env=env, timeout=wire.PATIENCE, check=False)

    return run


def test_the_plugin_lists_its_method(ask):
    done = ask("list", socket="/nowhere")
    assert json.loads(done.stdout) == {"status": {}}
    for words in ((), ("call",), ("call", "reload"), ("call", "status; reboot"), ("other",)):
        done = ask(*words, socket="/nowhere")
        assert done.returncode == 1 and done.stdout == "", words


def test_the_plugin_tells_the_figures(ask, make_daemon, rng):
    daemon = make_daemon("[host local]\n")
    socket = daemon.socket_path
    with daemon.administrator() as client:
        made = [wire.deposit_of(rng, LABELS, ttl_s=3600) for _ in range(3)]
        for one in made:
            client.call(one)
        client.call(wire.pb.Report(id=made[0].id))
        status = json.loads(ask("call", "status", socket=socket).stdout)
        assert (status["running"], status["accept"], status["set_by"]) == (True, "open", "configuration")
        stats = status["stats"]
        assert (stats["messages"], stats["host/local/reported"]) == (3, 1)
        client.call(wire.pb.Accept(mode="review"))
        client.call(wire.deposit_of(rng, LABELS, ttl_s=3600))
        client.call(wire.pb.Remove(id=made[0].id))
    status = json.loads(ask("call", "status", socket=socket).stdout)
    assert (status["accept"], status["set_by"]) == ("review", "operator")
    assert status["stats"]["host/local/pending"] == 1
    assert "host/local/reported" not in status["stats"]


def test_the_plugin_says_plainly_that_nothing_runs(ask, make_daemon, tmp_path):
    daemon = make_daemon()
    daemon.stop()
    assert json.loads(ask("call", "status", socket=daemon.socket_path).stdout) == {
        "running": False, "code": 3, "refused": NOTHING_REFUSED}
    (tmp_path / "web.conf.refused").touch()  # as the init script leaves what was refused
    assert json.loads(ask("call", "status", socket=daemon.socket_path).stdout)["refused"] == {
        **NOTHING_REFUSED, "web": True}
    (tmp_path / "web.conf.refused").unlink()
    done = ask("call", "status", socket=None)
    if shutil.which("hearsay") is None:
        assert json.loads(done.stdout) == {"running": False, "code": 127, "refused": NOTHING_REFUSED}
    assert done.stderr == ""


def test_rpcd_runs_the_plugin():
    assert os.access(PLUGIN, os.X_OK), "rpcd runs files with the x bit only"
