/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/database.h"

#include <string.h>

#include "daemon/store/error.h"
#include "daemon/store/tables.h"

/* --- statements ------------------------------------------------------------------------------- */

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
    [STORE_ANSWER] = "SELECT seq FROM message WHERE host_id = ?1 AND answers = ?2 LIMIT 1",
    /*
     * The order of the columns is read_removed's in deposit.c. length(payload) does not read the
     * payload.
     */
    [STORE_OLDEST] = ("SELECT host_id, epoch, id, seq, " CONTENT_BYTES
                      ", expires_ms, answers IS NOT NULL FROM message"
                      " WHERE seq >= ?3 AND seq < ?2 AND host_id = ?1 ORDER BY seq"),
    [STORE_PLACE] = ("SELECT host_id, epoch, id, seq, " CONTENT_BYTES
                     ", expires_ms, answers IS NOT NULL FROM message"
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
    [STORE_TALLY] = ("SELECT host_id, epoch, filter, " CONTENT_BYTES
                     ", CASE WHEN answers IS NULL THEN coalesce(state, 0) ELSE 2 END"
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

/* After a failure, too, the caller calls finalize_statements. */
static int prepare_statements(sqlite3 *db, sqlite3_stmt **out_statements)
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

static void finalize_statements(sqlite3_stmt **statements)
{
    for (int i = 0; i < STORE_STATEMENT_COUNT; i++) {
        (void)sqlite3_finalize(statements[i]); /* repeats what step said */
        statements[i] = NULL;
    }
}

/* --- setting up ------------------------------------------------------------------------------- */

/* Places of the columns that load_meta adds to those of the table. */
enum {
    PLACE_CLOCK = 7,
    PLACE_TOMBSTONES,
    PLACE_MODERATED,
    PLACE_REPLICATING,
    PLACE_EVICTED,
    PLACE_COPIED,
    PLACE_ANSWERS
};

static int load_meta(struct store_database *database)
{
    struct store_meta meta;
    sqlite3_stmt *statement;
    int rc = store_query(database->db,
                         "SELECT *, max(clock_ms, coalesce((SELECT deposited_ms"
                         " FROM message ORDER BY seq DESC LIMIT 1), 0)),"
                         " (SELECT count(*) FROM tombstone), (SELECT count(*) FROM moderation),"
                         " (SELECT count(*) FROM host WHERE replicate),"
                         " (SELECT coalesce(sum(" STORE_EVICTED_COUNT "), 0) FROM evicted),"
                         " (SELECT count(*) FROM copy_decision),"
                         " (SELECT count(*) FROM message WHERE answers IS NOT NULL)"
                         " FROM meta",
                         STORE_NO_VALUES, &statement);

    if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
        rc = rc == SQLITE_ROW ? store_table_read(statement, &store_meta_table, &meta)
                              : SQLITE_CORRUPT;
    }
    if (rc == SQLITE_OK) {
        memcpy(database->store_id, meta.store_id, PERSIST_STORE_ID_BYTES);
        memcpy(database->place, meta.place, PERSIST_PLACE_BYTES);
        database->state = (struct store_state){
            .next_seq = meta.next_seq,
            .reserved_seq = meta.next_seq,
            .clock_ms = sqlite3_column_int64(statement, PLACE_CLOCK),
            .tombstones = sqlite3_column_int64(statement, PLACE_TOMBSTONES),
            .moderated = sqlite3_column_int64(statement, PLACE_MODERATED),
            .shift_from_ms = meta.shift_from_ms,
            .replicating = sqlite3_column_int64(statement, PLACE_REPLICATING),
            .told_evicted = sqlite3_column_int64(statement, PLACE_EVICTED),
            .copied = sqlite3_column_int64(statement, PLACE_COPIED),
            .answers = sqlite3_column_int64(statement, PLACE_ANSWERS),
        };
    }
    (void)sqlite3_finalize(statement);
    return rc;
}

int store_database_init(struct store_database *database, sqlite3 *db, struct store_numbers *numbers,
                        int64_t marks_max)
{
    int rc;

    *database = (struct store_database){.db = db, .numbers = numbers, .marks_max = marks_max};
    store_marks_init(&database->marks);
    rc = prepare_statements(db, database->statements);
    if (rc == SQLITE_OK) {
        rc = load_meta(database);
    }
    if (rc != SQLITE_OK) {
        (void)store_database_deinit(database);
    }
    return rc;
}

sqlite3 *store_database_deinit(struct store_database *database)
{
    sqlite3 *db = database->db;

    finalize_statements(database->statements);
    store_marks_deinit(&database->marks);
    database->db = NULL;
    return db;
}

/* --- transactions ----------------------------------------------------------------------------- */

int store_database_require_transaction(const struct store_database *database)
{
    return sqlite3_get_autocommit(database->db) == 0 ? SQLITE_OK : SQLITE_NOMEM;
}

bool store_database_has_moved(const struct store_database *database)
{
    int has_moved = 0;

    /* SQLite compares the inodes, as before a write without a log. */
    (void)sqlite3_file_control(database->db, NULL, SQLITE_FCNTL_HAS_MOVED, &has_moved);
    return has_moved != 0;
}

int store_database_begin(struct store_database *database)
{
    database->before = database->state;
    database->state.changed = false;
    database->state.newest_ms = INT64_MIN;
    database->evictions.count = 0;
    database->waiting_count = 0;
    int rc = store_statement_run(database->statements[STORE_BEGIN], STORE_NO_VALUES);
    if (rc == SQLITE_OK && database->state.tombstones > 0) {
        store_marks_begin(&database->marks, database->db);
        rc = store_database_require_transaction(database);
    }
    return rc;
}

static int save_meta(struct store_database *database)
{
    struct store_state *state = &database->state;

    if (state->next_seq <= state->reserved_seq && state->newest_ms == state->clock_ms &&
        state->shift_from_ms == database->before.shift_from_ms) {
        return SQLITE_OK;
    }
    if (state->next_seq > state->reserved_seq) {
        state->reserved_seq = state->next_seq + STORE_NUMBERS_RESERVED - 1;
    }
    struct store_meta meta = {.one = 1,
                              .next_seq = state->reserved_seq,
                              .clock_ms = state->clock_ms,
                              .shift_from_ms = state->shift_from_ms};
    memcpy(meta.store_id, database->store_id, PERSIST_STORE_ID_BYTES);
    memcpy(meta.place, database->place, PERSIST_PLACE_BYTES);
    return store_table_put(database->statements[STORE_META_PUT], &store_meta_table, &meta);
}

int store_database_commit(struct store_database *database)
{
    if (!database->state.changed) {
        return store_database_rollback(database);
    }
    int rc = store_database_flush(database);
    if (rc == SQLITE_OK) {
        rc = save_meta(database);
    }
    if (rc == SQLITE_OK) {
        rc = store_statement_run(database->statements[STORE_COMMIT], STORE_NO_VALUES);
    }
    if (rc == SQLITE_OK) {
        store_marks_commit(&database->marks);
        store_numbers_commit(database->numbers);
    }
    return rc;
}

int store_database_rollback(struct store_database *database)
{
    int rc = SQLITE_OK;

    database->state = database->before;
    database->evictions.count = 0;
    database->waiting_count = 0;
    database->replicates.is_known = false;
    store_marks_rollback(&database->marks);
    store_numbers_rollback(database->numbers, database->state.next_seq);
    /*
     * SQLite rolls the transaction back by itself after some failures. Then another ROLLBACK would
     * fail.
     */
    if (sqlite3_get_autocommit(database->db) == 0) {
        rc = store_statement_run(database->statements[STORE_ROLLBACK], STORE_NO_VALUES);
    }
    return sqlite3_get_autocommit(database->db) == 0 && rc == SQLITE_OK ? SQLITE_ERROR : rc;
}

/* --- steps that several operations share ------------------------------------------------------ */

int64_t store_database_take_number(struct store_database *database)
{
    database->state.changed = true;
    database->state.newest_ms = INT64_MIN;
    return database->state.next_seq++;
}

/* Whether the host has changes. Returns an SQLite result code. */
static int find_replicate(struct store_database *database, uint32_t host, bool *out_replicates)
{
    sqlite3_stmt *statement = database->statements[STORE_REPLICATES];

    if (database->replicates.is_known && database->replicates.host == host) {
        *out_replicates = database->replicates.has_changes;
        return SQLITE_OK;
    }
    int rc = store_statement_step(statement, STORE_VALUES(STORE_NUMBER(host)));
    *out_replicates = rc == SQLITE_ROW && sqlite3_column_int64(statement, 0) != 0;
    store_statement_reset(statement);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        return rc;
    }
    database->replicates.host = host;
    database->replicates.is_known = true;
    database->replicates.has_changes = *out_replicates;
    return SQLITE_OK;
}

