# SPDX-License-Identifier: Apache-2.0
"""Operators who are neither root nor the daemon's user: `admin_group`, how the command finds the
socket, and users that a user namespace cannot tell apart."""

import grp
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile

import pytest

import conftest
import hearsay_wire as wire
from hearsay_wire import pb

USER = "nobody"  # what the daemon becomes
OPERATOR = 4711  # nobody's uid and gid
GROUP = grp.getgrgid(20).gr_name if any(g.gr_gid == 20 for g in grp.getgrall()) else "root"

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@pytest.fixture
def open_directory(monkeypatch):
    """A directory on storage that every user gets into, as those of the tests are not, with copies of
    the programs: a clone may stand below a folder that is closed to others."""
    path = tempfile.mkdtemp(prefix="hearsay-group-", dir="/var/tmp")
    os.chmod(path, 0o755)
    if not conftest.WRAPPER:
        for name in ("HEARSAY", "HEARSAYD"):
            copy = shutil.copy(conftest.binary(getattr(conftest, name)), os.path.join(path, name))
            monkeypatch.setattr(conftest, name, copy)
    yield path
    shutil.rmtree(path)


def become(uid, groups=(), gid=None):
    """What a child does to be that user in these groups."""
    def act():
        os.setgroups(list(groups))
        os.setresgid(gid or uid, gid or uid, gid or uid)
        os.setresuid(uid, uid, uid)
    return act


def write_config(daemon, path, more):
    """A configuration that every user may read, with the socket at `path`."""
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(f"[daemon]\nlisten = 127.0.0.1:0\nlisten = {path}\n{more}")


def admin(path, act, *words):
    """`hearsay admin` as somebody else: (exit code, stdout, stderr)."""
    done = subprocess.run([conftest.program(conftest.HEARSAY), "--server", path, "admin", *words],
                          capture_output=True, text=True, check=False, preexec_fn=act,
                          timeout=wire.PATIENCE, env={"PATH": os.environ["PATH"]})
    return done.returncode, done.stdout, done.stderr


def check_group(path, group):
    """The socket's mode and group, and who may administer with it."""
    info = os.stat(path)
    assert stat.S_IMODE(info.st_mode) == 0o660 and info.st_gid == group
    code, out, err = admin(path, become(OPERATOR, [group]), "log-level")
    assert (code, out) == (0, "info\n"), err
    code, out, err = admin(path, become(OPERATOR, gid=group), "log-level")
    assert (code, out) == (0, "info\n"), err
    code, out, err = admin(path, become(OPERATOR), "log-level")
    assert (code, out) == (3, "") and f"group {GROUP}: `sudo usermod -aG {GROUP} $USER`" in err, err
    os.chmod(path, 0o600)  # without admin_group
    code, out, err = admin(path, become(OPERATOR), "log-level")
    assert (code, out) == (3, "") and "is for its user and root: `sudo hearsay ...`" in err, err
    os.chmod(path, 0o660)
    assert admin(path, None, "log-level")[0] == 0, "root"


@only_root
def test_members_administer(make_daemon, open_directory):
    """Root starts the daemon, which becomes its user: the socket is the group's although the user
    is no member, and others do not even get in."""
    group = grp.getgrnam(GROUP).gr_gid
    path = os.path.join(open_directory, "admin.sock")
    os.chown(open_directory, pwd.getpwnam(USER).pw_uid, -1)
    daemon = make_daemon(start=False, data=os.path.join(open_directory, "data"))
    write_config(daemon, path, f"user = {USER}\nadmin_group = {GROUP}\n")
    daemon.start()
    check_group(path, group)
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
        groups = re.search(r"^Groups:\s*(.*)$", file.read(), re.MULTILINE).group(1).split()
    assert str(group) in groups and "0" not in groups


@only_root
def test_an_ordinary_user_in_the_group(make_daemon, open_directory):
    """As under the unit: started as its user, without capabilities, in the group; and refused with
    what to do where it is not in the group."""
    group = grp.getgrnam(GROUP).gr_gid
    path = os.path.join(open_directory, "admin.sock")
    os.chown(open_directory, OPERATOR + 1, -1)
    for groups in ([group], []):
        daemon = make_daemon(start=False, data=os.path.join(open_directory, "data"),
                             preexec=become(OPERATOR + 1, groups))
        daemon.config_file = os.path.join(open_directory, "hearsayd.conf")
        write_config(daemon, path, f"admin_group = {GROUP}\n")
        os.chmod(daemon.config_file, 0o644)
        if groups:
            daemon.start()
            check_group(path, group)
            daemon.stop()
            continue
        daemon.launch()
        assert daemon.wait_exit() == 1
        assert "must be a member of that group" in daemon.log_text()
        assert "SupplementaryGroups=" in daemon.log_text()


def test_without_a_group_it_is_the_owners(make_daemon):
    """No admin_group: the socket's mode stays 0600."""
    daemon = make_daemon()
    assert stat.S_IMODE(os.stat(daemon.socket_path).st_mode) == 0o600


def test_unknown_group(make_daemon):
    """--check-config says so, and so does a start, both with exit code 2."""
    daemon = make_daemon("admin_group = no-such-group-4711\n", start=False)
    code, out, err = daemon.run("--check-config", "--config", daemon.config_file, "--data",
                                daemon.data)
    assert (code, out) == (2, "")
    assert "there is no group `no-such-group-4711` (`admin_group`)" in err and "groupadd" in err
    daemon.launch()
    assert daemon.wait_exit() == 2
    assert "there is no group `no-such-group-4711`" in daemon.log_text()


# --- users that cannot be told apart --------------------------------------------------------------


