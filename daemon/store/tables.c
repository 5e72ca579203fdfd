/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/tables.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "core/base/hash.h"
#include "daemon/store/ops.h"
#include "daemon/store/schema.h"

/*
 * The columns of all tables. A change of a column needs a new version: raise STORE_VERSION. Files
 * of other versions are refused (schema.h).
 */
#define AT(S, member) offsetof(struct S, member)
#define COLUMN_OF(column, kind, S, member, ...)                           \
    {                                                                     \
        .name = (column), .type = STORE_TYPE_##kind, .at = AT(S, member), \
        .size = sizeof(((struct S *)NULL)->member), __VA_ARGS__           \
    }
#define COLUMN(column, kind, S, member) COLUMN_OF(column, kind, S, member, .least = 0)
#define TABLE(S, array, key_columns, sql_name, sentence)                               \
    .name = (sql_name), .what = (sentence), .columns = (array), .keys = (key_columns), \
    .count = sizeof(array) / sizeof((array)[0]), .row_bytes = sizeof(struct S)

_Static_assert(sizeof(enum persist_state) == sizeof(uint32_t), "an enum is read as U32");

/* --- meta ------------------------------------------------------------------------------------- */

static const struct store_column meta_columns[] = {
    COLUMN_OF("one", U32, store_meta, one, .least = 1, .greatest = 1),
    COLUMN("store_id", FIXED, store_meta, store_id),
    COLUMN("place", FIXED, store_meta, place),
    COLUMN("next_seq", I64, store_meta, next_seq),
    COLUMN("clock_ms", I64, store_meta, clock_ms),
    COLUMN("shift_from_ms", I64, store_meta, shift_from_ms),
};
const struct store_table store_meta_table = {
    TABLE(store_meta, meta_columns, 1, "meta", "meta"),
};

/* --- host ------------------------------------------------------------------------------------- */

static const struct store_column host_columns[] = {
    COLUMN("host_id", U32, store_host, host),
    COLUMN("name", CHARS, store_host, name),
    COLUMN("profile", CHARS, store_host, profile),
    COLUMN("replicate", FLAG, store_host, replicate),
};
const struct store_table store_host_table = {
    TABLE(store_host, host_columns, 1, "host", "a host's row"),
    .constraint = ", UNIQUE (name)",
};

/* --- message ---------------------------------------------------------------------------------- */

/*
 * A new row has a greater `seq` than all rows before, so new rows are appended. There is no index
 * by id and none by expiry (numbers.h): each deposit would write one page of each to the log and
 * later to the database. `answers` is NULL in a message that answers none, so that the index does
 * not have it. The column payload is the last one, so that SQLite reads the other columns without
 * the overflow pages of the payload.
 */
static const struct store_column message_columns[] = {
    COLUMN("seq", I64, persist_message, seq),
    COLUMN("host_id", U32, persist_message, host),
    COLUMN("id", FIXED, persist_message, id),
    COLUMN("epoch", I64, persist_message, epoch),
    COLUMN("deposited_ms", I64, persist_message, deposited_ms),
    COLUMN("expires_ms", I64, persist_message, expires_ms),
    COLUMN("reach_ppm", U32, persist_message, reach_ppm),
    COLUMN_OF("withdraw_hash", FIXED, persist_message, withdraw_hash,
              .at_has = AT(persist_message, can_withdraw)),
    COLUMN_OF("answers", FIXED, persist_message, answers, .at_has = AT(persist_message, is_answer)),
    COLUMN_OF("filter", BYTES, persist_message, filter,
              .at_length = AT(persist_message, filter_bytes)),
    COLUMN_OF("media_type", TEXT, persist_message, media_type,
              .at_length = AT(persist_message, media_type_bytes)),
    COLUMN_OF("payload", BYTES, persist_message, payload,
              .at_length = AT(persist_message, payload_bytes)),
};
const struct store_table store_message_table = {
    TABLE(persist_message, message_columns, 1, "message", "a message's row"),
    .indexes = "CREATE INDEX message_by_answers ON message (host_id, answers)"
               " WHERE answers IS NOT NULL;",
};
_Static_assert(sizeof(message_columns) / sizeof(message_columns[0]) + 1 == STORE_MESSAGE_PLACES,
               "the columns and the checksum");

