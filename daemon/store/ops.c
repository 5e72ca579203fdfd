/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/ops.h"

#include <assert.h>
#include <string.h>

#include <sodium.h>

#include "daemon/store/epoch.h"
#include "daemon/store/error.h"
#include "daemon/store/evict.h"
#include "daemon/store/load.h"
#include "daemon/store/moderation.h"
#include "daemon/store/row.h"
#include "daemon/store/tally.h"

#define CONTENT_BYTES "length(filter) + length(CAST(media_type AS BLOB)) + length(payload)"

/* A transaction that will write says so at once: it never has to give up half way. */
static const char *const statement_texts[STORE_STATEMENT_COUNT] = {
    [STORE_BEGIN] = "BEGIN IMMEDIATE",
    [STORE_COMMIT] = "COMMIT",
    [STORE_ROLLBACK] = "ROLLBACK",
    /* Nearly every deposit is new: insert, and look only when that did nothing. */
    [STORE_INSERT] = ("INSERT INTO message (" STORE_ROW_COLUMNS ") VALUES (" STORE_ROW_PLACES ")"
                      " ON CONFLICT (host_id, id) DO NOTHING"),
    [STORE_FIND] = ("SELECT " STORE_ROW_COLUMNS " FROM message WHERE host_id = ?1 AND id = ?2"),
    [STORE_DELETE] = "DELETE FROM message WHERE seq = ?1",
    [STORE_EXPIRE] = ("DELETE FROM message WHERE seq IN (SELECT seq FROM message"
                      " WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT ?2)"
                      " RETURNING host_id, epoch, id, seq"),
    /* Which index to follow is said, as it is the order that matters: by another one all of the
       host's messages would have to be sorted. Lengths are read without the payloads. */
    [STORE_OLDEST] = ("SELECT seq, seq, host_id, epoch, id, " CONTENT_BYTES " FROM message"
                      " NOT INDEXED WHERE seq >= ?3 AND seq < ?2 AND host_id = ?1 ORDER BY seq"),
    [STORE_SOONEST] = ("SELECT seq, expires_ms, host_id, epoch, id, " CONTENT_BYTES " FROM message"
                       " INDEXED BY message_by_expiry WHERE expires_ms >= ?3 AND seq <> ?2"
                       " AND host_id = ?1 ORDER BY expires_ms"),
    [STORE_PLACE] = "SELECT seq, epoch FROM message WHERE host_id = ?1 AND id = ?2",
    [STORE_TOMBSTONE_FIND] =
        "SELECT expires_ms FROM tombstone WHERE host_id = ?1 AND id = ?2 AND expires_ms > ?3",
    [STORE_TOMBSTONE_PUT] =
        ("INSERT INTO tombstone (host_id, id, expires_ms, checksum) VALUES (?1, ?2, ?3, ?4)"
         " ON CONFLICT (host_id, id) DO UPDATE"
         " SET expires_ms = excluded.expires_ms, checksum = excluded.checksum"),
    [STORE_TOMBSTONE_EXPIRE] =
        ("DELETE FROM tombstone WHERE (host_id, id) IN (SELECT host_id, id FROM tombstone"
         " WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT ?2) RETURNING host_id, id"),
    [STORE_TOMBSTONE_DROP] =
        ("DELETE FROM tombstone WHERE (host_id, id) IN (SELECT host_id, id FROM tombstone"
         " ORDER BY expires_ms LIMIT max(0, (SELECT count(*) FROM tombstone) - ?1))"),
    [STORE_EPOCH_EXPIRE] = "DELETE FROM epoch WHERE kept_ms <= ?1",
    [STORE_MOVE] = "UPDATE message SET seq = ?2, checksum = ?3 WHERE seq = ?1",
    [STORE_MODERATION_FIND] = "SELECT state, reports, reasons FROM moderation WHERE seq = ?1",
    [STORE_MODERATION_PUT] =
        ("INSERT INTO moderation (seq, state, reports, reasons, row_checksum)"
         " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (seq) DO UPDATE SET state = excluded.state,"
         " reports = excluded.reports, reasons = excluded.reasons,"
         " row_checksum = excluded.row_checksum"),
    [STORE_MODERATION_DROP] = "DELETE FROM moderation WHERE seq = ?1",
    [STORE_RULE_PUT] =
        ("INSERT INTO rule (" STORE_RULE_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
         " ON CONFLICT (host_id, kind, value) DO UPDATE SET number = excluded.number,"
         " created_ms = excluded.created_ms, checksum = excluded.checksum"),
    [STORE_RULE_DROP] = "DELETE FROM rule WHERE host_id = ?1 AND kind = ?2 AND value = ?3",
    /* The order of STORE_TALLY's columns is store_tally.c's. */
    [STORE_TALLY] = ("SELECT host_id, epoch, filter, " CONTENT_BYTES ", coalesce(state, 0)"
                     " FROM message LEFT JOIN moderation USING (seq)"),
    [STORE_META_SAVE] = "UPDATE meta SET next_seq = ?1, clock_ms = ?2, checksum = ?3",
};

