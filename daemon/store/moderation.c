/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/ops.h"

#include <inttypes.h>

#include <sodium.h>

#include "core/base/expiry.h"
#include "daemon/store/tables.h"

_Static_assert(crypto_generichash_BYTES == LIMIT_HASH_BYTES, "BLAKE2b-256");

/* --- operations on messages ------------------------------------------------------------------- */

/*
 * Finds the message of an operation and sets the outcome. PERSIST_APPLIED: found.
 * PERSIST_NOT_FOUND: no such message, or the message has expired. PERSIST_FAILED: the row is
 * damaged.
 */
static int find_alive(struct store_database *database, struct persist_op *op,
                      struct persist_message *out_message)
{
    int rc = store_database_find(database, &op->message, out_message);

    op->outcome = PERSIST_NOT_FOUND;
    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    if (rc == SQLITE_ROW && !message_expired(out_message->expires_ms, op->now_ms)) {
        op->outcome = PERSIST_APPLIED;
    }
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Bans the payload of a removed message if the operation has a rule. */
static int ban_removed(struct store_database *database, const struct persist_op *op)
{
    if (op->rule == NULL) {
        return SQLITE_OK;
    }
    struct persist_rule rule = *op->rule;
    rule.value = op->payload_hash;
    rule.value_bytes = sizeof(op->payload_hash);
    int rc = store_rule_decide(database, &rule);
    rc = rc == SQLITE_OK ? store_copy_await_rule(database, op, &rule) : rc;
    return rc == SQLITE_OK ? store_decision_put(database, op, "ban", &rule, 0) : rc;
}

/* Whether the message of the row is removed, and the time of its destruction has come. */
static bool row_is_due(const struct store_review *row, int64_t now_ms)
{
    return row->destroy_ms != 0 && row->destroy_ms <= now_ms;
}

/*
 * Finds the message of the operation remove or withhold, and its row. Sets the outcome as
 * find_alive does, and payload_hash.
 */
static int find_judged(struct store_database *database, struct persist_op *op,
                       struct persist_message *out_stored, struct store_review *out_row)
{
    int rc = find_alive(database, op, out_stored);

    if (rc == SQLITE_OK && op->outcome == PERSIST_APPLIED) {
        /* Fails for lengths out of range only. */
        (void)crypto_generichash(op->payload_hash, sizeof(op->payload_hash), out_stored->payload,
                                 out_stored->payload_bytes, NULL, 0);
    }
    store_statement_reset(database->statements[STORE_FIND]);
    if (rc == SQLITE_OK && op->outcome == PERSIST_APPLIED) {
        rc = store_review_find(database, out_stored->seq, out_row);
        if (rc == SQLITE_CORRUPT) {
            return store_database_fail_damaged(op);
        }
        if (rc == SQLITE_OK && row_is_due(out_row, op->now_ms)) {
            op->outcome = PERSIST_NOT_FOUND;
        }
    }
    return rc;
}

int store_moderation_remove(struct store_database *database, struct persist_op *op)
{
    struct persist_message stored;
    struct store_review row;
    int rc = find_judged(database, op, &stored, &row);

    if (rc != SQLITE_OK || op->outcome != PERSIST_APPLIED) {
        return rc;
    }
    rc = store_database_delete(database, stored.seq, NULL);
    if (rc == SQLITE_OK) {
        rc = store_tombstone_put(database, &stored, stored.expires_ms, PERSIST_WHY_REMOVED);
        op->message.expires_ms = stored.expires_ms;
    }
    if (rc == SQLITE_OK) {
        rc = store_decision_put(database, op, NULL, NULL, row.reports);
    }
    if (rc == SQLITE_OK) {
        rc = store_copy_await_message(database, op, STORE_COPY_REMOVED, stored.expires_ms);
    }
    return rc == SQLITE_OK ? ban_removed(database, op) : rc;
}

/* Sets the times of a removal, by the new clock if the clock was set after the submission. */
static void row_remove(struct store_review *row, const struct store_database *database,
                       const struct persist_op *op, int64_t expires_ms)
{
    int64_t destroy_ms = op->message.destroy_ms + database->state.clock_ms - op->now_ms;

    row->removed_ms = database->state.clock_ms;
    row->destroy_ms = destroy_ms < expires_ms ? destroy_ms : expires_ms;
}

int store_moderation_withhold(struct store_database *database, struct persist_op *op,
                              struct store_times *out_times)
{
    struct persist_message stored;
    struct store_review row;
    bool is_removal = op->message.destroy_ms != 0;
    int rc = find_judged(database, op, &stored, &row);

