/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <uv.h>

#include "core/err.h"
#include "daemon/store_backup.h"
#include "daemon/store_ops.h"

enum {
    /* Of one transaction. More would make its first operations wait for the last, and its pages
       outgrow the cache; at 1,000 to 2,000 the sync is a small share already. */
    BATCH_OPS = 2048,
    BATCH_BYTES = 4 * 1024 * 1024,
    /* A transaction that failed is tried again in so many parts, once. */
    RETRY_PARTS = 8,
    /* Pages of log beyond which the writer waits for readers, so that it can begin the log anew. */
    LOG_PAGES_MAX = 8 * STORE_CHECKPOINT_PAGES,
    SCRUB_RETRY_MS = 1000
};

struct store_writer {
    struct store_writer_options options;
    struct store_ops ops; /* the thread's */
    struct store_times times[BATCH_OPS];
    int log_pages;      /* the thread's: after the last commit */
    uint64_t scrub_due; /* the thread's: uv_hrtime of the next scrub, 0: none is due */
    bool has_scrubbed;  /* the thread's: at least once */
    bool locked_out;    /* the thread's: another program held the lock for all our patience */
    bool hands_off;     /* written before the first submit */
    struct persist_job *current; /* the thread's: a backup that goes on */
    struct store_backup backup;  /* the thread's: of that */

    uv_thread_t thread;
    uv_mutex_t mutex; /* guards what follows */
    uv_cond_t wake;
    struct persist_op *first;
    struct persist_op *last;
    size_t queued_count; /* of them */
    size_t queued_bytes;
    uint64_t gather_until; /* uv_hrtime at which the first of them has waited for long enough */
    bool waiting;
    bool stopping;
    struct persist_job *job; /* under way, or to begin */
    bool cancelled;          /* that job */
    struct store_writer_counters counters;
};

/* What one transaction takes. */
struct batch {
    struct persist_op *first;
    struct persist_op *last;
    size_t count;
};

static uint64_t ns_of_ms(uint64_t ms)
{
    return ms * 1000 * 1000;
}

/* --- the log ---------------------------------------------------------------------------------- */

/* SQLite's count of the log's pages, after each commit. */
static int on_commit(void *context, sqlite3 *db, const char *name, int pages)
{
    struct store_writer *writer = context;

    (void)db;
    (void)name;
    writer->log_pages = pages;
    return SQLITE_OK;
}

/*
 * Brings the log home. Failure is no one's concern yet: everything stays in the log, and the next
 * commit tries again.
 */
static void checkpoint(struct store_writer *writer, int mode)
{
    if (writer->ops.db == NULL) {
        return;
    }
    if (sqlite3_wal_checkpoint_v2(writer->ops.db, NULL, mode, NULL, NULL) == SQLITE_OK) {
        writer->log_pages = 0;
    }
}

static void checkpoint_if_long(struct store_writer *writer)
{
    if (writer->log_pages >= LOG_PAGES_MAX) {
        checkpoint(writer, SQLITE_CHECKPOINT_RESTART);
    } else if (writer->log_pages >= STORE_CHECKPOINT_PAGES) {
        checkpoint(writer, SQLITE_CHECKPOINT_PASSIVE);
    }
}

/* Removed messages are zeroed in the database, but their old pages are in the log until it is cut.
 */
