/* SPDX-License-Identifier: Apache-2.0 */
/* settings_key: sets the value of one key, and compares the values of two configurations. */
#ifndef DAEMON_SETTINGS_KEY_H
#define DAEMON_SETTINGS_KEY_H

#include "daemon/settings/table.h"

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

#endif
