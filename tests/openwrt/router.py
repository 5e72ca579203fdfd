# SPDX-License-Identifier: Apache-2.0
"""A router for tests: OpenWrt's ubusd, procd, uci and shell functions, with busybox, in namespaces
and a root directory of their own. netifd is a stand-in (netifd.c), and so are jsonfilter, dnsmasq's
init script, and what syslog is.

HEARSAY_OPENWRT names the folder with OpenWrt's sources; build.sh builds them once.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = HERE.parents[1] / "packaging/openwrt/files"
SOURCES = Path(os.environ.get("HEARSAY_OPENWRT", "no folder"))
TEST_DIR = Path(os.environ.get("HEARSAY_TEST_DIR", "."))
PREFIX = TEST_DIR / "prefix"
PATIENCE = 60.0
NAMESPACES = ["--mount", "--pid", "--net", "--ipc", "--uts"]

# What procd does first on a router, and the services that ours stand behind.
BOOT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
ip link set lo up
ip address add 192.168.8.1/24 dev lo
mkdir -p /var/run/ubus /var/lock /var/state /var/etc /tmp/dnsmasq.d
ubusd &
procd &
while ! ubus -t 60 wait_for service; do :; done
/etc/init.d/dnsmasq enable
/etc/init.d/network start
ubus -t 60 wait_for network.interface
echo booted
while :; do wait; done
"""

NETWORK = """#!/bin/sh /etc/rc.common
START=20
USE_PROCD=1
start_service() {
    procd_open_instance
    procd_set_param command /sbin/netifd
    procd_set_param watch network.interface
    procd_close_instance
}
"""

DNSMASQ = """#!/bin/sh /etc/rc.common
START=19
restart() { logger -t dnsmasq restarted; }
"""

# OpenWrt's reload_config compares all files with those of before; here one has changed.
RELOAD_CONFIG = """#!/bin/sh
ubus call service event '{"type":"config.change","data":{"package":"hearsayd"}}'
"""


def why_not():
    """Why there can be no router here; "" if there can."""
    if not (SOURCES / "procd.tar.gz").exists():
        return "OpenWrt's sources are not here"
    if os.environ.get("HEARSAY_WRAPPER"):
        return "the programs need a wrapper"
    if os.getuid() != 0:
        return "only root can make a router"
    missing = [name for name in ("busybox", "cmake", "flock", "nsenter", "setpriv") if not shutil.which(name)]
    if missing:
        return f"there is no {missing[0]}"
    done = subprocess.run(["unshare", *NAMESPACES, "--fork", "mount", "--bind", "/tmp", "/tmp"],
                          capture_output=True, check=False)
    return "" if done.returncode == 0 else "no mount namespaces here"


def build():
    done = subprocess.run(["sh", HERE / "build.sh", SOURCES, PREFIX], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.01)
    return result


