#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who includes whom: the direction of the parts, libraries in their places, no cycles.

With --compiler every header is compiled by itself, so that it includes all that it uses.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

# What each part may include of ours. The command uses the public header of its library.
PARTS = {
    "core": ["core/"],
    "proto": ["proto/", "core/"],
    "tls": ["tls/", "core/"],
    "client/cli": ["client/cli/", "client/hearsay.h", "core/"],
    "client": ["client/", "proto/", "core/", "tls/"],
    "daemon": ["daemon/", "proto/", "core/", "tls/"],
}
# Libraries, and the only files that may include them themselves.
LIBRARIES = {
    r"uv\.h": r"daemon/(main|server|transport|listener|persist_sqlite|notify|store_(reader|writer|commit)"
              r"|here_watch|worker_uv)\w*\.[ch]",
    r"sqlite3\.h": r"daemon/(store_\w+|persist_sqlite)\.[ch]",
    r"protobuf-c/.*|proto/hearsay\.pb-c\.h": r"proto/(arena|codec\w*|scan)\.[ch]",
    r"xxhash\.h": r"core/hash\.c|client/context_labels\.c",
    r"openssl/.*": r"tls/\w+\.[ch]",
    r"jansson\.h": r"client/cli/\w+\.[ch]",
    r"ini\.h": r"daemon/config\w*\.c",
    r"systemd/.*": r"daemon/notify\.c",
    r"stdio\.h|unistd\.h|fcntl\.h|time\.h|sys/.*|netinet/.*|sodium\.h|uv\.h|sqlite3\.h": r"(?!core/).*",
}
# What a request means knows nothing of sockets, loops or storage, not even through other headers.
PURE = re.compile(r"daemon/(handler\w*|host|epoch|service|cache|clock|sender|bucket)\.[ch]")
NOT_PURE = re.compile(r"uv\.h|sqlite3\.h|daemon/(transport|session|listener|server)\.h")

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


def read_includes(root):
    """Path of each file of ours -> what it includes, in order."""
    found = {}
    for part in ("core", "proto", "tls", "client", "daemon"):
        for path in sorted((root / part).rglob("*.[ch]")):
            name = path.relative_to(root).as_posix()
            found[name] = [(kind == '"', what) for kind, what in INCLUDE.findall(path.read_text())]
    return found


def part_of(name):
    return max((part for part in PARTS if name.startswith(part + "/")), key=len)


def check_directions(includes):
    for name, whats in includes.items():
        allowed = PARTS[part_of(name)]
        for is_ours, what in whats:
            if is_ours and not any(what.startswith(prefix) for prefix in allowed):
                yield f"{name} includes {what}; {part_of(name)} may include {', '.join(allowed)}"
            for library, users in LIBRARIES.items():
                if re.fullmatch(library, what) and not re.fullmatch(users, name):
                    yield f"{name} includes <{what}>; only {users} may"


def reach(includes, name, seen):
    """All that a file includes, through others too."""
    for _, what in includes.get(name, []):
        if what not in seen:
            seen.add(what)
            reach(includes, what, seen)
    return seen


def check_purity(includes):
    for name in includes:
        if PURE.fullmatch(name):
            for what in sorted(reach(includes, name, set())):
                if NOT_PURE.fullmatch(what):
                    yield f"{name} includes {what}, perhaps through another header"


def check_cycles(includes):
    for name in includes:
        if name.endswith(".h") and name in reach(includes, name, set()):
            yield f"{name} includes itself, through other headers"


def compile_alone(root, build, compiler, header):
    source = f'#include "{header}"\n'
    command = compiler + ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                          "-fsyntax-only", "-I", str(root), "-I", build, "-x", "c", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"{header} does not stand by itself:\n{done.stderr}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="for what is generated")
    parser.add_argument("--compiler", nargs=argparse.REMAINDER, default=None,
                        help="the last option: its words may look like options")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    includes = read_includes(root)
    if len(includes) < 100:
        sys.exit(f"{root}: only {len(includes)} files; is this the right folder?")
    wrong = [*check_directions(includes), *check_purity(includes), *check_cycles(includes)]
    headers = [name for name in includes if name.endswith(".h")]
    # These are bodies of kernels, made once for each kind of register: no headers.
    headers = [h for h in headers
               if not re.fullmatch(r"core/bits_(columns|lanes|rows|x86)\.h", h)]
    if options.compiler is not None:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong += filter(None, pool.map(
                lambda h: compile_alone(root, options.build, options.compiler, h), headers))
    for text in wrong:
        print(text)
    print(f"{len(includes)} files, {len(headers)} headers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
