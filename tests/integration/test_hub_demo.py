# SPDX-License-Identifier: Apache-2.0
"""make demo-hub: what it shows, on lines that fit 60 columns."""

import os
import subprocess
import sys

import hub_cluster

pytestmark = hub_cluster.needs_hub


def test_the_demo_shows_all_of_it():
    build = os.path.dirname(os.path.dirname(hub_cluster.BRIDGE))
    done = subprocess.run([sys.executable, "-B", hub_cluster.TOP / "scripts/demo-hub", build],
                          capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for text in ("with 18 streams", "a copy of all four", "Found: one grey glove.", "asked 2 of 2", "Momo is on shelf 4.",
                 "gone at the cafe's access point"):
        assert text in done.stdout, done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 60, done.stdout
