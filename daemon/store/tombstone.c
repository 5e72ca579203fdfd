/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/tombstone.h"

#include <string.h>

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
    int rc = store_row_put_tombstone(database->statements[STORE_TOMBSTONE_PUT], tombstone);

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
    sqlite3_stmt *statement = database->statements[STORE_TOMBSTONE_FIND];

    if (database->state.tombstones == 0 || !store_marks_may_have(&database->marks, host, id)) {
        return SQLITE_DONE;
    }
    int rc = store_statement_step(
        statement, STORE_VALUES(STORE_NUMBER(host), STORE_BLOB(id, MESSAGE_ID_BYTES)));
    if (rc == SQLITE_ROW) {
        int read = store_row_read_tombstone(statement, out_tombstone);
        rc = read == SQLITE_OK ? rc : read;
    }
    store_statement_reset(statement);
    return rc;
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
    int rc = store_database_take_change(database, message->host, message->epoch, &tombstone.seq);

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
    uint32_t hosts[] = {message->host, (uint32_t)(STORE_REMOVED_HOST + message->host)};
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

int store_tombstone_expire(struct store_database *database, const struct persist_op *op)
{
    sqlite3_stmt *statement = database->statements[STORE_TOMBSTONE_EXPIRE];
    int64_t count = 0;
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

/*
 * Finds the first tombstone behind the key of *tombstone that expires after `after_ms`. The search
 * ends before the caller changes the row: so no search sees a row that the same loop has moved.
 * SQLITE_DONE: there is none. A damaged row is skipped.
 */
static int find_next(struct store_database *database, int64_t after_ms, bool *is_first,
                     struct store_tombstone *tombstone)
{
    sqlite3_stmt *statement = database->statements[STORE_TOMBSTONE_NEXT];
    int rc = SQLITE_CORRUPT;

    while (rc == SQLITE_CORRUPT) {
        rc = store_statement_step(
            statement,
            STORE_VALUES(STORE_NUMBER(*is_first ? -1 : (int64_t)tombstone->host),
                         STORE_BLOB(tombstone->id, MESSAGE_ID_BYTES), STORE_NUMBER(after_ms)));
        *is_first = false;
        if (rc == SQLITE_ROW) {
            int read = store_row_read_tombstone(statement, tombstone);
            bool has_key = sqlite3_column_bytes(statement, 1) == MESSAGE_ID_BYTES;
            if (read == SQLITE_CORRUPT && has_key) { /* the next step goes past its key */
                tombstone->host = (uint32_t)sqlite3_column_int64(statement, 0);
                memcpy(tombstone->id, sqlite3_column_blob(statement, 1), MESSAGE_ID_BYTES);
            }
            rc = read == SQLITE_OK                    ? SQLITE_ROW
                 : read == SQLITE_CORRUPT && !has_key ? SQLITE_ERROR
                                                      : read;
        }
        store_statement_reset(statement);
    }
    return rc;
}

int store_tombstone_shift(struct store_database *database, const struct persist_op *op)
{
    struct store_tombstone tombstone = {.host = 0};
    int64_t before_ms = op->now_ms - op->shift_ms;
    bool is_first = true;
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK &&
           (rc = find_next(database, before_ms, &is_first, &tombstone)) == SQLITE_ROW) {
        struct store_tombstone moved = tombstone;

        moved.expires_ms += op->shift_ms;
        int64_t seq = 0;
        rc = moved.seq == 0 ? SQLITE_OK : store_database_take_change(database, moved.host, 0, &seq);
        moved.seq = seq != 0 ? seq : moved.seq;
        rc = rc == SQLITE_OK
                 ? store_row_put_tombstone(database->statements[STORE_TOMBSTONE_PUT], &moved)
                 : rc;
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_tombstone_number(struct store_database *database, uint32_t host)
{
    struct store_tombstone tombstone = {.host = 0};
    bool is_first = true;
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK &&
           (rc = find_next(database, INT64_MIN, &is_first, &tombstone)) == SQLITE_ROW) {
        struct persist_message message = {.host = host};
        struct store_tombstone found;

        rc = SQLITE_OK;
        if (tombstone.host == host && tombstone.seq == 0) {
            memcpy(message.id, tombstone.id, MESSAGE_ID_BYTES);
            rc = store_tombstone_find(database, &message, &found);
            rc = rc == SQLITE_ROW
                     ? store_tombstone_put(database, &message, found.expires_ms, found.why)
                     : rc;
        }
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
