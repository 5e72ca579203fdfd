# SPDX-License-Identifier: Apache-2.0
"""The program behind the page for phones: its files, reloads, refusals, and the check of its configuration."""

import html
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import pytest

import conftest
import hearsay_wire as wire
from test_gateway import GATEWAY, make_gateway, open_folder  # noqa: F401 (fixtures)
from web_runner import HEARSAY_WEB, NAME, USER, make_web  # noqa: F401 (a fixture)


def test_pages_and_files(make_web):
    web = make_web("operator = The Bar\ncontact = bar@example.org\nrules = Be kind.\n")
    page = web.get().text
    for path in re.findall(r'(?:href|src)="(/s/[^"]+)"', page):
        assert web.get(path).status == 200
    about = web.get("/about").text
    assert "The Bar" in about and "bar@example.org" in about and "Be kind." in about
    poster = web.get("/poster")
    assert poster.status == 200 and f"http://{NAME}:{web.port}/<" in poster.text.replace("<wbr>", "")
    assert "?p=" not in re.sub("<[^>]*>", "", poster.text), "nobody types that"
    assert web.get("/qr/page.svg").text.startswith("<svg")
    assert web.get("/qr/page.txt").text.count("\n") > 10
    assert web.get("/qr/join.svg").status == 404
    assert web.get("/robots.txt").status == 200
    assert web.get("/nothing").status == 404
    assert web.get("/leave").status == 303
    assert web.get("/?o=up").status == 400
    assert 'dir="rtl"' in web.get("/?l=ar").text
    head = web.request("HEAD", "/")
    assert head.status == 200 and head.text == ""


def test_no_openssl_is_loaded(make_web):
    # `server` is the path of a Unix socket, so the page needs no TLS, and OpenSSL takes 1.7 MiB.
    web = make_web()
    with open(f"/proc/{web.process.pid}/maps", encoding="utf-8") as maps:
        assert "libssl" not in maps.read()


def test_reload_and_refusal(make_web):
    web = make_web("title = Old\n")
    start = len(web.lines)
    with open(web.file, "a", encoding="utf-8") as file:
        file.write("views = 65\n")
    web.process.send_signal(signal.SIGHUP)
    web.wait_log("`views` .*needs a restart|not reloaded", start)
    with open(web.file, encoding="utf-8") as file:
        text = file.read().replace("views = 65\n", "").replace("title = Old", "title = New Place")
    with open(web.file, "w", encoding="utf-8") as file:
        file.write(text)
    web.process.send_signal(signal.SIGHUP)
    web.wait_log("configuration reloaded", start)
    assert "New Place" in web.get().text


@pytest.mark.parametrize("config, sentence", [
    ("listen = 80", "numeric address with a port"),
    ("listen = 192.0.2.1:80 proxied", "proxy on this machine"),
    ("listen = /run/x.sock", "proxied"),
    ("listen = /run/x.sock proxied freebind", "freebind is for addresses, not for a Unix socket"),
    ("name = Hearsay.lan", "letters a-z"),
    ("host = -bar", "inner hyphens, such as"),
    ("language = sv", "`language` must be auto, en, "),
    ("wifi_ssid = a\nwifi_password = short", "8 to 63"),
    ("wifi_password = long enough", "wifi_ssid"),
    ("events = 512", "connections"),
    ("listn = 127.0.0.1:80", "listen"),
    ("rules = /nowhere/rules.txt", "/nowhere/rules.txt"),
    ("rules = One.\nrules = /etc/passwd", "not both"),
    ("rules = /bin/sh", "UTF-8"),
])
def test_refusals_say_what_would_be_right(tmp_path, config, sentence):
    file = tmp_path / "web.conf"
    file.write_text(f"[web]\n{config}\n{USER}")
    done = subprocess.run([conftest.program(HEARSAY_WEB), "--config", file, "--check-config"],
                          capture_output=True, text=True, timeout=wire.PATIENCE, check=False)
    assert done.returncode == 2 and sentence in done.stderr, done.stderr


