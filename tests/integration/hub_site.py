# SPDX-License-Identifier: Apache-2.0
"""hearsayd with its hearsay-bridge: an access point, or a reader, at a hub of hub_cluster."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import threading

import conftest
import hearsay_wire as wire
import hub_cluster

BECOMES = pwd.getpwnam("daemon") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


# A new store without a head at the hub waits for a reader for as long as this, instead of 30 s.
HEADS = {"HEARSAY_BRIDGE_HEAD_MS": "300"}


def figures_of(text):
    """The lines for Prometheus: name, without the host, to value. Each has its type."""
    found = {m[1]: int(m[2]) for m in re.finditer(r"^hearsay_bridge_(\w+)(?:\{[^}]*\})? (\d+)$", text, re.M)}
    assert found.keys() == set(re.findall(r"^# TYPE hearsay_bridge_(\w+) (?:gauge|counter)$", text, re.M))
    return found


class Bridge:
    """One hearsay-bridge run; may be killed and started again."""

    def __init__(self, config):
        self.config, self.process, self.log = config, None, []
        self.news = threading.Condition()
        self.reader = None

    def start(self, env=None):
        self.process = subprocess.Popen(
            [hub_cluster.BRIDGE, "run", "--config", self.config], stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL, errors="backslashreplace", env={**HEADS, **os.environ, **(env or {})})
        self.reader = threading.Thread(target=self._read, args=(self.process.stderr,), daemon=True)
        self.reader.start()
        return self

    def _read(self, stream):
        for line in stream:
            print(f"bridge: {line}", end="")
            with self.news:
                self.log.append(line.rstrip("\n"))
                self.news.notify_all()
        stream.close()

    def wait_log(self, pattern, start=0, patience=wire.PATIENCE):
        def found():
            return next((line for line in self.log[start:] if re.search(pattern, line)), None)
        with self.news:
            self.news.wait_for(lambda: found() or self.process.poll() is not None, patience)
        assert found(), f"no log line /{pattern}/ in {self.log}"
        return found()

    def end(self, sig):
        if self.process is not None:
            self.process.send_signal(sig)
            code = self.process.wait(wire.PATIENCE)
            self.reader.join(wire.PATIENCE)
            self.process = None
            text = "\n".join(self.log)
            for report in conftest.REPORTS:
                assert report not in text, text
            assert sig == signal.SIGKILL or code == 0, f"exit {code}: {text}"

    def kill(self):
        self.end(signal.SIGKILL)

    def stop(self):
        self.end(signal.SIGTERM)

    def run(self, *words):
        return subprocess.run([hub_cluster.BRIDGE, *words, "--config", self.config], capture_output=True, text=True,
                              timeout=60, check=False)

    def status(self, *args):
        done = subprocess.run([hub_cluster.BRIDGE, "status", *args, "--config", self.config],
                              capture_output=True, text=True, timeout=30, check=False)
        return done.stdout  # empty while it does not run


class Site:
    """A daemon and its bridge. `roles` is {host: "owner" or "replica"}, for the daemon."""

    def __init__(self, hub, make_daemon, name, roles, lines="", limits="", host_lines="", clock=None, of_host=None):
        self.hub, self.name, self.roles = hub, name, roles
        self.folder = tempfile.mkdtemp(prefix=f"hs-{name}-", dir="/tmp")
        os.chmod(self.folder, 0o711)
        sockets = os.path.join(self.folder, "s")
        os.mkdir(sockets, 0o711)
        self.socket = os.path.join(sockets, "bridge.sock")
        self.of_host = of_host or {}  # {host: more lines of its section}
        self.state = os.path.join(self.folder, "state")
        self.daemon = make_daemon(self._daemon_lines(limits, host_lines), start=False,
                                  env=clock.environment() if clock else None)
        self.bridge = Bridge(self._write_bridge(lines))

    def _daemon_lines(self, limits, host_lines):
        text = f"listen = {self.socket} bridge\nbridge_user = {BECOMES.pw_name}\n{limits}"
        for host, role in self.roles.items():
            hood = self.hub.hosts.get(host)
            text += f"[host {host}]\nrole = {role}\n" + (f"hood = {hood}\n" if hood else "")
            text += "replicate = yes\n" + host_lines if role == "owner" else ""
            text += self.of_host.get(host, "")
        return text

    def _write_bridge(self, lines):
        for name in (f"{self.name}.pem", f"{self.name}.key", "ca.pem"):
            copy = os.path.join(self.folder, name)
            shutil.copy(os.path.join(self.hub.keys, name), copy)
            os.chown(copy, BECOMES.pw_uid, -1)
        path = os.path.join(self.folder, "bridge.conf")
        own = [host for host, role in self.roles.items() if role == "owner"]
        read = [host for host, role in self.roles.items() if role == "replica"]
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.hub.bridge_lines(self.name).replace(self.hub.keys, self.folder))
            file.write(f"server = {self.socket}\nstate = {self.state}\n{lines}")
            if os.geteuid() == 0:
                file.write(f"user = {BECOMES.pw_name}\n")
            else:
                os.makedirs(self.state, mode=0o700, exist_ok=True)
            for host in own:
                hood = self.hub.hosts.get(host)
                file.write(f"[host {host}]\n" + (f"hood = {hood}\n" if hood else ""))
            if read:
                file.write("[reader]\n" + "".join(f"hosts = {host}\n" for host in read))
        return path

    def start(self):
        self.daemon.start()
        self.bridge.start()
        self.bridge.wait_log(r"ready: ")
        return self

    def stop(self):
        self.bridge.stop()
        if self.daemon.is_running():
            self.daemon.stop()

    def wipe(self):
        """Stops, and loses all that it has stored; the configuration stays."""
        self.stop()
        self._lose_files(with_state=True)

    def lose(self, with_state):
        """Is killed, and loses what hearsayd has stored; `with_state`: and what its bridge has."""
        self.bridge.kill()
        self.daemon.kill()
        self._lose_files(with_state)

    def _lose_files(self, with_state):
        shutil.rmtree(self.daemon.data, ignore_errors=True)
        if with_state:
            shutil.rmtree(self.state, ignore_errors=True)
            if os.geteuid() != 0:
                os.makedirs(self.state, mode=0o700)

    def remove(self):
        if self.bridge.process is not None:
            self.bridge.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def exported(self, host):
        """All messages that the host shows, by id, as bytes."""
        with self.daemon.administrator() as operator:
            return {m.id: m for m in export_all(operator, host)}


def export_all(operator, host):
    after = None
    while True:
        page = operator.call(wire.pb.Export(host=host, after=after))
        yield from page.messages
        if not page.HasField("next"):
            return
        after = page.next
