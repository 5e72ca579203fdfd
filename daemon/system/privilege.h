/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privilege: gives up privileges for good. A program that root has started binds its TCP addresses
 * as root, and then becomes the user of the setting `user`, if that is set. A filter in the kernel
 * may then refuse system calls that the program does not need.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum { PRIVILEGE_NAME_BYTES = 64 };

struct privilege_user {
    const char *name; /* borrowed */
    uid_t uid;
    gid_t gid;
    gid_t admin_group; /* a group to join in addition to the groups of the user; PRIVILEGE_NO_GROUP:
                          none */
};

#define PRIVILEGE_NO_GROUP ((gid_t)-1)

/*
 * The default overflow uid of the kernel. In a user namespace, each user that the namespace does
 * not map has this uid. So a peer or a file with this uid may belong to any of these users.
 */
enum { PRIVILEGE_UNKNOWN_UID = 65534 };

/*
 * Looks a user up. `key` is the name of the setting. Returns 0, or -ERR_SYSTEM with a sentence in
 * out_reason (REASON_BYTES): the user was not found, or has the uid 0.
 */
int privilege_look_up(const char *key, const char *name, struct privilege_user *out_user,
                      char *out_reason);

/*
 * Looks up a user as privilege_look_up does, for a listener that only this user may connect to.
 * Also fails if the user has the uid PRIVILEGE_UNKNOWN_UID, which does not tell the user from
 * others.
 */
int privilege_look_up_peer(const char *key, const char *name, struct privilege_user *out_user,
                           char *out_reason);

/* Looks up the user of the setting `user` as privilege_look_up does. Also fails if the process runs
 * neither as root nor as this user. */
int privilege_find(const char *name, struct privilege_user *out_user, char *out_reason);

/*
 * Looks up the owner of a directory. Returns false if stat(2) of the directory fails, or if root
 * owns the directory. Otherwise `out_name` (PRIVILEGE_NAME_BYTES) gets the user's name, or the uid
 * if the user has no name.
 */
bool privilege_find_owner(const char *directory, struct privilege_user *out_user, char *out_name);

/*
 * Looks a group up. Returns 0, or -ERR_SYSTEM with a sentence in out_reason (REASON_BYTES): the
 * group was not found.
 */
int privilege_find_group(const char *name, gid_t *out_group, char *out_reason);

/*
 * Makes the data directory for the user (0700), with missing parents (0755, of root). The process
 * is still root. A directory that exists must belong to the user, unless it is empty and belongs to
 * root, as after a start that was killed in between. Returns 0, or -ERR_SYSTEM with a sentence in
 * out_reason (REASON_BYTES).
 */
int privilege_make_directory(const char *directory, const struct privilege_user *user,
                             char *out_reason);

/*
 * A process of root becomes the user, with the groups of the user and `admin_group`. A process that
 * is not root keeps its user and its groups. In both cases the process then has no capabilities,
 * cannot gain privileges by running a program (PR_SET_NO_NEW_PRIVS), and the function checks that
 * the process cannot become root again. With HEARSAY_END_WITH_PARENT in the environment, the
 * process ends with its parent. Call this function before any thread is started. Returns 0, or
 * -ERR_SYSTEM with a sentence in out_reason (REASON_BYTES): then the process must end.
 */
int privilege_drop(const struct privilege_user *user, char *out_reason);

/*
 * Makes the kernel refuse the system call io_uring_setup to this process from now on, as a kernel
 * without io_uring does (ENOSYS). Call this function before the event loop is made.
 *
 * libuv 1.45 and newer may make a ring together with a loop. With a ring, privilege_filter_calls
 * would refuse io_uring_enter, and libuv would abort the process at the next change of the
 * descriptors that the loop waits for. A loop without a ring uses epoll_ctl. The filter does not
 * allow rings, because the kernel runs the operations of a ring without asking the filter.
 *
 * Returns NULL, or the reason (static storage) why the kernel still allows io_uring_setup. If there
 * is a reason, privilege_filter_calls must not be called.
 */
const char *privilege_refuse_rings(void);

/*
 * Makes the kernel refuse some system calls (EPERM; clone3: ENOSYS) to all threads from now on: for
 * example to run other programs, to make processes, to trace processes, to mount, to load modules
 * and to change users. Returns NULL, or the reason why there is no filter (static storage): the
 * build has no libseccomp; the build has the address or thread sanitizer; or libseccomp, the
 * kernel, an emulator or a service manager does not allow the filter.
 */
const char *privilege_filter_calls(void);

/* Whether the process still runs as root (effective uid 0). */
bool privilege_is_root(void);