/* --- statements ------------------------------------------------------------------------------- */

void store_ops_done_with(sqlite3_stmt *statement)
{
    (void)sqlite3_reset(statement); /* repeats what step said */
    (void)sqlite3_clear_bindings(statement);
}

int store_ops_step_to_end(sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);

    store_ops_done_with(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int bind_key(sqlite3_stmt *statement, const struct persist_message *message)
{
    int rc = sqlite3_bind_int64(statement, 1, message->host);

    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_blob(statement, 2, message->id, MESSAGE_ID_BYTES, SQLITE_STATIC);
    }
    return rc;
}

/* --- setting up ------------------------------------------------------------------------------- */

static int load_meta(struct store_ops *ops)
{
    sqlite3_stmt *statement;
    int rc =
        sqlite3_prepare_v2(ops->db,
                           "SELECT store_id, next_seq, clock_ms, (SELECT count(*) FROM tombstone),"
                           " (SELECT count(*) FROM moderation) FROM meta",
                           -1, &statement, NULL);

    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW && sqlite3_column_bytes(statement, 0) == PERSIST_STORE_ID_BYTES) {
        memcpy(ops->store_id, sqlite3_column_blob(statement, 0), PERSIST_STORE_ID_BYTES);
        ops->state = (struct store_state){
            .next_seq = sqlite3_column_int64(statement, 1),
            .clock_ms = sqlite3_column_int64(statement, 2),
            .tombstones = sqlite3_column_int64(statement, 3),
            .moderated = sqlite3_column_int64(statement, 4),
        };
        rc = SQLITE_OK;
    } else if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
        rc = SQLITE_CORRUPT;
    }
    (void)sqlite3_finalize(statement);
    return rc;
}

int store_ops_init(struct store_ops *ops, sqlite3 *db, int64_t marks_max)
{
    int rc = SQLITE_OK;

    *ops = (struct store_ops){.db = db, .marks_max = marks_max};
    store_marks_init(&ops->marks);
    for (int i = 0; i < STORE_STATEMENT_COUNT && rc == SQLITE_OK; i++) {
        rc = sqlite3_prepare_v3(db, statement_texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                &ops->statements[i], NULL);
    }
    if (rc == SQLITE_OK) {
        rc = load_meta(ops);
    }
    if (rc != SQLITE_OK) {
        (void)store_ops_deinit(ops);
    }
    return rc;
}

sqlite3 *store_ops_deinit(struct store_ops *ops)
{
    sqlite3 *db = ops->db;

    for (int i = 0; i < STORE_STATEMENT_COUNT; i++) {
        (void)sqlite3_finalize(ops->statements[i]); /* repeats what step said */
        ops->statements[i] = NULL;
    }
    store_marks_deinit(&ops->marks);
    ops->db = NULL;
    return db;
}

/* --- transactions ----------------------------------------------------------------------------- */

int store_ops_begin(struct store_ops *ops)
{
    ops->before = ops->state;
    ops->state.changed = false;
    int rc = store_ops_step_to_end(ops->statements[STORE_BEGIN]);
    if (rc == SQLITE_OK && ops->state.tombstones > 0) {
        store_marks_begin(&ops->marks, ops->db);
    }
    return rc;
}

