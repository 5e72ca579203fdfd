/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/evict.h"

#include <assert.h>
#include <string.h>

/* Numbers of the messages in op->removed. */
struct found {
    int64_t seqs[PERSIST_EXPIRE_MAX];
    uint32_t chosen; /* so many at the beginning are from op->chosen */
};

/* Finds a chosen message; skips one that is not there. */
static int find_chosen(struct store_database *database, struct persist_op *op, const uint8_t *id,
                       struct found *found)
{
    sqlite3_stmt *statement = database->statements[STORE_PLACE];
    struct persist_removed *removed = &op->removed[op->removed_count];
    int rc = sqlite3_bind_int64(statement, 1, op->message.host);

    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_blob(statement, 2, id, MESSAGE_ID_BYTES, SQLITE_STATIC);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    if (rc == SQLITE_ROW) {
        found->seqs[op->removed_count] = sqlite3_column_int64(statement, 0);
        removed->host = op->message.host;
        removed->epoch = (uint64_t)sqlite3_column_int64(statement, 1);
        memcpy(removed->id, id, MESSAGE_ID_BYTES);
        op->removed_count++;
    }
    store_statement_reset(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static bool is_chosen(const struct found *found, int64_t seq)
{
    for (uint32_t i = 0; i < found->chosen; i++) {
        if (found->seqs[i] == seq) {
            return true;
        }
    }
    return false;
}

/* Reads the current row of a search: its seq, and its place in the order of eviction. */
static int read_removed(sqlite3_stmt *statement, int64_t *out_seq, int64_t *out_place,
                        struct persist_removed *out, uint64_t *out_bytes)
{
    if (sqlite3_column_bytes(statement, 4) != MESSAGE_ID_BYTES ||
        sqlite3_column_int64(statement, 5) < 0) {
        return SQLITE_CORRUPT;
    }
    *out_seq = sqlite3_column_int64(statement, 0);
    *out_place = sqlite3_column_int64(statement, 1);
    out->host = (uint32_t)sqlite3_column_int64(statement, 2);
    out->epoch = (uint64_t)sqlite3_column_int64(statement, 3);
    memcpy(out->id, sqlite3_column_blob(statement, 4), MESSAGE_ID_BYTES);
    *out_bytes = (uint64_t)sqlite3_column_int64(statement, 5);
    return SQLITE_OK;
}

static int bind_evictable(struct store_database *database, sqlite3_stmt *statement,
                          const struct persist_op *op)
{
    struct store_evicted *evicted = &database->state.evicted;

    if (evicted->order != op->evict || evicted->host != op->message.host) {
        *evicted = (struct store_evicted){op->evict, op->message.host, INT64_MIN};
    }
    int rc = sqlite3_bind_int64(statement, 1, op->message.host);
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_int64(statement, 2,
                                database->state.next_seq - 1); /* the one just stored */
    }
    return rc == SQLITE_OK ? sqlite3_bind_int64(statement, 3, evicted->from) : rc;
}

/*
 * Finds further messages to evict and adds them to op->removed and to `found`. *out_enough: whether
 * they are as many as op->evict_messages and op->evict_bytes ask for.
 */
static int find_evictable(struct store_database *database, struct persist_op *op,
                          struct found *found, bool *out_enough)
{
    sqlite3_stmt *statement =
        database->statements[op->evict == PERSIST_EVICT_OLDEST ? STORE_OLDEST : STORE_SOONEST];
    uint64_t messages = 0;
    uint64_t bytes = 0;
    bool is_first = true;
    int rc = bind_evictable(database, statement, op);

    while (rc == SQLITE_OK && !*out_enough && op->removed_count < op->limit &&
           (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        int64_t place = 0;
        uint64_t more = 0;

        rc = read_removed(statement, &found->seqs[op->removed_count], &place,
                          &op->removed[op->removed_count], &more);
        if (rc == SQLITE_OK && is_first) {
            database->state.evicted.from = place;
            /* This search skips the new deposit, but the next search may begin with it. */
            if (op->evict == PERSIST_EVICT_SOONEST && op->message.expires_ms < place) {
                database->state.evicted.from = op->message.expires_ms;
            }
        }
        is_first = false;
        if (is_chosen(found, found->seqs[op->removed_count])) {
            continue;
        }
        op->removed_count++;
        messages++;
        bytes += more;
        *out_enough = messages >= op->evict_messages && bytes >= op->evict_bytes;
    }
    store_statement_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_evict(struct store_database *database, struct persist_op *op)
{
    struct found found = {.chosen = 0};
    bool enough = op->evict == PERSIST_EVICT_NONE;
    int rc = SQLITE_OK;

    assert(op->limit >= 1 && op->limit <= PERSIST_EXPIRE_MAX && op->removed != NULL);
    assert(op->chosen_count <= op->limit);
    for (uint32_t i = 0; i < op->chosen_count && rc == SQLITE_OK; i++) {
        const uint8_t *id = op->chosen + (size_t)i * MESSAGE_ID_BYTES;
        if (memcmp(id, op->message.id, MESSAGE_ID_BYTES) !=
            0) { /* else it is the one just stored */
            rc = find_chosen(database, op, id, &found);
        }
    }
    found.chosen = op->removed_count;
    if (rc == SQLITE_OK && !enough) {
        rc = find_evictable(database, op, &found, &enough);
    }
    if (rc == SQLITE_OK && !enough) {
        op->removed_count = 0;
        op->outcome = PERSIST_FULL;
        return store_database_delete(database, database->state.next_seq - 1);
    }
    for (uint32_t i = 0; i < op->removed_count && rc == SQLITE_OK; i++) {
        rc = store_database_delete(database, found.seqs[i]);
    }
    return rc;
}
