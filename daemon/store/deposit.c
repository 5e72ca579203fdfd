/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/deposit.h"

#include "core/base/expiry.h"
#include "daemon/store/evict.h"
#include "daemon/store/moderation.h"
#include "daemon/store/row.h"

static int insert_message(struct store_database *database, struct persist_message *message,
                          bool *out_inserted)
{
    sqlite3_stmt *statement = database->statements[STORE_INSERT];
    int rc = store_row_bind(statement, database->state.next_seq, message);

    if (rc != SQLITE_OK) {
        store_statement_reset(statement);
        return rc;
    }
    rc = store_statement_run(statement);
    if (rc != SQLITE_OK) {
        return rc;
    }
    *out_inserted = sqlite3_changes64(database->db) > 0;
    if (!*out_inserted) {
        return SQLITE_OK;
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
 * Compares a deposit with the stored message of the same id. SQLITE_ROW: outcome and *out_times are
 * set; SQLITE_DONE: there is no such message.
 */
static int compare_stored(struct store_database *database, struct persist_op *op,
                          struct store_times *out_times, int64_t *out_seq)
{
    struct persist_message stored;
    int rc = store_database_find(database, &op->message, out_seq, &stored);

    if (rc == SQLITE_ROW) {
        op->outcome =
            store_row_same_content(&stored, &op->message) ? PERSIST_DUPLICATE : PERSIST_CONFLICT;
        *out_times = (struct store_times){.deposited_ms = stored.deposited_ms,
                                          .expires_ms = stored.expires_ms};
    }
    store_statement_reset(database->statements[STORE_FIND]);
    return rc;
}

/* While deposits are refused: a duplicate of a stored message is acknowledged all the same. */
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

/* The id is there: with the same message, with another one, or with one that has expired. */
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
    int rc = store_statement_bind_key(statement, &op->message);

    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_int64(statement, 3, op->now_ms);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    store_statement_reset(statement);
    *out_found = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

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
        rc = store_evict(database, op);
    }
    return rc;
}
