/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/database.h"

#include <string.h>

enum {
    ROOM_MIN = 1024, /* a filter is loaded with room for at least this number of further ids */
    PATIENCE = 1000  /* transactions between a failed loading and the next attempt */
};

static uint64_t hash_key(const void *context, const uint8_t *key)
{
    return keyed_hash(context, key, STORE_MARKS_KEY_BYTES);
}

static void make_key(uint32_t host, const uint8_t *id, uint8_t out[STORE_MARKS_KEY_BYTES])
{
    for (size_t i = 0; i < 4; i++) {
        out[i] = (uint8_t)(host >> (8 * i));
    }
    memcpy(out + 4, id, MESSAGE_ID_BYTES);
}

void store_marks_init(struct store_marks *marks)
{
    memset(marks, 0, sizeof(*marks));
    keyed_hash_draw(marks->secret);
}

void store_marks_deinit(struct store_marks *marks)
{
    cuckoo_deinit(&marks->filter);
    marks->usable = false;
}

/* --- loading ---------------------------------------------------------------------------------- */

/* An iterator over the ids of the table `tombstone`, for a rebuild of the filter. */
struct rows {
    sqlite3_stmt *statement;
    int rc;
    uint8_t key[STORE_MARKS_KEY_BYTES];
};

static void rows_rewind(void *context)
{
    struct rows *rows = context;

    (void)sqlite3_reset(rows->statement); /* repeats what step said */
    rows->rc = SQLITE_ROW;
}

static const uint8_t *rows_next(void *context)
{
    struct rows *rows = context;

    rows->rc = sqlite3_step(rows->statement);
    if (rows->rc == SQLITE_ROW && sqlite3_column_bytes(rows->statement, 1) != MESSAGE_ID_BYTES) {
        rows->rc = SQLITE_CORRUPT; /* an id of another length is damage, which store_check reports
                                      at the next start */
    }
    if (rows->rc != SQLITE_ROW) {
        return NULL;
    }
    make_key((uint32_t)sqlite3_column_int64(rows->statement, 0),
             sqlite3_column_blob(rows->statement, 1), rows->key);
    return rows->key;
}

/*
 * Loads all ids of the table `tombstone`, as the current transaction sees them. On failure the
 * filter is not usable.
 */
static void marks_load(struct store_marks *marks, sqlite3 *db)
{
    struct rows rows = {0};
    struct cuckoo_ids ids = {rows_rewind, rows_next, &rows};
    struct cuckoo filter;
    int64_t count = 0;

    marks->usable = false;
    marks->patience = PATIENCE;
    cuckoo_deinit(&marks->filter);
    if (store_query_number(db, "SELECT count(*) FROM tombstone", STORE_NO_VALUES, &count) !=
            SQLITE_OK ||
        count > CUCKOO_CAPACITY_MAX / 2 ||
        sqlite3_prepare_v2(db, "SELECT host_id, id FROM tombstone", -1, &rows.statement, NULL) !=
            SQLITE_OK) {
        return;
    }
    uint32_t room = (uint32_t)(count + count / 4 + ROOM_MIN);
    if (cuckoo_init(&filter, alloc_system(), hash_key, marks->secret, room) == 0) {
        int rc = cuckoo_rebuild(&filter, &ids, room);
        if (rc == 0 && rows.rc == SQLITE_DONE) {
            marks->filter = filter;
            marks->usable = true;
            marks->reloaded = true;
            marks->gone_count = 0; /* the table did not have them any more */
        } else {
            cuckoo_deinit(&filter);
        }
    }
    (void)sqlite3_finalize(rows.statement); /* repeats what step said */
}

void store_marks_begin(struct store_marks *marks, sqlite3 *db)
{
    marks->gone_count = 0;
    marks->reloaded = false;
    if (marks->usable) {
        return;
    }
    if (marks->patience > 0) {
        marks->patience--;
        return;
    }
    marks_load(marks, db);
    marks->reloaded = false; /* the transaction has changed nothing yet */
}

/* --- marks ------------------------------------------------------------------------------------ */

bool store_marks_may_have(const struct store_marks *marks, uint32_t host, const uint8_t *id)
{
    uint8_t key[STORE_MARKS_KEY_BYTES];

    make_key(host, id, key);
    return !marks->usable || cuckoo_has(&marks->filter, key);
}

void store_marks_add(struct store_marks *marks, sqlite3 *db, uint32_t host, const uint8_t *id)
{
    uint8_t key[STORE_MARKS_KEY_BYTES];

    make_key(host, id, key);
    if (marks->usable && cuckoo_insert(&marks->filter, key) != 0) {
        marks_load(marks, db); /* the id is in the table already */
    }
}

void store_marks_remove(struct store_marks *marks, uint32_t host, const uint8_t *id)
{
    if (marks->usable && marks->gone_count < STORE_MARKS_GONE_MAX) {
        make_key(host, id, marks->gone[marks->gone_count++]);
    }
}

void store_marks_commit(struct store_marks *marks)
{
    for (uint32_t i = 0; i < marks->gone_count && marks->usable; i++) {
        /*
         * cuckoo_remove cannot fail: the filter got the id when the tombstone was stored, or when
         * all ids were loaded.
         */
        (void)cuckoo_remove(&marks->filter, marks->gone[i]);
    }
    marks->gone_count = 0;
    marks->reloaded = false;
}

void store_marks_rollback(struct store_marks *marks)
{
    marks->gone_count = 0;
    if (marks->reloaded) { /* the filter may lack tombstones that the rollback brings back */
        marks->usable = false;
        marks->patience = 0;
    }
    marks->reloaded = false;
}
