/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/alone.h"

#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "daemon/store/log.h"
#include "daemon/store/persist.h"
#include "daemon/store/row.h"
#include "daemon/store/schema.h"
#include "daemon/store/tables.h"
#include "tests/bench/bench.h"
#include "tests/bench/stats.h"
#include "tests/bench/workload.h"

/*
 * Writes some rows in one transaction. `seq` is the number of the first row. Returns an SQLite
 * result code.
 */
static int write_rows(sqlite3 *db, sqlite3_stmt *insert, const struct workload_message *messages,
                      size_t count, int64_t seq)
{
    int rc = store_exec(db, "BEGIN IMMEDIATE");

    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        struct persist_message message;
        workload_describe(&messages[i], 1, stats_now_ns() / 1000000, &message);
        message.seq = seq + (int64_t)i;
        rc = store_table_put(insert, &store_message_table, &message);
    }
    return rc == SQLITE_OK ? store_exec(db, "COMMIT") : rc;
}

static int write_all(sqlite3 *db, sqlite3_stmt *insert, uint64_t seed, size_t count,
                     double *out_seconds)
{
    struct workload_message *messages = calloc(ALONE_TRANSACTION_ROWS, sizeof(*messages));
    int64_t spent_ns = 0;
    int rc = messages != NULL ? SQLITE_OK : SQLITE_NOMEM;

    for (size_t at = 0; at < count && rc == SQLITE_OK; at += ALONE_TRANSACTION_ROWS) {
        const size_t rows =
            count - at < ALONE_TRANSACTION_ROWS ? count - at : ALONE_TRANSACTION_ROWS;
        for (size_t i = 0; i < rows; i++) {
            workload_make(seed, at + i, &messages[i]);
        }
        const int64_t start_ns = stats_now_ns();
        rc = write_rows(db, insert, messages, rows, (int64_t)at + 1);
        spent_ns += stats_now_ns() - start_ns;
    }
    free(messages);
    *out_seconds = (double)spent_ns / 1e9;
    return rc;
}

int alone_deposit(const char *directory, uint64_t seed, size_t count, struct alone_outcome *out)
{
    char reason[PERSIST_REASON_BYTES] = "";
    char path[4096 + 32];
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;

    snprintf(path, sizeof(path), "%s/alone.db", directory);
    if (store_schema_open(path, STORE_USE_WRITER, STORE_PAGE_BYTES, &db, reason) != 0) {
        return bench_fail("SQLite alone: %s", reason);
    }
    /*
     * At this size of the WAL the daemon runs a checkpoint itself. Without a daemon, SQLite runs
     * it.
     */
    int rc = sqlite3_wal_autocheckpoint(db, STORE_LOG_BYTES /
                                                (STORE_PAGE_BYTES + STORE_LOG_FRAME_HEADER_BYTES));
    if (rc == SQLITE_OK) {
        rc = store_table_prepare(db, &store_message_table, "INSERT", 1, &insert);
    }
    if (rc == SQLITE_OK) {
        rc = write_all(db, insert, seed, count, &out->seconds);
    }
    out->memory_bytes = (double)sqlite3_memory_used();
    if (rc != SQLITE_OK) {
        (void)bench_fail("SQLite alone: %s", sqlite3_errmsg(db));
    }
    (void)sqlite3_finalize(insert);
    store_schema_close_last(db);
    return rc == SQLITE_OK ? 0 : -1;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int read_rows(sqlite3 *db, size_t *out_rows)
{
    static const char sql[] = "SELECT * FROM message ORDER BY seq";
    sqlite3_stmt *select = NULL;
    size_t rows = 0;
    int rc = sqlite3_prepare_v2(db, sql, -1, &select, NULL);

    if (rc != SQLITE_OK) {
        return rc;
    }
    while ((rc = sqlite3_step(select)) == SQLITE_ROW) {
        struct persist_message message;
        rc = store_row_read(select, &message);
        if (rc != SQLITE_OK) {
            break;
        }
        rows++;
    }
    (void)sqlite3_finalize(select);
    *out_rows = rows;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int alone_read(const char *path, struct alone_reading *out)
{
    char reason[PERSIST_REASON_BYTES] = "";
    sqlite3 *db = NULL;

    const int64_t start_ns = stats_now_ns();
    if (store_schema_open(path, STORE_USE_WRITER, STORE_PAGE_BYTES, &db, reason) != 0) {
        return bench_fail("SQLite alone: %s", reason);
    }
    const int64_t opened_ns = stats_now_ns();
    const int rc = read_rows(db, &out->rows);
    const int64_t read_ns = stats_now_ns();
    if (rc != SQLITE_OK) {
        (void)bench_fail("SQLite alone: %s", sqlite3_errmsg(db));
    }
    store_schema_close_last(db);
    out->open_seconds = (double)(opened_ns - start_ns) / 1e9;
    out->read_seconds = (double)(read_ns - opened_ns) / 1e9;
    return rc == SQLITE_OK ? 0 : -1;
}
