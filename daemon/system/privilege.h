/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privilege: gives up privileges for good. The daemon binds its addresses as the user who started
 * it. Then it becomes an ordinary user. When it serves, a filter in the kernel refuses the system
 * calls that a message store never needs.
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
 * The kernel's overflow uid: in a user namespace every unknown user has this uid. So a peer or a
 * file with this uid may be anybody's.
 */
enum { PRIVILEGE_UNKNOWN_UID = 65534 };

/*
 * Looks a user up. 0; or -ERR_SYSTEM with a sentence in out_reason (REASON_BYTES): there is no user
 * of this name, or it is root.
 */
int privilege_look_up(const char *name, struct privilege_user *out_user, char *out_reason);

/* The same. Also fails when this process may not become that user. */
int privilege_find(const char *name, struct privilege_user *out_user, char *out_reason);

/*
 * Looks up the owner of a directory. True: the directory exists, and its owner is not root. Then
 * user->name is in `out_name` (PRIVILEGE_NAME_BYTES); it is the uid if the system has no name for
 * it.
 */
bool privilege_find_owner(const char *directory, struct privilege_user *out_user, char *out_name);

/*
 * Looks a group up. 0; or -ERR_SYSTEM with a sentence in out_reason (REASON_BYTES): there is no
 * group of this name.
 */
int privilege_find_group(const char *name, gid_t *out_group, char *out_reason);

/*
 * Makes the data directory for that user, with missing parents, while the process still may. A
 * directory that exists must belong to the user. 0, or -ERR_SYSTEM with a sentence.
 */
int privilege_make_directory(const char *directory, const struct privilege_user *user,
                             char *out_reason);

/*
 * Becomes that user, with the groups of the user, the administrators' group and no capability; and
 * checks that there is no way back. A process that is the user already only loses its capabilities.
 * To be called before any thread is started. 0; or -ERR_SYSTEM with a sentence: then the process
 * must not go on.
 */
int privilege_drop(const struct privilege_user *user, char *out_reason);

/*
 * Makes the kernel refuse io_uring to this process from now on, as a kernel without io_uring does
 * (ENOSYS). To be called before the event loop is made. libuv from 1.45 on makes a ring together
 * with a loop, and from 1.50 on no setting and no environment variable prevents the ring. Then
 * privilege_filter_calls would refuse io_uring_enter, and libuv aborts the process at the next
 * change of the descriptors that the loop waits for. A loop without a ring uses epoll_ctl. The
 * filter does not allow rings instead, because the kernel runs a ring's operations without asking
 * the filter.
 *
 * NULL; or the reason why there is no such filter, as privilege_filter_calls. Then that function
 * must not be called.
 */
const char *privilege_refuse_rings(void);

/*
 * Makes the kernel refuse system calls to all threads from now on (EPERM): to run other programs,
 * to make processes, to trace processes, to mount, to load modules, to set the clock, to change
 * users, and others. NULL; or the reason why there is no such filter (static storage): it is not
 * built in; a sanitizer is, whose leak check makes a process; or the kernel or emulator has no
 * filters. The daemon goes on without a filter and logs the reason.
 */
const char *privilege_filter_calls(void);

/* Whether the process still has the privileges of root. */
bool privilege_is_root(void);

#endif
