/* SPDX-License-Identifier: Apache-2.0 */
/* store_commit: the connection of the writer, its transactions, and checkpoints of the log. */
#include <inttypes.h>
#include <stdio.h>

#include <sodium.h>

#include "daemon/store/error.h"
#include "daemon/store/log.h"
#include "daemon/store/ops.h"
#include "daemon/store/thread/inner.h"

enum {
    /* A part of a failed batch has at most 1 / RETRY_PARTS of its operations, rounded up. */
    RETRY_PARTS = 8,
    /*
     * When the storage is full, operations are committed one by one. After STRIKES_MAX of them have
     * failed because the storage is full, the rest of the batch fails without an attempt.
     */
    STRIKES_MAX = 8,
    /*
     * If the log has LOG_GROWTH times its limit, the checkpoint waits for readers, up to SQLite's
     * busy timeout. A checkpoint of a shorter log does not wait for readers.
     */
    LOG_GROWTH = 8,
    /* The checkpointer copies the log in about this many parts. */
    LOG_PARTS = 8,
    SCRUB_RETRY_MS = 1000,
    STACK_BYTES = 64 * 1024 /* what operations use at most */
};

/* --- the log ---------------------------------------------------------------------------------- */

int store_commit_on_commit(void *context, sqlite3 *db, const char *name, int pages)
{
    struct store_writer *writer = context;

    (void)db;
    (void)name;
    writer->log_pages = pages > 0 ? (uint64_t)pages : 0;
    return SQLITE_OK;
}

void store_commit_checkpoint(struct store_writer *writer, int mode)
{
    int pages = 0;
    int done = 0;

    store_checkpointer_wait(&writer->checkpointer);
    if (writer->database.db == NULL) {
        return;
    }
    if (sqlite3_wal_checkpoint_v2(writer->database.db, NULL, mode, &pages, &done) == SQLITE_OK) {
        writer->log_pages = pages > done ? (uint64_t)(pages - done) : 0;
    }
}

static bool operations_wait(struct store_writer *writer)
{
    uv_mutex_lock(&writer->mutex);
    bool waits = writer->queue.first != NULL;
    uv_mutex_unlock(&writer->mutex);
    return waits;
}

void store_commit_checkpoint_if_long(struct store_writer *writer)
{
    uint64_t most = writer->options.log_bytes / (writer->page_bytes + STORE_LOG_FRAME_HEADER_BYTES);

    if (writer->log_pages >= LOG_GROWTH * most) {
        store_commit_checkpoint(writer, SQLITE_CHECKPOINT_RESTART);
    } else if (writer->log_pages >= most) {
        store_commit_checkpoint(writer, SQLITE_CHECKPOINT_PASSIVE);
    } else if (operations_wait(writer)) {
        store_checkpointer_begin(&writer->checkpointer, writer->log_pages, most / LOG_PARTS + 1);
    }
}

int store_commit_limit_log(const struct store_writer *writer, sqlite3 *db)
{
    char sql[64];

    (void)snprintf(sql, sizeof(sql), "PRAGMA journal_size_limit = %" PRIu64,
                   writer->options.log_bytes);
    return store_exec(db, sql);
}

void store_commit_scrub(struct store_writer *writer)
{
    int rc = SQLITE_ERROR;

    sodium_stackzero(STACK_BYTES); /* reasons of reports of messages that are gone */
    store_checkpointer_rest(&writer->checkpointer);
    if (writer->database.db != NULL) {
        rc = sqlite3_wal_checkpoint_v2(writer->database.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                       NULL);
    }
    if (rc != SQLITE_OK) {
        writer->scrub_due = uv_hrtime() + STORE_NS_PER_MS * SCRUB_RETRY_MS;
        return;
    }
    writer->log_pages = 0;
    writer->scrub_due = 0;
    writer->is_scrubbed = true;
    uv_mutex_lock(&writer->mutex);
    writer->counters.scrubs++;
    uv_mutex_unlock(&writer->mutex);
}

/* --- the connection --------------------------------------------------------------------------- */

int store_commit_reopen(struct store_writer *writer)
{
    const char *detail;
    sqlite3 *db;
    int rc;

    if (writer->database.db != NULL) {
        return SQLITE_OK;
    }
    rc = store_schema_connect(writer->options.path, writer->options.vfs, writer->options.use, &db);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = store_commit_limit_log(writer, db);
    /*
     * A commit that was reported as failed may be in the database after all, if SQLite has
     * recovered the log since.
     */
    if (rc == SQLITE_OK) {
        rc = store_numbers_load(writer->options.numbers, db, &detail);
    }
    if (rc == SQLITE_OK) {
        rc = store_database_init(&writer->database, db, writer->options.numbers,
                                 writer->options.marks_max);
    }
    if (rc != SQLITE_OK) {
        (void)sqlite3_close(db);
        return rc;
    }
    (void)sqlite3_wal_hook(db, store_commit_on_commit, writer);
    writer->locked_out = false;
    return SQLITE_OK;
}

