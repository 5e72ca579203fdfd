#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A festival: one server for many access points, and no uplink.

usage: festival.py --bench BENCH --hearsayd FILE --hearsay-web FILE --clock MODULE [--brief]

One hearsayd and one hearsay-web on one processor tell the places apart by `here_map`. The clock is
at 1970 when they start and is set after a third of the run. Phones keep the page open, leave
messages and go from place to place. After two thirds both programs are killed at once and started
again. At the end each message that was acknowledged has its page, and says when it was left by the
clock that is right. The exit status is not 0 if a bound is missed; bounds of time hold for the whole
form only.
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import pwd
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

PATIENCE = 60
WHOLE = {"phones": 5000, "places": 200, "opened": 120, "deposits": 5, "roams": 500, "pages": 20,
         "seconds": 120}
BRIEF = {"phones": 200, "places": 20, "opened": 0, "deposits": 5, "roams": 60, "pages": 5,
         "seconds": 21}
PAGE_P99_MS = 300
MEMORY_MIB = 256


class Program:
    """A program whose log is read until it says that it is ready."""

    def __init__(self, command, env, processor):
        self.log = []
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env=env,
            preexec_fn=lambda: os.sched_setaffinity(0, {processor}))
        for line in self.process.stderr:
            self.log.append(line)
            if "ready: " in line:
                break
        else:
            sys.exit(f"{command[0]} did not start:\n{''.join(self.log)}")
        # Nobody reads the pipe from now on: what it takes is enough for these runs.

    def find(self, pattern):
        return re.search(pattern, "".join(self.log))

    def figure(self, name):
        """A line of /proc/PID/status, in KiB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(rf"^{name}:\s+(\d+)", file.read(), re.M).group(1))

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait(PATIENCE)
        self.process.stderr.close()


class Festival:
    def __init__(self, arguments, plan):
        self.arguments, self.plan = arguments, plan
        self.folder = tempfile.mkdtemp(prefix="hearsay-festival-", dir="/tmp")
        os.chmod(self.folder, 0o755)  # the page's user enters it
        # In the build folder: /tmp may be in memory, which hearsayd refuses.
        self.data = tempfile.mkdtemp(prefix="festival-data-", dir=os.getcwd())
        self.port = 0
        self.peak_kib, self.cpu = {}, {}
        self.daemon = self.web = None
        gateway = "daemon" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self.write("here.map", "".join(
            f"127.{place + 1}.0.0/16 = place:stage-{place + 1}\n" for place in range(plan["places"])))
        self.write("hearsayd.conf", f"""[daemon]
