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
#pragma once

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

/* --- key -------------------------------------------------------------------------------------- */

/* settings_key: sets the value of one key, and compares the values of two configurations. */

/*
 * Sets each number and each choice of a section that has a default (`standard`), in the struct of
 * the section. All other fields are left unchanged.
 */
void settings_put_defaults(const struct settings_table *table, unsigned section, void *base);

/*
 * Checks a value and stores the value in its field. Returns 0, or SETTINGS_REFUSED with a sentence.
 */
int settings_set(const struct settings_source *source, const struct settings_key *key, void *base,
                 const char *value);

/*
 * Writes a sentence that the section has no key `name`. The sentence names another section that has
 * the key, or a similar key, or the keys of the section. Returns SETTINGS_REFUSED.
 */
int settings_refuse_unknown(const struct settings_source *source,
                            const struct settings_table *table, unsigned section, const char *name);

/*
 * Checks for a reload that a key has the same value in both structs. Returns 0; or SETTINGS_REFUSED
 * with a sentence that the change needs a restart. Not for SETTINGS_TYPE_OWN.
 */
int settings_check_unchanged(const struct settings_source *source, const struct settings_key *key,
                             const void *running, const void *fresh);

/* --- print ------------------------------------------------------------------------------------ */

/* settings_print: writes a configuration as a file, and the reference of all keys. */

/*
 * Writes a section with the values of the struct `base`, in the form of a file. `label` is the
 * label of the heading; NULL: no label. A path that is too long for a line becomes a comment.
 */
void settings_print_section(const struct settings_table *table, unsigned section, const char *label,
                            const void *base, FILE *out);

/* Writes the reference of all keys, as Markdown or as mdoc(7) for a manual page. */
void settings_print_markdown(const struct settings_table *table, FILE *out);
void settings_print_mdoc(const struct settings_table *table, FILE *out);

/* Writes an example file. For each key it has comments: the help, and the key with its default or
 * its example. */
void settings_print_example(const struct settings_table *table, FILE *out);

/* --- file ------------------------------------------------------------------------------------- */

/*
 * settings_file: reads a configuration file into the structs of a program. A file has lines `key =
 * value` under headings [section]. The library inih splits the lines.
 */

/* The text between the brackets of a heading: [section label]. The label has no terminating NUL. */
struct settings_heading {
    unsigned section;
    const char *label; /* checked to be empty where the section has no label */
    size_t label_bytes;
};

/* Where the values of a file go. */
struct settings_target {
    const struct settings_table *table;
    void *context; /* of `enter` */
    /*
     * Called for each heading that the table allows. Sets *out_base to the struct for the values of
     * the section; this struct must stay in place until the next heading or the end of
     * settings_parse. Returns 0; or SETTINGS_REFUSED with a sentence, and then the keys of the
     * section are skipped.
     */
    int (*enter)(void *context, const struct settings_source *source,
                 const struct settings_heading *heading, void **out_base);
    /*
     * For each key, in the order of table->keys: the line that set the key last; 0: none. The array
     * has table->key_count elements, all zero before settings_parse. At the heading of a section
     * with a label the lines of its keys are set to 0 again.
     */
    unsigned *key_lines;
};

/*
 * Parses the text of a file. The text has `length` bytes; `name` is the file name for sentences.
 * Returns 0; SETTINGS_REFUSED for a wrong text; or -ERR_NOMEM. With SETTINGS_REFUSED out_reason
 * (SETTINGS_REASON_BYTES) has one line for each of the first errors: "name:line: what is wrong and
 * what would be right". If out_reason has no space for all errors, its last line says that there
 * are more. On failure the structs may have some of the values.
 */
int settings_parse(const struct settings_target *target, const char *text, size_t length,
                   const char *name, char *out_reason);

/*
 * Reads a file into memory. Returns 0 with the text, which the caller frees; SETTINGS_REFUSED if
 * the file cannot be read; or -ERR_NOMEM. A file that is too large is cut one byte above the limit
 * of settings_parse, which then refuses it.
 */
int settings_read(const char *file, char **out_text, size_t *out_length, char *out_reason);

/*
 * Parses the text between the brackets of a heading. *out_heading points into `text`. Returns 0, or
 * SETTINGS_REFUSED with a sentence.
 */
int settings_read_heading(const struct settings_source *source, const struct settings_table *table,
                          const char *text, size_t length, struct settings_heading *out_heading);
