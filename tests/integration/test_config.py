# SPDX-License-Identifier: Apache-2.0
"""The command line and the configuration: what is wrong is said with file and line, exit 2."""

import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

import conftest
import hearsay_wire as wire
import hub_cluster
from test_gateway import open_folder  # noqa: F401 (a fixture)


@pytest.fixture
def idle(make_daemon):
    """A daemon that is not started: its directories and its `run`."""
    return make_daemon(start=False)


def check(idle, text):
    """Runs --check-config on a file with this text."""
    with open(idle.config_file, "w", encoding="utf-8") as file:
        file.write(text)
    return idle.run("--config", idle.config_file, "--data", idle.data, "--check-config")


# --- the command line -----------------------------------------------------------------------------


def test_version(idle):
    """--version prints one line and does nothing else."""
    code, out, err = idle.run("--version")
    assert code == 0 and err == "" and re.fullmatch(r"hearsayd \d+\.\d+\.\d+\S*\n", out)


def test_help(idle):
    """--help prints every option on standard output."""
    code, out, err = idle.run("--help")
    assert code == 0 and err == ""
    for option in ("--config", "--data", "--listen", "--check-config", "--print-config"):
        assert option in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nonsense"],
        ["--data"],
        ["--config"],
        ["extra"],
        ["--data", "a", "--data", "b"],
        ["--version=1"],
        ["--listen", "nowhere"],
        ["--listen", "localhost:7117"],
        ["--listen", "127.0.0.1:65536"],
        ["--log-level", "loud"],
        ["--durability", "eternal"],
        ["--config", "/nonexistent/hearsayd.conf"],
    ],
    ids=" ".join,
)
def test_wrong_command_lines(idle, arguments):
    """Exit 2 and one sentence on standard error that names what is wrong."""
    code, out, err = idle.run(*arguments)
    assert code == 2 and out == ""
    assert err.startswith("hearsayd: ") and err.count("\n") == 1
    named = (arguments[0].split("=")[0], arguments[-1])
    assert any(word in err for word in named), "it names the option or what was given to it"


def test_a_mistyped_option_is_guessed(idle):
    """The nearest option is suggested."""
    _, _, err = idle.run("--check-confg")
    assert "--check-config" in err


def test_options_go_over_the_file(make_daemon, rng):
    """The command line wins over the file: listeners, durability, log level."""
    daemon = make_daemon("durability = storage\n", args=["--durability", "relaxed"])
    with daemon.client() as client:
        answer = client.call(wire.deposit_of(rng, ["topic:options"]))
        assert answer.durability == wire.pb.RELAXED


# --- the file -------------------------------------------------------------------------------------


def test_check_config(idle):
    """A correct file: exit 0; nothing is made or bound."""
    code, out, err = check(idle, "[limits]\nk = 5\n")
    assert code == 0 and "correct" in out and err == ""
    assert not os.path.exists(idle.data)


def test_check_config_tells_all(idle):
    """Every line that is wrong, in one go, each with what would be right."""
    code, out, err = check(idle, "[limits]\nk = 0\nmesages = 20k\n[daemon]\nlisten = localhost:1\n")
    assert code == 2 and out == ""
    lines = err.splitlines()
    assert [re.search(r":(\d+): ", line).group(1) for line in lines] == ["2", "3", "5"], err
    assert all(line.startswith("hearsayd: ") for line in lines)
    assert "from 1 to 1000" in lines[0] and "did you mean `messages`" in lines[1]
    assert "127.0.0.1:7117" in lines[2]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_check_config_of_root_is_that_of_the_service(make_daemon):
    """Root reads every file. The owner of the data, as whom the unit starts the daemon, may not."""
    user = pwd.getpwnam("daemon")
    folder = tempfile.mkdtemp(prefix="hearsay-config-", dir="/var/tmp")
    try:
        os.chmod(folder, 0o755)
        data, file = os.path.join(folder, "data"), os.path.join(folder, "hearsayd.conf")
        os.mkdir(data, 0o700)
        os.chown(data, user.pw_uid, user.pw_gid)
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(f"[daemon]\ndata = {data}\n")
        os.chmod(file, 0o600)
        daemon = make_daemon(start=False)
        code, out, err = daemon.run("--check-config", "--config", file)
        assert code == 2 and out == "", err
        assert f"{file}: cannot be read by user `daemon`, who owns {data}: Permission denied" in err
        os.chown(file, -1, user.pw_gid)
        os.chmod(file, 0o640)
        code, out, err = daemon.run("--check-config", "--config", file)
        assert code == 0 and "correct" in out, err
    finally:
        shutil.rmtree(folder)


