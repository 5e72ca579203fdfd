/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/statement.h"

#include "daemon/store/row.h"

#define CONTENT_BYTES "length(filter) + length(CAST(media_type AS BLOB)) + length(payload)"

/* --- the writer's statements ------------------------------------------------------------------ */

/*
 * STORE_BEGIN takes the write lock at the beginning of a transaction. So the transaction cannot
 * fail for lack of the lock after it has done half of its work.
 */
static const char *const statement_texts[STORE_STATEMENT_COUNT] = {
    [STORE_BEGIN] = "BEGIN IMMEDIATE",
    [STORE_COMMIT] = "COMMIT",
    [STORE_ROLLBACK] = "ROLLBACK",
    [STORE_INSERT] = ("INSERT INTO message (" STORE_ROW_COLUMNS ") VALUES (" STORE_ROW_PLACES ")"),
    /* With OR FAIL SQLite keeps no copy of pages to undo this statement alone: after a failure the
     * writer undoes the whole transaction. */
    [STORE_INSERT_SEVERAL] =
        ("INSERT OR FAIL INTO message (" STORE_ROW_COLUMNS ") VALUES " STORE_ROWS_PLACES),
    [STORE_FIND] = ("SELECT " STORE_ROW_COLUMNS " FROM message WHERE seq = ?1"),
    [STORE_DELETE] = "DELETE FROM message WHERE seq = ?1 RETURNING host_id, epoch, id",
    /*
     * The order of the columns is read_removed's in deposit.c. length(payload) does not read the
     * payload.
     */
    [STORE_OLDEST] = ("SELECT host_id, epoch, id, seq, " CONTENT_BYTES ", expires_ms FROM message"
                      " WHERE seq >= ?3 AND seq < ?2 AND host_id = ?1 ORDER BY seq"),
    [STORE_PLACE] = ("SELECT host_id, epoch, id, seq, " CONTENT_BYTES ", expires_ms FROM message"
                     " WHERE seq = ?1"),
    [STORE_TOMBSTONE_FIND] =
        ("SELECT " STORE_TOMBSTONE_COLUMNS " FROM tombstone WHERE host_id = ?1 AND id = ?2"),
    [STORE_TOMBSTONE_PUT] =
        ("INSERT INTO tombstone (" STORE_TOMBSTONE_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
         " ON CONFLICT (host_id, id) DO UPDATE"
         " SET expires_ms = excluded.expires_ms, checksum = excluded.checksum,"
         " seq = excluded.seq, why = excluded.why"),
    [STORE_TOMBSTONE_EXPIRE] =
        ("DELETE FROM tombstone WHERE (host_id, id) IN (SELECT host_id, id FROM tombstone"
         " WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT ?2) RETURNING host_id, id"),
    [STORE_TOMBSTONE_DROP] =
        ("DELETE FROM tombstone WHERE (host_id, id) IN (SELECT host_id, id FROM tombstone"
         " ORDER BY expires_ms LIMIT max(0, (SELECT count(*) FROM tombstone) - ?1))"),
    [STORE_TOMBSTONE_LIFT] = "DELETE FROM tombstone WHERE host_id = ?1 AND id = ?2",
    [STORE_EVICTED_PUT] =
        ("INSERT INTO evicted (" STORE_EVICTED_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5)"),
    [STORE_EVICTED_FIRST] =
        ("SELECT seq, expires_ms, " STORE_EVICTED_COUNT " FROM evicted ORDER BY seq"),
    [STORE_EVICTED_DROP] = "DELETE FROM evicted WHERE seq <= ?1",
    [STORE_EPOCH_EXPIRE] = "DELETE FROM epoch WHERE kept_ms <= ?1",
    [STORE_MOVE] = "UPDATE message SET seq = ?2, checksum = ?3 WHERE seq = ?1",
    /* STORE_..._SHIFTED find the next row that PERSIST_SHIFT changes, in the order of the keys. */
    [STORE_SHIFTED] = ("SELECT " STORE_ROW_COLUMNS " FROM message NOT INDEXED"
                       " WHERE seq >= ?1 AND deposited_ms BETWEEN ?2 AND ?3 ORDER BY seq LIMIT 1"),
    [STORE_SHIFT] = ("UPDATE message SET deposited_ms = ?2, expires_ms = ?3, checksum = ?4"
                     " WHERE seq = ?1"),
    [STORE_TOMBSTONE_NEXT] =
        ("SELECT " STORE_TOMBSTONE_COLUMNS " FROM tombstone NOT INDEXED"
         " WHERE (host_id, id) > (?1, ?2) AND expires_ms > ?3 ORDER BY host_id, id LIMIT 1"),
    [STORE_MODERATION_FIND] = ("SELECT state, reports, destroy_ms, removed_ms, reasons, "
                               "row_checksum, change_seq FROM moderation WHERE seq = ?1"),
    [STORE_MODERATION_PUT] =
        ("INSERT INTO moderation"
         " (seq, state, reports, destroy_ms, removed_ms, reasons, row_checksum, change_seq)"
         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (seq) DO UPDATE"
         " SET state = excluded.state, reports = excluded.reports,"
         " destroy_ms = excluded.destroy_ms, removed_ms = excluded.removed_ms,"
         " reasons = excluded.reasons, row_checksum = excluded.row_checksum,"
         " change_seq = excluded.change_seq"),
    [STORE_MODERATION_DUE] = ("SELECT seq FROM moderation"
                              " WHERE destroy_ms > 0 AND destroy_ms <= ?1"
                              " ORDER BY destroy_ms LIMIT 1"),
    [STORE_DECISION_EXPIRE] =
        ("DELETE FROM decision WHERE (host_id, number) IN"
         " (SELECT host_id, number FROM decision WHERE time_ms < ?1 LIMIT ?2)"),
    [STORE_MODERATION_DROP] = "DELETE FROM moderation WHERE seq = ?1",
    [STORE_RULE_FIND] =
        ("SELECT " STORE_RULE_COLUMNS " FROM rule WHERE host_id = ?1 AND kind = ?2 AND value = ?3"),
    [STORE_RULE_PUT] =
        ("INSERT INTO rule (" STORE_RULE_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
         " ON CONFLICT (host_id, kind, value) DO UPDATE SET number = excluded.number,"
         " created_ms = excluded.created_ms, until_ms = excluded.until_ms,"
         " checksum = excluded.checksum, seq = excluded.seq, dropped = excluded.dropped"),
    [STORE_RULE_DROP] = "DELETE FROM rule WHERE host_id = ?1 AND kind = ?2 AND value = ?3",
    [STORE_RULE_EXPIRE] = "DELETE FROM rule WHERE until_ms > 0 AND until_ms <= ?1",
    [STORE_RULE_SHIFTED] = ("SELECT " STORE_RULE_COLUMNS " FROM rule WHERE until_ms > 0"
                            " AND created_ms >= ?4 AND (host_id, kind, value) > (?1, ?2, ?3)"
                            " ORDER BY host_id, kind, value LIMIT 1"),
    [STORE_RULE_UNTOLD] = ("SELECT " STORE_RULE_COLUMNS " FROM rule WHERE seq IS NULL"
                           " AND host_id = ?4 AND (host_id, kind, value) > (?1, ?2, ?3)"
                           " ORDER BY host_id, kind, value LIMIT 1"),
    [STORE_COPY_FIND] = ("SELECT " STORE_COPY_COLUMNS " FROM copy_decision"
                         " WHERE host_id = ?1 AND kind = ?2 AND value = ?3"),
    [STORE_COPY_PUT] = ("INSERT OR REPLACE INTO copy_decision (" STORE_COPY_COLUMNS ")"
                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"),
    [STORE_COPY_DROP] = "DELETE FROM copy_decision WHERE host_id = ?1 AND kind = ?2 AND value = ?3",
    [STORE_COPY_EXPIRE] = "DELETE FROM copy_decision WHERE until_ms > 0 AND until_ms <= ?1",
    [STORE_REPLICATES] = "SELECT coalesce(replicate, 0) FROM host WHERE host_id = ?1",
    /* The order of STORE_TALLY's columns is add_tally's in ops.c. */
    [STORE_TALLY] = ("SELECT host_id, epoch, filter, " CONTENT_BYTES ", coalesce(state, 0)"
                     " FROM message LEFT JOIN moderation USING (seq)"),
    [STORE_META_SAVE] = ("UPDATE meta SET next_seq = ?1, clock_ms = ?2, shift_from_ms = ?3,"
                         " checksum = ?4"),
};

int store_statement_prepare(sqlite3 *db, sqlite3_stmt **out_statements)
{
    int rc = SQLITE_OK;

    for (int i = 0; i < STORE_STATEMENT_COUNT && rc == SQLITE_OK; i++) {
        rc = sqlite3_prepare_v3(db, statement_texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                &out_statements[i], NULL);
    }
    return rc;
}

void store_statement_finalize(sqlite3_stmt **statements)
{
    for (int i = 0; i < STORE_STATEMENT_COUNT; i++) {
        (void)sqlite3_finalize(statements[i]); /* repeats what step said */
        statements[i] = NULL;
    }
}

/* --- running ---------------------------------------------------------------------------------- */

void store_statement_reset(sqlite3_stmt *statement)
{
    (void)sqlite3_reset(statement); /* repeats what step said */
    (void)sqlite3_clear_bindings(statement);
}

/* A value of 0 bytes is bound as an empty value, not as NULL, even if its pointer is NULL. */
static int bind_value(sqlite3_stmt *statement, int place, const struct store_value *value)
{
    const void *bytes = value->length == 0 ? "" : value->bytes;

    switch (value->type) {
    case SQLITE_INTEGER:
        return sqlite3_bind_int64(statement, place, value->number);
    case SQLITE_BLOB:
        return sqlite3_bind_blob64(statement, place, bytes, value->length, SQLITE_STATIC);
    case SQLITE_TEXT:
        return sqlite3_bind_text64(statement, place, bytes, value->length, SQLITE_STATIC,
                                   SQLITE_UTF8);
    default:
        return sqlite3_bind_null(statement, place);
    }
}

int store_statement_bind_at(sqlite3_stmt *statement, int first, const struct store_value *values,
                            size_t count)
{
    int rc = SQLITE_OK;

    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        rc = bind_value(statement, first + (int)i, &values[i]);
    }
    return rc;
}

