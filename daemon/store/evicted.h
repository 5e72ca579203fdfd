/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_evicted: messages that went for new deposits, for those who have copies (persist_change).
 * The table `evicted` has rows of up to STORE_EVICTIONS_MAX messages, in the order of their
 * numbers. Unlike a tombstone an eviction refuses no deposit, and nobody searches for it by its id:
 * so a row is only appended. A tombstone would change a page of its own of the table, and another
 * one of an index.
 *
 * The messages of a transaction wait in memory until they fill a row, or the transaction is about
 * to be committed. A row for each message would cost a deposit a tenth of its time.
 *
 * A row goes when all its messages, and those of all rows before it, have expired, or when there
 * are too many messages. The id of an evicted message may be stored again: then whoever reads the
 * changes leaves the eviction out, unless the message that is stored now ends earlier (feed.c).
 *
 * All functions run within a transaction. Results are SQLite's codes.
 */
#ifndef DAEMON_STORE_EVICTED_H
#define DAEMON_STORE_EVICTED_H

#include "daemon/store/database.h"

/*
 * Notes that a message has gone which would have expired at `expires_ms`. Does nothing if others
 * are not told.
 */
int store_evicted_put(struct store_database *database, const struct persist_message *message,
                      int64_t expires_ms);

/*
 * Writes what was noted. Must be called before the commit. If the table has more than marks_max
 * messages then, its first rows go, about a tenth of the messages.
 */
int store_evicted_write(struct store_database *database);

/*
 * A part of an expiry: deletes the first rows until one has not expired. Deletes one row at least,
 * and no further one after op->limit messages.
 */
int store_evicted_expire(struct store_database *database, struct persist_op *op);

#endif