static void drop_connection(struct store_writer *writer)
{
    if (writer->current != NULL && !writer->copy_is_lost) { /* it copies from this connection */
        store_backup_abort(&writer->backup);
        writer->copy_is_lost = true; /* store_job_run fails the job */
    }
    (void)sqlite3_close(store_database_deinit(&writer->database));
}

/* --- transactions ----------------------------------------------------------------------------- */

/*
 * A failed commit may have left its pages in the log. After a power cut, recovery might read these
 * pages, and operations that were reported as failed would take effect. So a small transaction
 * overwrites the first of these pages, which makes all of them invalid.
 */
static void overwrite_failed_commit(struct store_writer *writer)
{
    int rc = store_database_begin(&writer->database);

    if (rc == SQLITE_OK) {
        store_database_write_meta(&writer->database);
        rc = store_database_commit(&writer->database);
    }
    if (rc != SQLITE_OK && store_database_rollback(&writer->database) != SQLITE_OK) {
        drop_connection(writer);
    }
}

static void roll_back(struct store_writer *writer, bool was_committing)
{
    uv_mutex_lock(&writer->mutex);
    writer->counters.failures++;
    uv_mutex_unlock(&writer->mutex);
    if (store_database_rollback(&writer->database) != SQLITE_OK) {
        drop_connection(writer);
    } else if (was_committing) {
        overwrite_failed_commit(writer);
    }
}

/* Whether the operation is an operator's decision about a message, made at another store. */
static bool is_decision(const struct persist_op *op)
{
    return op->kind == PERSIST_APPLY && op->change == PERSIST_CHANGE_MESSAGE &&
           op->as == PERSIST_AS_OPERATOR;
}

static void note_success(struct store_writer *writer, const struct store_batch *batch)
{
    struct persist_op *op = batch->first;

    for (size_t i = 0; i < batch->count; i++, op = op->next) {
        if (op->kind == PERSIST_DEPOSIT && op->outcome == PERSIST_DUPLICATE) {
            op->message.deposited_ms = writer->times[i].deposited_ms;
            op->message.expires_ms = writer->times[i].expires_ms;
            op->message.seq = writer->times[i].seq;
            op->message.state = writer->times[i].state;
            op->message.reports = writer->times[i].reports;
        } else if (op->outcome == PERSIST_APPLIED &&
                   (op->kind == PERSIST_MODERATE || is_decision(op))) {
            op->message.state = writer->times[i].state;
            op->message.reports = writer->times[i].reports;
        } else if (op->kind == PERSIST_WITHHOLD && op->outcome == PERSIST_APPLIED) {
            op->message.deposited_ms = writer->times[i].deposited_ms;
            op->message.expires_ms = writer->times[i].expires_ms;
            op->message.state = writer->times[i].state;
            op->message.reports = writer->times[i].reports;
            op->message.destroy_ms = writer->times[i].destroy_ms;
            op->message.removed_ms = writer->times[i].removed_ms;
        }
    }
    /*
     * If there was a log at the start, the first commit also schedules a scrub, a checkpoint that
     * truncates the log: it may have bytes of messages that were removed before a crash. A log that
     * was empty is left alone: each commit that makes the file longer is a commit of the file
     * system's journal, too.
     */
    if ((writer->database.state.removed || !writer->is_scrubbed) && writer->scrub_due == 0) {
        writer->scrub_due = uv_hrtime() + STORE_NS_PER_MS * writer->options.scrub_after_ms;
    }
    writer->database.state.removed = false;
    uv_mutex_lock(&writer->mutex);
    writer->counters.transactions++;
    writer->counters.operations += batch->count;
    uv_mutex_unlock(&writer->mutex);
}

/* The order in which messages expire has changed. Without memory for it the connection is closed:
 * the next transaction opens it again, and loads all numbers. */
static void load_shifted(struct store_writer *writer)
{
    const char *detail = NULL;

    if (writer->database.state.has_shifted &&
        store_numbers_load(writer->options.numbers, writer->database.db, &detail) != SQLITE_OK) {
        drop_connection(writer);
    }
    writer->database.state.has_shifted = false;
}

/*
 * Commits the whole batch in one transaction. Any result but SQLITE_OK means that no operation of
 * the batch was committed.
 */
