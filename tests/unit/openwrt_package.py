#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/openwrt/hearsay/Makefile, built and unpacked for this machine in place of a router.

tests/unit/sdk has what stands in for OpenWrt's SDK. With --openwrt, OpenWrt's own package.mk and
meson.mk are used, from base.tar.gz in that folder (an archive of OpenWrt's main tree). Checked are: what the
packages say of themselves, that they depend on what their programs are linked with and on nothing
else, that OpenWrt has that (sdk/packages.txt), that each package has its files, that the variant with
TLS differs by TLS alone, and that the programs run.
"""
import argparse
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SDK = ROOT / "tests/unit/sdk"
PACKAGE = ROOT / "packaging/openwrt/hearsay"
FILES = ROOT / "packaging/openwrt/files"
NAMES = ["hearsayd", "hearsayd-ssl", "hearsay", "hearsay-web"]
# Of the system: OpenWrt's libc package has them.
LIBC = {"libc", "libm", "libresolv"}
DAEMON = {"usr/sbin/hearsayd", "usr/libexec/hearsay/hearsay-scan", "etc/config/hearsayd",
          "etc/init.d/hearsayd", "etc/uci-defaults/50-hearsay-firewall", "lib/functions/hearsay.sh",
          "lib/upgrade/keep.d/hearsayd"}
WANTED = {
    "hearsayd": DAEMON,
    "hearsayd-ssl": DAEMON,
    "hearsay": {"usr/bin/hearsay"},
    "hearsay-web": {"usr/sbin/hearsay-web", "etc/init.d/hearsay-web", "etc/init.d/hearsay-moderate",
                    *(f"usr/share/hearsay/rules.{language}.txt" for language in ("ar", "de", "en", "fr"))},
}
PROGRAMS = {"hearsayd": "usr/sbin/hearsayd", "hearsayd-ssl": "usr/sbin/hearsayd",
            "hearsay": "usr/bin/hearsay", "hearsay-web": "usr/sbin/hearsay-web"}


def run(*command, check=True, **options):
    """What the command printed; it must succeed, unless check=False."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("MAKE", "MFLAGS", "MESON_", "DESTDIR"))}
    env.update(options.pop("env", {}))
    done = subprocess.run([str(word) for word in command], env=env, text=True, timeout=1200,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    if check and done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def make_sdk(top, archive):
    """A folder that looks like an SDK; with OpenWrt's own files where there is an archive of them."""
    include = top / "include"
    include.mkdir(parents=True)
    shutil.copy(SDK / "rules.mk", top)
    for name in ("package.mk", "package-pack.mk", "meson.mk"):
        shutil.copy(SDK / name, include)
    host = top / "staging_dir/host"
    (host / "lib/meson").mkdir(parents=True)
    for name in ("openwrt-cross.txt.in", "openwrt-native.txt.in"):
        shutil.copy(SDK / name, host / "lib/meson")
    # meson.mk says `python3 meson.py`; package.mk leads pkg-config to libraries for the router.
    script(host / "bin/python3", 'shift\nexec meson "$@"\n')
    script(host / "bin/pkg-config", 'unset PKG_CONFIG_PATH PKG_CONFIG_LIBDIR\nexec pkg-config "$@"\n')
    (host / "bin/sed").symlink_to(shutil.which("sed"))
    if archive is not None:
        with tarfile.open(archive) as tar:
            for name in ("package.mk", "package-defaults.mk", "meson.mk"):
                include.joinpath(name).write_bytes(tar.extractfile(f"include/{name}").read())
        for name in ("download", "hardening", "prereq", "unpack", "depends", "quilt",
                     "package-dumpinfo", "package-bin", "autotools"):
            include.joinpath(f"{name}.mk").touch()


def make(top, *words):
    return run("make", "--no-print-directory", "-C", PACKAGE, f"TOPDIR={top}", f"ROOT={top}/root", *words)


def shown(top):
    """Package -> name -> value, as make understands them."""
    packages = {}
    for line in make(top, "show").splitlines():
        if re.fullmatch(r"\[.*\]", line):
            packages[line[1:-1]] = {}
            continue
        name, _, value = line.partition(" = ")
        list(packages.values())[-1][name.removesuffix(" =")] = value.strip()
    return packages


def known_packages():
    """OpenWrt's package -> the library in it."""
    lines = [line.split() for line in (SDK / "packages.txt").read_text().splitlines()
             if not line.startswith("#")]
    for line in lines:
        assert len(line) == 5 and re.fullmatch("[0-9a-f]{40}", line[4]), line
    return {line[0]: line[1] for line in lines}


def depends_of(package):
    """Names; a condition must be one that the Makefile builds by, too."""
    for word in package["depends"].split():
        condition, _, name = word.removeprefix("+").rpartition(":")
        assert word.startswith("+") or word == "libc", word
        assert condition in ("", "KERNEL_SECCOMP"), word
        if name != "libc":
            yield name


def check_words(packages):
    version = re.search(r"\n  version: '(.*)'", (ROOT / "meson.build").read_text())[1]
    known = known_packages()
    options = set(re.findall(r"^option\('(\w+)'", (ROOT / "meson_options.txt").read_text(), re.M))
    assert list(packages) == NAMES, list(packages)
    for name, package in packages.items():
        assert package["version"] == version + "-r1", package
        assert len(package["title"]) <= 60, package["title"]
        for other in depends_of(package):
            assert other in known or other in NAMES, f"{name} depends on {other}: OpenWrt has none"
        for word in package["build_depends"].split():
            assert word in known, word
        for word in package["meson"].split():
            assert word.startswith("-D") and word[2:].partition("=")[0] in options, word
        assert (ROOT / package["license"]).is_file()
    plain, tls = packages["hearsayd"], packages["hearsayd-ssl"]
    assert (plain["default"], tls["default"]) == ("1", ""), (plain, tls)
    assert (plain["provides"], tls["provides"]) == ("", "hearsayd"), (plain, tls)
    assert [packages[name]["variant"] for name in NAMES] == ["nossl", "ssl", "nossl", "nossl"]
    assert set(depends_of(tls)) - set(depends_of(plain)) == {"libopenssl"}
    assert set(depends_of(plain)) <= set(depends_of(tls))
    for name in ("userid", "conffiles"):
        assert plain[name] == tls[name] != "", name
    users = packages["hearsayd"]["userid"].split()
    assert all(re.fullmatch(r"([\w-]+)=(\d+):\1=\2", user) for user in users), users
    assert len(set(users)) == 2, users
    # Only members of hearsayd's group may moderate.
    moderator = packages["hearsay-web"]["userid"]
    assert moderator == f"hearsay-moderate=7119:hearsay-moderate=7119:{users[0].partition(':')[2]}"


def check_files(root, packages):
    for name, wanted in WANTED.items():
        folder = root / name
        found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        assert found == wanted, f"{name}: {sorted(found ^ wanted)}"
        for path in found:
            mode = stat.S_IMODE((folder / path).stat().st_mode)
            runs = path.startswith(("usr/sbin", "usr/bin", "usr/libexec", "etc/init.d"))
            assert bool(mode & 0o111) == runs, f"{name}: {path} has mode {mode:o}"
        for path in packages[name]["conffiles"].split():
            assert path.lstrip("/") in found, f"{name}: no {path}"
    keep = (root / "hearsayd/lib/upgrade/keep.d/hearsayd").read_text()
    assert keep == "/etc/hearsay/\n", keep
    unpacked = {path.read_bytes() for path in root.rglob("*") if path.is_file()}
    for path in FILES.iterdir():
        # OpenWrt has no libnats, so no package has the bridge.
        assert path.name == "hearsay-bridge.init" or path.read_bytes() in unpacked, \
            f"no package has files/{path.name}"


def check_linked(root, packages):
    """The programs need what the packages depend on, and nothing else."""
    libraries = known_packages()
    for name, path in PROGRAMS.items():
        needed = set(re.findall(r"NEEDED.*\[(lib[\w-]+)\.so", run("readelf", "-d", root / name / path)))
        needed -= LIBC
        needed -= {"libcrypto"} if "libssl" in needed else set()
        given = {libraries[other] for other in depends_of(packages[name]) if other not in NAMES}
        assert needed == given, f"{name}: depends on {sorted(given)}, needs {sorted(needed)}"


def check_run(root):
    for name, path in PROGRAMS.items():
        assert "0." in run(root / name / path, "--version"), name
    for name, said in (("hearsayd", "built without it"), ("hearsayd-ssl", "tls_certificate")):
        checked = run(root / name / PROGRAMS[name], "--listen", "127.0.0.1:0 tls", "--check-config",
                      check=False)
        assert said in checked, checked
    python = next((python for python in ("/usr/bin/python3", sys.executable) if subprocess.run(
        [python, "-c", "import pytest, google.protobuf, xxhash"], capture_output=True,
        check=False).returncode == 0), None)
    if python is None:
        print("skipped: no Python has pytest, protobuf and xxhash: the page was not tried")
        return
    tried = run(python, "-B", "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider",
                ROOT / "tests/integration/test_web.py", "-k", "topic or two_phones",
                env={"HEARSAYD": f"{root}/hearsayd/usr/sbin/hearsayd",
                     "HEARSAY": f"{root}/hearsay/usr/bin/hearsay",
                     "HEARSAY_WEB": f"{root}/hearsay-web/usr/sbin/hearsay-web",
                     "HEARSAY_TEST_DIR": str(root)}, cwd=root)
    assert re.search(r"^[3-9] passed", tried, re.MULTILINE), tried


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", default="/var/tmp", help="where to build")
    parser.add_argument("--openwrt", help="folder of base.tar.gz")
    options = parser.parse_args()
    archive = None
    if options.openwrt is not None:
        archive = pathlib.Path(options.openwrt) / "base.tar.gz"
        if not archive.is_file():
            print(f"OpenWrt's sources are not here: there is no {archive}")
            sys.exit(77)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="openwrt-", dir=options.dir))
    try:
        top = folder / "sdk"
        make_sdk(top, archive)
        packages = shown(top)
        check_words(packages)
        for variant in ("nossl", "ssl"):
            make(top, "compile", f"BUILD_VARIANT={variant}")
        check_files(top / "root", packages)
        check_linked(top / "root", packages)
        check_run(top / "root")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
