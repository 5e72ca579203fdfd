/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the store, column by column: what is written is read again, and a value that
 * another program has changed is found, whichever column has it.
 */
#include <inttypes.h>

#include "core/base/hash.h"
#include "daemon/store/ops.h"
#include "daemon/store/row.h"
#include "daemon/store/schema.h"
#include "daemon/store/tables.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"

static const struct store_table *const tables[] = {
    &store_meta_table,    &store_host_table,       &store_message_table,  &store_tombstone_table,
    &store_epoch_table,   &store_moderation_table, &store_decision_table, &store_rule_table,
    &store_evicted_table, &store_copy_table,
};
enum { TABLES = sizeof(tables) / sizeof(tables[0]), ROUNDS = 20 };

/* The largest struct is the one of `moderation`. */
union row {
    struct store_review review;
    uint8_t bytes[sizeof(struct store_review)];
};

static uint8_t content[128];
static sqlite3 *db;

static int setup(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(store_tables_create(db), SQLITE_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return 0;
}

/* The greatest value that a column takes fits the other columns of each row. */
static void fill_number(const struct store_column *column, struct rng *rng, uint8_t *at)
{
    const int64_t wide = 1 + (int64_t)(rng_next(rng) >> 2);
    const uint32_t narrow = column->greatest != 0 ? column->greatest : (uint32_t)wide / 2 + 1;

    assert_int_equal(column->size, column->type == STORE_TYPE_I64   ? sizeof(wide)
                                   : column->type == STORE_TYPE_U32 ? sizeof(narrow)
                                                                    : sizeof(bool));
    if (column->type == STORE_TYPE_I64) {
        memcpy(at, &wide, sizeof(wide));
    } else if (column->type == STORE_TYPE_U32) {
        memcpy(at, &narrow, sizeof(narrow));
    } else {
        *at = rng_below(rng, 2) != 0;
    }
}

static void fill_column(const struct store_column *column, struct rng *rng, uint8_t *row)
{
    const void *bytes = content;
    size_t length = 32 * (1 + (size_t)rng_below(rng, 3)); /* of `evicted` it is a multiple of 32 */

    if (column->type <= STORE_TYPE_FLAG) {
        fill_number(column, rng, row + column->at);
    } else if (column->type == STORE_TYPE_CHARS) {
        length = rng_below(rng, column->size < length ? column->size : (uint32_t)length);
        memset(row + column->at, 'a', length);
    } else if (column->type == STORE_TYPE_FIXED) {
        memset(row + column->at, 1 + (int)rng_below(rng, 255), column->size);
    } else {
        memcpy(row + column->at, &bytes, sizeof(bytes));
    }
    if (column->at_length != 0) {
        memcpy(row + column->at_length, &length, sizeof(length));
    }
    if (column->at_has != 0) {
        row[column->at_has] = true;
    }
}

static void fill_row(const struct store_table *table, struct rng *rng, union row *out)
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < table->count; i++) {
        fill_column(&table->columns[i], rng, out->bytes);
    }
}

/* Reads the only row of the table. */
static int read_row(const struct store_table *table, union row *out)
{
    char sql[64];
    sqlite3_stmt *statement;

    (void)snprintf(sql, sizeof(sql), "SELECT * FROM %s", table->name);
    assert_int_equal(store_query(db, sql, STORE_NO_VALUES, &statement), SQLITE_ROW);
    int rc = store_table_read(statement, table, out);
    if (rc == SQLITE_OK) { /* its bytes are the statement's */
        assert_true(sqlite3_column_int64(statement, 0) == store_table_checksum(table, out));
    }
    (void)sqlite3_finalize(statement);
    return rc;
}

/* Sets a column to what an expression says, and puts it back. */
static void change_column(const struct store_table *table, const struct store_column *column,
                          const char *expression)
{
    char sql[160];
    union row row;

    (void)snprintf(sql, sizeof(sql), "SAVEPOINT a; UPDATE %s SET %s = %s", table->name,
                   column->name, expression);
    assert_int_equal(store_exec(db, sql), SQLITE_OK);
    if (read_row(table, &row) != SQLITE_CORRUPT) {
        fail_msg("%s: not found", sql);
    }
    assert_int_equal(store_exec(db, "ROLLBACK TO a; RELEASE a"), SQLITE_OK);
}

static void change_columns(const struct store_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct store_column *column = &table->columns[i];
        char expression[64];

        (void)snprintf(expression, sizeof(expression),
                       column->type == STORE_TYPE_FLAG    ? "1 - %s"
                       : column->type == STORE_TYPE_FIXED ? "zeroblob(length(%s))"
                       : column->type < STORE_TYPE_FLAG   ? "%s - 1"
                       : column->type == STORE_TYPE_BYTES ? "CAST(%s || x'00' AS BLOB)"
                                                          : "%s || 'b'",
                       column->name);
        change_column(table, column, expression);
        if (column->at_has != 0 || column->null_if_zero) {
            change_column(table, column, "NULL");
        }
    }
}

