/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/preflight.h"

#include <string.h>

#include "daemon/net/server_tls.h"
#include "daemon/system/privilege.h"

/* Adds a line. */
static void add_reason(char *reason, const char *sentence)
{
    size_t used = strlen(reason);

    (void)snprintf(reason + used, CONFIG_REASON_BYTES - used, "%s%s", used > 0 ? "\n" : "",
                   sentence);
}

int preflight(const struct config *config, int64_t now_ms, FILE *out, char *out_reason)
{
    struct privilege_user user;
    gid_t group = PRIVILEGE_NO_GROUP;
    enum server_tls_verdict verdict = SERVER_TLS_GOOD;
    struct server_tls tls = {.scratch = NULL};
    char sentence[CONFIG_REASON_BYTES];

    out_reason[0] = '\0';
    if (config->user[0] != '\0' && privilege_look_up("user", config->user, &user, sentence) != 0) {
        add_reason(out_reason, sentence);
    }
    if (config->gateway_user[0] != '\0' &&
        privilege_look_up("gateway_user", config->gateway_user, &user, sentence) != 0) {
        add_reason(out_reason, sentence);
    }
    if (config->admin_group[0] != '\0' &&
        privilege_find_group(config->admin_group, &group, sentence) != 0) {
        add_reason(out_reason, sentence);
    }
    if (server_tls_load(&tls, config, sentence) != 0) {
        add_reason(out_reason, sentence);
    } else {
        verdict = server_tls_judge(&tls, config, now_ms, sentence);
    }
    if (verdict == SERVER_TLS_EXPIRED) {
        add_reason(out_reason, sentence);
    } else if (verdict == SERVER_TLS_ENDS_SOON) {
        (void)fprintf(out, "hearsayd: warning: %s\n", sentence);
    }
    server_tls_deinit(&tls);
    return out_reason[0] == '\0' ? 0 : PREFLIGHT_REFUSED;
}
