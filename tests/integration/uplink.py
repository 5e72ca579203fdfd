# SPDX-License-Identifier: Apache-2.0
"""What stands between an access point and the servers of the hub: a network that a test cuts."""

import contextlib
import socket
import threading


class Uplink:
    """Forwards each connection to `ports` on loopback. `ports` of an Uplink are where to connect to instead.
    `change_greeting` may change the first line that a server sends, as bytes."""

    def __init__(self, ports, change_greeting=None):
        self.change_greeting = change_greeting
        self.is_cut, self.lock, self.pairs = False, threading.Lock(), set()
        self.listeners = {}
        for port in ports:
            listener = socket.create_server(("127.0.0.1", 0))
            self.listeners[port] = listener
            threading.Thread(target=self._accept, args=(listener, port), daemon=True).start()

    def rewrite(self, path):
        """Has the program with this configuration come by this way."""
        with open(path, "r+", encoding="utf-8") as file:
            text = file.read()
            for port, listener in self.listeners.items():
                text = text.replace(f":{port}\n", f":{listener.getsockname()[1]}\n")
            file.seek(0)
            file.write(text)
            file.truncate()

    def cut(self):
        """Ends all connections, and each that comes."""
        with self.lock:
            self.is_cut = True
            for pair in self.pairs:
                self._end(pair)

    def mend(self):
        with self.lock:
            self.is_cut = False

    def close(self):
        self.cut()
        for listener in self.listeners.values():
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def _accept(self, listener, port):
        while True:
            try:
                near, _ = listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(near, port), daemon=True).start()

    def _serve(self, near, port):
        try:
            far = socket.create_connection(("127.0.0.1", port))
        except OSError:  # the server is down
            near.close()
            return
        pair = (near, far)
        if self.change_greeting is not None:
            near.sendall(self.change_greeting(far.makefile("rb", buffering=0).readline()))
        with self.lock:
            is_cut = self.is_cut
            if not is_cut:
                self.pairs.add(pair)
        if not is_cut:
            back = threading.Thread(target=self._carry, args=(far, near), daemon=True)
            back.start()
            self._carry(near, far)
            back.join()
        with self.lock:
            self.pairs.discard(pair)
            for each in pair:
                each.close()

    @staticmethod
    def _carry(source, target):
        """Until one of the two ends; then both do."""
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        Uplink._end((source, target))

    @staticmethod
    def _end(pair):
        for each in pair:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
