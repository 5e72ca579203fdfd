# SPDX-License-Identifier: Apache-2.0
"""shellcheck has nothing to say about the shell scripts for OpenWrt, whose shell is busybox's ash."""

import shutil
import subprocess

import pytest
from router import FILES

ROOT = FILES.parents[2]


def is_shell(path):
    if path.suffix in (".sh", ".init", ".defaults"):
        return True
    with open(path, "rb") as file:
        return file.readline(64).startswith(b"#!/bin/sh")


def test_shellcheck():
    if not shutil.which("shellcheck"):
        pytest.skip("there is no shellcheck")
    scripts = sorted(str(path.relative_to(ROOT)) for path in FILES.parent.rglob("*")
                     if path.is_file() and is_shell(path))
    assert len(scripts) >= 4
    # SC3043: ash has `local`.
    done = subprocess.run(["shellcheck", "-x", "-s", "dash", "-e", "SC3043", *scripts], cwd=ROOT,
                          stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout
