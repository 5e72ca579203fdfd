/* SPDX-License-Identifier: Apache-2.0 */
/* table: the keys of hearsay-web. */
#pragma once

#include "daemon/settings/table.h"

extern const struct settings_table web_table;
