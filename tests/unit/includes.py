#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the rooms of CONTRIBUTING.md: who may include whom, and no circles.

The table "Rooms" in CONTRIBUTING.md lists the folders from the top floor to the bottom, with the
folders and headers that each may include. This script reads the table, every #include and, with --build, the
symbols of the object files of a build. Without a build it takes a second, and leaves out the circles of units. It
fails on

  - a folder that the table does not have, and a row that may use a higher row;
  - an include that the table does not allow;
  - an inner header (inner.h, *_inner.h) that another folder includes;
  - a library's header outside its files (LIBRARIES), also through other headers (NOT_PURE);
  - a header without `#pragma once`, but for those of libhearsay that are installed;
  - a circle of headers, and a circle of units: a unit is a .c file with its .h file, and uses
    another unit when its object file needs a symbol that the other one defines;
  - a folder with more than 25 .c files;
  - a header under 18 lines of code that only one file of its folder includes: such a header costs its includes and a
    look elsewhere, and belongs in the header of its subject or the inner header of its folder.

With --compiler every header is compiled by itself, so that it includes all that it uses, unless the build has
compiled a .c file that includes the header first. With --self-test the script plants one violation of each kind in
a small tree and looks for each.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from count_lines import without_comments  # noqa: E402

PARTS = ("core", "proto", "client", "daemon")
FILES_MAX = 25  # .c files of one folder
LINES_MIN = 18  # lines of code of a header that one file of its folder includes

# Libraries: their headers, the only files that may include them themselves, and the same for people.
LIBRARIES = [
    (r"microhttpd\.h", r"client/web/http_(answer|connection|mhd|request)\.c",
     "libmicrohttpd stays behind client/web/http.h, so only the files client/web/http_*.c speak with it"),
    (r"qrencode\.h", r"client/web/qr\.c", "libqrencode stays behind client/web/qr.c"),
    (r"nats/.*", r"client/bridge/(wire/\w+|hub/(setup|setup_inner|streams))\.[ch]",
     "libnats stays behind client/bridge/wire/; only setup-hub makes its streams itself"),
    (r"uv\.h",
     r"client/(bridge/(ask|hub|main|own|wire)|link)/\w+\.[ch]|client/web/(board/|main/|moderate/|route/)?\w+\.[ch]"
     r"|daemon/(main\.c|device/devices\.[ch]|net/\w+\.[ch]|system/(notify|read_pool|runtime|worker_uv)\.[ch]"
     r"|store/(numbers|thread/\w+)\.[ch])",
     "the event loop is for daemon/net/, the threads of the store, and what runs on a loop in the page and the "
     "bridge; code that decides takes its time and its sockets as arguments"),
    (r"sqlite3\.h", r"daemon/store/(thread/)?\w+\.[ch]", "SQLite stays behind daemon/store/persist.h"),
    (r"protobuf-c/.*|proto/(hearsay|bridge)\.pb-c\.h", r"proto/(arena|codec/\w+)\.[ch]",
     "the structs of protobuf-c stay in proto/codec/; all others use those of proto/msg.h"),
    (r"xxhash\.h", r"core/base/hash\.c|client/context/labels\.c", "use core/base/hash.h"),
    (r"openssl/.*", r"proto/tls/\w+\.[ch]", "OpenSSL stays behind proto/tls/"),
    (r"jansson\.h", r"client/((cli/\w+|bridge/(wire|hub))/\w+\.[ch]|bridge/own/forget\.c)",
     "JSON is for the command, and for what JetStream answers"),
    (r"ini\.h", r"daemon/settings/file\.c", "configurations are read by daemon/settings/table.h"),
    (r"systemd/.*", r"daemon/system/inherited\.c", "use daemon/system/notify.h"),
    (r"stdio\.h|unistd\.h|fcntl\.h|time\.h|sys/.*|netinet/.*|sodium\.h|uv\.h|sqlite3\.h", r"(?!core/).*",
     "core/ has no I/O, no clock and no randomness, so that it can be tested and simulated"),
]
# Deciding on a request needs no socket, loop or database, not even through another header.
PURE = re.compile(r"daemon/(handler|watch|host|limits)/\w+\.[ch]")
NOT_PURE = re.compile(r"uv\.h|sqlite3\.h|daemon/net/\w+\.h")
# Bodies of kernels, compiled once for each instruction set: no headers.
BODIES = re.compile(r"core/bits/(columns|lanes|rows|vec|x86)\.h")

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
INNER = re.compile(r"(.*/)?(\w+_)?inner\.h")
ROW = re.compile(r"^\| `([\w/]+)/` \|[^|]*\|([^|]*)\|$", re.MULTILINE)


