/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/row.h"

#include <string.h>

#include <sodium.h>

#include "daemon/store/checksum.h"
#include "daemon/store/statement.h"

/*
 * The columns of a message's row, as sqlite3_column_* numbers them, from 0. sqlite3_bind_* numbers
 * the places of a statement from 1.
 */
enum {
    COLUMN_SEQ,
    COLUMN_HOST,
    COLUMN_ID,
    COLUMN_EPOCH,
    COLUMN_DEPOSITED,
    COLUMN_EXPIRES,
    COLUMN_REACH,
    COLUMN_CHECKSUM,
    COLUMN_WITHDRAW_HASH,
    COLUMN_FILTER,
    COLUMN_MEDIA_TYPE,
    COLUMN_PAYLOAD
};

/* --- messages --------------------------------------------------------------------------------- */

/* The pointers of the values point into the message. */
static void fill_values(int64_t seq, const struct persist_message *message,
                        struct store_value out[STORE_ROW_VALUES])
{
    struct store_value hash = {.type = SQLITE_NULL};

    if (message->can_withdraw) {
        hash = (struct store_value)STORE_BLOB(message->withdraw_hash, LIMIT_HASH_BYTES);
    }
    struct store_value values[] = {STORE_NUMBER(seq),
                                   STORE_KEY(message),
                                   STORE_NUMBER(message->epoch),
                                   STORE_NUMBER(message->deposited_ms),
                                   STORE_NUMBER(message->expires_ms),
                                   STORE_NUMBER(message->reach_ppm),
                                   STORE_NUMBER(store_message_checksum(seq, message)),
                                   hash,
                                   STORE_BLOB(message->filter, message->filter_bytes),
                                   STORE_TEXT(message->media_type, message->media_type_bytes),
                                   STORE_BLOB(message->payload, message->payload_bytes)};

    _Static_assert(sizeof(values) / sizeof(*values) == STORE_ROW_VALUES, "all columns");
    memcpy(out, values, sizeof(values));
}

int store_row_put(sqlite3_stmt *statement, int64_t seq, const struct persist_message *message)
{
    struct store_value values[STORE_ROW_VALUES];

    fill_values(seq, message, values);
    return store_statement_run(statement, values, STORE_ROW_VALUES);
}

