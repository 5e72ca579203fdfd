/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_evict: deletes messages for a deposit that was just inserted, within its transaction.
 */
#ifndef DAEMON_STORE_EVICT_H
#define DAEMON_STORE_EVICT_H

#include "daemon/store/database.h"

/*
 * Deletes the messages of op->chosen that are there, and finds and deletes others as op->evict
 * asks. op->removed lists all of them. If these are not enough, it deletes the deposit instead, and
 * the outcome is PERSIST_FULL. An SQLite result code.
 */
int store_evict(struct store_database *database, struct persist_op *op);

#endif
