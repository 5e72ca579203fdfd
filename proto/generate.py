#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C from the schema: the plain structs and enums, the tables of the codec, and sizes.

usage: generate.py HEARSAY_PROTO BRIDGE_PROTO FOLDER

Writes messages.h (of hearsay.proto), letters.h (of bridge.proto), tables.c, sizes.h and sizes.c to FOLDER. The build
runs it; nobody edits what it makes. It needs only Python, so that it runs wherever the tree is built. Limits that are
sizes of arrays are read from limits.h beside this script.

messages.h is installed with the headers of libhearsay: a program that uses the library, the library and the daemon
have the same structs. Their names begin with hearsay_. A name that a struct of client/hearsay/ has is not free
(TRANSLATED); the struct of the schema then begins with msg_, as do those of letters.h.

The head of hearsay.proto says what the comments of the schema mean that this script reads. A line that
it does not understand is an error, so that no limit is lost by a slip of the pen.
"""
import pathlib
import re
import sys
import textwrap

# How a field of a type of the schema is kept: its type in the tables, in protobuf-c's structs and in ours.
SCALARS = {
    "uint32": ("U32", "uint32_t", "uint32_t"),
    "uint64": ("U64", "uint64_t", "uint64_t"),
    "int64": ("I64", "int64_t", "int64_t"),
    "bool": ("BOOL", "protobuf_c_boolean", "bool"),
    "string": ("TEXT", "char *", "struct hearsay_text"),
    "bytes": ("BYTES", "ProtobufCBinaryData", "struct hearsay_bytes"),
}
# Of these, client/hearsay/ has structs of its own. client/call/ makes one from the other.
TRANSLATED = ("Error", "Watch", "Welcome")
CPP_WORDS = ("export",)  # a program in C++ may include messages.h
ENVELOPES = ("Request", "Response", "Letter")
SIZED = ("Results", "Match")  # their exact sizes are asked for, and so those of the messages in them
FORMS = {"a host name": "host", "a media type": "media_type", "a line": "line", "a language tag": "language"}
MESSAGES_TOP = """\
/*
 * messages: requests and responses of the protocol, and what they hold, as structs. Part of
 * hearsay.h. Made by proto/generate.py from hearsay.proto.
 *
 * An absent number has the value that the comment of its field gives for it, else 0. Whether another
 * field is present is shown by a has_ flag, or by a pointer that is not NULL. A repeated field has
 * its number of entries beside it: `changes` has `change_count`. _ms is Unix milliseconds, _s
 * seconds, _ppm millionths. `Names` in grave accents are those of the protocol: in the structs,
 * `max_distance` may be max_distance_ppm.
 *
 * An enum of a response may have a value that is not in this header, from a later server: a switch
 * needs a default, and an array a check. docs/protocol.md says what such a value means.
 */
#ifndef HEARSAY_MESSAGES_H
#define HEARSAY_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A field of bytes. `data` is NULL if the field is absent. If the field is present, `data` is not
 * NULL, also where `count` is 0.
 */
struct hearsay_bytes {
    const uint8_t *data;
    size_t count;
};

/*
 * A field with a text in UTF-8. `text` is NULL if the field is absent. A received text ends with a
 * NUL, which `length` does not count, and has no other NUL. A text to be sent needs no NUL at its
 * end.
 */
struct hearsay_text {
    const char *text;
    size_t length;
};"""
LETTERS_TOP = """\
/* Made by proto/generate.py from bridge.proto. */
#pragma once

#include "proto/msg.h\""""
VALUE = r"[A-Z][A-Z0-9_]*|\d+"
RANGE = re.compile(rf"(?:(cut to|up to|at least) )?({VALUE})(?: (to|or) ({VALUE}))?(?: (bytes|ppm))?|ppm")
LIST = re.compile(rf"up to ({VALUE}) entries(?: of (.*))?")


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def own_prefix(of):
    """How the name in C of a message or enum begins."""
    return "hearsay" if of.is_shown else "msg"


