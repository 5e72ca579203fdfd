/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/setup/moderate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"

static const char guests_file[] = "/etc/hearsay/web.conf";

bool web_moderate_allows(const struct web_config *config, uint8_t family, const uint8_t *address)
{
    for (size_t i = 0; i < config->allow_count; i++) {
        if (web_prefix_has(&config->allow[i], family, address)) {
            return true;
        }
    }
    return false;
}

static bool has_address(const struct web_config_listener *guests,
                        const struct web_config_listener *own)
{
    return !guests->is_unix && !guests->is_metrics && guests->family == own->family &&
           (web_address_is_any(guests->family, guests->address) ||
            memcmp(guests->address, own->address, sizeof(own->address)) == 0);
}

static int check_one(const struct settings_source *source, const struct web_config_listener *own,
                     const struct web_config *guests)
{
    char text[WEB_CONFIG_LISTENER_BYTES];
    char theirs[WEB_CONFIG_LISTENER_BYTES];

    web_listener_print(own, text);
    if (own->is_proxied) {
        return settings_refuse(source, "`listen`: %s: the moderators' page takes no proxy", text);
    }
    if (own->is_metrics) {
        return settings_refuse(
            source,
            "`listen`: %s: metrics are for the guests' page: write the line into "
            "the file of hearsay-web without --moderate",
            text);
    }
    if (web_address_is_any(own->family, own->address)) {
        return settings_refuse(source,
                               "`listen`: %s is every address, the guests' ones too: name one of "
                               "the management network, such as 10.0.7.1:7119",
                               text);
    }
    for (size_t i = 0; i < guests->listener_count; i++) {
        if (!web_address_is_loopback(own->family, own->address) &&
            has_address(&guests->listeners[i], own)) {
            web_listener_print(&guests->listeners[i], theirs);
            return settings_refuse(source,
                                   "`listen`: guests reach their page at the address of %s "
                                   "(`listen = %s` in %s): name another one, which guests cannot "
                                   "reach",
                                   text, theirs, guests->common.file);
        }
    }
    return 0;
}

/* Reads the listeners of the guests' page. Without a file there are none; a file that cannot be
 * seen may have some. */
static int read_guests(const struct web_config *config, const struct settings_program *program,
                       struct web_config *out_guests, char *reason)
{
    const char *file = config->guests[0] != '\0' ? config->guests : guests_file;

    web_config_defaults(WEB_SECTION_WEB, out_guests);
    if (config->guests[0] == '\0' && access(file, F_OK) != 0 && errno == ENOENT) {
        return 0;
    }
    return settings_config_read(program, file, out_guests, reason);
}

int web_moderate_finish(struct web_config *config, const struct settings_program *program,
                        char *out_reason)
{
    struct settings_source source = {
        .name = config->common.file[0] != '\0' ? config->common.file : "configuration",
        .reason = out_reason,
        .collects = true,
    };
    struct web_config *guests = malloc(sizeof(*guests)); /* large for a small machine's stack */
    int rc = guests != NULL ? read_guests(config, program, guests, out_reason) : -ERR_NOMEM;

    if (rc == 0) {
        out_reason[0] = '\0';
    } else if (rc == SETTINGS_REFUSED) {
        (void)settings_refuse(&source, "`guests`: `listen` is compared with that file, so it must "
                                       "be right, and readable for this program's user");
    }
    for (size_t i = 0; i < config->listener_count && rc >= 0; i++) {
        int refused = check_one(&source, &config->listeners[i], guests);
        rc = refused != 0 ? refused : rc;
    }
    free(guests);
    if (rc >= 0 && config->password[0] == '\0') {
        rc = settings_refuse(&source, "there is no `password`: type hearsay-web --set-password");
    }
    if (config->allow_count == 0) {
        config->allow[0] = (struct web_config_prefix){4, {127}, 8};
        config->allow[1] = (struct web_config_prefix){6, {[15] = 1}, 128};
        config->allow_count = 2;
    }
    return rc;
}