def test_check_config_says_where_it_looked(idle):
    """Without --config it names the file that it did not find."""
    if os.path.exists("/etc/hearsay/hearsayd.conf"):
        pytest.skip("this machine has a configuration of its own")
    code, out, err = idle.run("--check-config", "--data", idle.data)
    assert code == 0 and err == ""
    assert "there is no /etc/hearsay/hearsayd.conf, and --config names no file" in out


def test_log_has_the_words_of_a_listener(make_daemon):
    """`local`, `limited`: what a listener's clients are given and held to stands in the log."""
    daemon = make_daemon("listen = 127.0.0.2:0 limited\nlisten = 127.0.0.3:0 local limited\n")
    assert daemon.find_log(r"listening on 127\.0\.0\.1:\d+$")
    assert daemon.find_log(r"listening on 127\.0\.0\.2:\d+ limited$")
    assert daemon.find_log(r"listening on 127\.0\.0\.3:\d+ limited local$")
    daemon.stop()
    daemon.configure("")
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(f"[daemon]\nlisten = 127.0.0.1:0\nlisten = {daemon.socket_path} local\n")
    daemon.start()
    assert daemon.find_log(re.escape(f"listening on {daemon.socket_path} local") + "$")


def test_reload_tells_all(make_daemon):
    """The log has a line for each error, and who asked for the reload the first and the number."""
    daemon = make_daemon()
    daemon.configure("[limits]\nk = 0\nparts = 0\nttl_max = 5\n")
    with daemon.administrator() as client:
        refusal = client.refused(wire.pb.Reload())
    assert "`k` must be from 1 to 1000" in refusal.error.message
    assert "(and 2 more errors, see the log)" in refusal.error.message
    for word in ("`k`", "`parts`", "`ttl_max`"):
        daemon.wait_log(f"configuration not reloaded, the old one stays: .*{word} must be")