static int save_meta(struct store_ops *ops)
{
    sqlite3_stmt *statement = ops->statements[STORE_META_SAVE];
    const struct store_state *state = &ops->state;
    int rc = sqlite3_bind_int64(statement, 1, state->next_seq);

    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_int64(statement, 2, state->clock_ms);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_int64(
            statement, 3, store_meta_checksum(ops->store_id, state->next_seq, state->clock_ms));
    }
    return rc == SQLITE_OK ? store_ops_step_to_end(statement) : rc;
}

int store_ops_commit(struct store_ops *ops)
{
    int rc;

    if (!ops->state.changed) {
        return store_ops_rollback(ops);
    }
    rc = save_meta(ops);
    if (rc == SQLITE_OK) {
        rc = store_ops_step_to_end(ops->statements[STORE_COMMIT]);
    }
    if (rc == SQLITE_OK) {
        store_marks_commit(&ops->marks);
    }
    return rc;
}

int store_ops_rollback(struct store_ops *ops)
{
    int rc = SQLITE_OK;

    ops->state = ops->before;
    store_marks_rollback(&ops->marks);
    /* Some failures have rolled back by themselves. */
    if (sqlite3_get_autocommit(ops->db) == 0) {
        rc = store_ops_step_to_end(ops->statements[STORE_ROLLBACK]);
    }
    return sqlite3_get_autocommit(ops->db) == 0 && rc == SQLITE_OK ? SQLITE_ERROR : rc;
}

/* --- operations ------------------------------------------------------------------------------- */

int64_t store_ops_take_number(struct store_ops *ops)
{
    ops->state.changed = true; /* so that the commit saves the next number */
    return ops->state.next_seq++;
}

static int insert_message(struct store_ops *ops, struct persist_message *message,
                          bool *out_inserted)
{
    sqlite3_stmt *statement = ops->statements[STORE_INSERT];
    int rc = store_row_bind(statement, ops->state.next_seq, message);

    if (rc != SQLITE_OK) {
        store_ops_done_with(statement);
        return rc;
    }
    rc = store_ops_step_to_end(statement);
    if (rc != SQLITE_OK) {
        return rc;
    }
    *out_inserted = sqlite3_changes64(ops->db) > 0;
    if (!*out_inserted) {
        return SQLITE_OK;
    }
    struct store_evicted *evicted = &ops->state.evicted;
    if (evicted->order == PERSIST_EVICT_SOONEST && evicted->host == message->host &&
        message->expires_ms < evicted->from) {
        evicted->from = message->expires_ms;
    }
    message->seq = store_ops_take_number(ops);
    return message->state == PERSIST_SHOWN
               ? SQLITE_OK
               : store_moderation_begin(ops, message->seq, message->state);
}

int store_ops_delete(struct store_ops *ops, int64_t seq)
{
    sqlite3_stmt *statement = ops->statements[STORE_DELETE];
    int rc = sqlite3_bind_int64(statement, 1, seq);

    if (rc == SQLITE_OK) {
        rc = store_ops_step_to_end(statement);
    }
    ops->state.removed = true;
    ops->state.changed = true;
    return rc == SQLITE_OK ? store_moderation_drop(ops, seq) : rc;
}

int store_ops_find(struct store_ops *ops, const struct persist_message *key, int64_t *out_seq,
                   struct persist_message *out_message)
{
    sqlite3_stmt *statement = ops->statements[STORE_FIND];
    int rc = bind_key(statement, key);

    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    if (rc == SQLITE_ROW) {
        int read = store_row_read(statement, out_seq, out_message);

        if (read != SQLITE_OK) {
            return read;
        }
    }
    return rc;
}

/*
 * A stored row does not match its checksum. That concerns the one operation, which has done nothing
 * so far, and not the others in its transaction.
 */
int store_ops_fail_damaged(struct persist_op *op)
{
    op->outcome = PERSIST_FAILED;
    op->reason = store_error_reason(SQLITE_CORRUPT);
    return SQLITE_OK;
}

