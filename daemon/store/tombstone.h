/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_tombstone: the tombstones of messages that are gone. A tombstone refuses a deposit of its
 * id until the tombstone expires.
 *
 * All functions run within a transaction. Results are SQLite's codes.
 */
#ifndef DAEMON_STORE_TOMBSTONE_H
#define DAEMON_STORE_TOMBSTONE_H

#include "daemon/store/database.h"
#include "daemon/store/row.h"

/*
 * Stores a tombstone for the host, the id and the epoch of `message`, which expires at
 * `expires_ms`, or, if others are told, when the tombstone of before does, if that is later. It is
 * deleted earlier if there are more than marks_max. `why` is PERSIST_WHY_WITHDRAWN, or
 * PERSIST_WHY_REMOVED, which also stores that the operator has removed the message.
 */
int store_tombstone_put(struct store_database *database, const struct persist_message *message,
                        int64_t expires_ms, enum persist_why why);

/*
 * Finds the tombstone of a message, expired or not. SQLITE_ROW: found, and without a seq `why` is
 * PERSIST_WHY_REMOVED or PERSIST_WHY_WITHDRAWN, too. SQLITE_DONE: there is none.
 */
int store_tombstone_find(struct store_database *database, const struct persist_message *message,
                         struct store_tombstone *out_tombstone);

/* Deletes the tombstone, and that the operator removed the message. */
int store_tombstone_lift(struct store_database *database, const struct persist_message *message);

/* A part of an expiry: deletes tombstones that have expired, as `limit` allows. */
int store_tombstone_expire(struct store_database *database, struct persist_op *op);

/* A part of PERSIST_SHIFT: moves the end of each tombstone that had not expired. */
int store_tombstone_shift(struct store_database *database, const struct persist_op *op);

/* A part of PERSIST_REPLICATE: gives a number to each tombstone of the host without one. */
int store_tombstone_number(struct store_database *database, uint32_t host);

#endif
