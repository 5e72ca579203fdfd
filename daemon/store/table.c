/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"

enum { COLUMNS_MAX = 12, HEAD_BYTES = 192, SQL_BYTES = 1024 };

/* --- SQL -------------------------------------------------------------------------------------- */

/* A text that grows. Every text of this file has a fixed size, which the assertion proves. */
struct sql {
    char *text;
    size_t capacity;
    size_t used;
};

__attribute__((format(printf, 2, 0))) static void
sql_append_list(struct sql *sql, const char *format, va_list arguments)
{
    int length = vsnprintf(sql->text + sql->used, sql->capacity - sql->used, format, arguments);

    assert(length >= 0 && (size_t)length < sql->capacity - sql->used);
    sql->used += (size_t)length;
}

__attribute__((format(printf, 2, 3))) static void sql_append(struct sql *sql, const char *format,
                                                             ...)
{
    va_list arguments;

    va_start(arguments, format);
    sql_append_list(sql, format, arguments);
    va_end(arguments);
}

static void sql_append_keys(struct sql *sql, const struct store_table *table)
{
    for (size_t i = 0; i < table->keys; i++) {
        sql_append(sql, "%s%s", i == 0 ? "" : ", ", table->columns[i].name);
    }
}

/* STRICT, so that SQLite refuses values of other types. A key of one column is the rowid. */
int store_table_create(sqlite3 *db, const struct store_table *table)
{
    static const char *const types[] = {
        [STORE_TYPE_U32] = "INTEGER", [STORE_TYPE_I64] = "INTEGER", [STORE_TYPE_FLAG] = "INTEGER",
        [STORE_TYPE_FIXED] = "BLOB",  [STORE_TYPE_CHARS] = "TEXT",  [STORE_TYPE_BYTES] = "BLOB",
        [STORE_TYPE_TEXT] = "TEXT",
    };
    char text[SQL_BYTES];
    struct sql sql = {text, sizeof(text), 0};

    sql_append(&sql, "CREATE TABLE %s (checksum INTEGER NOT NULL, ", table->name);
    for (size_t i = 0; i < table->count; i++) {
        const struct store_column *column = &table->columns[i];
        bool may_be_null = column->null_if_zero || column->at_has != 0;

        sql_append(&sql, "%s %s%s, ", column->name, types[column->type],
                   may_be_null ? "" : " NOT NULL");
    }
    sql_append(&sql, "PRIMARY KEY (");
    sql_append_keys(&sql, table);
    sql_append(&sql, ")%s) STRICT%s;%s", table->constraint != NULL ? table->constraint : "",
               table->keys > 1 ? ", WITHOUT ROWID" : "",
               table->indexes != NULL ? table->indexes : "");
    return store_exec(db, text);
}

void store_table_insert_sql(const struct store_table *table, const char *verb, unsigned rows,
                            char out[STORE_INSERT_BYTES])
{
    struct sql sql = {out, STORE_INSERT_BYTES, 0};

    sql_append(&sql, "%s INTO %s VALUES ", verb, table->name);
    for (unsigned row = 0; row < rows; row++) {
        sql_append(&sql, row == 0 ? "(?" : ", (?");
        for (size_t i = 0; i < table->count; i++) {
            sql_append(&sql, ", ?");
        }
        sql_append(&sql, ")");
    }
}

/* --- from a struct to a row ------------------------------------------------------------------- */

static bool is_number(const struct store_column *column)
{
    return column->type <= STORE_TYPE_FLAG;
}

static struct store_value number_of(const struct store_column *column, const uint8_t *at)
{
    struct store_value value = {.type = SQLITE_INTEGER};
    uint32_t narrow;

    if (column->type == STORE_TYPE_I64) {
        memcpy(&value.number, at, sizeof(value.number));
    } else if (column->type == STORE_TYPE_U32) {
        memcpy(&narrow, at, sizeof(narrow));
        value.number = narrow;
    } else {
        value.number = *(const bool *)at;
    }
    if (column->null_if_zero && value.number == 0) {
        value.type = SQLITE_NULL;
    }
    return value;
}

