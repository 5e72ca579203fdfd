/* SPDX-License-Identifier: Apache-2.0 */
/* store_deposit: the operation that stores a message, within a transaction. */
#ifndef DAEMON_STORE_DEPOSIT_H
#define DAEMON_STORE_DEPOSIT_H

#include "daemon/store/database.h"

/*
 * Stores the message of the operation, or finds that it is a duplicate, a conflict or gone, and
 * fills the outcome. PERSIST_DUPLICATE: *out_times is set, too. An SQLite result code.
 */
int store_deposit_apply(struct store_database *database, struct persist_op *op,
                        struct store_times *out_times);

#endif