listen = 127.0.0.1:0
listen = {self.folder}/gateway.sock gateway
gateway_user = {gateway}
clock_patience = 1h
[limits]
watches_per_session = {plan['places'] + 16}
watches = {10 * plan['places'] + 100}
[host default]
here = place:festival
here_map = {self.folder}/here.map
""")
        self.set_clock(-int(time.time()) + 600, False)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), 0o644)

    def set_clock(self, seconds, is_synchronised):
        """The wall clock of both programs is the machine's, plus these seconds."""
        flags = os.O_WRONLY | os.O_CREAT
        descriptor = os.open(self.path("clock"), flags, 0o644)
        os.pwrite(descriptor, struct.pack("=qqq", seconds, is_synchronised, 0), 0)
        os.close(descriptor)

    def start(self):
        env = {**os.environ, "LD_PRELOAD": os.path.abspath(self.arguments.clock),
               "HEARSAY_TEST_CLOCK": self.path("clock")}
        # A sanitizer's library comes first, or it refuses to start.
        processor = min(os.sched_getaffinity(0))
        self.daemon = Program([self.arguments.hearsayd, "--config", self.path("hearsayd.conf"),
                               "--data", self.data], env, processor)
        self.write("web.conf", f"""[web]
listen = 127.0.0.1:{self.port}
server = {self.folder}/gateway.sock
{"user = daemon" if os.geteuid() == 0 else ""}
connections = {2 * self.plan['phones'] + 100}
events = {self.plan['phones'] + 100}
views = {self.plan['places'] + 16}
""")
        self.web = Program([self.arguments.hearsay_web, "--config", self.path("web.conf")], env,
                           processor)
        self.port = int(self.web.find(r"listening on 127\.0\.0\.1:(\d+)").group(1))
        deadline = time.monotonic() + PATIENCE
        while self.get("/healthz").status != 200:  # nothing else tells when the programs meet
            if time.monotonic() > deadline:
                sys.exit("hearsay-web did not reach hearsayd")
            time.sleep(0.01)

    def stop(self, number):
        for name, program in (("hearsayd", self.daemon), ("hearsay-web", self.web)):
            self.peak_kib[name] = max(self.peak_kib.get(name, 0), program.figure("VmHWM"))
            self.cpu[name] = self.cpu.get(name, 0) + program.cpu_seconds()
        # A power cut is one moment for both.
        for program in (self.daemon, self.web):
            program.process.send_signal(signal.SIGSTOP if number == signal.SIGKILL else number)
        for program in (self.daemon, self.web):
            program.end(number)

    def get(self, path, source="127.0.0.1"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE,
                                                source_address=(source, 0))
        connection.request("GET", path, headers={"Host": f"hearsay.lan:{self.port}"})
        answer = connection.getresponse()
        answer.body = answer.read()
        connection.close()
        return answer

    def phones(self):
        plan = self.plan
        options = {name: plan[name] for name in
                   ("phones", "places", "opened", "deposits", "roams", "pages", "seconds")}
        return subprocess.Popen(
            [self.arguments.bench, "phones", "--port", str(self.port),
             "--acknowledged", self.path("acknowledged"),
             *(f"--{name}={value}" for name, value in options.items())],
            stdout=subprocess.PIPE, text=True)

    def acknowledged(self):
        with open(self.path("acknowledged"), encoding="ascii") as file:
            return file.read().split()

    def has_page(self, id, source):
        """Whether the message has a page, on which its times are not those of 1970."""
        answer = self.get(f"/m/{id}", source)
        return answer.status == 200 and re.search(rb'data-ms="\d{13}"', answer.body)

    def missing(self, ids):
        """Those of these messages that have no page, or a page with a wrong time."""
        sources = [f"127.{210 + i // 250}.0.{i % 250 + 1}" for i in range(1000)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(
                lambda pair: self.has_page(pair[1], sources[pair[0] % len(sources)]),
                enumerate(ids)))
        return [id for id, is_found in zip(ids, found) if not is_found]

    def run(self):
        self.start()
        phones = self.phones()
        opened = json.loads(phones.stdout.readline())
        began = time.monotonic()
        third = self.plan["seconds"] / 3

        def wait_until(seconds):
            time.sleep(max(0, began + seconds - time.monotonic()))

        wait_until(third)
        early = len(self.acknowledged())
        self.set_clock(0, True)
        wait_until(2 * third)
        self.stop(signal.SIGKILL)
        self.start()
        ran = json.loads(phones.stdout.readline())
        if phones.wait(PATIENCE) != 0:
            sys.exit("the phones failed")
        seconds = time.monotonic() - began
        acknowledged = self.acknowledged()
        missing = self.missing(acknowledged)
        self.stop(signal.SIGTERM)
        return {"opened": opened, "ran": ran, "acknowledged": len(acknowledged),
                "missing": missing, "left_in_1970": early,
                "peak_mib": {name: round(kib / 1024, 1) for name, kib in self.peak_kib.items()},
                "cpu_share": {name: round(used / seconds, 2) for name, used in self.cpu.items()}}


def faults_of(result, plan, is_brief):
    """The bounds that the run missed."""
    ran = result["ran"]
    faults = []
    if result["missing"]:
        faults.append(f"{len(result['missing'])} acknowledged messages are lost: "
                      f"{' '.join(result['missing'][:5])}")
    if result["acknowledged"] < plan["deposits"] * plan["seconds"] / 2:
        faults.append(f"only {result['acknowledged']} messages were acknowledged")
    if ran["resumed"] < plan["phones"]:
        faults.append(f"only {ran['resumed']} streams came back")
    if ran["roamed"] == 0:
        faults.append("no phone went to another place")
    if not is_brief and ran["page_p99_ms"] > PAGE_P99_MS:
        faults.append(f"p99 of a page is {ran['page_p99_ms']} ms, more than {PAGE_P99_MS}")
    if not is_brief and sum(result["peak_mib"].values()) > MEMORY_MIB:
        faults.append(f"more than {MEMORY_MIB} MiB")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name in ("bench", "hearsayd", "hearsay-web", "clock"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--brief", action="store_true")
    arguments = parser.parse_args()
    plan = BRIEF if arguments.brief else WHOLE
    wanted = 2 * plan["phones"] + 1000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
    festival = Festival(arguments, plan)
    try:
        result = festival.run()
    finally:
        for program in (festival.daemon, festival.web):
            if program is not None and program.process.poll() is None:
                program.process.kill()
                program.process.wait()
        shutil.rmtree(festival.folder)
        shutil.rmtree(festival.data)
    print(json.dumps(result, indent=1))
    faults = faults_of(result, plan, arguments.brief)
    print("\n".join(faults) if faults else "the festival kept its bounds")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
