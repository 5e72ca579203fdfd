/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/ops.h"

#include <assert.h>

#include <sodium.h>

#include "core/base/expiry.h"
#include "daemon/store/load.h"
#include "daemon/store/tables.h"

static int apply_withdraw(struct store_database *database, struct persist_op *op)
{
    struct persist_message stored;
    int rc = store_database_find(database, &op->message, &stored);

    op->outcome = PERSIST_NOT_FOUND;
    if (rc == SQLITE_ROW && !message_expired(stored.expires_ms, op->now_ms)) {
        bool may =
            stored.can_withdraw &&
            sodium_memcmp(stored.withdraw_hash, op->message.withdraw_hash, LIMIT_HASH_BYTES) == 0;

        op->outcome = may ? PERSIST_APPLIED : PERSIST_FORBIDDEN;
    }
    store_statement_reset(database->statements[STORE_FIND]);
    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    if (rc != SQLITE_ROW) {
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    if (op->outcome != PERSIST_APPLIED) {
        return SQLITE_OK;
    }
    rc = store_database_delete(database, stored.seq, NULL);
    return rc == SQLITE_OK
               ? store_tombstone_put(database, &stored, stored.expires_ms, PERSIST_WHY_WITHDRAWN)
               : rc;
}

static int expire_messages(struct store_database *database, struct persist_op *op)
{
    struct store_soon soon;
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK && op->removed_count < op->limit) {
        int found = store_numbers_first(database->numbers, &soon);

        if (found != SQLITE_ROW || !message_expired(soon.expires_ms, op->now_ms)) {
            op->next_ms = found == SQLITE_ROW ? soon.expires_ms : INT64_MAX;
            return found == SQLITE_NOMEM ? found : SQLITE_OK;
        }
        rc = store_database_delete(database, soon.seq, &op->removed[op->removed_count++]);
    }
    return rc;
}

/*
 * Deletes each epoch whose kept_ms has come, with its key. The messages of the epoch have expired
 * then; later expiries delete those that this expiry has not deleted.
 */
static int expire_epochs(struct store_database *database, struct persist_op *op)
{
    return store_database_expire(database, STORE_EPOCH_EXPIRE,
                                 STORE_VALUES(STORE_NUMBER(op->now_ms)));
}

static int apply_epoch(struct store_database *database, struct persist_op *op)
{
    op->outcome = PERSIST_APPLIED;
    database->state.changed = true;
    return store_table_insert(database->db, "INSERT OR IGNORE", &store_epoch_table, op->epoch);
}

static int expire_destroyed(struct store_database *database, struct persist_op *op)
{
    int rc = store_moderation_destroy(database, op);

    op->destroyed_count = op->removed_count;
    return rc;
}

static int apply_expire(struct store_database *database, struct persist_op *op)
{
    static int (*const parts[])(struct store_database *, struct persist_op *) = {
        expire_destroyed,      expire_messages,   expire_epochs,        store_rule_expire,
        store_decision_expire, store_copy_expire, store_evicted_expire, store_tombstone_expire,
    };
    int rc = SQLITE_OK;

    assert(op->limit >= 1 && op->limit <= PERSIST_EXPIRE_MAX && op->removed != NULL);
    op->removed_count = 0;
    op->outcome = PERSIST_APPLIED;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && rc == SQLITE_OK; i++) {
        rc = parts[i](database, op);
    }
    return rc;
}

static int apply_host(struct store_database *database, struct persist_op *op)
{
    int rc = store_load_new_host(database->db, op->host_name, op->host_profile, &op->message.host);

    op->outcome = rc == SQLITE_CONSTRAINT ? PERSIST_CONFLICT : PERSIST_APPLIED;
    database->state.changed = database->state.changed || rc == SQLITE_OK;
    return rc == SQLITE_CONSTRAINT ? SQLITE_OK : rc;
}

/* --- tallies ---------------------------------------------------------------------------------- */

/* Columns of STORE_TALLY. */
enum { COLUMN_HOST, COLUMN_EPOCH, COLUMN_FILTER, COLUMN_BYTES, COLUMN_STATE };

/*
 * Returns the tally of the epoch. If op->tallies has none, returns the tally of epoch 0 of the same
 * host. NULL: op->tallies has neither.
 */
static struct persist_tally *tally_find(const struct persist_op *op, int64_t host, uint64_t epoch)
{
    struct persist_tally *open = NULL;

