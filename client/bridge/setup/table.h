/* SPDX-License-Identifier: Apache-2.0 */
/* table: the keys of hearsay-bridge. */
#ifndef CLIENT_BRIDGE_SETUP_TABLE_H
#define CLIENT_BRIDGE_SETUP_TABLE_H

#include "daemon/settings/table.h"

extern const struct settings_table bridge_table;

#endif
