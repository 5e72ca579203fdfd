/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_apply: PERSIST_APPLY, a state of another store, and PERSIST_REPLICATE, which says whether
 * the states of a host are numbered for others. Both run within a transaction. Results are
 * SQLite's codes.
 */
#ifndef DAEMON_STORE_APPLY_H
#define DAEMON_STORE_APPLY_H

#include "daemon/store/database.h"

/* With the outcome PERSIST_APPLIED sets *out_times. */
int store_apply_state(struct store_database *database, struct persist_op *op,
                      struct store_times *out_times);

int store_apply_replicate(struct store_database *database, struct persist_op *op);

#endif
