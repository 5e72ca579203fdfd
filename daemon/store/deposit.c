/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/deposit.h"

#include <assert.h>
#include <string.h>

#include "core/base/expiry.h"
#include "daemon/store/moderation.h"
#include "daemon/store/row.h"

static int insert_message(struct store_database *database, struct persist_message *message,
                          bool *out_inserted)
{
    int rc = store_row_put(database->statements[STORE_INSERT], database->state.next_seq, message);

    *out_inserted = rc == SQLITE_OK && sqlite3_changes64(database->db) > 0;
    if (!*out_inserted) {
        return rc;
    }
    struct store_evicted *evicted = &database->state.evicted;
    if (evicted->order == PERSIST_EVICT_SOONEST && evicted->host == message->host &&
        message->expires_ms < evicted->from) {
        evicted->from = message->expires_ms;
    }
    message->seq = store_database_take_number(database);
    return message->state == PERSIST_SHOWN
               ? SQLITE_OK
               : store_moderation_begin(database, message->seq, message->state);
}

/*
 * Compares a deposit with the stored message of the same host and id. Returns SQLITE_ROW and sets
 * the outcome, *out_seq and the times in *out_times; SQLITE_DONE if there is no such message; or
 * another result code.
 */
static int compare_stored(struct store_database *database, struct persist_op *op,
                          struct store_times *out_times, int64_t *out_seq)
{
    struct persist_message stored;
    int rc = store_database_find(database, &op->message, &stored);

    if (rc == SQLITE_ROW) {
        op->outcome =
            store_row_same_content(&stored, &op->message) ? PERSIST_DUPLICATE : PERSIST_CONFLICT;
        *out_times = (struct store_times){.deposited_ms = stored.deposited_ms,
                                          .expires_ms = stored.expires_ms,
                                          .seq = stored.seq};
        *out_seq = stored.seq;
    }
    store_statement_reset(database->statements[STORE_FIND]);
    return rc;
}

/*
 * Handles a deposit while the storage is nearly full. A duplicate of a stored message that has not
 * expired gets PERSIST_DUPLICATE; no message is stored.
 */
static int deposit_without_space(struct store_database *database, struct persist_op *op,
                                 struct store_times *out_times)
{
    int64_t seq = 0;
    int rc = compare_stored(database, op, out_times, &seq);

    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    if (rc == SQLITE_DONE ||
        (rc == SQLITE_ROW && message_expired(out_times->expires_ms, op->now_ms))) {
        op->outcome = PERSIST_NO_SPACE;
        op->reason = "the storage is nearly full, and what is left is kept for deleting";
        return SQLITE_OK;
    }
    return rc == SQLITE_ROW
               ? store_moderation_state(database, seq, &out_times->state, &out_times->reports)
               : rc;
}

/*
 * Handles a deposit whose host and id are already stored. If the stored message has expired, the
 * deposit replaces it.
 */
static int deposit_again(struct store_database *database, struct persist_op *op,
                         struct store_times *out_times)
{
    bool inserted = false;
    int64_t seq = 0;
    int rc = compare_stored(database, op, out_times, &seq);
    bool is_over = rc == SQLITE_ROW && message_expired(out_times->expires_ms, op->now_ms);

    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    if (rc != SQLITE_ROW) {
        return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc; /* the index has it, the table does not */
    }
    if (!is_over) {
        return store_moderation_state(database, seq, &out_times->state, &out_times->reports);
    }
    rc = store_database_delete(database, seq);
    if (rc == SQLITE_OK) {
        rc = insert_message(database, &op->message, &inserted);
    }
    op->outcome = PERSIST_APPLIED;
    return rc == SQLITE_OK && !inserted ? SQLITE_CORRUPT : rc;
}

static int find_tombstone(struct store_database *database, const struct persist_op *op,
                          bool *out_found)
{
    sqlite3_stmt *statement = database->statements[STORE_TOMBSTONE_FIND];
    int rc = store_statement_step(statement,
                                  STORE_VALUES(STORE_KEY(&op->message), STORE_NUMBER(op->now_ms)));

    store_statement_reset(statement);
    *out_found = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- eviction --------------------------------------------------------------------------------- */

/* The messages in op->removed, in the same order. */
struct found {
    int64_t seqs[PERSIST_EXPIRE_MAX]; /* the number (`seq`) of each message */
    uint32_t chosen; /* how many messages are from op->chosen; these messages come first */
};

/* Finds a message of op->chosen and adds it to op->removed. An id that is not stored is skipped. */
static int find_chosen(struct store_database *database, struct persist_op *op, const uint8_t *id,
                       struct found *found)
{
    sqlite3_stmt *statement = database->statements[STORE_PLACE];
    struct persist_removed *removed = &op->removed[op->removed_count];
    int rc = store_statement_step(
        statement, STORE_VALUES(STORE_NUMBER(op->message.host), STORE_BLOB(id, MESSAGE_ID_BYTES)));

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

/*
 * Reads the current row of STORE_OLDEST or STORE_SOONEST. *out_place: the message's position in the
 * order of eviction, which is its seq or its expires_ms.
 */
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
    int64_t stored = database->state.next_seq - 1; /* the message just stored */

    if (evicted->order != op->evict || evicted->host != op->message.host) {
        *evicted = (struct store_evicted){op->evict, op->message.host, INT64_MIN};
    }
    return store_statement_bind(statement,
                                STORE_VALUES(STORE_NUMBER(op->message.host), STORE_NUMBER(stored),
                                             STORE_NUMBER(evicted->from)));
}

/*
 * Finds further messages to evict, and adds them to op->removed and to `found`. *out_enough:
 * whether the added messages reach both op->evict_messages and op->evict_bytes.
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
            /*
             * This search has skipped the new deposit. The next search must find the deposit, so
             * the next search begins no later than at the deposit.
             */
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

/*
 * Evicts messages for the deposit, which has just been stored. Deletes the messages of op->chosen
 * that are stored, and further messages as op->evict asks. op->removed lists these messages. If
 * op->limit messages, or all other messages of the host, are not enough, deletes the deposit
 * instead and sets the outcome PERSIST_FULL.
 */
static int make_space(struct store_database *database, struct persist_op *op)
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

/* --- deposits --------------------------------------------------------------------------------- */

int store_deposit_apply(struct store_database *database, struct persist_op *op,
                        struct store_times *out_times)
{
    bool is_gone = false;
    bool inserted = false;
    int rc = SQLITE_OK;

    op->removed_count = 0;
    if (database->state.tombstones > 0 &&
        store_marks_may_have(&database->marks, op->message.host, op->message.id)) {
        rc = find_tombstone(database, op, &is_gone);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (is_gone) {
        op->outcome = PERSIST_GONE;
        return SQLITE_OK;
    }
    if (database->refuses_deposits) {
        return deposit_without_space(database, op, out_times);
    }
    op->outcome = PERSIST_APPLIED;
    rc = insert_message(database, &op->message, &inserted);
    if (rc == SQLITE_OK && !inserted) {
        rc = deposit_again(database, op, out_times);
    }
    if (rc == SQLITE_OK && op->outcome == PERSIST_APPLIED &&
        (op->evict != PERSIST_EVICT_NONE || op->chosen_count > 0)) {
        rc = make_space(database, op);
    }
    return rc;
}
