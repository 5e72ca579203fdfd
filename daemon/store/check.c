/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/check.h"

#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "daemon/store/checksum.h"
#include "daemon/store/row.h"
#include "daemon/store/statement.h"

/* --- tables ----------------------------------------------------------------------------------- */

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

int store_check_tables(sqlite3 *db, const char *tables)
{
    sqlite3 *model = NULL;
    uint64_t expected = 0;
    uint64_t found = 0;
    int rc = sqlite3_open_v2(":memory:", &model, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc == SQLITE_OK) {
        rc = store_exec(model, tables);
    }
    if (rc == SQLITE_OK) {
        rc = schema_hash(model, &expected);
    }
    (void)sqlite3_close(model);
    if (rc == SQLITE_OK) {
        rc = schema_hash(db, &found);
    }
    return rc == SQLITE_OK && expected != found ? SQLITE_CORRUPT : rc;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Whether the current row of a statement is as it was written. */
typedef bool row_check(sqlite3_stmt *statement);

static bool meta_is_whole(sqlite3_stmt *statement)
{
    const void *store_id = sqlite3_column_blob(statement, 0);
    int64_t next_seq = sqlite3_column_int64(statement, 1);
    int64_t clock_ms = sqlite3_column_int64(statement, 2);
    int64_t last_seq = sqlite3_column_int64(statement, 4);
    int64_t shift_from_ms = sqlite3_column_int64(statement, 5);

    return store_id != NULL && sqlite3_column_bytes(statement, 0) == PERSIST_STORE_ID_BYTES &&
           sqlite3_column_int64(statement, 3) ==
               store_meta_checksum(store_id, next_seq, clock_ms, shift_from_ms) &&
           next_seq > last_seq;
}

static bool host_is_whole(sqlite3_stmt *statement)
{
    int64_t host = sqlite3_column_int64(statement, 0);
    const char *name = (const char *)sqlite3_column_text(statement, 1);
    const char *profile = (const char *)sqlite3_column_text(statement, 2);

    return host >= 0 && host <= UINT32_MAX && name != NULL && profile != NULL &&
           sqlite3_column_int64(statement, 3) ==
               store_host_checksum((uint32_t)host, name, profile,
                                   sqlite3_column_int64(statement, 4) != 0);
}

static bool tombstone_is_whole(sqlite3_stmt *statement)
{
    struct store_tombstone tombstone;

    return store_row_read_tombstone(statement, &tombstone) == SQLITE_OK;
}

static bool evicted_is_whole(sqlite3_stmt *statement)
{
    struct store_evictions evictions;

    return store_row_read_evicted(statement, &evictions) == SQLITE_OK;
}

static bool epoch_is_whole(sqlite3_stmt *statement)
{
    struct persist_epoch epoch;

    return store_row_read_epoch(statement, &epoch) == SQLITE_OK;
}

static bool moderation_is_whole(sqlite3_stmt *statement)
{
    int64_t state = sqlite3_column_int64(statement, 1);
    int64_t reports = sqlite3_column_int64(statement, 2);
    int64_t destroy_ms = sqlite3_column_int64(statement, 3);
    int64_t removed_ms = sqlite3_column_int64(statement, 4);
    const void *reasons = sqlite3_column_text(statement, 5);

    return state >= PERSIST_SHOWN && state <= PERSIST_WITHHELD && reports >= 0 &&
           reports <= UINT32_MAX && reasons != NULL &&
           (destroy_ms == 0 || (destroy_ms > 0 && state == PERSIST_WITHHELD)) &&
           sqlite3_column_int64(statement, 6) ==
               store_moderation_checksum(sqlite3_column_int64(statement, 0), state, reports,
                                         destroy_ms, removed_ms, sqlite3_column_int64(statement, 7),
                                         reasons, (size_t)sqlite3_column_bytes(statement, 5));
}

static bool decision_is_whole(sqlite3_stmt *statement)
{
    struct persist_decision decision;

    return store_row_read_decision(statement, &decision) == SQLITE_OK;
}

static bool copy_is_whole(sqlite3_stmt *statement)
{
    struct store_copy copy;

    return store_row_read_copy(statement, &copy) == SQLITE_OK;
}

static bool rule_is_whole(sqlite3_stmt *statement)
{
    struct persist_rule rule;

    return store_row_read_rule(statement, &rule) == SQLITE_OK;
}

/*
 * Whether the current row of integrity_check or quick_check is "ok". For an undamaged database this
 * is the only row. For a damaged database the rows describe the damage.
 */
static bool structure_is_whole(sqlite3_stmt *statement)
{
    const char *text = (const char *)sqlite3_column_text(statement, 0);

    return text != NULL && strcmp(text, "ok") == 0;
}

static const struct check {
    const char *what;
    const char *sql;
    row_check *is_whole;
    bool needs_row;
} checks[] = {
    /*
     * quick_check does not compare the entries of an index with the rows. The statement is not
     * quick_check(1): SQLite 3.46.1 crashes if there are as many errors as the limit and then no
     * memory for their text. With the usual limit of 100 errors the memory is there by then.
     */
    {"structure", "PRAGMA quick_check", structure_is_whole, true},
    {"the index of hosts", "PRAGMA integrity_check('host')", structure_is_whole, true},
    {"the index of rules", "PRAGMA integrity_check('rule')", structure_is_whole, true},
    {"the index of withdrawn messages", "PRAGMA integrity_check('tombstone')", structure_is_whole,
     true},
    {"meta",
     "SELECT store_id, next_seq, clock_ms, checksum, max("
     "(SELECT coalesce(max(seq), 0) FROM message), (SELECT coalesce(max(seq), 0) FROM tombstone),"
     "(SELECT coalesce(max(seq), 0) FROM evicted),"
     "(SELECT coalesce(max(change_seq), 0) FROM moderation),"
     "(SELECT coalesce(max(seq), 0) FROM rule),"
     "(SELECT coalesce(max(number), 0) FROM copy_decision WHERE waits)),"
     " shift_from_ms FROM meta",
     meta_is_whole, true},
    {"a host's row", "SELECT host_id, name, profile, checksum, replicate FROM host", host_is_whole,
     false},
    {"a withdrawn message's row", "SELECT " STORE_TOMBSTONE_COLUMNS " FROM tombstone",
     tombstone_is_whole, false},
    {"a row of evicted messages", "SELECT " STORE_EVICTED_COLUMNS " FROM evicted", evicted_is_whole,
     false},
    {"an epoch's row", "SELECT " STORE_EPOCH_COLUMNS " FROM epoch", epoch_is_whole, false},
    {"a reported message's row",
     "SELECT seq, state, reports, destroy_ms, removed_ms, reasons, row_checksum, change_seq"
     " FROM moderation",
     moderation_is_whole, false},
    {"the index of removed messages", "PRAGMA integrity_check('moderation')", structure_is_whole,
     true},
    {"a decision's row", "SELECT " STORE_DECISION_COLUMNS " FROM decision", decision_is_whole,
     false},
    {"the index of decisions", "PRAGMA integrity_check('decision')", structure_is_whole, true},
    {"a reported message is missing",
     "SELECT 1 FROM moderation WHERE seq NOT IN (SELECT seq FROM message) LIMIT 1", NULL, false},
    {"a rule's row", "SELECT " STORE_RULE_COLUMNS " FROM rule", rule_is_whole, false},
    {"a row of a decision at a copy", "SELECT " STORE_COPY_COLUMNS " FROM copy_decision",
     copy_is_whole, false},
};

static int check_rows(sqlite3 *db, const struct check *check, char *out_detail)
{
    sqlite3_stmt *statement;
    bool any = false;
    int rc = store_query(db, check->sql, STORE_NO_VALUES, &statement);

    while (rc == SQLITE_ROW && check->is_whole != NULL && check->is_whole(statement)) {
        any = true;
        rc = sqlite3_step(statement);
    }
    if (rc == SQLITE_ROW || (rc == SQLITE_DONE && check->needs_row && !any)) {
        rc = SQLITE_CORRUPT;
        (void)snprintf(out_detail, STORE_CHECK_DETAIL_BYTES, "check failed: %s", check->what);
    } else if (rc != SQLITE_DONE) {
        (void)snprintf(out_detail, STORE_CHECK_DETAIL_BYTES, "%s", sqlite3_errmsg(db));
    }
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_check(sqlite3 *db, char *out_detail)
{
    int rc = SQLITE_OK;

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && rc == SQLITE_OK; i++) {
        rc = check_rows(db, &checks[i], out_detail);
    }
    return rc;
}
