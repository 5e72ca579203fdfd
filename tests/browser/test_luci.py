# SPDX-License-Identifier: Apache-2.0
"""packaging/openwrt/luci-app-hearsay: the page of LuCI before a stub of LuCI's classes (luci.js).

The stub is no LuCI: that the page works on a router is to be tried there.
"""

import copy
import json
import os
import re
import string
import subprocess

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import conftest
import hearsay_wire as wire
from harness import PROGRAM
from test_luci_app import ACL, VIEW, po_entries, read
from web_runner import USER

STUB = os.path.join(wire.ROOT, "tests", "browser", "luci.js")


def installed():
    """The UCI file of the package hearsayd, as LuCI sees it."""
    sections = {}
    with open(os.path.join(wire.ROOT, "packaging/openwrt/files/hearsayd.config"), encoding="utf-8") as file:
        for line in file:
            match = re.match(r"\s*(config|option|list) (\w+) '(.*)'$", line)
            if match and match.group(1) == "config":
                sections[match.group(3)] = section = {".type": match.group(2)}
            elif match and match.group(1) == "option":
                section[match.group(2)] = match.group(3)
            elif match:
                section.setdefault(match.group(2), []).append(match.group(3))
    return sections


# The same with everything switched on, hours and a title.
UCI = installed()
UCI["main"]["enabled"] = UCI["web"]["enabled"] = "1"
UCI["default"]["accept_schedule"] = ["22:00-06:00 closed"]
UCI["web"]["title"] = "Caf\u00e9 Central"
UCI["moderate"]["password"] = "$argon2id$..."
STATS = {"messages": 123, "reload_ok": 1, "host/default/messages": 123, "host/default/reported": 2,
         "host/default/pending": 0}
STATUS = {"running": True, "accept": "open", "set_by": "configuration", "stats": STATS}
NETWORKS = [{"name": "lan", "address": "192.168.1.1"}, {"name": "guest", "address": "192.168.8.1"}]
SYSTEM_LOG = "The system log says why: look for hearsayd."

# --- the page -------------------------------------------------------------------------------------


class Luci:
    def __init__(self, driver):
        self.driver = driver

    def open(self, uci=None, status=STATUS, networks=NETWORKS, words=None):
        self.driver.get("data:text/html;charset=utf-8,<!doctype html><title>LuCI</title>")
        self.run(open(STUB, encoding="utf-8").read())
        ubus = {} if status is None else {"hearsay.status": status}
        self.run("Object.assign(stub.world, arguments[0])",
                 {"uci": copy.deepcopy(UCI if uci is None else uci), "ubus": ubus,
                  "networks": networks, "words": words or {}})
        error = self.driver.execute_async_script(
            "const done = arguments[1]; stub.open(arguments[0]).then(() => done(null),"
            " error => done(String(error)));", VIEW)
        assert error is None, error

    def run(self, source, *arguments):
        return self.driver.execute_script(source, *arguments)

    def find(self, name):
        return self.driver.find_element(By.ID, name)

    def type(self, name, text):
        field = self.find(name)
        field.clear()
        field.send_keys(text, Keys.TAB)

    def add(self, name, text):
        field = self.find(name).find_element(By.TAG_NAME, "input")
        field.clear()
        field.send_keys(text, Keys.ENTER)

    def error(self, name):
        return self.run("return arguments[0].parentNode.querySelector('.error').textContent",
                        self.find(name))

    def save(self):
        """What changed in UCI; None: the page refused to save."""
        self.driver.execute_async_script("stub.save().then(arguments[0])")
        saved = self.run("return stub.saved.pop() ?? null")
        assert saved is None or saved["config"] == "hearsayd"
        return saved and saved["changes"]

    def uci(self):
        return self.run("return stub.world.uci")

    def rules(self, section, option, values):
        """What the page says of each value: "", or a sentence."""
        return self.run("""
          const [section, name, values] = arguments;
          const option = stub.map.children.flatMap(one => one.each((option, id) => [option, id]))
            .find(one => one[0].option === name && one[1] === section)[0];
          return values.map(value => option.validate(section, value)).map(rule => rule === true ? '' : rule);
          """, section, option, values)

    @property
    def text(self):
        return self.driver.find_element(By.TAG_NAME, "body").text

    def links(self):
        return {one.text: one.get_attribute("href")
                for one in self.driver.find_elements(By.TAG_NAME, "a")}


@pytest.fixture
def luci(browser):  # noqa: F811
    return Luci(browser)


