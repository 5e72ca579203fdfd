# SPDX-License-Identifier: Apache-2.0
"""Phones with known facts, and the box that serves them: hearsayd and hearsay-web, with the clocks
of the test. The addresses are those of a network of the test's own; see hostile/devices.py."""

import base64
import fcntl
import http.client
import ipaddress
import os
import re
import socket
import struct
import sys
import urllib.parse

import hearsay_wire as wire
import traces
from clock import Clock  # noqa: F401
from hearsay_wire import pb
from web_runner import NAME, Web, fields_of

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "hostile"))
import devices  # noqa: E402

SIOCSIFADDR, SIOCSIFNETMASK = 0x8916, 0x891C
SERVER_4, MASK_4 = "203.128.0.1", "255.128.0.0"
SERVER_6 = devices.SERVER
PROXY, METRICS = "127.0.0.5", "127.0.0.3"
# On the page with IPv4 and IPv6, the same behind a proxy, at port 7117, and by another gateway.
PAGE_WAYS = ["page4", "page6", "proxy4", "proxy6"]
WAYS = [*PAGE_WAYS, "app4", "app6", "gateway4", "gateway6"]


def word(rng, count=12):
    return "".join(rng.choice("bcdfghjklmnpqrstvwxz") for _ in range(count))


class Phone:
    """What is known of a phone. The last bytes of addresses are random: a search for small numbers
    would find them everywhere."""

    def __init__(self, rng, way):
        self.way, self.rng = way, rng
        if way.endswith("4"):
            self.address = "203." + ".".join(str(rng.randrange(129, 250)) for _ in range(3))
        else:
            prefix = socket.inet_pton(socket.AF_INET6, f"{devices.PREFIX}::")[:8]
            self.address = str(ipaddress.ip_address(prefix + rng.randbytes(8)))
        self.agent = f"Agent-{word(rng)}/1"
        self.scans = [":".join(f"{byte:02x}" for byte in rng.randbytes(6)) for _ in range(3)]
        self.place, self.topic = "geo:" + word(rng), word(rng)
        self.text = "text " + word(rng, rng.randrange(10, 490 if self.is_on_page() else 2000))
        self.reason = "reason " + word(rng, rng.randrange(10, 110))
        self.reported = None  # the phone whose message this one reports
        self.code = None
        self.token = rng.randbytes(32)
        self.id = None
        self.has_gone = False  # the message

    def is_on_page(self):
        return self.way in PAGE_WAYS

    def labels(self):
        return [self.place, "topic:" + self.topic, *("wifi:" + scan for scan in self.scans)]

    def facts(self):
        """Of this phone, pairs of a kind and a value."""
        yield "address", self.address
        yield "browser" if self.is_on_page() else "app", self.agent
        yield "topic" if self.is_on_page() else "label", (
            self.topic if self.is_on_page() else "topic:" + self.topic)
        yield "label", self.place
        for scan in self.scans:
            yield "scan", scan
        yield "gone" if self.has_gone else "text", self.text
        if self.reported is not None:
            yield "gone reason" if self.reported.has_gone else "reason", self.reason
        yield "token", self.token
        if self.code is not None:
            yield "code", self.code


def token_of(code):
    """The withdraw token that hearsay-web makes of a code; secret_token in client/web."""
    padded = code.replace("-", "").replace(" ", "").upper().ljust(32, "=")
    return wire.withdraw_hash(b"hearsay web withdraw v1" + base64.b32decode(padded))


def make_network(phones):
    """Makes the network with the addresses of these phones. Returns "", or why that cannot be."""
    why_not = devices.enter_own_network()
    if why_not:
        return why_not
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for request, value in ((SIOCSIFADDR, SERVER_4), (SIOCSIFNETMASK, MASK_4)):
            address = struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton(value))
            fcntl.ioctl(control, request, struct.pack("16s16s", b"lo:7", address))
    devices.add_addresses(phone.address for phone in phones if phone.way in ("page6", "app6"))
    return ""


