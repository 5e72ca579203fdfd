/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_moderation: the decisions of the operator and the reports of readers: the tables
 * `moderation` and `rule`, within the transaction of an operation. Results are SQLite's codes.
 */
#ifndef DAEMON_STORE_MODERATION_H
#define DAEMON_STORE_MODERATION_H

#include "daemon/store/database.h"

/* Operations: each fills its outcome. */
int store_moderation_remove(struct store_database *database, struct persist_op *op);
int store_moderation_apply(struct store_database *database, struct persist_op *op,
                           struct store_times *out_times);
int store_moderation_put_rule(struct store_database *database, struct persist_op *op);
int store_moderation_drop_rule(struct store_database *database, struct persist_op *op);

/* Stores the state of a new message that is not PERSIST_SHOWN. */
int store_moderation_begin(struct store_database *database, int64_t seq, enum persist_state state);

/* A message's state and reports; PERSIST_SHOWN and 0 when the table has no row for it. */
int store_moderation_state(struct store_database *database, int64_t seq,
                           enum persist_state *out_state, uint32_t *out_reports);

#endif
