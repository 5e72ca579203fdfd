/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/settings/table.h"

#include <assert.h>
#include <string.h>

void settings_put_defaults(const struct settings_table *table, unsigned section, void *base)
{
    for (size_t i = 0; i < table->key_count; i++) {
        const struct settings_key *key = &table->keys[i];
        uint64_t value = 0;

        if (key->section != section || key->standard == NULL || !settings_is_number(key)) {
            continue;
        }
        if (key->type == SETTINGS_TYPE_CHOICE) {
            while (strcmp(key->words[value], key->standard) != 0) {
                value++;
            }
        } else {
            int rc = settings_parse_number(key->type, key->standard, &value);

            assert(rc == 0);
            (void)rc; /* the tests parse every default of the table, so this cannot fail */
        }
        settings_put(key, base, value);
    }
}

int settings_refuse_unknown(const struct settings_source *source,
                            const struct settings_table *table, unsigned section, const char *name)
{
    const struct settings_key *nearest = settings_nearest(table, section, name);
    const char *here = table->sections[section].name;
    char known[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < table->gone_count; i++) {
        if (table->gone[i].section == section && strcmp(table->gone[i].name, name) == 0) {
            return settings_refuse(source, "`%s` in [%s] is no key any more: %s", name, here,
                                   table->gone[i].why);
        }
    }
    for (unsigned i = 0; i < table->section_count; i++) {
        const struct settings_section *other = &table->sections[i];

        /* The key may be right, but in the wrong section. */
        if (i != section && settings_find(table, i, name) != NULL) {
            return settings_refuse(source, "`%s` does not belong into [%s] but into [%s%s%s]", name,
                                   here, other->name, other->label != NULL ? " " : "",
                                   other->label != NULL ? other->label : "");
        }
    }
    if (nearest != NULL) {
        return settings_refuse(source, "unknown key `%.100s` in [%s]; did you mean `%s`?", name,
                               here, nearest->name);
    }
    for (size_t i = 0; i < table->key_count; i++) {
        if (table->keys[i].section == section && used < sizeof(known)) {
            used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
                                     used > 0 ? ", " : "", table->keys[i].name);
        }
    }
    return settings_refuse(source, "unknown key `%.100s` in [%s]; there are %s", name, here, known);
}

static int key_set_choice(const struct settings_source *source, const struct settings_key *key,
                          void *base, const char *value)
{
    char known[256] = "";
    size_t used = 0;

    for (size_t i = 0; key->words[i] != NULL; i++) {
        if (strcmp(key->words[i], value) == 0) {
            settings_put(key, base, i);
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
    return settings_refuse(source, "`%s` must be %s; not `%.200s`", key->name, known, value);
}

static int key_set_number(const struct settings_source *source, const struct settings_key *key,
                          void *base, const char *value)
{
    uint64_t number;
    char min[SETTINGS_NUMBER_BYTES];
    char max[SETTINGS_NUMBER_BYTES];

    if (settings_parse_number(key->type, value, &number) != 0) {
        return settings_refuse(source, "`%s` must be %s; not `%.200s`", key->name,
                               settings_type_form(key->type), value);
    }
    if (number < key->min || number > key->max) {
        settings_print_value(key, key->min, min);
        settings_print_value(key, key->max, max);
        return settings_refuse(source, "`%s` must be from %s to %s; not %.200s", key->name, min,
                               max, value);
    }
    settings_put(key, base, number);
    return 0;
}

int settings_set(const struct settings_source *source, const struct settings_key *key, void *base,
                 const char *value)
{
    char *field = (char *)base + key->offset;

    if (value[0] == '\0' && key->type != SETTINGS_TYPE_CHOICE) {
        return settings_refuse(source, "`%s` has no value; it must be %s", key->name,
                               settings_key_form(key));
    }
    switch (key->type) {
    case SETTINGS_TYPE_CHOICE:
        return key_set_choice(source, key, base, value);
    case SETTINGS_TYPE_PATH:
        return settings_parse_path(source, key->name, value, field, key->width);
    case SETTINGS_TYPE_USER:
    case SETTINGS_TYPE_GROUP:
    case SETTINGS_TYPE_NAME:
        return settings_parse_name(source, key->type, key->name, value, field, key->width);
    case SETTINGS_TYPE_OWN:
        return key->own->set(source, key, base, value);
    default:
        return key_set_number(source, key, base, value);
    }
}

int settings_check_unchanged(const struct settings_source *source, const struct settings_key *key,
                             const void *running, const void *fresh)
{
    char old[SETTINGS_NUMBER_BYTES];
    char new[SETTINGS_NUMBER_BYTES];

    switch (key->type) {
    case SETTINGS_TYPE_PATH:
    case SETTINGS_TYPE_USER:
    case SETTINGS_TYPE_GROUP:
    case SETTINGS_TYPE_NAME:
        if (strcmp((const char *)running + key->offset, (const char *)fresh + key->offset) == 0) {
            return 0;
        }
        if (((const char *)fresh + key->offset)[0] == '\0') {
            return settings_refuse(source, "`%s` is not set any more, which needs a restart",
                                   key->name);
        }
        return settings_refuse(source, "`%s` changed to %.400s, which needs a restart", key->name,
                               (const char *)fresh + key->offset);
    default:
        if (settings_get(key, running) == settings_get(key, fresh)) {
            return 0;
        }
        settings_print_value(key, settings_get(key, running), old);
        settings_print_value(key, settings_get(key, fresh), new);
        return settings_refuse(source, "`%s` changed from %s to %s, which needs a restart",
                               key->name, old, new);
    }
}
