/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/database.h"

#include <string.h>

#include "daemon/store/error.h"
#include "daemon/store/row.h"

/* --- setting up ------------------------------------------------------------------------------- */

static int load_meta(struct store_database *database)
{
    sqlite3_stmt *statement;
    int rc = store_query(database->db,
                         "SELECT store_id, next_seq, clock_ms, (SELECT count(*) FROM tombstone),"
                         " (SELECT count(*) FROM moderation) FROM meta",
                         STORE_NO_VALUES, &statement);

    if (rc == SQLITE_ROW && sqlite3_column_bytes(statement, 0) == PERSIST_STORE_ID_BYTES) {
        memcpy(database->store_id, sqlite3_column_blob(statement, 0), PERSIST_STORE_ID_BYTES);
        database->state = (struct store_state){
            .next_seq = sqlite3_column_int64(statement, 1),
            .clock_ms = sqlite3_column_int64(statement, 2),
            .tombstones = sqlite3_column_int64(statement, 3),
            .moderated = sqlite3_column_int64(statement, 4),
        };
        rc = SQLITE_OK;
    } else if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
        rc = SQLITE_CORRUPT;
    }
    (void)sqlite3_finalize(statement);
    return rc;
}

int store_database_init(struct store_database *database, sqlite3 *db, int64_t marks_max)
{
    int rc;

    *database = (struct store_database){.db = db, .marks_max = marks_max};
    store_marks_init(&database->marks);
    rc = store_statement_prepare(db, database->statements);
    if (rc == SQLITE_OK) {
        rc = load_meta(database);
    }
    if (rc != SQLITE_OK) {
        (void)store_database_deinit(database);
    }
    return rc;
}

sqlite3 *store_database_deinit(struct store_database *database)
{
    sqlite3 *db = database->db;

    store_statement_finalize(database->statements);
    store_marks_deinit(&database->marks);
    database->db = NULL;
    return db;
}

/* --- transactions ----------------------------------------------------------------------------- */

int store_database_begin(struct store_database *database)
{
    database->before = database->state;
    database->state.changed = false;
    int rc = store_statement_run(database->statements[STORE_BEGIN], STORE_NO_VALUES);
    if (rc == SQLITE_OK && database->state.tombstones > 0) {
        store_marks_begin(&database->marks, database->db);
    }
    return rc;
}

static int save_meta(struct store_database *database)
{
    const struct store_state *state = &database->state;
    int64_t checksum = store_meta_checksum(database->store_id, state->next_seq, state->clock_ms);

    return store_statement_run(database->statements[STORE_META_SAVE],
                               STORE_VALUES(STORE_NUMBER(state->next_seq),
                                            STORE_NUMBER(state->clock_ms), STORE_NUMBER(checksum)));
}

int store_database_commit(struct store_database *database)
{
    int rc;

    if (!database->state.changed) {
        return store_database_rollback(database);
    }
    rc = save_meta(database);
    if (rc == SQLITE_OK) {
        rc = store_statement_run(database->statements[STORE_COMMIT], STORE_NO_VALUES);
    }
    if (rc == SQLITE_OK) {
        store_marks_commit(&database->marks);
    }
    return rc;
}

int store_database_rollback(struct store_database *database)
{
    int rc = SQLITE_OK;

    database->state = database->before;
    store_marks_rollback(&database->marks);
    /*
     * SQLite rolls the transaction back by itself after some failures. Then another ROLLBACK would
     * fail.
     */
    if (sqlite3_get_autocommit(database->db) == 0) {
        rc = store_statement_run(database->statements[STORE_ROLLBACK], STORE_NO_VALUES);
    }
    return sqlite3_get_autocommit(database->db) == 0 && rc == SQLITE_OK ? SQLITE_ERROR : rc;
}

/* --- steps that several operations share ------------------------------------------------------ */

int64_t store_database_take_number(struct store_database *database)
{
    database->state.changed = true; /* so that the commit saves the next number */
    return database->state.next_seq++;
}

int store_database_find(struct store_database *database, const struct persist_message *key,
                        struct persist_message *out_message)
{
    sqlite3_stmt *statement = database->statements[STORE_FIND];
    int rc = store_statement_step(statement, STORE_VALUES(STORE_KEY(key)));

    if (rc == SQLITE_ROW) {
        int read = store_row_read(statement, out_message);

        rc = read == SQLITE_OK ? SQLITE_ROW : read;
    }
    return rc;
}

int store_database_drop_moderation(struct store_database *database, int64_t seq)
{
    return database->state.moderated == 0
               ? SQLITE_OK
               : store_statement_run(database->statements[STORE_MODERATION_DROP],
                                     STORE_VALUES(STORE_NUMBER(seq)));
}

int store_database_delete(struct store_database *database, int64_t seq)
{
    int rc =
        store_statement_run(database->statements[STORE_DELETE], STORE_VALUES(STORE_NUMBER(seq)));

    database->state.removed = true;
    database->state.changed = true;
    return rc == SQLITE_OK ? store_database_drop_moderation(database, seq) : rc;
}

/*
 * Deletes tombstones until at most nine tenths of the maximum are left, rounded up. The statement
 * counts all tombstones. So it runs seldom, and deletes many tombstones in one run.
 */
static int drop_tombstones(struct store_database *database)
{
    int64_t kept = database->marks_max - database->marks_max / 10;
    int rc = store_statement_run(database->statements[STORE_TOMBSTONE_DROP],
                                 STORE_VALUES(STORE_NUMBER(kept)));

    if (rc == SQLITE_OK) {
        database->state.tombstones = kept; /* or fewer: one may have been counted twice */
    }
    return rc;
}

int store_database_put_tombstone(struct store_database *database,
                                 const struct persist_message *message, int64_t expires_ms)
{
    int64_t checksum = store_tombstone_checksum(message->host, message->id, expires_ms);
    int rc = store_statement_run(
        database->statements[STORE_TOMBSTONE_PUT],
        STORE_VALUES(STORE_KEY(message), STORE_NUMBER(expires_ms), STORE_NUMBER(checksum)));

    if (rc == SQLITE_OK) {
        store_marks_add(&database->marks, database->db, message->host, message->id);
    }
    /*
     * A new tombstone for an id that has a tombstone replaces the old row, but counts as one more:
     * `tombstones` is an upper bound.
     */
    if (rc == SQLITE_OK && ++database->state.tombstones > database->marks_max) {
        rc = drop_tombstones(database);
    }
    return rc;
}

int store_database_fail_damaged(struct persist_op *op)
{
    op->outcome = PERSIST_FAILED;
    op->reason = store_error_reason(SQLITE_CORRUPT);
    return SQLITE_OK;
}
