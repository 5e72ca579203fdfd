/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/ops.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/store/tables.h"

/*
 * Deletes tombstones until at most nine tenths of the maximum are left, rounded up. The statement
 * counts all tombstones. So it runs seldom, and deletes many tombstones in one run.
 */
static int drop_tombstones(struct store_database *database)
{
    int64_t kept = database->marks_max - database->marks_max / 10;
    int rc = store_statement_run(database->statements[STORE_TOMBSTONE_DROP],
                                 STORE_VALUES(STORE_NUMBER(kept)));

    if (rc == SQLITE_OK) {
        database->state.tombstones = kept; /* or fewer: one may have been counted twice */
    }
    return rc;
}

static int put_row(struct store_database *database, const struct store_tombstone *tombstone)
{
    int rc = store_table_put(database->statements[STORE_TOMBSTONE_PUT], &store_tombstone_table,
                             tombstone);

    database->state.changed = true;
    if (rc == SQLITE_OK) {
        store_marks_add(&database->marks, database->db, tombstone->host, tombstone->id);
        rc = store_database_require_transaction(database);
    }
    /*
     * A new tombstone for an id that has a tombstone replaces the old row, but counts as one more:
     * `tombstones` is an upper bound.
     */
    if (rc == SQLITE_OK && ++database->state.tombstones > database->marks_max) {
        rc = drop_tombstones(database);
    }
    return rc;
}

/* Reads one tombstone of the host number, which may have STORE_REMOVED_HOST. */
static int find_row(struct store_database *database, uint32_t host, const uint8_t *id,
                    struct store_tombstone *out_tombstone)
{
    if (database->state.tombstones == 0 || !store_marks_may_have(&database->marks, host, id)) {
        return SQLITE_DONE;
    }
    out_tombstone->host = host;
    memcpy(out_tombstone->id, id, MESSAGE_ID_BYTES);
    return store_table_find(database->statements[STORE_TOMBSTONE_FIND], &store_tombstone_table,
                            out_tombstone);
}

int store_tombstone_find(struct store_database *database, const struct persist_message *message,
                         struct store_tombstone *out_tombstone)
{
    struct store_tombstone removed;
    int rc = find_row(database, message->host, message->id, out_tombstone);

    if (rc != SQLITE_ROW || out_tombstone->why != 0) {
        return rc;
    }
    rc = find_row(database, (uint32_t)(STORE_REMOVED_HOST + message->host), message->id, &removed);
    out_tombstone->why = rc == SQLITE_ROW ? PERSIST_WHY_REMOVED : PERSIST_WHY_WITHDRAWN;
    return rc == SQLITE_DONE ? SQLITE_ROW : rc;
}

/* Makes the tombstone say what others are to be told, after one of the same id. */
static void follow_tombstone(struct store_database *database, struct store_tombstone *tombstone,
                             const struct persist_message *message)
{
    struct store_tombstone before;

    if (store_tombstone_find(database, message, &before) != SQLITE_ROW) {
        return; /* there is none, or it is damaged, and is written anew */
    }
    if (before.expires_ms > tombstone->expires_ms) {
        tombstone->expires_ms = before.expires_ms; /* others know this end */
    }
    if (before.why == PERSIST_WHY_REMOVED) {
        tombstone->why = PERSIST_WHY_REMOVED;
    }
}

int store_tombstone_put(struct store_database *database, const struct persist_message *message,
                        int64_t expires_ms, enum persist_why why)
{
    struct store_tombstone tombstone = {
        .host = message->host, .expires_ms = expires_ms, .why = why};
    int rc = store_database_take_change(database, message->host, store_database_is_told(message),
                                        &tombstone.seq);

    memcpy(tombstone.id, message->id, MESSAGE_ID_BYTES);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (tombstone.seq != 0) {
        follow_tombstone(database, &tombstone, message);
    } else {
        tombstone.why = 0;
    }
    rc = put_row(database, &tombstone);
    if (rc == SQLITE_OK && why == PERSIST_WHY_REMOVED) {
        tombstone.host = (uint32_t)(STORE_REMOVED_HOST + message->host);
        tombstone.seq = 0;
        tombstone.why = 0;
        rc = put_row(database, &tombstone);
    }
    return rc;
}

