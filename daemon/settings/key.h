/* SPDX-License-Identifier: Apache-2.0 */
/* settings_key: one value into its field, and two values compared. */
#ifndef DAEMON_SETTINGS_KEY_H
#define DAEMON_SETTINGS_KEY_H

#include "daemon/settings/table.h"

/*
 * Puts the defaults of a section's numbers and choices into its struct. Other fields (paths, names,
 * own types) stay as they are.
 */
void settings_put_defaults(const struct settings_table *table, unsigned section, void *base);

/* Checks a value and puts it into its field. 0, or SETTINGS_REFUSED with the sentence. */
int settings_set(const struct settings_source *source, const struct settings_key *key, void *base,
                 const char *value);

/* Says that the section has no such key, and which one may have been meant. SETTINGS_REFUSED. */
int settings_refuse_unknown(const struct settings_source *source,
                            const struct settings_table *table, unsigned section, const char *name);

/*
 * For a reload: 0 when the key has the same value in both structs, else SETTINGS_REFUSED with a
 * sentence that a restart is needed. Not for SETTINGS_TYPE_OWN.
 */
int settings_check_unchanged(const struct settings_source *source, const struct settings_key *key,
                             const void *running, const void *fresh);

#endif
