/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/tables.h"

#include <assert.h>
#include <endian.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/hash.h"

enum { HEAD_BYTES = 192 };

/* --- SQL -------------------------------------------------------------------------------------- */

static void append_keys(sqlite3_str *sql, const struct store_table *table)
{
    for (size_t i = 0; i < table->keys; i++) {
        sqlite3_str_appendf(sql, "%s%s", i == 0 ? "" : ", ", table->columns[i].name);
    }
}

static int prepare_statement(sqlite3 *db, sqlite3_str *sql, unsigned flags,
                             sqlite3_stmt **out_statement)
{
    char *text = sqlite3_str_finish(sql);
    int rc =
        text == NULL ? SQLITE_NOMEM : sqlite3_prepare_v3(db, text, -1, flags, out_statement, NULL);

    sqlite3_free(text);
    return rc;
}

/* STRICT, so that SQLite refuses values of other types. A key of one column is the rowid. */
int store_table_create(sqlite3 *db, const struct store_table *table)
{
    static const char *const types[] = {
        [STORE_TYPE_U32] = "INTEGER", [STORE_TYPE_I64] = "INTEGER", [STORE_TYPE_FLAG] = "INTEGER",
        [STORE_TYPE_FIXED] = "BLOB",  [STORE_TYPE_CHARS] = "TEXT",  [STORE_TYPE_BYTES] = "BLOB",
        [STORE_TYPE_TEXT] = "TEXT",
    };
    sqlite3_str *sql = sqlite3_str_new(db);
    size_t head_bytes = 0;

    sqlite3_str_appendf(sql, "CREATE TABLE %s (checksum INTEGER NOT NULL, ", table->name);
    for (size_t i = 0; i < table->count; i++) {
        const struct store_column *column = &table->columns[i];
        bool may_be_null = column->null_if_zero || column->at_has != 0;

        head_bytes += column->type == STORE_TYPE_FIXED ? column->size : 8;
        sqlite3_str_appendf(sql, "%s %s%s, ", column->name, types[column->type],
                            may_be_null ? "" : " NOT NULL");
    }
    assert(head_bytes <= HEAD_BYTES); /* store_table_checksum relies on it */
    (void)head_bytes;                 /* without assertions */
    sqlite3_str_appendall(sql, "PRIMARY KEY (");
    append_keys(sql, table);
    /* For a NULL pointer %s writes nothing. */
    sqlite3_str_appendf(sql, ")%s) STRICT%s;%s", table->constraint,
                        table->keys > 1 ? ", WITHOUT ROWID" : "", table->indexes);
    char *text = sqlite3_str_finish(sql);
    int rc = text == NULL ? SQLITE_NOMEM : store_exec(db, text);
    sqlite3_free(text);
    return rc;
}

int store_table_prepare(sqlite3 *db, const struct store_table *table, const char *verb,
                        unsigned rows, sqlite3_stmt **out_statement)
{
    sqlite3_str *sql = sqlite3_str_new(db);

    sqlite3_str_appendf(sql, "%s INTO %s VALUES ", verb, table->name);
    for (unsigned row = 0; row < rows; row++) {
        sqlite3_str_appendall(sql, row == 0 ? "(?" : ", (?");
        for (size_t i = 0; i < table->count; i++) {
            sqlite3_str_appendall(sql, ", ?");
        }
        sqlite3_str_appendall(sql, ")");
    }
    return prepare_statement(db, sql, SQLITE_PREPARE_PERSISTENT, out_statement);
}

/* --- from a struct to a row ------------------------------------------------------------------- */

static bool is_number(const struct store_column *column)
{
    return column->type <= STORE_TYPE_FLAG;
}

static bool is_text(const struct store_column *column)
{
    return column->type == STORE_TYPE_CHARS || column->type == STORE_TYPE_TEXT;
}

static int64_t number_of(const struct store_column *column, const uint8_t *row)
{
    const uint8_t *at = row + column->at;
    int64_t wide;
    uint32_t narrow;

    if (column->type == STORE_TYPE_I64) {
        memcpy(&wide, at, sizeof(wide));
        return wide;
    }
    if (column->type == STORE_TYPE_U32) {
        memcpy(&narrow, at, sizeof(narrow));
        return narrow;
    }
    return *(const bool *)at;
}

