# SPDX-License-Identifier: Apache-2.0
"""A file system of a few megabytes, in memory, that only this process and its children see."""

import ctypes
import os

import devices

CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MNT_DETACH = 2

libc = ctypes.CDLL(None, use_errno=True)


def _keep_apart(path):
    """Mounts at `path` shall be seen by this process and its children alone. In a chroot `/` is no
    mount: then the directory is mounted on itself, and that mount is private."""
    return (libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0
            or (libc.mount(path, path, None, MS_BIND, None) == 0
                and libc.mount(b"none", path, None, MS_PRIVATE, None) == 0))


def mount(path, size_bytes):
    """Mounts it at `path`, a directory. "", or the reason why that cannot be had."""
    why_not = devices.enter_own_network()  # a user who is not root may do the rest after that
    if why_not:
        return why_not
    path, options = os.fsencode(path), f"size={size_bytes},mode=0755".encode()
    if (libc.unshare(CLONE_NEWNS) != 0 or not _keep_apart(path)
            or libc.mount(b"tmpfs", path, b"tmpfs", 0, options) != 0):
        return os.strerror(ctypes.get_errno())
    return ""


def unmount(path):
    """Both mounts, where there are two."""
    libc.umount2(os.fsencode(path), MNT_DETACH)
    libc.umount2(os.fsencode(path), MNT_DETACH)