/* Returns the value of a column. Its bytes are borrowed from the row. */
static struct store_value value_of(const struct store_column *column, const uint8_t *row)
{
    struct store_value value = {.type = SQLITE_BLOB, .bytes = row + column->at};

    if (is_number(column)) {
        return number_of(column, row + column->at);
    }
    if (column->type == STORE_TYPE_CHARS || column->type == STORE_TYPE_TEXT) {
        value.type = SQLITE_TEXT;
    }
    if (column->type >= STORE_TYPE_BYTES) {
        memcpy(&value.bytes, row + column->at, sizeof(value.bytes));
    }
    if (column->at_length != 0) {
        memcpy(&value.length, row + column->at_length, sizeof(value.length));
    } else if (column->type == STORE_TYPE_CHARS) {
        value.length = strlen(value.bytes);
    } else {
        value.length = column->size;
    }
    if (column->at_has != 0 && !*(const bool *)(row + column->at_has)) {
        value = (struct store_value){.type = SQLITE_NULL};
    }
    return value;
}

/* Numbers, lengths and short values, one after another. */
struct head {
    uint8_t bytes[HEAD_BYTES];
    size_t used;
};

static void head_add_number(struct head *head, uint64_t value)
{
    assert(head->used + 8 <= sizeof(head->bytes));
    for (unsigned i = 0; i < 8; i++) {
        head->bytes[head->used++] = (uint8_t)(value >> (8 * i));
    }
}

static void head_add(struct head *head, const struct store_column *column,
                     const struct store_value *value)
{
    if (is_number(column)) {
        head_add_number(head, (uint64_t)value->number);
    } else if (column->type != STORE_TYPE_FIXED) {
        head_add_number(head, value->length);
    } else if (value->type != SQLITE_NULL) {
        assert(head->used + value->length <= sizeof(head->bytes));
        memcpy(head->bytes + head->used, value->bytes, value->length);
        head->used += value->length;
    }
}

/*
 * Fills out[0] with the checksum, and out[1] to out[table->count] with the values of the row.
 *
 * The first thing that is hashed has the numbers of the row, its values of fixed size, and the
 * lengths of its other values, so that a byte that moves from the end of one value to the beginning
 * of the next changes the checksum. The hash of each part is the seed for the hash of the next one.
 */
static void fill(const struct store_table *table, const void *row,
                 struct store_value out[COLUMNS_MAX])
{
    struct head head = {.used = 0};
    uint64_t hash;

    assert(table->count < COLUMNS_MAX);
    for (size_t i = 0; i < table->count; i++) {
        out[i + 1] = value_of(&table->columns[i], row);
        head_add(&head, &table->columns[i], &out[i + 1]);
    }
    hash = hash_seeded(head.bytes, head.used, 0);
    for (size_t i = 0; i < table->count; i++) {
        if (table->columns[i].type > STORE_TYPE_FIXED) {
            hash = hash_seeded(out[i + 1].bytes, out[i + 1].length, hash);
        }
    }
    out[0] = (struct store_value)STORE_NUMBER(hash);
}

int64_t store_table_checksum(const struct store_table *table, const void *row)
{
    struct store_value values[COLUMNS_MAX];

    fill(table, row, values);
    return values[0].number;
}

int store_table_bind(sqlite3_stmt *statement, unsigned place, const struct store_table *table,
                     const void *row)
{
    struct store_value values[COLUMNS_MAX];
    size_t count = table->count + 1;

    fill(table, row, values);
    return store_statement_bind_at(statement, (int)(place * count) + 1, values, count);
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
    char sql[STORE_INSERT_BYTES];
    sqlite3_stmt *statement = NULL;

    store_table_insert_sql(table, verb, 1, sql);
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    rc = rc == SQLITE_OK ? store_table_put(statement, table, row) : rc;
    (void)sqlite3_finalize(statement); /* repeats what step said */
    return rc;
}

/* --- from a row to a struct ------------------------------------------------------------------- */

