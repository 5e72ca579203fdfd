/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privilege: what the daemon may do to the machine, given up for good. It binds its addresses as
 * who started it, goes on as an ordinary user, and, once it serves, has the kernel refuse it what a
 * message store never needs.
 */
#ifndef DAEMON_PRIVILEGE_H
#define DAEMON_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct privilege_user {
    const char *name; /* borrowed */
    uid_t uid;
    gid_t gid;
};

/*
 * Looks a user up. 0, or -ERR_SYSTEM with a sentence in out_reason (reason_bytes): there is none of
 * this name, or it is root, or we may not become it.
 */
int privilege_find(const char *name, struct privilege_user *out_user, char *out_reason,
                   size_t reason_bytes);

/*
 * Makes the data directory for that user where it is not there, with the parents that are missing,
 * while we still may. One that is there must be the user's. 0, or -ERR_SYSTEM with a sentence.
 */
int privilege_make_directory(const char *directory, const struct privilege_user *user,
                             char *out_reason, size_t reason_bytes);

/*
 * Becomes that user, with its groups and no capability, and checks that there is no way back. Of a
 * process that is the user already it only takes the capabilities. To be called before any thread
 * is started. 0, or -ERR_SYSTEM with a sentence: the process must not go on then.
 */
int privilege_drop(const struct privilege_user *user, char *out_reason, size_t reason_bytes);

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