@pytest.mark.parametrize(
    "text, line, word",
    [
        ("[limits]\nkk = 5\n", 2, "kk"),
        ("[limits]\n\n# comment\nttl_maximum = 5d\n", 4, "ttl_max"),
        ("[limits]\nk = many\n", 2, "number"),
        ("[limits]\nk = 0\n", 2, "k"),
        ("[limits]\nk = 1001\n", 2, "1000"),
        ("[limits]\nk = -1\n", 2, "k"),
        ("[limits]\nk = 5\nk = 6\n", 3, "line 2"),
        ("[limits]\nttl_max = 5\n", 2, "duration"),
        ("[limits]\nbytes = 99999999999999999999\n", 2, "bytes"),
        ("[limits]\ndeposit_fill_max = 110%\n", 2, "deposit_fill_max"),
        ("[daemon]\ndurability = always\n", 2, "relaxed"),
        ("[daemon]\nlisten = localhost:1\n", 2, "numeric"),
        ("[daemon]\ndata = relative/path\n", 2, "absolute"),
        ("[daemon]\nk = 5\n", 2, "k"),
        ("[nonsense]\n", 1, "nonsense"),
        ("[host]\nprofile = v2:512/4\n", 1, "name"),
        ("[host Bad_Name]\n", 1, "Bad_Name"),
        ("[host a]\n[host b]\n[host a]\n", 3, "line 1"),
        ("[host a]\nprofile = v2:500/4\n", 2, "64"),
        ("[host a]\nprofile = v3:512/4\n", 2, "v2"),
        ("[host a]\nprofile = v2:512/0\n", 2, "profile"),
        ("[host a]\nsuggested_max_distance = 1.5\n", 2, "suggested_max_distance"),
        ("k = 5\n", 1, "section"),
        ("[limits]\nno equals sign\n", 2, "key"),
        ("[limits]\nk = " + " " * 200 + "5\n", 2, "bytes"),
        ("[limits]\nk = 5\0\n", 2, "NUL"),
    ],
)
def test_errors_name_file_and_line(idle, text, line, word):
    """Unknown key, wrong type, out of range, twice: file, line and what would be right; exit 2."""
    code, out, err = check(idle, text)
    assert code == 2 and out == "", err
    assert f"{idle.config_file}:{line}: " in err, err
    assert word in err, err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "text, line, word",
    [
        ("[limits]\nttl_default = 2d\nttl_max = 1d\n", 3, "ttl_default"),
        ("[limits]\npayload = 64K\n", 2, "frame"),
        ("[limits]\ndeposit_fill_min = 50%\ndeposit_fill_max = 40%\n", 3, "deposit_fill_min"),
        ("[limits]\nsession_output = 2M\noutput = 1M\n", 3, "session_output"),
    ],
)
def test_keys_that_contradict_each_other(idle, text, line, word):
    """What concerns two keys is said with both, the file, and the later line."""
    code, out, err = check(idle, text)
    assert code == 2 and out == "" and f"{idle.config_file}:{line}: " in err and word in err, err


OF_BITS = "[host lobby]\nsuggested_max_distance = 0.5\n[host attic]\nsuggested_max_distance = 0.9\n" \
          "[host roof]\nsuggested_max_distance = 0.75\n[host cellar]\nsuggested_max_distance = 1\n[host a]\n"


def test_a_distance_that_was_chosen_for_bits_is_told_of(idle, make_daemon):
    """Once for each host, by --check-config and at the start: distances are by phi now. It is no error."""
    told = ["host lobby: `suggested_max_distance` is 0.5; ", "host attic: `suggested_max_distance` is 0.9; "]
    code, out, err = check(idle, OF_BITS)
    lines = err.splitlines()
    assert code == 0 and "correct" in out and len(lines) == 2, err
    for line, sentence in zip(lines, told):
        assert line.startswith("hearsayd: warning: " + sentence) and "by phi now" in line
    log = make_daemon(OF_BITS).log_text()
    assert log.count("suggested_max_distance") == 2 and all("warning: " + one in log for one in told), log


def test_a_wrong_file_starts_nothing(make_daemon):
    """The daemon itself refuses it too: exit 2, and no data directory is made."""
    daemon = make_daemon("[limits]\nk = many\n", start=False).launch()
    assert daemon.wait_exit() == 2
    assert f"{daemon.config_file}:5: " in daemon.log_text()
    assert not os.path.exists(daemon.data)


def test_print_config_round_trip(idle):
    """What --print-config prints gives the same configuration again."""
    code, first, _ = idle.run("--print-config", "--data", idle.data)
    assert code == 0
    text = first.replace("k = 100\n", "k = 42\n") + (
        "\n[host lobby]\nprofile = v2:1024/3\nsuggested_max_distance = 0.75\nmessages = 7\n"
    )
    with open(idle.config_file, "w", encoding="utf-8") as file:
        file.write(text)
    code, second, err = idle.run("--config", idle.config_file, "--print-config")
    assert code == 0, err
    assert "k = 42" in second and "[host lobby]" in second and "0.75" in second
    with open(idle.config_file, "w", encoding="utf-8") as file:
        file.write(second)
    code, third, err = idle.run("--config", idle.config_file, "--print-config")
    assert code == 0, err
    assert third == second


