/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/statement.h"

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

int store_statement_bind(sqlite3_stmt *statement, const struct store_value *values, size_t count)
{
    int rc = SQLITE_OK;

    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        rc = bind_value(statement, (int)i + 1, &values[i]);
    }
    return rc;
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
