/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/settings/table.h"

#include <assert.h>
#include <string.h>

#include "core/base/word.h"

bool settings_is_number(const struct settings_key *key)
{
    return key->type <= SETTINGS_TYPE_CHOICE;
}

uint64_t settings_get(const struct settings_key *key, const void *base)
{
    const char *field = (const char *)base + key->offset;
    uint8_t narrow;
    uint32_t word;
    uint64_t wide;

    assert(settings_is_number(key));
    switch (key->width) {
    case sizeof(narrow):
        memcpy(&narrow, field, sizeof(narrow));
        return narrow;
    case sizeof(word):
        memcpy(&word, field, sizeof(word));
        return word;
    default:
        assert(key->width == sizeof(wide));
        memcpy(&wide, field, sizeof(wide));
        return wide;
    }
}

void settings_put(const struct settings_key *key, void *base, uint64_t value)
{
    char *field = (char *)base + key->offset;
    uint8_t narrow = (uint8_t)value;
    uint32_t word = (uint32_t)value;

    assert(settings_is_number(key));
    switch (key->width) {
    case sizeof(narrow):
        memcpy(field, &narrow, sizeof(narrow));
        break;
    case sizeof(word):
        memcpy(field, &word, sizeof(word));
        break;
    default:
        assert(key->width == sizeof(value));
        memcpy(field, &value, sizeof(value));
    }
}

void settings_print_value(const struct settings_key *key, uint64_t value, char *out)
{
    if (key->type == SETTINGS_TYPE_CHOICE) {
        size_t length = strlen(key->words[value]);

        assert(length < SETTINGS_NUMBER_BYTES);
        memcpy(out, key->words[value], length + 1);
    } else {
        settings_print_number(key->type, value, out);
    }
}

const char *settings_key_type(const struct settings_key *key)
{
    return key->own != NULL ? key->own->name : settings_type_name(key->type);
}

const char *settings_key_form(const struct settings_key *key)
{
    return key->own != NULL ? key->own->form : settings_type_form(key->type);
}

const struct settings_key *settings_find(const struct settings_table *table, unsigned section,
                                         const char *name)
{
    for (size_t i = 0; i < table->key_count; i++) {
        if (table->keys[i].section == section && strcmp(table->keys[i].name, name) == 0) {
            return &table->keys[i];
        }
    }
    return NULL;
}

const struct settings_key *settings_nearest(const struct settings_table *table, unsigned section,
                                            const char *name)
{
    const struct settings_key *nearest = NULL;
    size_t nearest_distance = 0;

    for (size_t i = 0; i < table->key_count; i++) {
        const struct settings_key *key = &table->keys[i];
        size_t distance = word_distance(name, key->name);

        /*
         * An edit distance of up to 1 plus a third of the key's length is taken for a typing error;
         * a greater one means another word.
         */
        if (key->section == section && distance <= 1 + strlen(key->name) / 3 &&
            (nearest == NULL || distance < nearest_distance)) {
            nearest = key;
            nearest_distance = distance;
        }
    }
    return nearest;
}
