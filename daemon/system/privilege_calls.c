/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privilege_calls: the filter of system calls. The filter lists the calls that are refused, not the
 * calls that are allowed. The calls of libc, SQLite and libuv differ between machines and versions:
 * with a list of allowed calls, an upgrade of a library could stop the daemon.
 */
#include "daemon/system/privilege.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#endif

#if !HEARSAY_SECCOMP

#define NO_FILTER "built without libseccomp"

#elif defined(UNDER_SANITIZER)

#define NO_FILTER "this is a build with a sanitizer"

#endif

#ifdef NO_FILTER

const char *privilege_refuse_rings(void)
{
    return NO_FILTER;
}

const char *privilege_filter_calls(void)
{
    return NO_FILTER;
}

#else

#include <errno.h>
#include <sched.h>
#include <stddef.h>

#include <seccomp.h>

/* Names of the refused calls. A name that this architecture does not have is skipped. */
static const char *const refused[] = {
    /* other programs, and a look into them */
    "execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev",
    "kcmp", "pidfd_getfd", "process_madvise",
    /* the file system's shape */
    "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen",
    "fsconfig", "fsmount", "fspick", "mount_setattr", "swapon", "swapoff", "quotactl",
    "quotactl_fd", "mknod", "mknodat", "name_to_handle_at", "open_by_handle_at",
    /* the kernel */
    "init_module", "finit_module", "create_module", "delete_module", "kexec_load",
    "kexec_file_load", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "syslog", "reboot", "acct", "iopl", "ioperm", "modify_ldt", "personality",
    "lookup_dcookie", "vhangup",
    /* namespaces, names, clocks */
    "setns", "unshare", "sethostname", "setdomainname", "settimeofday", "stime", "clock_settime",
    "clock_settime64",
    /* users and keys */
    "setuid", "setuid32", "setgid", "setgid32", "setreuid", "setreuid32", "setregid", "setregid32",
    "setresuid", "setresuid32", "setresgid", "setresgid32", "setgroups", "setgroups32", "setfsuid",
    "setfsuid32", "setfsgid", "setfsgid32", "capset", "add_key", "request_key", "keyctl"};

static int refuse_all(scmp_filter_ctx filter)
{
    int rc = 0;

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]) && rc == 0; i++) {
        int number = seccomp_syscall_resolve_name(refused[i]);
        if (number != __NR_SCMP_ERROR) {
            /* -EINVAL, -EDOM: only another architecture has this call. */
            rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
            rc = rc == -EINVAL || rc == -EDOM ? 0 : rc;
        }
    }
    /* A new thread is allowed, a new process is not. clone3 has its flags in memory, where the
     * filter cannot read them. So clone3 is refused as an unknown call (ENOSYS), and libc uses
     * clone instead. */
    rc = rc == 0 ? seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) : rc;
#if defined(__s390__) || defined(__s390x__)
    unsigned flags_at = 1; /* clone's first two arguments are in the other order */
#else
    unsigned flags_at = 0;
#endif
    rc = rc == 0 ? seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                    SCMP_CMP(flags_at, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0))
                 : rc;
    return rc;
}

/* Loads a filter of system calls into the kernel. `add_rules` adds the rules to the filter. Returns
 * NULL, or the reason why the filter cannot be loaded. */
static const char *privilege_calls_load(int (*add_rules)(scmp_filter_ctx filter))
{
    const char *why = NULL;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

    if (filter == NULL) {
        return "libseccomp does not know this machine";
    }
    /* The filter also holds for threads that exist already. Calls by the numbers of another
     * architecture (i386 on x86-64) are refused. By libseccomp's default such a call would kill the
     * thread. */
    if (seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) != 0 ||
        seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)) != 0) {
        why = "the kernel does not have the call `seccomp`, or whoever started hearsayd does not "
              "allow it (SystemCallFilter= of a unit, a container)";
    } else if (add_rules(filter) != 0) {
        why = "libseccomp refuses a rule";
    } else if (seccomp_load(filter) != 0) {
        why = "the kernel, or an emulator, does not take it";
    }
    seccomp_release(filter);
    return why;
}

static int refuse_rings(scmp_filter_ctx filter)
{
    int number = seccomp_syscall_resolve_name("io_uring_setup");

    /* If libseccomp does not know io_uring_setup, there is no rule. Such a libseccomp is older than
     * the first libuv that uses io_uring. */
    return number == __NR_SCMP_ERROR ? 0
                                     : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
}

const char *privilege_refuse_rings(void)
{
    return privilege_calls_load(refuse_rings);
}

const char *privilege_filter_calls(void)
{
    return privilege_calls_load(refuse_all);
}

#endif