static void scrub(struct store_writer *writer)
{
    int rc = SQLITE_ERROR;

    if (writer->ops.db != NULL) {
        rc =
            sqlite3_wal_checkpoint_v2(writer->ops.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    }
    if (rc != SQLITE_OK) {
        writer->scrub_due = uv_hrtime() + ns_of_ms(SCRUB_RETRY_MS);
        return;
    }
    writer->log_pages = 0;
    writer->scrub_due = 0;
    writer->has_scrubbed = true;
    uv_mutex_lock(&writer->mutex);
    writer->counters.scrubs++;
    uv_mutex_unlock(&writer->mutex);
}

/* --- the connection --------------------------------------------------------------------------- */

static int reopen(struct store_writer *writer)
{
    sqlite3 *db;
    int rc;

    if (writer->ops.db != NULL) {
        return SQLITE_OK;
    }
    rc = store_schema_connect(writer->options.path, writer->options.use, &db);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = store_ops_init(&writer->ops, db, writer->options.marks_max);
    if (rc != SQLITE_OK) {
        (void)sqlite3_close(db);
        return rc;
    }
    (void)sqlite3_wal_hook(db, on_commit, writer);
    writer->locked_out = false;
    return SQLITE_OK;
}

static void end_job(struct store_writer *writer, struct persist_job *job)
{
    writer->current = NULL;
    uv_mutex_lock(&writer->mutex);
    writer->job = NULL;
    writer->cancelled = false;
    uv_mutex_unlock(&writer->mutex);
    writer->options.job_done(writer->options.context, job);
}

static void fail_job(struct store_writer *writer, struct persist_job *job, const char *reason)
{
    job->failed = true;
    (void)snprintf(job->reason, sizeof(job->reason), "%s", reason);
    end_job(writer, job);
}

static void drop_connection(struct store_writer *writer)
{
    if (writer->current != NULL) { /* it copies from this connection */
        store_backup_abort(&writer->backup);
        fail_job(writer, writer->current, "the storage failed meanwhile");
    }
    (void)sqlite3_close(store_ops_deinit(&writer->ops));
}

/* --- transactions ----------------------------------------------------------------------------- */

/*
 * A commit that failed may have left its pages in the log, and after a power cut the log might be
 * read with them: what was reported as failed would be there. A small transaction of its own, if
 * the storage takes it, overwrites their beginning, and with that none of them is valid. It has to
 * change something, since SQLite does not write what stays the same: a number is skipped.
 */
static void overwrite_failed_commit(struct store_writer *writer)
{
    int rc = store_ops_begin(&writer->ops);

    if (rc == SQLITE_OK) {
        writer->ops.state.next_seq++;
        writer->ops.state.changed = true;
        rc = store_ops_commit(&writer->ops);
    }
    if (rc != SQLITE_OK && store_ops_rollback(&writer->ops) != SQLITE_OK) {
        drop_connection(writer);
    }
}

static void roll_back(struct store_writer *writer, bool was_committing)
{
    uv_mutex_lock(&writer->mutex);
    writer->counters.failures++;
    uv_mutex_unlock(&writer->mutex);
    if (store_ops_rollback(&writer->ops) != SQLITE_OK) {
        drop_connection(writer);
    } else if (was_committing) {
        overwrite_failed_commit(writer);
    }
}

static void note_success(struct store_writer *writer, const struct batch *batch)
{
    struct persist_op *op = batch->first;

    for (size_t i = 0; i < batch->count; i++, op = op->next) {
        if (op->kind == PERSIST_DEPOSIT && op->outcome == PERSIST_DUPLICATE) {
            op->message.deposited_ms = writer->times[i].deposited_ms;
            op->message.expires_ms = writer->times[i].expires_ms;
            op->message.state = writer->times[i].state;
            op->message.reports = writer->times[i].reports;
        } else if (op->kind == PERSIST_MODERATE && op->outcome == PERSIST_APPLIED) {
            op->message.state = writer->times[i].state;
            op->message.reports = writer->times[i].reports;
        }
    }
    /* At the first commit too: a log from before a crash may hold what was removed then. Not
       sooner, since until then the connection is in use by who started us. */
    if ((writer->ops.state.removed || !writer->has_scrubbed) && writer->scrub_due == 0) {
        writer->scrub_due = uv_hrtime() + ns_of_ms(writer->options.scrub_after_ms);
    }
    writer->ops.state.removed = false;
    uv_mutex_lock(&writer->mutex);
    writer->counters.transactions++;
    writer->counters.operations += batch->count;
    uv_mutex_unlock(&writer->mutex);
}

/* One transaction over the whole batch; everything or, with a result but SQLITE_OK, nothing. */
static int run_transaction(struct store_writer *writer, const struct batch *batch)
{
    struct persist_op *op = batch->first;
    bool is_committing = false;
    int rc = reopen(writer);

    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = store_ops_begin(&writer->ops);
    for (size_t i = 0; i < batch->count && rc == SQLITE_OK; i++, op = op->next) {
        rc = store_ops_apply(&writer->ops, op, &writer->times[i]);
    }
    if (rc == SQLITE_OK) {
        is_committing = true;
        rc = store_ops_commit(&writer->ops);
    }
    if (rc == SQLITE_OK) {
        note_success(writer, batch);
    } else {
        roll_back(writer, is_committing);
    }
    return rc;
}

static void fail_batch(const struct batch *batch, int rc)
{
    struct persist_op *op = batch->first;

    for (size_t i = 0; i < batch->count; i++, op = op->next) {
        op->outcome = PERSIST_FAILED;
        op->reason = store_schema_reason(rc);
        op->removed_count = 0;
    }
}

/*
 * A batch that is too large for the space or memory left may still fit in part: a few more
 * transactions, never one for each operation. With input/output errors or another's lock there is
 * nothing to be gained.
 */
static void retry_in_parts(struct store_writer *writer, const struct batch *batch)
{
    size_t part_count = (batch->count + RETRY_PARTS - 1) / RETRY_PARTS;
    struct batch part = {.first = batch->first};
    size_t left = batch->count;

    while (left > 0) {
        int rc;

        part.count = left < part_count ? left : part_count;
        part.last = part.first;
        for (size_t i = 1; i < part.count; i++) {
            part.last = part.last->next;
        }
        rc = run_transaction(writer, &part);
        if (rc != SQLITE_OK) {
            fail_batch(&part, rc);
        }
        left -= part.count;
        part.first = part.last->next;
    }
}

/*
 * Patience with another program's lock is spent once, not for each of the batches that gathered
 * meanwhile: they, and the end of the daemon, would wait for the sum.
 */
static void note_lock(struct store_writer *writer, bool locked_out)
{
    if (locked_out == writer->locked_out || writer->ops.db == NULL) {
        return;
    }
    writer->locked_out = locked_out;
    store_schema_set_patience(writer->ops.db, !locked_out);
}

static void run_batch(struct store_writer *writer, const struct batch *batch)
{
    int rc = run_transaction(writer, batch);
    int primary = rc & 0xff;

    note_lock(writer, primary == SQLITE_BUSY);
    if (rc == SQLITE_OK) {
        return;
    }
    /* A log that is brought home is written from its beginning again: that needs no new space. */
    if (primary == SQLITE_FULL) {
        checkpoint(writer, SQLITE_CHECKPOINT_PASSIVE);
    }
    if (primary == SQLITE_FULL || (primary == SQLITE_NOMEM && batch->count > 1)) {
        retry_in_parts(writer, batch);
    } else {
        fail_batch(batch, rc);
    }
}

/* --- jobs ------------------------------------------------------------------------------------- */

static uint64_t file_bytes(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static bool is_cancelled(struct store_writer *writer)
{
    uv_mutex_lock(&writer->mutex);
    const bool cancelled = writer->cancelled || writer->stopping;
    uv_mutex_unlock(&writer->mutex);
    return cancelled;
}

/* SQLite asks now and then whether to go on. */
static int on_progress(void *context)
{
    return is_cancelled(context) ? 1 : 0;
}

/*
 * The database is written anew, without its free pages, into a temporary file in its own directory
 * and from there back, by way of the log: so much room is needed twice for the time.
 */
static void compact(struct store_writer *writer, struct persist_job *job)
{
    enum { PROGRESS_STEPS = 10000 };
    sqlite3 *db = writer->ops.db;

    scrub(writer); /* so that the log does not count */
    job->bytes_before = file_bytes(writer->options.path);
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 1); /* that file */
    sqlite3_progress_handler(db, PROGRESS_STEPS, on_progress, writer);
    int rc = store_schema_run(db, "PRAGMA temp_store = FILE");
    if (rc == SQLITE_OK) {
        rc = store_schema_run(db, "VACUUM");
    }
    sqlite3_progress_handler(db, 0, NULL, NULL);
    (void)store_schema_run(db, "PRAGMA temp_store = MEMORY");
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    scrub(writer); /* brings the log home, and cuts the file */
    job->bytes_after = file_bytes(writer->options.path);
    if (rc == SQLITE_OK) {
        end_job(writer, job);
    } else {
        fail_job(writer, job,
                 (rc & 0xff) == SQLITE_INTERRUPT ? "it was cancelled" : store_schema_reason(rc));
    }
}

/* Begins a job, or does its next slice. */
static void run_job(struct store_writer *writer, struct persist_job *job)
{
    int rc = reopen(writer);

    if (rc != SQLITE_OK) {
        fail_job(writer, job, store_schema_reason(rc));
        return;
    }
    if (is_cancelled(writer)) {
        if (writer->current != NULL) {
            store_backup_abort(&writer->backup);
        }
        fail_job(writer, job, "it was cancelled, since the daemon stops");
        return;
    }
    if (job->kind == PERSIST_COMPACT) {
        compact(writer, job);
        return;
    }
    if (writer->current == NULL) {
        const int code =
            store_backup_begin(&writer->backup, writer->ops.db, job->path, job->reason);
        job->failed = code != 0;
        job->path_is_wrong = code == -ERR_SYSTEM;
        if (code != 0) {
            end_job(writer, job);
            return;
        }
        writer->current = job;
    }
    const int code = store_backup_step(&writer->backup, job->reason);
    if (code != STORE_BACKUP_MORE) {
        job->failed = code != 0;
        job->path_is_wrong = code == -ERR_SYSTEM;
        job->bytes_after = writer->backup.bytes;
        store_backup_forget(&writer->backup);
        end_job(writer, job);
    }
}

/* --- the thread ------------------------------------------------------------------------------- */

static size_t op_bytes(const struct persist_op *op)
{
    if (op->kind != PERSIST_DEPOSIT) {
        return 0;
    }
    return op->message.payload_bytes + op->message.filter_bytes + op->message.media_type_bytes;
}

/* Takes the first operations of the queue, one at least. */
static void take_batch(struct store_writer *writer, struct batch *out_batch)
{
    struct persist_op *op = writer->first;
    size_t bytes = op_bytes(op);

    *out_batch = (struct batch){.first = op, .count = 1};
    while (op->next != NULL && out_batch->count < BATCH_OPS) {
        if (bytes + op_bytes(op->next) > BATCH_BYTES) {
            break;
        }
        bytes += op_bytes(op->next);
        op = op->next;
        out_batch->count++;
    }
    out_batch->last = op;
    writer->queued_count -= out_batch->count;
    writer->queued_bytes -= bytes;
    writer->first = op->next;
    if (writer->first == NULL) {
        writer->last = NULL;
    }
    op->next = NULL;
}

/* Waits for operations, for a scrub to be due, or for the end. With the mutex held. */
static void wait_for_work(struct store_writer *writer)
{
    writer->waiting = true;
    while (writer->first == NULL && !writer->stopping && writer->job == NULL) {
        uint64_t now = uv_hrtime();

        if (writer->scrub_due == 0) {
            uv_cond_wait(&writer->wake, &writer->mutex);
        } else if (now < writer->scrub_due) {
            (void)uv_cond_timedwait(&writer->wake, &writer->mutex, writer->scrub_due - now);
        } else {
            break;
        }
    }
    writer->waiting = false;
}

static bool is_batch_full(const struct store_writer *writer)
{
    return writer->queued_count >= BATCH_OPS || writer->queued_bytes >= BATCH_BYTES;
}

/*
 * Lets the first operation wait for others, unless there is a batch of them, or something that does
 * not wait. With the mutex held. What is left of a batch has waited already.
 */
static void gather(struct store_writer *writer)
{
    while (writer->first != NULL && !writer->stopping && writer->job == NULL &&
           !is_batch_full(writer)) {
        const uint64_t now = uv_hrtime();

        if (now >= writer->gather_until) {
            break;
        }
        (void)uv_cond_timedwait(&writer->wake, &writer->mutex, writer->gather_until - now);
    }
}

static bool is_under_way(struct store_writer *writer, const struct persist_job *job)
{
    uv_mutex_lock(&writer->mutex);
    const bool under_way = writer->job == job;
    uv_mutex_unlock(&writer->mutex);
    return under_way;
}

/* Whether the thread goes on. */
static bool work(struct store_writer *writer)
{
    struct batch batch = {.count = 0};
    struct persist_job *job;
    bool goes_on;

    uv_mutex_lock(&writer->mutex);
    wait_for_work(writer);
    gather(writer);
    if (writer->first != NULL) {
        take_batch(writer, &batch);
    }
    job = writer->job;
    goes_on = batch.count > 0 || job != NULL || !writer->stopping;
    uv_mutex_unlock(&writer->mutex);

    if (batch.count > 0) {
        run_batch(writer, &batch);
        writer->options.done(writer->options.context, batch.first, batch.last);
        checkpoint_if_long(writer);
    }
    /* Of which `drop_connection` may have made an end by now. */
    if (job != NULL && is_under_way(writer, job)) {
        run_job(writer, job);
    }
    if (goes_on && writer->scrub_due != 0 && uv_hrtime() >= writer->scrub_due) {
        scrub(writer);
    }
    return goes_on;
}

static void run_thread(void *argument)
{
    struct store_writer *writer = argument;
    sqlite3 *db;

    while (work(writer))
        ;
    db = store_ops_deinit(&writer->ops);
    if (writer->hands_off) {
        (void)sqlite3_close(db);
    } else if (db != NULL) {
        store_schema_close_last(db);
    }
    writer->options.ended(writer->options.context);
}

/* --- from outside ----------------------------------------------------------------------------- */

int store_writer_new(const struct store_writer_options *options, sqlite3 *db,
                     struct store_writer **out_writer)
{
    struct store_writer *writer = calloc(1, sizeof(*writer));
    int code = -ERR_NOMEM;

    if (writer == NULL) {
        return code;
    }
    writer->options = *options;
    switch (store_ops_init(&writer->ops, db, writer->options.marks_max) & 0xff) {
    case SQLITE_OK:
        break;
    case SQLITE_NOMEM:
        goto free_writer;
    default:
        code = -ERR_STORAGE;
        goto free_writer;
    }
    (void)sqlite3_wal_hook(db, on_commit, writer);
    code = -ERR_SYSTEM;
    if (uv_mutex_init(&writer->mutex) != 0) {
        goto deinit_ops;
    }
    if (uv_cond_init(&writer->wake) != 0) {
        goto destroy_mutex;
    }
    if (uv_thread_create(&writer->thread, run_thread, writer) != 0) {
        goto destroy_cond;
    }
    *out_writer = writer;
    return 0;

destroy_cond:
    uv_cond_destroy(&writer->wake);
destroy_mutex:
    uv_mutex_destroy(&writer->mutex);
deinit_ops:
    (void)sqlite3_wal_hook(store_ops_deinit(&writer->ops), NULL, NULL);
free_writer:
    free(writer);
    return code;
}

void store_writer_submit(struct store_writer *writer, struct persist_op *op)
{
    op->next = NULL;
    uv_mutex_lock(&writer->mutex);
    if (writer->last != NULL) {
        writer->last->next = op;
    } else {
        writer->first = op;
        writer->gather_until = uv_hrtime() + ns_of_ms(writer->options.gather_ms);
    }
    writer->last = op;
    writer->queued_count++;
    writer->queued_bytes += op_bytes(op);
    if (writer->waiting || is_batch_full(writer)) {
        uv_cond_signal(&writer->wake);
    }
    writer->waiting = false; /* once is enough */
    uv_mutex_unlock(&writer->mutex);
}

bool store_writer_begin_job(struct store_writer *writer, struct persist_job *job)
{
    uv_mutex_lock(&writer->mutex);
    const bool is_free = writer->job == NULL;
    if (is_free) {
        writer->job = job;
        writer->cancelled = false;
        uv_cond_signal(&writer->wake);
    }
    uv_mutex_unlock(&writer->mutex);
    return is_free;
}

void store_writer_cancel_job(struct store_writer *writer)
{
    uv_mutex_lock(&writer->mutex);
    writer->cancelled = writer->job != NULL;
    uv_mutex_unlock(&writer->mutex);
}

void store_writer_stop(struct store_writer *writer)
{
    uv_mutex_lock(&writer->mutex);
    writer->stopping = true;
    uv_cond_signal(&writer->wake);
    uv_mutex_unlock(&writer->mutex);
}

void store_writer_free(struct store_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    (void)uv_thread_join(&writer->thread);
    uv_cond_destroy(&writer->wake);
    uv_mutex_destroy(&writer->mutex);
    free(writer);
}

void store_writer_count(struct store_writer *writer, struct store_writer_counters *out_counters)
{
    uv_mutex_lock(&writer->mutex);
    *out_counters = writer->counters;
    uv_mutex_unlock(&writer->mutex);
}

sqlite3 *store_writer_connection(struct store_writer *writer)
{
    return writer->ops.db;
}

void store_writer_info(const struct store_writer *writer, struct persist_info *out_info)
{
    memcpy(out_info->store_id, writer->ops.store_id, PERSIST_STORE_ID_BYTES);
    out_info->clock_ms = writer->ops.state.clock_ms;
    out_info->seq = writer->ops.state.next_seq - 1;
    out_info->relaxed = writer->options.use == STORE_USE_WRITER_RELAXED;
}

void store_writer_keep_hands_off(struct store_writer *writer)
{
    writer->hands_off = true;
}