def test_the_help_names_all_languages():
    page = subprocess.run([conftest.program(HEARSAY_WEB), "--print-reference", "markdown"], capture_output=True,
                          text=True, check=True).stdout
    helps = re.findall(r"^\| `language` \|.*", page, re.MULTILINE)
    tags = [path.stem for path in (pathlib.Path(__file__).parents[2] / "client/web/lang").glob("*.txt")]
    assert len(helps) == 2 and len(tags) >= 4
    lacking = {tag for tag in tags for text in helps if not re.search(rf"\b{tag}\b", text)}
    assert not lacking, "the help of `language` in client/web/setup/table.c, twice there, lacks them"


def test_freebind(make_web, tmp_path):
    """An address that the machine does not have yet: an error that names the word, and with the word no
    reason to leave the others out."""
    file = tmp_path / "web.conf"
    file.write_text("[web]\nlisten = 127.0.0.1:0\nlisten = 192.0.2.1:0\n")
    done = subprocess.run([conftest.program(HEARSAY_WEB), "--config", file], capture_output=True,
                          text=True, timeout=wire.PATIENCE, check=False)
    assert done.returncode != 0 and "or write freebind behind one that it will have" in done.stderr
    web = make_web("listen = 192.0.2.1:0 freebind\n")
    web.wait_log(r"listening on 192\.0\.2\.1:\d+ freebind\n")
    printed = subprocess.run([conftest.program(HEARSAY_WEB), "--config", web.file, "--print-config"],
                             capture_output=True, text=True, check=True).stdout
    assert "listen = 192.0.2.1:0 freebind\n" in printed


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_rules_are_read_as_user(make_web, open_folder):  # noqa: F811
    """Guests may read the rules: what root alone can open does not become their page."""
    secret = os.path.join(open_folder, "secret")
    with open(secret, "w", encoding="utf-8") as file:
        file.write("root:$1$hash\n")
    os.chmod(secret, 0o600)
    web = make_web("")
    with open(web.file, "a", encoding="utf-8") as file:
        file.write(f"rules = {secret}\n")
    for option in ("--check-config", "--log-level=info"):
        done = subprocess.run([conftest.program(HEARSAY_WEB), "--config", web.file, option],
                              capture_output=True, text=True, timeout=wire.PATIENCE, check=False)
        assert done.returncode == 2 and "`rules`" in done.stderr, done.stderr
        assert "Permission denied" in done.stderr and "hash" not in done.stderr, done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the page as root")
@pytest.mark.parametrize("section, option", [("web", []), ("moderate", ["--moderate"])])
def test_root_is_refused(open_folder, section, option):  # noqa: F811
    """Without `user`, root would show guests any file that `rules` names. --check-config says so, too."""
    secret = os.path.join(open_folder, "secret")
    file = os.path.join(open_folder, f"{section}.conf")
    with open(secret, "w", encoding="utf-8") as out:
        out.write("root:$1$hash\n")
    os.chmod(secret, 0o600)
    with open(file, "w", encoding="utf-8") as out:
        out.write(f"[{section}]\nlisten = 127.0.0.1:0\nserver = {open_folder}/none.sock\n")
        out.write(f"rules = {secret}\n" if section == "web" else "")
    if section == "moderate":
        subprocess.run([conftest.program(HEARSAY_WEB), "--set-password", "--config", file], check=True,
                       input="flat white, please\n", text=True, capture_output=True, timeout=wire.PATIENCE)
    for action in (["--check-config"], []):
        done = subprocess.run([conftest.program(HEARSAY_WEB), *option, "--config", file, *action],
                              capture_output=True, text=True, timeout=wire.PATIENCE, check=False)
        assert done.returncode == 2 and "hash" not in done.stderr, done.stderr
        assert "the page is not served as root" in done.stderr, done.stderr
        assert "listening" not in done.stderr, done.stderr


def test_check_config_warns_of_nobody(tmp_path):
    file = tmp_path / "web.conf"
    command = [conftest.program(HEARSAY_WEB), "--config", file, "--check-config"]
    for config, warns in (("listen = 192.0.2.1:80", True), ("listen = 127.0.0.1:80", False),
                          ("listen = 192.0.2.1:80\noperator = Me\ncontact = me@x.y", False)):
        file.write_text(f"[web]\n{config}\n{USER}")
        done = subprocess.run(command, capture_output=True, text=True, timeout=wire.PATIENCE,
                              check=True)
        assert ("who runs it" in done.stderr) == warns


