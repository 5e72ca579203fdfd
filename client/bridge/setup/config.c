/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/setup/config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client/bridge/setup/inner.h"
#include "daemon/settings/options.h"

void bridge_config_defaults(void *out_config)
{
    struct bridge_config *config = out_config;

    memset(config, 0, sizeof(*config));
    settings_put_defaults(&bridge_table, BRIDGE_SECTION_BRIDGE, config);
    memcpy(config->server, "/run/hearsay-bridge/bridge.sock",
           sizeof("/run/hearsay-bridge/bridge.sock"));
    memcpy(config->state, "/var/lib/hearsay-bridge", sizeof("/var/lib/hearsay-bridge"));
}

/* --- headings --------------------------------------------------------------------------------- */

const struct bridge_host *bridge_config_host(const struct bridge_config *config, const char *name)
{
    for (size_t i = 0; i < config->host_count; i++) {
        if (strcmp(config->hosts[i].name, name) == 0) {
            return &config->hosts[i];
        }
    }
    return NULL;
}

const struct bridge_hood *bridge_config_hood(const struct bridge_config *config, const char *name)
{
    for (size_t i = 0; i < config->hood_count; i++) {
        if (strcmp(config->hoods[i].name, name) == 0) {
            return &config->hoods[i];
        }
    }
    return NULL;
}

static int add_host(struct bridge_config *config, const struct settings_source *source,
                    const char *name, void **out_base)
{
    const struct bridge_host *old = bridge_config_host(config, name);

    if (old != NULL) {
        return settings_refuse(source, "[host %s] stands in line %u already", old->name, old->line);
    }
    if (config->host_count == BRIDGE_HOSTS_MAX) {
        return settings_refuse(source, "there may be at most %d hosts", BRIDGE_HOSTS_MAX);
    }
    struct bridge_host *host = &config->hosts[config->host_count++];
    settings_put_defaults(&bridge_table, BRIDGE_SECTION_HOST, host);
    memcpy(host->name, name, strlen(name));
    host->line = source->line;
    *out_base = host;
    return 0;
}

static struct bridge_hood *add_hood(struct bridge_config *config, const char *name)
{
    if (config->hood_count == BRIDGE_HOODS_MAX) {
        return NULL;
    }
    struct bridge_hood *hood = &config->hoods[config->hood_count++];
    settings_put_defaults(&bridge_table, BRIDGE_SECTION_HOOD, hood);
    memcpy(hood->name, name, strlen(name));
    return hood;
}

static int enter_hood(struct bridge_config *config, const struct settings_source *source,
                      const char *name, void **out_base)
{
    const struct bridge_hood *old = bridge_config_hood(config, name);

    if (old != NULL) {
        return settings_refuse(source, "[hood %s] stands in line %u already", old->name, old->line);
    }
    struct bridge_hood *hood = add_hood(config, name);
    if (hood == NULL) {
        return settings_refuse(source, "there may be at most %d hoods", BRIDGE_HOODS_MAX);
    }
    hood->line = source->line;
    *out_base = hood;
    return 0;
}

int bridge_config_enter(void *config, const struct settings_source *source,
                        const struct settings_heading *heading, void **out_base)
{
    bool is_host = heading->section == BRIDGE_SECTION_HOST;
    char name[SETTINGS_NAME_BYTES] = "";

    if (!is_host && heading->section != BRIDGE_SECTION_HOOD) {
        *out_base = config;
        return 0;
    }
    if (!settings_is_name(heading->label, heading->label_bytes)) {
        return settings_refuse(source,
                               "[%s NAME] needs a name of at most %d letters a-z, digits and "
                               "inner hyphens, such as [%s]; not `%.*s`",
                               is_host ? "host" : "hood", BRIDGE_NAME_BYTES - 1,
                               is_host ? "host lobby" : "hood campus", (int)heading->label_bytes,
                               heading->label);
    }
    memcpy(name, heading->label, heading->label_bytes);
    if (is_host && strcmp(name, BRIDGE_NO_HOST) == 0) {
        return settings_refuse(source, "no host may be called " BRIDGE_NO_HOST
                                       ": this word stands for all hosts of a neighbourhood");
    }
    return is_host ? add_host(config, source, name, out_base)
                   : enter_hood(config, source, name, out_base);
}

/* --- rules about several keys ----------------------------------------------------------------- */

static struct settings_source source_of(const struct bridge_config *config, const char *key,
                                        char *reason)
{
    return settings_config_source(&bridge_table, config, BRIDGE_SECTION_BRIDGE, key, reason);
}

/* Whether a server without TLS is on this machine. */
static bool is_local(const char *url)
{
    const char *host = strstr(url, "://") + 3;

    return strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0 ||
           strncmp(host, "localhost", 9) == 0;
}

