/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_epoch: rows of the table `epoch`. They are few and change seldom. So each function prepares
 * its own statement.
 */
#ifndef DAEMON_STORE_EPOCH_H
#define DAEMON_STORE_EPOCH_H

#include <sqlite3.h>

#include "daemon/store/persist.h"

#define STORE_EPOCH_COLUMNS "host_id, number, starts_ms, ends_ms, kept_ms, checksum, key"

/* Reads the current row of the statement and proves it. SQLITE_OK or SQLITE_CORRUPT. */
int store_epoch_read(sqlite3_stmt *statement, struct persist_epoch *out_epoch);

/* Stores an epoch, in the current transaction or in one of its own. An SQLite result code. */
int store_epoch_put(sqlite3 *db, const struct persist_epoch *epoch);

/* persist's replay_epochs. `path` is for sentences. */
int store_epoch_replay(sqlite3 *db, const char *path,
                       int (*visit)(void *context, const struct persist_epoch *epoch),
                       void *context, char *out_reason);

#endif
