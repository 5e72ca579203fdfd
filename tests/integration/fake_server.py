# SPDX-License-Identifier: Apache-2.0
"""A server that a test plays: it answers requests as the test wants, one connection after another."""

import contextlib
import socket
import struct
import threading

import hearsay_wire as wire
from hearsay_wire import pb


class FakeServer:
    """A subclass has `answer(request)`, which returns a Response. `tls`: an SSLContext, or None."""

    def __init__(self, tls=None):
        self.tls = tls
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(wire.PATIENCE)

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), connection:  # an SSLError is an OSError
                connection.settimeout(wire.PATIENCE)
                if self.tls is None:
                    self._talk(connection)
                else:
                    with self.tls.wrap_socket(connection, server_side=True) as encrypted:
                        self._talk(encrypted)

    def _talk(self, connection):
        with connection.makefile("rb") as stream:
            while len(head := stream.read(4)) == 4:
                request = pb.Request.FromString(stream.read(*struct.unpack(">I", head)))
                connection.sendall(wire.frame(self.answer(request)))