    if (rc == SQLITE_OK && op->outcome == PERSIST_APPLIED && row.destroy_ms != 0 && !is_removal) {
        op->outcome = PERSIST_FORBIDDEN;
    }
    if (rc != SQLITE_OK || op->outcome != PERSIST_APPLIED) {
        return rc;
    }
    if (row.state != PERSIST_WITHHELD || (is_removal && row.destroy_ms == 0)) {
        row.state = PERSIST_WITHHELD;
        if (is_removal) {
            row_remove(&row, database, op, stored.expires_ms);
        }
        rc = is_removal ? store_review_put(database, &row)
                        : store_review_change(database, &stored, &row);
        if (rc == SQLITE_OK && is_removal) {
            rc = store_tombstone_put(database, &stored, stored.expires_ms, PERSIST_WHY_REMOVED);
        }
        rc = rc == SQLITE_OK ? store_decision_put(database, op, NULL, NULL, row.reports) : rc;
        if (rc == SQLITE_OK) {
            rc = store_copy_await_message(database, op,
                                          is_removal ? (uint32_t)STORE_COPY_REMOVED
                                                     : (uint32_t)PERSIST_WITHHELD,
                                          stored.expires_ms);
        }
    }
    *out_times = (struct store_times){.deposited_ms = stored.deposited_ms,
                                      .expires_ms = stored.expires_ms,
                                      .state = row.state,
                                      .reports = row.reports,
                                      .destroy_ms = row.destroy_ms,
                                      .removed_ms = row.removed_ms};
    return rc == SQLITE_OK ? ban_removed(database, op) : rc;
}

int store_moderation_destroy(struct store_database *database, struct persist_op *op)
{
    sqlite3_stmt *statement = database->statements[STORE_MODERATION_DUE];
    int rc = SQLITE_OK;

    while (database->state.moderated > 0 && rc == SQLITE_OK && op->removed_count < op->limit) {
        rc = store_statement_step(statement, STORE_VALUES(STORE_NUMBER(op->now_ms)));
        int64_t seq = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
        store_statement_reset(statement);
        if (rc != SQLITE_ROW) {
            return rc == SQLITE_DONE ? SQLITE_OK : rc;
        }
        rc = store_database_delete(database, seq, &op->removed[op->removed_count++]);
    }
    return rc;
}

int store_moderation_shift(struct store_database *database, const struct persist_op *op)
{
    struct store_review row;
    struct store_walk walk;
    int rc = store_walk_begin(&walk, database->db, &store_moderation_table,
                              "+destroy_ms > 0 AND removed_ms >= %" PRId64, op->shift_from_ms);

    while (rc == SQLITE_OK && (rc = store_walk_next(&walk, &row)) == SQLITE_ROW) {
        row.destroy_ms += op->shift_ms;
        row.removed_ms += op->shift_ms;
        rc = store_review_put(database, &row);
    }
    return store_walk_end(&walk, rc);
}

/*
 * Makes a hidden or pending message visible. Takes the next message number and moves the message's
 * row to this number. *seq: the old number at the call, the new number afterwards. `checksum` comes
 * from the caller: the checksum of the row with `state.next_seq`, which is the new number.
 */
static int moderation_show(struct store_database *database, struct persist_op *op,
                           int64_t expires_ms, int64_t checksum, int64_t *seq)
{
    const struct persist_message *message = &op->message;
    int64_t from = *seq;

    *seq = op->shown_seq = store_database_take_number(database);
    int rc = store_numbers_remove(database->numbers, message->host, message->id, from);
    if (rc == SQLITE_OK) {
        rc = store_numbers_add(database->numbers, message->host, message->id, *seq, expires_ms);
    }
    if (rc == SQLITE_OK) {
        rc = store_statement_run(
            database->statements[STORE_MOVE],
            STORE_VALUES(STORE_NUMBER(from), STORE_NUMBER(*seq), STORE_NUMBER(checksum)));
    }
    return rc == SQLITE_OK ? store_database_drop_moderation(database, from) : rc;
}

/*
 * The operator sets the state of a message: shows a message that was hidden, lifts the tombstone of
 * a removed one, and keeps the decision.
 */
static int moderation_decide(struct store_database *database, struct persist_op *op,
                             struct store_review *row, int64_t expires_ms, int64_t checksum,
                             int64_t *seq)
{
    bool is_decision = row->state != op->message.state;
    int rc = is_decision ? store_decision_put(database, op, NULL, NULL, row->reports) : SQLITE_OK;

    if (rc == SQLITE_OK && row->state >= PERSIST_HIDDEN && op->message.state < PERSIST_HIDDEN) {
        rc = moderation_show(database, op, expires_ms, checksum, seq);
    }
    if (rc == SQLITE_OK && is_decision) { /* takes a number, as moderation_show does */
        rc = store_copy_await_message(database, op, op->message.state, expires_ms);
    }
    if (rc == SQLITE_OK && row->destroy_ms != 0) {
        rc = store_tombstone_lift(database, &op->message);
        row->destroy_ms = row->removed_ms = 0;
    }
    return rc;
}

int store_moderation_apply(struct store_database *database, struct persist_op *op,
                           struct store_times *out_times)
{
    struct persist_message stored;
    struct store_review row;
    int64_t checksum = 0;
    int rc = find_alive(database, op, &stored);

