# SPDX-License-Identifier: Apache-2.0
"""An independent client of the hearsay protocol, for tests.

Nothing here comes from the daemon but its schema: frames, filters, distances and hashes are made
anew from docs and headers, so that a mistake on one side shows on the other.
"""

import atexit
import functools
import hashlib
import importlib
import itertools
import math
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import xxhash

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WHOLE = 1_000_000  # one, in millionths
SLOWNESS = float(os.environ.get("HEARSAY_TEST_SLOWNESS", "1"))  # emulators, valgrind
PATIENCE = 60.0 * SLOWNESS  # seconds that a test waits before it calls something stuck


def _compile_schema():
    folder = tempfile.mkdtemp(prefix="hearsay-schema-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    proto = os.path.join(ROOT, "proto")
    subprocess.run(
        ["protoc", f"--proto_path={proto}", f"--python_out={folder}", "hearsay.proto", "bridge.proto"],
        check=True,
    )
    sys.path.insert(0, folder)
    try:
        return [importlib.import_module(f"{name}_pb2") for name in ("hearsay", "bridge")]
    finally:
        sys.path.remove(folder)


pb, letters = _compile_schema()
ERROR_CODES = {value: name for name, value in pb.ErrorCode.items()}


# --- contexts, filters, distances -----------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def sections_of(profile):
    """The profile's sections in order: (attributes, first bit, bits, hashes).

    Attributes: () takes every label, ("any",) the rest, ("wifi",) those of wifi, ("geo", "time")
    pairs.
    """
    version, rest = profile.split(":", 1)
    assert version == "v2"
    sections, first = [], 0
    for text in re.split(r",(?![^(]*\))", rest):  # commas, but not those in parentheses
        *names, size = text.rsplit("=", 1)
        bits, hashes = map(int, size.split("/"))
        attributes = re.findall(r"[a-z0-9]+", names[0].removeprefix("joint(")) if names else ()
        sections.append((tuple(attributes), first, bits, hashes))
        first += bits
    return sections


def bits_of_profile(profile):
    return sum(bits for _, _, bits, _ in sections_of(profile))


def keyed_label(label, keys):
    """The bytes that stand for a label, keyed with each key in turn."""
    data = label.encode()
    for key in keys:
        data = hashlib.blake2b(data, digest_size=32, key=key).digest()
    return data


def values_of(whole, count):
    """Of an XXH3-128 hash."""
    high, low = divmod(whole, 2**64)
    twice = high << 64 | high  # so that a shift to the right rotates
    return [(low + (twice >> -19 * i % 64)) % 2**64 for i in range(count)]


def wrapped_values(label, count, keys=()):
    return values_of(xxhash.xxh3_128_intdigest(keyed_label(label, keys)), count)


def distinct(values, bits):
    """The positions of values in a section: where one is taken, the next free one."""
    taken = {}
    for value in values:
        position = value % bits
        while position in taken:
            position = (position + 1) % bits
        taken[position] = True
    return list(taken)


PROFILE = "v2:wifi=362/2,place=53/7,any=97/4"  # a host's, unless the configuration names one


def section_for(label, profile):
    sections = {attributes: rest for attributes, *rest in sections_of(profile)}
    for attributes in [(), (label.split(":")[0],), ("any",)]:
        if attributes in sections:
            return sections[attributes]
    raise ValueError(f"{profile} has no section for {label}")


def positions(label, profile=PROFILE, keys=()):
    """Those that a label sets by itself."""
    first, bits, hashes = section_for(label, profile)
    return [first + position for position in distinct(wrapped_values(label, hashes, keys), bits)]


PAIRED = {"geo": r"geo:[0-9bcdefghjkmnpqrstuvwxyz]{6}", "time": r"time:\d{4}-\d\d-\d\dT\d\d"}


def paired_labels(labels, attribute):
    """The labels of an attribute that joint sections take."""
    pattern = re.compile(PAIRED.get(attribute, re.escape(attribute) + ":.*"), re.ASCII | re.DOTALL)
    return [label for label in labels if pattern.fullmatch(label)]


def joint_positions(labels, profile, keys=()):
    """Those of all pairs, for all joint sections."""
    for attributes, first, bits, hashes in sections_of(profile):
        if len(attributes) != 2:
            continue
        one, other = (paired_labels(labels, attribute) for attribute in attributes)
        for a, b in itertools.product(one, other):
            pair = zip(wrapped_values(a, hashes, keys), wrapped_values(b, hashes, keys))
            yield from (first + position for position in distinct([x ^ y for x, y in pair], bits))


def filter_of(labels, profile=PROFILE, keys=()):
    """The filter's bytes: bit p is bit p % 8 of byte p // 8. Keys: of a group, then of an epoch."""
    number = 0
    for label in labels:
        for position in positions(label, profile, keys):
            number |= 1 << position
    for position in joint_positions(labels, profile, keys):
        number |= 1 << position
    return number.to_bytes((bits_of_profile(profile) + 7) // 8, "little")


def slice_positions(message_id, hashes, bits, seed):
    """An id's positions in a slice of Query.exclude."""
    return [value % bits for value in values_of(xxhash.xxh3_128_intdigest(message_id, seed=seed), hashes)]


def bits_of(filter_bytes):
    return int.from_bytes(filter_bytes, "little")


def counts(a, b):
    """Set bits of the intersection and of the union of two filters."""
    x, y = bits_of(a), bits_of(b)
    return (x & y).bit_count(), (x | y).bit_count()


def similarity_of(shared, everything):
    return (1, 1) if everything == 0 else (shared, everything)


def rounded_ppm(part, whole):
    """part / whole in millionths, rounded up."""
    return -(-part * WHOLE // whole)


def within(similarity, ppm):
    shared, everything = similarity
    return (everything - shared) * WHOLE <= everything * ppm


def phi_similarity(asking, other, profile):
    """Phi as a fraction; the sections in which `asking` has bits count."""
    return phi_of(asking, (bits_of(asking) & bits_of(other)).bit_count(), set_bits_of(other, profile), profile)


def phi_of(asking, shared, other_set, profile):
    """The same, of a filter of which only the shared bits are known, and the set bits of each section."""
    x, spread_a, spread_b = 256 * shared, 0, 0
    for (_, _, bits, _), set_a, set_b in zip(sections_of(profile), set_bits_of(asking, profile), other_set):
        if set_a > 0:
            x -= 256 * set_a * set_b // bits
            spread_a += 256 * set_a - 256 * set_a * set_a // bits
            spread_b += 256 * set_b - 256 * set_b * set_b // bits
    if x <= 0 or spread_a * spread_b == 0:
        return 0, 1 << 24
    return min((x << 34) // math.isqrt(spread_a * spread_b << 20), 1 << 24), 1 << 24


def set_bits_of(filter_, profile=PROFILE):
    """How many bits of a filter are set in each section."""
    return [(bits_of(filter_) >> first & ((1 << bits) - 1)).bit_count() for _, first, bits, _ in sections_of(profile)]


def group_of(filter_, profile=PROFILE, **fields):
    """The group of a summary that covers the messages with this filter."""
    numbers = set_bits_of(filter_, profile)
    return pb.SummaryGroup(union_filter=filter_, least=numbers, most=numbers, **fields)


def group_of_all(profile=PROFILE, **fields):
    """The group of a summary that covers every message."""
    ones = b"\xff" * (bits_of_profile(profile) // 8)
    most = set_bits_of(ones, profile)
    return pb.SummaryGroup(union_filter=ones, least=[0] * len(most), most=most, **fields)


def covers(group, filter_, profile=PROFILE):
    """Whether a message with this filter may be one of the group."""
    numbers = set_bits_of(filter_, profile)
    assert len(group.least) == len(group.most) == len(numbers), group
    return (bits_of(filter_) & ~bits_of(group.union_filter) == 0 and
            all(least <= n <= most for least, n, most in zip(group.least, numbers, group.most)))


def checksum(data):
    """XXH3-64 with seed 0, as at the end of a client's files."""
    return xxhash.xxh3_64_intdigest(data, seed=0)


def withdraw_hash(token):
    return hashlib.blake2b(token, digest_size=32).digest()


# --- frames and the connection --------------------------------------------------------------------


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, error):
        self.error = error
        self.code = ERROR_CODES[error.code]
        super().__init__(f"{self.code}: {error.message} (field {error.field or '-'})")


class Ended(Exception):
    """The server ended the connection."""


def frame(message):
    data = message if isinstance(message, bytes) else message.SerializeToString()
    return struct.pack(">I", len(data)) + data


_FIELDS = {
    f.message_type.name: f.name for f in pb.Request.DESCRIPTOR.oneofs_by_name["body"].fields
}


def request(body, request_id, **fields):
    """`fields` are those of Request itself, such as on_behalf."""
    made = pb.Request(id=request_id, **fields)
    getattr(made, _FIELDS[type(body).DESCRIPTOR.name]).CopyFrom(body)
    return made


class Client:
    """A blocking client with a deadline on every wait. `address`: (host, port), or a Unix path."""

    def __init__(self, address, hello=True, patience=PATIENCE, receive_buffer=None, source=None,
                 tls=None):
        """tls: an ssl.SSLContext, which wraps the connection for `address`'s host."""
        self.patience = patience
        self.last_id = 0
        self.pending = b""
        self.pushes = []  # Responses with id 0 that came during `call`
        if isinstance(address, str):
            family = socket.AF_UNIX
        else:
            family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(patience)
        if source is not None:
            self.socket.bind((source, 0))  # any of 127.0.0.0/8 does, or one of hostile/devices.py
        self.socket.connect(address)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=address[0])
        self.welcome = self.call(pb.Hello(versions=[1], agent="test")) if hello else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send_bytes(self, data):
        self.socket.sendall(data)

    def new_id(self):
        self.last_id += 1
        return self.last_id

    def post(self, body, **fields):
        """Sends a request and returns its id; the answer is left to be received."""
        made = request(body, self.new_id(), **fields)
        self.send_bytes(frame(made))
        return made.id

    def _parse(self):
        """One whole frame out of what came in, or None."""
        if len(self.pending) < 4:
            return None
        (length,) = struct.unpack(">I", self.pending[:4])
        if len(self.pending) < 4 + length:
            return None
        data = self.pending[4 : 4 + length]
        self.pending = self.pending[4 + length :]
        return data

    def receive_bytes(self):
        """The next frame's bytes."""
        while True:
            data = self._parse()
            if data is not None:
                return data
            more = self.socket.recv(1 << 16)
            if not more:
                raise Ended(f"the server ended with {len(self.pending)} bytes of a frame")
            self.pending += more

    def receive(self):
        return pb.Response.FromString(self.receive_bytes())

    def receive_until_end(self):
        """All responses up to the server's end of the stream; a reset is no clean end."""
        responses = []
        while True:
            try:
                responses.append(self.receive())
            except Ended:
                assert not self.pending, "the server ended within a frame"
                return responses

    def body_of(self, response, request_id):
        assert response.id == request_id, f"answer to {response.id}, not to {request_id}"
        if response.WhichOneof("body") == "error":
            raise Refused(response.error)
        return getattr(response, response.WhichOneof("body"))

    def call(self, body, **fields):
        """Sends a request and returns the body of its answer; Refused when that is an error.

        What the server pushes meanwhile goes to `pushes`.
        """
        request_id = self.post(body, **fields)
        while True:
            response = self.receive()
            if response.id != 0 or response.WhichOneof("body") == "error":
                return self.body_of(response, request_id)
            self.pushes.append(response)

    def await_next_ms(self):
        """Until the server's clock has moved on: what is deposited next is newer by it."""
        now_ms = self.call(pb.Ping()).now_ms
        while self.call(pb.Ping()).now_ms == now_ms:
            pass

    def refused(self, body, **fields):
        """The error that a request is answered with."""
        try:
            answer = self.call(body, **fields)
        except Refused as refusal:
            return refusal
        raise AssertionError(f"not refused: {answer}")

    def pipeline(self, bodies):
        """Sends all at once, reading all the while; returns responses in the order of `bodies`."""
        made = [request(body, self.new_id()) for body in bodies]
        answers = self.exchange(b"".join(map(frame, made)), len(made))
        by_id = {answer.id: answer for answer in answers}
        assert sorted(by_id) == [one.id for one in made], "each request has one answer"
        return [by_id[one.id] for one in made]

    def exchange(self, data, count):
        """Writes `data` while reading `count` responses, without ever filling both directions."""
        answers = []
        view = memoryview(data)
        deadline = time.monotonic() + self.patience
        self.socket.setblocking(False)
        try:
            while len(answers) < count or len(view) > 0:
                left = deadline - time.monotonic()
                assert left > 0, f"{len(answers)} of {count} answers in {self.patience} s"
                poll = select.poll()  # select() knows the first 1024 descriptors only
                poll.register(self.socket, select.POLLIN | (select.POLLOUT if len(view) else 0))
                for _, events in poll.poll(left * 1000):
                    if events & select.POLLOUT:
                        view = view[self.socket.send(view[: 1 << 18]) :]
                    if events & ~select.POLLOUT:
                        self.take_available(answers)
        finally:
            self.socket.settimeout(self.patience)
        return answers

    def take_available(self, answers):
        """Appends the responses that one read completes."""
        more = self.socket.recv(1 << 18)
        if not more:
            raise Ended(f"the server ended after {len(answers)} answers")
        buffer = self.pending + more
        start = 0
        while len(buffer) - start >= 4:
            (length,) = struct.unpack_from(">I", buffer, start)
            if len(buffer) - start - 4 < length:
                break
            answers.append(pb.Response.FromString(buffer[start + 4 : start + 4 + length]))
            start += 4 + length
        self.pending = buffer[start:]


# --- messages and the answers they should give ----------------------------------------------------


def new_id(rng):
    return rng.randbytes(16)


def deposit_of(rng, labels, profile=PROFILE, **fields):
    """A Deposit with a random id; other fields as given."""
    fields.setdefault("id", new_id(rng))
    fields.setdefault("payload", b"text of " + fields["id"].hex().encode())
    return pb.Deposit(filter=filter_of(labels, profile), **fields)


def query_of(labels, k=10, profile=PROFILE, contains=None, **fields):
    part = pb.QueryPart(filter=filter_of(labels, profile))
    if contains is not None:
        part.contains = filter_of(contains, profile)
    return pb.Query(k=k, parts=[part], **fields)


def metric_of(query):
    """A query that names no metric is one by phi."""
    return query.metric if query.HasField("metric") else pb.PHI


class Reference:
    """What a host should answer: a plain list of what was deposited, and sorting."""

    def __init__(self, profile=PROFILE):
        self.profile = profile
        self.messages = {}  # id -> (Deposit, Deposited)

    def add(self, deposit, deposited):
        self.messages[deposit.id] = (deposit, deposited)

    def answer(self, query, now_ms=None):
        """The expected results as tuples; see `shape`."""
        found = {}
        for deposit, deposited in self.messages.values():
            if now_ms is not None and deposited.expires_ms <= now_ms:
                continue
            if query.HasField("since_ms") and deposited.deposited_ms < query.since_ms:
                continue
            if query.HasField("until_ms") and deposited.deposited_ms >= query.until_ms:
                continue
            for part in query.parts:
                rank = self._rank(query, part, deposit)
                if rank is not None and (deposit.id not in found or rank < found[deposit.id][0]):
                    found[deposit.id] = (rank, part, deposit, deposited)
        def by_time(entry):
            return -entry[3].deposited_ms, entry[2].id

        def by_similarity(entry):
            return entry[0], *by_time(entry)

        best = sorted(found.values(), key=by_time if query.order == pb.NEWEST else by_similarity)[: query.k]
        if query.order == pb.TIME:
            best.sort(key=by_time)
        return [self._shape(query, *entry[1:]) for entry in best]

    def _distance(self, query, part, deposit):
        """The similarity whose distance max_distance limits, as a fraction."""
        if metric_of(query) == pb.PHI:
            return phi_similarity(part.filter, deposit.filter, self.profile)
        return similarity_of(*counts(part.filter, deposit.filter))

    def _is_reached(self, query, part, deposit):
        reach = deposit.reach if deposit.HasField("reach") else WHOLE
        if metric_of(query) == pb.PHI:
            return within(phi_similarity(deposit.filter, part.filter, self.profile), reach)
        return within(similarity_of(*counts(part.filter, deposit.filter)), reach)

    def _rank(self, query, part, deposit):
        """Smaller is nearer; None: not to be seen."""
        bits = self._distance(query, part, deposit)
        limit = query.max_distance if query.HasField("max_distance") else WHOLE
        if not within(bits, limit) or not self._is_reached(query, part, deposit):
            return None
        wanted = bits_of(part.contains) if part.HasField("contains") else 0
        if bits_of(deposit.filter) & wanted != wanted:
            return None
        return Descending(*bits)

    def _shape(self, query, part, deposit, deposited):
        shared, everything = counts(part.filter, deposit.filter)
        bits = self._distance(query, part, deposit)
        payload = (deposit.media_type or "text/plain", deposit.payload)
        return (
            deposit.id,
            shared,
            everything,
            rounded_ppm(bits[1] - bits[0], bits[1]),
            deposited.deposited_ms,
            deposited.expires_ms,
            payload if query.with_payload else None,
            set_bits_of(deposit.filter, self.profile),
        )


class Descending:
    """A fraction that sorts larger ones first, by cross-multiplication."""

    def __init__(self, shared, everything):
        self.shared, self.everything = shared, everything

    def __lt__(self, other):
        return self.shared * other.everything > other.shared * self.everything

    def __eq__(self, other):
        return self.shared * other.everything == other.shared * self.everything


def shape(result):
    """A Result as the tuple that Reference.answer makes."""
    payload = None
    if result.HasField("payload") or result.HasField("media_type"):
        payload = (result.media_type, result.payload)
    return (
        result.id,
        result.intersection_count,
        result.union_count,
        result.distance,
        result.deposited_ms,
        result.expires_ms,
        payload,
        list(result.set_bits),
    )


def rest(began, pause):
    """Between two looks at a state, `pause` seconds, and a fiftieth of what has passed since `began` if that is more:
    a look that comes again for a minute, into a browser or into all files, would take the processor from the tests
    beside it. So what is waited for is seen 2 % later at most."""
    time.sleep(max(pause, min(0.5, (time.monotonic() - began) / 50)))


def wait_until(condition, what, patience=PATIENCE, pause=0.01):
    """Looks again and again until it holds. The pause only leaves the machine to others."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + patience, f"not within {patience} s: {what}"
        rest(began, pause)
