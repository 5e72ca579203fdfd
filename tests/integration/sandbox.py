# SPDX-License-Identifier: Apache-2.0
"""Runs a program under the settings of its systemd unit, where there is no systemd.

usage: sandbox.py FILE PROGRAM [ARGUMENT]...

FILE is JSON: `settings`, each setting of the unit with the values of its lines; `calls`, the system
calls that SystemCallFilter= allows, or null for no filters. Root runs it, in a mount namespace of
its own.

APPLIED has the settings that are applied here as systemd.exec(5) describes them. MANAGER has those
that only a service manager can apply, or that say when it starts and ends the program.
"""

import ctypes
import errno
import grp
import json
import os
import pwd
import resource
import stat
import sys

MANAGER = {
    "After", "Description", "Documentation", "ExecReload", "ExecStart", "Type", "WantedBy", "Wants",
    "Restart", "RestartPreventExitStatus", "RestartSec", "StartLimitIntervalSec", "TimeoutStartSec", "TimeoutStopSec",
    "WatchdogSec", "KeyringMode", "RemoveIPC",
    "MemoryMax", "TasksMax",  # control groups
    "ConfigurationDirectory",
    "RuntimeDirectoryPreserve",  # the folders stay while the test runs
    # Others do the same here: /sys is read-only, /proc/sys, /dev/kmsg and /dev/rtc are not there, and
    # the program has no capabilities.
    "ProtectClock", "ProtectControlGroups", "ProtectKernelLogs", "ProtectKernelModules",
    "ProtectKernelTunables",
    "SystemCallArchitectures", "SystemCallErrorNumber",  # the native one and EPERM, always
}

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
NAMESPACES = 0x7E020080  # all that clone can make, CLONE_NEWTIME with them
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 1, 32, 4096, 8192, 16384, 1 << 18
SYS_MOUNT_SETATTR, AT_RECURSIVE, MOUNT_ATTR_RDONLY = 442, 0x8000, 1
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
ACT_ALLOW, ACT_ERRNO = 0x7FFF0000, 0x00050000
EQUAL, MASKED, OTHER = 4, 7, 1  # of libseccomp's comparisons
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def checked(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source, target, kind=None, flags=0, data=None):
    def text(value):
        return None if value is None else value.encode()
    checked(LIBC.mount(text(source), text(target), text(kind), ctypes.c_ulong(flags), text(data)),
            f"mount {target}")


def mount_tmpfs(target, mode="0755"):
    mount("tmpfs", target, "tmpfs", data=f"mode={mode}")


def set_read_only(target, is_set):
    """Of the mount and all below it."""
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY * is_set, MOUNT_ATTR_RDONLY * (not is_set))
    checked(LIBC.syscall(SYS_MOUNT_SETATTR, -1, target.encode(), AT_RECURSIVE,
                         ctypes.byref(attributes), ctypes.c_size_t(32)), f"attributes of {target}")


# --- what the program sees ------------------------------------------------------------------------


def directories_of(settings):
    return ([f"/run/{name}" for name in settings.get("RuntimeDirectory", [])] +
            [f"/var/lib/{name}" for name in settings.get("StateDirectory", [])])


def make_directories(settings):
    user = pwd.getpwnam(settings["User"][0])
    for kind, root in (("RuntimeDirectory", "/run"), ("StateDirectory", "/var/lib")):
        for name in settings.get(kind, []):
            path = f"{root}/{name}"
            os.makedirs(path, exist_ok=True)
            os.chmod(path, int(settings[f"{kind}Mode"][0], 8))
            os.chown(path, user.pw_uid, user.pw_gid)


def hide_devices():
    mount_tmpfs("/mnt")
    for name in DEVICES:
        with open(f"/mnt/{name}", "wb"):
            pass
        mount(f"/dev/{name}", f"/mnt/{name}", flags=MS_BIND)
    mount("/mnt", "/dev", flags=MS_MOVE)


def protect_system(settings):
    kept = [*directories_of(settings), *(["/tmp", "/var/tmp"] if "PrivateTmp" in settings else [])]
    for path in kept:
        mount(path, path, flags=MS_BIND)
    set_read_only("/", True)
    for path in kept:
        set_read_only(path, False)


def make_view(settings):
    """The namespaces; the settings of a unit are taken together, in an order that works."""
    checked(LIBC.unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS), "unshare")
    mount(None, "/", flags=MS_REC | MS_PRIVATE)
    make_directories(settings)
    if "PrivateTmp" in settings:
        mount_tmpfs("/tmp", "1777")
        mount_tmpfs("/var/tmp", "1777")
    if "PrivateDevices" in settings:
        hide_devices()
    if "ProtectHome" in settings:
        for path in ("/home", "/root", "/run/user"):
            if os.path.isdir(path):
                mount_tmpfs(path, "000")
    if "ProtectProc" in settings:
        mount("proc", "/proc", "proc", data="hidepid=invisible,subset=pid")
    if settings.get("ProtectSystem") == ["strict"]:
        protect_system(settings)