    op->shown_seq = 0;
    /* The caller may mean an older message with the same id, which is deleted. */
    if (rc == SQLITE_OK && op->outcome == PERSIST_APPLIED &&
        stored.deposited_ms != op->message.deposited_ms) {
        op->outcome = PERSIST_NOT_FOUND;
    }
    if (rc == SQLITE_OK && op->outcome == PERSIST_APPLIED && op->message.state < PERSIST_HIDDEN) {
        struct persist_message shown = stored;
        shown.seq = database->state.next_seq;
        checksum = store_table_checksum(&store_message_table, &shown);
    }
    store_statement_reset(database->statements[STORE_FIND]);
    if (rc != SQLITE_OK || op->outcome != PERSIST_APPLIED) {
        return rc;
    }
    int64_t seq = stored.seq;
    rc = store_review_find(database, seq, &row);
    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    bool is_report = op->message.reports > 0;
    if (rc == SQLITE_OK && row_is_due(&row, op->now_ms)) {
        op->outcome = PERSIST_NOT_FOUND;
        return SQLITE_OK;
    }
    if (rc == SQLITE_OK && !is_report) {
        rc = moderation_decide(database, op, &row, stored.expires_ms, checksum, &seq);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!is_report || (op->message.state == PERSIST_HIDDEN && row.state == PERSIST_SHOWN)) {
        row.state = op->message.state;
    }
    if (op->message.reports > row.reports) {
        row.reports = op->message.reports;
        store_review_add_reason(&row, op->words, op->words == NULL ? 0 : op->words_bytes);
    }
    op->message.seq = seq;
    op->message.texts_bytes = store_review_texts_bytes(row.reasons, row.reasons_bytes);
    out_times->state = row.state;
    out_times->reports = row.reports;
    if (seq == stored.seq) {
        return store_review_change(database, &stored, &row);
    }
    row.seq = seq;
    row.change_seq = 0; /* the message's new number tells others */
    return store_review_put(database, &row);
}