def change_each_field(luci):
    luci.find("main.enabled").click()
    Select(luci.find("main.network")).select_by_value("lan")
    Select(luci.find("default.accept")).select_by_value("review")
    luci.add("default.accept_schedule", "23:00-07:30 closed")
    luci.add("default.accept_schedule", "07:30-09:00 review")
    luci.type("limits.ttl_default", "2 hours")
    luci.type("limits.ttl_max", "1w")
    luci.find("web.enabled").click()
    Select(luci.find("web.network")).select_by_value("lan")
    luci.type("web.title", "B\u00fccherei ; Ost")
    luci.type("web.subtitle", "Notes of our guests")
    luci.type("web.topics", "Coffee, lost+found")
    luci.type("web.operator", "Jules Example, Main Street 1")
    luci.type("web.contact", "jules@example.org")


# What that writes; tests/openwrt/test_luci.py gives the same to the init scripts.
with open(os.path.join(wire.ROOT, "tests", "openwrt", "luci.json"), encoding="utf-8") as changes:
    CHANGES = json.load(changes)


def test_each_field_changes_its_option(luci):
    luci.open(installed())
    change_each_field(luci)
    assert luci.save() == CHANGES


def test_a_page_that_nobody_changed_changes_nothing(luci):
    luci.open()
    changes = luci.save()
    # The mode in force when none is set may be written down.
    assert changes in ({}, {"default": {"accept": "open"}})


def test_an_emptied_field_goes_back_to_the_default(luci):
    luci.open()
    luci.find("default.accept_schedule").find_element(By.TAG_NAME, "li").click()
    luci.type("limits.ttl_max", "")
    luci.type("web.title", "")
    changes = luci.save()
    assert changes["limits"] == {"ttl_max": None} and changes["web"] == {"title": None}
    assert changes["default"]["accept_schedule"] is None


def test_several_hosts_have_their_names(luci):
    luci.open({**UCI, "lobby": {".type": "host"}})
    assert "DEFAULT" in luci.text and "LOBBY" in luci.text
    Select(luci.find("lobby.accept")).select_by_value("closed")
    assert luci.save()["lobby"] == {"accept": "closed"}
    luci.open()
    assert "DEFAULT" not in luci.text


# --- the rules ------------------------------------------------------------------------------------


def check_config(program, folder, text):
    """Whether the program takes the file."""
    file = os.path.join(folder, "checked.conf")
    with open(file, "w", encoding="utf-8") as out:
        out.write(text)
    done = subprocess.run([program, "--config", file, "--check-config"], capture_output=True,
                          text=True, timeout=wire.PATIENCE, check=False)
    assert done.returncode in (0, 2), done.stderr
    return done.returncode == 0, done.stderr


def conf_of(uci, kept):
    """Section by section as a file, as the init script writes them: the keys are those of UCI. Files,
    users and addresses of a router are left out; the page, which does not serve as root, has a user of
    this machine."""
    left_out = (".type", "enabled", "network", "port", "listen", "user", "admin_group", "gateway_user",
                "rules")
    text = ""
    for name, options in uci.items():
        kind = options[".type"]
        if kind in kept:
            text += f"[{kind} {name}]\n" if kind == "host" else f"[{kind}]\n"
            text += USER if kind == "web" else ""
            for option, value in options.items():
                if option not in left_out:
                    lines = value if isinstance(value, list) else [value]
                    text += "".join(f"{option} = {line}\n" for line in lines)
    return text


def test_both_programs_take_what_the_page_writes(luci, tmp_path):
    luci.open(installed())
    change_each_field(luci)
    luci.save()
    uci = luci.uci()
    for program, kept in ((conftest.HEARSAYD, ("daemon", "limits", "host")), (PROGRAM, ("web",))):
        taken, why = check_config(conftest.binary(program), str(tmp_path), conf_of(uci, kept))
        assert taken, why


HOURS = ["22:00-06:00 closed", "00:00-23:59 open", "7:00-08:00 open", "22:00-22:00 closed",
         "24:00-06:00 closed", "22:60-06:00 closed", "22:00-06:00", "22:00-06:00 shut",
         "22:00-06:00  review", "22:00-06:00\treview", "22:00 -06:00 open", " 22:00-06:00 open ",
         "22:00-06:00 closed ;night", "22:00-06:00 Closed", "22:00-06:00closed", "22:00-06:00 \t open"]
DURATIONS = ["1s", "0", "0s", "12h", "24H", "2 days", "7 weeks", "1.5h", "1", "3650d", "3651d",
             "99999999999999999999d", "1M", "1min", "1ms", "-1h", "1h 30m", "h", "2  days", "10m ;x",
             "\u0661h", "1day", "constructor", "1constructor", " 5m"]
TEXTS = ["Caf\u00e9", "x" * 159, "x" * 160, "\u00e9" * 79, "\u00e9" * 80, "a; b", "a ;b", ";b", "a;b",
         "# a", "[web]", "a = b", "<script>alert(1)</script>", "'\"$(reboot)`", "\U0001f600" * 39,
         "\U0001f600" * 40, "\\", " a ", "%s%d"]


