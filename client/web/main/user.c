/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/main/user.h"

#include "daemon/settings/user.h"
#include "daemon/system/reason.h"

/* The user of the program's unit of systemd, for the sentence. */
static const char *usual_user(const struct web_config *config)
{
    return config->section == WEB_SECTION_MODERATE ? "hearsay-moderate" : "hearsay-web";
}

static struct settings_user user_of(const struct web_config *config)
{
    return (struct settings_user){.name = config->user,
                                  .is_peer = true,
                                  .admin_group = PRIVILEGE_NO_GROUP,
                                  .file = config->common.file};
}

int user_check(const struct web_config *config, char *out_reason)
{
    struct settings_user user = user_of(config);

    return settings_check_user(&user, out_reason);
}

int user_become(const struct web_config *config, char *out_reason)
{
    struct settings_user user = user_of(config);

    if (config->user[0] == '\0' && privilege_is_root()) {
        /* The file of `rules` is shown to guests, so root could show them any file. */
        (void)reason_set(out_reason,
                         "the page is not served as root, who may read every file: set `user`, "
                         "such as `user = %s`, or start hearsay-web as that user, also for "
                         "--check-config",
                         usual_user(config));
        return SETTINGS_REFUSED;
    }
    return settings_become_user(&user, out_reason);
}