@pytest.mark.parametrize("value, says", [
    ("coffee,,help", "a topic is empty; write topics with one comma between"),
    ("coffee, Coffee", "`Coffee` is there twice"),
    ("a topic of very many letters", "a topic may have 24 characters at most"),
    (", ".join(f"t{number}" for number in range(21)), "there may be 20 topics at most"),
    ("Coffee, lost+found", None),
])
def test_topics_are_checked(tmp_path, value, says):
    file = tmp_path / "web.conf"
    file.write_text(f"[web]\ntopics = {value}\n{USER}")
    command = [conftest.program(HEARSAY_WEB), "--config", file]
    done = subprocess.run([*command, "--print-config"], capture_output=True, text=True, timeout=wire.PATIENCE,
                          check=False)
    if says is None:
        assert done.returncode == 0 and f"topics = {value}\n" in done.stdout, done.stderr
    else:
        assert done.returncode == 2 and f"`topics`: {says}" in done.stderr, done.stderr


def check_config(web, config=""):
    """--check-config as the gateway's user, with the file of a page and more lines."""
    file = web.file + ".more"
    with open(web.file, encoding="utf-8") as old, open(file, "w", encoding="utf-8") as new:
        new.write(old.read() + config)
    os.chmod(file, 0o644)
    # The build may be below a home that the gateway's user cannot enter.
    program = shutil.copy(conftest.program(HEARSAY_WEB), web.file + ".program")
    other = {"user": GATEWAY.pw_uid, "group": GATEWAY.pw_gid} if os.geteuid() == 0 else {}
    return subprocess.run([program, "--config", file, "--check-config"],
                          capture_output=True, text=True, timeout=wire.PATIENCE, check=False,
                          **other)


def test_check_config_asks_hearsayd(make_web):
    """The host must be there; a warning says if 500 characters of 4 bytes each do not fit."""
    web = make_web("", "[limits]\npayload = 1999\n")
    for config, code in (("", 0), ("host = attic\n", 2)):
        done = check_config(web, config)
        assert done.returncode == code, done.stderr
        assert "500 characters may have 2000 bytes" in done.stderr
        assert "`payload` of hearsayd is 1999" in done.stderr
        assert ("no host attic" in done.stderr) == (code == 2)
    fits = make_web("", "[limits]\npayload = 2000\n")
    done = check_config(fits)
    assert done.returncode == 0 and "payload" not in done.stderr, done.stderr


def test_check_config_says_what_it_could_not_ask(make_web):
    """Before hearsayd runs, the file may be right, but nobody knows whether the two fit together. That is
    not an error, because the programs may be started in any order."""
    def check_as_root(says):
        if os.geteuid() == 0:
            done = subprocess.run([conftest.program(HEARSAY_WEB), "--config", web.file, "--check-config"],
                                  capture_output=True, text=True, timeout=wire.PATIENCE, check=False)
            assert done.returncode == 0, done.stderr
            assert f"so that is not checked: {says}" in done.stderr, done.stderr

    web = make_web()
    check_as_root("only its `gateway_user` may connect")
    web.gateway.daemon.stop()
    check_as_root("there is no such socket; does hearsayd run")
    done = check_config(web)
    assert done.returncode == 0, done.stderr
    assert (f"warning: hearsayd at {web.gateway.path} was not asked whether its socket is for a gateway, "
            "whether it has the host and whether it takes the longest texts, so that is not "
            "checked: ") in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["cafe", "festival", "library"])
def test_presets_take_what_the_page_takes(make_web, name):
    """With each preset of hearsayd the page has no warning, and takes 500 characters of any script."""
    preset = subprocess.run([conftest.program(conftest.HEARSAYD), "--print-config", name], check=True,
                            capture_output=True, text=True, timeout=wire.PATIENCE).stdout
    limits = preset[preset.index("[limits]"):]
    assert "[daemon]" not in limits and "[host default]" in limits
    web = make_web("", limits)
    done = check_config(web)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "data-max-bytes" not in web.get().text
    for character in ("\N{SAXOPHONE}", "\N{DEVANAGARI LETTER A}", "x"):
        answer = web.leave(character * 500)
        assert answer.status == 200, answer.text
        assert ("waits for the operator" in answer.text) == (name == "library")


