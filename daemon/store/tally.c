/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/tally.h"

#include <string.h>

/* Columns of STORE_TALLY. */
enum { COLUMN_HOST, COLUMN_EPOCH, COLUMN_FILTER, COLUMN_BYTES, COLUMN_STATE };

/* The tally of an epoch, else the tally of epoch 0 of its host, else NULL. */
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

static int add_row(sqlite3_stmt *statement, const struct persist_op *op)
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

int store_tally(struct store_database *database, struct persist_op *op)
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
        rc = add_row(statement, op);
    }
    store_statement_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
