/* SPDX-License-Identifier: Apache-2.0 */
/* types: types of values that only hearsay-web has. Each is for one field of struct web_config. */
#ifndef CLIENT_WEB_SETUP_TYPES_H
#define CLIENT_WEB_SETUP_TYPES_H

#include "daemon/settings/table.h"

extern const struct settings_own web_type_listener; /* struct web_config: listeners */
extern const struct settings_own web_type_name;     /* struct web_config: names */
extern const struct settings_own web_type_text;     /* any array of char */
extern const struct settings_own web_type_rules;    /* struct web_config: rules */
extern const struct settings_own web_type_host;     /* struct web_config: host */

extern const struct settings_own web_type_prefix; /* struct web_config: allow */
extern const struct settings_own web_type_hash;   /* struct web_config: password */

#endif
