/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_moderation: operations on the table `moderation`, which stores decisions of the operator
 * and reports of readers. All functions run within a transaction. Results are SQLite's
 * codes.
 */
#ifndef DAEMON_STORE_MODERATION_H
#define DAEMON_STORE_MODERATION_H

#include "daemon/store/database.h"

/* Each of the three functions carries out one kind of operation, and sets its outcome. */
int store_moderation_remove(struct store_database *database, struct persist_op *op);
int store_moderation_withhold(struct store_database *database, struct persist_op *op,
                              struct store_times *out_times);
int store_moderation_apply(struct store_database *database, struct persist_op *op,
                           struct store_times *out_times);

/* A part of an expiry: deletes removed messages whose destroy_ms has come, as `limit` allows. */
int store_moderation_destroy(struct store_database *database, struct persist_op *op);

/* A part of PERSIST_SHIFT: moves the times of each removal since shift_from_ms. */
int store_moderation_shift(struct store_database *database, const struct persist_op *op);

#endif
