/* SPDX-License-Identifier: Apache-2.0 */
/* settings_print: a configuration as a file, and the reference of all keys. */
#ifndef DAEMON_SETTINGS_PRINT_H
#define DAEMON_SETTINGS_PRINT_H

#include "daemon/settings/table.h"

/*
 * Writes a section with the values of `base`, as a file that would give them again. `label`: of
 * [section label]; NULL: none. A path too long for a line becomes a comment.
 */
void settings_print_section(const struct settings_table *table, unsigned section, const char *label,
                            const void *base, FILE *out);

/* Write the reference of all keys: Markdown, or mdoc(7) for the manual page. */
void settings_print_markdown(const struct settings_table *table, FILE *out);
void settings_print_mdoc(const struct settings_table *table, FILE *out);

/* Writes a file in which every key is commented out at its default or example. */
void settings_print_example(const struct settings_table *table, FILE *out);

#endif
