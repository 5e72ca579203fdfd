/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/moderation.h"

#include <assert.h>
#include <string.h>

#include <sodium.h>

#include "core/base/expiry.h"
#include "daemon/store/decision.h"
#include "daemon/store/row.h"
#include "proto/msg.h"

enum { REASONS_BYTES_MAX = PERSIST_REASONS_KEPT * (PERSIST_WORDS_BYTES_MAX + 1) };

_Static_assert(crypto_generichash_BYTES == LIMIT_HASH_BYTES, "BLAKE2b-256");

/* A row of the table `moderation`. */
struct row {
    enum persist_state state;
    uint32_t reports;
    int64_t destroy_ms; /* of a removed message; else 0 */
    int64_t removed_ms; /* of a removed message; else 0 */
    size_t reasons_bytes;
    char reasons[REASONS_BYTES_MAX];
};

/* --- the table `moderation` ------------------------------------------------------------------- */

static int64_t row_checksum(int64_t seq, const struct row *row, const char *reasons)
{
    return store_moderation_checksum(seq, row->state, row->reports, row->destroy_ms,
                                     row->removed_ms, reasons, row->reasons_bytes);
}

/* Reads the current row, and verifies its checksum. Returns an SQLite result code. */
static int read_row(sqlite3_stmt *statement, int64_t seq, struct row *out_row)
{
    const char *reasons = (const char *)sqlite3_column_text(statement, 4);
    size_t bytes = (size_t)sqlite3_column_bytes(statement, 4);

    if (reasons == NULL) {
        return SQLITE_NOMEM;
    }
    out_row->state = (enum persist_state)sqlite3_column_int64(statement, 0);
    out_row->reports = (uint32_t)sqlite3_column_int64(statement, 1);
    out_row->destroy_ms = sqlite3_column_int64(statement, 2);
    out_row->removed_ms = sqlite3_column_int64(statement, 3);
    out_row->reasons_bytes = bytes;
    if (bytes > sizeof(out_row->reasons) ||
        sqlite3_column_int64(statement, 5) != row_checksum(seq, out_row, reasons)) {
        return SQLITE_CORRUPT;
    }
    memcpy(out_row->reasons, reasons, bytes);
    return SQLITE_OK;
}