/* Returns the bytes of a column that is no number. They are borrowed from the row. */
static const void *bytes_of(const struct store_column *column, const uint8_t *row)
{
    const void *bytes = row + column->at;

    if (column->type >= STORE_TYPE_BYTES) {
        memcpy(&bytes, row + column->at, sizeof(bytes));
    }
    return bytes;
}

static size_t length_of(const struct store_column *column, const uint8_t *row)
{
    size_t length = column->size;

    if (column->at_length != 0) {
        memcpy(&length, row + column->at_length, sizeof(length));
    } else if (column->type == STORE_TYPE_CHARS) {
        length = strlen((const char *)row + column->at);
    }
    return length;
}

static bool is_null(const struct store_column *column, const uint8_t *row)
{
    return (column->at_has != 0 && !*(const bool *)(row + column->at_has)) ||
           (column->null_if_zero && number_of(column, row) == 0);
}

/* Binds a column. The bytes are borrowed from the row. */
static int bind_column(sqlite3_stmt *statement, int place, const struct store_column *column,
                       const uint8_t *row)
{
    const void *bytes;
    size_t length;

    if (is_null(column, row)) {
        return sqlite3_bind_null(statement, place);
    }
    if (is_number(column)) {
        return sqlite3_bind_int64(statement, place, number_of(column, row));
    }
    bytes = bytes_of(column, row);
    length = length_of(column, row);
    bytes = length == 0 ? "" : bytes; /* a NULL pointer would be bound as NULL */
    return is_text(column)
               ? sqlite3_bind_text64(statement, place, bytes, length, SQLITE_STATIC, SQLITE_UTF8)
               : sqlite3_bind_blob64(statement, place, bytes, length, SQLITE_STATIC);
}

/* Binds the first `count` columns of a row to places from `place` on. */
static int bind_columns(sqlite3_stmt *statement, int place, const struct store_table *table,
                        size_t count, const void *row)
{
    int rc = SQLITE_OK;

    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        rc = bind_column(statement, place + (int)i, &table->columns[i], row);
    }
    return rc;
}

/*
 * The first thing that is hashed has the numbers of the row, its values of fixed size, and the
 * lengths of its other values, so that a byte that moves from the end of one value to the beginning
 * of the next changes the checksum. The hash of each part is the seed for the hash of the next one.
 * Start-up does this for every message, so that it makes no array of values first.
 */
int64_t store_table_checksum(const struct store_table *table, const void *row)
{
    const struct store_column *column = table->columns;
    const struct store_column *behind = column + table->count;
    uint8_t head[HEAD_BYTES];
    uint8_t *end = head;

    for (; column < behind; column++) {
        if (column->type != STORE_TYPE_FIXED) {
            uint64_t number = htole64(is_number(column) ? (uint64_t)number_of(column, row)
                                                        : length_of(column, row));
            memcpy(end, &number, sizeof(number));
            end += sizeof(number);
        } else if (!is_null(column, row)) {
            memcpy(end, bytes_of(column, row), column->size);
            end += column->size;
        }
    }
    uint64_t hash = hash_seeded(head, (size_t)(end - head), 0);
    for (column = table->columns; column < behind; column++) {
        if (column->type > STORE_TYPE_FIXED) {
            hash = hash_seeded(bytes_of(column, row), length_of(column, row), hash);
        }
    }
    return (int64_t)hash;
}

int store_table_bind(sqlite3_stmt *statement, unsigned place, const struct store_table *table,
                     const void *row)
{
    int first = (int)(place * (table->count + 1)) + 1;
    int rc = sqlite3_bind_int64(statement, first, store_table_checksum(table, row));

    return rc == SQLITE_OK ? bind_columns(statement, first + 1, table, table->count, row) : rc;
}

