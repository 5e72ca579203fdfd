/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_ops: applies each kind of operation (persist_kind) to the database. Deposits are in
 * store_deposit, moderation is in store_moderation, and setting the clock is in store_shift.
 *
 * Results are SQLite's codes. An outcome of an operation, such as a conflict, is no failure.
 */
#ifndef DAEMON_STORE_OPS_H
#define DAEMON_STORE_OPS_H

#include "daemon/store/database.h"

/*
 * Applies one operation within the current transaction and sets its outcome. A deposit with the
 * outcome PERSIST_DUPLICATE sets *out_times; a PERSIST_MODERATE that was applied sets `state` and
 * `reports` of *out_times. If the function fails, the caller must roll the transaction back. The
 * operation must stay in place until the transaction ends, or until store_database_flush.
 */
int store_ops_apply(struct store_database *database, struct persist_op *op,
                    struct store_times *out_times);

#endif
