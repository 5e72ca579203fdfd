/* SPDX-License-Identifier: Apache-2.0 */
/* store_deposit: the operation that stores a message, within a transaction. */
#ifndef DAEMON_STORE_DEPOSIT_H
#define DAEMON_STORE_DEPOSIT_H

#include "daemon/store/database.h"

/*
 * Carries out a deposit: stores the message, and evicts other messages as the operation asks. Sets
 * the outcome of the operation. With another outcome than PERSIST_APPLIED the message is not
 * stored. PERSIST_DUPLICATE: also sets *out_times. Returns an SQLite result code.
 */
int store_deposit_apply(struct store_database *database, struct persist_op *op,
                        struct store_times *out_times);

/* Stores a new message with its state and its number of reports, and sets its seq. */
int store_deposit_insert(struct store_database *database, struct persist_message *message);

/* Sets the outcome PERSIST_NO_SPACE. Returns SQLITE_OK. */
int store_deposit_refuse(struct persist_op *op);

#endif
