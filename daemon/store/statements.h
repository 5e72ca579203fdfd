/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_statements: the statements that the writer's connection keeps prepared.
 */
#ifndef DAEMON_STORE_STATEMENTS_H
#define DAEMON_STORE_STATEMENTS_H

#include <sqlite3.h>

enum store_statement {
    STORE_BEGIN,
    STORE_COMMIT,
    STORE_ROLLBACK,
    STORE_INSERT,
    STORE_INSERT_SEVERAL,
    STORE_FIND,
    STORE_DELETE,
    STORE_OLDEST,
    STORE_PLACE,
    STORE_TOMBSTONE_FIND,
    STORE_TOMBSTONE_PUT,
    STORE_TOMBSTONE_EXPIRE,
    STORE_TOMBSTONE_DROP,
    STORE_TOMBSTONE_LIFT,
    STORE_EVICTED_PUT,
    STORE_EVICTED_FIRST,
    STORE_EVICTED_DROP,
    STORE_EPOCH_EXPIRE,
    STORE_META_PUT,
    STORE_MOVE,
    STORE_MODERATION_FIND,
    STORE_MODERATION_PUT,
    STORE_MODERATION_DROP,
    STORE_MODERATION_DUE,
    STORE_DECISION_EXPIRE,
    STORE_RULE_FIND,
    STORE_RULE_PUT,
    STORE_RULE_DROP,
    STORE_RULE_EXPIRE,
    STORE_COPY_FIND,
    STORE_COPY_PUT,
    STORE_COPY_DROP,
    STORE_COPY_EXPIRE,
    STORE_REPLICATES,
    STORE_TALLY,
    STORE_STATEMENT_COUNT
};

/*
 * Prepares all statements of enum store_statement into out_statements (STORE_STATEMENT_COUNT
 * elements, all NULL). Returns an SQLite result code. After a failure, too, the caller calls
 * store_statements_finalize.
 */
int store_statements_prepare(sqlite3 *db, sqlite3_stmt **out_statements);

/* Finalizes the STORE_STATEMENT_COUNT statements. NULL is skipped. */
void store_statements_finalize(sqlite3_stmt **statements);

#endif
