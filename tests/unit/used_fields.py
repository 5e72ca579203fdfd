#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether hearsayd and its clients use each field of the protocol, each key of their configurations, each column of the
store and each option of a command.

usage: used_fields.py --build DIRECTORY

The structs and the codec are made from the schema, so a field that nobody reads or sets is no error of the compiler: it
is silently 0. A key of a configuration is parsed and printed by the tables of keys, whether or not anything goes by it.
PLACES says which files must use the fields of which messages and structs, and NOT_USED which fields they need not use,
with the reason.

A name alone would not do, because many messages have a field `host`. So the compiler says who uses a field: the members
of the structs get other names in copies of the headers, and each use is then an error that names the struct and the
member. An error in `x->a.b` about `a` hides the one about `b`. So the fields that were found get their names back, and
the files are compiled again, until the compiler finds no more fields. A small file with each kind of use, and with a
field that has the name of another one, is checked before.
"""
import argparse
import concurrent.futures
import functools
import importlib.util
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DAEMON = "daemon/**/*.c"  # these two without the folders of TABLES
CLIENTS = "client/**/*.c"
HANDLER = "daemon/handler/query*.c"
COMMAND = "client/cli/cmd/query*.c"
ASKED = "daemon/handler/query_ask.c"  # write_query: the query of which a bridge asks other hosts
WATCH = "daemon/handler/watch.c"  # what it cannot meet it refuses
JSON = "client/cli/term/out.c"  # what --json prints
TABLES = {  # the folder with config.h and table.c -> the structs of its keys by macro, "" for the other macros
    "daemon/config": {"HOST_KEY": "config_host", "": "config"},
    "client/web/setup": {"": "web_config"},
    "client/bridge/setup": {"HOST_KEY": "bridge_host", "HOOD_KEY": "bridge_hood", "": "bridge_config"},
}
COLUMNS = "daemon/store/tables.c"
ROWS = ("daemon/store/persist.h", "daemon/store/row.h", "daemon/store/ops.h")  # with the structs of the columns
OPTION = re.compile(r'ARGS_\w+\("([^"]+)", (?:\'.\'|0), (?:ARGS_\w+, )?struct \w+, ([\w.]+)')
EVERY = "every message"
STORED = "every row of the store"
QUERY = ("Query", "Results")
PLACES = (
    (DAEMON, (EVERY, STORED, "config", "config_host")),
    (CLIENTS, (EVERY, "web_config", "bridge_config", "bridge_host", "bridge_hood")),
    (HANDLER, QUERY),
    (COMMAND, QUERY),
    (ASKED, QUERY[:1]),
    (WATCH, QUERY[:1]),
    (JSON, (*QUERY[1:], "Result", "HouseNotice")),
)
NOT_USED = {
    (DAEMON, "config.log_bytes"): "config_log_bytes goes by it",
    (CLIENTS, "web_config.allow"): "web_moderate_allows goes by it",
    (CLIENTS, "web_config.guests"): "the file is read while the configuration is",
    (CLIENTS, "web_config.rules"): "web_config_rules chooses among them",
    (DAEMON, "Answered.error"): "who asked is told only how many peers were silent",
    (CLIENTS, "Applied.changed"): "a bridge goes by what was left out; tests see by it that nothing was new",
    (CLIENTS, "Applied.conflicts"): "hearsayd counts them among its own figures",
    (CLIENTS, "DecisionId.time_ms"): "a bridge passes the id of a decision on and does not look into it",
    (CLIENTS, "Error.versions"): "the text of the error says them",
    (CLIENTS, "HereChanged.labels"): "a client asks for the labels anew, because the request also has names of places",
    (CLIENTS, "Limits.*"): "libhearsay gives them to programs as they are, and its own clients need only some",
    (CLIENTS, "Summary.epoch"): "no client of this tree asks about an epoch that has ended",
    (ASKED, "Query.answers"): "answers are at the host of the message",
    (ASKED, "Query.wait_ms"): "daemon/watch/asks.c sets what is left of it when the query is pushed",
    (WATCH, "Query.exclude"): "exclude_count says that there is none",
    (COMMAND, "Query.answers"): "hearsay get --answers asks with it",
    (COMMAND, "Query.exclude"): "hearsay_seen_exclude of libhearsay sets it",
    (COMMAND, "Query.floor"): "only a bridge asks with it",
    (COMMAND, "Query.parts"): "client/cli/input/asked.c sets them",
    (COMMAND, "Query.wait_ms"): "the default is right for people",
    (COMMAND, "Results.comparisons"): "query --batch has it as JSON",
    (COMMAND, "Results.exact"): "query --batch has it as JSON",
    (COMMAND, "Results.seq"): "it is for a bridge",
    (JSON, "Result.epoch"): "whoever asked has given the epochs",
    (JSON, "Result.filter"): "it is for a gateway or a bridge",
    (JSON, "Results.notices"): "each is a line of its own",
    (JSON, "Results.results"): "each is a line of its own, and an entry of --batch",
    (JSON, "Results.seq"): "it is for a bridge",
}
ERRORS = re.compile(r"'(?:const )?struct (?P<a>\w+)'[^'\n]* has no member named '(?P<b>\w+)'"
                    r"|no member named '(?P<c>\w+)' in '(?:const )?(?:struct )?(?P<d>\w+)'"
                    r"|designator '(?P<e>\w+)' does not refer to any field in type '(?:const )?struct (?P<f>\w+)'")
PLANTED = """\
#include "daemon/config/config.h"
size_t planted(struct hearsay_query *query, const struct hearsay_changed *changed);
size_t planted(struct hearsay_query *query, const struct hearsay_changed *changed)
{
    static struct config config;
    config.hosts[0].hide_after = config.idle_timeout_s;
    const struct hearsay_get get = {.host = query->host, .id = {0}};
    query->k = (uint32_t)changed->changes[0].seq;
    return offsetof(struct hearsay_query, order) + get.id.count;
}
"""
PLANTED_USED = {"Change.seq", "Changed.changes", "Get.host", "Get.id", "Query.host", "Query.k", "Query.order",
                "config.idle_timeout_s", "config_host.hide_after"}


def read_generator():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "proto/generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    return generate


class Fields:
    """The fields of the schema and of the configurations, and the headers with other names for some of them."""

    def __init__(self):
        self.generate = read_generator()
        paths = [str(ROOT / "proto/hearsay.proto"), str(ROOT / "proto/bridge.proto")]
        self.schema = self.generate.Schema(paths)
        self.headers = {"proto/messages.h": "\n".join(self.schema.header(paths[0], self.generate.MESSAGES_TOP))}
        self.members = {}  # (struct, member) -> Message.field or struct.member
        for message in self.schema.of_file[paths[0]]:
            if isinstance(message, self.generate.Message):
                part = message.own_part() if message.own_fields else message
                for field in part.fields if part.name != "Response" else ():
                    self.members[part.struct().removeprefix("struct "), field.own()] = f"{message.name}.{field.name}"

        for folder, structs in TABLES.items():
            self.headers[folder + "/config.h"] = (ROOT / folder / "config.h").read_text(encoding="utf-8")
            table = (ROOT / folder / "table.c").read_text(encoding="utf-8")
            for macro, member in re.findall(r'\{(\w+_KEY)\("\w+", (\w+)\)', table):
                struct = structs.get(macro, structs[""])
                self.members[struct, member] = f"{struct}.{member}"

        for name in ROWS:
            self.headers[name] = (ROOT / name).read_text(encoding="utf-8")
        rows = re.findall(r'COLUMN(?:_OF)?\("\w+", \w+, (\w+), (\w+)[,)]', (ROOT / COLUMNS).read_text(encoding="utf-8"))
        self.stored = {f"{struct}.{member}" for struct, member in rows}
        self.members.update((tuple(name.split(".")), name) for name in self.stored)

    def of(self, structs):
        return {name for name in self.members.values()
                if name.split(".")[0] in structs or (EVERY in structs and name[0].isupper())
                or (STORED in structs and name in self.stored)}

    def header(self, name, renamed):
        struct = None
        for line in self.headers[name].splitlines():
            if found := re.fullmatch(r"struct (\w+) \{", line):
                struct = found[1]
            found = re.fullmatch(r"(    (?:\w+ )+\*?)(\w+)((?:\[[^]]*\])*;.*)", line)
            if found and self.members.get((struct, found[2])) in renamed:
                line = f"{found[1]}renamed_{found[2]}{found[3]}"
            yield line

    def named_by(self, said):
        """The fields that errors of the compiler name."""
        for found in ERRORS.finditer(said):
            struct, member = found["a"] or found["d"] or found["f"], found["b"] or found["c"] or found["e"]
            if (struct, member) in self.members:
                yield self.members[struct, member]

    def used_by(self, commands, wanted):
        """Those of the wanted fields that the sources of the commands use."""
        left, found = set(wanted), True
        while found and left:
            with tempfile.TemporaryDirectory() as folder:
                for name in self.headers:
                    header = pathlib.Path(folder) / name
                    header.parent.mkdir(parents=True, exist_ok=True)
                    header.write_text("\n".join(self.header(name, left)) + "\n", encoding="utf-8")
                with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                    said = list(pool.map(lambda command: compile_one(command, folder), commands))
            found = {name for text in said for name in self.named_by(text)} & left
            left -= found
            names = re.compile(rf"\b({'|'.join(own for (_, own), name in self.members.items() if name in left)})\b")
            commands = [command for command, text in zip(commands, said)  # the others use none
                        if text and names.search(read_with_macros(command[2]))]
        return set(wanted) - left


@functools.cache
def read_with_macros(source):
    """The source, and the macros of the headers of its folder."""
    headers = "".join(path.read_text(encoding="utf-8") for path in source.parent.glob("*.h"))
    return source.read_text(encoding="utf-8") + "".join(re.findall(r"#define(?:[^\n]*\\\n)*[^\n]*\n", headers))


def compile_one(command, folder):
    arguments, where, source = command
    options = ["-iquote", folder, "-fsyntax-only", "-w", "-fmax-errors=0", "-fdiagnostics-color=never"]
    done = subprocess.run([*arguments, *options, str(source)], cwd=where, capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    return done.stderr


def read_commands(build):
    """Source -> (arguments, folder, source): how the build compiles it, without what says where to write."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        source = (build / entry["file"]).resolve()
        arguments = shlex.split(re.sub(r" -(?:MD|c)\b| -(?:M[QF]|o) \S+", "", entry["command"]))
        if ROOT in source.parents:
            arguments = arguments[pathlib.Path(arguments[0]).name == "ccache":]  # it costs as much as the compiler
            commands[source] = ([part for part in arguments if part != entry["file"]], build, source)
    return commands


