/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/main/look.h"

#include <stdio.h>

#include "client/hearsay.h"
#include "client/web/main/user.h"
#include "client/web/page.h"
#include "daemon/system/privilege.h"

enum { CHARACTER_BYTES = 4, TEXT_BYTES = CHARACTER_BYTES * PAGE_TEXT_CHARACTERS };

static int check_welcome(const struct web_config *config, const struct hearsay *server,
                         char *out_reason)
{
    struct settings_source source = {
        .name = config->server, .reason = out_reason, .collects = true};
    const struct hearsay_welcome *welcome = hearsay_welcome(server);
    uint32_t most = welcome->limits.payload_bytes;
    int rc = 0;

    out_reason[0] = '\0';
    if (!hearsay_has_capability(server, "on_behalf")) {
        rc = settings_refuse(&source, "hearsayd does not know on_behalf here: mark its `listen` "
                                      "line with the word gateway");
    }
    if (config->host[0] != '\0' && hearsay_find_host(server, config->host) == NULL) {
        rc = settings_refuse(&source, "`host`: hearsayd has no host %s", config->host);
    }
    if (most > 0 && most < TEXT_BYTES) {
        rc = settings_refuse(&source,
                             "a text of %d characters may have %d bytes, and `payload` of hearsayd "
                             "is %u: set `payload = %d` or more in [limits] of hearsayd.conf",
                             PAGE_TEXT_CHARACTERS, TEXT_BYTES, (unsigned)most, TEXT_BYTES);
    }
    return rc;
}

/* Whether this user may moderate the host. */
static int check_rights(const struct web_config *config, struct hearsay *server, char *out_reason)
{
    struct settings_source source = {.name = config->server, .reason = out_reason};
    struct hearsay_admin request = {.kind = HEARSAY_ADMIN_ACCEPT,
                                    .host = config->host[0] != '\0' ? config->host : NULL};
    const struct hearsay_admin_reply *reply = NULL;
    struct hearsay_error error;

    return hearsay_admin(server, &request, LOOK_MS, &reply, &error) == HEARSAY_OK
               ? 0
               : settings_refuse(&source, "%s", error.sentence);
}

int look_at_server(const struct web_config *config, char *out_reason)
{
    struct hearsay_connect options;
    struct hearsay_error error;
    struct hearsay *server = NULL;

    /* `user` is the gateway_user of hearsayd, which would log that it has refused root. */
    if (config->section == WEB_SECTION_WEB && config->user[0] != '\0' && privilege_is_root()) {
        (void)snprintf(out_reason, SETTINGS_REASON_BYTES,
                       "hearsayd at %s was not asked whether its limits fit: only %s may connect",
                       config->server, config->user);
        return LOOK_UNKNOWN;
    }
    hearsay_connect_init(&options);
    options.server = config->server;
    options.timeout_ms = LOOK_MS;
    if (hearsay_connect(&options, &server, &error) != HEARSAY_OK) {
        (void)snprintf(out_reason, SETTINGS_REASON_BYTES,
                       "hearsayd at %s was not asked whether its limits fit: %s", config->server,
                       error.sentence);
        return LOOK_UNKNOWN;
    }
    int rc = config->section == WEB_SECTION_MODERATE ? check_rights(config, server, out_reason)
                                                     : check_welcome(config, server, out_reason);
    hearsay_close(server);
    return rc;
}

int look_at_rules(struct web_config *config, char *out_reason)
{
    int rc = privilege_is_root() ? user_become(config, out_reason) : 0;

    return rc == 0 ? web_config_read_rules(config, out_reason) : rc;
}