def has_namespaces():
    probe = ["unshare", "--user", "--map-user=65534", "true"]
    return bool(shutil.which("unshare")) and subprocess.run(
        probe, capture_output=True, check=False).returncode == 0


@only_root
def test_nobody_is_known_by_the_overflow_uid(make_daemon, open_directory):
    """In a user namespace, as PrivateUsers=yes makes one, every foreign uid reads as 65534. A daemon
    that is 65534 there, too, must not take strangers for its own user."""
    if not has_namespaces():
        pytest.skip("no user namespaces here")
    path = os.path.join(open_directory, "admin.sock")
    daemon = make_daemon(start=False, data=os.path.join(open_directory, "data"),
                         wrapper=["unshare", "--user", "--map-user=65534"])
    write_config(daemon, path, "call_filter = no\n")
    daemon.start()
    os.chmod(path, 0o666)  # as somebody might who wants to let others in
    for words in (["log-level", "debug"], ["compact"]):
        code, out, err = admin(path, become(OPERATOR), *words)
        assert (code, out) == (4, "") and "FORBIDDEN" in err, err
    with wire.Client(path) as client:  # root outside is a stranger inside, too
        assert client.refused(pb.LogLevel()).code == "FORBIDDEN"


def test_the_unit_lets_the_group_be_set():
    """Without PrivateUsers=, and with chown among the calls that it allows."""
    unit = os.environ.get("HEARSAY_UNIT", "build/systemd/hearsayd.service")
    if not os.path.exists(unit):
        pytest.skip("built without libsystemd")
    with open(unit, encoding="utf-8") as file:
        lines = [line.strip() for line in file if not line.startswith("#")]
    assert "PrivateUsers=yes" not in lines
    filters = [line.split("=", 1)[1].split() for line in lines
               if line.startswith("SystemCallFilter=")]
    assert "@chown" in filters[-1], "behind ~@privileged, which has it"
    assert "RuntimeDirectory=hearsay" in lines and "RuntimeDirectoryMode=0755" in lines


# --- finding the socket ---------------------------------------------------------------------------


def run_hearsay(*words, env=None, wrapper=()):
    base = {k: v for k, v in os.environ.items() if not k.startswith(("HEARSAY_", "XDG_"))}
    done = subprocess.run([*wrapper, conftest.program(conftest.HEARSAY), *words],
                          capture_output=True, text=True, check=False,
                          env={**base, "HOME": "/nonexistent", **(env or {})}, timeout=wire.PATIENCE)
    return done.returncode, done.stdout, done.stderr


def test_the_socket_is_found(make_daemon, tmp_path, rng):
    """--server, HEARSAY_ADMIN, HEARSAY_SERVER if it is a path, the user's state directory."""
    if os.path.exists("/run/hearsay/admin.sock") or os.path.exists("/var/lib/hearsay"):
        pytest.skip("a hearsayd of its own is installed here")
    daemon = make_daemon()
    with daemon.client() as client:
        client.call(wire.deposit_of(rng, ["a:b"]))
    words = ("admin", "log-level")
    for env in ({"HEARSAY_ADMIN": daemon.socket_path}, {"HEARSAY_SERVER": daemon.socket_path},
                {"HEARSAY_ADMIN": daemon.socket_path, "HEARSAY_SERVER": "127.0.0.1:1"},
                {"HEARSAY_ADMIN": daemon.socket_path, "HEARSAY_SERVER": "/nonexistent"}):
        assert run_hearsay(*words, env=env) == (0, "info\n", ""), env
        assert run_hearsay("export", env=env)[1].count("\n") == 1, env
    assert run_hearsay("--server", daemon.socket_path, *words,
                       env={"HEARSAY_ADMIN": "/nonexistent"})[0] == 0
    code, out, err = run_hearsay(*words, env={"XDG_STATE_HOME": str(tmp_path)})
    assert (code, out) == (3, "")
    for place in ("/run/hearsay/admin.sock", "/var/lib/hearsay/hearsayd.sock",
                  f"{tmp_path}/hearsayd/hearsayd.sock", "--server", "HEARSAY_ADMIN", "admin_group"):
        assert place in err, err
    (tmp_path / "hearsayd").mkdir()
    os.symlink(daemon.socket_path, tmp_path / "hearsayd" / "hearsayd.sock")
    assert run_hearsay(*words, env={"XDG_STATE_HOME": str(tmp_path)}) == (0, "info\n", "")


@only_root
def test_the_default_socket_of_a_group(make_daemon, open_directory):
    """With admin_group and no socket named: /run/hearsay/admin.sock, which a member finds."""
    probe = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/run"],
                           capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("no mount namespaces here")
    group = grp.getgrnam(GROUP).gr_gid
    daemon = make_daemon(start=False, data=os.path.join(open_directory, "data"), wrapper=[
        "unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh"])
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(f"[daemon]\nlisten = 127.0.0.1:0\nuser = {USER}\nadmin_group = {GROUP}\n")
    daemon.start()
    assert daemon.find_log(r"listening on /run/hearsay/admin\.sock$")
    inside = ["nsenter", "--mount", "--target", str(daemon.process.pid), "setpriv",
              f"--reuid={OPERATOR}", f"--regid={OPERATOR}"]
    member = [*inside, f"--groups={group}"]
    assert run_hearsay("admin", "log-level", wrapper=member) == (0, "info\n", "")
    code, out, err = run_hearsay("admin", "log-level", wrapper=[*inside, "--clear-groups"])
    assert (code, out) == (3, "") and f"group {GROUP}: `sudo usermod -aG" in err
    code, out, _ = daemon.run("--print-config", "--config", daemon.config_file)
    assert code == 0 and "# by default: listen = /run/hearsay/admin.sock\n" in out
