/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_statement: binds values to SQL statements and runs them. Results are SQLite's codes.
 */
#pragma once

#include <sqlite3.h>

#include "daemon/store/persist.h"

/* A value that is bound to a place of a statement. */
struct store_value {
    int type; /* SQLITE_INTEGER, SQLITE_BLOB, SQLITE_TEXT or SQLITE_NULL */
    int64_t number;
    const void *bytes; /* must stay in place until the statement is reset */
    size_t length;
};

#define STORE_NUMBER(value)                                \
    {                                                      \
        .type = SQLITE_INTEGER, .number = (int64_t)(value) \
    }
#define STORE_BLOB(data, size)                                 \
    {                                                          \
        .type = SQLITE_BLOB, .bytes = (data), .length = (size) \
    }
#define STORE_TEXT(text, size)                                 \
    {                                                          \
        .type = SQLITE_TEXT, .bytes = (text), .length = (size) \
    }
#define STORE_KEY(message) \
    STORE_NUMBER((message)->host), STORE_BLOB((message)->id, MESSAGE_ID_BYTES)

/*
 * This macro stands for the two arguments `values` and `count`: the values for the places 1, 2 and
 * so on of a statement, and the number of values.
 */
#define STORE_VALUES(...)                      \
    (const struct store_value[]){__VA_ARGS__}, \
        sizeof((const struct store_value[]){__VA_ARGS__}) / sizeof(struct store_value)
#define STORE_NO_VALUES NULL, 0

/*
 * Resets a statement and clears its bindings, because they point to data of the caller.
 */
void store_statement_reset(sqlite3_stmt *statement);

/* Binds values to places 1, 2 and so on. */
int store_statement_bind(sqlite3_stmt *statement, const struct store_value *values, size_t count);

/*
 * Binds values and steps to the first row. Returns SQLITE_ROW, SQLITE_DONE for no row, or an error.
 */
int store_statement_step(sqlite3_stmt *statement, const struct store_value *values, size_t count);

/* Binds values, runs a statement that returns no rows, and resets the statement. */
int store_statement_run(sqlite3_stmt *statement, const struct store_value *values, size_t count);

/*
 * Prepares a statement for one use, binds values and steps to the first row. Returns SQLITE_ROW,
 * SQLITE_DONE for no row, or an error. The caller finalizes *out_statement, also after an error.
 */
int store_query(sqlite3 *db, const char *sql, const struct store_value *values, size_t count,
                sqlite3_stmt **out_statement);

/* Prepares a statement that returns no rows, binds values, runs and finalizes the statement. */
int store_run(sqlite3 *db, const char *sql, const struct store_value *values, size_t count);

/*
 * Reads the number in the first column of the first row of a query. Returns SQLITE_CORRUPT if there
 * is no row.
 */
int store_query_number(sqlite3 *db, const char *sql, const struct store_value *values, size_t count,
                       int64_t *out);

/* Runs one or several statements that need no values. Ignores the rows that they return. */
int store_exec(sqlite3 *db, const char *sql);
