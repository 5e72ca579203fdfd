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
    gid_t admin_group; /* besides the groups of the user; PRIVILEGE_NO_GROUP: none */
};

#define PRIVILEGE_NO_GROUP ((gid_t)-1)

/*
 * The kernel's overflow uid: in a user namespace every unknown user has this uid. So a peer or a
 * file with this uid may belong to anybody.
 */
enum { PRIVILEGE_UNKNOWN_UID = 65534 };

/*
 * Looks a user up. `key` is the name of the setting. Returns 0, or -ERR_SYSTEM with a sentence in
 * out_reason (REASON_BYTES): there is no user of this name, or the user is root.
 */
int privilege_look_up(const char *key, const char *name, struct privilege_user *out_user,
                      char *out_reason);

/* Looks up the user of the setting `user`. Also fails if this process may not become the user. */
int privilege_find(const char *name, struct privilege_user *out_user, char *out_reason);

/*
 * Looks up the owner of a directory. Returns true if the directory exists and its owner is not
 * root. Then the user's name is in `out_name` (PRIVILEGE_NAME_BYTES), or the uid if the user has no
 * name.
 */
bool privilege_find_owner(const char *directory, struct privilege_user *out_user, char *out_name);

/*
 * Looks a group up. Returns 0, or -ERR_SYSTEM with a sentence in out_reason (REASON_BYTES): there
 * is no group of this name.
 */
int privilege_find_group(const char *name, gid_t *out_group, char *out_reason);

/*
 * Makes the data directory for the user, with missing parents, while the process is still root. A
 * directory that exists must belong to the user. Returns 0, or -ERR_SYSTEM with a sentence in
 * out_reason (REASON_BYTES).
 */
int privilege_make_directory(const char *directory, const struct privilege_user *user,
                             char *out_reason);

/*
 * The process becomes the user, with the groups of the user, the administrators' group and no
 * capability. Then checks that the process cannot become root again. A process that runs as the
 * user already only loses its capabilities. Call this function before any thread is started.
 * Returns 0, or -ERR_SYSTEM with a sentence in out_reason (REASON_BYTES): then the process must
 * end.
 */
int privilege_drop(const struct privilege_user *user, char *out_reason);

/*
 * Makes the kernel refuse io_uring to this process from now on, as a kernel without io_uring does
 * (ENOSYS). Call this function before the event loop is made.
 *
 * libuv from 1.45 on makes a ring together with a loop, and from 1.50 on no setting and no
 * environment variable prevents the ring. With a ring, privilege_filter_calls would refuse
 * io_uring_enter, and libuv would abort the process at the next change of the descriptors that the
 * loop waits for. A loop without a ring uses epoll_ctl. The filter does not allow rings, because
 * the kernel runs the operations of a ring without asking the filter.
 *
 * Returns NULL, or the reason why the kernel still allows io_uring, as privilege_filter_calls does.
 * If there is a reason, privilege_filter_calls must not be called.
 */
const char *privilege_refuse_rings(void);

/*
 * Makes the kernel refuse some system calls (EPERM; clone3: ENOSYS) to all threads from now on: to
 * run other programs, to make processes, to trace processes, to mount, to load modules, to set the
 * clock, to change users, and others. Returns NULL, or the reason why there is no filter (static
 * storage): the build has no libseccomp; the build has a sanitizer, whose leak check makes a
 * process; or the kernel, an emulator or a service manager does not allow filters. Without a filter
 * the daemon goes on and logs the reason.
 */
const char *privilege_filter_calls(void);

/* Whether the process still runs as root (effective uid 0). */
bool privilege_is_root(void);

#endif