/* --- tombstone -------------------------------------------------------------------------------- */

/* `seq` is the number of the change, and NULL in a row of which others are not told. */
static const struct store_column tombstone_columns[] = {
    COLUMN("host_id", U32, store_tombstone, host),
    COLUMN("id", FIXED, store_tombstone, id),
    COLUMN("expires_ms", I64, store_tombstone, expires_ms),
    COLUMN_OF("seq", I64, store_tombstone, seq, .null_if_zero = true),
    COLUMN_OF("why", U32, store_tombstone, why, .null_if_zero = true,
              .greatest = PERSIST_WHY_REMOVED),
};

static bool tombstone_is_sound(const void *row)
{
    const struct store_tombstone *tombstone = row;

    return (tombstone->why == 0) == (tombstone->seq == 0);
}

const struct store_table store_tombstone_table = {
    TABLE(store_tombstone, tombstone_columns, 2, "tombstone", "a withdrawn message's row"),
    .indexes = "CREATE INDEX tombstone_by_expiry ON tombstone (expires_ms);"
               "CREATE INDEX tombstone_by_seq ON tombstone (seq) WHERE seq IS NOT NULL;",
    .is_sound = tombstone_is_sound,
};

/* --- epoch ------------------------------------------------------------------------------------ */

static const struct store_column epoch_columns[] = {
    COLUMN("host_id", U32, persist_epoch, host),
    COLUMN("number", I64, persist_epoch, number),
    COLUMN("starts_ms", I64, persist_epoch, starts_ms),
    COLUMN("ends_ms", I64, persist_epoch, ends_ms),
    COLUMN("kept_ms", I64, persist_epoch, kept_ms),
    COLUMN("key", FIXED, persist_epoch, key),
};

static bool epoch_is_sound(const void *row)
{
    return ((const struct persist_epoch *)row)->number != 0;
}

const struct store_table store_epoch_table = {
    TABLE(persist_epoch, epoch_columns, 2, "epoch", "an epoch's row"),
    .is_sound = epoch_is_sound,
};

/* --- moderation ------------------------------------------------------------------------------- */

/* `change_seq` is NULL in a row of which others are not told, so that the index does not have it.
 */
static const struct store_column moderation_columns[] = {
    COLUMN("seq", I64, store_review, seq),
    COLUMN_OF("state", U32, store_review, state, .least = PERSIST_SHOWN,
              .greatest = PERSIST_WITHHELD),
    COLUMN("reports", U32, store_review, reports),
    COLUMN("destroy_ms", I64, store_review, destroy_ms),
    COLUMN("removed_ms", I64, store_review, removed_ms),
    COLUMN_OF("reasons", CHARS, store_review, reasons,
              .at_length = AT(store_review, reasons_bytes)),
    COLUMN_OF("change_seq", I64, store_review, change_seq, .null_if_zero = true),
};

static bool moderation_is_sound(const void *row)
{
    const struct store_review *review = row;

    return review->destroy_ms == 0 || (review->destroy_ms > 0 && review->state == PERSIST_WITHHELD);
}

const struct store_table store_moderation_table = {
    TABLE(store_review, moderation_columns, 1, "moderation", "a reported message's row"),
    .indexes = "CREATE INDEX moderation_by_destruction ON moderation (destroy_ms)"
               " WHERE destroy_ms > 0;"
               "CREATE INDEX moderation_by_change ON moderation (change_seq)"
               " WHERE change_seq IS NOT NULL;",
    .is_sound = moderation_is_sound,
};

/* --- decision --------------------------------------------------------------------------------- */