/* Returns SQLITE_CORRUPT if the row is damaged. */
static int find_row(struct store_database *database, int64_t seq, struct row *out_row)
{
    sqlite3_stmt *statement = database->statements[STORE_MODERATION_FIND];

    *out_row = (struct row){.state = PERSIST_SHOWN};
    if (database->state.moderated == 0) {
        return SQLITE_OK;
    }
    int rc = store_statement_step(statement, STORE_VALUES(STORE_NUMBER(seq)));
    if (rc == SQLITE_ROW) {
        rc = read_row(statement, seq, out_row);
    }
    store_statement_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int put_row(struct store_database *database, int64_t seq, const struct row *row)
{
    /* A row that replaces another row is counted, too: `moderated` is an upper bound. */
    database->state.moderated++;
    database->state.changed = true;
    return store_statement_run(
        database->statements[STORE_MODERATION_PUT],
        STORE_VALUES(STORE_NUMBER(seq), STORE_NUMBER(row->state), STORE_NUMBER(row->reports),
                     STORE_NUMBER(row->destroy_ms), STORE_NUMBER(row->removed_ms),
                     STORE_TEXT(row->reasons, row->reasons_bytes),
                     STORE_NUMBER(row_checksum(seq, row, row->reasons))));
}

int store_moderation_begin(struct store_database *database, int64_t seq, enum persist_state state)
{
    struct row row = {.state = state};

    return put_row(database, seq, &row);
}

int store_moderation_state(struct store_database *database, int64_t seq,
                           enum persist_state *out_state, uint32_t *out_reports)
{
    struct row row;
    int rc = find_row(database, seq, &row);

    if (rc == SQLITE_OK) {
        *out_state = row.state;
        *out_reports = row.reports;
    }
    return rc;
}

static bool reason_is_grave(const char *line)
{
    return line[0] == '0' + MSG_REPORT_ILLEGAL || line[0] == '0' + MSG_REPORT_ABOUT_ME;
}

/*
 * Deletes the oldest grave reason if `is_grave` is true, and the oldest reason that is not grave if
 * `is_grave` is false. The row must have such a reason.
 */
static void drop_reason(struct row *row, bool is_grave)
{
    char *line = row->reasons;

    while (reason_is_grave(line) != is_grave) {
        line = (char *)memchr(line, '\n', row->reasons_bytes) + 1;
    }
    size_t bytes = (size_t)((char *)memchr(line, '\n', row->reasons_bytes) + 1 - line);
    size_t behind = row->reasons_bytes - (size_t)(line - row->reasons) - bytes;
    memmove(line, line + bytes, behind);
    row->reasons_bytes -= bytes;
}

/* Appends the reason of a report. `words` in persist.h says which reason is deleted for it. */
static void add_reason(struct row *row, const char *words, size_t bytes)
{
    size_t lines = 0;
    size_t grave = 0;

    if (bytes == 0 || bytes > PERSIST_WORDS_BYTES_MAX) {
        return;
    }
    for (size_t i = 0; i < row->reasons_bytes; i++) {
        if (i == 0 || row->reasons[i - 1] == '\n') {
            lines++;
            grave += reason_is_grave(&row->reasons[i]);
        }
    }
    grave += reason_is_grave(words);
    if (lines >= PERSIST_REASONS_KEPT) {
        drop_reason(row, grave > PERSIST_REASONS_GRAVE);
    }
    assert(row->reasons_bytes + bytes + 1 <= sizeof(row->reasons));
    memcpy(row->reasons + row->reasons_bytes, words, bytes);
    row->reasons_bytes += bytes;
    row->reasons[row->reasons_bytes++] = '\n';
}

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

static int put_rule(struct store_database *database, const struct persist_rule *rule)
{
    database->state.changed = true;
    return store_row_put_rule(database->statements[STORE_RULE_PUT], rule);
}

/* Stores that the id of a message is refused, and that the operator has removed the message. */
static int put_marks(struct store_database *database, const struct persist_message *message,
                     int64_t expires_ms)
{
    struct persist_message removed = *message;
    int rc = store_database_put_tombstone(database, message, expires_ms);

    removed.host = (uint32_t)(STORE_REMOVED_HOST + message->host);
    return rc == SQLITE_OK ? store_database_put_tombstone(database, &removed, expires_ms) : rc;
}

/* Deletes what put_marks has stored: the message is restored. */
static int lift_marks(struct store_database *database, const struct persist_message *message)
{
    uint32_t hosts[] = {message->host, (uint32_t)(STORE_REMOVED_HOST + message->host)};
    int rc = SQLITE_OK;

    for (size_t i = 0; i < 2 && rc == SQLITE_OK; i++) {
        rc = store_statement_run(
            database->statements[STORE_TOMBSTONE_LIFT],
            STORE_VALUES(STORE_NUMBER(hosts[i]), STORE_BLOB(message->id, MESSAGE_ID_BYTES)));
        if (rc == SQLITE_OK && sqlite3_changes64(database->db) > 0) {
            database->state.tombstones--;
            store_marks_remove(&database->marks, hosts[i], message->id);
        }
    }
    return rc;
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
    int rc = put_rule(database, &rule);
    return rc == SQLITE_OK ? store_decision_put(database, op, "ban", 0) : rc;
}

/* Whether the message of the row is removed, and the time of its destruction has come. */
static bool row_is_due(const struct row *row, int64_t now_ms)
{
    return row->destroy_ms != 0 && row->destroy_ms <= now_ms;
}

/*
 * Finds the message of the operation remove or withhold, and its row. Sets the outcome as
 * find_alive does, and payload_hash.
 */
static int find_judged(struct store_database *database, struct persist_op *op,
                       struct persist_message *out_stored, struct row *out_row)
{
    int rc = find_alive(database, op, out_stored);

    if (rc == SQLITE_OK && op->outcome == PERSIST_APPLIED) {
        /* Fails for lengths out of range only. */
        (void)crypto_generichash(op->payload_hash, sizeof(op->payload_hash), out_stored->payload,
                                 out_stored->payload_bytes, NULL, 0);
    }
    store_statement_reset(database->statements[STORE_FIND]);
    if (rc == SQLITE_OK && op->outcome == PERSIST_APPLIED) {
        rc = find_row(database, out_stored->seq, out_row);
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
    struct row row;
    int rc = find_judged(database, op, &stored, &row);

    if (rc != SQLITE_OK || op->outcome != PERSIST_APPLIED) {
        return rc;
    }
    rc = store_database_delete(database, stored.seq, NULL);
    if (rc == SQLITE_OK) {
        rc = put_marks(database, &op->message, stored.expires_ms);
        op->message.expires_ms = stored.expires_ms;
    }
    if (rc == SQLITE_OK) {
        rc = store_decision_put(database, op, NULL, row.reports);
    }
    return rc == SQLITE_OK ? ban_removed(database, op) : rc;
}

/* Sets the times of a removal, by the new clock if the clock was set after the submission. */
static void row_remove(struct row *row, const struct store_database *database,
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
    struct row row;
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
        rc = put_row(database, stored.seq, &row);
        if (rc == SQLITE_OK && is_removal) {
            rc = put_marks(database, &op->message, stored.expires_ms);
        }
        rc = rc == SQLITE_OK ? store_decision_put(database, op, NULL, row.reports) : rc;
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
    int64_t seq = 0;
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK) {
        struct row row;

        rc = store_query_number(database->db,
                                "SELECT coalesce(min(seq), 0) FROM moderation"
                                " WHERE seq > ?1 AND destroy_ms > 0 AND removed_ms >= ?2",
                                STORE_VALUES(STORE_NUMBER(seq), STORE_NUMBER(op->shift_from_ms)),
                                &seq);
        if (rc != SQLITE_OK || seq == 0) {
            return rc;
        }
        rc = find_row(database, seq, &row);
        if (rc == SQLITE_CORRUPT) {
            rc = SQLITE_OK; /* the row stays as it is */
            continue;
        }
        row.destroy_ms += op->shift_ms;
        row.removed_ms += op->shift_ms;
        rc = rc == SQLITE_OK ? put_row(database, seq, &row) : rc;
    }
    return rc;
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
                             struct row *row, int64_t expires_ms, int64_t checksum, int64_t *seq)
{
    int rc = row->state == op->message.state ? SQLITE_OK
                                             : store_decision_put(database, op, NULL, row->reports);

    if (rc == SQLITE_OK && row->state >= PERSIST_HIDDEN && op->message.state < PERSIST_HIDDEN) {
        rc = moderation_show(database, op, expires_ms, checksum, seq);
    }
    if (rc == SQLITE_OK && row->destroy_ms != 0) {
        rc = lift_marks(database, &op->message);
        row->destroy_ms = row->removed_ms = 0;
    }
    return rc;
}

int store_moderation_apply(struct store_database *database, struct persist_op *op,
                           struct store_times *out_times)
{
    struct persist_message stored;
    struct row row;
    int64_t checksum = 0;
    int rc = find_alive(database, op, &stored);

    op->shown_seq = 0;
    /* The caller may mean an older message with the same id, which is deleted. */
    if (rc == SQLITE_OK && op->outcome == PERSIST_APPLIED &&
        stored.deposited_ms != op->message.deposited_ms) {
        op->outcome = PERSIST_NOT_FOUND;
    }
    if (rc == SQLITE_OK && op->outcome == PERSIST_APPLIED && op->message.state < PERSIST_HIDDEN) {
        checksum = store_message_checksum(database->state.next_seq, &stored);
    }
    store_statement_reset(database->statements[STORE_FIND]);
    if (rc != SQLITE_OK || op->outcome != PERSIST_APPLIED) {
        return rc;
    }
    int64_t seq = stored.seq;
    rc = find_row(database, seq, &row);
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
        add_reason(&row, op->words, op->words == NULL ? 0 : op->words_bytes);
    }
    op->message.seq = seq;
    out_times->state = row.state;
    out_times->reports = row.reports;
    return put_row(database, seq, &row);
}