# --- semicolons -----------------------------------------------------------------------------------

WEB = os.environ.get("HEARSAY_WEB", "build/client/hearsay-web")
BRIDGE = os.environ.get("HEARSAY_BRIDGE", "build/client/hearsay-bridge")
# A program, and keys of its file that hold a text, with the texts.
TEXTS = {
    "hearsayd": ((conftest.HEARSAYD,), "[daemon]\ndata = /srv/a ;b ; c\n"
                                       "[host default]\nhere = place:a ;b # c\n"),
    "hearsay-web": ((WEB,), "[web]\ntitle = Tea ; Coffee\noperator = ;Jules ;# Example ;\n"
                            "contact = a\t;b\nrules = Be kind ;-)\nrules = ; Whisper. # Please.\n"
                            "wifi_ssid = Guests ;5 GHz\nwifi_password = longenough ;sesame\n"),
    "hearsay-bridge": ((BRIDGE,), "[bridge]\nnats = nats://127.0.0.1:4222\n"
                                  "server = /run/a ;b.sock\n[host lobby]\n"),
}


def printed_config(program, file, text):
    """What --print-config prints of a file with this text."""
    file.write_text(text, encoding="utf-8")
    done = subprocess.run([conftest.program(program[0]), *program[1:], "--config", str(file),
                           "--print-config"], capture_output=True, text=True,
                          timeout=wire.PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", TEXTS)
def test_a_semicolon_is_part_of_a_text(tmp_path, name):
    """A semicolon begins no comment within a line: a title and a password keep their end."""
    program, text = TEXTS[name]
    if not os.access(program[0], os.X_OK):
        pytest.skip(f"{name} is not built")
    printed = printed_config(program, tmp_path / "t.conf", text)
    for line in text.splitlines():
        assert f"\n{line}\n" in f"\n{printed}", (line, printed)
    assert printed_config(program, tmp_path / "t.conf", printed) == printed


def test_each_text_is_printed_as_it_was_written(tmp_path, rng):
    """Whatever one line of text a title has, the program reads it whole; blanks at its ends do not
    count."""
    if not os.access(WEB, os.X_OK):
        pytest.skip("hearsay-web is not built")
    for _ in range(50):
        title = "".join(rng.choices("ab;# =:[]\t\"'\\%é", k=rng.randrange(1, 60)))
        printed = printed_config((WEB,), tmp_path / "t.conf", f"[web]\ntitle = x{title}y \n")
        assert f"\ntitle = x{title}y\n" in printed, title


# --- users ----------------------------------------------------------------------------------------

# A program, and a file of it without the user.
USERS = {
    "hearsayd": ((conftest.HEARSAYD,), "[daemon]\ndata = /srv/none\n"),
    "hearsay-web": ((WEB,), "[web]\nserver = /run/none.sock\n"),
    "hearsay-bridge": ((BRIDGE,), "[bridge]\nnats = nats://127.0.0.1:4222\n[host lobby]\n"),
}


@pytest.mark.parametrize("name, key, user, why", [
    *[(name, "user", "root", "is root, who may do anything") for name in USERS],
    *[(name, "user", "no-such-user", "there is no user `no-such-user` (`user`)") for name in USERS],
    *[(name, "user", "nobody", "to users that it cannot tell apart") for name in ("hearsay-web", "hearsay-bridge")],
    *[("hearsayd", key, "nobody", "to users that it cannot tell apart") for key in ("gateway_user", "bridge_user")],
    *[("hearsayd", key, "root", "is root, who may do anything") for key in ("gateway_user", "bridge_user")],
])
def test_users_that_cannot_be(tmp_path, name, key, user, why):
    """What the start refuses, --check-config refuses as well, of each program and also without root."""
    program, text = USERS[name]
    if not os.access(program[0], os.X_OK):
        pytest.skip(f"{name} is not built")
    file = tmp_path / "t.conf"
    heading, rest = text.split("\n", 1)
    file.write_text(f"{heading}\n{key} = {user}\n{rest}", encoding="utf-8")
    done = subprocess.run([conftest.program(program[0]), "--config", str(file), "--check-config"],
                          capture_output=True, text=True, timeout=wire.PATIENCE, check=False)
    assert done.returncode == 2 and why in done.stderr and f"`{key} = {user}`" in done.stderr.replace(
        f"`{user}` (`{key}`)", f"`{key} = {user}`"), done.stderr


def test_the_bridge_opens_its_certificate(open_folder):  # noqa: F811
    """As the user of the service: each file that this user cannot read is named, and files that do not fit."""
    if not os.access(BRIDGE, os.X_OK):
        pytest.skip("hearsay-bridge is not built")
    is_root = os.geteuid() == 0
    user = pwd.getpwnam("daemon") if is_root else pwd.getpwuid(os.geteuid())
    folder = pathlib.Path(open_folder)
    for name in ("lobby", "cafe"):
        hub_cluster.make_certificate(open_folder, "host", name)
    for name in ("lobby.pem", "lobby.key", "cafe.key", "ca.pem"):
        os.chown(folder / name, user.pw_uid, -1)
    (folder / "state").mkdir()
    os.chown(folder / "state", user.pw_uid, -1)
    lines = {"cert": "lobby.pem", "key": "lobby.key", "ca": "ca.pem"}

    def checked(with_user=True):
        text = "[bridge]\nnats = tls://127.0.0.1:4222\n" + "".join(f"{k} = {folder}/{v}\n" for k, v in lines.items())
        text += f"state = {folder}/state\n" + (f"user = {user.pw_name}\n" if with_user else "") + "[host lobby]\n"
        (folder / "t.conf").write_text(text, encoding="utf-8")
        done = subprocess.run([BRIDGE, "--config", folder / "t.conf", "--check-config"], capture_output=True,
                              text=True, timeout=wire.PATIENCE, check=False)
        return done.returncode, done.stderr
    assert checked() == (0, "")
    lines["key"] = "cafe.key"
    code, err = checked()
    assert code == 2 and "see `cert`, `key` and `ca`" in err, err
    lines["key"] = "none.key"
    (folder / "ca.pem").chmod(0)
    code, err = checked()
    assert code == 2 and [line.split(": ", 2)[2] for line in err.splitlines()] == [
        f"`key`: {folder}/none.key cannot be read by user {user.pw_name}: No such file or directory",
        f"`ca`: {folder}/ca.pem cannot be read by user {user.pw_name}: Permission denied"], err
    assert "t.conf:4: `key`" in err and "t.conf:5: `ca`" in err, err
    if is_root:  # a service manager may start the program as a user that the file does not name
        assert f"ca.pem cannot be read by user {user.pw_name}: " in checked(with_user=False)[1]
        lines["key"] = "lobby.key"
        os.chown(folder / "state", 0, -1)  # root is the service's user
        assert checked(with_user=False) == (0, "")
        (folder / "state").rmdir()  # as before the first start: nothing says which user that will be
        code, err = checked(with_user=False)
        assert code == 0 and "warning: root has opened `cert`, `key` and `ca`" in err, err
        lines.clear()
        assert checked(with_user=False) == (0, "")


@pytest.mark.parametrize("comment", ["# a comment", "; a comment", "\t;"])
def test_a_comment_behind_a_value_is_named(idle, comment):
    """A number with a comment behind it is refused, and the sentence says where comments go."""
    code, _, err = check(idle, f"[limits]\nk = 5 {comment}\n")
    assert code == 2 and f"{idle.config_file}:2: `k` must be a number" in err
    assert f"{idle.config_file}:2: a comment needs a line of its own" in err


@pytest.mark.parametrize("name", ["cafe", "festival", "library"])
def test_presets(make_daemon, name):
    """A preset is a right file as it is, and with each key in force that stands behind a #."""
    daemon = make_daemon(start=False)
    code, text, err = daemon.run("--print-config", name)
    assert (code, err) == (0, "")
    whole, keys = re.subn(r"^#(\w+ = )", r"\1", text, flags=re.MULTILINE)
    assert keys >= 5
    for content in (text, whole):
        with open(daemon.config_file, "w", encoding="utf-8") as file:
            file.write(content)
        code, _, err = daemon.run("--config", daemon.config_file, "--print-config")
        assert (code, err) == (0, "")


def test_reference_of_all_keys(idle):
    """The reference page comes from the table that parses: it has every key that is printed."""
    code, page, _ = idle.run("--print-reference", "markdown")
    assert code == 0
    _, printed, _ = idle.run("--print-config", "--data", idle.data)
    keys = re.findall(r"^(?:# by default: )?(\w+) = ", printed, re.MULTILINE)
    assert len(keys) > 20
    for key in keys:
        assert f"`{key}`" in page, key


def test_the_default_configuration_runs_anywhere(idle):
    """Without configuration: loopback, one host, its data where --data says."""
    code, out, _ = idle.run("--print-config", "--data", idle.data)
    assert code == 0
    assert "127.0.0.1:7117" in out and "[host default]" in out and wire.PROFILE in out


# --- hosts and their profiles ---------------------------------------------------------------------


def test_a_changed_profile_is_refused(make_daemon, rng):
    """A host that has messages keeps its profile: exit 2 naming file and line; nothing is lost."""
    daemon = make_daemon("[host a]\nprofile = v2:256/4\n")
    sent = wire.deposit_of(rng, ["topic:profile"], "v2:256/4")
    with daemon.client() as client:
        client.call(sent)
    daemon.stop()
    daemon.configure("[host a]\nmessages = 5\nprofile = v2:512/4\n")
    daemon.launch()
    assert daemon.wait_exit() == 2
    text = daemon.log_text()
    assert f"{daemon.config_file}:6: " in text, text
    assert "v2:256/4" in text and "v2:512/4" in text
    daemon.check_log()
    daemon.configure("[host a]\nprofile = v2:256/4\n")
    daemon.start()
    with daemon.client() as client:
        assert client.call(wire.pb.Get(id=sent.id)).payload == sent.payload


def test_the_default_profile_may_be_the_changed_one(make_daemon, rng):
    """A profile that no line sets any more: the line where the host's section begins is named."""
    former = "v2:512/4"  # was the default once
    daemon = make_daemon(f"[host a]\nprofile = {former}\n")
    with daemon.client() as client:
        client.call(wire.deposit_of(rng, ["topic:profile"], former))
    daemon.stop()
    daemon.configure("[host a]\n")
    daemon.launch()
    assert daemon.wait_exit() == 2
    assert (f"{daemon.config_file}:4: host a: the profile is {wire.PROFILE} here, but its stored "
            f"messages have {former}; set `profile` to that of the messages, or use another data "
            "directory") in daemon.log_text(), daemon.log_text()


def test_a_changed_profile_of_an_empty_host_is_taken(make_daemon):
    """Without messages there is nothing that a profile could spoil."""
    daemon = make_daemon("[host a]\nprofile = v2:256/4\n")
    daemon.stop()
    daemon.configure("[host a]\nprofile = v2:512/4\n")
    daemon.start()
    with daemon.client() as client:
        assert client.welcome.hosts[0].profile == "v2:512/4"


def test_a_host_that_is_left_out_is_kept(make_daemon, rng):
    """Messages of a host that is not configured are kept, said so, and back when it is again."""
    both = "[host a]\n[host b]\n"
    daemon = make_daemon(both)
    sent = wire.deposit_of(rng, ["topic:kept"], host="b")
    with daemon.client() as client:
        client.call(sent)
    daemon.stop()
    daemon.configure("[host a]\n")
    daemon.start()
    assert "not configured" in daemon.log_text()
    with daemon.client() as client:
        assert client.refused(wire.pb.Get(id=sent.id, host="b")).code == "UNKNOWN_HOST"
        assert client.refused(wire.pb.Get(id=sent.id)).code == "NOT_FOUND"
    daemon.stop()
    daemon.configure(both)
    daemon.start()
    with daemon.client() as client:
        assert client.call(wire.pb.Get(id=sent.id, host="b")).payload == sent.payload


def test_a_port_in_use(make_daemon):
    """Two daemons on one port: the second says so, with what to do, and ends with an error."""
    first = make_daemon()
    second = make_daemon(start=False)
    with open(second.config_file, "w", encoding="utf-8") as file:
        file.write(f"[daemon]\nlisten = 127.0.0.1:{first.port}\nlisten = {second.socket_path}\n")
    second.launch()
    assert second.wait_exit() not in (0, -6, -11)
    assert str(first.port) in second.log_text() and "listen" in second.log_text()
    second.check_log()
    with first.client() as client:
        client.call(wire.pb.Ping())


def test_a_socket_without_its_directory(make_daemon):
    """The directory is what is missing, and not a permission."""
    daemon = make_daemon(start=False)
    path = os.path.join(os.path.dirname(daemon.socket_path), "missing", "sock")
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(f"[daemon]\nlisten = 127.0.0.1:0\nlisten = {path}\n")
    daemon.launch()
    assert daemon.wait_exit() == 1
    assert f"{path}: no such file or directory" in daemon.log_text(), daemon.log_text()
    daemon.check_log()


def test_ipv6(make_daemon):
    """An IPv6 address in brackets; the daemon says which port it got."""
    if not socket.has_ipv6 or not os.path.exists("/proc/net/if_inet6"):
        pytest.skip("no IPv6 here")
    daemon = make_daemon(start=False)
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(f"[daemon]\nlisten = [::1]:0\nlisten = {daemon.socket_path}\n")
    daemon.start()
    port = int(daemon.find_log(r"listening on \[::1\]:(\d+)").group(1))
    with socket.create_connection(("::1", port), timeout=10) as one:
        one.sendall(wire.frame(wire.request(wire.pb.Hello(versions=[1]), 1)))
        assert one.recv(4096)


def test_without_ipv6(make_daemon):
    """A machine on which IPv6 is off has no [::1]; the examples of configurations name it."""
    without = ["unshare", "--net", "sh", "-c",
               'ip link set lo up && echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 && exec "$@"', "sh"]
    if subprocess.run([*without, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no network of one's own here")
    daemon = make_daemon(start=False, wrapper=without)
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(f"[daemon]\nlisten = 127.0.0.1:0\nlisten = [::1]:7117\nlisten = {daemon.socket_path}\n")
    daemon.start()
    assert daemon.find_log(r"not listening on \[::1\]:7117: this machine does not have it")


def test_no_environment_is_needed(make_daemon):
    """It runs with an empty environment, as service managers may give it."""
    daemon = make_daemon(start=False)
    done = subprocess.run([*daemon.command(), "--check-config"], env={}, capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_documented_configurations_are_right(idle):
    """Every whole configuration in docs/operations/ passes --check-config."""
    pages = (pathlib.Path(__file__).parents[2] / "docs/operations").glob("*.md")
    blocks = [block for page in pages for block in re.findall(
        r"```ini\n((?:#[^\n]*\n|\n)*\[daemon\]\n.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)]
    assert len(blocks) >= 1
    for block in blocks:
        code, _, err = check(idle, block)
        # Some name a user or files that are not here.
        absent = ("there is no user", "there is no group", "cannot use the certificate",
                  "cannot read the key")
        assert code == 0 or all(any(words in line for words in absent)
                                for line in err.splitlines()), err
