/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/main/inner.h"

#include <unistd.h>

#include "client/web/board.h"
#include "client/web/main/user.h"
#include "client/web/page.h"
#include "daemon/system/privilege.h"

static int check_welcome(const struct web_config *config, const struct hearsay *server,
                         char *out_warning, char *out_reason)
{
    struct settings_source source = {
        .name = config->server, .reason = out_reason, .collects = true};
    const struct hearsay_welcome *welcome = hearsay_welcome(server);
    uint32_t most = welcome->limits.payload_bytes;
    int rc = 0;

    if (board_fault_of(server) != NULL) {
        rc = settings_refuse(&source, "%s", board_fault_of(server));
    }
    if (config->host[0] != '\0' && hearsay_find_host(server, config->host) == NULL) {
        rc = settings_refuse(&source, "`host`: hearsayd has no host %s", config->host);
    }
    if (most > 0 && most < PAGE_TEXT_BYTES) {
        (void)snprintf(
            out_warning, SETTINGS_REASON_BYTES,
            "a text of %d characters may have %d bytes, and `payload` of hearsayd is %u, "
            "so the page takes less text of many scripts: set `payload = %d` or more in "
            "[limits] of hearsayd.conf",
            PAGE_TEXT_CHARACTERS, PAGE_TEXT_BYTES, (unsigned)most, PAGE_TEXT_BYTES);
    }
    return rc;
}

/* Whether this user may moderate the host. */
static int check_rights(const struct web_config *config, struct hearsay *server, char *out_reason)
{
    struct settings_source source = {.name = config->server, .reason = out_reason};
    const char *host = config->host[0] != '\0' ? config->host : NULL;
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_ACCEPT,
                                      .accept = {.host = hearsay_text(host)}};
    const struct hearsay_response *response = NULL;
    struct hearsay_error error;

    return hearsay_ask(server, &request, LOOK_MS, &response, &error) == HEARSAY_OK
               ? 0
               : settings_refuse(&source, "%s", error.sentence);
}

/* Says what is not checked because hearsayd could not be asked. */
static void warn_not_asked(const struct web_config *config, const char *why, char *out_warning)
{
    (void)snprintf(out_warning, SETTINGS_REASON_BYTES,
                   "hearsayd at %s was not asked %s, so that is not checked: %s", config->server,
                   config->section == WEB_SECTION_MODERATE
                       ? "whether this user may moderate the host"
                       : "whether its socket is for a gateway, whether it has the host and whether "
                         "it takes the longest texts",
                   why);
}

int look_at_server(const struct web_config *config, char *out_warning, char *out_reason)
{
    struct hearsay_connect options;
    struct hearsay_error error;
    struct hearsay *server = NULL;

    out_warning[0] = '\0';
    out_reason[0] = '\0';
    /* hearsayd would log that it has refused root. */
    if (config->section == WEB_SECTION_WEB && privilege_is_root()) {
        warn_not_asked(config,
                       access(config->server, F_OK) == 0
                           ? "only its `gateway_user` may connect, not root"
                           : "there is no such socket; does hearsayd run, and listen there?",
                       out_warning);
        return 0;
    }
    hearsay_connect_init(&options);
    options.server = config->server;
    options.timeout_ms = LOOK_MS;
    if (hearsay_connect(&options, &server, &error) != HEARSAY_OK) {
        warn_not_asked(config, error.sentence, out_warning);
        return 0;
    }
    int rc = config->section == WEB_SECTION_MODERATE
                 ? check_rights(config, server, out_reason)
                 : check_welcome(config, server, out_warning, out_reason);
    hearsay_close(server);
    return rc;
}

int look_at_rules(struct web_config *config, char *out_reason)
{
    int rc = privilege_is_root() ? user_become(config, out_reason) : user_check(config, out_reason);

    return rc == 0 ? web_config_read_rules(config, out_reason) : rc;
}