/*
 * Compares a deposit with the stored message of its id. SQLITE_ROW: the outcome is filled, and the
 * message's times; SQLITE_DONE: there is no such message.
 */
static int compare_stored(struct store_ops *ops, struct persist_op *op,
                          struct store_times *out_times, int64_t *out_seq)
{
    struct persist_message stored;
    const int rc = store_ops_find(ops, &op->message, out_seq, &stored);

    if (rc == SQLITE_ROW) {
        op->outcome =
            store_row_same_content(&stored, &op->message) ? PERSIST_DUPLICATE : PERSIST_CONFLICT;
        *out_times = (struct store_times){.deposited_ms = stored.deposited_ms,
                                          .expires_ms = stored.expires_ms};
    }
    store_ops_done_with(ops->statements[STORE_FIND]);
    return rc;
}

/* A deposit while none is stored: one that was stored before is still acknowledged. */
static int deposit_without_space(struct store_ops *ops, struct persist_op *op,
                                 struct store_times *out_times)
{
    int64_t seq = 0;
    const int rc = compare_stored(ops, op, out_times, &seq);

    if (rc == SQLITE_CORRUPT) {
        return store_ops_fail_damaged(op);
    }
    if (rc == SQLITE_DONE || (rc == SQLITE_ROW && out_times->expires_ms <= op->now_ms)) {
        op->outcome = PERSIST_NO_SPACE;
        op->reason = "the storage is nearly full, and what is left is kept for deleting";
        return SQLITE_OK;
    }
    return rc == SQLITE_ROW
               ? store_moderation_state(ops, seq, &out_times->state, &out_times->reports)
               : rc;
}

/* The id is taken: by the same message, by another one, or by one that is over. */
static int deposit_again(struct store_ops *ops, struct persist_op *op,
                         struct store_times *out_times)
{
    bool inserted = false;
    int64_t seq = 0;
    int rc = compare_stored(ops, op, out_times, &seq);
    const bool is_over = rc == SQLITE_ROW && out_times->expires_ms <= op->now_ms;

    if (rc == SQLITE_CORRUPT) {
        return store_ops_fail_damaged(op);
    }
    if (rc != SQLITE_ROW) {
        return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc; /* the index has it, the table does not */
    }
    if (!is_over) {
        return store_moderation_state(ops, seq, &out_times->state, &out_times->reports);
    }
    rc = store_ops_delete(ops, seq);
    if (rc == SQLITE_OK) {
        rc = insert_message(ops, &op->message, &inserted);
    }
    op->outcome = PERSIST_APPLIED;
    return rc == SQLITE_OK && !inserted ? SQLITE_CORRUPT : rc;
}

