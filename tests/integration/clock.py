# SPDX-License-Identifier: Apache-2.0
"""Clocks of programs that a test moves."""

import os
import struct

import hearsay_wire as wire


class Clock:
    """The clocks of programs with tests/lib/set_clock.c. With is_fixed the programs have the machine's clocks."""

    def __init__(self, path, is_fixed=False):
        self.path, self.seconds, self.steady, self.is_fixed = path, 0, 0, is_fixed
        self.move(0)
        os.chmod(path, 0o644)

    def move(self, seconds, only_wall=False):
        """Moves the clocks on; or only the wall clock, as one that is set wrong."""
        self.seconds += seconds
        self.steady += 0 if only_wall else seconds
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(descriptor, struct.pack("=qqq", self.seconds, 1, self.steady), 0)
        os.close(descriptor)

    def wait_scrubbed(self, write, condition, what, seconds=60):
        """Waits until removed text has left the files, which the daemon promises within so many seconds. `write` is a
        call that writes to the store: it wakes the threads, which then see that the clocks have moved on. Four such
        calls are so few that the text does not leave because the log is full."""
        while not self.is_fixed and seconds > 0 and not condition():
            self.move(15)
            write()
            seconds -= 15
        wire.wait_until(condition, what, max(seconds, wire.PATIENCE))

    def environment(self):
        if self.is_fixed:
            return {}
        return {"LD_PRELOAD": os.environ["HEARSAY_SET_CLOCK"], "HEARSAY_TEST_CLOCK": self.path}