def test_a_small_payload_is_counted_in_bytes(make_web):
    """Page and refusal name the limit that hearsayd has, and the refusal says how much is too much."""
    web = make_web("", "[limits]\npayload = 1K\n")
    page = web.get().text
    assert 'data-max-bytes="1024"' in page
    shown = re.sub("<[^>]*>", "", page)
    assert "At most 500 characters. And at most 1024 bytes: " in shown
    for text in ("\N{SAXOPHONE}" * 256, "\N{DEVANAGARI LETTER A}" * 341, "x" * 500):
        assert web.leave(text).status == 200
    for text, says in (("\N{SAXOPHONE}" * 300, "Bytes too many: 176"),
                       ("\N{DEVANAGARI LETTER A}" * 400, "Bytes too many: 176"),
                       ("\N{SAXOPHONE}" * 501, "Bytes too many: 980"),
                       ("x" * 600, "100 too many")):
        answer = web.leave(text)
        shown = re.sub("<[^>]*>", "", answer.text)
        assert answer.status == 413 and f"That is too much text. Please make it shorter. {says}" in shown, shown
        assert text in answer.text, "the text is kept"


def test_rules_come_from_a_file(make_web, open_folder):  # noqa: F811
    """Those that are installed are good rules; a file that is none is refused."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../client/web/rules")
    for name in sorted(os.listdir(folder)):
        path = shutil.copy(os.path.join(folder, name), open_folder)
        os.chmod(path, 0o644)
        web = make_web(f"rules = {path}\n")
        with open(path, encoding="utf-8") as file:
            about = web.get("/about").text
            assert all(line.strip() in html.unescape(about) for line in file)
    printed = subprocess.run(
        [conftest.program(HEARSAY_WEB), "--config", web.file, "--print-config"],
        capture_output=True, text=True, check=True).stdout
    assert f"rules = {path}\n" in printed and printed.count("rules = ") == 1
    for config, sentence in (("rules = Be kind.\n", "not both"), ("", "")):
        done = check_config(web, config)
        assert (done.returncode == 2) == bool(sentence) and sentence in done.stderr, done.stderr


def test_rules_of_each_language(make_web, open_folder):  # noqa: F811
    """A reader gets the rules of the own language if there are some beside those that `rules` names. What is
    there and cannot be shown is refused, because nobody would find out that a language lacks its rules."""
    for tag, text in (("en", "Be kind."), ("ar", "كن لطيفا")):
        path = os.path.join(open_folder, f"house.{tag}.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o644)
    web = make_web(f"rules = {open_folder}/house.en.txt\n")
    assert '<div class="text"><p dir="auto">Be kind.</p>' in web.get("/about?l=en").text
    assert '<div class="text"><p dir="auto">كن لطيفا</p>' in web.get("/about?l=ar").text
    assert '<div class="text" lang="en" dir="ltr"><p dir="auto">Be kind.</p>' in web.get("/about?l=de").text
    with open(path.replace(".ar.", ".de."), "wb") as file:
        file.write(b"\xff")
    os.chmod(file.name, 0o644)
    done = check_config(web, "")
    assert done.returncode == 2 and "house.de.txt must be a text in UTF-8" in done.stderr, done.stderr


def test_print_config_is_a_file(tmp_path):
    file = tmp_path / "web.conf"
    file.write_text("[web]\nlisten = [::1]:81\nname = a.lan\nrules = One.\nrules = Two.\n")
    command = [conftest.program(HEARSAY_WEB), "--config", file, "--print-config"]
    first = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    file.write_text(first)
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == first
    assert "rules = Two." in first and "listen = [::1]:81" in first


def test_the_port_is_taken(make_web):
    web = make_web()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [conftest.program(HEARSAY_WEB), "--config", web.file, "--listen",
             f"127.0.0.1:{port}"], capture_output=True, text=True, timeout=wire.PATIENCE,
            check=False)
    assert done.returncode == 1 and "another program has it" in done.stderr
