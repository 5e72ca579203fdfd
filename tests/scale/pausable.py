# SPDX-License-Identifier: Apache-2.0
"""A thread that does one piece of work after another, and rests while it is paused."""

import threading

import hearsay_wire as wire


class Pausable:
    def __init__(self):
        self.may_work, self.rests, self.ends = threading.Event(), threading.Event(), False
        self.error = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def work(self):
        """One piece, which looks at may_work and ends if it is long."""
        raise NotImplementedError

    def pause(self):
        """Returns when the thread rests. What an earlier piece of work threw is a failure."""
        self.may_work.clear()
        assert self.rests.wait(3 * wire.PATIENCE)
        assert self.error is None, self.error

    def go_on(self):
        self.rests.clear()
        self.may_work.set()

    def stop(self):
        self.ends = True
        self.may_work.set()
        self.thread.join(3 * wire.PATIENCE)

    def _run(self):
        try:
            while not self.ends:
                if self.may_work.is_set():
                    self.work()
                else:
                    self.rests.set()
                    self.may_work.wait()
        except Exception as error:  # pylint: disable=broad-except
            self.error = repr(error)
        finally:
            self.rests.set()
