/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/main/user.h"

#include "daemon/system/privilege.h"
#include "daemon/system/reason.h"

/* The user of the program's unit of systemd, for the sentence. */
static const char *usual_user(const struct web_config *config)
{
    return config->section == WEB_SECTION_MODERATE ? "hearsay-moderate" : "hearsay-web";
}

int user_become(const struct web_config *config, char *out_reason)
{
    struct privilege_user user;

    if (config->user[0] == '\0') {
        if (!privilege_is_root()) {
            return 0;
        }
        /* The file of `rules` is shown to guests, so root could show them any file. */
        (void)reason_set(out_reason,
                         "the page is not served as root, who may read every file: set `user`, "
                         "such as `user = %s`, or start hearsay-web as that user, also for "
                         "--check-config",
                         usual_user(config));
        return SETTINGS_REFUSED;
    }
    if (privilege_find(config->user, &user, out_reason) != 0) {
        return SETTINGS_REFUSED;
    }
    return privilege_drop(&user, out_reason);
}
