/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_evict: which stored messages go with a deposit that was just inserted. Within store_ops,
 * and within its transaction.
 */
#ifndef DAEMON_STORE_EVICT_H
#define DAEMON_STORE_EVICT_H

#include "daemon/store/database.h"

/*
 * Deletes the messages that the operation has chosen, as far as they are there, and those that it
 * lets the store find: op->removed. When these are not enough, the deposit is taken back instead,
 * and the outcome is PERSIST_FULL. What SQLite said.
 */
int store_evict(struct store_database *database, struct persist_op *op);

#endif
