/* SPDX-License-Identifier: Apache-2.0 */
/* settings_user: the key `user`, which names the user that a program becomes when root starts it.
 */
#pragma once

#include "daemon/settings/value.h"
#include "daemon/system/privilege.h"

struct settings_user {
    const char *name;      /* the value of `user`; "": not set */
    bool is_peer;          /* hearsayd must know the user at its sockets, so it may not be nobody */
    gid_t admin_group;     /* as in struct privilege_user */
    const char *directory; /* made for the user if root starts the program; NULL: none */
    const char *file;      /* the configuration, which a reload has to read; "" or NULL: none */
};

/*
 * Checks that the user exists, is not root and, with is_peer, can be told from others. Returns 0,
 * also if the key is not set; or SETTINGS_REFUSED with a sentence in out_reason
 * (SETTINGS_REASON_BYTES).
 */
int settings_check_user(const struct settings_user *user, char *out_reason);

/*
 * Becomes the user for good, and warns if this user cannot read the configuration. If the key is
 * not set, the process keeps its user, with a warning if that is root.
 *
 * Returns 0, SETTINGS_REFUSED or -ERR_SYSTEM. SETTINGS_REFUSED: settings_check_user refuses the
 * user, or the process is neither root nor the user. -ERR_SYSTEM: the system did not allow the
 * change, and the process must end. Both write a sentence to out_reason (SETTINGS_REASON_BYTES).
 */
int settings_become_user(const struct settings_user *user, char *out_reason);

/*
 * For --check-config by root: becomes whom the program will run as, so that what this user cannot
 * read cannot be read by the check. That is the user of the key or, if the key is not set, the
 * owner of `directory`, because a service manager may start the program as a user that the
 * configuration does not name. Then `out_owner` (PRIVILEGE_NAME_BYTES) gets the owner's name, else
 * "". If there is no such user, the process keeps its user: settings_check_user says what is wrong.
 * Returns 0, or -ERR_SYSTEM with a sentence in out_reason (REASON_BYTES).
 */
int settings_become_checked(const struct settings_user *user, char *out_owner, char *out_reason);