int store_statement_bind(sqlite3_stmt *statement, const struct store_value *values, size_t count)
{
    return store_statement_bind_at(statement, 1, values, count);
}

int store_statement_step(sqlite3_stmt *statement, const struct store_value *values, size_t count)
{
    int rc = store_statement_bind(statement, values, count);

    return rc == SQLITE_OK ? sqlite3_step(statement) : rc;
}

int store_statement_run(sqlite3_stmt *statement, const struct store_value *values, size_t count)
{
    int rc = store_statement_step(statement, values, count);

    store_statement_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- statements for one use ------------------------------------------------------------------- */

int store_query(sqlite3 *db, const char *sql, const struct store_value *values, size_t count,
                sqlite3_stmt **out_statement)
{
    int rc = sqlite3_prepare_v2(db, sql, -1, out_statement, NULL);

    return rc == SQLITE_OK ? store_statement_step(*out_statement, values, count) : rc;
}

int store_run(sqlite3 *db, const char *sql, const struct store_value *values, size_t count)
{
    sqlite3_stmt *statement;
    int rc = store_query(db, sql, values, count, &statement);

    (void)sqlite3_finalize(statement); /* repeats what step said */
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_query_number(sqlite3 *db, const char *sql, const struct store_value *values, size_t count,
                       int64_t *out)
{
    sqlite3_stmt *statement;
    int rc = store_query(db, sql, values, count, &statement);

    if (rc == SQLITE_ROW) {
        *out = sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_finalize(statement); /* repeats what step said */
    return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

int store_exec(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}
