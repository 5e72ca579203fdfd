/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/tables.h"

#include <stdio.h>

#include <sodium.h>

#include "daemon/store/check.h"
#include "daemon/store/checksum.h"
#include "daemon/store/schema.h"
#include "daemon/store/statement.h"

/*
 * The table of the decisions of operators at copies of a host (persist_decision_id), at most one of
 * each message or rule. At a copy it has those that wait for the owner (waits is 1); at the owner
 * the last one that it has taken note of. kind is 0 for a message, whose id is the value, and else
 * the kind of the rule. until_ms is 0 for a row without an end.
 */
#define COPY_TABLE                 \
    "CREATE TABLE copy_decision (" \
    " host_id INTEGER NOT NULL,"   \
    " kind INTEGER NOT NULL,"      \
    " value BLOB NOT NULL,"        \
    " store_id BLOB NOT NULL,"     \
    " number INTEGER NOT NULL,"    \
    " time_ms INTEGER NOT NULL,"   \
    " until_ms INTEGER NOT NULL,"  \
    " state INTEGER NOT NULL,"     \
    " waits INTEGER NOT NULL,"     \
    " checksum INTEGER NOT NULL,"  \
    " PRIMARY KEY (host_id, kind, value)) STRICT, WITHOUT ROWID;"

/*
 * The tables of version STORE_VERSION. A change of a table needs a new version: raise
 * STORE_VERSION, and bring files of the older version up to date in store_tables_migrate.
 *
 * message: a new row has a greater `seq` than all rows before, so new rows are appended. There is
 * no index by id and none by expiry (numbers.h): each deposit would write one page of each to the
 * log and later to the database. The column payload is the last one, so that SQLite reads the other
 * columns without the overflow pages of the payload.
 *
 * meta: next_seq is the first number that is not reserved (store_database).
 *
 * moderation: a row for each message that was reported or reviewed, is hidden, or waits for review.
 * `reasons` has one line for each reason that is kept. `removed_ms` and `destroy_ms` are the times
 * of a removal and of the destruction that follows; 0 without a removal. decision: the list of the
 * operator's decisions (persist_decision); the id is empty for a decision about no message. rule:
 * what the operator has decided about a whole host and is in force (persist_rule_kind), notices
 * among them. until_ms is 0 for a rule without an end.
 *
 * Columns of changes: host.replicate is 1 for a host that has changes. seq, or change_seq of
 * moderation, is the number of a change of the row; why is an enum persist_why; dropped is 1 for
 * the mark of a dropped rule. Each is NULL else. A row of which others are not told is in no index
 * of changes, so that they cost a host without changes nothing. evicted: store_row_put_evicted.
 *
 * Every row has a checksum (checksum.h), because SQLite's check verifies the structure of a file
 * but not the values in it.
 */
