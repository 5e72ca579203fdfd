#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes frames.json: frames of the protocol, by an implementation that shares nothing with ours.

  make_frames.py             writes frames.json beside this file, and the exchange into
                             docs/protocol.md
  make_frames.py --check     says whether frames.json and docs/protocol.md hold what it would write
  make_frames.py --example   prints the worked exchange of docs/protocol.md

Needs protoc, python3-protobuf and python3-xxhash. FRAMES.md explains the file's format.
"""

import argparse
import hashlib
import importlib
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    import google.protobuf  # noqa: F401  what protoc makes needs it
    import xxhash
except ImportError as missing:
    print(f"skipped: {missing}; install python3-protobuf and python3-xxhash", file=sys.stderr)
    sys.exit(77)

import phi
import sections

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FRAMES = HERE / "frames.json"
REFERENCE = ROOT / "docs" / "protocol.md"

BEGIN = "<!-- the exchange: made by tests/vectors/make_frames.py --example -->"
END = "<!-- end of the exchange -->"


def load_schema():
    """Compiles hearsay.proto into a temporary folder and imports what protoc made."""
    if shutil.which("protoc") is None:
        print("skipped: no protoc; install protobuf-compiler", file=sys.stderr)
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["protoc", f"--proto_path={ROOT / 'proto'}", f"--python_out={folder}", "hearsay.proto"],
            check=True,
        )
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("hearsay_pb2")
        finally:
            sys.path.remove(folder)


pb = load_schema()

# --- messages to JSON and back ---------------------------------------------------------------------

EXACT = 2**53  # larger whole numbers are strings: JSON readers with doubles would round them


def to_plain(message):
    """The fields that are present: bytes in hex, enums by name, large numbers as strings."""
    plain = {}
    for field, value in message.ListFields():
        convert = converter(field)
        repeated = field.label == field.LABEL_REPEATED
        plain[field.name] = [convert(v) for v in value] if repeated else convert(value)
    return plain


def converter(field):
    if field.type == field.TYPE_MESSAGE:
        return to_plain
    if field.type == field.TYPE_BYTES:
        return bytes.hex
    if field.type == field.TYPE_ENUM:
        names = {v.number: v.name for v in field.enum_type.values}
        return lambda number: names.get(number, number)
    if field.type == field.TYPE_UINT32:
        return lambda number: number % 2**32  # on 32-bit machines protobuf's C++ gives it signed
    if field.type in (field.TYPE_INT64, field.TYPE_UINT64):
        return lambda number: number if abs(number) <= EXACT else str(number)
    return lambda value: value


def fill(message, fields):
    """Sets fields from a dict, with bytes as bytes, lists as lists, dicts as messages."""
    for name, value in fields.items():
        if isinstance(value, dict):
            inner = getattr(message, name)
            inner.SetInParent()
            fill(inner, value)
        elif isinstance(value, list):
            for entry in value:
                if isinstance(entry, dict):
                    fill(getattr(message, name).add(), entry)
                else:
                    getattr(message, name).append(entry)
        else:
            setattr(message, name, value)
    return message


ASKER = "fields of Request itself"


def framed(body):
    return struct.pack(">I", len(body)) + body


def enveloped(side, number, kind, fields):
    """A Request or Response: id first, then the body, then what ASKER has of the fields."""
    message = pb.Request() if side == "request" else pb.Response()
    if number is not None:
        message.id = number
    if kind is not None:
        body = getattr(message, kind)
        body.SetInParent()
        fill(body, {name: value for name, value in fields.items() if name != ASKER})
        fill(message, fields.get(ASKER, {}))
    return message


# --- fields by hand, for what no encoder makes -------------------------------------------------------


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


# --- filters and distances, as docs/protocol.md defines them ----------------------------------------

PROFILE = sections.DEFAULT


def hash_label(label):
    h = xxhash.xxh3_128_intdigest(label, seed=0)
    return h & (2**64 - 1), h >> 64


def filter_of(labels):
    return sections.encode(hash_label, PROFILE, labels).to_bytes(64, "little")


def set_bits(content):
    return sum(bin(byte).count("1") for byte in content)


def both(a, b):
    return bytes(x & y for x, y in zip(a, b))


def either(a, b):
    return bytes(x | y for x, y in zip(a, b))


def distance_millionths(shared, whole):
    """1 - shared / whole, rounded up; 0/0 is distance 0."""
    return -((shared - whole) * 1000000 // whole) if whole else 0


def similarity_figures(query, stored):
    """The figures of a result, with the distance by phi."""
    shared, union = set_bits(both(query, stored)), set_bits(either(query, stored))
    likeness = phi.phi(PROFILE, int.from_bytes(query, "little"), int.from_bytes(stored, "little"))
    return {
        "intersection_count": shared,
        "union_count": union,
        "distance": distance_millionths(likeness, phi.ONE),
        "set_bits": phi.set_bits(PROFILE, int.from_bytes(stored, "little")),
    }


# --- the worked exchange ----------------------------------------------------------------------------

NOW = 1795176000000  # 2026-11-20T12:00:00Z
ID = bytes(range(0x10, 0x20))
IPV6 = bytes.fromhex("20010db8000000000000000000000007")
TOKEN = bytes(range(0x40, 0x60))
STORE = bytes(range(0xA0, 0xB0))
HERE_LABELS = ["wifi:a4:2b:8c:01:02:03", "wifi:a4:2b:8c:01:02:04", "geo:u281zd"]
DEPOSIT_LABELS = HERE_LABELS + ["topic:coffee"]
QUERY_LABELS = HERE_LABELS
LIMITS = {
    "frame_bytes": 65536,
    "payload_bytes": 4096,
    "media_type_bytes": 127,
    "deposit_fill_min_ppm": 1000,
    "deposit_fill_max_ppm": 500000,
    "query_fill_max_ppm": 500000,
    "k_max": 100,
    "ttl_default_s": 86400,
    "ttl_max_s": 604800,
    "parts_max": 64,
    "requests_in_flight": 4096,
}
WELCOME = {
    "version": 1,
    "store_id": STORE,
    "now_ms": NOW,
    "clock_trusted": True,
    "limits": LIMITS,
    "capabilities": ["hello", "deposit", "query", "get", "withdraw", "ping"],
    "hosts": [{"name": "default", "profile": PROFILE, "suggested_max_distance": 772500}],
    "agent": "hearsayd/0.1.0",
}


def example():
    """(title, side, message) of each step."""
    stored, asked = filter_of(DEPOSIT_LABELS), filter_of(QUERY_LABELS)
    text = "The espresso machine on the second floor works again.".encode()
    result = {
        "id": ID,
        **similarity_figures(asked, stored),
        "deposited_ms": NOW + 250,
        "expires_ms": NOW + 250 + 7200000,
        "media_type": "text/plain",
        "payload": text,
    }
    steps = [
        ("Hello", "request", 1, "hello", {"versions": [1], "agent": "example/1"}),
        ("Welcome", "response", 1, "welcome", WELCOME),
        (
            "Deposit",
            "request",
            2,
            "deposit",
            {
                "id": ID,
                "filter": stored,
                "payload": text,
                "ttl_s": 7200,
                "withdraw_hash": hashlib.blake2b(TOKEN, digest_size=32).digest(),
            },
        ),
        (
            "Deposited",
            "response",
            2,
            "deposited",
            {
                "expires_ms": NOW + 250 + 7200000,
                "durability": pb.ON_STORAGE,
                "deposited_ms": NOW + 250,
            },
        ),
        (
            "Query",
            "request",
            3,
            "query",
            {"k": 10, "parts": [{"filter": asked}], "max_distance": 772500, "with_payload": True},
        ),
        (
            "Results",
            "response",
            3,
            "results",
            {"results": [result], "comparisons": 1, "exact": True},
        ),
    ]
    return [(title, side, enveloped(side, n, kind, fields)) for title, side, n, kind, fields in steps]


def hex_lines(content):
    text = content.hex()
    pairs = [text[i : i + 2] for i in range(0, len(text), 2)]
    return "\n".join(" ".join(pairs[i : i + 24]) for i in range(0, len(pairs), 24))


def example_text():
    out = [BEGIN]
    for title, side, message in example():
        arrow = "client to server" if side == "request" else "server to client"
        frame = framed(message.SerializeToString())
        out += ["", f"**{title}**, {arrow}, {len(frame)} bytes with the header:", "", "```"]
        out += [hex_lines(frame), "```", "", "```"]
        out += [json.dumps(to_plain(message), indent=1, ensure_ascii=False), "```"]
    out += ["", END]
    return "\n".join(out)


# --- the vectors ------------------------------------------------------------------------------------


def good_messages():
    """(name, side, id, kind, fields, canonical?). Canonical: no field holds its default value."""
    a, b = filter_of(DEPOSIT_LABELS), filter_of(QUERY_LABELS)
    hash_ = hashlib.blake2b(TOKEN, digest_size=32).digest()
    text = "grüezi ☕".encode()
    for title, side, message in example():
        body = message.WhichOneof("body")
        yield f"example {title}", side, message.id, body, getattr(message, body), True

    full_deposit = {
        "host": "cafe-1", "id": ID, "epoch": 2**64 - 1, "filter": a, "media_type": "text/markdown",
        "payload": text, "ttl_s": 604800, "reach": 0, "withdraw_hash": hash_, "answers": ID[::-1],
    }  # fmt: skip
    full_query = {
        "host": "cafe-1", "k": 100,
        "parts": [{"filter": b}, {"epoch": 3, "filter": a, "contains": b}],
        "max_distance": 0, "since_ms": -1, "until_ms": NOW, "metric": pb.BITS,
        "order": pb.TIME, "exclude": [{"bits": b"\x01\x80", "hashes": 7}, {"bits": bytes(3), "hashes": 32, "seed": 5}],
        "with_payload": True, "scope": pb.HOOD, "wait_ms": 250, "max_staleness_ms": 5000,
        "floor": 2**24,
    }  # fmt: skip
    full_result = {
        "id": ID, **similarity_figures(b, a), "deposited_ms": NOW, "expires_ms": NOW + 1,
        "media_type": "image/png", "payload": bytes(range(256)), "payload_omitted": True, "epoch": 9,
        "answer_count": 1000,
    }  # fmt: skip
    full_exported = {
        "id": ID, "epoch": 4, "filter": a, "media_type": "text/plain", "payload": text,
        "deposited_ms": NOW, "expires_ms": NOW + 60000, "reach": 250000, "withdraw_hash": hash_,
    }  # fmt: skip
    full_change = {
        "seq": 2**53 + 1, "message": {**full_exported, "state": 4, "reports": 2**32 - 1},
    }  # fmt: skip
    gone = {"seq": 8, "gone": {"id": ID, "until_ms": NOW, "why": pb.WAS_REMOVED}}
    rule = {
        "seq": 9, "rule": {"kind": 4, "value": b"de\0Tee", "number": 5, "created_ms": NOW,
                           "dropped": True, "until_ms": NOW + 1},
    }  # fmt: skip
    rows = [
        ("hello, largest id", "request", 2**64 - 1, "hello",
         {"versions": [1, 2, 2**32 - 1], "agent": "käse/2", "resume_token": TOKEN}),
        ("hello, least", "request", 1, "hello", {"versions": [1]}),
        ("hello, on behalf of an IPv4 address", "request", 1, "hello",
         {"versions": [1], "on_behalf": bytes([192, 0, 2, 7])}),
        ("hello, on behalf of an IPv6 address", "request", 1, "hello",
         {"versions": [1], "on_behalf": IPV6, "on_behalf_local": IPV6[:15] + b"\x01"}),
        ("deposit, least", "request", 300, "deposit", {"id": ID, "filter": a}),
        ("deposit, every field", "request", 301, "deposit", full_deposit),
        ("deposit, two slashes", "request", 302, "deposit",
         {"id": ID, "filter": a, "media_type": "a//"}),
        ("query, least", "request", 4, "query", {"k": 1, "parts": [{"filter": b}]}),
        ("query, every field", "request", 5, "query", full_query),
        ("query, by bits", "request", 52, "query",
         {"k": 1, "parts": [{"filter": b}], "metric": pb.BITS}),
        ("query, the newest", "request", 53, "query",
         {"k": 1, "parts": [{"filter": b}], "order": pb.NEWEST}),
        ("query, answers", "request", 54, "query", {"k": 1000, "answers": ID, "with_payload": True}),
        ("query, two empty parts of 8 bytes", "request", 6, "query",
         {"k": 2**32 - 1, "parts": [{"filter": bytes(8)}, {"filter": bytes(8)}]}),
        ("get", "request", 7, "get", {"id": ID}),
        ("get, with host", "request", 8, "get", {"host": "default", "id": ID}),
        ("withdraw", "request", 9, "withdraw", {"id": ID, "token": TOKEN}),
        ("withdraw, with host", "request", 10, "withdraw",
         {"host": "default", "id": ID, "token": TOKEN}),
        ("ping", "request", 11, "ping", {}),
        ("export", "request", 12, "export", {}),
        ("export, every field", "request", 13, "export",
         {"host": "default", "after": bytes(24), "limit": 500}),
        ("here", "request", 16, "here", {}),
        ("here, every field", "request", 17, "here", {"host": "default", "places": True}),
        ("here, on behalf of an IPv6 address", "request", 17, "here", {ASKER: {"on_behalf": IPV6}}),
        ("get, on behalf of an IPv4 address", "request", 7, "get",
         {"id": ID, ASKER: {"on_behalf": bytes([192, 0, 2, 7])}}),
        ("query, on behalf of an IPv6 address", "request", 4, "query",
         {"k": 1, "parts": [{"filter": b}],
          ASKER: {"on_behalf": IPV6, "on_behalf_local": IPV6[:15] + b"\x01"}}),
        ("summary, on behalf of an IPv4 address", "request", 14, "summary",
         {"groups": 2, ASKER: {"on_behalf": bytes([192, 0, 2, 7])}}),
        ("summary", "request", 14, "summary", {}),
        ("summary, every field", "request", 15, "summary",
         {"host": "default", "epoch": 3, "groups": 32}),
        ("report", "request", 16, "report", {"id": ID}),
        ("report, every field", "request", 17, "report",
         {"host": "default", "id": ID, "reason": "käse of others", "kind": 2}),
        ("stats", "request", 18, "stats", {}),
        ("stats, of a host", "request", 19, "stats", {"host": "default"}),
        ("remove", "request", 20, "remove", {"id": ID}),
        ("remove, every field", "request", 21, "remove",
         {"host": "a", "id": ID, "ban": True, "kind": 1, "reason": "käse"}),
        ("restore", "request", 22, "restore", {"host": "a", "id": ID}),
        ("restore, every field", "request", 22, "restore",
         {"host": "a", "id": ID, "kind": 5, "reason": "a joke"}),
        ("hide", "request", 39, "hide", {"id": ID}),
        ("hide, every field", "request", 39, "hide",
         {"host": "a", "id": ID, "kind": 4, "reason": "r" * 200}),
        ("decisions", "request", 40, "decisions", {}),
        ("decisions, every field", "request", 40, "decisions",
         {"host": "a", "limit": 7, "before": 2**53 + 1}),
        ("similar", "request", 46, "similar", {}),
        ("similar, every field", "request", 46, "similar",
         {"host": "a", "max_distance": 100000, "limit": 7}),
        ("wait", "request", 41, "wait", {}),
        ("wait, every field", "request", 41, "wait", {"host": "a"}),
        ("reported", "request", 23, "reported", {}),
        ("reported, every field", "request", 24, "reported",
         {"host": "a", "limit": 3, "pending": True, "withheld": True, "all": True,
          "after": bytes(9), "place": "Bühne 1"}),
        ("ban, a payload", "request", 25, "ban", {"payload_hash": TOKEN}),
        ("ban, a filter", "request", 26, "ban",
         {"host": "a", "filter": a, "max_distance": 250000}),
        ("unban", "request", 27, "unban", {"payload_hash": TOKEN}),
        ("unban, a filter", "request", 28, "unban", {"host": "a", "filter": a}),
        ("bans", "request", 29, "bans", {}),
        ("bans, every field", "request", 30, "bans", {"host": "a", "skip": 7}),
        ("accept", "request", 31, "accept", {}),
        ("accept, every field", "request", 32, "accept", {"host": "a", "mode": "review"}),
        ("check", "request", 33, "check", {}),
        ("backup", "request", 34, "backup", {"path": "/srv/hearsay backup.db"}),
        ("compact", "request", 35, "compact", {}),
        ("reload", "request", 36, "reload", {}),
        ("log_level", "request", 37, "log_level", {}),
        ("log_level, set", "request", 38, "log_level", {"level": "debug"}),
        ("notice", "request", 39, "notice", {}),
        ("notice, put up", "request", 40, "notice",
         {"host": "a", "text": "Das Tor schließt.", "lang": "de", "until_ms": NOW, "place": "Bühne 1"}),
        ("notice, taken down", "request", 41, "notice", {"drop": 5}),
        ("serve, none", "request", 42, "serve", {}),
        ("serve, two", "request", 43, "serve", {"hoods": ["campus", "a-1"]}),
        ("answered", "request", 44, "answered",
         {"ask_id": 7, "results": {"results": [{**full_result, "host": "library", "filter": a}],
                                   "comparisons": 9, "exact": True, "complete": True, "peers": 3,
                                   "peers_asked": 1, "as_of_ms": NOW}}),
        ("answered, an error", "request", 45, "answered",
         {"ask_id": 2**63, "error": {"code": pb.INTERNAL, "message": "the hub is away"}}),
        ("changes", "request", 42, "changes", {}),
        ("changes, every field", "request", 43, "changes",
         {"host": "a", "after": 2**64 - 1, "limit": 2**32 - 1, "wait_ms": 60000,
          "replicated": 2**53 + 1, "no_copy": True, "waiting": True}),
        ("apply, of nothing", "request", 44, "apply", {"as": pb.AS_RESTORE, "restored": True}),
        ("apply, every field", "request", 45, "apply",
         {"host": "a", "changes": [full_change, gone, rule,
                                   {"message": {"id": ID, "filter": b}}],
          "as": pb.AS_OPERATOR, "restored": True}),
        ("apply, decisions", "request", 46, "apply",
         {"changes": [{**rule, "decision": {"store_id": STORE, "number": 2**63 - 1, "time_ms": NOW}},
                      {**gone, "decision": {"store_id": STORE, "number": 1}}],
          "as": pb.AS_OPERATOR}),
        ("watch, least", "request", 39, "watch", {"query": {"parts": [{"filter": a}]}}),
        ("watch, every field", "request", 40, "watch",
         {"query": {"host": "b", "parts": [{"epoch": 3, "filter": a, "contains": b},
                                           {"filter": b}],
                    "max_distance": 0, "since_ms": NOW, "metric": pb.BITS,
                    "with_payload": True},
          "after_seq": 0}),
        ("unwatch", "request", 41, "unwatch", {"watch_id": 2**63}),
        ("error, least", "response", 1, "error", {"code": pb.INTERNAL}),
        ("error, every field", "response", 1, "error",
         {"code": pb.UNSUPPORTED_VERSION, "message": "version 9 is not spoken here; 1 is",
          "field": "versions", "retry_after_ms": 1000, "versions": [1]}),
        ("error, full until", "response", 3, "error",
         {"code": pb.QUOTA, "message": "this host is full", "retry_after_ms": 7200000}),
        ("welcome, least", "response", 1, "welcome",
         {"version": 1, "store_id": STORE, "limits": {}}),
        ("welcome, two hosts", "response", 2, "welcome",
         {**WELCOME, "hosts": [{"name": "a", "profile": "v2:64/1", "suggested_max_distance": 0},
                               {"name": "b", "profile": "v2:4096/32"}]}),
        ("welcome, every limit", "response", 2, "welcome",
         {**WELCOME, "limits": {**LIMITS, "deposits_per_minute": 60, "queries_per_minute": 1200,
                                "deposit_burst": 60, "query_burst": 300, "sessions": 256,
                                "sessions_per_address": 16, "session_output_bytes": 2**20,
                                "messages": 100000, "bytes": 2**40,
                                "sender_share_ppm": 300000},
          "hosts": [{"name": "a", "profile": "v2:64/1", "messages": 3, "bytes": 2**33,
                     "evict": pb.OLDEST,
                     "here": ["geo:u281zd", "topic:café"]},
                    {"name": "b", "profile": "v2:64/1", "evict": pb.SOONEST_EXPIRING}]}),
        ("welcome, with epochs", "response", 2, "welcome",
         {**WELCOME, "hosts": [
             {"name": "a", "profile": "v2:64/1", "epoch": {}},
             {"name": "b", "profile": "v2:64/1",
              "epoch": {"number": 2**64 - 1, "key": TOKEN, "starts_ms": NOW, "ends_ms": NOW + 1,
                        "kept_ms": NOW + 2}, "messages": 3}]}),
        ("welcome, which deposits are taken", "response", 2, "welcome",
         {**WELCOME, "hosts": [
             {"name": "a", "profile": "v2:64/1"},
             {"name": "b", "profile": "v2:64/1", "accept": pb.REVIEW},
             {"name": "c", "profile": "v2:64/1", "accept": pb.CLOSED,
              "accept_until_ms": NOW}]}),
        ("epoch_changed, least", "response", 0, "epoch_changed", {"host": "a", "epoch": {}}),
        ("epoch_changed", "response", 0, "epoch_changed",
         {"host": "a", "epoch": {"number": NOW, "key": TOKEN, "starts_ms": NOW,
                                 "ends_ms": NOW + 3600000, "kept_ms": NOW + 7200000}}),
        ("welcome, watches", "response", 2, "welcome",
         {**WELCOME, "limits": {**LIMITS, "watches_per_session": 16, "watches": 10000},
          "resume_token": bytes(range(16)),
          "dropped": {"code": pb.QUOTA, "message": "it read nothing"}}),
        ("watching", "response", 25, "watching", {"watch_id": 7, "seq": 2**40}),
        ("unwatched", "response", 26, "unwatched", {}),
        ("match, least", "response", 0, "match", {"result": {"id": ID}}),
        ("match, every field", "response", 0, "match",
         {"watch_id": 7, "seq": 2**63, "result": full_result}),
        ("deposited, least", "response", 3, "deposited", {"durability": pb.ON_STORAGE}),
        ("deposited, duplicate", "response", 3, "deposited",
         {"expires_ms": NOW, "duplicate": True, "durability": pb.RELAXED, "deposited_ms": NOW - 1}),
        ("deposited, held", "response", 3, "deposited",
         {"durability": pb.ON_STORAGE, "held": True}),
        ("results, none", "response", 4, "results", {"exact": True, "comparisons": 2**64 - 1}),
        ("results, three", "response", 4, "results",
         {"results": [{"id": bytes(16)}, full_result, {"id": ID, "payload": b""}],
          "comparisons": 100000, "exact": True, "capped": True}),
        ("got, least", "response", 5, "got", {"id": ID}),
        ("got, every field", "response", 5, "got",
         {"id": ID, "epoch": 2, "deposited_ms": -(2**63), "expires_ms": 2**63 - 1,
          "media_type": "text/plain; charset=utf-8", "payload": text, "answers": ID[::-1],
          "answer_count": 2}),
        ("withdrawn", "response", 6, "withdrawn", {}),
        ("pong", "response", 7, "pong", {"now_ms": NOW, "clock_trusted": True}),
        ("exported, the last page", "response", 8, "exported", {}),
        ("exported, two", "response", 8, "exported",
         {"messages": [{"id": ID, "filter": b}, {**full_exported, "answers": ID[::-1]}],
          "next": bytes(range(24))}),
        ("summarized, of nothing", "response", 9, "summarized", {"union_filter": bytes(64)}),
        ("summarized, every field", "response", 10, "summarized",
         {"union_filter": a, "cardinality_min": 3, "cardinality_max": 512, "count": 2**64 - 1,
          "seq": 7, "groups": [{"union_filter": b}, {"union_filter": a, "least": [3, 0], "most": [320, 192],
                                                     "count": 9, "newest_ms": NOW}]}),
        ("report_taken", "response", 11, "report_taken", {}),
        ("stats_taken, none", "response", 12, "stats_taken", {}),
        ("stats_taken", "response", 12, "stats_taken",
         {"figures": [{"name": "messages", "value": 100000}, {"name": "host/a/fill_ppm"},
                      {"name": "least", "value": -(2**63)}]}),
        ("removed", "response", 13, "removed", {}),
        ("removed, later", "response", 13, "removed", {"destroyed_ms": NOW}),
        ("restored", "response", 14, "restored", {}),
        ("restored, banned", "response", 14, "restored", {"banned_hash": TOKEN}),
        ("hidden", "response", 25, "hidden", {}),
        ("decision_list, none", "response", 26, "decision_list", {}),
        ("decision_list, two", "response", 26, "decision_list",
         {"decisions": [
             {"act": "accept-review"},
             {"number": 2**64 - 1, "time_ms": NOW, "act": "hide", "id": ID, "kind": 2,
              "reports": 3, "reason": "käse", "uid": 2**32 - 1, "web": True}],
          "more": True}),
        ("similar_list, none", "response", 46, "similar_list", {}),
        ("similar_list, two", "response", 46, "similar_list",
         {"groups": [
             {"oldest": ID, "newest": ID},
             {"oldest": bytes(16), "oldest_ms": NOW, "newest": ID, "newest_ms": NOW + 1,
              "count": 2**53 + 1, "epoch": 3}],
          "total": 5, "messages": 100000}),
        ("waited", "response", 27, "waited", {"id": ID}),
        ("waited, every field", "response", 27, "waited",
         {"id": ID, "kind": 3, "pending": True, "count": 2000}),
        ("reported_list, none", "response", 15, "reported_list", {}),
        ("reported_list, two", "response", 15, "reported_list",
         {"messages": [
             {"id": ID},
             {"id": bytes(16), "reports": 7, "media_type": "text/plain", "payload": text,
              "reasons": [{"kind": 3, "text": "an insult"}, {"kind": 1}, {"kind": 5, "text": "käse"}], "hidden": True, "pending": True,
              "deposited_ms": NOW, "expires_ms": NOW + 1, "payload_omitted": True,
              "destroyed_ms": NOW, "answers": ID}],
          "total": 3, "next": bytes(9), "previous": b"n" * 32}),
        ("banned", "response", 16, "banned", {}),
        ("unbanned", "response", 17, "unbanned", {}),
        ("ban_list, none", "response", 18, "ban_list", {}),
        ("ban_list, two", "response", 18, "ban_list",
         {"bans": [{"payload_hash": TOKEN, "since_ms": NOW}, {"filter": a, "max_distance": 1}],
          "more": True}),
        ("accepting", "response", 19, "accepting", {"mode": "open"}),
        ("accepting, every field", "response", 19, "accepting",
         {"mode": "closed", "source": "schedule", "until_ms": NOW}),
        ("checked, all is well", "response", 20, "checked", {"messages": 5}),
        ("checked", "response", 20, "checked", {"problems": ["one", "two"]}),
        ("backed_up", "response", 21, "backed_up", {"bytes": 2**40}),
        ("compacted", "response", 22, "compacted", {"bytes_before": 8192, "bytes_after": 4096}),
        ("reloaded", "response", 23, "reloaded", {}),
        ("log_level_set", "response", 24, "log_level_set", {"level": "info"}),
        ("here labels, none", "response", 16, "here_labels", {}),
        ("here labels", "response", 17, "here_labels",
         {"labels": ["geo:u281zd", "wifi:a4:2b:8c:01:02:03"]}),
        ("here labels of a place with a name", "response", 17, "here_labels",
         {"labels": ["place:main"], "name": "Bühne 1", "places": ["Bar", "Bühne 1"]}),
        ("here changed", "response", 0, "here_changed",
         {"host": "default", "labels": ["geo:u281zd"]}),
        ("noticed, none", "response", 28, "noticed", {}),
        ("noticed, two", "response", 28, "noticed",
         {"notices": [{"number": 1, "text": "Water is free."},
                      {"number": 5, "text": "Das Tor schließt.", "lang": "de-CH", "since_ms": NOW,
                       "until_ms": NOW + 1, "place": "Bühne 1"}]}),
        ("notices changed, none", "response", 0, "notices_changed", {"host": "default"}),
        ("notices changed", "response", 0, "notices_changed",
         {"host": "default", "notices": [{"number": 2, "text": "Tea, too.", "since_ms": NOW}]}),
        ("results, a notice", "response", 29, "results",
         {"exact": True, "notices": [{"number": 3, "text": "Hello", "lang": "en"}]}),
        ("results of a hood", "response", 30, "results",
         {"results": [{**full_result, "host": "library"}, {"id": ID, "host": "b-1"}],
          "exact": True, "complete": True, "peers": 63, "peers_asked": 62,
          "peers_silent": 1, "peers_other": 1, "as_of_ms": NOW}),
        ("results of a hood, not complete", "response", 30, "results",
         {"exact": True, "peers": 299, "peers_asked": 5, "as_of_ms": NOW, "bridge_away": True,
          "peers_skipped": 43}),
        ("results to a bridge", "response", 31, "results",
         {"results": [{**full_result, "filter": a}], "exact": True, "seq": 2**53 + 1}),
        ("ask, least", "response", 0, "ask",
         {"ask_id": 1, "query": {"k": 1, "parts": [{"filter": b}]}}),
        ("ask, every field", "response", 0, "ask",
         {"ask_id": 2**64 - 1, "query": full_query, "peers_max": 24}),
        ("serving", "response", 32, "serving", {}),
        ("answer_taken", "response", 33, "answer_taken", {}),
        ("welcome, a hood", "response", 2, "welcome",
         {**WELCOME, "hosts": [{"name": "b-1", "profile": "v2:512/4", "hood": "campus"}]}),
        ("welcome, a copy", "response", 2, "welcome",
         {**WELCOME, "hosts": [{"name": "b-1", "profile": "v2:512/4", "role": pb.REPLICA},
                               {"name": "b-2", "profile": "v2:512/4", "role": pb.RESTORING}]}),
        ("deposited, replicated", "response", 3, "deposited", {"durability": pb.REPLICATED}),
        ("deposited, without here labels", "response", 3, "deposited",
         {"durability": pb.ON_STORAGE, "without_here": True}),
        ("changed, nothing", "response", 31, "changed", {}),
        ("changed", "response", 32, "changed",
         {"changes": [full_change, gone, rule, {"seq": 10, "gone": {"id": ID, "why": 1}},
                      {"seq": 11, "rule": {"kind": 1}}],
          "next": 2**64 - 1, "more": True, "waiting": 2, "waiting_since_ms": NOW}),
        ("applied, nothing", "response", 33, "applied", {}),
        ("applied", "response", 34, "applied", {"changed": 256, "conflicts": 2**32 - 1, "no_room": 3,
                                               "not_kept": 4}),
        ("accept changed, least", "response", 0, "accept_changed", {"host": "default"}),
        ("accept changed", "response", 0, "accept_changed",
         {"host": "default", "accept": pb.CLOSED, "accept_until_ms": NOW}),
        ("error, removed", "response", 27, "error", {"code": pb.REMOVED, "field": "id"}),
        ("an error about the connection", "response", 0, "error", {"code": pb.MALFORMED}),
    ]  # fmt: skip
    for name, side, n, kind, fields in rows:
        yield name, side, n, kind, fields, True


def other_encodings():
    """(name, side, bytes, message it means). Frames that other encoders may make of a message."""
    a = filter_of(DEPOSIT_LABELS)
    hello = enveloped("request", 1, "hello", {"versions": [1, 300]})
    yield "versions packed", "request", data(2, data(1, varint(1) + varint(300))) + number(
        1, 1
    ), hello
    yield "body before id", "request", data(2, number(1, 1) + number(1, 300)) + number(1, 1), hello
    yield "long varints", "request", b"\x08\x81\x80\x00\x12\x05\x08\x01\x08\xac\x02", hello
    yield "unknown fields", "request", (
        number(1, 1)
        + data(2, number(1, 1) + number(1, 300) + data(900, b"later"))
        + number(5000, 1)
        + varint(901 << 3 | 1) + bytes(8)
        + varint(902 << 3 | 5) + bytes(4)
    ), hello  # fmt: skip
    spelled = {
        "id": ID, "epoch": 0, "filter": a, "media_type": "text/plain", "reach": 1000000,
    }  # fmt: skip
    yield "defaults spelled out", "request", enveloped(
        "request", 2, "deposit", spelled
    ).SerializeToString(), enveloped("request", 2, "deposit", {"id": ID, "filter": a})
    yield "deposit, empty payload", "request", enveloped(
        "request", 302, "deposit", {"id": ID, "filter": a, "payload": b""}
    ).SerializeToString(), enveloped("request", 302, "deposit", {"id": ID, "filter": a})
    spelled = {
        "k": 3, "parts": [{"epoch": 0, "filter": a}], "max_distance": 1000000,
        "metric": pb.PHI, "order": pb.SIMILARITY, "with_payload": False,
        "scope": pb.HERE,
    }  # fmt: skip
    yield "a query with its defaults", "request", enveloped(
        "request", 2, "query", spelled
    ).SerializeToString(), enveloped("request", 2, "query", {"k": 3, "parts": [{"filter": a}]})
    yield "a pong without an id", "response", data(12, b""), enveloped("response", 0, "pong", {})
    yield "an unknown request", "request", number(1, 9) + data(77, b"\x01"), enveloped(
        "request", 9, None, {}
    )
    yield "no body", "request", number(1, 9), enveloped("request", 9, None, {})


def bad_frames():
    """(name, side, whole frame, outcome, id, field)."""
    a = filter_of(DEPOSIT_LABELS)
    one = number(1, 5)

    def request(kind, fields):
        return framed(enveloped("request", 5, kind, fields).SerializeToString())

    yield "length zero", "request", bytes(4), "empty", 0, ""
    yield "length over the default limit", "request", b"\0\x01\0\x01", "too_large", 0, ""
    yield "another protocol", "request", b"GET / HTTP/1.1\r\n", "too_large", 0, ""
    yield "cut off", "request", framed(one)[:-1], "more", 0, ""
    malformed = [
        ("no id", data(12, b""), 0, "id"),
        ("id 0", number(1, 0) + data(12, b""), 0, "id"),
        ("id twice", one + one, 5, "id"),
        ("two bodies", one + data(2, b"") + data(12, b""), 5, "ping"),
        ("the same body twice", one + data(2, b"") + data(2, b""), 5, "hello"),
        ("a field beyond the message", one + b"\x12\x05\x08\x01", 5, "hello"),
        ("a varint of 11 bytes", b"\x08" + b"\x80" * 10 + b"\x00", 0, "id"),
        ("a varint over 64 bits", b"\x08" + b"\xff" * 9 + b"\x02", 0, "id"),
        ("field number 0", one + b"\x00\x01", 5, ""),
        ("a group", one + varint(100 << 3 | 3) + varint(100 << 3 | 4), 5, ""),
        ("k as bytes", one + data(4, data(2, b"\x01")), 5, "k"),
        ("a single field twice", one + data(4, number(2, 1) + number(2, 2)), 5, "k"),
    ]  # fmt: skip
    for name, content, n, field in malformed:
        yield name, "request", framed(content), "malformed", n, field
    good = {"id": ID, "filter": a}
    part = {"filter": a}
    invalid = [
        ("hello without versions", request("hello", {"agent": "x"}), "versions"),
        ("17 versions", request("hello", {"versions": list(range(1, 18))}), "versions"),
        ("deposit without an id", request("deposit", {"filter": a}), "id"),
        ("an id of 15 bytes", request("deposit", {**good, "id": bytes(15)}), "id"),
        ("deposit without a filter", request("deposit", {"id": ID}), "filter"),
        ("an empty filter", request("deposit", {**good, "filter": b""}), "filter"),
        ("a filter of 513 bytes", request("deposit", {**good, "filter": bytes(513)}), "filter"),
        ("ttl 0", request("deposit", {**good, "ttl_s": 0}), "ttl_s"),
        ("reach above one", request("deposit", {**good, "reach": 1000001}), "reach"),
        ("a hash of 16 bytes", request("deposit", {**good, "withdraw_hash": ID}), "withdraw_hash"),
        ("host in capitals", request("deposit", {**good, "host": "Cafe"}), "host"),
        ("media type without a slash", request("deposit", {**good, "media_type": "text"}),
         "media_type"),
        ("media type with nothing before the first slash",
         request("deposit", {**good, "media_type": "//a"}), "media_type"),
        ("media type with nothing behind the slash",
         request("deposit", {**good, "media_type": "text/"}), "media_type"),
        ("text that is not UTF-8", framed(one + data(3, data(5, b"text/\xff"))), "media_type"),
        ("text with a NUL", framed(one + data(3, data(5, b"text/\0"))), "media_type"),
        ("query without k", request("query", {"parts": [part]}), "k"),
        ("k = 0", request("query", {"k": 0, "parts": [part]}), "k"),
        ("k over 32 bits", framed(one + data(4, number(2, 2**32 + 1))), "k"),
        ("answers to an id of 15 bytes", request("query", {"k": 1, "answers": bytes(15)}), "answers"),
        ("an answer to an id of 17 bytes",
         request("deposit", {**good, "answers": bytes(17)}), "answers"),
        ("a part without a filter", request("query", {"k": 1, "parts": [{"epoch": 1}]}),
         "parts.filter"),
        ("65 parts", request("query", {"k": 1, "parts": [part] * 65}), "parts"),
        ("max distance above one", request("query", {"k": 1, "parts": [part],
                                                     "max_distance": 1000001}), "max_distance"),
        ("metric 9", framed(one + data(4, number(2, 1) + data(3, data(2, a)) + number(7, 9))),
         "metric"),
        ("scope 3", framed(one + data(4, number(2, 1) + data(3, data(2, a)) + number(11, 3))),
         "scope"),
        ("order 0", framed(one + data(4, number(2, 1) + data(3, data(2, a)) + number(8, 0))),
         "order"),
        ("a slice without hashes", request("query", {"k": 1, "parts": [part],
                                                     "exclude": [{"bits": b"\1"}]}),
         "exclude.hashes"),
        ("get without an id", request("get", {}), "id"),
        ("withdraw without a token", request("withdraw", {"id": ID}), "token"),
        ("a token of 16 bytes", request("withdraw", {"id": ID, "token": ID}), "token"),
        ("a wait of more than a minute", request("changes", {"wait_ms": 60001}), "wait_ms"),
        ("apply, without as", request("apply", {}), "as"),
        ("apply, as 4", framed(one + data(51, number(3, 4))), "as"),
        ("apply, 257 changes",
         request("apply", {"changes": [{"seq": 1}] * 257, "as": pb.AS_REPLICA}), "changes"),
        ("apply, state 5",
         request("apply", {"changes": [{"message": {**good, "state": 5}}], "as": pb.AS_REPLICA}),
         "message.state"),
        ("apply, gone for no reason",
         request("apply", {"changes": [{"gone": {"id": ID}}], "as": pb.AS_REPLICA}), "gone.why"),
        ("apply, a rule of kind 5",
         request("apply", {"changes": [{"rule": {"kind": 5}}], "as": pb.AS_REPLICA}), "rule.kind"),
        ("apply, a rule of 602 bytes",
         request("apply", {"changes": [{"rule": {"kind": 1, "value": bytes(602)}}],
                           "as": pb.AS_REPLICA}), "rule.value"),
        ("on behalf of 3 bytes", request("get", {"id": ID, ASKER: {"on_behalf": bytes(3)}}),
         "on_behalf"),
        ("on behalf of nothing", request("get", {"id": ID, ASKER: {"on_behalf": b""}}),
         "on_behalf"),
        ("on behalf, at an address of 4 bytes",
         request("get", {"id": ID, ASKER: {"on_behalf": IPV6, "on_behalf_local": bytes(4)}}),
         "on_behalf_local"),
        ("257 unknown fields", framed(one + b"".join(number(100, 0) for _ in range(257))), ""),
    ]  # fmt: skip
    for name, frame, field in invalid:
        yield name, "request", frame, "invalid", 5, field
    yield "error with code 0", "response", framed(one + data(15, number(1, 0))), "invalid", 5, "code"
    yield "error without a code", "response", framed(one + data(15, b"")), "invalid", 5, "code"
    yield "deposited without durability", "response", framed(one + data(3, b"")), "invalid", 5, (
        "durability"
    )
    yield "a result without an id", "response", framed(one + data(4, data(1, b""))), "invalid", 5, (
        "results.id"
    )
    yield "here_changed without a host", "response", framed(data(18, b"")), "invalid", 0, "host"


# What a field means when it is absent, where that is not 0, false or empty. None: its absence is no
# value, so that even 0 or nothing says something.
ABSENT = {
    "Deposit.media_type": "text/plain", "Deposit.reach": 1000000, "Query.max_distance": 1000000,
    "Query.since_ms": None, "Query.until_ms": None, "Query.metric": pb.PHI,
    "Query.order": pb.SIMILARITY, "Query.scope": pb.HERE, "Query.wait_ms": 1000,
    "Query.max_staleness_ms": None, "Watch.after_seq": None, "HostInfo.suggested_max_distance": 1000000,
    "HostInfo.role": pb.OWNER, "HostInfo.evict": pb.REJECT, "HostInfo.accept": pb.OPEN, "Result.media_type": None,
    "Result.payload": None, "ExportedMessage.reach": 1000000,
    "Response.id": None,  # always written
}  # fmt: skip


def spelled_out(message):
    """The fields of a message, and of those within, that hold what their absence means."""
    for field, value in message.ListFields():
        name = f"{message.DESCRIPTOR.name}.{field.name}"
        if field.message_type is not None:
            parts = value if field.label == field.LABEL_REPEATED else [value]
            for part in parts:
                yield from spelled_out(part)
        elif field.label != field.LABEL_REPEATED and ABSENT.get(name, type(value)()) == value:
            yield name


def make():
    good, bad = [], []
    for name, side, n, kind, fields, canonical in good_messages():
        if isinstance(fields, dict):
            message = enveloped(side, n, kind, fields)
        else:
            message = pb.Request() if side == "request" else pb.Response()
            message.id = n
            getattr(message, kind).CopyFrom(fields)
        good.append(
            {
                "name": name,
                "side": side,
                "frame": framed(message.SerializeToString()).hex(),
                "canonical": canonical,
                "message": to_plain(message),
            }
        )
    for name, side, content, message in other_encodings():
        good.append(
            {
                "name": name,
                "side": side,
                "frame": framed(content).hex(),
                "canonical": False,
                "message": to_plain(message),
            }
        )
    for name, side, frame, outcome, n, field in bad_frames():
        bad.append(
            {
                "name": name,
                "side": side,
                "frame": frame.hex(),
                "outcome": outcome,
                "id": n,
                "field": field,
            }
        )
    return {"version": 1, "good": good, "bad": bad}


def text_of(vectors):
    return json.dumps(vectors, indent=1, ensure_ascii=False) + "\n"


def write():
    FRAMES.write_text(text_of(make()), encoding="utf-8")
    reference = REFERENCE.read_text(encoding="utf-8")
    before, _, rest = reference.partition(BEGIN)
    _, _, after = rest.partition(END)
    REFERENCE.write_text(before + example_text() + after, encoding="utf-8")


def fields_of(message):
    """The fields that a message and the messages in it have, as (message, field)."""
    for field, value in message.ListFields():
        yield message.DESCRIPTOR.name, field.name
        if field.message_type is not None:
            for inner in value if field.label == field.LABEL_REPEATED else [value]:
                yield from fields_of(inner)


def without_frame(rows):
    """Fields of the schema that no frame has."""
    found = set()
    for row in rows:
        side = pb.Request if row["side"] == "request" else pb.Response
        found.update(fields_of(side.FromString(bytes.fromhex(row["frame"])[4:])))
    for message in pb.DESCRIPTOR.message_types_by_name.values():
        for field in message.fields:
            if (message.name, field.name) not in found:
                yield f"{message.name}.{field.name}"


def check():
    """What differs, one sentence each."""
    if not FRAMES.exists() or FRAMES.read_text(encoding="utf-8") != text_of(make()):
        yield f"{FRAMES.name} is not what make_frames.py makes: run it"
    reference = REFERENCE.read_text(encoding="utf-8") if REFERENCE.exists() else ""
    if example_text() not in reference:
        yield f"{REFERENCE.name}'s exchange is not what make_frames.py makes: run it"
    for row in make()["good"]:
        side = pb.Request if row["side"] == "request" else pb.Response
        fields = list(spelled_out(side.FromString(bytes.fromhex(row["frame"])[4:])))
        if row["canonical"] and fields:
            yield f"{row['name']} is canonical and has what absence means: {', '.join(fields)}"
    for field in ("Error.code", "Deposited.durability"):
        message, _, name = field.partition(".")
        absent = getattr(pb, message)()
        if getattr(absent, name) != 0 or absent.HasField(name):
            yield f"an absent {field} reads as {getattr(absent, name)}, which means something"
    for name in without_frame(make()["good"]):
        yield f"no good frame has {name}: add it to one"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--check", action="store_true")
    group.add_argument("--example", action="store_true")
    arguments = parser.parse_args()
    if arguments.example:
        print(example_text())
        return 0
    if arguments.check:
        wrong = list(check())
        for sentence in wrong:
            print(sentence, file=sys.stderr)
        return 1 if wrong else 0
    write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
