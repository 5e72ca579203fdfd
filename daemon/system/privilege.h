/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privilege: what the daemon may do to the machine, given up for good. It binds its addresses as
 * who started it, goes on as an ordinary user, and, once it serves, has the kernel refuse it what a
 * message store never needs.
 */
#ifndef DAEMON_SYSTEM_PRIVILEGE_H
#define DAEMON_SYSTEM_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PRIVILEGE_NAME_BYTES = 64 };

struct privilege_user {
    const char *name; /* borrowed */
    uid_t uid;
    gid_t gid;
    gid_t admin_group; /* kept besides the groups of the user; PRIVILEGE_NO_GROUP: none */
};

#define PRIVILEGE_NO_GROUP ((gid_t)-1)

/*
 * How a user namespace shows every user that it does not know: the kernel's overflow uid. It may be
 * anybody, so nobody may be believed to be that user.
 */
enum { PRIVILEGE_UNKNOWN_UID = 65534 };

/*
 * Looks a user up. 0, or -ERR_SYSTEM with a sentence in out_reason (reason_bytes): there is none of
 * this name, or it is root.
 */
int privilege_look_up(const char *name, struct privilege_user *out_user, char *out_reason,
                      size_t reason_bytes);

/* The same; fails also when this process may not become that user. */
int privilege_find(const char *name, struct privilege_user *out_user, char *out_reason,
                   size_t reason_bytes);

/*
 * Looks up the user who owns a directory. True: it is there, and its owner is somebody else than
 * root; user->name is then in `out_name` (PRIVILEGE_NAME_BYTES), as a number where the system has
 * no name for it.
 */
bool privilege_find_owner(const char *directory, struct privilege_user *out_user, char *out_name);

/*
 * Looks the group of `admin_group` up. 0, or -ERR_SYSTEM with a sentence in out_reason
 * (reason_bytes): there is none of this name.
 */
int privilege_find_group(const char *name, gid_t *out_group, char *out_reason, size_t reason_bytes);

/*
 * Makes the data directory for that user where it is not there, with the parents that are missing,
 * while we still may. One that is there must be the user's. 0, or -ERR_SYSTEM with a sentence.
 */
int privilege_make_directory(const char *directory, const struct privilege_user *user,
                             char *out_reason, size_t reason_bytes);

/*
 * Becomes that user, with its groups, the administrators' group and no capability, and checks that
 * there is no way back. Of a process that is the user already it only takes the capabilities. To be
 * called before any thread is started. 0, or -ERR_SYSTEM with a sentence: the process must not go
 * on then.
 */
int privilege_drop(const struct privilege_user *user, char *out_reason, size_t reason_bytes);

/*
 * Has the kernel refuse io_uring to this process from now on, as a kernel without io_uring does
 * (ENOSYS). To be called before the event loop is made. libuv from 1.45 on makes a ring together
 * with a loop, and from 1.50 on no setting and no environment variable prevents the ring. Then
 * privilege_filter_calls would refuse io_uring_enter, and libuv aborts the process at the next
 * change of what the loop waits for. A loop without a ring uses epoll_ctl. The filter does not
 * allow rings instead, because the kernel runs a ring's operations without asking the filter.
 *
 * NULL, or why there is no such filter: see privilege_filter_calls, which must not be called then.
 */
const char *privilege_refuse_rings(void);

/*
 * Has the kernel refuse, to all threads from now on, to run other programs, to make processes, to
 * trace others, to mount, to load modules, to set the clock, to change users, and more of the kind
 * (EPERM). NULL, or why there is no such filter (static storage): not built in, under a sanitizer,
 * whose leak check makes a process, or a kernel or an emulator without it. The daemon goes on
 * without; the log should say so.
 */
const char *privilege_filter_calls(void);

/* Whether the process may still do what only root may. */
bool privilege_is_root(void);

#endif