def with_random(rng, values, alphabet, count=20):
    """The values, and some of them with a character more, less or other."""
    for _ in range(count):
        value = rng.choice(values)
        at = rng.randrange(len(value) + 1)
        values = values + [value[:at] + rng.choice(alphabet) + value[at + rng.randrange(2):]]
    return [value for value in values if value.strip() != ""]


@pytest.mark.parametrize("section, option, values, alphabet", [
    ("default", "accept_schedule", HOURS, "0123456789:- \tcdelnoprsvw;"),
    ("limits", "ttl_default", DURATIONS, "0123456789smhdwin .;"),
    ("limits", "ttl_max", DURATIONS, "0123456789smhdwin .;"),
    ("web", "title", TEXTS, string.printable[:95] + "\u00e9;;;  "),
    ("web", "operator", TEXTS, string.printable[:95] + "\u00e9;;;  "),
    ("web", "contact", TEXTS, string.printable[:95] + "\u00e9;;;  "),
], ids=["hours", "usual", "longest", "title", "operator", "contact"])
def test_the_rules_are_those_of_check_config(luci, rng, tmp_path, section, option, values, alphabet):
    """The page refuses what the programs refuse, and nothing else."""
    other = {"ttl_default": ("ttl_max", "3650d"), "ttl_max": ("ttl_default", "1s")}.get(option)
    uci = copy.deepcopy(UCI)
    if other is not None:
        uci["limits"] = {".type": "limits", other[0]: other[1]}
    luci.open(uci)
    values = with_random(rng, values, alphabet)
    program = conftest.binary(PROGRAM if section == "web" else conftest.HEARSAYD)
    for value, rule in zip(values, luci.rules(section, option, values)):
        uci[section][option] = value
        text = conf_of({section: uci[section]}, (uci[section][".type"],))
        taken, why = check_config(program, str(tmp_path), text)
        assert taken == (rule == ""), (value, rule, why)


def test_a_wrong_value_is_named_and_not_saved(luci):
    luci.open()
    luci.type("limits.ttl_default", "soon")
    assert "such as 12h or 2 days" in luci.error("limits.ttl_default")
    assert luci.save() is None
    luci.type("limits.ttl_default", "3d")
    assert luci.error("limits.ttl_default") == ""
    assert "shorter than the usual one, which is 3d" in luci.error("limits.ttl_max")
    assert luci.save() is None
    luci.type("limits.ttl_max", "")
    assert luci.save() is not None
    luci.add("default.accept_schedule", "when I like")
    assert "such as 22:00-06:00 closed" in luci.error("default.accept_schedule")
    assert luci.save() is None


def test_there_are_eight_lines_of_hours_at_most(luci):
    luci.open()
    for hour in range(7):
        luci.add("default.accept_schedule", f"0{hour}:00-0{hour}:30 closed")
    assert luci.error("default.accept_schedule") == ""
    luci.add("default.accept_schedule", "09:00-09:30 closed")
    assert luci.error("default.accept_schedule") == "At most 8 lines."
    luci.find("default.accept_schedule").find_element(By.TAG_NAME, "input").clear()
    assert len(luci.save()["default"]["accept_schedule"]) == 8


# --- what it says ---------------------------------------------------------------------------------


def test_figures(luci):
    luci.open()
    assert "123 messages, 2 reported\nNew messages are shown at once." in luci.text
    assert luci.run("return stub.called") == ["hearsay.status"]
    stats = {**STATS, "messages": 1, "host/default/pending": 3, "host/lobby/reported": 1, "reload_ok": 0}
    luci.open(status={**STATUS, "accept": "closed", "set_by": "operator", "stats": stats})
    assert "1 message, 3 reported, 3 waiting for review\nNo new messages are taken." in luci.text
    assert "An operator has set this" in luci.text
    assert f"The last change was refused, and the settings before it hold. {SYSTEM_LOG}" in luci.text
    for web, refused in (("1", True), ("0", False)):  # what is off need not be right
        luci.open({**UCI, "web": {**UCI["web"], "enabled": web}},
                  {**STATUS, "refused": {"main": False, "web": True}})
        assert ("The last change was refused" in luci.text) == refused
    luci.open(status={**STATUS, "accept": "review", "set_by": "schedule", "stats": {}})
    assert "0 messages, 0 reported\nNew messages wait for review. The hours below say so." in luci.text


