/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/row.h"

#include <string.h>

#include "daemon/store/tables.h"

/* --- messages --------------------------------------------------------------------------------- */

/* Places of the columns in a row, where 0 is the checksum. */
enum { PLACE_HOST = 2, PLACE_ID = 3 };

int store_row_put_several(sqlite3_stmt *statement, const struct persist_message *const *messages)
{
    int rc = SQLITE_OK;

    for (unsigned i = 0; i < STORE_ROWS && rc == SQLITE_OK; i++) {
        rc = store_table_bind(statement, i, &store_message_table, messages[i]);
    }
    rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
    (void)sqlite3_reset(statement); /* repeats what step said; the next call binds every place */
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_row_read(sqlite3_stmt *statement, struct persist_message *out_message)
{
    return store_table_read(statement, &store_message_table, out_message);
}

bool store_row_is_of(sqlite3_stmt *statement, const struct persist_message *key)
{
    const void *id = sqlite3_column_blob(statement, PLACE_ID);

    return sqlite3_column_int64(statement, PLACE_HOST) == key->host && id != NULL &&
           sqlite3_column_bytes(statement, PLACE_ID) == MESSAGE_ID_BYTES &&
           memcmp(id, key->id, MESSAGE_ID_BYTES) == 0;
}

void store_row_read_key(sqlite3_stmt *statement, struct persist_message *out_message)
{
    int64_t host = sqlite3_column_int64(statement, PLACE_HOST);
    const void *id = sqlite3_column_blob(statement, PLACE_ID);

    out_message->host = host >= 0 && host <= UINT32_MAX ? (uint32_t)host : UINT32_MAX;
    if (id != NULL && sqlite3_column_bytes(statement, PLACE_ID) == MESSAGE_ID_BYTES) {
        memcpy(out_message->id, id, MESSAGE_ID_BYTES);
    }
}

static bool same_bytes(const void *a, size_t a_length, const void *b, size_t b_length)
{
    return a_length == b_length && (a_length == 0 || memcmp(a, b, a_length) == 0);
}

bool store_row_same_content(const struct persist_message *a, const struct persist_message *b)
{
    return a->epoch == b->epoch && a->reach_ppm == b->reach_ppm &&
           a->can_withdraw == b->can_withdraw &&
           (!a->can_withdraw ||
            memcmp(a->withdraw_hash, b->withdraw_hash, LIMIT_HASH_BYTES) == 0) &&
           a->is_answer == b->is_answer &&
           (!a->is_answer || memcmp(a->answers, b->answers, MESSAGE_ID_BYTES) == 0) &&
           same_bytes(a->filter, a->filter_bytes, b->filter, b->filter_bytes) &&
           same_bytes(a->media_type, a->media_type_bytes, b->media_type, b->media_type_bytes) &&
           same_bytes(a->payload, a->payload_bytes, b->payload, b->payload_bytes);
}

/* --- evicted messages ------------------------------------------------------------------------- */

_Static_assert(STORE_EVICTION_BYTES == 16 + MESSAGE_ID_BYTES, "STORE_EVICTED_COUNT divides by it");

static uint8_t *put_u64(uint8_t *out, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
    return out + 8;
}

static uint64_t get_u64(const uint8_t *bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < 8; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

int store_row_put_evicted(sqlite3_stmt *statement, const struct store_evictions *evictions)
{
    uint8_t bytes[STORE_EVICTIONS_MAX * STORE_EVICTION_BYTES];
    uint8_t *end = bytes;
    struct store_evicted_row row = {
        .host = evictions->host, .expires_ms = INT64_MIN, .messages = bytes};

    for (uint32_t i = 0; i < evictions->count; i++) {
        const struct store_eviction *message = &evictions->messages[i];

        row.seq = message->seq;
        row.expires_ms =
            message->expires_ms > row.expires_ms ? message->expires_ms : row.expires_ms;
        end = put_u64(end, (uint64_t)message->seq);
        end = put_u64(end, (uint64_t)message->expires_ms);
        memcpy(end, message->id, MESSAGE_ID_BYTES);
        end += MESSAGE_ID_BYTES;
    }
    row.messages_bytes = (size_t)(end - bytes);
    return store_table_put(statement, &store_evicted_table, &row);
}

int store_row_read_evicted(sqlite3_stmt *statement, struct store_evictions *out_evictions)
{
    struct store_evicted_row row;
    int rc = store_table_read(statement, &store_evicted_table, &row);

    if (rc != SQLITE_OK) {
        return rc;
    }
    out_evictions->host = row.host;
    out_evictions->count = (uint32_t)(row.messages_bytes / STORE_EVICTION_BYTES);
    for (uint32_t i = 0; i < out_evictions->count; i++) {
        const uint8_t *bytes = row.messages + (size_t)i * STORE_EVICTION_BYTES;
        struct store_eviction *message = &out_evictions->messages[i];

        message->seq = (int64_t)get_u64(bytes);
        message->expires_ms = (int64_t)get_u64(bytes + 8);
        memcpy(message->id, bytes + 16, MESSAGE_ID_BYTES);
    }
    return SQLITE_OK;
}