static int run_transaction(struct store_writer *writer, const struct store_batch *batch)
{
    struct persist_op *op = batch->first;
    bool is_committing = false;
    int rc = store_commit_reopen(writer);

    if (rc == SQLITE_OK && store_database_has_moved(&writer->database)) {
        rc = SQLITE_READONLY_DBMOVED;
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    writer->database.refuses_deposits = writer->refuses_deposits;
    rc = store_database_begin(&writer->database);
    for (size_t i = 0; i < batch->count && rc == SQLITE_OK; i++, op = op->next) {
        rc = store_ops_apply(&writer->database, op, &writer->times[i]);
    }
    /* The commit would do so, too, but a failed commit may have written to the log. */
    if (rc == SQLITE_OK) {
        rc = store_database_flush(&writer->database);
    }
    if (rc == SQLITE_OK) {
        rc = store_evicted_write(&writer->database);
    }
    if (rc == SQLITE_OK) {
        is_committing = true;
        rc = store_database_commit(&writer->database);
    }
    if (rc == SQLITE_OK) {
        note_success(writer, batch);
        load_shifted(writer);
    } else {
        roll_back(writer, is_committing);
    }
    return rc;
}

static void fail_batch(const struct store_batch *batch, int rc)
{
    struct persist_op *op = batch->first;

    for (size_t i = 0; i < batch->count; i++, op = op->next) {
        op->outcome = PERSIST_FAILED;
        op->reason = store_error_reason(rc);
        op->removed_count = 0;
    }
}

void store_commit_make_space(struct store_writer *writer)
{
    store_checkpointer_wait(&writer->checkpointer);
    if (writer->database.db != NULL) {
        (void)store_log_cut(writer->database.db,
                            writer->options.path); /* or a program has the lock */
        store_commit_checkpoint(writer, SQLITE_CHECKPOINT_PASSIVE);
    }
}

/*
 * Commits one operation. If an expiry fails because the storage is full, the function tries it
 * again with a smaller `limit`.
 */
static int run_alone(struct store_writer *writer, const struct store_batch *single)
{
    struct persist_op *op = single->first;
    int rc = run_transaction(writer, single);

    while ((rc & 0xff) == SQLITE_FULL && op->kind == PERSIST_EXPIRE && op->limit > 1) {
        store_commit_make_space(writer);
        op->limit = op->limit > 4 ? op->limit / 4 : 1;
        rc = run_transaction(writer, single);
    }
    return rc;
}

/*
 * Commits the operations of `rest` one by one. *strikes counts the operations that failed because
 * the storage was full. At STRIKES_MAX the remaining operations fail without a try.
 */
static void retry_one_by_one(struct store_writer *writer, struct store_batch rest,
                             unsigned *strikes)
{
    while (rest.count > 0) {
        struct store_batch single;
        int rc = SQLITE_FULL;

        store_batch_split(&rest, 1, &single);
        if (*strikes < STRIKES_MAX) {
            rc = run_alone(writer, &single);
        }
        if ((rc & 0xff) == SQLITE_FULL && *strikes < STRIKES_MAX) {
            store_commit_make_space(writer);
            ++*strikes;
        }
        if (rc != SQLITE_OK) {
            fail_batch(&single, rc);
        }
    }
}

/*
 * Commits a batch in parts, after one transaction for the whole batch needed too much storage or
 * memory. If the storage is full for a part, its operations are committed one by one. After
 * STRIKES_MAX operations have failed so, the remaining operations fail without an attempt.
 */
static void retry_in_parts(struct store_writer *writer, struct store_batch rest)
{
    size_t part_ops = (rest.count + RETRY_PARTS - 1) / RETRY_PARTS;
    unsigned strikes = 0;

    if (writer->was_full && part_ops > STORE_SPARING_OPS) {
        part_ops = STORE_SPARING_OPS;
    }
    while (rest.count > 0) {
        struct store_batch part;

        store_batch_split(&rest, part_ops, &part);
        int rc = strikes < STRIKES_MAX ? run_transaction(writer, &part) : SQLITE_FULL;
        if ((rc & 0xff) == SQLITE_FULL && strikes < STRIKES_MAX) {
            store_commit_make_space(writer);
            retry_one_by_one(writer, part, &strikes);
        } else if (rc != SQLITE_OK) {
            fail_batch(&part, rc);
        }
    }
}

/*
 * Shortens the wait for another program's lock after a batch has waited in vain, until a batch does
 * not fail for the lock. Otherwise every queued batch would wait the full time, and a stop of the
 * daemon would wait for all of them.
 */
static void note_lock(struct store_writer *writer, bool locked_out)
{
    if (locked_out == writer->locked_out || writer->database.db == NULL) {
        return;
    }
    writer->locked_out = locked_out;
    store_schema_set_patience(writer->database.db, !locked_out);
}

void store_commit_run(struct store_writer *writer, const struct store_batch *batch)
{
    int rc = run_transaction(writer, batch);
    int primary = rc & 0xff;

    note_lock(writer, primary == SQLITE_BUSY);
    writer->was_full = primary == SQLITE_FULL;
    if (rc == SQLITE_OK) {
        return;
    }
    if (writer->was_full) {
        store_commit_make_space(writer);
    }
    if (writer->was_full || (primary == SQLITE_NOMEM && batch->count > 1)) {
        retry_in_parts(writer, *batch);
    } else {
        fail_batch(batch, rc);
    }
}