def check_options():
    """Yields the options of commands whose members nothing names but the rows of the options. Members are told apart by
    their names only."""
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "client/cli").glob("**/*.[ch]"))
    for option, member in OPTION.findall(text):
        own = member.split(".")[-1]
        if not re.search(rf"(?:->|\.){own}\b(?! = )", OPTION.sub("", text)):
            yield f"no command reads {member}, where the option --{option} is stored: make one read it"


def check(files, used, wanted, not_used):
    for name in sorted(wanted):
        reason = not_used.get((files, name))
        if name not in used and reason is None and (files, name.split(".")[0] + ".*") not in not_used:
            yield (f"{files} do not use {name}: make them use it, or say in NOT_USED of tests/unit/used_fields.py why "
                   "they need not. (The test does not see members of an initializer without their names.)")
        if name in used and reason is not None:
            yield f"{files} use {name}: take it out of NOT_USED"
    for of, name in not_used:
        if of == files and name not in wanted and not name.endswith(".*"):
            yield f"NOT_USED has {name}, which is no field of the messages that {files} are checked for"


def self_test(fields, command):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "planted.c"
        source.write_text(PLANTED, encoding="utf-8")
        used = fields.used_by([(command[0], command[1], source)], set(fields.members.values()))
    if used != PLANTED_USED:
        yield f"of the planted file the compiler said {sorted(used)}, not {sorted(PLANTED_USED)}"
    for not_used, said in (
            ({}, ["a.c do not use M.two"]),
            ({("a.c", "M.two"): "why"}, []),
            ({("a.c", "M.*"): "why"}, []),
            ({("a.c", "M.two"): "why", ("a.c", "M.one"): "why"}, ["a.c use M.one"]),
            ({("a.c", "M.two"): "why", ("a.c", "M.six"): "why"}, ["NOT_USED has M.six"])):
        found = list(check("a.c", {"M.one"}, {"M.one", "M.two"}, not_used))
        if len(found) != len(said) or not all(line.startswith(part) for line, part in zip(found, said)):
            yield f"of {sorted(not_used)} was said {found}, not {said}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    build = parser.parse_args().build.resolve()
    fields = Fields()
    commands = read_commands(build)
    wrong = list(self_test(fields, commands[ROOT / "daemon/handler/query.c"]))
    for files, messages in PLACES if not wrong else ():
        some = [commands[path] for path in sorted(ROOT.glob(files))
                if path in commands and path != ROOT / COLUMNS
                and path.parent.relative_to(ROOT).as_posix() not in TABLES]
        wanted = fields.of(messages)
        wrong += check(files, fields.used_by(some, wanted), wanted, NOT_USED)
    wrong += check_options()
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
