/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/key.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/label.h"
#include "daemon/config/value.h"

/* config_finish adds the administrator's socket to those that were named. */
enum { NAMED_LISTENERS_MAX = CONFIG_LISTENERS_MAX - 1 };

/* --- defaults --------------------------------------------------------------------------------- */

/* Puts the defaults of a section's keys into the struct they are in. */
static void put_defaults(enum config_section section, void *base)
{
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];
        uint64_t value = 0;

        if (key->section != section || key->standard == NULL || !config_key_is_number(key)) {
            continue;
        }
        if (key->type == CONFIG_TYPE_CHOICE) {
            while (strcmp(key->words[value], key->standard) != 0) {
                value++;
            }
        } else {
            int result = config_value_parse_number(key->type, key->standard, &value);

            assert(result == 0);
            (void)result; /* the table is ours; tests read all of it */
        }
        config_key_put(key, base, value);
    }
}

void config_defaults(struct config *out_config)
{
    memset(out_config, 0, sizeof(*out_config));
    put_defaults(CONFIG_SECTION_DAEMON, out_config);
    put_defaults(CONFIG_SECTION_LIMITS, out_config);
}

void config_add_host(struct config *config, const char *name)
{
    struct config_host *host = &config->hosts[config->host_count];
    const struct config_key *profile = config_key_find(CONFIG_SECTION_HOST, "profile");
    const char *reason;
    int result;

    assert(config->host_count < LIMIT_HOSTS && strlen(name) < sizeof(host->name));
    memset(host, 0, sizeof(*host));
    put_defaults(CONFIG_SECTION_HOST, host);
    result = profile_parse(profile->standard, strlen(profile->standard), &host->profile, &reason);
    assert(result == 0);
    (void)result; /* as above */
    memcpy(host->name, name, strlen(name));
    config->host_count++;
}

/* --- one key ---------------------------------------------------------------------------------- */

int config_refuse_unknown_key(const struct config_source *source, enum config_section section,
                              const char *name)
{
    const struct config_key *nearest = config_key_nearest(section, name);
    char known[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < CONFIG_SECTIONS; i++) {
        /* Many a key stands in the wrong section rather than being mistyped. */
        if (i != section && config_key_find((enum config_section)i, name) != NULL) {
            return config_refuse(source, "`%s` does not belong into [%s] but into [%s%s]", name,
                                 config_sections[section].name, config_sections[i].name,
                                 i == CONFIG_SECTION_HOST ? " NAME" : "");
        }
    }
    if (nearest != NULL) {
        return config_refuse(source, "unknown key `%.100s` in [%s]; did you mean `%s`?", name,
                             config_sections[section].name, nearest->name);
    }
    for (size_t i = 0; i < config_key_count; i++) {
        if (config_keys[i].section == section && used < sizeof(known)) {
            used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
                                     used > 0 ? ", " : "", config_keys[i].name);
        }
    }
    return config_refuse(source, "unknown key `%.100s` in [%s]; there are %s", name,
                         config_sections[section].name, known);
}

static int set_choice(const struct config_source *source, const struct config_key *key, void *base,
                      const char *value)
{
    char known[256] = "";
    size_t used = 0;

    for (size_t i = 0; key->words[i] != NULL; i++) {
        if (strcmp(key->words[i], value) == 0) {
            config_key_put(key, base, i);
            return 0;
        }
        if (used < sizeof(known)) {
            used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
                                     i == 0                      ? ""
                                     : key->words[i + 1] == NULL ? " or "
                                                                 : ", ",
                                     key->words[i]);
        }
    }
    return config_refuse(source, "`%s` must be %s; not `%.200s`", key->name, known, value);
}

static int set_number(const struct config_source *source, const struct config_key *key, void *base,
                      const char *value)
{
    uint64_t number;
    char min[CONFIG_NUMBER_BYTES];
    char max[CONFIG_NUMBER_BYTES];

    if (config_value_parse_number(key->type, value, &number) != 0) {
        return config_refuse(source, "`%s` must be %s; not `%.200s`", key->name,
                             config_type_example(key->type), value);
    }
    if (number < key->min || number > key->max) {
        config_key_print(key, key->min, min);
        config_key_print(key, key->max, max);
        return config_refuse(source, "`%s` must be from %s to %s; not %.200s", key->name, min, max,
                             value);
    }
    config_key_put(key, base, number);
    return 0;
}

