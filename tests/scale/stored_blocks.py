# SPDX-License-Identifier: Apache-2.0
"""What each server of a hub has stored, from its block files: servers that agree have the same message under each
number. nats-server itself says "current" of copies that differ."""

import struct

import hub_cluster

HEAD = struct.Struct("<IQqH")  # bytes of the record, number and marks, time, bytes of the subject
ERASED, NONE = 1 << 63, 1 << 62


def stored(hub, node, stream):
    """{number: subject} of one server; None for a number that was erased there."""
    found = {}
    folders = [path for path in hub.files(node, "*.blk") if f"/streams/{stream}/" in str(path)]
    for path in sorted(folders, key=lambda path: int(path.stem)):
        data, at = hub_cluster.read_bytes(path), 0
        while at + HEAD.size <= len(data):
            length, number, _, subject_bytes = HEAD.unpack_from(data, at)
            length &= 0x7FFFFFFF
            if length < HEAD.size or at + length > len(data):
                break
            begin = at + HEAD.size
            if number & ERASED:
                found[number & ~(ERASED | NONE)] = None
            elif not number & NONE:
                found[number] = data[begin:begin + subject_bytes].decode("latin-1")
            at += length
    return found


SOUND = (2, 11, 16)  # the first nats-server whose servers should agree: docs/hub.md


def differences(hub, stream, keeps_all=False):
    """Lines: a number under which servers have different messages; and with `keeps_all`, for a stream from which
    nothing is removed, one that a server has not. Otherwise that is no difference, because each server rewrites its
    files when it likes."""
    all_ = {node: stored(hub, node, stream) for node in hub.nodes}
    lines = []
    for number in sorted(set().union(*all_.values())):
        said = {node: found.get(number, "nothing") for node, found in all_.items()}
        subjects = set(said.values()) - (set() if keeps_all else {"nothing"})
        if None not in subjects and len(subjects) > 1:
            lines.append(f"{stream} {number}: {said}")
    return lines