# --- what the program may do ----------------------------------------------------------------------


def set_limits(settings):
    for name, limit in (("LimitNOFILE", resource.RLIMIT_NOFILE), ("LimitCORE", resource.RLIMIT_CORE)):
        most = resource.getrlimit(limit)[1]  # in a container, root may not raise it
        value = int(settings[name][0])
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(limit, (value, value))
    os.umask(int(settings["UMask"][0], 8))


def become_user(settings):
    """The user, the group, no other groups, and no capabilities, now or later."""
    user, group = pwd.getpwnam(settings["User"][0]), grp.getgrnam(settings["Group"][0])
    assert settings["CapabilityBoundingSet"] == settings["AmbientCapabilities"] == [""]
    for capability in range(64):
        LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails for those that there are not
    os.setgroups(os.getgrouplist(user.pw_name, group.gr_gid))
    os.setresgid(*[group.gr_gid] * 3)
    os.setresuid(*[user.pw_uid] * 3)
    checked(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")


class Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("how", ctypes.c_int), ("a", ctypes.c_uint64),
                ("b", ctypes.c_uint64)]


def load_filter(library, default, rules):
    """Rules: (action, call, comparisons)."""
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(default)))
    for action, name, comparisons in rules:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # a call of this machine
            array = (Comparison * max(1, len(comparisons)))(*[Comparison(*c) for c in comparisons])
            library.seccomp_rule_add_array(context, ctypes.c_uint32(action), number,
                                           len(comparisons), array)
    if library.seccomp_load(context) != 0:
        raise OSError("a filter of calls cannot be loaded")
    library.seccomp_release(context)


def refusals(settings):
    """What single settings refuse."""
    eperm = ACT_ERRNO | errno.EPERM
    rules = []
    if "RestrictAddressFamilies" in settings:
        allowed = {{"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}[name]
                   for name in settings["RestrictAddressFamilies"][0].split()}
        rules += [(ACT_ERRNO | errno.EAFNOSUPPORT, "socket", [(0, EQUAL, family, 0)])
                  for family in range(64) if family not in allowed]
    if "RestrictNamespaces" in settings:
        rules.append((eperm, "setns", []))
        rules.append((ACT_ERRNO | errno.ENOSYS, "clone3", []))
        rules += [(eperm, call, [(0, MASKED, 1 << bit, 1 << bit)])
                  for call in ("clone", "unshare") for bit in range(32) if NAMESPACES >> bit & 1]
    if "RestrictRealtime" in settings:
        rules += [(eperm, "sched_setscheduler", [(1, EQUAL, policy, 0)]) for policy in (1, 2, 6)]
    if "RestrictSUIDSGID" in settings:
        rules += [(eperm, call, [(argument, MASKED, bit, bit)])
                  for call, argument in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2))
                  for bit in (stat.S_ISUID, stat.S_ISGID)]
    if "LockPersonality" in settings:
        rules += [(eperm, "personality", [(0, OTHER, 0xFFFFFFFF, 0)])]
    if "MemoryDenyWriteExecute" in settings:
        rules += [(eperm, "mmap", [(2, MASKED, 6, 6)]), (eperm, "mprotect", [(2, MASKED, 4, 4)]),
                  (eperm, "pkey_mprotect", [(2, MASKED, 4, 4)])]
    return rules


def filter_calls(settings, calls):
    if calls is None:
        return
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    own = ("execve", "execveat")  # for the program's start
    load_filter(library, ACT_ALLOW, refusals(settings))
    load_filter(library, ACT_ERRNO | errno.EPERM,
                [(ACT_ALLOW, name, []) for name in {*calls, *own}])


APPLIED = {
    "AmbientCapabilities", "CapabilityBoundingSet", "Group", "LimitCORE", "LimitNOFILE",
    "LockPersonality", "MemoryDenyWriteExecute", "NoNewPrivileges", "PrivateDevices",
    "PrivateIPC", "PrivateMounts", "PrivateTmp", "ProcSubset", "ProtectHome", "ProtectHostname",
    "ProtectProc", "ProtectSystem", "RestrictAddressFamilies", "RestrictNamespaces",
    "RestrictRealtime", "RestrictSUIDSGID", "RuntimeDirectory", "RuntimeDirectoryMode",
    "StateDirectory", "StateDirectoryMode", "SystemCallFilter", "UMask", "User",
}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        unit = json.load(file)
    settings = unit["settings"]
    program = os.open(sys.argv[2], os.O_RDONLY)  # before its folder is hidden
    make_view(settings)
    set_limits(settings)
    become_user(settings)
    filter_calls(settings, unit["calls"])
    folders = ":".join(f"/run/{name}" for name in settings.get("RuntimeDirectory", []))
    os.execve(program, sys.argv[2:], {**os.environ, "RUNTIME_DIRECTORY": folders})


if __name__ == "__main__":
    main()
