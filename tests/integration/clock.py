# SPDX-License-Identifier: Apache-2.0
"""Clocks of programs that a test moves."""

import os
import struct


class Clock:
    """The clocks of programs with tests/lib/set_clock.c."""

    def __init__(self, path):
        self.path, self.seconds, self.steady = path, 0, 0
        self.move(0)
        os.chmod(path, 0o644)

    def move(self, seconds, only_wall=False):
        """Moves the clocks on; or only the wall clock, as one that is set wrong."""
        self.seconds += seconds
        self.steady += 0 if only_wall else seconds
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(descriptor, struct.pack("=qqq", self.seconds, 1, self.steady), 0)
        os.close(descriptor)

    def environment(self):
        return {"LD_PRELOAD": os.environ["HEARSAY_SET_CLOCK"], "HEARSAY_TEST_CLOCK": self.path}