class Router:
    """Booted, with hearsay's files installed and its services not yet started."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(prefix="router-", dir=TEST_DIR))
        self.root.chmod(0o755)
        self.lines, self.news, self.init = [], threading.Condition(), None
        self._make_tree()
        self._listen()
        self._boot()
        self.add_users("hearsayd/Default")

    # --- the root directory ---

    def write(self, path, text, mode=0o644):
        """A file of the root directory; not below /tmp, which is the router's own."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)

    def _copy(self, source, path, mode=0o755):
        self.write(path, Path(source).read_text(encoding="utf-8"), mode)

    def _make_tree(self):
        for folder in ("bin", "dev", "etc/rc.d", "lib/config", "lib/functions", "lib64", "owrt/lib",
                       "overlay", "proc", "root", "sbin", "tmp", "usr/bin", "usr/lib", "usr/sbin"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "var").symlink_to("tmp")
        (self.root / "run").symlink_to("/var/run")
        for entry in Path("/usr/lib").iterdir():
            if entry.name.endswith("-linux-gnu") or entry.name.startswith("ld-linux"):
                (self.root / "lib" / entry.name).symlink_to(f"/usr/lib/{entry.name}")
        shutil.copy(shutil.which("busybox"), self.root / "bin/busybox")
        for applet in subprocess.check_output(["busybox", "--list"], text=True).split():
            if applet != "busybox":
                (self.root / "bin" / applet).symlink_to("busybox")
        self._install_openwrt()
        self._install_hearsay()

    def _install_openwrt(self):
        base = PREFIX / "src/package"
        self._copy(base / "base-files/files/etc/rc.common", "etc/rc.common")
        self._copy(base / "base-files/files/lib/functions.sh", "lib/functions.sh")
        self._copy(base / "base-files/files/lib/functions/network.sh", "lib/functions/network.sh")
        self._copy(base / "system/procd/files/procd.sh", "lib/functions/procd.sh")
        self._copy(base / "system/uci/files/lib/config/uci.sh", "lib/config/uci.sh")
        self._copy(PREFIX / "share/libubox/jshn.sh", "usr/share/libubox/jshn.sh")
        self.write("lib/functions/service.sh", "")
        for name in ("ubusd", "procd", "netifd", "ujail"):
            shutil.copy(PREFIX / "sbin" / name, self.root / "sbin")
        for name in ("ubus", "uci", "jshn"):
            shutil.copy(PREFIX / "bin" / name, self.root / "sbin")
        for library in (PREFIX / "lib").glob("*.so"):
            shutil.copy(library, self.root / "owrt/lib")
        for name in ("flock", "python3"):
            shutil.copy(os.path.realpath(f"/usr/bin/{name}"), self.root / "usr/bin" / name)
        self._copy(HERE / "jsonfilter", "usr/bin/jsonfilter")
        self.write("sbin/reload_config", RELOAD_CONFIG, 0o755)
        self.write("etc/init.d/network", NETWORK, 0o755)
        self.write("etc/init.d/dnsmasq", DNSMASQ, 0o755)
        self.write("sbin/boot", BOOT, 0o755)
        self.write("etc/passwd", "root:x:0:0:root:/root:/bin/ash\n")
        self.write("etc/group", "root:x:0:\n")
        self.write("bin/lock", "#!/bin/sh\n", 0o755)
        self.write("etc/nsswitch.conf", "passwd: files\ngroup: files\n")
        # Where ujail looks for libraries.
        folders = [entry for entry in (self.root / "lib").iterdir() if entry.name.endswith("-linux-gnu")]
        self.write("etc/ld.so.conf", "".join(f"/lib/{entry.name}\n" for entry in folders))
        self.write("etc/config/dhcp", "config dnsmasq\n\toption domain 'lan'\n")
        self.write("etc/config/firewall", "config zone\n\toption name 'guest'\n")

    def _install_hearsay(self):
        """As the packages do."""
        self._copy(FILES / "hearsayd.config", "etc/config/hearsayd", 0o644)
        self._copy(FILES / "hearsay.sh", "lib/functions/hearsay.sh", 0o644)
        self._copy(FILES / "hearsayd.init", "etc/init.d/hearsayd")
        self._copy(FILES / "hearsay-web.init", "etc/init.d/hearsay-web")
        self._copy(FILES / "hearsay-moderate.init", "etc/init.d/hearsay-moderate")
        self._copy(FILES / "hearsay-firewall.defaults", "etc/uci-defaults/50-hearsay-firewall")
        self._copy(FILES / "hearsay.keep", "lib/upgrade/keep.d/hearsay", 0o644)
        for rules in (FILES.parents[2] / "client/web/rules").iterdir():
            self._copy(rules, f"usr/share/hearsay/rules.{rules.name}", 0o644)
        for variable, path in (("HEARSAYD", "usr/sbin/hearsayd"), ("HEARSAY", "usr/bin/hearsay"),
                               ("HEARSAY_WEB", "usr/sbin/hearsay-web")):
            if os.environ.get(variable):
                shutil.copy(os.environ[variable], self.root / path)

    # --- start and end ---

    def _listen(self):
        """What syslogd would do."""
        folder = os.open(self.root / "dev", os.O_PATH)
        self.syslog = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.syslog.bind(f"/proc/self/fd/{folder}/log")  # the path itself may be too long
        os.chmod(self.root / "dev/log", 0o666)
        os.close(folder)
        threading.Thread(target=self._read_log, daemon=True).start()

    def _read_log(self):
        while data := self.syslog.recv(65536):  # none after shutdown
            for line in data.decode(errors="replace").rstrip("\0\n").split("\n"):
                print(line)  # shown where a test fails
                with self.news:
                    self.lines.append(line)
                    self.news.notify_all()

    def _boot(self):
        root = str(self.root)
        binds = [f"{path} {root}{path}" for path in ("/usr/lib", "/usr/lib64")
                 if Path(path).is_dir()]
        if not Path("/usr/lib64").is_dir():
            binds.append(f"/lib64 {root}/lib64")
        script = ["set -e", "mount --make-rprivate /", f"mount --bind {root} {root}"]
        (self.root / "usr/lib64").mkdir(exist_ok=True)
        shutil.rmtree(self.root / "lib64")
        (self.root / "lib64").symlink_to("usr/lib64")
        script += [f"mount --bind {bind}" for bind in binds]
        script += [f"touch {root}/dev/{name} && mount --bind /dev/{name} {root}/dev/{name}"
                   for name in ("null", "zero", "full", "random", "urandom")]
        script += [f"mount -t proc proc {root}/proc",
                   f"mount -t tmpfs -o mode=1777 tmpfs {root}/tmp",
                   f"echo '{{\"interface\":[]}}' >{root}/tmp/interfaces.json",
                   f"exec chroot {root} /sbin/boot"]
        self.unshare = subprocess.Popen(
            # All of it ends with this program, however the program ends.
            ["setpriv", "--pdeathsig", "KILL", "unshare", *NAMESPACES, "--fork", "--kill-child",
             "sh", "-c", "\n".join(script)],
            stdout=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"]})
        for line in self.unshare.stdout:
            if line == "booted\n":
                break
        else:
            raise AssertionError(f"the router did not boot; exit {self.unshare.wait()}")
        threading.Thread(target=self.unshare.stdout.read, daemon=True).start()
        pid = self.unshare.pid
        self.init = int(Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii"))

    def add_users(self, package):
        """The users of a package, as OpenWrt adds them when it installs the package."""
        makefile = (FILES.parent / "hearsay/Makefile").read_text(encoding="utf-8")
        users = re.search(rf"^define Package/{package}$.*?^  USERID:=(.*?)$", makefile,
                          re.M | re.S).group(1)
        self.write("lib/apk/packages/one.rusers", users)
        self.run(". /lib/functions.sh; pkgname=one; add_group_and_user")

    def halt(self):
        self.unshare.kill()
        self.unshare.wait()
        self.syslog.shutdown(socket.SHUT_RDWR)
        shutil.rmtree(self.root, ignore_errors=True)

    # --- what an operator does ---

    def try_run(self, script):
        """Runs lines of shell on the router: (exit status, output with errors)."""
        done = subprocess.run(
            ["nsenter", "-t", str(self.init), "-m", "-p", "-n", "-i", "-u", "-r", "-w",
             "/bin/ash", "-c", script],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}, check=False)
        return done.returncode, done.stdout

    def run(self, script):
        status, output = self.try_run(script)
        assert status == 0, f"{script}: exit {status}: {output}"
        return output

    def reset(self):
        self.set_addresses(guest=["192.168.8.1"])
        self.write("etc/config/hearsayd", (FILES / "hearsayd.config").read_text(encoding="utf-8"))

    def stop_all(self):
        """Ends the services, and removes what they have left in memory."""
        for name in ("hearsay-moderate", "hearsay-web", "hearsayd"):
            self.run(f"/etc/init.d/{name} stop")
            wait_until(lambda name=name: self.service(name) is None, f"{name} is stopped")
        self.run("rm -rf /var/etc/hearsay /tmp/hearsay /tmp/dnsmasq.d/* /tmp/.uci")

    def configure(self, *lines):
        """As `uci set` does: main.messages=3 or, for an item of a list, +main.network=lan."""
        commands = [f"uci add_list hearsayd.{line[1:]}" if line.startswith("+")
                    else f"uci set hearsayd.{line}" for line in lines]
        self.run("\n".join(["set -e", *commands, "uci commit hearsayd"]))

    def start(self, *lines):
        """Starts hearsayd with these lines: its process id."""
        self.configure("main.enabled=1", *lines)
        since = self.mark()
        self.run("/etc/init.d/hearsayd start")
        self.wait_log("ready: hearsayd", since)
        return self.pid("hearsayd")

    @contextlib.contextmanager
    def without_ujail(self):
        """As on a router without its package."""
        program = self.root / "sbin/ujail"
        program.rename(program.with_suffix(".off"))
        try:
            yield
        finally:
            program.with_suffix(".off").rename(program)

    # --- what is seen ---

    def mark(self):
        return len(self.lines)

    def wait_log(self, text, since=0):
        def found():
            return next((line for line in self.lines[since:] if text in line), None)
        with self.news:
            self.news.wait_for(found, PATIENCE)
        line = found()
        assert line, f"no line of the log has: {text}\n" + "\n".join(self.lines[since:])
        return line

    def service(self, name):
        """What procd has of it: {} if nothing runs, None if procd does not know it."""
        return json.loads(self.run("ubus call service list")).get(name)

    def instance(self, name):
        """{} if nothing runs, which is also so for a moment while procd starts the service again."""
        return next(iter((self.service(name) or {}).get("instances", {}).values()), {})

    def pid(self, name):
        """Of ujail, if the router has it."""
        return self.instance(name).get("pid")

    def wait_restart(self, name, pid):
        """Until procd runs the service as another process than this one, whose id is the result.

        The log cannot tell: hearsay-web and hearsay-moderate are one program, so that the line
        "ready: hearsay-web" can be the other service's."""
        return wait_until(lambda: self.pid(name) not in (None, pid) and self.pid(name),
                          f"{name} was started again")

    def inmate(self, name):
        """The process in the jail of a service."""
        pid = self.pid(name)
        return int(self.run(f"cat /proc/{pid}/task/{pid}/children"))

    def set_addresses(self, **networks):
        """Gives networks their addresses, all others none, and tells procd, as netifd does."""
        dump = {"interface": [
            {"interface": name, "up": True,
             "ipv4-address": [{"address": a, "mask": 24} for a in addresses if ":" not in a],
             "ipv6-address": [{"address": a, "mask": 64} for a in addresses if ":" in a]}
            for name, addresses in networks.items()]}
        Path(f"/proc/{self.init}/root/tmp/interfaces.json").write_text(json.dumps(dump),
                                                                        encoding="utf-8")

    def tell_network(self, name, event="interface.update"):
        message = json.dumps({"event": event, "interface": name})
        self.run(f"ubus call network.interface notify '{message}'")