def read_rooms(text):
    """Folder -> the folders and headers that it may include, in the order of the table."""
    return {folder: [used.rstrip("/") for used in re.findall(r"`([\w/.]+)`", uses)]
            for folder, uses in ROW.findall(text)}


def resolve(root, path, kind, what):
    """Whether a header is ours, and its path. As compilers do: first beside the file, then from the
    root. The parts of hearsay.h include one another so, because they are also installed."""
    beside = path.parent / what
    if kind == '"' and beside.exists():
        return True, beside.resolve().relative_to(root).as_posix()
    return kind == '"', what


def read_includes(root):
    """Path of each file of ours -> what it includes, in order."""
    found = {}
    for part in PARTS:
        for path in sorted((root / part).rglob("*.[ch]")):
            name = path.relative_to(root).as_posix()
            found[name] = [resolve(root, path, kind, what)
                           for kind, what in INCLUDE.findall(path.read_text())]
    return found


def read_lines(root, includes):
    """Path of each header -> its lines of code, without comments and blanks."""
    return {name: sum(1 for line in without_comments((root / name).read_text()).splitlines() if line.strip())
            for name in includes if name.endswith(".h")}


def check_once(root, includes):
    """The installed headers have guards instead: other compilers read them."""
    for name in includes:
        if name.endswith(".h") and not name.startswith("client/hearsay"):
            if "\n#pragma once\n" not in (root / name).read_text():
                yield f"{name} has no #pragma once"


def read_symbols(root, build, nm):
    """Unit -> (symbols that it defines, symbols that it needs), from the objects of a build."""
    objects = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        source = (build / command["file"]).resolve()
        compiled = build / command["output"]
        if root not in source.parents or not compiled.exists():
            continue
        name = source.relative_to(root).as_posix()
        if name.split("/")[0] in PARTS and name not in objects.values():
            objects[str(compiled)] = name
    units = {name.removesuffix(".c"): (set(), set()) for name in objects.values()}
    listing = subprocess.run([nm, "-g", "-A", *objects], check=True, capture_output=True, text=True)
    for line in listing.stdout.splitlines():
        compiled, symbol_line = line.split(":", 1)
        *_, kind, symbol = symbol_line.split()
        units[objects[compiled].removesuffix(".c")][1 if kind in "Uw" else 0].add(symbol)
    return units


def folder_of(name):
    return name.rsplit("/", 1)[0]


def check_table(rooms, includes):
    for folder in sorted({folder_of(name) for name in includes} - set(rooms)):
        yield f"{folder}/ is not in the table of CONTRIBUTING.md"
    order = list(rooms)
    for folder, uses in rooms.items():
        for used in uses:
            room = used if used in rooms else folder_of(used)
            if room not in rooms:
                yield f"{folder}/ may use {used}, which the table of CONTRIBUTING.md does not have"
            elif order.index(room) <= order.index(folder):
                yield f"{folder}/ may use {used}, which is not below it in the table"


def check_floors(rooms, includes):
    for name, whats in includes.items():
        folder = folder_of(name)
        allowed = rooms.get(folder, [])
        for is_ours, what in whats:
            if not is_ours or folder_of(what) == folder:
                continue
            if what not in allowed and folder_of(what) not in allowed:
                yield f"{name} includes {what}; {folder}/ may use {', '.join(allowed) or 'nothing'}"
            elif INNER.fullmatch(what):
                yield f"{name} includes {what}, an inner header of another folder"


def check_libraries(includes):
    for name, whats in includes.items():
        for _, what in whats:
            for library, users, why in LIBRARIES:
                if re.fullmatch(library, what) and not re.fullmatch(users, name):
                    yield f"{name} includes <{what}>: {why}"


def find_chain(includes, name, is_end):
    """The shortest chain of includes from a file to one that is_end wants, as text; None: there is none."""
    chains, seen = [[name]], set()
    for chain in chains:
        for _, what in includes.get(chain[-1], []):
            if is_end(what):
                return " includes ".join([*chain, what])
            if what not in seen:
                seen.add(what)
                chains.append([*chain, what])
    return None