bool store_database_is_told(const struct persist_message *message)
{
    return message->epoch == 0 && !message->is_answer;
}

int store_database_take_change(struct store_database *database, uint32_t host, bool is_told,
                               int64_t *out_seq)
{
    bool replicates = false;
    int rc = SQLITE_OK;

    if (database->state.replicating > 0 && is_told) {
        rc = find_replicate(database, host, &replicates);
    }
    *out_seq = 0;
    if (replicates) { /* the newest message stays the newest one */
        database->state.changed = true;
        *out_seq = database->state.next_seq++;
    }
    return rc;
}

void store_database_write_meta(struct store_database *database)
{
    /* A row that does not change would not be written. */
    database->state.next_seq = database->state.reserved_seq + 1;
    database->state.changed = true;
}

int store_database_insert(struct store_database *database, const struct persist_message *message)
{
    database->waiting[database->waiting_count++] = message;
    database->state.answers += message->is_answer;
    return database->waiting_count == STORE_ROWS ? store_database_flush(database) : SQLITE_OK;
}

int store_database_flush(struct store_database *database)
{
    size_t count = database->waiting_count;
    int rc = SQLITE_OK;

    database->waiting_count = 0;
    if (count == STORE_ROWS) {
        return store_row_put_several(database->statements[STORE_INSERT_SEVERAL], database->waiting);
    }
    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        rc = store_table_put(database->statements[STORE_INSERT], &store_message_table,
                             database->waiting[i]);
    }
    return rc;
}

