/* SPDX-License-Identifier: Apache-2.0 */
/* store_tally: counts and sums over all messages, for a comparison with the indexes in memory. */
#ifndef DAEMON_STORE_TALLY_H
#define DAEMON_STORE_TALLY_H

#include "daemon/store/database.h"

/*
 * Fills op->tallies within the transaction. Messages of hosts without a tally do not count. An
 * SQLite result code. O(messages); payloads are not read.
 */
int store_tally(struct store_database *database, struct persist_op *op);

#endif
