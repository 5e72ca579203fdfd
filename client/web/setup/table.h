/* SPDX-License-Identifier: Apache-2.0 */
/* table: the keys of hearsay-web. */
#ifndef CLIENT_WEB_SETUP_TABLE_H
#define CLIENT_WEB_SETUP_TABLE_H

#include "daemon/settings/table.h"

extern const struct settings_table web_table;

#endif
