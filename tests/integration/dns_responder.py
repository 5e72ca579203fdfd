# SPDX-License-Identifier: Apache-2.0
"""A name server that answers as the test says, on 127.0.0.1:53.

usage: dns_responder.py RECORDS LOG     RECORDS: JSON, [[name, type, hex of the data], ...]; "silent": no answer;
                                        data null: no answer to this question

The name of each question is written to LOG, a line each; the line "ready" is written first.
"""
import json
import socket
import struct
import sys

records = json.loads(sys.argv[1])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock, open(sys.argv[2], "a", encoding="ascii") as log:
    sock.bind(("127.0.0.1", 53))
    print("ready", file=log, flush=True)
    while True:
        question, peer = sock.recvfrom(512)
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode("latin-1"))
            at += 1 + question[at]
        (kind,) = struct.unpack_from("!H", question, at + 1)
        name = ".".join(labels)
        print(name, kind, file=log, flush=True)
        if records == "silent":
            continue
        if [name, kind, None] in records:
            continue
        answers = [bytes.fromhex(data) for owner, of, data in records if (owner, of) == (name, kind)]
        head = struct.pack("!2sHHHHH", question[:2], 0x8180, 1, len(answers), 0, 0)
        body = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 60, len(data)) + data for data in answers)
        sock.sendto(head + question[12:at + 5] + body, peer)
