/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_statement: the prepared statements of the writer's connection, with their SQL. One place
 * holds every SQL text that operations run.
 */
#ifndef DAEMON_STORE_STATEMENT_H
#define DAEMON_STORE_STATEMENT_H

#include <sqlite3.h>

#include "daemon/store/persist.h"

enum store_statement {
    STORE_BEGIN,
    STORE_COMMIT,
    STORE_ROLLBACK,
    STORE_INSERT,
    STORE_FIND,
    STORE_DELETE,
    STORE_EXPIRE,
    STORE_OLDEST,
    STORE_SOONEST,
    STORE_PLACE,
    STORE_TOMBSTONE_FIND,
    STORE_TOMBSTONE_PUT,
    STORE_TOMBSTONE_EXPIRE,
    STORE_TOMBSTONE_DROP,
    STORE_EPOCH_EXPIRE,
    STORE_META_SAVE,
    STORE_MOVE,
    STORE_MODERATION_FIND,
    STORE_MODERATION_PUT,
    STORE_MODERATION_DROP,
    STORE_RULE_PUT,
    STORE_RULE_DROP,
    STORE_TALLY,
    STORE_STATEMENT_COUNT
};

/*
 * Prepares all statements into out_statements (STORE_STATEMENT_COUNT, zeroed). An SQLite result
 * code. On failure, too, store_statement_finalize is due.
 */
int store_statement_prepare(sqlite3 *db, sqlite3_stmt **out_statements);

/* Finalizes all statements, also those that were never prepared (NULL). */
void store_statement_finalize(sqlite3_stmt **statements);

/* Resets a statement and clears its bindings: they point into operations, and must not outlive
   them. */
void store_statement_reset(sqlite3_stmt *statement);

/* Runs a bound statement that returns no rows, and resets it. An SQLite result code. */
int store_statement_run(sqlite3_stmt *statement);

/* Binds place 1 to the message's host and place 2 to its id. An SQLite result code. */
int store_statement_bind_key(sqlite3_stmt *statement, const struct persist_message *message);

#endif
