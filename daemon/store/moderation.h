/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_moderation: operations on the tables `moderation` and `rule`, which store decisions of the
 * operator and reports of readers. All functions run within a transaction. Results are SQLite's
 * codes.
 */
#ifndef DAEMON_STORE_MODERATION_H
#define DAEMON_STORE_MODERATION_H

#include "daemon/store/database.h"

/* Each of the five functions carries out one kind of operation, and sets its outcome. */
int store_moderation_remove(struct store_database *database, struct persist_op *op);
int store_moderation_withhold(struct store_database *database, struct persist_op *op,
                              struct store_times *out_times);
int store_moderation_apply(struct store_database *database, struct persist_op *op,
                           struct store_times *out_times);
int store_moderation_put_rule(struct store_database *database, struct persist_op *op);
int store_moderation_drop_rule(struct store_database *database, struct persist_op *op);

/* Deletes the notices that have ended, within the current transaction. An SQLite result code. */
int store_moderation_expire_rules(struct store_database *database, int64_t now_ms);

/* A part of an expiry: deletes removed messages whose destroy_ms has come, as `limit` allows. */
int store_moderation_destroy(struct store_database *database, struct persist_op *op);

/* A part of PERSIST_SHIFT: moves the times of each removal since shift_from_ms. */
int store_moderation_shift(struct store_database *database, const struct persist_op *op);

/* Stores the state of a new message that is not PERSIST_SHOWN. */
int store_moderation_begin(struct store_database *database, int64_t seq, enum persist_state state);

/*
 * Reads the state and the number of reports of a message. A message without a row in `moderation`
 * has PERSIST_SHOWN and 0. Returns SQLITE_CORRUPT if the row is damaged.
 */
int store_moderation_state(struct store_database *database, int64_t seq,
                           enum persist_state *out_state, uint32_t *out_reports);

#endif