/* --- rules ------------------------------------------------------------------------------------ */

int store_moderation_expire_rules(struct store_database *database, int64_t now_ms)
{
    int rc = store_statement_run(database->statements[STORE_RULE_EXPIRE],
                                 STORE_VALUES(STORE_NUMBER(now_ms)));

    if (rc == SQLITE_OK && sqlite3_changes64(database->db) > 0) {
        database->state.removed = true;
        database->state.changed = true;
    }
    return rc;
}

int store_moderation_put_rule(struct store_database *database, struct persist_op *op)
{
    /* An ended notice may have the number of the new notice. Its row is deleted first. */
    int rc = op->rule->kind == PERSIST_NOTICE ? store_moderation_expire_rules(database, op->now_ms)
                                              : SQLITE_OK;

    rc = rc == SQLITE_OK ? put_rule(database, op->rule) : rc;

    op->outcome = PERSIST_APPLIED;
    return rc == SQLITE_OK ? store_decision_put(database, op, NULL, 0) : rc;
}

int store_moderation_drop_rule(struct store_database *database, struct persist_op *op)
{
    const struct persist_rule *rule = op->rule;
    int rc = store_statement_run(database->statements[STORE_RULE_DROP],
                                 STORE_VALUES(STORE_NUMBER(rule->host), STORE_NUMBER(rule->kind),
                                              STORE_BLOB(rule->value, rule->value_bytes)));
    bool dropped = rc == SQLITE_OK && sqlite3_changes64(database->db) > 0;

    op->outcome = dropped ? PERSIST_APPLIED : PERSIST_NOT_FOUND;
    database->state.changed |= dropped;
    database->state.removed |= dropped;
    return dropped ? store_decision_put(database, op, NULL, 0) : rc;
}