    for (size_t i = 0; i < op->tally_count; i++) {
        struct persist_tally *tally = &op->tallies[i];
        if (tally->host == host && tally->epoch == epoch) {
            return tally;
        }
        if (tally->host == host && tally->epoch == 0) {
            open = tally;
        }
    }
    return open;
}

static void add_filter(struct persist_tally *tally, const uint8_t *filter, size_t bytes)
{
    uint32_t cardinality = 0;

    for (size_t i = 0; i < bytes && i < LIMIT_FILTER_BYTES; i++) {
        tally->whole[i] |= filter[i];
        cardinality += (uint32_t)__builtin_popcount(filter[i]);
    }
    if (tally->shown == 0 || cardinality < tally->low) {
        tally->low = cardinality;
    }
    if (cardinality > tally->high) {
        tally->high = cardinality;
    }
}

static int add_tally(sqlite3_stmt *statement, const struct persist_op *op)
{
    uint64_t epoch = (uint64_t)sqlite3_column_int64(statement, COLUMN_EPOCH);
    uint64_t bytes = (uint64_t)sqlite3_column_int64(statement, COLUMN_BYTES);
    struct persist_tally *tally =
        tally_find(op, sqlite3_column_int64(statement, COLUMN_HOST), epoch);

    if (tally == NULL) {
        return SQLITE_OK;
    }
    if (sqlite3_column_int64(statement, COLUMN_STATE) >= PERSIST_HIDDEN) {
        tally->hidden++;
        tally->hidden_bytes += bytes;
    } else if (tally->epoch != epoch) {
        tally->strays++;
    } else {
        const uint8_t *filter = sqlite3_column_blob(statement, COLUMN_FILTER);
        size_t filter_bytes = (size_t)sqlite3_column_bytes(statement, COLUMN_FILTER);
        if (filter == NULL && filter_bytes > 0) {
            return SQLITE_NOMEM;
        }
        add_filter(tally, filter, filter_bytes);
        tally->shown++;
        tally->shown_bytes += bytes;
    }
    return SQLITE_OK;
}

static int apply_tally(struct store_database *database, struct persist_op *op)
{
    sqlite3_stmt *statement = database->statements[STORE_TALLY];
    int rc = SQLITE_OK;

    for (size_t i = 0; i < op->tally_count; i++) { /* the transaction may be the second attempt */
        struct persist_tally asked = op->tallies[i];
        op->tallies[i] = (struct persist_tally){.host = asked.host, .epoch = asked.epoch};
    }
    if (op->tally_count == 0) {
        return SQLITE_OK;
    }
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        rc = add_tally(statement, op);
    }
    store_statement_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- all operations --------------------------------------------------------------------------- */

int store_ops_apply(struct store_database *database, struct persist_op *op,
                    struct store_times *out_times)
{
    if (op->now_ms > database->state.clock_ms) {
        database->state.clock_ms = op->now_ms;
    }
    op->reason = NULL;
    if (op->kind != PERSIST_DEPOSIT) {
        int rc = store_database_flush(database);

        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    switch (op->kind) {
    case PERSIST_DEPOSIT:
        return store_deposit_apply(database, op, out_times);
    case PERSIST_WITHDRAW:
        return apply_withdraw(database, op);
    case PERSIST_EXPIRE:
        return apply_expire(database, op);
    case PERSIST_EPOCH:
        return apply_epoch(database, op);
    case PERSIST_HOST:
        return apply_host(database, op);
    case PERSIST_REMOVE:
        return store_moderation_remove(database, op);
    case PERSIST_WITHHOLD:
        return store_moderation_withhold(database, op, out_times);
    case PERSIST_MODERATE:
        return store_moderation_apply(database, op, out_times);
    case PERSIST_RULE_PUT:
        return store_rule_apply_put(database, op);
    case PERSIST_RULE_DROP:
        return store_rule_apply_drop(database, op);
    case PERSIST_CLOCK:
        op->outcome = PERSIST_APPLIED;
        database->state.shift_from_ms = op->shift_from_ms;
        database->state.changed = true;
        return SQLITE_OK;
    case PERSIST_SHIFT:
        return store_shift_apply(database, op);
    case PERSIST_REPLICATE:
        return store_apply_replicate(database, op);
    case PERSIST_APPLY:
        return store_apply_state(database, op, out_times);
    case PERSIST_TALLY:
        op->outcome = PERSIST_APPLIED;
        return apply_tally(database, op);
    }
    assert(false);
    return SQLITE_MISUSE;
}
