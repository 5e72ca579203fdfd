/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/ops.h"

#include <inttypes.h>

#include <sodium.h>

#include "daemon/store/tables.h"

/* Returns what the host's clock showed before it was set forward. */
static int64_t before_ms(const struct persist_op *op)
{
    return op->now_ms - op->shift_ms;
}

/* Others are told the new times of a message, by a row of `moderation` with a new number. */
static int tell_times(struct store_database *database, const struct persist_message *message)
{
    struct store_review row;
    int rc = SQLITE_OK;

    if (database->state.replicating == 0 || !store_database_is_told(message)) {
        return SQLITE_OK;
    }
    rc = store_review_find(database, message->seq, &row);
    if (rc == SQLITE_OK) {
        rc = store_database_take_change(database, message->host, true, &row.change_seq);
    }
    if (rc != SQLITE_OK || row.change_seq == 0) {
        return rc == SQLITE_CORRUPT ? SQLITE_OK : rc; /* a damaged row stays as it is */
    }
    return store_review_put(database, &row);
}

static int shift_messages(struct store_database *database, const struct persist_op *op)
{
    struct persist_message message;
    struct store_walk walk;
    int rc = store_walk_begin(&walk, database->db, &store_message_table,
                              "deposited_ms BETWEEN %" PRId64 " AND %" PRId64, op->shift_from_ms,
                              before_ms(op));

    walk.behind = op->message.seq - 1; /* messages of earlier runs are not read */
    while (rc == SQLITE_OK && (rc = store_walk_next(&walk, &message)) == SQLITE_ROW) {
        message.deposited_ms += op->shift_ms;
        message.expires_ms += op->shift_ms;
        rc = store_table_insert(database->db, "INSERT OR REPLACE", &store_message_table, &message);
        rc = rc == SQLITE_OK ? tell_times(database, &message) : rc;
    }
    return store_walk_end(&walk, rc);
}

/* Only the end of an epoch moves: the messages of this run may last until then. */
static int shift_epochs(struct store_database *database, const struct persist_op *op)
{
    struct persist_epoch epoch;
    struct store_walk walk;
    int rc = store_walk_begin(&walk, database->db, &store_epoch_table, "kept_ms > %" PRId64,
                              before_ms(op));

    while (rc == SQLITE_OK && (rc = store_walk_next(&walk, &epoch)) == SQLITE_ROW) {
        epoch.kept_ms += op->shift_ms;
        rc = store_table_insert(database->db, "INSERT OR REPLACE", &store_epoch_table, &epoch);
    }
    sodium_memzero(&epoch, sizeof(epoch));
    return store_walk_end(&walk, rc);
}

/*
 * Whether an earlier attempt, which was reported as failed, is in the file after all: the clock in
 * the file is then the one that this attempt sets.
 */
static bool was_applied(const struct store_database *database, const struct persist_op *op)
{
    return database->before.clock_ms > before_ms(op);
}

int store_shift_apply(struct store_database *database, struct persist_op *op)
{
    static int (*const parts[])(struct store_database *, const struct persist_op *) = {
        shift_epochs,           store_rule_shift,     store_tombstone_shift,
        store_moderation_shift, store_decision_shift,
    };
    int rc = shift_messages(database, op);

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && rc == SQLITE_OK; i++) {
        rc = was_applied(database, op) ? SQLITE_OK : parts[i](database, op);
    }
    database->state.changed = true;
    database->state.has_shifted = true;
    op->outcome = PERSIST_APPLIED;
    return rc;
}
