/* SPDX-License-Identifier: Apache-2.0 */
/* settings_print: writes a configuration as a file, and the reference of all keys. */
#ifndef DAEMON_SETTINGS_PRINT_H
#define DAEMON_SETTINGS_PRINT_H

#include "daemon/settings/table.h"

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

#endif