static int read_number(sqlite3_stmt *statement, int place, const struct store_column *column,
                       uint8_t *at)
{
    int64_t number = sqlite3_column_int64(statement, place); /* NULL reads as 0 */
    uint32_t narrow = (uint32_t)number;

    /* A partial index would not have a row with 0 in place of NULL. */
    if (column->null_if_zero &&
        (sqlite3_column_type(statement, place) == SQLITE_NULL) != (number == 0)) {
        return SQLITE_CORRUPT;
    }
    if (column->type == STORE_TYPE_I64) {
        memcpy(at, &number, sizeof(number));
    } else if (column->type == STORE_TYPE_U32) {
        uint32_t greatest = column->greatest != 0 ? column->greatest : UINT32_MAX;

        memcpy(at, &narrow, sizeof(narrow));
        return number < column->least || number > greatest ? SQLITE_CORRUPT : SQLITE_OK;
    } else {
        *(bool *)at = number != 0;
        return number < 0 || number > 1 ? SQLITE_CORRUPT : SQLITE_OK;
    }
    return SQLITE_OK;
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
static int read_bytes(sqlite3_stmt *statement, int place, const struct store_column *column,
                      uint8_t *row)
{
    bool is_text = column->type == STORE_TYPE_CHARS || column->type == STORE_TYPE_TEXT;
    int type = sqlite3_column_type(statement, place);

    if (column->at_has != 0) {
        *(bool *)(row + column->at_has) = type != SQLITE_NULL;
        if (type == SQLITE_NULL) {
            return SQLITE_OK;
        }
    }
    const void *bytes = sqlite3_column_blob(statement, place);
    size_t length = (size_t)sqlite3_column_bytes(statement, place);
    if (type != (is_text ? SQLITE_TEXT : SQLITE_BLOB) || !is_length_right(column, length)) {
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

/* Reads the columns from `first` on, and verifies the checksum of the whole row. */
static int read_from(sqlite3_stmt *statement, size_t first, const struct store_table *table,
                     void *row)
{
    int rc = SQLITE_OK;

    for (size_t i = first; i < table->count && rc == SQLITE_OK; i++) {
        const struct store_column *column = &table->columns[i];
        int place = (int)i + 1;

        rc = is_number(column) ? read_number(statement, place, column, (uint8_t *)row + column->at)
                               : read_bytes(statement, place, column, row);
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

/* Binds the key of a row to the places 1, 2 and so on. */
static int bind_key(sqlite3_stmt *statement, const struct store_table *table, const void *row)
{
    struct store_value key[STORE_KEYS_MAX];

    for (size_t i = 0; i < table->keys; i++) {
        key[i] = value_of(&table->columns[i], row);
    }
    return store_statement_bind(statement, key, table->keys);
}

int store_table_find(sqlite3_stmt *statement, const struct store_table *table, void *row)
{
    int rc = bind_key(statement, table, row);

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
    int rc = bind_key(statement, table, row);

    rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
    store_statement_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- all rows that fulfil a condition --------------------------------------------------------- */

int store_walk_begin(struct store_walk *walk, sqlite3 *db, const struct store_table *table,
                     const char *where, ...)
{
    char text[SQL_BYTES];
    struct sql sql = {text, sizeof(text), 0};
    va_list arguments;

    *walk = (struct store_walk){.table = table};
    sql_append(&sql, "SELECT * FROM %s NOT INDEXED WHERE (", table->name);
    sql_append_keys(&sql, table);
    sql_append(&sql, ") > (%.*s) AND ", (int)(3 * table->keys) - 2, "?, ?, ?");
    va_start(arguments, where);
    sql_append_list(&sql, where, arguments);
    va_end(arguments);
    sql_append(&sql, " ORDER BY ");
    sql_append_keys(&sql, table);
    sql_append(&sql, " LIMIT 1");
    return sqlite3_prepare_v2(db, text, -1, &walk->statement, NULL);
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
    int rc = sqlite3_bind_int64(statement, 1, -1);
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
    (void)sqlite3_finalize(walk->statement); /* repeats what step said */
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