static const struct store_column decision_columns[] = {
    COLUMN("host_id", U32, persist_decision, host),
    COLUMN("number", I64, persist_decision, number),
    COLUMN("time_ms", I64, persist_decision, time_ms),
    COLUMN("act", CHARS, persist_decision, act),
    COLUMN_OF("id", FIXED, persist_decision, id, .at_has = AT(persist_decision, has_id)),
    COLUMN("kind", U32, persist_decision, kind),
    COLUMN("reports", U32, persist_decision, reports),
    COLUMN("reason", CHARS, persist_decision, reason),
    COLUMN("uid", U32, persist_decision, uid),
    COLUMN("web", FLAG, persist_decision, web),
};
const struct store_table store_decision_table = {
    TABLE(persist_decision, decision_columns, 2, "decision", "a decision's row"),
    .indexes = "CREATE INDEX decision_by_time ON decision (time_ms);",
};

/* --- rule ------------------------------------------------------------------------------------- */

/* `until_ms` is 0 for a rule without an end. `seq` is NULL if others are not told. */
static const struct store_column rule_columns[] = {
    COLUMN("host_id", U32, persist_rule, host),
    COLUMN_OF("kind", U32, persist_rule, kind, .least = PERSIST_BAN_PAYLOAD,
              .greatest = PERSIST_RESTORED),
    COLUMN_OF("value", BYTES, persist_rule, value, .at_length = AT(persist_rule, value_bytes),
              .greatest = PERSIST_RULE_BYTES_MAX),
    COLUMN("number", U32, persist_rule, number),
    COLUMN("created_ms", I64, persist_rule, created_ms),
    COLUMN("until_ms", I64, persist_rule, until_ms),
    COLUMN_OF("seq", I64, persist_rule, seq, .null_if_zero = true),
    COLUMN("dropped", FLAG, persist_rule, dropped),
};

static bool rule_is_sound(const void *row)
{
    const struct persist_rule *rule = row;

    return rule->kind != PERSIST_NOTICE || memchr(rule->value, '\0', rule->value_bytes) != NULL;
}

const struct store_table store_rule_table = {
    TABLE(persist_rule, rule_columns, 3, "rule", "a rule's row"),
    .indexes = "CREATE INDEX rule_by_end ON rule (until_ms) WHERE until_ms > 0;"
               "CREATE INDEX rule_by_seq ON rule (seq) WHERE seq IS NOT NULL;",
    .is_sound = rule_is_sound,
};

/* --- evicted ---------------------------------------------------------------------------------- */

static const struct store_column evicted_columns[] = {
    COLUMN("seq", I64, store_evicted_row, seq),
    COLUMN("host_id", U32, store_evicted_row, host),
    COLUMN("expires_ms", I64, store_evicted_row, expires_ms),
    COLUMN_OF("messages", BYTES, store_evicted_row, messages,
              .at_length = AT(store_evicted_row, messages_bytes),
              .greatest = STORE_EVICTIONS_MAX * STORE_EVICTION_BYTES),
};

static bool evicted_is_sound(const void *row)
{
    const struct store_evicted_row *evicted = row;

    return evicted->messages_bytes > 0 && evicted->messages_bytes % STORE_EVICTION_BYTES == 0;
}

const struct store_table store_evicted_table = {
    TABLE(store_evicted_row, evicted_columns, 1, "evicted", "a row of evicted messages"),
    .is_sound = evicted_is_sound,
};

/* --- copy_decision ---------------------------------------------------------------------------- */

/*
 * The decisions of operators at copies of a host (persist_decision_id), at most one of each message
 * or rule. At a copy the table has those that wait for the owner; at the owner the last one that it
 * has taken note of.
 */
static const struct store_column copy_columns[] = {
    COLUMN("host_id", U32, store_copy, host),
    COLUMN_OF("kind", U32, store_copy, kind, .greatest = PERSIST_RESTORED),
    COLUMN_OF("value", BYTES, store_copy, value, .at_length = AT(store_copy, value_bytes),
              .greatest = PERSIST_RULE_BYTES_MAX),
    COLUMN("store_id", FIXED, store_copy, id.store_id),
    COLUMN("number", I64, store_copy, id.number),
    COLUMN("time_ms", I64, store_copy, id.time_ms),
    COLUMN("until_ms", I64, store_copy, until_ms),
    COLUMN_OF("state", U32, store_copy, state, .greatest = STORE_COPY_REMOVED),
    COLUMN("waits", FLAG, store_copy, waits),
};

