/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/epoch.h"

#include <string.h>

#include <sodium.h>

#include "daemon/store/error.h"
#include "daemon/store/row.h"

int store_epoch_read(sqlite3_stmt *statement, struct persist_epoch *out_epoch)
{
    int64_t host = sqlite3_column_int64(statement, 0);
    const void *key = sqlite3_column_blob(statement, 6);
    struct persist_epoch epoch = {
        .host = (uint32_t)host,
        .number = (uint64_t)sqlite3_column_int64(statement, 1),
        .starts_ms = sqlite3_column_int64(statement, 2),
        .ends_ms = sqlite3_column_int64(statement, 3),
        .kept_ms = sqlite3_column_int64(statement, 4),
    };

    if (host < 0 || host > UINT32_MAX || epoch.number == 0 || key == NULL ||
        sqlite3_column_bytes(statement, 6) != LIMIT_KEY_BYTES) {
        return SQLITE_CORRUPT;
    }
    memcpy(epoch.key, key, LIMIT_KEY_BYTES);
    if (sqlite3_column_int64(statement, 5) != store_epoch_checksum(&epoch)) {
        return SQLITE_CORRUPT;
    }
    *out_epoch = epoch;
    sodium_memzero(&epoch, sizeof(epoch));
    return SQLITE_OK;
}

static int epoch_bind(sqlite3_stmt *statement, const struct persist_epoch *epoch)
{
    int64_t numbers[] = {
        epoch->host,    (int64_t)epoch->number, epoch->starts_ms,
        epoch->ends_ms, epoch->kept_ms,         store_epoch_checksum(epoch),
    };
    int count = sizeof(numbers) / sizeof(numbers[0]);
    int rc = SQLITE_OK;

    for (int i = 0; i < count && rc == SQLITE_OK; i++) {
        rc = sqlite3_bind_int64(statement, i + 1, numbers[i]);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_blob(statement, count + 1, epoch->key, LIMIT_KEY_BYTES, SQLITE_STATIC);
    }
    return rc;
}

int store_epoch_put(sqlite3 *db, const struct persist_epoch *epoch)
{
    sqlite3_stmt *statement;
    int rc = sqlite3_prepare_v2(db,
                                "INSERT INTO epoch (" STORE_EPOCH_COLUMNS ")"
                                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
                                " ON CONFLICT (host_id, number) DO NOTHING",
                                -1, &statement, NULL);

    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = epoch_bind(statement, epoch);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    (void)sqlite3_finalize(statement); /* repeats what step said */
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_epoch_replay(sqlite3 *db, const char *path,
                       int (*visit)(void *context, const struct persist_epoch *epoch),
                       void *context, char *out_reason)
{
    struct persist_epoch epoch;
    sqlite3_stmt *statement;
    int code = 0;
    int rc =
        sqlite3_prepare_v2(db, "SELECT " STORE_EPOCH_COLUMNS " FROM epoch ORDER BY host_id, number",
                           -1, &statement, NULL);

    if (rc != SQLITE_OK) {
        return store_error_refuse(path, rc, sqlite3_errmsg(db), out_reason);
    }
    while (code == 0 && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        rc = store_epoch_read(statement, &epoch);
        if (rc != SQLITE_OK) {
            code = store_error_refuse(path, rc, "an epoch is not as it was written", out_reason);
            break;
        }
        code = visit(context, &epoch);
        sodium_memzero(&epoch, sizeof(epoch));
    }
    if (code == 0 && rc != SQLITE_DONE) {
        code = store_error_refuse(path, rc, sqlite3_errmsg(db), out_reason);
    }
    (void)sqlite3_finalize(statement);
    return code;
}
