/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_table: every key there is, once. Parsing, checking, printing, reloading and the reference
 * are loops over this table.
 */
#ifndef DAEMON_CONFIG_TABLE_H
#define DAEMON_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/config/config.h"
#include "daemon/config/value.h"

enum config_section { CONFIG_SECTION_DAEMON, CONFIG_SECTION_LIMITS, CONFIG_SECTION_HOST };

enum {
    CONFIG_SECTIONS = 3,
    CONFIG_FRAME_REST_BYTES = 2048 /* what a frame has besides the payload: filter, ids, headers */
};

struct config_section_text {
    const char *name; /* as in a file; `host` has a name of its own after it */
    const char *help; /* a sentence or two */
};

struct config_key {
    enum config_section section;
    const char *name;
    size_t offset; /* in struct config, or in struct config_host */
    size_t width;  /* bytes of the number there: 1, 4 or 8 */
    enum config_type type;
    uint64_t min; /* numbers: range, in the unit of the field */
    uint64_t max;
    const char *unit;         /* counts: what is counted */
    const char *const *words; /* choices, ended by NULL; the field holds the word's number */
    const char *standard;     /* the default as text; NULL: described in standard_note */
    const char *standard_note;
    const char *example; /* one, for the example file: paths, and derived numbers */
    bool reloadable;     /* SIGHUP takes it over */
    bool repeatable;     /* each line adds one */
    const char *help;
};

extern const struct config_section_text config_sections[CONFIG_SECTIONS];
extern const struct config_key config_keys[];
extern const size_t config_key_count;

/* Whether the value is one of the six kinds of number or a choice: config_key_get and _put. */
bool config_key_is_number(const struct config_key *key);

/* The number in the field; `base` is the struct config, or the struct config_host. */
uint64_t config_key_get(const struct config_key *key, const void *base);
void config_key_put(const struct config_key *key, void *base, uint64_t value);

/* Writes the number as in a file (CONFIG_NUMBER_BYTES). */
void config_key_print(const struct config_key *key, uint64_t value, char *out);

/* The key of that name in the section, or NULL. */
const struct config_key *config_key_find(enum config_section section, const char *name);

/* The key of the section whose name is nearest to a mistyped one; NULL when none is near. */
const struct config_key *config_key_nearest(enum config_section section, const char *name);

/*
 * How many letters must be inserted, deleted, changed or swapped with their neighbour to make one
 * text the other; at most 64 bytes of each are looked at.
 */
size_t config_edit_distance(const char *a, const char *b);

#endif