static bool copy_is_sound(const void *row)
{
    const struct store_copy *copy = row;

    return copy->kind != 0 || copy->value_bytes == MESSAGE_ID_BYTES;
}

const struct store_table store_copy_table = {
    TABLE(store_copy, copy_columns, 3, "copy_decision", "a row of a decision at a copy"),
    .is_sound = copy_is_sound,
};

/* --- all tables ------------------------------------------------------------------------------- */

static const struct store_table *const tables[] = {
    &store_meta_table,    &store_host_table,       &store_message_table,  &store_tombstone_table,
    &store_epoch_table,   &store_moderation_table, &store_decision_table, &store_rule_table,
    &store_evicted_table, &store_copy_table,
};

static int create_all(sqlite3 *db)
{
    int rc = SQLITE_OK;

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && rc == SQLITE_OK; i++) {
        rc = store_table_create(db, tables[i]);
    }
    return rc;
}

/*
 * Computes a hash over the types, names and SQL texts of the schema. The tables of ANALYZE are left
 * out.
 */
static int schema_hash(sqlite3 *db, uint64_t *out)
{
    static const char sql[] = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema"
                              " WHERE name NOT LIKE 'sqlite_stat%' ORDER BY type, name";
    sqlite3_stmt *statement;
    uint64_t hash = 0;
    int rc = store_query(db, sql, STORE_NO_VALUES, &statement);

    for (; rc == SQLITE_ROW; rc = sqlite3_step(statement)) {
        for (int i = 0; i < 4; i++) {
            const void *text = sqlite3_column_text(statement, i);

            hash = hash_seeded(text, (size_t)sqlite3_column_bytes(statement, i), hash);
        }
    }
    (void)sqlite3_finalize(statement);
    *out = hash;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_tables_check(sqlite3 *db)
{
    sqlite3 *model = NULL;
    uint64_t expected = 0;
    uint64_t found = 0;
    int rc = sqlite3_open_v2(":memory:", &model, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

    rc = rc == SQLITE_OK ? create_all(model) : rc;
    rc = rc == SQLITE_OK ? schema_hash(model, &expected) : rc;
    (void)sqlite3_close(model);
    rc = rc == SQLITE_OK ? schema_hash(db, &found) : rc;
    return rc == SQLITE_OK && expected != found ? SQLITE_CORRUPT : rc;
}

static int check_rows(sqlite3 *db, const struct store_table *table)
{
    union {
        struct persist_decision decision;
        struct store_review review;
    } row; /* the largest ones */
    char sql[64];
    sqlite3_stmt *statement;

    (void)snprintf(sql, sizeof(sql), "SELECT * FROM %s", table->name);
    int rc = store_query(db, sql, STORE_NO_VALUES, &statement);
    while (rc == SQLITE_ROW && (rc = store_table_read(statement, table, &row)) == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_tables_check_rows(sqlite3 *db, const char **out_what)
{
    int rc = SQLITE_OK;

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && rc == SQLITE_OK; i++) {
        if (tables[i] != &store_message_table) {
            *out_what = tables[i]->what;
            rc = check_rows(db, tables[i]);
        }
    }
    return rc;
}

static int create_and_fill(sqlite3 *db)
{
    struct store_meta meta = {.one = 1, .next_seq = 1, .shift_from_ms = INT64_MAX};
    char sql[96];
    int rc = create_all(db);

    randombytes_buf(meta.store_id, sizeof(meta.store_id));
    memcpy(meta.place, meta.store_id, sizeof(meta.place));
    rc = rc == SQLITE_OK ? store_table_insert(db, "INSERT", &store_meta_table, &meta) : rc;
    (void)snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                   STORE_APPLICATION_ID, STORE_VERSION);
    return rc == SQLITE_OK ? store_exec(db, sql) : rc;
}

int store_tables_create(sqlite3 *db)
{
    int rc = store_exec(db, "BEGIN IMMEDIATE");

    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = create_and_fill(db);
    if (rc != SQLITE_OK) {
        (void)store_exec(db, "ROLLBACK"); /* may have happened already */
    }
    return rc;
}