static int add_listener(const struct config_source *source, const struct config_key *key,
                        struct config *config, const char *value)
{
    struct config_listener listener;
    int result = config_value_parse_listener(source, key->name, value, &listener);

    if (result != 0) {
        return result;
    }
    for (size_t i = 0; i < config->listener_count; i++) {
        const struct config_listener *other = &config->listeners[i];

        /* Port 0 gives another port each time. */
        if (other->kind == listener.kind && strcmp(other->address, listener.address) == 0 &&
            strcmp(other->path, listener.path) == 0 && other->port == listener.port &&
            (listener.kind == CONFIG_LISTENER_UNIX || listener.port != 0)) {
            return config_refuse(source, "`%s`: `%.200s` is already among them", key->name, value);
        }
    }
    if (config->listener_count >= NAMED_LISTENERS_MAX) {
        return config_refuse(source, "`%s`: there may be at most %d", key->name,
                             NAMED_LISTENERS_MAX);
    }
    config->listeners[config->listener_count++] = listener;
    return 0;
}

/* Appends labels with commas between them to those that the host has. */
static int add_labels(const struct config_source *source, const struct config_key *key,
                      struct config_host *host, const char *value)
{
    while (*value != '\0') {
        const size_t piece = strcspn(value, ",");
        size_t length = piece;
        const char *why = NULL;
        const size_t used = strlen(host->here);

        while (length > 0 && value[length - 1] == ' ') {
            length--;
        }
        if (label_check(value, length, &why) != 0) {
            return config_refuse(source, "`%s`: `%.*s` is no label: %s", key->name,
                                 (int)(length > 200 ? 200 : length), value, why);
        }
        if (used + length + 1 >= sizeof(host->here)) {
            return config_refuse(source,
                                 "`%s`: all labels together may have %zu bytes; put more "
                                 "into a `here_file`",
                                 key->name, sizeof(host->here) - 1);
        }
        memcpy(host->here + used, value, length);
        memcpy(host->here + used + length, "\n", 2);
        value += piece;
        value += strspn(value, ", ");
    }
    return 0;
}

static int add_schedule(const struct config_source *source, const struct config_key *key,
                        struct config_host *host, const char *value)
{
    struct schedule_entry entry;

    if (schedule_parse(value, &entry) != 0) {
        return config_refuse(source,
                             "`%s` must be two different times and open, review or closed, such as "
                             "22:00-06:00 closed; not `%.200s`",
                             key->name, value);
    }
    if (host->schedule_count == SCHEDULE_MAX) {
        return config_refuse(source, "`%s`: there may be at most %d", key->name, SCHEDULE_MAX);
    }
    host->schedule[host->schedule_count++] = entry;
    return 0;
}

static int set_profile(const struct config_source *source, const struct config_key *key,
                       struct config_host *host, const char *value)
{
    const char *reason;

    if (profile_parse(value, strlen(value), &host->profile, &reason) != 0) {
        char sentence[PROFILE_SENTENCE_MAX];

        profile_explain(value, strlen(value), sentence);
        return config_refuse(source, "`%s`: `%.200s` is not a profile: %s", key->name, value,
                             sentence);
    }
    host->profile_line = source->line;
    return 0;
}

int config_set_key(const struct config_source *source, const struct config_key *key,
                   struct config *config, struct config_host *host, const char *value)
{
    void *base = key->section == CONFIG_SECTION_HOST ? (void *)host : (void *)config;

    if (value[0] == '\0' && key->type != CONFIG_TYPE_CHOICE) {
        return config_refuse(source, "`%s` has no value; it must be %s", key->name,
                             config_type_example(key->type));
    }
    switch (key->type) {
    case CONFIG_TYPE_CHOICE:
        return set_choice(source, key, base, value);
    case CONFIG_TYPE_PATH:
        return config_value_parse_path(source, key->name, value, (char *)base + key->offset,
                                       key->width);
    case CONFIG_TYPE_USER:
    case CONFIG_TYPE_GROUP:
        return config_value_parse_name(source, key->type, key->name, value,
                                       (char *)base + key->offset, key->width);
    case CONFIG_TYPE_LISTENER:
        return add_listener(source, key, config, value);
    case CONFIG_TYPE_SCHEDULE:
        return add_schedule(source, key, host, value);
    case CONFIG_TYPE_LABELS:
        return add_labels(source, key, host, value);
    case CONFIG_TYPE_PROFILE:
        return set_profile(source, key, host, value);
    default:
        return set_number(source, key, base, value);
    }
}