/* Reads the message with the number `seq`. SQLITE_DONE: it is another message than `key`. */
static int find_at(struct store_database *database, const struct persist_message *key, int64_t seq,
                   struct persist_message *out_message)
{
    sqlite3_stmt *statement = database->statements[STORE_FIND];
    int rc = store_database_flush(database);

    if (rc != SQLITE_OK) { /* a plain SQLITE_CORRUPT would mean that the row of `key` is damaged */
        return rc == SQLITE_CORRUPT ? SQLITE_CORRUPT_INDEX : rc;
    }
    rc = store_statement_step(statement, STORE_VALUES(STORE_NUMBER(seq)));
    if (rc != SQLITE_ROW) {
        return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
    }
    if (!store_row_is_of(statement, key)) {
        store_statement_reset(statement);
        return SQLITE_DONE;
    }
    rc = store_row_read(statement, out_message);
    return rc == SQLITE_OK ? SQLITE_ROW : rc;
}

int store_database_find(struct store_database *database, const struct persist_message *key,
                        struct persist_message *out_message)
{
    int64_t seq = 0;
    int rc = SQLITE_DONE;

    while (rc == SQLITE_DONE &&
           (seq = store_numbers_next(database->numbers, key->host, key->id, seq)) != 0) {
        rc = find_at(database, key, seq, out_message);
    }
    return rc;
}

int store_database_drop_moderation(struct store_database *database, int64_t seq)
{
    return database->state.moderated == 0
               ? SQLITE_OK
               : store_statement_run(database->statements[STORE_MODERATION_DROP],
                                     STORE_VALUES(STORE_NUMBER(seq)));
}

int store_database_expire(struct store_database *database, enum store_statement sql,
                          const struct store_value *values, size_t count)
{
    int rc = store_statement_run(database->statements[sql], values, count);

    if (rc == SQLITE_OK && sqlite3_changes64(database->db) > 0) {
        database->state.removed = true;
        database->state.changed = true;
    }
    return rc;
}

/* Deletes the row of a message, and fills *out_removed. */
static int delete_row(struct store_database *database, int64_t seq,
                      struct persist_removed *out_removed)
{
    sqlite3_stmt *statement = database->statements[STORE_DELETE];
    int rc = store_statement_step(statement, STORE_VALUES(STORE_NUMBER(seq)));

    if (rc == SQLITE_ROW && sqlite3_column_bytes(statement, 2) == MESSAGE_ID_BYTES) {
        out_removed->host = (uint32_t)sqlite3_column_int64(statement, 0);
        out_removed->epoch = (uint64_t)sqlite3_column_int64(statement, 1);
        memcpy(out_removed->id, sqlite3_column_blob(statement, 2), MESSAGE_ID_BYTES);
        rc = SQLITE_OK;
    } else if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
        rc = SQLITE_CORRUPT;
    }
    store_statement_reset(statement);
    return rc;
}

/* Deletes a message and its row in the table `moderation`. */
static int delete_one(struct store_database *database, int64_t seq,
                      struct persist_removed *out_removed)
{
    int rc = delete_row(database, seq, out_removed);

    if (rc == SQLITE_OK) {
        rc = store_numbers_remove(database->numbers, out_removed->host, out_removed->id, seq);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (seq == database->state.newest_seq) {
        database->state.newest_ms = INT64_MIN;
    }
    database->state.removed = true;
    database->state.changed = true;
    return store_database_drop_moderation(database, seq);
}

/* Deletes the answers to a message that was deleted. */
static int delete_answers(struct store_database *database, const struct persist_removed *parent)
{
    sqlite3_stmt *statement = database->statements[STORE_ANSWER];
    struct persist_removed answer;
    int rc = SQLITE_ROW;

    while (rc == SQLITE_ROW && database->state.answers > 0) {
        rc =
            store_statement_step(statement, STORE_VALUES(STORE_NUMBER(parent->host),
                                                         STORE_BLOB(parent->id, MESSAGE_ID_BYTES)));
        int64_t seq = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
        store_statement_reset(statement);
        if (rc == SQLITE_ROW) {
            rc = delete_one(database, seq, &answer);
            rc = rc == SQLITE_OK ? SQLITE_ROW : rc;
            database->state.answers--;
        }
    }
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_database_delete(struct store_database *database, int64_t seq,
                          struct persist_removed *out_removed)
{
    struct persist_removed removed;
    int rc = delete_one(database, seq, &removed);

    if (rc == SQLITE_OK && out_removed != NULL) {
        *out_removed = removed;
    }
    return rc == SQLITE_OK ? delete_answers(database, &removed) : rc;
}

int store_database_fail_damaged(struct persist_op *op)
{
    op->outcome = PERSIST_FAILED;
    op->reason = store_error_reason(SQLITE_CORRUPT);
    return SQLITE_OK;
}