def test_without_figures_the_page_works_and_says_why(luci):
    off = copy.deepcopy(UCI)
    off["main"]["enabled"] = "0"
    for status, uci, said in (
            (None, UCI, "Has rpcd been restarted since this page was installed?"),
            ("lost", UCI, "The figures cannot be asked for."),
            ({"running": False, "code": 127}, UCI, "the package hearsay is not installed"),
            ({"running": False, "code": 3}, UCI, "hearsayd is switched on and does not answer."),
            ({"running": False, "code": 3}, off, "because the board is switched off."),
            ({"running": True}, UCI, "0 messages, 0 reported")):
        luci.open(uci, status)
        assert said in luci.text
        luci.type("web.title", "Still works")
        assert luci.save()["web"] == {"title": "Still works"}


def test_an_empty_uci_file_and_no_networks(luci):
    luci.open({}, networks="lost")
    assert "123 messages" in luci.text and luci.links() == {}
    assert luci.save() == {}


def test_links_lead_to_the_page_for_phones(luci):
    luci.open()
    assert luci.links() == {"Page for phones": "http://192.168.8.1:7118/",
                            "Poster to print": "http://192.168.8.1:7118/poster"}
    luci.open({**UCI, "web": {**UCI["web"], "port": "80"}})
    assert luci.links()["Poster to print"] == "http://192.168.8.1/poster"
    nothing = "The poster can be printed here when the page for phones is on and its network is up."
    luci.open({**UCI, "web": {**UCI["web"], "enabled": "0"}})
    assert luci.links() == {} and nothing in luci.text
    luci.open(networks=[NETWORKS[0], {"name": "guest"}])
    assert luci.links() == {} and nothing in luci.text


def test_the_page_for_moderators(luci):
    """It is offered where it is on, and can be switched on when it has a password."""
    luci.open()
    assert "hearsay admin list" in luci.text
    luci.find("moderate.enabled").click()
    assert luci.save()["moderate"] == {"enabled": "1"}
    luci.open(luci.uci())
    assert luci.links()["Page for moderators"] == "http://192.168.1.1:7119/"
    assert "hearsay admin list" not in luci.text
    luci.open(luci.uci(), {**STATUS, "refused": {"main": False, "web": False, "moderate": True}},
              [{"name": "lan"}, NETWORKS[1]])
    assert "Page for moderators" not in luci.links()
    assert f"The last change was refused, and the settings before it hold. {SYSTEM_LOG}" in luci.text
    luci.open(installed())
    luci.find("moderate.enabled").click()
    assert "type: /etc/init.d/hearsay-moderate set_password" in luci.error("moderate.enabled")
    assert luci.save() is None


def test_hostile_strings_are_text(luci):
    """Values of UCI, of ubus and of networks become no elements."""
    bad = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
    uci = copy.deepcopy(UCI)
    uci["web"].update(title=bad, operator=bad, contact=bad, port=f'80"{bad}')
    uci["limits"].update(ttl_default=bad, ttl_max=bad)
    uci["default"].update(accept=bad, accept_schedule=[bad])
    status = {"running": True, "accept": bad, "set_by": bad,
              "stats": {"messages": bad, f"host/{bad}/reported": bad, "host/default/pending": bad}}
    luci.open(uci, status, [{"name": "guest", "address": f"192.168.8.1{bad}"}])
    assert luci.find("web.title").get_attribute("value") == bad
    assert luci.find("default.accept_schedule").text == bad
    assert luci.error("limits.ttl_default") != "" and luci.error("limits.ttl_max") != ""
    luci.save()
    assert not luci.driver.find_elements(By.CSS_SELECTOR, "img, script")
    assert luci.run("return window.hacked ?? null") is None
    for word in ("constructor", "__proto__", "toString"):
        luci.open(status={**STATUS, "accept": word, "set_by": word})
        assert "123 messages, 2 reported\n" in luci.text and "function" not in luci.text


# --- rights and translation ------------------------------------------------------------------------


def test_the_rights_are_those_that_the_page_uses(luci):
    (rights,) = ACL.values()
    luci.open()
    luci.type("web.title", "Other")
    luci.save()
    called = {name.partition(".")[::2] for name in luci.run("return stub.called")}
    granted = {(name, method) for name, methods in rights["read"]["ubus"].items() for method in methods}
    assert called == granted
    assert set(luci.run("return stub.loaded")) == set(rights["read"]["uci"]) == {"hearsayd"}
    assert set(rights["write"]) == {"uci"} and rights["write"]["uci"] == ["hearsayd"]
    assert set(rights) == {"description", "read", "write"} and set(rights["read"]) == {"ubus", "uci"}


def test_german(luci):
    german = po_entries(read("po", "de", "hearsay.po"))
    words = {one: translated if many else translated[0] for (one, many), translated in german.items()}
    luci.open(words=words, status={**STATUS, "stats": {**STATS, "messages": 1}})
    assert "1 Nachricht, 2 gemeldet\n" in luci.text
    for one in words:
        if one not in ("Hearsay", "Name") and words[one] != one and "%" not in one:
            assert one not in luci.text.splitlines(), one
