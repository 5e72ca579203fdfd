/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_table: describes the configuration of a program as a table with one row for each key. By
 * this table, the functions of this folder parse, check and print a configuration, and print the
 * reference.
 *
 * The values of a section are in a struct of the program. Several sections may share a struct. A
 * row has the offset of its field in the struct of its section. The functions get a pointer to this
 * struct as `base`.
 */
#ifndef DAEMON_SETTINGS_TABLE_H
#define DAEMON_SETTINGS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/settings/value.h"

struct settings_key;

/* A type that only one program has. */
struct settings_own {
    const char *name; /* of the type, for the reference, for example `labels` */
    const char *form; /* as settings_type_form */
    /*
     * Parses `value` and stores it in the struct `base`. Returns 0, or SETTINGS_REFUSED with a
     * sentence in source->reason.
     */
    int (*set)(const struct settings_source *source, const struct settings_key *key, void *base,
               const char *value);
    /* Writes the field as lines `key = value`, or as comments. */
    void (*print)(const struct settings_key *key, const void *base, FILE *out);
};

struct settings_key {
    unsigned section; /* a place in settings_table.sections */
    const char *name;
    size_t offset; /* in the struct of the section */
    size_t width;  /* bytes there; of a number 1, 4 or 8 */
    enum settings_type type;
    uint64_t min; /* numbers: range, in the unit of the field */
    uint64_t max;
    const char *unit;               /* counts: what is counted */
    const char *const *words;       /* choices, ended by NULL; the field holds the word's number */
    const struct settings_own *own; /* for SETTINGS_TYPE_OWN */
    const char *standard;           /* the default as text; NULL: standard_note describes it */
    const char *standard_note;
    const char *example; /* value in the example file if `standard` is NULL; several values are
                            lines */
    bool reloadable;     /* SIGHUP takes it over */
    bool repeatable;     /* each line adds one */
    const char *help;
};

struct settings_section {
    const char *name;    /* as in a file: [name] */
    const char *label;   /* what the label of a heading [name LABEL] is called; a file may have
                            several such sections; NULL: the heading is [name] */
    const char *example; /* a label, for the example file */
    const char *help;    /* a sentence or two */
};

/* A key that there was once: a file that still has it is told why it went. */
struct settings_gone {
    unsigned section;
    const char *name;
    const char *why; /* continues "`name` in [section] is no key any more: " */
};

struct settings_table {
    const struct settings_section *sections;
    size_t section_count;
    const struct settings_key *keys; /* in the order in which they are printed */
    size_t key_count;
    const struct settings_gone *gone;
    size_t gone_count;
};

/*
 * Whether the value of a key is a number or a choice. Only such keys may be passed to
 * settings_get and settings_put.
 */
bool settings_is_number(const struct settings_key *key);

/* The number in the field. */
uint64_t settings_get(const struct settings_key *key, const void *base);
void settings_put(const struct settings_key *key, void *base, uint64_t value);

/* Writes a number or a choice in the form of a configuration file (SETTINGS_NUMBER_BYTES). */
void settings_print_value(const struct settings_key *key, uint64_t value, char *out);

/*
 * settings_key_type returns the name of a key's type, for example `size`. settings_key_form returns
 * a phrase that says how a value of the key is written, mostly with an example.
 */
const char *settings_key_type(const struct settings_key *key);
const char *settings_key_form(const struct settings_key *key);

/* The key of that name in the section, or NULL. */
const struct settings_key *settings_find(const struct settings_table *table, unsigned section,
                                         const char *name);

/*
 * Returns the key of the section whose name is most similar to a mistyped name; NULL: no key is
 * similar.
 */
const struct settings_key *settings_nearest(const struct settings_table *table, unsigned section,
                                            const char *name);

#endif
