#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds without the client, and without utf8proc; what `make install` builds, and what it leaves and
`uninstall` takes.

Two builds are whole and from nothing, without optimisation: some seconds each.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What may be executable, and nothing else: programs and libraries.
PROGRAMS = ("usr/bin/", "usr/sbin/", "usr/lib")  # libexec, lib64


def run(*command, **options):
    """What the command printed; it must succeed, unless check=False."""
    # The make that runs this one is none of its business.
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("MAKE", "MFLAGS", "MESON_"))}
    options = {"check": True, **options}
    try:
        return subprocess.run(command, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=600, **options).stdout
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(map(str, command))}: exit status {error.returncode}\n{error.stdout}")


def make(target, folder, options=""):
    return run("make", "--no-print-directory", target, f"BUILD={folder}/build",
               f"DESTDIR={folder}/root", "PREFIX=/usr",
               f"MESON_ARGS=-Dtests=disabled -Dbench=false -Doptimization=0 {options}")


def files_in(folder):
    """Path below `folder` -> path, of all files and links."""
    return {path.relative_to(folder).as_posix(): path
            for path in pathlib.Path(folder).rglob("*") if path.is_symlink() or path.is_file()}


def check_installed(files):
    for name, path in files.items():
        if path.is_symlink():
            continue
        assert not path.stat().st_mode & 0o111 or name.startswith(PROGRAMS), f"{name} is executable"
        if name.startswith(PROGRAMS) and path.suffix != ".pc":
            assert b".debug_info" not in path.read_bytes(), f"{name} has debug information"


def check_headers(include, folder):
    """hearsay.h and each of its parts compile alone, as C11 and as C++."""
    headers = files_in(include)
    assert "hearsay.h" in headers and len(headers) > 5, sorted(headers)
    for compiler, standard, language in (("cc", "c11", "c"), ("c++", "c++17", "c++")):
        if shutil.which(compiler) is None:
            continue
        for header in headers:
            source = folder / "header.txt"
            source.write_text(f"#include <{header}>\nint main(void) {{ return 0; }}\n")
            run(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I",
                include, "-fsyntax-only", "-x", language, source)


def check_uninstall(folder):
    make("uninstall", folder)
    left = files_in(folder / "root")
    assert not left, f"`make uninstall` leaves {', '.join(left)}"
    again = run("make", "uninstall", f"BUILD={folder}/build", check=False)
    assert "nothing was installed" in again, again


def without_client(folder):
    make("install", folder, "-Dclient=false")
    files = files_in(folder / "root")
    check_installed(files)
    assert {"usr/sbin/hearsayd", "usr/libexec/hearsay/hearsay-scan",
            "usr/share/man/man8/hearsayd.8"} <= set(files), sorted(files)
    wrong = [name for name in files
             if name.endswith(("/hearsay", "hearsay.1", ".h")) or "libhearsay" in name]
    assert not wrong, f"of the client: {wrong}"
    assert "hearsayd" in run(files["usr/sbin/hearsayd"], "--version")
    check_uninstall(folder)
    refused = run("meson", "setup", folder / "refused", "-Dclient=false", "-Dtests=enabled",
                  check=False)
    assert "the tests need -Dclient=true" in refused, refused


def without_utf8proc(folder):
    make("install", folder, "-Dutf8proc=disabled")
    files = files_in(folder / "root")
    check_installed(files)
    assert any(name.endswith("/libhearsay.a") for name in files), sorted(files)
    check_headers(folder / "root/usr/include", folder)
    hearsay = folder / "build/client/hearsay"  # the installed one would look for its library
    assert b"utf8proc_map" not in hearsay.read_bytes()
    shown = run(hearsay, "context", "--profile", "v2:512/4", "--topic", " Two WORDS ")
    assert "topic:two words" in shown, shown
    refused = run(hearsay, "context", "--profile", "v2:512/4", "--topic", "Café", check=False)
    assert "Café" in refused and "built without utf8proc" in refused, refused
    check_uninstall(folder)


def only_what_is_installed(folder):
    """`make install` builds each program and library that it installs, and no test, although the tests
    are configured. Nothing is built here: ninja says what it would do."""
    build = folder / "build"
    run("meson", "setup", build, "-Dtests=enabled", "-Dbench=true")
    recipe = run("make", "--no-print-directory", "--dry-run", "install", f"BUILD={build}")
    (command,) = re.findall(r"^ninja .*", recipe, re.MULTILINE)
    # Ninja begins with the name of the directory, which lies below tests/ here.
    steps = [line for line in run(*command.split(), "-n").splitlines() if line.startswith("[")]
    tests = [step for step in steps if re.search(r"\btests/", step)]
    assert not tests, f"{len(tests)} of {len(steps)} steps are for tests, such as {tests[0]}"
    linked = {target for step in steps
              for target in re.findall(r"Linking (?:target|static target) (\S+)", step)}
    targets = json.loads(run("meson", "introspect", build, "--targets"))
    wanted = {pathlib.Path(name).relative_to(build).as_posix() for target in targets
              if target["installed"] and target["type"] != "custom" for name in target["filename"]}
    assert len(wanted) >= 4 and wanted <= linked, f"not built: {wanted - linked}"
    programs = {name for name in linked if not name.endswith(".a")}
    assert programs <= wanted, f"built, but not installed: {programs - wanted}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", default="/var/tmp", help="where to build")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="build-options-", dir=options.dir))
    try:
        for build in (only_what_is_installed, without_client, without_utf8proc):
            (folder / build.__name__).mkdir()
            build(folder / build.__name__)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
