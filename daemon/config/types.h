/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_types: types of values that only hearsayd has. Each type is for one field of one struct.
 */
#ifndef DAEMON_CONFIG_TYPES_H
#define DAEMON_CONFIG_TYPES_H

#include "daemon/settings/table.h"

/* Whether a text may be the name of a host or of a hood. */
bool config_type_is_name(const char *name, size_t length);

extern const struct settings_own config_type_listener; /* struct config: listeners */
extern const struct settings_own config_type_labels;   /* struct config_host: here */
extern const struct settings_own config_type_schedule; /* struct config_host: schedule */
extern const struct settings_own config_type_profile;  /* struct config_host: profile */
extern const struct settings_own config_type_hood;     /* struct config_host: hood */

#endif
