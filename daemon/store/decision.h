/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_decision: the table `decision`, the list of the operator's decisions, and the table
 * `copy_decision`, by which a copy of a host keeps its operator's decisions in effect until the
 * owner has confirmed them. An operation that changes something stores its decision in its own
 * transaction, so that the file never has one without the other. Results are SQLite's codes.
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
int store_decision_expire(struct store_database *database, struct persist_op *op);

/* A part of PERSIST_SHIFT: moves the times of decisions since op->shift_from_ms. */
int store_decision_shift(struct store_database *database, const struct persist_op *op);

/* Carries out a read of the kind PERSIST_READ_DECISIONS. */
int store_decision_read(sqlite3 *db, struct persist_read *read);

/* --- decisions at copies: the table `copy_decision` ------------------------------------------- */

/*
 * The operation's decision waits for the owner, if decision->waits says so; else nothing is done.
 * The first one: a decision about the message of the operation, which is now in `state` (enum
 * persist_state, or STORE_COPY_REMOVED). The second one: a decision about the rule, or to drop it.
 */
int store_copy_await_message(struct store_database *database, const struct persist_op *op,
                             uint32_t state, int64_t expires_ms);
int store_copy_await_rule(struct store_database *database, const struct persist_op *op,
                          const struct persist_rule *rule);

/*
 * Finds what is kept of a decision about the message or rule that the operation, a PERSIST_APPLY,
 * is about. SQLITE_ROW: its value is the operation's. SQLITE_DONE: nothing is kept.
 */
int store_copy_find(struct store_database *database, const struct persist_op *op,
                    struct store_copy *out_copy);

/* Writes the row, in place of the one about the same message or rule. */
int store_copy_put(struct store_database *database, const struct store_copy *copy);

/* Takes note of the decision that the operation, a PERSIST_APPLY, names, if it names one. */
int store_copy_note(struct store_database *database, const struct persist_op *op, int64_t until_ms);

/* Deletes the row. */
int store_copy_drop(struct store_database *database, const struct store_copy *copy);

/* A part of an expiry: deletes the rows whose until_ms has come. PERSIST_SHIFT does not move these
 * times: at a copy they are the owner's, and at an owner an early end does no harm. */
int store_copy_expire(struct store_database *database, struct persist_op *op);

#endif