class Enum:
    def __init__(self, name, note):
        self.name = name
        self.is_shown = False
        self.own, self.begins = re.fullmatch(r"in C: (?:(\w+): )?(\w+)\.\.\.", note).groups() if note else (None, None)
        self.values = []  # (name, number, comment)

    def name_in_c(self):
        return self.own or f"{own_prefix(self)}_{snake(self.name)}"

    def enum(self):
        return f"enum {self.name_in_c()}"

    def last(self):
        return f"{self.name_in_c()}_last".upper()

    def c_name(self, value):
        return (self.begins or f"{self.name_in_c()}_".upper()) + value

    def numbers(self):
        return [number for _, number, _ in self.values if number != 0]


class Message:
    def __init__(self, name, note, comment):
        self.name = name
        self.is_shown = False
        self.snake = self.own = snake(name)
        self.comment = comment
        found = re.fullmatch(r"(in errors|own fields): (.*)", note or "in errors: " + self.snake)
        self.in_errors = found[2] if found[1] == "in errors" else self.snake
        self.own_fields = found[2] if found[1] == "own fields" else None
        self.fields = []
        self.bodies = []  # of an envelope: fields of its oneof

    def struct(self):
        return f"struct {own_prefix(self)}_{self.own}"

    def own_part(self):
        """The fields of an envelope itself but its id, as a message."""
        part = Message(self.name, None, "")
        part.own = self.own_fields
        part.is_shown = self.is_shown
        part.fields = [field for field in self.fields if field.name != "id"]
        return part


class Field:
    """A field, and what its comments say of it."""

    def __init__(self, repeated, kind, name, number, comment):
        self.repeated, self.type, self.name, self.number = repeated, kind, name, number
        self.comment = comment
        self.needed = comment.endswith("Needed.")
        absent = re.search(r"Absent: (?:([\d,]+)|`([^`]+)`)\.$", comment)
        self.absent = None
        if absent:
            self.absent = absent[1].replace(",", "") if absent[1] else absent[2]
        self.minimum = self.maximum = self.most = self.form = self.without = self.answer = None
        self.unit = ""
        self.cut = self.either = self.presence_kept = False

    def note(self, text):
        for item in text.split(", ") if text else []:
            if not self.note_item(item):
                raise ValueError(f"not understood: {item}")

    def note_item(self, item):
        if found := re.fullmatch(r"(absent|without|answer):? (\w+)", item):
            setattr(self, found[1], found[2])
        elif item == "presence kept":
            self.presence_kept = True
        elif item in FORMS:
            self.form = FORMS[item]
        elif found := LIST.fullmatch(item):
            self.most = found[1]
            return not found[2] or self.note_range(found[2])
        else:
            return self.note_range(item)
        return True

    def note_range(self, item):
        found = RANGE.fullmatch(item)
        if not found:
            return False
        word, first, last, self.unit = found[1], found[2], found[4], found[5] or item
        self.cut, self.either = word == "cut to", found[3] == "or"
        self.minimum = first if word in (None, "at least") else None
        self.maximum = None if word == "at least" else last or first
        return True

    def own(self):
        """The name of the member; a number of millionths says so, and no word of C++ is taken."""
        if self.name in CPP_WORDS:
            return self.name + "_"
        return self.name + "_ppm" if self.unit == "ppm" else self.name

    def count(self):
        one = re.sub(r"s$", "", re.sub(r"ies$", "y", self.name))
        return one + "_count"