int store_tombstone_lift(struct store_database *database, const struct persist_message *message)
{
    const uint32_t hosts[] = {message->host, (uint32_t)(STORE_REMOVED_HOST + message->host)};
    int rc = SQLITE_OK;

    for (size_t i = 0; i < 2 && rc == SQLITE_OK; i++) {
        rc = store_statement_run(
            database->statements[STORE_TOMBSTONE_LIFT],
            STORE_VALUES(STORE_NUMBER(hosts[i]), STORE_BLOB(message->id, MESSAGE_ID_BYTES)));
        if (rc == SQLITE_OK && sqlite3_changes64(database->db) > 0) {
            database->state.changed = true;
            database->state.tombstones--;
            store_marks_remove(&database->marks, hosts[i], message->id);
        }
    }
    return rc;
}

int store_tombstone_expire(struct store_database *database, struct persist_op *op)
{
    sqlite3_stmt *statement = database->statements[STORE_TOMBSTONE_EXPIRE];
    int64_t count = 0;

    if (database->state.tombstones == 0) {
        return SQLITE_OK;
    }
    int rc = store_statement_bind(statement,
                                  STORE_VALUES(STORE_NUMBER(op->now_ms), STORE_NUMBER(op->limit)));

    /* All rows are deleted before the first is returned. */
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        if (sqlite3_column_bytes(statement, 1) == MESSAGE_ID_BYTES) {
            store_marks_remove(&database->marks, (uint32_t)sqlite3_column_int64(statement, 0),
                               sqlite3_column_blob(statement, 1));
        }
        count++;
        rc = SQLITE_OK;
    }
    store_statement_reset(statement);
    if (rc == SQLITE_DONE && count > 0) {
        database->state.tombstones -= count;
        database->state.changed = true;
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_tombstone_shift(struct store_database *database, const struct persist_op *op)
{
    struct store_tombstone tombstone;
    struct store_walk walk;
    int rc = store_walk_begin(&walk, database->db, &store_tombstone_table, "+expires_ms > %" PRId64,
                              op->now_ms - op->shift_ms);

    while (rc == SQLITE_OK && (rc = store_walk_next(&walk, &tombstone)) == SQLITE_ROW) {
        int64_t seq = 0;

        tombstone.expires_ms += op->shift_ms;
        rc = tombstone.seq == 0 ? SQLITE_OK
                                : store_database_take_change(database, tombstone.host, true, &seq);
        tombstone.seq = seq != 0 ? seq : tombstone.seq;
        rc = rc == SQLITE_OK ? store_table_put(database->statements[STORE_TOMBSTONE_PUT],
                                               &store_tombstone_table, &tombstone)
                             : rc;
    }
    return store_walk_end(&walk, rc);
}

int store_tombstone_number(struct store_database *database, uint32_t host)
{
    struct store_tombstone tombstone;
    struct store_walk walk;
    int rc = store_walk_begin(&walk, database->db, &store_tombstone_table,
                              "+host_id = %" PRIu32 " AND seq IS NULL", host);

    while (rc == SQLITE_OK && (rc = store_walk_next(&walk, &tombstone)) == SQLITE_ROW) {
        struct persist_message message = {.host = host};
        struct store_tombstone found;

        memcpy(message.id, tombstone.id, MESSAGE_ID_BYTES);
        rc = store_tombstone_find(database, &message, &found);
        rc = rc == SQLITE_ROW ? store_tombstone_put(database, &message, found.expires_ms, found.why)
                              : rc;
    }
    return store_walk_end(&walk, rc);
}