static int find_tombstone(struct store_ops *ops, const struct persist_op *op, bool *out_found)
{
    sqlite3_stmt *statement = ops->statements[STORE_TOMBSTONE_FIND];
    int rc = bind_key(statement, &op->message);

    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_int64(statement, 3, op->now_ms);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    store_ops_done_with(statement);
    *out_found = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int apply_deposit(struct store_ops *ops, struct persist_op *op,
                         struct store_times *out_times)
{
    bool is_gone = false;
    bool inserted = false;
    int rc = SQLITE_OK;

    op->removed_count = 0;
    if (ops->state.tombstones > 0 &&
        store_marks_may_have(&ops->marks, op->message.host, op->message.id)) {
        rc = find_tombstone(ops, op, &is_gone);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (is_gone) {
        op->outcome = PERSIST_GONE;
        return SQLITE_OK;
    }
    if (ops->refuses_deposits) {
        return deposit_without_space(ops, op, out_times);
    }
    op->outcome = PERSIST_APPLIED;
    rc = insert_message(ops, &op->message, &inserted);
    if (rc == SQLITE_OK && !inserted) {
        rc = deposit_again(ops, op, out_times);
    }
    if (rc == SQLITE_OK && op->outcome == PERSIST_APPLIED &&
        (op->evict != PERSIST_EVICT_NONE || op->chosen_count > 0)) {
        rc = store_evict(ops, op);
    }
    return rc;
}

/* Brings the marks down to nine tenths of their cap, so that counting them is seldom needed. */
static int drop_tombstones(struct store_ops *ops)
{
    sqlite3_stmt *statement = ops->statements[STORE_TOMBSTONE_DROP];
    const int64_t kept = ops->marks_max - ops->marks_max / 10;
    int rc = sqlite3_bind_int64(statement, 1, kept);

    if (rc == SQLITE_OK) {
        rc = store_ops_step_to_end(statement);
    }
    if (rc == SQLITE_OK) {
        ops->state.tombstones = kept; /* or fewer, where one was counted twice */
    }
    return rc;
}

int store_ops_put_tombstone(struct store_ops *ops, const struct persist_message *message,
                            int64_t expires_ms)
{
    sqlite3_stmt *statement = ops->statements[STORE_TOMBSTONE_PUT];
    int rc = bind_key(statement, message);

    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_int64(statement, 3, expires_ms);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_int64(statement, 4,
                                store_tombstone_checksum(message->host, message->id, expires_ms));
    }
    if (rc == SQLITE_OK) {
        rc = store_ops_step_to_end(statement);
    } else {
        store_ops_done_with(statement);
    }
    if (rc == SQLITE_OK) {
        store_marks_add(&ops->marks, ops->db, message->host, message->id);
    }
    /* Counts a replaced one twice: too many only means that deposits look for it. */
    if (rc == SQLITE_OK && ++ops->state.tombstones > ops->marks_max) {
        rc = drop_tombstones(ops);
    }
    return rc;
}

static int apply_withdraw(struct store_ops *ops, struct persist_op *op)
{
    struct persist_message stored;
    int64_t expires_ms = 0;
    int64_t seq = 0;
    int rc = store_ops_find(ops, &op->message, &seq, &stored);

    op->outcome = PERSIST_NOT_FOUND;
    if (rc == SQLITE_ROW && stored.expires_ms > op->now_ms) {
        bool may =
            stored.can_withdraw &&
            sodium_memcmp(stored.withdraw_hash, op->message.withdraw_hash, LIMIT_HASH_BYTES) == 0;

        op->outcome = may ? PERSIST_APPLIED : PERSIST_FORBIDDEN;
        expires_ms = stored.expires_ms;
    }
    store_ops_done_with(ops->statements[STORE_FIND]);
    if (rc == SQLITE_CORRUPT) {
        return store_ops_fail_damaged(op);
    }
    if (rc != SQLITE_ROW) {
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    if (op->outcome != PERSIST_APPLIED) {
        return SQLITE_OK;
    }
    rc = store_ops_delete(ops, seq);
    return rc == SQLITE_OK ? store_ops_put_tombstone(ops, &op->message, expires_ms) : rc;
}

static int bind_expiry(sqlite3_stmt *statement, const struct persist_op *op)
{
    int rc = sqlite3_bind_int64(statement, 1, op->now_ms);

    return rc == SQLITE_OK ? sqlite3_bind_int64(statement, 2, op->limit) : rc;
}

static int expire_messages(struct store_ops *ops, struct persist_op *op)
{
    sqlite3_stmt *statement = ops->statements[STORE_EXPIRE];
    int64_t seqs[PERSIST_EXPIRE_MAX];
    int rc = bind_expiry(statement, op);

    /* All rows are deleted before the first is returned. */
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        struct persist_removed *removed = &op->removed[op->removed_count];

        rc = SQLITE_OK;
        if (op->removed_count == op->limit ||
            sqlite3_column_bytes(statement, 2) != MESSAGE_ID_BYTES) {
            rc = SQLITE_CORRUPT;
            break;
        }
        removed->host = (uint32_t)sqlite3_column_int64(statement, 0);
        removed->epoch = (uint64_t)sqlite3_column_int64(statement, 1);
        memcpy(removed->id, sqlite3_column_blob(statement, 2), MESSAGE_ID_BYTES);
        seqs[op->removed_count++] = sqlite3_column_int64(statement, 3);
    }
    store_ops_done_with(statement);
    rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
    for (uint32_t i = 0; i < op->removed_count && rc == SQLITE_OK; i++) {
        rc = store_moderation_drop(ops, seqs[i]);
    }
    if (op->removed_count > 0) {
        ops->state.removed = true;
        ops->state.changed = true;
    }
    return rc;
}

static int expire_tombstones(struct store_ops *ops, const struct persist_op *op)
{
    sqlite3_stmt *statement = ops->statements[STORE_TOMBSTONE_EXPIRE];
    int64_t count = 0;
    int rc = bind_expiry(statement, op);

    /* All rows are deleted before the first is returned. */
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        if (sqlite3_column_bytes(statement, 1) == MESSAGE_ID_BYTES) {
            store_marks_remove(&ops->marks, (uint32_t)sqlite3_column_int64(statement, 0),
                               sqlite3_column_blob(statement, 1));
        }
        count++;
        rc = SQLITE_OK;
    }
    store_ops_done_with(statement);
    if (rc == SQLITE_DONE && count > 0) {
        ops->state.tombstones -= count;
        ops->state.changed = true;
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* With its key an epoch's messages cannot be found any more, though they may take their time. */
static int expire_epochs(struct store_ops *ops, const struct persist_op *op)
{
    sqlite3_stmt *statement = ops->statements[STORE_EPOCH_EXPIRE];
    int rc = sqlite3_bind_int64(statement, 1, op->now_ms);

    if (rc == SQLITE_OK) {
        rc = store_ops_step_to_end(statement);
    }
    if (rc == SQLITE_OK && sqlite3_changes64(ops->db) > 0) {
        ops->state.removed = true;
        ops->state.changed = true;
    }
    return rc;
}

static int apply_epoch(struct store_ops *ops, struct persist_op *op)
{
    op->outcome = PERSIST_APPLIED;
    ops->state.changed = true;
    return store_epoch_put(ops->db, op->epoch);
}

static int apply_expire(struct store_ops *ops, struct persist_op *op)
{
    int rc;

    assert(op->limit >= 1 && op->limit <= PERSIST_EXPIRE_MAX && op->removed != NULL);
    op->removed_count = 0;
    op->outcome = PERSIST_APPLIED;
    rc = expire_messages(ops, op);
    if (rc == SQLITE_OK) {
        rc = expire_epochs(ops, op);
    }
    if (rc != SQLITE_OK || ops->state.tombstones == 0) {
        return rc;
    }
    return expire_tombstones(ops, op);
}

static int apply_host(struct store_ops *ops, struct persist_op *op)
{
    const int rc = store_load_new_host(ops->db, op->host_name, op->host_profile, &op->message.host);

    op->outcome = rc == SQLITE_CONSTRAINT ? PERSIST_CONFLICT : PERSIST_APPLIED;
    ops->state.changed = ops->state.changed || rc == SQLITE_OK;
    return rc == SQLITE_CONSTRAINT ? SQLITE_OK : rc;
}

int store_ops_apply(struct store_ops *ops, struct persist_op *op, struct store_times *out_times)
{
    if (op->now_ms > ops->state.clock_ms) {
        ops->state.clock_ms = op->now_ms;
    }
    op->reason = NULL;
    switch (op->kind) {
    case PERSIST_DEPOSIT:
        return apply_deposit(ops, op, out_times);
    case PERSIST_WITHDRAW:
        return apply_withdraw(ops, op);
    case PERSIST_EXPIRE:
        return apply_expire(ops, op);
    case PERSIST_EPOCH:
        return apply_epoch(ops, op);
    case PERSIST_HOST:
        return apply_host(ops, op);
    case PERSIST_REMOVE:
        return store_moderation_remove(ops, op);
    case PERSIST_MODERATE:
        return store_moderation_apply(ops, op, out_times);
    case PERSIST_RULE_PUT:
        return store_moderation_put_rule(ops, op);
    case PERSIST_RULE_DROP:
        return store_moderation_drop_rule(ops, op);
    case PERSIST_CLOCK:
        op->outcome = PERSIST_APPLIED;
        ops->state.changed = true;
        return SQLITE_OK;
    case PERSIST_TALLY:
        op->outcome = PERSIST_APPLIED;
        return store_tally(ops, op);
    }
    assert(false);
    return SQLITE_MISUSE;
}
