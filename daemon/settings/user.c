/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/settings/user.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/system/log.h"

int settings_check_user(const struct settings_user *user, char *out_reason)
{
    struct privilege_user found;

    if (user->name[0] == '\0') {
        return 0;
    }
    int rc = user->is_peer ? privilege_look_up_peer("user", user->name, &found, out_reason)
                           : privilege_look_up("user", user->name, &found, out_reason);
    return rc == 0 ? 0 : SETTINGS_REFUSED;
}

int settings_become_user(const struct settings_user *user, char *out_reason)
{
    struct privilege_user found;

    if (user->name[0] == '\0') {
        if (privilege_is_root()) {
            log_warning("running as root: set `user` to one without rights");
        }
        return 0;
    }
    if (settings_check_user(user, out_reason) != 0 ||
        privilege_find(user->name, &found, out_reason) != 0) {
        return SETTINGS_REFUSED;
    }
    found.admin_group = user->admin_group;
    int rc = 0;
    if (user->directory != NULL && privilege_is_root()) {
        rc = privilege_make_directory(user->directory, &found, out_reason);
    }
    rc = rc == 0 ? privilege_drop(&found, out_reason) : rc;
    if (rc == 0 && user->file != NULL && user->file[0] != '\0' && access(user->file, R_OK) != 0) {
        log_warning("user `%s` cannot read %s (%s): a reload will be refused until it can",
                    user->name, user->file, strerror(errno));
    }
    return rc;
}

int settings_become_checked(const struct settings_user *user, char *out_owner, char *out_reason)
{
    struct privilege_user found;

    out_owner[0] = '\0';
    if (!privilege_is_root()) {
        return 0;
    }
    bool is_found = user->name[0] != '\0'
                        ? privilege_look_up("user", user->name, &found, out_reason) == 0
                        : privilege_find_owner(user->directory, &found, out_owner);
    if (!is_found) {
        return 0;
    }
    found.admin_group = user->admin_group;
    return privilege_drop(&found, out_reason);
}
