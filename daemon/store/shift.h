/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_shift: PERSIST_SHIFT. The host's clock is set forward, and with it the times of messages,
 * epochs and tombstones. A transaction does it, so after a crash either all times have moved or
 * none.
 */
#ifndef DAEMON_STORE_SHIFT_H
#define DAEMON_STORE_SHIFT_H

#include "daemon/store/database.h"

/*
 * Applies the operation within the current transaction. Damaged messages, rules and decisions
 * stay as they are. Applied
 * a second time with the same clock, the operation moves nothing that the first time has moved,
 * unless messages came over a longer time than shift_ms. Returns an SQLite result code; if it is
 * not SQLITE_OK, the caller must roll the transaction back. O(messages from the number
 * op->message.seq on)
 */
int store_shift_apply(struct store_database *database, struct persist_op *op);

#endif
