/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_file: reads a configuration file into the structs of a program. A file has lines `key =
 * value` under headings [section]. The library inih splits the lines.
 */
#ifndef DAEMON_SETTINGS_FILE_H
#define DAEMON_SETTINGS_FILE_H

#include "daemon/settings/table.h"

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

#endif
