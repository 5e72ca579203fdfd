/* SPDX-License-Identifier: Apache-2.0 */

#include <assert.h>
#include <string.h>

#include "daemon/config/inner.h"

/* --- defaults --------------------------------------------------------------------------------- */

void config_defaults(void *out_config)
{
    memset(out_config, 0, sizeof(struct config));
    settings_put_defaults(&config_table, CONFIG_SECTION_DAEMON, out_config);
    settings_put_defaults(&config_table, CONFIG_SECTION_LIMITS, out_config);
}

void config_add_host(struct config *config, const char *name)
{
    struct config_host *host = &config->hosts[config->host_count];
    const struct settings_key *profile =
        settings_find(&config_table, CONFIG_SECTION_HOST, "profile");
    const char *reason;

    assert(config->host_count < LIMIT_HOSTS && strlen(name) < sizeof(host->name));
    memset(host, 0, sizeof(*host));
    settings_put_defaults(&config_table, CONFIG_SECTION_HOST, host);
    int rc = profile_parse(profile->standard, strlen(profile->standard), &host->profile, &reason);
    assert(rc == 0);
    (void)rc; /* the table is part of the program; tests parse every default */
    memcpy(host->name, name, strlen(name));
    config->host_count++;
}

/* --- hosts ------------------------------------------------------------------------------------ */

static struct config_host *find_host(struct config *config, const char *name, size_t length)
{
    for (size_t i = 0; i < config->host_count; i++) {
        if (strlen(config->hosts[i].name) == length &&
            memcmp(config->hosts[i].name, name, length) == 0) {
            return &config->hosts[i];
        }
    }
    return NULL;
}

static_assert(LIMIT_HOST_BYTES + 1 == SETTINGS_NAME_BYTES, "names of hosts");

static int check_host_name(const struct settings_source *source,
                           const struct settings_heading *heading)
{
    if (settings_is_name(heading->label, heading->label_bytes)) {
        return 0;
    }
    return settings_refuse(source,
                           "[host NAME] needs a name of at most %d letters a-z, digits and "
                           "inner hyphens, such as [host lobby]; not `%.*s`",
                           LIMIT_HOST_BYTES, (int)heading->label_bytes, heading->label);
}

static int add_host(struct config *config, const struct settings_source *source,
                    const struct settings_heading *heading, void **out_base)
{
    char name[LIMIT_HOST_BYTES + 1];
    int rc = check_host_name(source, heading);

    if (rc != 0) {
        return rc;
    }
    struct config_host *host = find_host(config, heading->label, heading->label_bytes);
    if (host != NULL) {
        return settings_refuse(source, "[host %s] stands in line %u already", host->name,
                               host->line);
    }
    if (config->host_count == LIMIT_HOSTS) {
        return settings_refuse(source, "there may be at most %d hosts", LIMIT_HOSTS);
    }
    memcpy(name, heading->label, heading->label_bytes);
    name[heading->label_bytes] = '\0';
    host = &config->hosts[config->host_count];
    config_add_host(config, name);
    host->line = source->line;
    *out_base = host;
    return 0;
}

int config_enter(void *config, const struct settings_source *source,
                 const struct settings_heading *heading, void **out_base)
{
    if (heading->section == CONFIG_SECTION_HOST) {
        return add_host(config, source, heading, out_base);
    }
    *out_base = config;
    return 0;
}

/* --- a key of the command line ---------------------------------------------------------------- */

int config_set(struct config *config, const char *name, const char *section, const char *key,
               const char *value, char *out_reason)
{
    struct settings_source source = {.name = name, .reason = out_reason};
    struct settings_heading heading;
    void *base = config;
    int rc = settings_read_heading(&source, &config_table, section, strlen(section), &heading);

    if (rc == 0 && heading.section == CONFIG_SECTION_HOST) {
        rc = check_host_name(&source, &heading);
    }
    if (rc != 0) {
        return rc;
    }
    if (heading.section == CONFIG_SECTION_HOST) {
        base = find_host(config, heading.label, heading.label_bytes);
        if (base == NULL) {
            return settings_refuse(&source, "there is no host `%s`", heading.label);
        }
    }
    return settings_config_set(&config_table, config, name, heading.section, base, key, value,
                               out_reason);
}

/* --- printing --------------------------------------------------------------------------------- */

void config_print(const void *printed, FILE *out)
{
    const struct config *config = printed;

    settings_print_section(&config_table, CONFIG_SECTION_DAEMON, NULL, config, out);
    (void)fputc('\n', out);
    settings_print_section(&config_table, CONFIG_SECTION_LIMITS, NULL, config, out);
    for (size_t i = 0; i < config->host_count; i++) {
        const struct config_host *host = &config->hosts[i];

        (void)fputc('\n', out);
        settings_print_section(&config_table, CONFIG_SECTION_HOST, host->name, host, out);
    }
}