static const char tables[] =
    "CREATE TABLE meta ("
    " one INTEGER PRIMARY KEY CHECK (one = 1),"
    " store_id BLOB NOT NULL,"
    " next_seq INTEGER NOT NULL,"
    " clock_ms INTEGER NOT NULL,"
    " shift_from_ms INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL) STRICT;"
    "CREATE TABLE host ("
    " host_id INTEGER PRIMARY KEY,"
    " name TEXT NOT NULL UNIQUE,"
    " profile TEXT NOT NULL,"
    " checksum INTEGER NOT NULL, replicate INTEGER) STRICT;"
    "CREATE TABLE message ("
    " seq INTEGER PRIMARY KEY,"
    " host_id INTEGER NOT NULL,"
    " id BLOB NOT NULL,"
    " epoch INTEGER NOT NULL,"
    " deposited_ms INTEGER NOT NULL,"
    " expires_ms INTEGER NOT NULL,"
    " reach_ppm INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL,"
    " withdraw_hash BLOB,"
    " filter BLOB NOT NULL,"
    " media_type TEXT NOT NULL,"
    " payload BLOB NOT NULL) STRICT;"
    "CREATE TABLE tombstone ("
    " host_id INTEGER NOT NULL,"
    " id BLOB NOT NULL,"
    " expires_ms INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL, seq INTEGER, why INTEGER,"
    " PRIMARY KEY (host_id, id)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX tombstone_by_expiry ON tombstone (expires_ms);"
    "CREATE TABLE epoch ("
    " host_id INTEGER NOT NULL,"
    " number INTEGER NOT NULL,"
    " starts_ms INTEGER NOT NULL,"
    " ends_ms INTEGER NOT NULL,"
    " kept_ms INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL,"
    " key BLOB NOT NULL,"
    " PRIMARY KEY (host_id, number)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE moderation ("
    " seq INTEGER PRIMARY KEY,"
    " state INTEGER NOT NULL,"
    " reports INTEGER NOT NULL,"
    " destroy_ms INTEGER NOT NULL,"
    " removed_ms INTEGER NOT NULL,"
    " reasons TEXT NOT NULL,"
    " row_checksum INTEGER NOT NULL, change_seq INTEGER) STRICT;"
    "CREATE INDEX moderation_by_destruction ON moderation (destroy_ms)"
    " WHERE destroy_ms > 0;"
    "CREATE TABLE decision ("
    " host_id INTEGER NOT NULL,"
    " number INTEGER NOT NULL,"
    " time_ms INTEGER NOT NULL,"
    " act TEXT NOT NULL,"
    " id BLOB NOT NULL,"
    " kind INTEGER NOT NULL,"
    " reports INTEGER NOT NULL,"
    " reason TEXT NOT NULL,"
    " uid INTEGER NOT NULL,"
    " web INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL,"
    " PRIMARY KEY (host_id, number)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX decision_by_time ON decision (time_ms);"
    "CREATE TABLE rule ("
    " host_id INTEGER NOT NULL,"
    " kind INTEGER NOT NULL,"
    " value BLOB NOT NULL,"
    " number INTEGER NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " until_ms INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL, seq INTEGER, dropped INTEGER,"
    " PRIMARY KEY (host_id, kind, value)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX rule_by_end ON rule (until_ms) WHERE until_ms > 0;"
    "CREATE TABLE evicted ("
    " seq INTEGER PRIMARY KEY,"
    " host_id INTEGER NOT NULL,"
    " expires_ms INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL,"
    " messages BLOB NOT NULL) STRICT;"
    "CREATE INDEX tombstone_by_seq ON tombstone (seq) WHERE seq IS NOT NULL;"
    "CREATE INDEX moderation_by_change ON moderation (change_seq)"
    " WHERE change_seq IS NOT NULL;"
    "CREATE INDEX rule_by_seq ON rule (seq) WHERE seq IS NOT NULL;" COPY_TABLE;

/* What schema 6 adds to schema 5. */
static const char migration[] = COPY_TABLE;

int store_tables_check(sqlite3 *db)
{
    return store_check_tables(db, tables);
}

static int insert_meta(sqlite3 *db)
{
    uint8_t store_id[PERSIST_STORE_ID_BYTES];

    randombytes_buf(store_id, sizeof(store_id));
    return store_run(db, "INSERT INTO meta VALUES (1, ?1, 1, 0, ?2, ?3)",
                     STORE_VALUES(STORE_BLOB(store_id, sizeof(store_id)), STORE_NUMBER(INT64_MAX),
                                  STORE_NUMBER(store_meta_checksum(store_id, 1, 0, INT64_MAX))));
}

int store_tables_create(sqlite3 *db)
{
    char sql[96];
    int rc = store_exec(db, "BEGIN IMMEDIATE");

    if (rc != SQLITE_OK) {
        return rc;
    }
    (void)snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                   STORE_APPLICATION_ID, STORE_VERSION);
    rc = store_exec(db, tables);
    if (rc == SQLITE_OK) {
        rc = insert_meta(db);
    }
    if (rc == SQLITE_OK) {
        rc = store_exec(db, sql);
    }
    if (rc != SQLITE_OK) {
        (void)store_exec(db, "ROLLBACK"); /* may have happened already */
    }
    return rc;
}

int store_tables_migrate(sqlite3 *db)
{
    char sql[64];
    int rc = store_exec(db, migration);

    (void)snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", STORE_VERSION);
    return rc == SQLITE_OK ? store_exec(db, sql) : rc;
}
