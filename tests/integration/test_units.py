# SPDX-License-Identifier: Apache-2.0
"""hearsayd and hearsay-web as their systemd units run them: with the units' own users, folders,
limits, views of the system and filters of calls. sandbox.py applies the settings."""

import contextlib
import ctypes
import grp
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import pytest

import conftest
import hearsay_wire as wire
import sandbox
import test_moderate
import web_runner
from hearsay_wire import pb
from test_gateway import acting_as, packed
from test_service import LAUNCHER
from test_systemd import allowed_calls, settings_of

FOLDER = os.path.dirname(os.path.abspath(__file__))
DAEMON_UNIT = os.environ.get("HEARSAY_UNIT", "build/systemd/hearsayd.service")
WEB_UNIT = os.path.join(os.path.dirname(DAEMON_UNIT), "hearsay-web.service")
MODERATE_UNIT = os.path.join(os.path.dirname(DAEMON_UNIT), "hearsay-moderate.service")
NOTIFY_UNIT = os.path.join(os.path.dirname(DAEMON_UNIT), "hearsay-notify@.service")
SOURCES = os.path.join(FOLDER, "../../systemd")
GATEWAY = "/run/hearsay-web/gateway.sock"  # the default of hearsay-web


@pytest.fixture(autouse=True)
def built_with_systemd():
    if not os.path.exists(WEB_UNIT):
        pytest.skip("built without libsystemd")


# --- the files ------------------------------------------------------------------------------------


def test_systemd_has_no_complaint(tmp_path):
    """No unknown setting, no wrong value; verify tells by words, not by its exit code."""
    for unit, program in ((DAEMON_UNIT, conftest.HEARSAYD), (WEB_UNIT, web_runner.HEARSAY_WEB),
                          (MODERATE_UNIT, web_runner.HEARSAY_WEB), (NOTIFY_UNIT, conftest.HEARSAY)):
        with open(unit, encoding="utf-8") as file:
            text = re.sub(r"^(Exec\w+)=\S*/hearsay\S*", rf"\1={conftest.binary(program)}",
                          file.read(), flags=re.M)
        (tmp_path / os.path.basename(unit)).write_text(text)
    for name in ("hearsayd.socket", "hearsay-web.socket"):
        shutil.copy(os.path.join(SOURCES, name), tmp_path)
    for path in sorted(tmp_path.iterdir()):
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", f"./{path.name}"],
                              cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        complaints = [line for line in done.stderr.splitlines() if path.name in line]
        assert done.returncode == 0 and not complaints, done.stderr


@pytest.mark.parametrize("path", [DAEMON_UNIT, WEB_UNIT, MODERATE_UNIT], ids=os.path.basename)
def test_every_setting_is_tried(path):
    """A new setting comes into sandbox.py. PrivateUsers= may not come: with it each foreign uid is
    65534, and hearsayd could not tell the gateway's user from others."""
    unknown = set(settings_of(path)) - sandbox.APPLIED - sandbox.MANAGER
    assert not unknown


# --- the programs ---------------------------------------------------------------------------------


def bind(source, target):
    sandbox.mount(source, target, flags=sandbox.MS_BIND)


def root_is_mount_point():
    """Not in a chroot whose folder is none; os.path.ismount says always that / is one."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        return any(line.split()[4] == "/" for line in mounts)


@pytest.fixture(scope="module")
def machine():
    """This process's own /run and /var/lib, and the units' users, as after an installation."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    if sandbox.LIBC.unshare(sandbox.CLONE_NEWNS) != 0:
        pytest.skip(f"no mount namespaces here: {os.strerror(ctypes.get_errno())}")
    if not root_is_mount_point():
        pytest.skip("no mount namespaces here: / is no mount point")
    storage = tempfile.mkdtemp(prefix="hearsay-units-", dir=conftest.storage_root())
    etc = os.path.join(storage, "root", "etc")
    os.makedirs(etc)
    for name in ("passwd", "group"):
        shutil.copy(f"/etc/{name}", etc)
    subprocess.run(["systemd-sysusers", f"--root={storage}/root",
                    *(os.path.realpath(os.path.join(SOURCES, f"{name}.sysusers"))
                      for name in ("hearsayd", "hearsay-web", "hearsay-moderate"))],
                   capture_output=True, timeout=60, check=True)
    sandbox.mount(None, "/", flags=sandbox.MS_REC | sandbox.MS_PRIVATE)
    for name in ("passwd", "group"):
        bind(f"{etc}/{name}", f"/etc/{name}")
    os.mkdir(f"{storage}/hearsay")
    for path in ("/run", "/var/lib"):
        sandbox.mount_tmpfs(path)
    os.mkdir("/var/lib/hearsay")
    bind(f"{storage}/hearsay", "/var/lib/hearsay")
    yield
    for path in ("/var/lib/hearsay", "/var/lib", "/run", "/etc/passwd", "/etc/group"):
        assert sandbox.LIBC.umount2(path.encode(), 2) == 0
    shutil.rmtree(storage)