static int check_hub(const struct bridge_config *config, char *reason)
{
    struct settings_source source = source_of(config, "nats", reason);
    bool has_cert = config->cert[0] != '\0';

    if (config->nats_count == 0) {
        return settings_refuse(&source, "`nats` is missing: set it to the address of a server of "
                                        "the hub, such as tls://hub1.example:4222");
    }
    if (has_cert != (config->key[0] != '\0') || has_cert != (config->ca[0] != '\0')) {
        return settings_refuse(&source, "`cert`, `key` and `ca` belong together: set all three");
    }
    for (size_t i = 0; i < config->nats_count && !has_cert; i++) {
        if (!is_local(config->nats[i])) {
            return settings_refuse(&source,
                                   "`nats`: %s is another machine: set `cert`, `key` and `ca`, or "
                                   "anybody between could read and write what is stored",
                                   config->nats[i]);
        }
    }
    return 0;
}

static int check_hosts(const struct bridge_config *config, char *reason)
{
    struct settings_source source = source_of(config, "", reason);
    int rc = 0;

    if (config->host_count == 0 && config->reader_count == 0) {
        rc = settings_refuse(&source, "there is nothing to do: add [host NAME] for each host to "
                                      "publish, or [reader] with `hosts`");
    }
    for (size_t i = 0; i < config->reader_count; i++) {
        const struct bridge_host *host = bridge_config_host(config, config->reader_hosts[i]);

        if (host != NULL && host->publishes) {
            source.line = host->line;
            rc = settings_refuse(&source,
                                 "[host %s] publishes, so [reader] may not have it: a host has one "
                                 "owner; take it out of `hosts`, or set `publish = no`",
                                 host->name);
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(config->reader_hosts[i], config->reader_hosts[j]) == 0) {
                rc = settings_refuse(&source, "[reader] `hosts`: %s stands twice",
                                     config->reader_hosts[i]);
            }
        }
    }
    return rc;
}

/* Each hood that a host names gets its section. */
static int add_hoods(struct bridge_config *config, char *reason)
{
    struct settings_source source = source_of(config, "", reason);

    for (size_t i = 0; i < config->host_count; i++) {
        const char *name = config->hosts[i].hood;

        if (name[0] != '\0' && bridge_config_hood(config, name) == NULL &&
            add_hood(config, name) == NULL) {
            return settings_refuse(&source, "there may be at most %d hoods", BRIDGE_HOODS_MAX);
        }
    }
    return 0;
}

static int set_name(struct bridge_config *config, char *reason)
{
    struct settings_source source = source_of(config, "name", reason);

    if (config->name[0] == '\0' && config->host_count > 0) {
        memcpy(config->name, config->hosts[0].name, sizeof(config->name));
    }
    if (config->name[0] == '\0' && config->reader_count > 0) {
        return settings_refuse(&source, "`name` is missing: set it to the common name of the "
                                        "certificate, such as reader-1");
    }
    return 0;
}

int bridge_config_finish(void *config, char *out_reason)
{
    out_reason[0] = '\0';
    int hub = check_hub(config, out_reason);
    int hosts = check_hosts(config, out_reason);
    int hoods = add_hoods(config, out_reason);
    int name = set_name(config, out_reason);

    return hub != 0 || hosts != 0 || hoods != 0 || name != 0 ? SETTINGS_REFUSED : 0;
}

int bridge_config_check_files(const struct bridge_config *config, const char *user,
                              char *out_reason)
{
    const struct {
        const char *key;
        const char *path;
    } files[] = {{"cert", config->cert}, {"key", config->key}, {"ca", config->ca}};
    int rc = 0;

    out_reason[0] = '\0';
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct settings_source source = source_of(config, files[i].key, out_reason);

        if (files[i].path[0] != '\0' && access(files[i].path, R_OK) != 0) {
            rc = settings_refuse(&source, "`%s`: %s cannot be read%s%s: %s", files[i].key,
                                 files[i].path, user[0] != '\0' ? " by user " : "", user,
                                 strerror(errno));
        }
    }
    return rc;
}

void bridge_config_print(const void *printed, FILE *out)
{
    const struct bridge_config *config = printed;

    settings_print_section(&bridge_table, BRIDGE_SECTION_BRIDGE, NULL, config, out);
    for (size_t i = 0; i < config->host_count; i++) {
        settings_print_section(&bridge_table, BRIDGE_SECTION_HOST, config->hosts[i].name,
                               &config->hosts[i], out);
    }
    if (config->reader_count > 0) {
        settings_print_section(&bridge_table, BRIDGE_SECTION_READER, NULL, config, out);
    }
    for (size_t i = 0; i < config->hood_count; i++) {
        settings_print_section(&bridge_table, BRIDGE_SECTION_HOOD, config->hoods[i].name,
                               &config->hoods[i], out);
    }
}