class Schema:
    def __init__(self, paths):
        self.enums, self.messages, self.of_file = {}, {}, {}
        for path in paths:
            self.of_file[path] = []
            self.read(path)
        for message in self.messages.values():
            for field in message.fields:
                self.check(message, field)
            for body in message.bodies:
                self.check_body(message, body)
        for named in self.of_file[paths[0]]:
            named.is_shown = named.name not in TRANSLATED
        limits = (pathlib.Path(__file__).parent / "limits.h").read_text(encoding="utf-8")
        self.limits = dict(re.findall(r"^    (LIMIT_\w+) = (\d+),", limits, re.MULTILINE))

    def read(self, path):
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
        inside, comment = None, []
        for number, line in enumerate(lines, 1):
            if found := re.fullmatch(r" *// ?(.*)", line):
                comment.append(found[1])
                continue
            try:
                inside = self.read_line(path, inside, line, " ".join(comment).strip())
            except (ValueError, TypeError) as error:
                raise SystemExit(f"{path}:{number}: {line.strip()}: {error}") from error
            comment = []

    def read_line(self, path, inside, line, comment):
        if not line or re.fullmatch(r'syntax = .*;|package [\w.]+;|import ".*";|  oneof body \{|  \}', line):
            return inside
        if found := re.fullmatch(r"message (\w+) \{(\})?(?:  // (.*))?", line):
            inside = self.messages[found[1]] = Message(found[1], found[3], comment)
            self.of_file[path].append(inside)
            return None if found[2] else inside
        if found := re.fullmatch(r"enum (\w+) \{(?:  // (.*))?", line):
            inside = self.enums[found[1]] = Enum(found[1], found[2])
            self.of_file[path].append(inside)
            return inside
        if line == "}":
            return None
        if isinstance(inside, Enum):
            if re.fullmatch(r"  reserved \d+;", line):
                return inside
            found = re.fullmatch(r"  (\w+) = (\d+);", line)
            inside.values.append((found[1], int(found[2]), comment))
            return inside
        return self.read_field(inside, line, comment)

    def read_field(self, message, line, comment):
        if re.fullmatch(r"  reserved \d+;", line):
            return message
        found = re.fullmatch(r"  (optional|repeated) (\w+) (\w+) = (\d+);(?:  // (.*))?", line)
        if found:
            field = Field(found[1] == "repeated", found[2], found[3], int(found[4]), comment)
            message.fields.append(field)
        else:
            found = re.fullmatch(r"    (\w+)() (\w+) = (\d+);(?:  // (.*))?", line)
            field = Field(False, found[1], found[3], int(found[4]), comment)
            message.bodies.append(field)
        field.note(found[5])
        return message

    def check(self, message, field):
        """Refuses what the codec cannot do, or what the field's type has no meaning for."""
        wrong = None
        if field.repeated and not field.most:
            wrong = "how many entries may it have? say: up to NUMBER entries"
        elif field.type not in SCALARS and field.type not in self.enums and field.type not in self.messages:
            wrong = f"there is no type {field.type}"
        elif field.type in ("uint64", "int64", "bool") and (field.minimum or field.maximum):
            wrong = "the codec has no range for this type"
        elif (field.type in ("string", "bytes")) != (field.unit == "bytes") and (field.minimum or field.maximum):
            wrong = "a range of a text or of bytes has the unit bytes, another has none or ppm"
        elif field.without and field.without not in [inner.name for inner in self.messages[field.type].fields]:
            wrong = f"{field.type} has no field {field.without}"
        elif self.flag(field) and field is message.fields[0]:
            wrong = "the flag of an optional member may not be the first of its struct"
        if wrong:
            raise SystemExit(f"{message.name}.{field.name}: {wrong}")

    def check_body(self, envelope, body):
        answers = [answer.name for answer in self.messages["Response"].bodies]
        if body.type not in self.messages:
            raise SystemExit(f"{envelope.name}.{body.name}: there is no message {body.type}")
        if (envelope.name == "Request") != (body.answer is not None) or body.answer not in [None, *answers]:
            raise SystemExit(f"{envelope.name}.{body.name}: a request, and only a request, has an \"answer: NAME\", "
                             "the name of a body of Response")

    def flag(self, field):
        """The bool that says whether the field is present; "" where there is none."""
        inner = field.type in self.messages and not field.repeated and not field.needed
        return "has_" + field.name if inner or field.presence_kept else ""

    def sorted(self, path):
        """The messages of a file, each after those that it holds."""
        done = []

        def visit(message):
            if message in done or message not in self.of_file[path]:
                return
            for field in message.fields:
                if field.type in self.messages:
                    visit(self.messages[field.type])
            done.append(message)

        for message in self.of_file[path]:
            if isinstance(message, Message) and message.name not in ENVELOPES:
                visit(message)
        return done

    # --- the header ---------------------------------------------------------------------------

    def member(self, field):
        """The lines of the struct for a field."""
        if field.repeated and field.type == "uint32":
            return [f"uint32_t {field.name}[{self.limits[field.most]}];", f"uint32_t {field.count()};"]
        if field.repeated:
            entry = SCALARS["string"][2] if field.type == "string" else self.messages[field.type].struct()
            return [f"const {entry} *{field.name};", f"size_t {field.count()};"]
        lines = [f"bool {self.flag(field)};"] if self.flag(field) else []
        if field.cut:
            return lines + [f"char {field.name}[{self.limits[field.maximum]} + 1];"]
        if field.type in SCALARS:
            return lines + [f"{SCALARS[field.type][2]} {field.own()};"]
        if field.type in self.enums:
            return lines + [f"{self.enums[field.type].enum()} {field.name};"]
        return lines + [f"{self.messages[field.type].struct()} {field.name};"]

    def header(self, path, top):
        yield top
        for enum in self.of_file[path]:
            if isinstance(enum, Enum):
                yield f"\n{enum.enum()} {{"
                if enum.own:
                    yield f"    {enum.c_name('NONE')} = 0,"
                for value, number, comment in enum.values:
                    if number != 0:  # 0 is never sent
                        yield from c_comment(comment, "    ")
                        yield f"    {enum.c_name(value)} = {number},"
                yield f"    {enum.last()} = {max(enum.numbers())}\n}};"
        for message in self.sorted(path):
            if message.fields:
                yield from self.struct(message)
        for envelope in self.of_file[path]:
            if envelope.name in ENVELOPES:
                yield from self.envelope(envelope)

    def struct(self, message):
        yield ""
        yield from c_comment(message.comment, "")
        yield f"{message.struct()} {{"
        for field in message.fields:
            comment = field.comment
            if field.absent and re.fullmatch(r"U?INT\d+_M(IN|AX)", field.absent):  # what "no bound" is in C
                comment = f"{comment.removesuffix('.')} ({field.absent})."
            yield from c_comment(comment, "    ")
            yield from ("    " + line for line in self.member(field))
        yield "};"

    def envelope(self, envelope):
        if envelope.own_fields:
            yield from self.struct(envelope.own_part())
        kind = f"{own_prefix(envelope)}_{envelope.snake}_".upper()
        yield f"\n/* The number of a kind is the number of its field. */\nenum {own_prefix(envelope)}_{envelope.snake}_kind {{"
        yield f"    {kind}UNKNOWN = 0, /* there is no body, or one that is not in the schema */"
        for body in envelope.bodies:
            yield f"    {kind}{body.name.upper()} = {body.number},"
        yield f"}};\n\n{envelope.struct()} {{"
        for field in envelope.fields:
            if field.name == "id":
                yield from c_comment(field.comment, "    ")
                yield "    uint64_t id;"
        if envelope.name == "Request":
            yield ("    const char *name; /* of the body's field; \"\" if the body is absent or not in the schema. Static\n"
                   "                       * storage */")
        yield f"    enum {own_prefix(envelope)}_{envelope.snake}_kind kind;"
        if envelope.own_fields:
            yield f"    {envelope.own_part().struct()} {envelope.own_fields};"
        yield "    union {"
        for body in envelope.bodies:
            if self.messages[body.type].fields:
                yield f"        {self.messages[body.type].struct()} {body.own()};"
        yield "    };\n};"

    # --- the tables ---------------------------------------------------------------------------

    def row(self, message, field, needed=True):
        """A row of a table. needed False: as if the field had no rule."""
        wire, own = "Hearsay__V1__" + message.name, message.struct()
        items = [f'.name = "{field.name}"', f".number = {field.number}"]
        if field.repeated:
            items += self.repeated_items(wire, own, field)
        else:
            items += self.single_items(wire, own, field)
        if needed:
            items += self.rule_items(field)
        return "    {" + ", ".join(items) + "},"

    def repeated_items(self, wire, own, field):
        if field.type == "uint32":
            kind, theirs, ours, count = "MAP_NUMBERS", "uint32_t *", "uint32_t *", "uint32_t"
            more = [f".max = {field.most}"]
        elif field.type == "string":
            kind, theirs, ours, count, more = "MAP_TEXTS", "char **", "const struct hearsay_text *", "size_t", []
        else:
            inner = self.messages[field.type]
            kind, theirs, count = "MAP_LIST", f"Hearsay__V1__{inner.name} **", "size_t"
            ours, more = f"const {inner.struct()} *", [f".inner = &{inner.snake}_map"]
        return [f".type = {kind}", offset("wire", wire, field.name, theirs),
                offset("wire_has", wire, "n_" + field.name, "size_t"), offset("own", own, field.name, ours),
                offset("own_count", own, field.count(), count), *more]

    def single_items(self, wire, own, field):
        items = []
        if field.type in self.messages:
            inner = self.messages[field.type]
            table = f"{inner.snake}_without_{field.without}_map" if field.without else inner.snake + "_map"
            kind, theirs, ours = "MAP_INNER", f"Hearsay__V1__{inner.name} *", inner.struct()
            items = [f".inner = &{table}"]
        elif field.type in self.enums:
            kind, theirs, ours = "MAP_ENUM", "Hearsay__V1__" + field.type, self.enums[field.type].enum()
        elif field.cut:
            kind, theirs, ours = "MAP_CHARS", "char *", "char *"
        else:
            kind, theirs, ours = SCALARS[field.type]
            kind = "MAP_" + kind
        items = [f".type = {kind}", offset("wire", wire, field.name, theirs),
                 offset("own", own, field.own(), ours), *items]
        if field.type not in self.messages and field.type != "string":
            items.append(offset("wire_has", wire, "has_" + field.name, "protobuf_c_boolean"))
        if self.flag(field):
            items.append(offset("own_count", own, self.flag(field), "bool"))
        return items

    def rule_items(self, field):
        items = [".needed = true"] if field.needed else []
        minimum, maximum = field.minimum, field.maximum
        if field.cut:
            minimum, maximum = None, field.maximum + " + 1"  # the room, with the NUL
        if field.type in self.enums and not maximum:
            numbers = self.enums[field.type].numbers()
            minimum, maximum = min(numbers), max(numbers)
            gaps = set(range(minimum, maximum)) - set(numbers)
            if len(gaps) > 1:
                raise ValueError(f"{field.name}: the enum has more than one gap, the tables take one")
            items += [f".gap = {gap}" for gap in gaps]
        items += [f".min = {minimum}"] if minimum else []
        items += [f".max = {maximum}"] if maximum else []
        items += [".is_either = true"] if field.either else []
        if field.form:
            items.append(f".form = &codec_form_{field.form}")
        return items + self.absent_items(field)

    def absent_items(self, field):
        if field.absent in (None, "0"):
            return []
        if field.type == "string":
            return [f'.absent_text = &(const struct hearsay_text){{"{field.absent}", {len(field.absent)}}}']
        if field.type in self.enums:
            return [f".absent = {self.enums[field.type].c_name(field.absent)}"]
        return [] if field.presence_kept else [f".absent = (int64_t){field.absent}"]

    def table(self, message, without=None):
        name = message.own + (f"_without_{without}" if without else "")
        yield f"\nstatic const struct map_field {name}_fields[] = {{"
        for field in message.fields:
            yield self.row(message, field, field.name != without)
        yield (f'}};\nstatic const struct map {name}_map = {{\n    .name = "{message.in_errors}",\n'
               f"    .descriptor = &hearsay__v1__{message.snake}__descriptor,\n"
               f"    .own_bytes = sizeof({message.struct()}),\n    .fields = {name}_fields,\n"
               f"    .field_count = {len(message.fields)},\n}};")

    def bodies(self, envelope):
        yield f"\nstatic const struct map_body {envelope.snake}_bodies[] = {{"
        for body in envelope.bodies:
            inner = self.messages[body.type]
            what = f".map = &{inner.snake}_map, .own = offsetof({envelope.struct()}, {body.own()})"
            items = [f".kind = {body.number}"] + ([what] if inner.fields else [])
            items += [f".reply = HEARSAY_RESPONSE_{body.answer.upper()}"] if body.answer else []
            items += [".is_response = true"] if envelope.name == "Response" else []
            yield "    {" + ", ".join(items) + "},"
        yield (f"}};\nconst struct map_bodies codec_{envelope.snake}_bodies = "
               f"{{{envelope.snake}_bodies, {len(envelope.bodies)}}};")
        if envelope.own_fields:
            part = envelope.own_part()
            yield from self.table(part)
            yield (f"const struct map_body codec_{envelope.snake}_{part.own} = {{.map = &{part.own}_map, "
                   f".own = offsetof({envelope.struct()}, {part.own})}};")

    def tables(self):
        yield ('/* Made by proto/generate.py from hearsay.proto and bridge.proto. */\n#include "proto/bridge.pb-c.h"\n'
               '#include "proto/codec/inner.h"\n'
               '#include "proto/hearsay.pb-c.h"\n#include "proto/letter.h"')
        messages = [message for path in self.of_file for message in self.sorted(path)]
        without = {(field.type, field.without) for message in messages for field in message.fields
                   if field.without}
        for message in messages:
            if message.fields:
                yield from self.table(message)
            for name in sorted(name for of, name in without if of == message.name):
                yield from self.table(message, name)
        for envelope in ENVELOPES:
            yield from self.bodies(self.messages[envelope])
        rows = [(message, field) for message in messages for field in message.fields if field.repeated]
        yield "\nconst struct scan_count codec_counts[] = {"
        for message, field in rows:
            yield f'    {{&hearsay__v1__{message.snake}__descriptor, {field.number}, {field.most}}},'
        yield f"}};\nconst size_t codec_count_count = {len(rows)};"


    # --- sizes --------------------------------------------------------------------------------

    def sized(self, path):
        """The messages that have a function for their exact size, each after those that it holds."""
        wanted = {self.messages[name] for name in SIZED}
        messages = [message for message in self.sorted(path) if message.fields]
        for message in reversed(messages):
            if message in wanted:
                wanted |= {self.messages[field.type] for field in message.fields if field.type in self.messages}
        return [message for message in messages if message in wanted]

    def sizes_header(self, path):
        yield ('/* Made by proto/generate.py from hearsay.proto. */\n#pragma once\n\n'
               '#include <stddef.h>\n\n#include "proto/msg.h"\n')
        yield ("/*\n * The most bytes of a message within another one, with its tag and length, but without the messages\n"
               " * that it holds, lists of them and of texts, and its texts and bytes, whose tags and lengths count. Bytes\n"
               " * whose number is fixed count as well.\n */\nenum {")
        for message in self.sorted(path):
            if message.fields:
                name = f"CODEC_{message.snake.upper()}_BARE_BYTES_MAX"
                parts = [most for most in map(self.most_bytes, message.fields) if most]
                yield f"    {name} = {' + '.join(['4', *parts])},"
        yield "};\n\n/* The exact bytes of a message, without its tag and length. */"
        yield from (f"size_t codec_size_{message.snake}(const {message.struct()} *message);"
                    for message in self.sized(path))

    def most_bytes(self, field):
        """The most bytes of a field; a length takes at most 3, because a frame is below 2^21."""
        tag = tag_bytes(field)
        if field.repeated and field.type == "uint32":
            return f"{field.most} * {tag + 5}"
        if field.repeated or field.type in self.messages:
            return None
        if field.type in ("string", "bytes"):
            is_fixed = field.minimum is not None and field.minimum == field.maximum
            return f"{tag + 3} + {field.minimum}" if is_fixed else str(tag + 3)
        return str(tag + {"bool": 1, "uint64": 10, "int64": 10}.get(field.type, 5))

    def sizes(self, path):
        yield ('/* Made by proto/generate.py from hearsay.proto. */\n#include "proto/codec/size.h"\n'
               '#include "proto/sizes.h"')
        for message in self.sized(path):
            yield (f"\nsize_t codec_size_{message.snake}(const {message.struct()} *message)\n{{\n"
                   "    size_t size = 0;\n")
            for field in message.fields:
                yield from self.size(field)
            yield "    return size;\n}"

    def size(self, field):
        """The lines that add the size of a field to `size`."""
        tag, own = tag_bytes(field), "message->" + field.own()
        if field.repeated and field.type in self.messages:
            inner = self.messages[field.type].snake
            return [f"    for (size_t i = 0; i < message->{field.count()}; i++) {{",
                    f"        size += size_of_data({tag}, codec_size_{inner}(&{own}[i]));", "    }"]
        if field.repeated and field.type == "uint32":
            return [f"    for (size_t i = 0; i < message->{field.count()}; i++) {{",
                    f"        size += size_of_number({tag}, {own}[i]);", "    }"]
        if field.type in ("string", "bytes") and not (field.repeated or field.cut or field.absent):
            data, count = ("text", "length") if field.type == "string" else ("data", "count")
            return [f"    size += {own}.{data} != NULL ? size_of_data({tag}, {own}.{count}) : 0;"]
        if field.type in self.messages:
            more = f"size_of_data({tag}, codec_size_{self.messages[field.type].snake}(&{own}))"
        elif field.repeated or field.type in ("string", "bytes"):
            raise SystemExit(f"{field.name}: there is no size of such a field yet; see Schema.size")
        else:
            more = f"size_of_number({tag}, (uint64_t){own})"
        absent = field.absent or "0"
        if field.type in self.enums and field.absent:
            absent = self.enums[field.type].c_name(field.absent)
        if self.flag(field):
            more = f"message->{self.flag(field)} ? {more} : 0"
        elif field.type not in self.messages and not field.needed:
            more = f"(uint64_t){own} != (uint64_t){absent} ? {more} : 0"
        return [f"    size += {more};"]


def tag_bytes(field):
    return 1 if field.number < 16 else 2


def offset(member, struct, name, kind):
    """An item of a row that does not compile if the member of the struct has another type."""
    return f".{member} = MAP_OFFSET({struct}, {name}, {kind})"


def c_comment(text, indent):
    if not text:
        return []
    text = text.replace("*/", "* /")
    if len(indent + text) + 6 <= 100:
        return [f"{indent}/* {text} */"]
    lines = textwrap.wrap(text, 100 - len(indent) - 3, break_long_words=False, break_on_hyphens=False)
    return [f"{indent}/*", *(f"{indent} * {line}" for line in lines), f"{indent} */"]


def main():
    hearsay, bridge, folder = sys.argv[1:]
    schema = Schema([hearsay, bridge])
    made = {
        "messages.h": [*schema.header(hearsay, MESSAGES_TOP), "\n#endif"],
        "letters.h": schema.header(bridge, LETTERS_TOP),
        "tables.c": schema.tables(),
        "sizes.h": schema.sizes_header(hearsay),
        "sizes.c": schema.sizes(hearsay),
    }
    for name, lines in made.items():
        path, text = pathlib.Path(folder) / name, "\n".join(lines) + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # else nothing is compiled again
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