def check_purity(includes):
    for name in includes:
        if PURE.fullmatch(name):
            chain = find_chain(includes, name, NOT_PURE.fullmatch)
            if chain:
                yield f"{chain}: code that decides on a request needs no socket, loop or database"


def check_headers(includes):
    told = set()
    for name in includes:
        chain = find_chain(includes, name, name.__eq__) if name.endswith(".h") else None
        if chain and frozenset(chain.split(" includes ")) not in told:
            told.add(frozenset(chain.split(" includes ")))
            yield f"a circle of headers: {chain}"


def check_sizes(includes):
    counts = {}
    for name in includes:
        if name.endswith(".c"):
            counts[folder_of(name)] = counts.get(folder_of(name), 0) + 1
    for folder, count in counts.items():
        if count > FILES_MAX:
            yield f"{folder}/ has {count} .c files; {FILES_MAX} at most"


def check_small(includes, lines):
    """A .c file does not count as a user of its own header. A header that another folder includes may be small: it is
    what its folder shows."""
    users = {}
    for name, whats in includes.items():
        for what in {what for is_ours, what in whats if is_ours and what != name.removesuffix(".c") + ".h"}:
            users.setdefault(what, []).append(name)
    for header, names in users.items():
        if lines.get(header, LINES_MIN) >= LINES_MIN:
            continue
        if len(names) == 1 and folder_of(names[0]) == folder_of(header):
            yield (f"{header} has {lines[header]} lines of code, and only {names[0]} includes it: put it into a "
                   f"header of at least {LINES_MIN} lines, or into the inner header of its folder")


def find_circles(graph):
    """The strongly connected sets of two nodes or more (Tarjan 1972), sorted."""
    index, low, stack, circles = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            circle = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(circle) > 1:
                circles.append(sorted(circle))

    sys.setrecursionlimit(10000)
    for node in graph:
        if node not in index:
            visit(node)
    return sorted(circles)


def check_units(units):
    owner = {symbol: unit for unit, (defines, _) in units.items() for symbol in defines}
    graph = {unit: sorted({owner[symbol] for symbol in needs if symbol in owner} - {unit})
             for unit, (_, needs) in units.items()}
    for circle in find_circles(graph):
        uses = [f"{unit} uses {other} ({', '.join(sorted(units[unit][1] & units[other][0])[:3])})"
                for unit in circle for other in graph[unit] if other in circle]
        yield f"a circle of {len(circle)} units: " + "; ".join(uses)


def check_all(rooms, includes, units, lines):
    return [*check_table(rooms, includes), *check_floors(rooms, includes), *check_libraries(includes),
            *check_purity(includes), *check_headers(includes), *check_sizes(includes),
            *check_small(includes, lines), *check_units(units)]


def not_compiled_first(includes, units):
    """The headers that no compiled unit includes before everything else. The build has shown of the others that they
    stand by themselves, and has compiled them in less time than this script would."""
    first = {includes[f"{unit}.c"][0] for unit in units if includes[f"{unit}.c"]}
    return [name for name in includes
            if name.endswith(".h") and not BODIES.fullmatch(name) and (True, name) not in first]


def compile_alone(root, build, compiler, header):
    source = f'#include "{header}"\n'
    command = compiler + ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                          "-fsyntax-only", "-I", str(root), "-I", build, "-x", "c", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"{header} does not stand by itself:\n{done.stderr}"
    return None


PLANTED = [
    # What is planted, and the beginning of what must be said of it.
    ("includes", {"core/new/a.c": []}, "core/new/ is not in the table"),
    ("rooms", {"core/base": ["core/filter"]}, "core/base/ may use core/filter, which is not below"),
    ("includes", {"core/base/b.h": [(True, "core/filter/a.h")]},
     "core/base/b.h includes core/filter/a.h; core/base/ may use nothing"),
    ("includes", {"core/filter/b.c": [(True, "core/base/b_inner.h")]},
     "core/filter/b.c includes core/base/b_inner.h, an inner header"),
    ("includes", {"core/filter/b.c": [(False, "stdio.h")]}, "core/filter/b.c includes <stdio.h>: core/ has no I/O"),
    ("includes", {"daemon/host/b.h": [(True, "daemon/net/a.h")]},
     "daemon/host/b.h includes daemon/net/a.h; daemon/host/ may use"),
    ("includes", {"daemon/host/b.h": [(True, "core/filter/c.h")], "core/filter/c.h": [(False, "uv.h")]},
     "daemon/host/b.h includes core/filter/c.h includes uv.h: code that decides"),
    ("includes", {"core/base/a.h": [(True, "core/base/b.h")], "core/base/b.h": [(True, "core/base/c.h")],
                  "core/base/c.h": [(True, "core/base/a.h")]},
     "a circle of headers: core/base/a.h includes core/base/b.h includes core/base/c.h includes core/base/a.h"),
    ("includes", {f"core/base/a{i}.c": [] for i in range(FILES_MAX + 1)}, "core/base/ has 26 .c files"),
    ("includes", {"core/filter/f.c": []}, "core/filter/d.h has 17 lines of code, and only core/filter/c.c"),
    ("units", {"core/base/a": ({"a"}, {"b"}), "core/base/b": ({"b"}, {"c"}), "core/base/c": ({"c"}, {"a"})},
     "a circle of 3 units: core/base/a uses core/base/b (b)"),
]


