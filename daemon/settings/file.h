/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_file: a configuration file, from text into the structs of a program. The form is
 * `key = value` under a [section]; inih splits the lines.
 */
#ifndef DAEMON_SETTINGS_FILE_H
#define DAEMON_SETTINGS_FILE_H

#include "daemon/settings/table.h"

/* What stands between the brackets of a heading: [section label]. Not terminated by a NUL. */
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
     * A heading begins a section. Gives the struct that its keys go to, which must stay in place
     * until the next heading. 0, or SETTINGS_REFUSED with a sentence: then the keys of this section
     * are passed over.
     */
    int (*enter)(void *context, const struct settings_source *source,
                 const struct settings_heading *heading, void **out_base);
    /* Where each key was set last, by its place in table->keys; 0: not in the file. The caller's,
       zeroed; table->key_count of them. A section with a label begins anew with 0. */
    unsigned *key_lines;
};

/*
 * Reads the text of a file (`length` bytes; `name` is for sentences). 0; SETTINGS_REFUSED with
 * "name:line: what is wrong and what would be right" in out_reason (SETTINGS_REASON_BYTES), a line
 * for each error; or -ERR_NOMEM. On failure the structs may hold some of the values.
 */
int settings_parse(const struct settings_target *target, const char *text, size_t length,
                   const char *name, char *out_reason);

/*
 * Reads a file into memory. 0 with its text, which the caller frees; SETTINGS_REFUSED when it
 * cannot be read; or -ERR_NOMEM. Of a file that is too large, one byte more than the most that
 * settings_parse accepts.
 */
int settings_read(const char *file, char **out_text, size_t *out_length, char *out_reason);

/* Reads the text between the brackets of a heading, which *out_heading borrows. 0, or
   SETTINGS_REFUSED. */
int settings_read_heading(const struct settings_source *source, const struct settings_table *table,
                          const char *text, size_t length, struct settings_heading *out_heading);

#endif
