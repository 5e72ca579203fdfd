# SPDX-License-Identifier: Apache-2.0
"""Ports that a test knows before a program listens there, and that stay the test's own.

A socket of the test is bound and never listens. The kernel gives its port to no other program, not
even as the near end of a connection. The program under test may bind the port: libuv and Go set
SO_REUSEADDR too.
"""

import socket


def hold(address="127.0.0.1", number=0):
    """Returns the socket that holds a port of `address`; 0: the kernel chooses the number."""
    held = socket.socket()
    try:
        held.bind((address, number))
    except (OSError, OverflowError):
        held.close()
        raise
    # After bind: two sockets that both have SO_REUSEADDR may bind the same number.
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return held