def sandboxed(unit, program, sanitized):
    """The command that runs a program as its unit does."""
    settings = settings_of(unit)
    has_calls = not sanitized and conftest.is_native(conftest.binary(program))
    file = f"/run/{os.path.basename(unit)}.json"
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"settings": settings,
                   "calls": sorted(allowed_calls(settings)) if has_calls else None}, out)
    arguments = settings["ExecStart"][0].split()[1:]
    return [sys.executable, "-B", sandbox.__file__, file, conftest.binary(program), *arguments]


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o644)
    return path


class UnitDaemon(conftest.Daemon):
    """hearsayd as hearsayd.service runs it. Its data is in /var/lib/hearsay, its default."""

    def configure(self, config):
        self.config_file = write("/run/hearsayd.conf", f"[daemon]\ndata = /var/lib/hearsay\n{config}")

    def command(self):
        return [*self.wrapper, "--config", self.config_file]


class UnitWeb(web_runner.Web):
    """hearsay-web as hearsay-web.service runs it after hearsay-web.socket."""

    def __init__(self, command, door):
        self.command, self.door = command, door
        self.port = door.getsockname()[1]
        self.file = write("/run/web.conf", f"[web]\nname = {web_runner.NAME}\ncache = 0\n")

    def launch(self):
        self.lines, self.changed = [], threading.Condition()
        number = self.door.fileno()
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(number), *self.command, "--config", self.file],
            stderr=subprocess.PIPE, text=True, pass_fds=[number])
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        self.wait_log("ready: hearsay-web")
        return self


@pytest.fixture
def unit_daemon(machine, tmp_path, sanitized):
    if conftest.WRAPPER:
        pytest.skip("the sandbox runs the programs without a wrapper")
    notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notices.bind("/run/notify")
    os.chmod("/run/notify", 0o666)
    notices.settimeout(wire.PATIENCE)
    daemon = UnitDaemon(
        tmp_path, tmp_path, f"listen = {GATEWAY} gateway\ngateway_user = hearsay-web\nadmin_group = hearsay\n",
        wrapper=sandboxed(DAEMON_UNIT, conftest.HEARSAYD, sanitized),
        env={"NOTIFY_SOCKET": "/run/notify"})
    try:
        daemon.start()
        while "READY=1" not in notices.recv(4096).decode():
            pass
        yield daemon
        daemon.stop()
    finally:
        if daemon.is_running():
            daemon.kill()
        notices.close()
        os.unlink("/run/notify")


@pytest.mark.parametrize("line, sentences", [
    ("listen = 127.0.0.1:0\ndata = /srv/messages", ["cannot make /srv/messages: Read-only file system",
                              "systemd unit", "`[Service]` and `ReadWritePaths=/srv/messages`"]),
    ("listen = 127.0.0.1:0\ndata = /home/messages", ["Permission denied", "hides /home", "`ProtectHome=no`",
                               "`ReadWritePaths=/home/messages`"]),
    ("data = /var/lib/hearsay\nlisten = /srv/a.sock",
     ["cannot listen on /srv/a.sock: ", "`[Service]` and `ReadWritePaths=/srv`"]),
], ids=["data", "home", "socket"])
def test_a_path_that_the_unit_forbids(machine, sanitized, line, sentences):
    """The error says that it is the unit, and the lines that allow the path; not where no unit is."""
    if conftest.WRAPPER:
        pytest.skip("the sandbox runs the programs without a wrapper")
    file = write("/run/forbidden.conf", f"[daemon]\n{line}\n")
    command = [*sandboxed(DAEMON_UNIT, conftest.HEARSAYD, sanitized), "--config", file]
    for manager in ({"NOTIFY_SOCKET": "/run/notify"}, {}):
        done = subprocess.run(command, env={**os.environ, **manager}, capture_output=True, text=True,
                              timeout=wire.PATIENCE, check=False)
        assert done.returncode != 0
        assert sentences[0] in done.stderr, done.stderr
        for sentence in sentences[1:]:
            assert (sentence in done.stderr) == bool(manager) or sentence in sentences[0], done.stderr
    if "/home" in line:
        own = pwd.getpwnam("hearsay").pw_uid
        assert f"`install -d -m 700 -o {own} /home/messages`" in done.stderr


@pytest.mark.parametrize("path", ["/srv/copy.db", "/root/copy.db"])
def test_a_backup_where_the_unit_forbids_it(unit_daemon, path):
    with wire.Client("/run/hearsay/admin.sock") as client:
        refusal = client.refused(pb.Backup(path=path))
        assert f"{path}.part: " in refusal.error.message
        assert "name one in its data directory" in refusal.error.message


def greet(uid):
    """Says hello at the gateway's socket as a user; None: the connection was closed."""
    with acting_as(uid):
        client = wire.Client(GATEWAY, hello=False)
    with client, contextlib.suppress(ConnectionError, wire.Ended):
        client.send_bytes(wire.frame(wire.request(
            pb.Hello(versions=[1], on_behalf=packed("192.0.2.7")), 1)))
        return client.receive()
    return None


