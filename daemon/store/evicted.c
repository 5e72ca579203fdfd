/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/ops.h"

#include <string.h>

#include "core/base/expiry.h"

/*
 * How many messages go when there are too many; also the most messages of a row, so that not many
 * more go with the last row.
 */
static int64_t drop_count(const struct store_database *database)
{
    return database->marks_max / 10 + 1;
}

/* Deletes the first rows until they had `most` messages or one has not expired at `now_ms`. */
static int drop_first(struct store_database *database, int64_t most, int64_t now_ms)
{
    sqlite3_stmt *statement = database->statements[STORE_EVICTED_FIRST];
    int64_t last = 0;
    int64_t count = 0;
    int rc = SQLITE_ROW;

    while (count < most && (rc = sqlite3_step(statement)) == SQLITE_ROW &&
           message_expired(sqlite3_column_int64(statement, 1), now_ms)) {
        last = sqlite3_column_int64(statement, 0);
        count += sqlite3_column_int64(statement, 2);
    }
    store_statement_reset(statement);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        return rc;
    }
    if (count == 0) {
        return SQLITE_OK;
    }
    database->state.told_evicted -= count;
    database->state.changed = true;
    return store_statement_run(database->statements[STORE_EVICTED_DROP],
                               STORE_VALUES(STORE_NUMBER(last)));
}

int store_evicted_write(struct store_database *database)
{
    struct store_evictions *evictions = &database->evictions;
    int rc;

    if (evictions->count == 0) {
        return SQLITE_OK;
    }
    rc = store_row_put_evicted(database->statements[STORE_EVICTED_PUT], evictions);
    database->state.told_evicted += evictions->count;
    evictions->count = 0;
    return rc == SQLITE_OK && database->state.told_evicted > database->marks_max
               ? drop_first(database, drop_count(database), INT64_MAX)
               : rc;
}

int store_evicted_put(struct store_database *database, const struct persist_message *message,
                      int64_t expires_ms)
{
    struct store_evictions *evictions = &database->evictions;
    int64_t seq = 0;
    int rc =
        store_database_take_change(database, message->host, store_database_is_told(message), &seq);

    if (rc != SQLITE_OK || seq == 0) {
        return rc;
    }
    if (evictions->count == STORE_EVICTIONS_MAX || evictions->count >= drop_count(database) ||
        evictions->host != message->host) {
        rc = store_evicted_write(database);
    }
    evictions->host = message->host;
    struct store_eviction *eviction = &evictions->messages[evictions->count++];
    eviction->seq = seq;
    eviction->expires_ms = expires_ms;
    memcpy(eviction->id, message->id, MESSAGE_ID_BYTES);
    return rc;
}

int store_evicted_expire(struct store_database *database, struct persist_op *op)
{
    return database->state.told_evicted == 0 ? SQLITE_OK
                                             : drop_first(database, op->limit, op->now_ms);
}
