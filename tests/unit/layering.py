#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""core is pure: checks what its static library needs from outside, and that it has no variables.

No files, sockets, clocks, environment, output or random numbers; libc's memory and string
functions, xxHash, and libm for sizing.
"""
import argparse
import re
import subprocess
import sys

ALLOWED = {
    # memory and strings
    "malloc", "realloc", "free", "memcpy", "memmove", "memset", "memcmp", "memchr", "strcmp", "strlen",
    "bcmp", "bsearch",
    # xxHash
    "XXH3_128bits", "XXH3_128bits_withSeed", "XXH3_64bits_withSeed",
    # libm, for sizing
    "ceil", "expm1", "log", "log1p", "pow",
    # assertions
    "__assert_fail", "__assert", "__assert_func",
}
# The compiler's own: stack protector, memory functions that check a length (_FORTIFY_SOURCE), wide arithmetic on 32 bits,
# processor model, atomic operations of 64-bit ARM, instrumentation.
ALLOWED_PATTERN = re.compile(
    r"__stack_chk_\w+|__mem(cpy|move|set)_chk|__cpu_(model|features2|indicator_init)|_GLOBAL_OFFSET_TABLE_|__\w+[dst]i[234]"
    r"|__(asan|ubsan|tsan|msan|sanitizer|gcov|llvm_prof\w*)_\w+|__aeabi_\w+|__aarch64_(cas|swp|ld)\w+|_gp_disp")
INSTRUMENTED = re.compile(r"__(asan|ubsan|tsan|msan|sanitizer|gcov|llvm_prof\w*)_")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(nm, library):
    """Names that the library defines for itself, and names that it looks for."""
    defined, undefined = set(), set()
    for line in run(nm, "-g", library).splitlines():
        fields = line.split()
        if len(fields) == 2 and fields[0] in "Uwv":
            undefined.add(fields[1])
        elif len(fields) == 3:
            defined.add(fields[2])
    return defined, undefined


def writable_sections(size, library):
    """Sections with variables; relocated constants (.data.rel.ro) are none."""
    found = []
    name = ""
    for line in run(size, "-A", library).splitlines():
        header = re.match(r"(\S+)\s+\(ex ", line)
        if header:
            name = header.group(1)
            continue
        fields = line.split()
        if len(fields) == 3 and re.match(r"\.(data|bss|tdata|tbss|sdata|sbss)(\.|$)", fields[0]):
            if not fields[0].startswith(".data.rel.ro") and int(fields[1]) > 0:
                found.append(f"{name}: {fields[1]} bytes in {fields[0]}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--size", default="size")
    parser.add_argument("library")
    options = parser.parse_args()

    defined, undefined = symbols(options.nm, options.library)
    if not any(name.startswith("bloom_") for name in defined):
        sys.exit(f"{options.library}: no symbols of core; is this the right library?")
    wrong = sorted(
        name for name in undefined - defined
        if name not in ALLOWED and not ALLOWED_PATTERN.fullmatch(name))
    for name in wrong:
        print(f"{options.library} needs {name}, which core may not use")
    if any(INSTRUMENTED.match(name) for name in undefined):
        print("instrumented build: variables are not looked for")
    else:
        for text in writable_sections(options.size, options.library):
            print(f"{options.library} has a variable: {text}")
            wrong.append(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