int store_table_put(sqlite3_stmt *statement, const struct store_table *table, const void *row)
{
    int rc = store_table_bind(statement, 0, table, row);

    rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
    store_statement_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_table_insert(sqlite3 *db, const char *verb, const struct store_table *table,
                       const void *row)
{
    sqlite3_stmt *statement = NULL;
    int rc = store_table_prepare(db, table, verb, 1, &statement);

    rc = rc == SQLITE_OK ? store_table_put(statement, table, row) : rc;
    (void)sqlite3_finalize(statement); /* repeats what step said */
    return rc;
}

/* --- from a row to a struct ------------------------------------------------------------------- */

static int read_number(sqlite3_value *value, const struct store_column *column, uint8_t *at)
{
    int64_t number = sqlite3_value_int64(value); /* NULL reads as 0 */
    uint32_t narrow = (uint32_t)number;

    /* A partial index would not have a row with 0 in place of NULL. */
    if (column->null_if_zero && (sqlite3_value_type(value) == SQLITE_NULL) != (number == 0)) {
        return SQLITE_CORRUPT;
    }
    if (column->type == STORE_TYPE_I64) {
        memcpy(at, &number, sizeof(number));
        return SQLITE_OK;
    }
    if (column->type == STORE_TYPE_FLAG) {
        *(bool *)at = number != 0;
        return number < 0 || number > 1 ? SQLITE_CORRUPT : SQLITE_OK;
    }
    memcpy(at, &narrow, sizeof(narrow));
    return number < column->least ||
                   number > (column->greatest != 0 ? column->greatest : UINT32_MAX)
               ? SQLITE_CORRUPT
               : SQLITE_OK;
}

static bool is_length_right(const struct store_column *column, size_t length)
{
    switch (column->type) {
    case STORE_TYPE_FIXED:
        return length == column->size;
    case STORE_TYPE_CHARS:
        return length < column->size;
    default:
        return column->greatest == 0 || length <= column->greatest;
    }
}

/*
 * Reads a value of bytes. SQLITE_NOMEM: SQLite returned a length but a NULL pointer, because it had
 * no memory for the value.
 */
static int read_bytes(sqlite3_value *value, const struct store_column *column, uint8_t *row)
{
    int type = sqlite3_value_type(value);

    if (column->at_has != 0) {
        *(bool *)(row + column->at_has) = type != SQLITE_NULL;
        if (type == SQLITE_NULL) {
            return SQLITE_OK;
        }
    }
    const void *bytes = sqlite3_value_blob(value);
    size_t length = (size_t)sqlite3_value_bytes(value);
    if (type != (is_text(column) ? SQLITE_TEXT : SQLITE_BLOB) || !is_length_right(column, length)) {
        return SQLITE_CORRUPT;
    }
    if (bytes == NULL && length > 0) {
        return SQLITE_NOMEM;
    }
    bytes = bytes == NULL ? "" : bytes;
    if (column->type >= STORE_TYPE_BYTES) {
        memcpy(row + column->at, &bytes, sizeof(bytes));
    } else {
        memcpy(row + column->at, bytes, length);
    }
    if (column->type == STORE_TYPE_CHARS) {
        row[column->at + length] = '\0';
    }
    if (column->at_length != 0) {
        memcpy(row + column->at_length, &length, sizeof(length));
    }
    return SQLITE_OK;
}

/*
 * Reads the columns from `first` on, and verifies the checksum of the whole row. One thread at a
 * time uses a connection, so that a value may be read without the connection's mutex. It is faster
 * than to ask the statement for type, bytes and length of a column.
 */
static int read_from(sqlite3_stmt *statement, size_t first, const struct store_table *table,
                     void *row)
{
    int rc = SQLITE_OK;

    for (size_t i = first; i < table->count && rc == SQLITE_OK; i++) {
        const struct store_column *column = &table->columns[i];
        sqlite3_value *value = sqlite3_column_value(statement, (int)i + 1);

        rc = is_number(column) ? read_number(value, column, (uint8_t *)row + column->at)
                               : read_bytes(value, column, row);
    }
    if (rc == SQLITE_OK &&
        (sqlite3_column_int64(statement, 0) != store_table_checksum(table, row) ||
         (table->is_sound != NULL && !table->is_sound(row)))) {
        rc = SQLITE_CORRUPT;
    }
    return rc;
}

int store_table_read(sqlite3_stmt *statement, const struct store_table *table, void *out_row)
{
    memset(out_row, 0, table->row_bytes);
    return read_from(statement, 0, table, out_row);
}

int store_table_query(sqlite3 *db, const char *sql, const struct store_value *value,
                      const struct store_table *table, void *out_row)
{
    sqlite3_stmt *statement;
    int rc = store_query(db, sql, value, value != NULL, &statement);

    if (rc == SQLITE_ROW) {
        int read = store_table_read(statement, table, out_row);
        rc = read == SQLITE_OK ? rc : read;
    }
    (void)sqlite3_finalize(statement); /* repeats what step said */
    return rc;
}

int store_table_find(sqlite3_stmt *statement, const struct store_table *table, void *row)
{
    int rc = bind_columns(statement, 1, table, table->keys, row);

    rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
    if (rc == SQLITE_ROW) {
        int read = read_from(statement, table->keys, table, row);
        rc = read == SQLITE_OK ? rc : read;
    }
    store_statement_reset(statement);
    return rc;
}

int store_table_run(sqlite3_stmt *statement, const struct store_table *table, const void *row)
{
    int rc = bind_columns(statement, 1, table, table->keys, row);

    rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
    store_statement_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- all rows that fulfil a condition --------------------------------------------------------- */

int store_walk_begin(struct store_walk *walk, sqlite3 *db, const struct store_table *table,
                     const char *where, ...)
{
    sqlite3_str *sql = sqlite3_str_new(db);
    va_list arguments;

    *walk = (struct store_walk){.table = table, .behind = -1};
    sqlite3_str_appendf(sql, "SELECT * FROM %s WHERE (", table->name);
    append_keys(sql, table);
    sqlite3_str_appendf(sql, ") > (%.*s) AND ", (int)(3 * table->keys) - 2, "?, ?, ?");
    va_start(arguments, where);
    sqlite3_str_vappendf(sql, where, arguments);
    va_end(arguments);
    sqlite3_str_appendall(sql, " ORDER BY ");
    append_keys(sql, table);
    sqlite3_str_appendall(sql, " LIMIT 1");
    return prepare_statement(db, sql, 0, &walk->statement);
}

/* Notes the key of the current row as SQLite sees it, also if it is damaged. */
static int note_key(struct store_walk *walk)
{
    int rc = SQLITE_OK;

    for (size_t i = 0; i < walk->table->keys && rc == SQLITE_OK; i++) {
        sqlite3_value_free(walk->keys[i]);
        walk->keys[i] = sqlite3_value_dup(sqlite3_column_value(walk->statement, (int)i + 1));
        rc = walk->keys[i] == NULL ? SQLITE_NOMEM : SQLITE_OK;
    }
    return rc;
}

/* Steps to the first row behind the key that was noted. */
static int step_behind(struct store_walk *walk)
{
    sqlite3_stmt *statement = walk->statement;

    store_statement_reset(statement);
    /* Without a key of a row before: every key begins with a number that is not negative. */
    int rc = sqlite3_bind_int64(statement, 1, walk->behind);
    for (size_t i = 0; i < walk->table->keys && walk->keys[i] != NULL && rc == SQLITE_OK; i++) {
        rc = sqlite3_bind_value(statement, (int)i + 1, walk->keys[i]);
    }
    return rc == SQLITE_OK ? sqlite3_step(statement) : rc;
}

int store_walk_next(struct store_walk *walk, void *out_row)
{
    int read = SQLITE_CORRUPT;

    while (read == SQLITE_CORRUPT) { /* the row is damaged */
        int rc = step_behind(walk);

        rc = rc == SQLITE_ROW ? note_key(walk) : rc;
        if (rc != SQLITE_OK) {
            return rc;
        }
        read = store_table_read(walk->statement, walk->table, out_row);
    }
    return read == SQLITE_OK ? SQLITE_ROW : read;
}

int store_walk_end(struct store_walk *walk, int rc)
{
    for (size_t i = 0; i < walk->table->keys; i++) {
        sqlite3_value_free(walk->keys[i]);
    }
    assert(walk->statement == NULL ||
           sqlite3_stmt_status(walk->statement, SQLITE_STMTSTATUS_SORT, 0) == 0);
    (void)sqlite3_finalize(walk->statement); /* repeats what step said */
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