def test_only_the_gateways_user(unit_daemon, sanitized):
    """The right uid is welcome; root's, the daemon's own, another one and nobody's are not."""
    web = pwd.getpwnam("hearsay-web").pw_uid
    assert greet(web).HasField("welcome")
    for name in ("root", "hearsay", "bin", "nobody"):
        uid = pwd.getpwnam(name).pw_uid
        assert greet(uid) is None, name
    unit_daemon.wait_log(rf"user 0 may not connect to {GATEWAY}: `gateway_user` is user {web}")
    assert os.stat(GATEWAY).st_mode & 0o777 == 0o666
    assert os.stat("/run/hearsay-web").st_mode & 0o777 == 0o755
    assert os.stat("/var/lib/hearsay").st_mode & 0o777 == 0o700
    with open(f"/proc/{unit_daemon.process.pid}/status", encoding="utf-8") as file:
        status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
    own = str(pwd.getpwnam("hearsay").pw_uid)
    assert status["Uid"].split() == [own] * 4
    assert {status[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    if not sanitized:
        least = 3 if conftest.is_native(conftest.binary(conftest.HEARSAYD)) else 1
        assert int(status["Seccomp_filters"]) >= least, "the sandbox's two, and the daemon's own"
        assert not unit_daemon.find_log("not filtered")


def test_the_page_by_socket_activation(unit_daemon, sanitized):
    """hearsay-web.socket's address is handed over. It outlives the program: who comes meanwhile
    is served by the next start."""
    addresses = settings_of(os.path.join(SOURCES, "hearsay-web.socket"))["ListenStream"]
    assert addresses == ["127.0.0.1:7118"]
    command = sandboxed(WEB_UNIT, web_runner.HEARSAY_WEB, sanitized)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as door:  # any free port
        web = UnitWeb(command, door).launch()
        try:
            web.wait_healthy()
            assert web.leave("left under the unit", source="127.0.0.7").status == 200
            assert "left under the unit" in web.get().text
            assert os.stat(f"/proc/{web.process.pid}").st_uid == pwd.getpwnam("hearsay-web").pw_uid
            assert "not filtered" not in "".join(web.lines) or sanitized
            web.stop()
            with socket.create_connection(("127.0.0.1", web.port), wire.PATIENCE) as early:
                early.sendall(f"GET /about HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n"
                              "Connection: close\r\n\r\n".encode())
                web.launch()
                assert early.recv(12) == b"HTTP/1.1 200"
            web.wait_healthy()
            assert "left under the unit" in web.get().text
            web.stop()
            write("/run/web.conf", f"[web]\nname = {web_runner.NAME}\nportal = offline\n")
            web.launch()
            stay = web_runner.fields_of(web.get(source="127.0.0.7").text, "/stay")
            assert web.post("/stay", stay, "127.0.0.7").status == 200
            web.stop()
            web.launch()  # systemd keeps the folder of who stays
            assert web.get("/gen_204", host="probe.example", source="127.0.0.7").status == 204
            assert "cannot use the file" not in "".join(web.lines)
            web.stop()
        finally:
            if web.process.poll() is None:
                web.process.send_signal(signal.SIGKILL)
                web.process.wait(wire.PATIENCE)


def test_the_moderators_page(unit_daemon, sanitized, rng):
    """By its user and groups: it reads the guests' file, which is closed to others, and moderates."""
    guests = write("/run/web.conf", "[web]\nlisten = 192.0.2.1:80\n")
    os.chmod(guests, 0o640)
    os.chown(guests, 0, grp.getgrnam("hearsay-web").gr_gid)
    file = write("/run/moderate.conf", f"[moderate]\nlisten = 127.0.0.1:0\nguests = {guests}\n")
    assert test_moderate.set_password(file).returncode == 0
    os.chmod(file, 0o640)
    os.chown(file, 0, grp.getgrnam("hearsay-moderate").gr_gid)
    with wire.Client("/run/hearsay/admin.sock") as client:
        made = wire.deposit_of(rng, ["a:b"], payload=b"rude", media_type="text/plain")
        client.call(made)
        client.call(pb.Report(id=made.id, kind="SPAM"))
    desk = test_moderate.Desk.__new__(test_moderate.Desk)
    desk.token = None
    desk.command = [*sandboxed(MODERATE_UNIT, web_runner.HEARSAY_WEB, sanitized), "--config", file]
    desk.start()
    assert "rude" in desk.log_in().text
    assert "Removed" in desk.press(do="remove", id=made.id.hex()).text
    assert os.stat(f"/proc/{desk.process.pid}").st_uid == pwd.getpwnam("hearsay-moderate").pw_uid
    assert "not filtered" not in "".join(desk.lines) or sanitized
    desk.stop()