class Box:
    """hearsayd and hearsay-web. `wear` is for the environment of the programs."""

    def __init__(self, make_gateway, folder, clock, wear):
        with wear() as patch:
            for name, value in clock.environment().items():
                patch.setenv(name, value)
            gateway = make_gateway(
                f"listen = {SERVER_4}:0\nlisten = [{SERVER_6}]:0\nlog_level = debug\n")
            self.web = Web(gateway, folder, f"listen = {SERVER_4}:0\nlisten = [{SERVER_6}]:0\n"
                           f"listen = {PROXY}:0 proxied\nlisten = {METRICS}:0 metrics\n"
                           "log_level = debug\n")
        self.clock, self.gateway, self.daemon = clock, gateway, gateway.daemon
        self.web.wait_healthy()

    def logs(self):
        """The bytes of both logs. Bytes that are no text stand there as \\xNN: once more as bytes."""
        text = f"{self.daemon.log_text()}\n{''.join(self.web.lines)}".encode()
        return text + re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()),
                             text)

    def port_of(self, program, address):
        lines = "".join(self.web.lines) if program == "web" else self.daemon.log_text()
        place = re.escape(f"[{address}]" if ":" in address else address)
        return int(re.search(rf"listening on {place}:(\d+)", lines).group(1))

    # --- a phone with a browser ---

    def send(self, phone, method, path, fields=None):
        """The connection and the answer of which the head has come."""
        server = {"page4": SERVER_4, "page6": SERVER_6}.get(phone.way, PROXY)
        port = self.port_of("web", server)
        host = NAME if server == PROXY else f"{NAME}:{port}"
        headers = {"Host": host, "User-Agent": phone.agent, "Accept-Language": "de"}
        if server == PROXY:
            headers["X-Forwarded-For"] = phone.address
        body = None
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            headers["Origin"] = "http://" + host
            body = urllib.parse.urlencode(fields)
        source = "127.0.0.1" if server == PROXY else phone.address
        connection = http.client.HTTPConnection(server, port, timeout=wire.PATIENCE,
                                                source_address=(source, 0))
        connection.request(method, path, body, headers)
        return connection, connection.getresponse()

    def ask(self, phone, *request):
        connection, answer = self.send(phone, *request)
        text = answer.read().decode()
        connection.close()
        assert answer.status == 200, f"{answer.status}: {text}"
        return text

    def open_page(self, phone):
        """The page stays open until what is returned is closed."""
        _, answer = self.send(phone, "GET", "/events?t=" + phone.topic)
        assert answer.status == 200
        return answer  # which has the socket

    def browse(self, phone, other):
        self.ask(phone, "GET", "/")
        form = fields_of(self.ask(phone, "GET", "/?t=" + phone.topic), "/leave")
        left = self.ask(phone, "POST", "/leave", {**form, "text": phone.text, "t": phone.topic})
        taken_back = fields_of(left, "/withdraw")
        phone.id, phone.code = taken_back["id"], taken_back["code"]
        phone.token = token_of(phone.code)
        self.open_page(phone).close()
        if other is not None:
            self.report_on_page(phone, other)
        if phone.has_gone:
            self.ask(phone, "POST", "/withdraw", taken_back)

    def report_on_page(self, phone, other):
        phone.reported = other
        form = fields_of(self.ask(phone, "GET", "/m/" + other.id), "/report")
        self.ask(phone, "POST", "/report", {**form, "why": "spam", "text": phone.reason})

    # --- a phone with an app ---

    def connect(self, phone):
        if phone.way.startswith("gateway"):
            return self.gateway.connect(phone.address, agent=phone.agent)
        server = SERVER_4 if phone.way == "app4" else SERVER_6
        client = wire.Client((server, self.port_of("daemon", server)), hello=False,
                             source=phone.address)
        client.call(pb.Hello(versions=[1], agent=phone.agent))
        return client

    def talk(self, phone, other):
        made = wire.deposit_of(phone.rng, phone.labels(), payload=phone.text.encode(),
                               withdraw_hash=wire.withdraw_hash(phone.token))
        if phone.has_gone and not phone.way.startswith("gateway"):
            made.ttl_s = 3600
        phone.id = made.id.hex()
        with self.connect(phone) as client:
            client.call(made)
            client.call(wire.query_of(phone.labels()))
            client.call(pb.Watch(query=wire.query_of(phone.labels(), k=0)))
            if other is not None:
                client.call(pb.Report(id=bytes.fromhex(other.id), kind=pb.SPAM,
                                      reason=phone.reason))

    def take_back(self, phone):
        """The message of an app."""
        with self.connect(phone) as client:
            client.call(pb.Withdraw(id=bytes.fromhex(phone.id), token=phone.token))

    def visit(self, phone, other):
        """The phone leaves its message, and reports the one of the phone `other`."""
        phone.reported = other
        (self.browse if phone.is_on_page() else self.talk)(phone, other)

    def figures(self):
        """Those of hearsay-web."""
        connection = http.client.HTTPConnection(METRICS, self.port_of("web", METRICS),
                                                timeout=wire.PATIENCE)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return text

    def wait_scrubbed(self, texts):
        """Until the files have none of the texts. The thread that overwrites them waits by the
        machine's clock: a check wakes the thread."""
        with self.daemon.administrator() as client:
            client.call(pb.Check())
            client.call(pb.Check())  # what the thread that reads does after the first is over

        def is_scrubbed():
            data = traces.files_in(self.daemon.data)
            return not any(text.encode() in data for text in texts)
        wire.wait_until(is_scrubbed, "texts of messages that have gone were overwritten")

    def minute(self):
        """A minute passes: both programs look at their clocks when they get a request. hearsayd may
        end the connection of hearsay-web, which connects again after a second."""
        self.clock.move(60)
        self.web.get("/healthz")
        with self.daemon.administrator() as client:
            client.call(pb.Ping())
        while self.web.get("/healthz").status != 200:
            self.clock.move(1)
