/* SPDX-License-Identifier: Apache-2.0 */
/* store_tally: what the store has, counted and summed up, to be held against what is in memory. */
#ifndef DAEMON_STORE_TALLY_H
#define DAEMON_STORE_TALLY_H

#include "daemon/store/database.h"

/*
 * Fills op->tallies within the transaction. Rows of hosts that no tally is for do not count. An
 * SQLite result code. O(messages), without a look at payloads.
 */
int store_tally(struct store_database *database, struct persist_op *op);

#endif
