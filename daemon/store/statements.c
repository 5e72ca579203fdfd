/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/statements.h"

#include "daemon/store/row.h"
#include "daemon/store/tables.h"

#define CONTENT_BYTES "length(filter) + length(CAST(media_type AS BLOB)) + length(payload)"

/*
 * STORE_BEGIN takes the write lock at the beginning of a transaction. So the transaction cannot
 * fail for lack of the lock after it has done half of its work.
 */
static const char *const statement_texts[STORE_STATEMENT_COUNT] = {
    [STORE_BEGIN] = "BEGIN IMMEDIATE",
    [STORE_COMMIT] = "COMMIT",
    [STORE_ROLLBACK] = "ROLLBACK",
    [STORE_FIND] = "SELECT * FROM message WHERE seq = ?1",
    [STORE_DELETE] = "DELETE FROM message WHERE seq = ?1 RETURNING host_id, epoch, id",
    /*
     * The order of the columns is read_removed's in deposit.c. length(payload) does not read the
     * payload.
     */
    [STORE_OLDEST] = ("SELECT host_id, epoch, id, seq, " CONTENT_BYTES ", expires_ms FROM message"
                      " WHERE seq >= ?3 AND seq < ?2 AND host_id = ?1 ORDER BY seq"),
    [STORE_PLACE] = ("SELECT host_id, epoch, id, seq, " CONTENT_BYTES ", expires_ms FROM message"
                     " WHERE seq = ?1"),
    [STORE_TOMBSTONE_FIND] = "SELECT * FROM tombstone WHERE host_id = ?1 AND id = ?2",
    [STORE_TOMBSTONE_EXPIRE] =
        ("DELETE FROM tombstone WHERE (host_id, id) IN (SELECT host_id, id FROM tombstone"
         " WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT ?2) RETURNING host_id, id"),
    [STORE_TOMBSTONE_DROP] =
        ("DELETE FROM tombstone WHERE (host_id, id) IN (SELECT host_id, id FROM tombstone"
         " ORDER BY expires_ms LIMIT max(0, (SELECT count(*) FROM tombstone) - ?1))"),
    [STORE_TOMBSTONE_LIFT] = "DELETE FROM tombstone WHERE host_id = ?1 AND id = ?2",
    [STORE_EVICTED_FIRST] =
        ("SELECT seq, expires_ms, " STORE_EVICTED_COUNT " FROM evicted ORDER BY seq"),
    [STORE_EVICTED_DROP] = "DELETE FROM evicted WHERE seq <= ?1",
    [STORE_EPOCH_EXPIRE] = "DELETE FROM epoch WHERE kept_ms <= ?1",
    [STORE_MOVE] = "UPDATE message SET seq = ?2, checksum = ?3 WHERE seq = ?1",
    [STORE_MODERATION_FIND] = "SELECT * FROM moderation WHERE seq = ?1",
    [STORE_MODERATION_DUE] = ("SELECT seq FROM moderation"
                              " WHERE destroy_ms > 0 AND destroy_ms <= ?1"
                              " ORDER BY destroy_ms LIMIT 1"),
    [STORE_DECISION_EXPIRE] =
        ("DELETE FROM decision WHERE (host_id, number) IN"
         " (SELECT host_id, number FROM decision WHERE time_ms < ?1 LIMIT ?2)"),
    [STORE_MODERATION_DROP] = "DELETE FROM moderation WHERE seq = ?1",
    [STORE_RULE_FIND] = "SELECT * FROM rule WHERE host_id = ?1 AND kind = ?2 AND value = ?3",
    [STORE_RULE_DROP] = "DELETE FROM rule WHERE host_id = ?1 AND kind = ?2 AND value = ?3",
    [STORE_RULE_EXPIRE] = "DELETE FROM rule WHERE until_ms > 0 AND until_ms <= ?1",
    [STORE_COPY_FIND] = ("SELECT * FROM copy_decision"
                         " WHERE host_id = ?1 AND kind = ?2 AND value = ?3"),
    [STORE_COPY_DROP] = "DELETE FROM copy_decision WHERE host_id = ?1 AND kind = ?2 AND value = ?3",
    [STORE_COPY_EXPIRE] = "DELETE FROM copy_decision WHERE until_ms > 0 AND until_ms <= ?1",
    [STORE_REPLICATES] = "SELECT replicate FROM host WHERE host_id = ?1",
    /* The order of STORE_TALLY's columns is add_tally's in ops.c. */
    [STORE_TALLY] = ("SELECT host_id, epoch, filter, " CONTENT_BYTES ", coalesce(state, 0)"
                     " FROM message LEFT JOIN moderation USING (seq)"),
};

/* The statements that write whole rows. */
static const struct {
    const struct store_table *table;
    const char *verb;
    unsigned rows;
} inserts[STORE_STATEMENT_COUNT] = {
    [STORE_INSERT] = {&store_message_table, "INSERT", 1},
    /* With OR FAIL SQLite keeps no copy of pages to undo this statement alone: after a failure the
     * writer undoes the whole transaction. */
    [STORE_INSERT_SEVERAL] = {&store_message_table, "INSERT OR FAIL", STORE_ROWS},
    [STORE_TOMBSTONE_PUT] = {&store_tombstone_table, "INSERT OR REPLACE", 1},
    [STORE_EVICTED_PUT] = {&store_evicted_table, "INSERT", 1},
    [STORE_META_PUT] = {&store_meta_table, "INSERT OR REPLACE", 1},
    [STORE_MODERATION_PUT] = {&store_moderation_table, "INSERT OR REPLACE", 1},
    [STORE_RULE_PUT] = {&store_rule_table, "INSERT OR REPLACE", 1},
    [STORE_COPY_PUT] = {&store_copy_table, "INSERT OR REPLACE", 1},
};

int store_statements_prepare(sqlite3 *db, sqlite3_stmt **out_statements)
{
    int rc = SQLITE_OK;

    for (int i = 0; i < STORE_STATEMENT_COUNT && rc == SQLITE_OK; i++) {
        rc = inserts[i].table != NULL
                 ? store_table_prepare(db, inserts[i].table, inserts[i].verb, inserts[i].rows,
                                       &out_statements[i])
                 : sqlite3_prepare_v3(db, statement_texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                      &out_statements[i], NULL);
    }
    return rc;
}

void store_statements_finalize(sqlite3_stmt **statements)
{
    for (int i = 0; i < STORE_STATEMENT_COUNT; i++) {
        (void)sqlite3_finalize(statements[i]); /* repeats what step said */
        statements[i] = NULL;
    }
}
