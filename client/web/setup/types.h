/* SPDX-License-Identifier: Apache-2.0 */
/* types: types of values that only hearsay-web has. Each is for one field of struct web_config. */
#pragma once

#include "daemon/settings/table.h"

struct web_config_listener;

/* Checks that guests reach no listener for metrics, and that one listener is for guests. 0, or
 * SETTINGS_REFUSED with a line. */
int web_metrics_check(const struct web_config_listener *listeners, size_t count,
                      const struct settings_source *source);

extern const struct settings_own web_type_listener; /* struct web_config: listeners */
extern const struct settings_own web_type_name;     /* struct web_config: names */
extern const struct settings_own web_type_text;     /* any array of char */
extern const struct settings_own web_type_rules;    /* struct web_config: rules */
extern const struct settings_own web_type_topics;   /* struct web_config: topics */

extern const struct settings_own web_type_prefix; /* struct web_config: allow */
extern const struct settings_own web_type_hash;   /* struct web_config: password */
