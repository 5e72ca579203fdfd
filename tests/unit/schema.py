#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what proto/generate.py reads of the schema with what protoc reads of it.

The script also plants slips in comments of the schema: each must be refused, because a limit that is
not understood would be a limit that nobody checks. And it makes the C files twice, in processes whose
sets have different orders: they must have the same bytes.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROTO = ROOT / "proto"
PATHS = [PROTO / "hearsay.proto", PROTO / "bridge.proto"]
sys.path.insert(0, str(PROTO))
import generate  # noqa: E402

SLIPS = (
    ("// up to LIMIT_AGENT_BYTES bytes", "// upto LIMIT_AGENT_BYTES bytes"),
    ("// up to LIMIT_AGENT_BYTES bytes", "// up to LIMIT_AGENT_BYTES"),
    ("  // up to LIMIT_VERSIONS entries", ""),
    ("// 1 to LIMIT_HOST_BYTES bytes, a host name", "// 1 to LIMIT_HOST_BYTES bytes, a hostname"),
    ("optional uint64 epoch = 3;", "optional uint64 epoch = 3;  // up to 7"),
    ("optional uint32 k = 2;", "optional double k = 2;"),
    ("  // without k", "  // without kk"),
    ("  // answer: deposited", "  // answer: stored"),
    ("// in errors: a part", "// in error: a part"),
)


def read_by_protoc():
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "schema"
        subprocess.run(["protoc", f"--proto_path={PROTO}", f"--descriptor_set_out={out}",
                        *(path.name for path in PATHS)], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file
    messages, enums = {}, {}
    for file in files:
        for message in file.message_type:
            messages[message.name] = sorted(
                (field.name, field.number, field.label == field.LABEL_REPEATED,
                 field.type_name.rpartition(".")[2] or type_name(field), field.HasField("oneof_index"))
                for field in message.field)
        for enum in file.enum_type:
            enums[enum.name] = [(value.name, value.number) for value in enum.value]
    return messages, enums


def type_name(field):
    return descriptor_pb2.FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()


def read_by_us():
    schema = generate.Schema(PATHS)
    messages = {
        message.name: sorted((field.name, field.number, field.repeated, field.type, field in message.bodies)
                             for field in message.fields + message.bodies)
        for message in schema.messages.values()}
    enums = {enum.name: [(name, number) for name, number, _ in enum.values]
             for enum in schema.enums.values()}
    return messages, enums


def is_refused(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "hearsay.proto"
        path.write_text(text, encoding="utf-8")
        try:
            generate.Schema([path, PATHS[1]])
        except SystemExit:
            return True
    return False


def make(seed):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-B", PROTO / "generate.py", *PATHS, folder], check=True,
                       env=dict(os.environ, PYTHONHASHSEED=seed))
        return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}


def main():
    wrong = []
    for theirs, ours in zip(read_by_protoc(), read_by_us()):
        wrong += [f"{name}: protoc reads {theirs.get(name)}, generate.py {ours.get(name)}"
                  for name in sorted(theirs.keys() | ours.keys()) if theirs.get(name) != ours.get(name)]
    text = PATHS[0].read_text(encoding="utf-8")
    for right, slip in SLIPS:
        if right not in text:
            wrong.append(f"the schema has no \"{right}\" to plant a slip in")
        elif not is_refused(text.replace(right, slip, 1)):
            wrong.append(f"taken without a word: {slip or 'nothing in place of ' + right}")
    if make("1") != make("2"):
        wrong.append("generate.py makes other bytes the second time")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
