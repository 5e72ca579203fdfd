/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_decision: the table `decision`, the list of the operator's decisions. An operation that
 * changes something stores its decision in its own transaction, so that the file never has one
 * without the other. Results are SQLite's codes.
 */
#ifndef DAEMON_STORE_DECISION_H
#define DAEMON_STORE_DECISION_H

#include "daemon/store/database.h"

/*
 * Stores the decision of the operation, if the operation has one. Deletes the oldest decision of
 * the host if there are more than PERSIST_DECISIONS_KEPT. `act` replaces the decision's own; NULL:
 * it stays.
 */
int store_decision_put(struct store_database *database, const struct persist_op *op,
                       const char *act, uint32_t reports);

/* A part of an expiry: deletes op->limit decisions at most that were made before
 * op->decided_before_ms. */
int store_decision_expire(struct store_database *database, const struct persist_op *op);

/* A part of PERSIST_SHIFT: moves the times of decisions since op->shift_from_ms. */
int store_decision_shift(struct store_database *database, const struct persist_op *op);

/* Carries out a read of the kind PERSIST_READ_DECISIONS. */
int store_decision_read(sqlite3 *db, struct persist_read *read);

#endif
