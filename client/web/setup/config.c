/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/setup/config.h"

#include <string.h>

#include "client/web/setup/table.h"
#include "client/web/setup/types.h"
#include "daemon/settings/options.h"

/* What is not in the table. */
static void defaults_moderate(struct web_config *config)
{
    config->connections = 32;
    config->connections_per_address = 8;
    memcpy(config->server, "/run/hearsay/admin.sock", sizeof("/run/hearsay/admin.sock"));
}

void web_config_defaults(enum web_section section, struct web_config *out_config)
{
    memset(out_config, 0, sizeof(*out_config));
    out_config->section = section;
    settings_put_defaults(&web_table, section, out_config);
    memcpy(out_config->server, "/run/hearsay-web/gateway.sock",
           sizeof("/run/hearsay-web/gateway.sock"));
    if (section == WEB_SECTION_MODERATE) {
        defaults_moderate(out_config);
    }
    memcpy(out_config->title, "Hearsay", sizeof("Hearsay"));
    memcpy(out_config->language, "auto", sizeof("auto"));
}

int web_config_enter(void *config, const struct settings_source *source,
                     const struct settings_heading *heading, void **out_base)
{
    enum web_section section = ((struct web_config *)config)->section;

    *out_base = config;
    if (heading->section == section) {
        return 0;
    }
    return section == WEB_SECTION_WEB
               ? settings_refuse(source, "[moderate] is not for the guests' page: it belongs into "
                                         "the file of hearsay-web --moderate")
               : settings_refuse(source, "[web] is for the guests' page: it belongs into the file "
                                         "of hearsay-web without --moderate");
}

/* --- rules about several keys ----------------------------------------------------------------- */

static struct settings_source source_of(const struct web_config *config, const char *key,
                                        char *reason)
{
    return settings_config_source(&web_table, config, config->section, key, reason);
}

static bool is_same_place(const struct web_config_listener *a, const struct web_config_listener *b)
{
    return a->is_unix == b->is_unix && a->family == b->family && a->port == b->port &&
           (a->is_unix || a->port != 0) && strcmp(a->path, b->path) == 0 &&
           memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

static int check_listeners(const struct web_config *config, char *reason)
{
    struct settings_source source = source_of(config, "listen", reason);
    char text[WEB_CONFIG_LISTENER_BYTES];

    for (size_t i = 0; i < config->listener_count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (is_same_place(&config->listeners[i], &config->listeners[j])) {
                web_listener_print(&config->listeners[i], text);
                return settings_refuse(&source, "`listen`: %s stands twice", text);
            }
        }
    }
    return 0;
}

static int check_metrics(const struct web_config *config, char *reason)
{
    struct settings_source source = source_of(config, "listen", reason);

    return config->section == WEB_SECTION_WEB
               ? web_metrics_check(config->listeners, config->listener_count, &source)
               : 0; /* moderate.c refuses them */
}

static int check_language(const struct web_config *config, char *reason)
{
    struct settings_source source = source_of(config, "language", reason);

    char known[64] = "auto";

    if (strcmp(config->language, "auto") == 0 || lang_find(config->language) != NULL) {
        return 0;
    }
    for (size_t i = 0; i < lang_count(); i++) {
        size_t used = strlen(known);

        (void)snprintf(known + used, sizeof(known) - used, "%s%s",
                       i + 1 == lang_count() ? " or " : ", ", lang_tag(lang_at(i)));
    }
    return settings_refuse(&source, "`language` must be %s; not `%s`", known, config->language);
}

static int check_wifi(const struct web_config *config, char *reason)
{
    struct settings_source source = source_of(config, "wifi_password", reason);
    size_t length = strlen(config->wifi_password);

    if (length > 0 && (length < 8 || length > 63)) {
        return settings_refuse(&source, "`wifi_password` must have 8 to 63 characters, and has %zu",
                               length);
    }
    if (length > 0 && config->wifi_ssid[0] == '\0') {
        return settings_refuse(&source, "`wifi_password` needs `wifi_ssid`, the WiFi's name");
    }
    return 0;
}

static int check_counts(const struct web_config *config, char *reason)
{
    struct settings_source events = source_of(config, "events", reason);
    struct settings_source each = source_of(config, "events_per_address", reason);
    int rc = 0;

    if (config->events >= config->connections) {
        rc = settings_refuse(&events,
                             "`events` must be less than `connections` (%u), or pages that stay "
                             "open keep all others out; not %u",
                             (unsigned)config->connections, (unsigned)config->events);
    }
    if (config->events_per_address >= config->connections_per_address) {
        rc = settings_refuse(&each,
                             "`events_per_address` must be less than `connections_per_address` "
                             "(%u), or open pages keep their phone from loading others; not %u",
                             (unsigned)config->connections_per_address,
                             (unsigned)config->events_per_address);
    }
    return rc;
}

int web_config_finish(struct web_config *config, char *out_reason)
{
    int (*const checks[])(const struct web_config *, char *) = {
        check_listeners, check_metrics, check_language, check_wifi, check_counts};
    int rc = 0;

    if (config->listener_count == 0) {
        config->listeners[0] =
            (struct web_config_listener){.family = 4,
                                         .address = {127, 0, 0, 1},
                                         .port = config->section == WEB_SECTION_WEB ? 7118 : 7119};
        config->listener_count = 1;
    }
    if (config->name_count == 0 && config->section == WEB_SECTION_WEB) {
        memcpy(config->names[0], "hearsay.lan", sizeof("hearsay.lan"));
        config->name_count = 1;
    }
    out_reason[0] = '\0';
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        int failed = checks[i](config, out_reason);
        rc = rc == 0 ? failed : rc;
    }
    return rc;
}

const char *web_config_warning(const struct web_config *config)
{
    if (config->section == WEB_SECTION_MODERATE ||
        (config->operator_name[0] != '\0' && config->contact[0] != '\0')) {
        return NULL;
    }
    for (size_t i = 0; i < config->listener_count; i++) {
        const struct web_config_listener *listener = &config->listeners[i];

        if (!listener->is_metrics &&
            (listener->is_proxied ||
             !web_address_is_loopback(listener->family, listener->address))) {
            return "others can open this page, and it does not say who runs it: set "
                   "`operator` and `contact`, as the law of many countries demands";
        }
    }
    return NULL;
}
