/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/commands.h"
#include "daemon/net/here_watch.h"
#include "daemon/net/server_tls.h"
#include "daemon/settings/user.h"
#include "daemon/system/privilege.h"

/* Adds a line. */
static void add_reason(char *reason, const char *sentence)
{
    size_t used = strlen(reason);

    (void)snprintf(reason + used, CONFIG_REASON_BYTES - used, "%s%s", used > 0 ? "\n" : "",
                   sentence);
}

/* Says that `owner`, who this process has become, cannot read the file of the configuration. */
static bool is_readable(const struct config *config, const char *owner, char *out_sentence)
{
    const char *file = config->common.file;

    if (file[0] == '\0' || access(file, R_OK) == 0) {
        return true;
    }
    (void)snprintf(out_sentence, CONFIG_REASON_BYTES,
                   "%.1000s: cannot be read by user `%s`, who owns %.1000s: %s; run `chgrp %s` and "
                   "`chmod g+r` on it",
                   file, owner, config->data, strerror(errno), owner);
    return false;
}

/* Loads the certificate and the key as the daemon would: root becomes its user before. */
static int load_files(struct server_tls *tls, const struct config *config, gid_t admin_group,
                      char *out_owner, char *out_sentence)
{
    struct settings_user user = {
        .name = config->user, .admin_group = admin_group, .directory = config->data};

    return settings_become_checked(&user, out_owner, out_sentence) != 0
               ? PREFLIGHT_REFUSED
               : server_tls_load(tls, config, out_sentence);
}

static void tell_doubt(void *out, const char *sentence)
{
    (void)fprintf(out, "hearsayd: warning: %s\n", sentence);
}

int preflight(const struct config *config, int64_t now_ms, FILE *out, char *out_reason)
{
    struct privilege_user user;
    struct privilege_user gateway;
    struct privilege_user bridge;
    char owner[PRIVILEGE_NAME_BYTES] = "";
    gid_t group = PRIVILEGE_NO_GROUP;
    enum server_tls_verdict verdict = SERVER_TLS_GOOD;
    struct server_tls tls = {.scratch = NULL};
    char sentence[CONFIG_REASON_BYTES];

    out_reason[0] = '\0';
    if (config->user[0] != '\0' && privilege_look_up("user", config->user, &user, sentence) != 0) {
        add_reason(out_reason, sentence);
    }
    if (config->gateway_user[0] != '\0' &&
        privilege_look_up_peer("gateway_user", config->gateway_user, &gateway, sentence) != 0) {
        add_reason(out_reason, sentence);
    }
    if (config->bridge_user[0] != '\0' &&
        privilege_look_up_peer("bridge_user", config->bridge_user, &bridge, sentence) != 0) {
        add_reason(out_reason, sentence);
    }
    if (config->admin_group[0] != '\0' &&
        privilege_find_group(config->admin_group, &group, sentence) != 0) {
        add_reason(out_reason, sentence);
    }
    if (load_files(&tls, config, group, owner, sentence) != 0) {
        add_reason(out_reason, sentence);
    } else {
        verdict = server_tls_judge(&tls, config, now_ms, sentence);
    }
    if (owner[0] != '\0' && !is_readable(config, owner, sentence)) {
        add_reason(out_reason, sentence);
    }
    if (verdict == SERVER_TLS_EXPIRED) {
        add_reason(out_reason, sentence);
    } else if (verdict == SERVER_TLS_ENDS_SOON) {
        tell_doubt(out, sentence);
    }
    config_tell_doubts(config, tell_doubt, out);
    here_watch_check(config, out);
    server_tls_deinit(&tls);
    return out_reason[0] == '\0' ? 0 : PREFLIGHT_REFUSED;
}