def self_test():
    """What is missed, one line each."""
    rooms = read_rooms("| `daemon/net/` | x | `daemon/host` |\n| `daemon/host/` | x | `core/filter` |\n"
                       "| `core/filter/` | filters | `core/base` |\n| `core/base/` | errors | |\n")
    right = {
        "rooms": rooms,
        "includes": {"core/filter/a.h": [(True, "core/base/a.h")], "core/base/a.h": [],
                     "core/filter/c.c": [(True, "core/filter/d.h"), (True, "core/filter/e.h")],
                     "core/filter/d.c": [(True, "core/filter/d.h")],
                     "core/filter/f.c": [(True, "core/filter/d.h")],
                     "core/filter/d.h": [], "core/filter/e.h": [],
                     "daemon/host/a.c": [(True, "core/filter/a.h")]},
        "units": {"core/filter/a": ({"f"}, {"a"}), "core/base/a": ({"a"}, {"memcpy"})},
        # small, and another folder includes it; small, and two files do; large, and one file does
        "lines": {"core/base/a.h": 5, "core/filter/a.h": 5, "core/filter/d.h": LINES_MIN - 1, "core/filter/e.h": LINES_MIN},
    }
    missed = [f"said of a tree without a mistake: {text}" for text in check_all(**right)]
    for kind, planted, said in PLANTED:
        wrong = {**right, kind: {**right[kind], **planted}}
        if not any(text.startswith(said) for text in check_all(**wrong)):
            missed.append(f"not found: {said}")
    includes = {"core/base/a.h": [], "core/base/b.h": [],
                "core/base/a.c": [(True, "core/base/a.h"), (True, "core/base/b.h")]}
    for units, left in (["core/base/a"], ["core/base/b.h"]), ([], ["core/base/a.h", "core/base/b.h"]):
        if not_compiled_first(includes, units) != left:
            missed.append(f"with {len(units)} units compiled, {left} must be compiled by themselves")
    print(f"{len(PLANTED)} planted violations, {len(missed)} missed")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", help="the directory of a build: its objects and generated headers are looked at, too")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--compiler", nargs=argparse.REMAINDER, default=None,
                        help="the last option: its words may look like options")
    options = parser.parse_args()
    if options.self_test:
        wrong = self_test()
    else:
        root = pathlib.Path(__file__).resolve().parents[2]
        rooms = read_rooms((root / "CONTRIBUTING.md").read_text())
        includes = read_includes(root)
        units = read_symbols(root, pathlib.Path(options.build).resolve(), options.nm) if options.build else {}
        if len(rooms) < 20 or len(includes) < 100 or (options.build and len(units) < 100):
            sys.exit(f"{root}: only {len(rooms)} rooms, {len(includes)} files and {len(units)} objects")
        wrong = check_all(rooms, includes, units, read_lines(root, includes)) + [*check_once(root, includes)]
        if options.compiler is not None and not options.build:
            parser.error("--compiler needs --build, whose generated headers are included")
        if options.compiler is not None:
            compiler = [word for word in options.compiler if os.path.basename(word) != "ccache"]
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                wrong += filter(None, pool.map(
                    lambda h: compile_alone(root, options.build, compiler, h), not_compiled_first(includes, units)))
        print(f"{len(rooms)} rooms, {len(includes)} files, " +
              (f"{len(units)} units" if options.build else "no circles of units: with --build they are looked for"))
    for text in wrong:
        print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