int store_row_put_several(sqlite3_stmt *statement, const struct store_row *rows)
{
    int rc = SQLITE_OK;

    for (int i = 0; i < STORE_ROWS && rc == SQLITE_OK; i++) {
        struct store_value values[STORE_ROW_VALUES];

        fill_values(rows[i].seq, rows[i].message, values);
        rc = store_statement_bind_at(statement, i * STORE_ROW_VALUES + 1, values, STORE_ROW_VALUES);
    }
    rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
    store_statement_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_row_put_times(sqlite3_stmt *statement, const struct persist_message *message)
{
    return store_statement_run(
        statement, STORE_VALUES(STORE_NUMBER(message->seq), STORE_NUMBER(message->deposited_ms),
                                STORE_NUMBER(message->expires_ms),
                                STORE_NUMBER(store_message_checksum(message->seq, message))));
}

/*
 * Reads the bytes of a column. SQLITE_CORRUPT: the column has another type. SQLITE_NOMEM: SQLite
 * returned a length but a NULL pointer, because it had no memory for the value.
 */
static int read_bytes(sqlite3_stmt *statement, int column, int type, const uint8_t **out_bytes,
                      size_t *out_length)
{
    const void *bytes;

    if (sqlite3_column_type(statement, column) != type) {
        return SQLITE_CORRUPT;
    }
    bytes = sqlite3_column_blob(statement, column);
    *out_length = (size_t)sqlite3_column_bytes(statement, column);
    if (bytes == NULL && *out_length > 0) {
        return SQLITE_NOMEM;
    }
    *out_bytes = bytes == NULL ? (const uint8_t *)"" : bytes;
    return SQLITE_OK;
}

static int read_fixed(sqlite3_stmt *statement, int column, size_t length, uint8_t *out)
{
    const uint8_t *bytes;
    size_t found;
    int rc = read_bytes(statement, column, SQLITE_BLOB, &bytes, &found);

    if (rc != SQLITE_OK) {
        return rc;
    }
    if (found != length) {
        return SQLITE_CORRUPT;
    }
    memcpy(out, bytes, length);
    return SQLITE_OK;
}

/* Reads a number of 32 bits; a negative or larger number in the row is damage. */
static int read_u32(sqlite3_stmt *statement, int column, uint32_t *out)
{
    int64_t value = sqlite3_column_int64(statement, column);

    if (value < 0 || value > UINT32_MAX) {
        return SQLITE_CORRUPT;
    }
    *out = (uint32_t)value;
    return SQLITE_OK;
}

static int read_hash(sqlite3_stmt *statement, struct persist_message *out)
{
    out->can_withdraw = sqlite3_column_type(statement, COLUMN_WITHDRAW_HASH) != SQLITE_NULL;
    if (!out->can_withdraw) {
        return SQLITE_OK;
    }
    return read_fixed(statement, COLUMN_WITHDRAW_HASH, LIMIT_HASH_BYTES, out->withdraw_hash);
}

static int read_columns(sqlite3_stmt *statement, struct persist_message *out)
{
    const uint8_t *media_type = NULL;
    int rc = read_u32(statement, COLUMN_HOST, &out->host);

    if (rc == SQLITE_OK) {
        rc = read_u32(statement, COLUMN_REACH, &out->reach_ppm);
    }
    if (rc == SQLITE_OK) {
        rc = read_fixed(statement, COLUMN_ID, MESSAGE_ID_BYTES, out->id);
    }
    if (rc == SQLITE_OK) {
        rc = read_hash(statement, out);
    }
    if (rc == SQLITE_OK) {
        rc = read_bytes(statement, COLUMN_FILTER, SQLITE_BLOB, &out->filter, &out->filter_bytes);
    }
    if (rc == SQLITE_OK) {
        rc = read_bytes(statement, COLUMN_MEDIA_TYPE, SQLITE_TEXT, &media_type,
                        &out->media_type_bytes);
    }
    if (rc == SQLITE_OK) {
        rc = read_bytes(statement, COLUMN_PAYLOAD, SQLITE_BLOB, &out->payload, &out->payload_bytes);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    out->media_type = (const char *)media_type;
    out->epoch = (uint64_t)sqlite3_column_int64(statement, COLUMN_EPOCH);
    out->deposited_ms = sqlite3_column_int64(statement, COLUMN_DEPOSITED);
    out->expires_ms = sqlite3_column_int64(statement, COLUMN_EXPIRES);
    return SQLITE_OK;
}

int store_row_read(sqlite3_stmt *statement, struct persist_message *out_message)
{
    struct persist_message message = {.seq = sqlite3_column_int64(statement, COLUMN_SEQ)};
    int rc = read_columns(statement, &message);

    if (rc != SQLITE_OK) {
        return rc;
    }
    if (sqlite3_column_int64(statement, COLUMN_CHECKSUM) !=
        store_message_checksum(message.seq, &message)) {
        return SQLITE_CORRUPT;
    }
    *out_message = message;
    return SQLITE_OK;
}

bool store_row_is_of(sqlite3_stmt *statement, const struct persist_message *key)
{
    const void *id = sqlite3_column_blob(statement, COLUMN_ID);

    return sqlite3_column_int64(statement, COLUMN_HOST) == key->host && id != NULL &&
           sqlite3_column_bytes(statement, COLUMN_ID) == MESSAGE_ID_BYTES &&
           memcmp(id, key->id, MESSAGE_ID_BYTES) == 0;
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
           same_bytes(a->filter, a->filter_bytes, b->filter, b->filter_bytes) &&
           same_bytes(a->media_type, a->media_type_bytes, b->media_type, b->media_type_bytes) &&
           same_bytes(a->payload, a->payload_bytes, b->payload, b->payload_bytes);
}

/* --- rules ------------------------------------------------------------------------------------ */

int store_row_put_rule(sqlite3_stmt *statement, const struct persist_rule *rule)
{
    return store_statement_run(
        statement,
        STORE_VALUES(STORE_NUMBER(rule->host), STORE_NUMBER(rule->kind),
                     STORE_BLOB(rule->value, rule->value_bytes), STORE_NUMBER(rule->number),
                     STORE_NUMBER(rule->created_ms), STORE_NUMBER(rule->until_ms),
                     STORE_NUMBER(store_rule_checksum(rule)), STORE_NUMBER_OR_NULL(rule->seq),
                     STORE_NUMBER_OR_NULL(rule->dropped)));
}

int store_row_read_rule(sqlite3_stmt *statement, struct persist_rule *out_rule)
{
    struct persist_rule rule = {.kind = PERSIST_BAN_PAYLOAD};
    int64_t kind = sqlite3_column_int64(statement, 1);
    int rc = read_u32(statement, 0, &rule.host);

    if (rc == SQLITE_OK) {
        rc = read_u32(statement, 3, &rule.number);
    }
    if (rc == SQLITE_OK) {
        rc = read_bytes(statement, 2, SQLITE_BLOB, &rule.value, &rule.value_bytes);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (kind < PERSIST_BAN_PAYLOAD || kind > PERSIST_RESTORED ||
        rule.value_bytes > PERSIST_RULE_BYTES_MAX ||
        (kind == PERSIST_NOTICE && memchr(rule.value, '\0', rule.value_bytes) == NULL)) {
        return SQLITE_CORRUPT;
    }
    rule.kind = (enum persist_rule_kind)kind;
    rule.created_ms = sqlite3_column_int64(statement, 4);
    rule.until_ms = sqlite3_column_int64(statement, 5);
    rule.seq = sqlite3_column_int64(statement, 7); /* NULL reads as 0 */
    rule.dropped = sqlite3_column_int64(statement, 8) != 0;
    if (sqlite3_column_int64(statement, 6) != store_rule_checksum(&rule)) {
        return SQLITE_CORRUPT;
    }
    *out_rule = rule;
    return SQLITE_OK;
}

/* --- tombstones ------------------------------------------------------------------------------- */

int store_row_put_tombstone(sqlite3_stmt *statement, const struct store_tombstone *tombstone)
{
    return store_statement_run(
        statement,
        STORE_VALUES(STORE_KEY(tombstone), STORE_NUMBER(tombstone->expires_ms),
                     STORE_NUMBER(store_tombstone_checksum(tombstone)),
                     STORE_NUMBER_OR_NULL(tombstone->seq), STORE_NUMBER_OR_NULL(tombstone->why)));
}

int store_row_read_tombstone(sqlite3_stmt *statement, struct store_tombstone *out_tombstone)
{
    struct store_tombstone tombstone = {
        .expires_ms = sqlite3_column_int64(statement, 2),
        .seq = sqlite3_column_int64(statement, 4), /* NULL reads as 0 */
    };
    int64_t why = sqlite3_column_int64(statement, 5);
    int rc = read_u32(statement, 0, &tombstone.host);

    rc = rc == SQLITE_OK ? read_fixed(statement, 1, MESSAGE_ID_BYTES, tombstone.id) : rc;
    if (rc != SQLITE_OK) {
        return rc;
    }
    tombstone.why = (enum persist_why)why;
    if (why < 0 || why > PERSIST_WHY_REMOVED || (why == 0) != (tombstone.seq == 0) ||
        sqlite3_column_int64(statement, 3) != store_tombstone_checksum(&tombstone)) {
        return SQLITE_CORRUPT;
    }
    *out_tombstone = tombstone;
    return SQLITE_OK;
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
    int64_t seq = 0;
    int64_t expires_ms = INT64_MIN;

    for (uint32_t i = 0; i < evictions->count; i++) {
        const struct store_eviction *message = &evictions->messages[i];

        seq = message->seq;
        expires_ms = message->expires_ms > expires_ms ? message->expires_ms : expires_ms;
        end = put_u64(end, (uint64_t)message->seq);
        end = put_u64(end, (uint64_t)message->expires_ms);
        memcpy(end, message->id, MESSAGE_ID_BYTES);
        end += MESSAGE_ID_BYTES;
    }
    size_t length = (size_t)(end - bytes);
    return store_statement_run(
        statement,
        STORE_VALUES(
            STORE_NUMBER(seq), STORE_NUMBER(evictions->host), STORE_NUMBER(expires_ms),
            STORE_NUMBER(store_evicted_checksum(seq, evictions->host, expires_ms, bytes, length)),
            STORE_BLOB(bytes, length)));
}

int store_row_read_evicted(sqlite3_stmt *statement, struct store_evictions *out_evictions)
{
    int64_t seq = sqlite3_column_int64(statement, 0);
    const uint8_t *bytes = NULL;
    size_t length = 0;
    uint32_t host = 0;
    int rc = read_u32(statement, 1, &host);

    rc = rc == SQLITE_OK ? read_bytes(statement, 4, SQLITE_BLOB, &bytes, &length) : rc;
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (length == 0 || length % STORE_EVICTION_BYTES != 0 ||
        length > STORE_EVICTIONS_MAX * STORE_EVICTION_BYTES ||
        sqlite3_column_int64(statement, 3) !=
            store_evicted_checksum(seq, host, sqlite3_column_int64(statement, 2), bytes, length)) {
        return SQLITE_CORRUPT;
    }
    out_evictions->host = host;
    out_evictions->count = (uint32_t)(length / STORE_EVICTION_BYTES);
    for (uint32_t i = 0; i < out_evictions->count; i++, bytes += STORE_EVICTION_BYTES) {
        struct store_eviction *message = &out_evictions->messages[i];

        message->seq = (int64_t)get_u64(bytes);
        message->expires_ms = (int64_t)get_u64(bytes + 8);
        memcpy(message->id, bytes + 16, MESSAGE_ID_BYTES);
    }
    return SQLITE_OK;
}

/* --- decisions -------------------------------------------------------------------------------- */

int store_row_put_decision(sqlite3 *db, const struct persist_decision *decision)
{
    return store_run(db,
                     "INSERT OR REPLACE INTO decision (" STORE_DECISION_COLUMNS ")"
                     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                     STORE_VALUES(STORE_NUMBER(decision->host), STORE_NUMBER(decision->number),
                                  STORE_NUMBER(decision->time_ms),
                                  STORE_TEXT(decision->act, strlen(decision->act)),
                                  STORE_BLOB(decision->id, decision->has_id ? MESSAGE_ID_BYTES : 0),
                                  STORE_NUMBER(decision->kind), STORE_NUMBER(decision->reports),
                                  STORE_TEXT(decision->reason, strlen(decision->reason)),
                                  STORE_NUMBER(decision->uid), STORE_NUMBER(decision->web),
                                  STORE_NUMBER(store_decision_checksum(decision))));
}

/* Copies a text column into `out` of `room` bytes, and a NUL behind it. */
static int read_text(sqlite3_stmt *statement, int column, char *out, size_t room)
{
    const uint8_t *text = NULL;
    size_t bytes = 0;
    int rc = read_bytes(statement, column, SQLITE_TEXT, &text, &bytes);

    if (rc == SQLITE_OK && bytes >= room) {
        rc = SQLITE_CORRUPT;
    }
    if (rc == SQLITE_OK) {
        memcpy(out, text, bytes);
        out[bytes] = '\0';
    }
    return rc;
}

int store_row_read_decision(sqlite3_stmt *statement, struct persist_decision *out_decision)
{
    struct persist_decision decision = {
        .number = (uint64_t)sqlite3_column_int64(statement, 1),
        .time_ms = sqlite3_column_int64(statement, 2),
        .has_id = sqlite3_column_bytes(statement, 4) == MESSAGE_ID_BYTES,
        .web = sqlite3_column_int64(statement, 9) != 0,
    };
    int rc = read_u32(statement, 0, &decision.host);

    rc = rc == SQLITE_OK ? read_text(statement, 3, decision.act, sizeof(decision.act)) : rc;
    rc = rc == SQLITE_OK ? read_u32(statement, 5, &decision.kind) : rc;
    rc = rc == SQLITE_OK ? read_u32(statement, 6, &decision.reports) : rc;
    rc = rc == SQLITE_OK ? read_text(statement, 7, decision.reason, sizeof(decision.reason)) : rc;
    rc = rc == SQLITE_OK ? read_u32(statement, 8, &decision.uid) : rc;
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (decision.has_id) {
        memcpy(decision.id, sqlite3_column_blob(statement, 4), MESSAGE_ID_BYTES);
    }
    if (sqlite3_column_int64(statement, 10) != store_decision_checksum(&decision)) {
        return SQLITE_CORRUPT;
    }
    *out_decision = decision;
    return SQLITE_OK;
}

/* --- decisions at copies ---------------------------------------------------------------------- */

int store_row_put_copy(sqlite3_stmt *statement, const struct store_copy *copy)
{
    return store_statement_run(
        statement,
        STORE_VALUES(STORE_NUMBER(copy->host), STORE_NUMBER(copy->kind),
                     STORE_BLOB(copy->value, copy->value_bytes),
                     STORE_BLOB(copy->id.store_id, PERSIST_STORE_ID_BYTES),
                     STORE_NUMBER(copy->id.number), STORE_NUMBER(copy->id.time_ms),
                     STORE_NUMBER(copy->until_ms), STORE_NUMBER(copy->state),
                     STORE_NUMBER(copy->waits), STORE_NUMBER(store_copy_checksum(copy))));
}

int store_row_read_copy(sqlite3_stmt *statement, struct store_copy *out_copy)
{
    struct store_copy copy = {
        .id = {.number = (uint64_t)sqlite3_column_int64(statement, 4),
               .time_ms = sqlite3_column_int64(statement, 5)},
        .until_ms = sqlite3_column_int64(statement, 6),
        .waits = sqlite3_column_int64(statement, 8) != 0,
    };
    int rc = read_u32(statement, 0, &copy.host);

    rc = rc == SQLITE_OK ? read_u32(statement, 1, &copy.kind) : rc;
    rc = rc == SQLITE_OK ? read_u32(statement, 7, &copy.state) : rc;
    rc = rc == SQLITE_OK ? read_bytes(statement, 2, SQLITE_BLOB, &copy.value, &copy.value_bytes)
                         : rc;
    rc = rc == SQLITE_OK ? read_fixed(statement, 3, PERSIST_STORE_ID_BYTES, copy.id.store_id) : rc;
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (copy.kind > PERSIST_RESTORED || copy.state > STORE_COPY_REMOVED ||
        copy.value_bytes > PERSIST_RULE_BYTES_MAX ||
        (copy.kind == 0 && copy.value_bytes != MESSAGE_ID_BYTES) ||
        sqlite3_column_int64(statement, 9) != store_copy_checksum(&copy)) {
        return SQLITE_CORRUPT;
    }
    *out_copy = copy;
    return SQLITE_OK;
}

/* --- epochs ----------------------------------------------------------------------------------- */

int store_row_put_epoch(sqlite3 *db, const struct persist_epoch *epoch)
{
    return store_run(db,
                     "INSERT INTO epoch (" STORE_EPOCH_COLUMNS ")"
                     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
                     " ON CONFLICT (host_id, number) DO NOTHING",
                     STORE_VALUES(STORE_NUMBER(epoch->host), STORE_NUMBER(epoch->number),
                                  STORE_NUMBER(epoch->starts_ms), STORE_NUMBER(epoch->ends_ms),
                                  STORE_NUMBER(epoch->kept_ms),
                                  STORE_NUMBER(store_epoch_checksum(epoch)),
                                  STORE_BLOB(epoch->key, LIMIT_KEY_BYTES)));
}

int store_row_read_epoch(sqlite3_stmt *statement, struct persist_epoch *out_epoch)
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