/* A file of before has other tables: by its version it is refused with the words for that, and
 * without a new version it would be called damaged. */
TEST_WITH(test_version_of_the_tables, setup, teardown)
{
    static const char sql[] = "SELECT group_concat(sql, ';') FROM"
                              " (SELECT sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY name)";
    static const int version = 10;
    static const uint64_t tables_hash = UINT64_C(0x85daaf9b406ff7c6);
    sqlite3_stmt *statement;

    assert_int_equal(store_query(db, sql, STORE_NO_VALUES, &statement), SQLITE_ROW);
    uint64_t hash = hash_seeded(sqlite3_column_text(statement, 0),
                                (size_t)sqlite3_column_bytes(statement, 0), 0);
    (void)sqlite3_finalize(statement);
    if (hash != tables_hash || STORE_VERSION != version) {
        fail_msg("these are not the tables of version %d: raise STORE_VERSION in "
                 "daemon/store/schema.h, and write it and the hash 0x%" PRIx64 " into this test",
                 version, hash);
    }
}

TEST_WITH(test_columns, setup, teardown)
{
    struct rng rng;

    rng_init(&rng);
    for (size_t i = 0; i < sizeof(content); i++) {
        content[i] = (uint8_t)(i < 32 ? 'a' : i); /* a text ends before the bytes that are none */
    }
    for (unsigned i = 0; i < TABLES * ROUNDS; i++) {
        const struct store_table *table = tables[i % TABLES];
        union row row;
        union row found;
        char sql[64];

        (void)snprintf(sql, sizeof(sql), "DELETE FROM %s", table->name);
        assert_int_equal(store_exec(db, sql), SQLITE_OK);
        fill_row(table, &rng, &row);
        assert_int_equal(store_table_insert(db, "INSERT", table, &row), SQLITE_OK);
        assert_int_equal(read_row(table, &found), SQLITE_OK);
        change_columns(table);
    }
}

/* 0 in place of NULL would be in no partial index, and the checksum of both is the same. */
TEST_WITH(test_zero_for_null, setup, teardown)
{
    const struct store_tombstone tombstone = {.host = 1, .expires_ms = 2};
    union row row;

    assert_int_equal(store_table_insert(db, "INSERT", &store_tombstone_table, &tombstone),
                     SQLITE_OK);
    assert_int_equal(read_row(&store_tombstone_table, &row), SQLITE_OK);
    assert_int_equal(store_exec(db, "UPDATE tombstone SET seq = 0"), SQLITE_OK);
    assert_int_equal(read_row(&store_tombstone_table, &row), SQLITE_CORRUPT);
}

/* A walk comes to each row once, though each is changed, and goes past damaged ones. */
TEST_WITH(test_walk, setup, teardown)
{
    struct persist_decision decision = {.act = "hide"};
    struct store_walk walk;
    int64_t sum = 0;
    unsigned steps = 0;

    for (uint64_t i = 0; i < 40; i++) {
        decision.host = 1 + (uint32_t)(i / 20);
        decision.number = 1 + i % 20;
        assert_int_equal(store_table_insert(db, "INSERT", &store_decision_table, &decision),
                         SQLITE_OK);
    }
    assert_int_equal(store_exec(db, "UPDATE decision SET checksum = 0 WHERE number IN (1, 2, 20);"
                                    "UPDATE decision SET host_id = -7 WHERE number = 9"
                                    " AND host_id = 2;"
                                    "UPDATE decision SET host_id = 1 << 40 WHERE number = 10"
                                    " AND host_id = 2"),
                     SQLITE_OK);
    int rc =
        store_walk_begin(&walk, db, &store_decision_table, "+time_ms < %" PRId64, INT64_C(100));
    while (rc == SQLITE_OK && (rc = store_walk_next(&walk, &decision)) == SQLITE_ROW) {
        decision.time_ms++;
        steps++;
        rc = store_table_insert(db, "INSERT OR REPLACE", &store_decision_table, &decision);
    }
    assert_int_equal(store_walk_end(&walk, rc), SQLITE_OK);
    assert_int_equal(steps, 40 - 6 - 2);
    assert_int_equal(
        store_query_number(db, "SELECT sum(time_ms) FROM decision", STORE_NO_VALUES, &sum),
        SQLITE_OK);
    assert_int_equal(sum, steps);
    assert_int_equal(store_walk_begin(&walk, db, &store_decision_table, "no such column"),
                     SQLITE_ERROR);
    assert_int_equal(store_walk_end(&walk, SQLITE_ERROR), SQLITE_ERROR);
}
