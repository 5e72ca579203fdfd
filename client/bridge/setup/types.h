/* SPDX-License-Identifier: Apache-2.0 */
/* types: types of values that only hearsay-bridge has. */
#ifndef CLIENT_BRIDGE_SETUP_TYPES_H
#define CLIENT_BRIDGE_SETUP_TYPES_H

#include "daemon/settings/table.h"

extern const struct settings_own bridge_type_nats;  /* struct bridge_config: nats */
extern const struct settings_own bridge_type_hosts; /* struct bridge_config: reader_hosts */
extern const struct settings_own bridge_type_name;  /* any array of BRIDGE_NAME_BYTES */

#endif
