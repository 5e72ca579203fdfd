/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/shift.h"

#include <sodium.h>

#include "daemon/store/decision.h"
#include "daemon/store/moderation.h"
#include "daemon/store/review.h"
#include "daemon/store/row.h"
#include "daemon/store/rule.h"
#include "daemon/store/tombstone.h"

/*
 * Each step of the loops below finds the next row by its key, and ends the search before it changes
 * the row. So no search of a loop sees a row that the same loop has moved.
 */

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

    if (database->state.replicating == 0 || message->epoch != 0) {
        return SQLITE_OK;
    }
    rc = store_review_find(database, message->seq, &row);
    if (rc == SQLITE_OK) {
        rc = store_database_take_change(database, message->host, 0, &row.change_seq);
    }
    if (rc != SQLITE_OK || row.change_seq == 0) {
        return rc == SQLITE_CORRUPT ? SQLITE_OK : rc; /* a damaged row stays as it is */
    }
    return store_review_put(database, message->seq, &row);
}

static int shift_messages(struct store_database *database, const struct persist_op *op)
{
    sqlite3_stmt *statement = database->statements[STORE_SHIFTED];
    int64_t seq = op->message.seq;
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK) {
        rc = store_statement_step(statement,
                                  STORE_VALUES(STORE_NUMBER(seq), STORE_NUMBER(op->shift_from_ms),
                                               STORE_NUMBER(before_ms(op))));
        if (rc == SQLITE_ROW) {
            struct persist_message message;

            seq = sqlite3_column_int64(statement, 0) + 1;
            rc = store_row_read(statement, &message);
            if (rc == SQLITE_OK) {
                message.deposited_ms += op->shift_ms;
                message.expires_ms += op->shift_ms;
                rc = store_row_put_times(database->statements[STORE_SHIFT], &message);
                rc = rc == SQLITE_OK ? tell_times(database, &message) : rc;
            } else if (rc == SQLITE_CORRUPT) {
                rc = SQLITE_OK;
            }
        }
        store_statement_reset(statement);
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int put_epoch_again(sqlite3 *db, const struct persist_epoch *epoch)
{
    int rc = store_run(db, "DELETE FROM epoch WHERE host_id = ?1 AND number = ?2",
                       STORE_VALUES(STORE_NUMBER(epoch->host), STORE_NUMBER(epoch->number)));

    return rc == SQLITE_OK ? store_row_put_epoch(db, epoch) : rc;
}

/* Only the end of an epoch moves: the messages of this run may last until then. */
static int shift_epochs(struct store_database *database, const struct persist_op *op)
{
    struct persist_epoch epoch = {.number = 0};
    int64_t host = -1;
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK) {
        sqlite3_stmt *statement;

        rc = store_query(database->db,
                         "SELECT " STORE_EPOCH_COLUMNS " FROM epoch"
                         " WHERE (host_id, number) > (?1, ?2) AND kept_ms > ?3"
                         " ORDER BY host_id, number LIMIT 1",
                         STORE_VALUES(STORE_NUMBER(host), STORE_NUMBER(epoch.number),
                                      STORE_NUMBER(before_ms(op))),
                         &statement);
        if (rc == SQLITE_ROW) {
            rc = store_row_read_epoch(statement, &epoch);
            (void)sqlite3_finalize(statement);
            host = epoch.host;
            epoch.kept_ms += op->shift_ms;
            rc = rc == SQLITE_OK ? put_epoch_again(database->db, &epoch) : rc;
        } else {
            (void)sqlite3_finalize(statement);
        }
    }
    sodium_memzero(&epoch, sizeof(epoch));
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
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
    int rc = shift_messages(database, op);

    if (rc == SQLITE_OK && !was_applied(database, op)) {
        rc = shift_epochs(database, op);
    }
    if (rc == SQLITE_OK && !was_applied(database, op)) {
        rc = store_rule_shift(database, op);
    }
    if (rc == SQLITE_OK && !was_applied(database, op) && database->state.tombstones > 0) {
        rc = store_tombstone_shift(database, op);
    }
    if (rc == SQLITE_OK && !was_applied(database, op)) {
        rc = store_moderation_shift(database, op);
    }
    if (rc == SQLITE_OK && !was_applied(database, op)) {
        rc = store_decision_shift(database, op);
    }
    database->state.changed = true;
    database->state.has_shifted = true;
    op->outcome = PERSIST_APPLIED;
    return rc;
}
