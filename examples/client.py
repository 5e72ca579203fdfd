#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small hearsay client, written from docs/protocol.md. It needs the Python packages protobuf and
xxhash (Debian: python3-protobuf, python3-xxhash) and the schema as a module, which is made once (protobuf-compiler):

    protoc --proto_path=proto --python_out=examples hearsay.proto

    client.py deposit -l LABEL [-l LABEL]... TEXT    leaves a message, prints its id and its token
    client.py query -l LABEL [-l LABEL]...           the nearest messages, the nearest first
    client.py watch -l LABEL [-l LABEL]...           new messages, as they come, until interrupted
    client.py withdraw ID TOKEN                      takes a message back

A label is attribute:value, such as wifi:a4:2b:8c:01:02:03 or topic:coffee.
--server HOST:PORT names the server (127.0.0.1:7117), --host the host (the server's first).
Left out: TLS, groups, stored keys of epochs, and connecting again after a loss.
"""
import argparse
import hashlib
import os
import re
import socket
import struct
import sys
import unicodedata

import xxhash

import hearsay_pb2 as pb

FRAME_MAX = 1 << 20  # of every server
FRAME_FIRST = 4096  # what every server takes before its Welcome has been read
ANY_DISTANCE = 1_000_000
MASK64 = (1 << 64) - 1


class ClientError(Exception):
    """A sentence for the user."""


# --- from labels to filters ---


# The characters that Unicode calls Default_Ignorable_Code_Point: they cannot be seen.
IGNORABLE = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
                       "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
                       "\U000e0000-\U000e0fff]")


def normal_label(label):
    """The label as all clients write it."""
    attribute, colon, value = label.partition(":")
    if attribute == "topic":
        value = unicodedata.normalize("NFKC", IGNORABLE.sub("", value))
        value = unicodedata.normalize("NFKC", value.casefold())
        value = re.sub("[\u2018\u2019\u02bc]", "'", re.sub("[\t\n\v\f\r ]+", " ", value)).lstrip("# ").rstrip(" ")
    elif attribute == "wifi":
        value = value.lower()
    label = attribute + colon + value
    if not re.fullmatch("[a-z][a-z0-9]*", attribute) or not value or "\0" in value \
            or len(label.encode()) > 240:
        raise ClientError(f"{label!r} is no label: attribute:value, 240 bytes at most")
    return label


def sections_of(profile):
    """Attributes, first bit, bits and hashes of each section; and the bits of all together."""
    one = r"(?:([a-z][a-z0-9]*)(?:\(([a-z0-9]+,[a-z0-9]+)\))?=)?([0-9]+)/([0-9]+)"
    if not re.fullmatch(f"v2:{one}(,{one})*", profile):
        raise ClientError(f"this client does not understand the profile {profile}")
    sections, first = [], 0
    for name, pair, bits, hashes in re.findall(one, profile[len("v2:"):]):
        sections.append((tuple(pair.split(",")) if pair else name, first, int(bits), int(hashes)))
        first += int(bits)
    return sections, first


def values_of(label, key, count):
    """The first values of a label, which is keyed with the epoch's key, if there is one."""
    data = label.encode()
    if key:
        data = blake2b(data, key)
    whole = xxhash.xxh3_128_intdigest(data)
    low, high = whole & MASK64, whole >> 64
    twice = high << 64 | high  # 64 bits of it are high, rotated
    return [(low + (twice >> -19 * i % 64)) & MASK64 for i in range(count)]


def is_candidate(label, attribute):
    name, _, value = label.partition(":")
    form = {"geo": "[0-9b-hjkmnp-z]{6}", "time": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}"}
    return name == attribute and re.fullmatch(form.get(name, "(?s:.*)"), value) is not None


def with_here(sections, labels, here):
    """Access points come last: whole ones, at most 18 labels, within 3/5 of the bits of their section."""
    size = {name: (bits, hashes) for name, _, bits, hashes in sections}

    def home(label):
        return next((name for name in (label.partition(":")[0], "any", "") if name in size), None)
    labels |= {each for each in here if home(each) is not None and not each.startswith("wifi:")}
    bits, hashes = size.get(home("wifi:"), (0, 1))
    room = min(18, 3 * bits // (5 * hashes) - sum(home(each) == home("wifi:") for each in labels))
    for point in dict.fromkeys(each.partition("@")[0] for each in here if each.startswith("wifi:")):
        lacking = {each for each in here if each.partition("@")[0] == point} - labels
        room -= len(lacking)
        labels |= lacking if room >= 0 else set()
    return labels


def filter_of(profile, labels, key=None, here=()):
    sections, size = sections_of(profile)
    labels = sorted(with_here(sections, {normal_label(label) for label in labels}, here))
    named = {name for name, *_ in sections}
    out = bytearray((size + 7) // 8)

    def set_bits(first, bits, values):
        taken = set()  # by this label or pair
        for value in values:
            position = value % bits
            while position in taken:
                position = (position + 1) % bits
            taken.add(position)
        for place in (first + position for position in taken):
            out[place // 8] |= 1 << place % 8

    for label in labels:
        attribute = label.partition(":")[0]
        if not named & {attribute, "any", ""}:
            raise ClientError(f"this host takes no labels {attribute}: {profile}")
        for name, first, bits, hashes in sections:
            if name == attribute or name == "" or name == "any" and attribute not in named:
                set_bits(first, bits, values_of(label, key, hashes))
    for name, first, bits, hashes in sections:
        if isinstance(name, tuple):
            for one in (label for label in labels if is_candidate(label, name[0])):
                for other in (label for label in labels if is_candidate(label, name[1])):
                    pair = zip(values_of(one, key, hashes), values_of(other, key, hashes))
                    set_bits(first, bits, [a ^ b for a, b in pair])
    return bytes(out)


# --- the connection ---


class Client:
    def __init__(self, server, host):
        name, _, port = server.rpartition(":")
        if not port.isdigit():
            raise ClientError(f"{server} is no HOST:PORT, such as 127.0.0.1:7117")
        self.stream = socket.create_connection((name.strip("[]"), int(port)))
        self.last_id, self.frame_bytes, self.pushed = 0, None, []
        self.welcome = self.ask(pb.Request(hello=pb.Hello(versions=[1], agent="client.py/1"))).welcome
        self.frame_bytes = self.welcome.limits.frame_bytes
        self.host = next((each for each in self.welcome.hosts if host in (None, each.name)), None)
        if self.host is None:
            raise ClientError(f"the server has no host {host}")

    def _read(self, count):
        data = b""
        while len(data) < count:
            more = self.stream.recv(count - len(data))
            if not more:
                raise ClientError("the server ended the connection")
            data += more
        return data

    def next_response(self):
        length = struct.unpack(">I", self._read(4))[0]
        if not 0 < length <= (self.frame_bytes or FRAME_MAX):
            raise ClientError("the server sent a frame of a wrong length")
        response = pb.Response.FromString(self._read(length))
        if response.HasField("error"):
            error = response.error
            wait = f" (again in {error.retry_after_ms} ms)" if error.retry_after_ms else ""
            raise ClientError(f"{pb.ErrorCode.Name(error.code)}: {error.message}{wait}")
        return response

    def ask(self, request):
        """Sends a request and returns its answer. Pushes that come first are kept."""
        self.last_id += 1
        request.id = self.last_id
        frame = request.SerializeToString()
        if len(frame) > (self.frame_bytes or FRAME_FIRST):
            raise ClientError("the request is too large for this server")
        self.stream.sendall(struct.pack(">I", len(frame)) + frame)
        while True:
            response = self.next_response()
            if response.id == self.last_id:
                return response
            self.pushed.append(response)

    def next_push(self):
        return self.pushed.pop(0) if self.pushed else self.next_response()

    def epoch(self):
        """The number and the key of the current epoch; (0, None) where the server gave no key."""
        epoch = self.host.epoch
        return (epoch.number, epoch.key) if epoch.HasField("key") else (0, None)

    def fill_query(self, query, labels, epochs):
        query.host = self.host.name
        query.with_payload = True
        asked = {re.sub("^(wifi:.*)@.*", r"\1", label) for label in labels}
        is_one = len(asked) == 1  # only messages that have it, however far, and an access point however strong
        if not is_one and self.host.HasField("suggested_max_distance"):
            query.max_distance = self.host.suggested_max_distance
        for number, key in epochs:
            part = query.parts.add(epoch=number)
            part.filter = filter_of(self.host.profile, labels, key, self.host.here)
            if is_one:
                part.contains = filter_of(self.host.profile, asked, key)


def blake2b(data, key=b""):
    return hashlib.blake2b(data, digest_size=32, key=key).digest()


# --- the commands ---


def deposit(client, chosen):
    request, token = pb.Request(), os.urandom(32)
    body = request.deposit
    body.host, body.id, body.media_type = client.host.name, os.urandom(16), "text/plain"
    body.epoch, key = client.epoch()
    body.filter = filter_of(client.host.profile, chosen.labels, key, client.host.here)
    body.payload, body.withdraw_hash = chosen.text.encode(), blake2b(token)
    held = client.ask(request).deposited.held
    print(body.id.hex(), token.hex(), *["(the operator looks at it first)"] if held else [])


def show(result):
    text = result.payload.decode("utf-8", "backslashreplace")
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    print(result.id.hex(), f"{1 - result.distance / ANY_DISTANCE:.2f}", safe, flush=True)


def query(client, chosen):
    request = pb.Request()
    request.query.k = min(10, client.welcome.limits.k_max or 10)
    client.fill_query(request.query, chosen.labels, {(0, None), client.epoch()})
    for result in client.ask(request).results.results:
        show(result)


def watch(client, chosen):
    """Shows the matches. When an epoch begins, a watch with its key begins, too."""
    def begin(epochs, after_seq):
        request = pb.Request()
        if after_seq is not None:
            request.watch.after_seq = after_seq
        client.fill_query(request.watch.query, chosen.labels, epochs)
        return client.ask(request).watching.seq

    seq = begin({(0, None), client.epoch()}, None)
    print("watching", file=sys.stderr, flush=True)
    while True:
        push = client.next_push()
        if push.HasField("match"):
            show(push.match.result)
        elif push.HasField("epoch_changed") and push.epoch_changed.host == client.host.name:
            client.host.epoch.CopyFrom(push.epoch_changed.epoch)
            if client.epoch()[1] is not None:  # messages of the epoch may have come already
                seq = begin([client.epoch()], seq)


def withdraw(client, chosen):
    client.ask(pb.Request(withdraw=pb.Withdraw(host=client.host.name, id=chosen.id, token=chosen.token)))


def main():
    parser = argparse.ArgumentParser(description="A small hearsay client.")
    parser.add_argument("--server", default="127.0.0.1:7117", metavar="HOST:PORT")
    parser.add_argument("--host", help="the server's first, if it is not said")
    commands = parser.add_subparsers(dest="command", required=True)
    for act in (deposit, query, watch, withdraw):
        command = commands.add_parser(act.__name__)
        command.set_defaults(act=act)
        if act is withdraw:
            command.add_argument("id", type=bytes.fromhex)
            command.add_argument("token", type=bytes.fromhex)
        else:
            command.add_argument("-l", dest="labels", metavar="LABEL", action="append",
                                 required=True)
        if act is deposit:
            command.add_argument("text")
    chosen = parser.parse_args()
    try:
        chosen.act(Client(chosen.server, chosen.host), chosen)
    except (ClientError, OSError) as error:
        sys.exit(f"client.py: {error}")
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
