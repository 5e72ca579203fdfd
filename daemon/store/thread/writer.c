/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/thread/inner.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "daemon/store/log.h"

/* --- the thread ------------------------------------------------------------------------------- */

/*
 * Waits until there are operations or a job, a scrub is due, or the thread is told to stop. The
 * caller holds the mutex.
 */
static void wait_for_work(struct store_writer *writer)
{
    writer->waiting = true;
    while (writer->queue.first == NULL && !writer->stopping && writer->job == NULL) {
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

/*
 * Waits until the time `gather_until`, so that the next commit has more operations. Ends early if
 * the queue is empty or has a full batch, if there is a job, or if the thread is told to stop. The
 * caller holds the mutex.
 */
static void writer_gather(struct store_writer *writer)
{
    while (writer->queue.first != NULL && !writer->stopping && writer->job == NULL &&
           !store_queue_is_full(&writer->queue)) {
        uint64_t now = uv_hrtime();

        if (now >= writer->gather_until) {
            break;
        }
        (void)uv_cond_timedwait(&writer->wake, &writer->mutex, writer->gather_until - now);
    }
}

/*
 * Waits until half of the usual batch waits, at most group_us. Clients that wait for their answers
 * before they send more would otherwise get small commits: the first deposit after a large commit
 * would be committed alone, and each commit costs a sync. A client alone never waits: its usual
 * batch is one operation. The caller holds the mutex.
 */
static void gather_group(struct store_writer *writer)
{
    uint64_t until = uv_hrtime() + STORE_NS_PER_US * writer->options.group_us;

    writer->wanted = writer->usual / 2;
    while (writer->queue.first != NULL && writer->queue.count < writer->wanted &&
           !writer->stopping && writer->job == NULL) {
        uint64_t now = uv_hrtime();

        if (now >= until) {
            break;
        }
        (void)uv_cond_timedwait(&writer->wake, &writer->mutex, until - now);
    }
    writer->wanted = 0;
}

/* A larger batch is usual at once. After smaller ones the usual size goes down by quarters. */
static void note_usual(struct store_writer *writer, size_t count)
{
    size_t less = writer->usual * 3 / 4;

    writer->usual = count > less ? count : less;
}

/* Returns the number of unused pages of the database; 0 if they cannot be counted now. */
static uint64_t reusable_pages(struct store_writer *writer)
{
    int64_t pages = 0;

    if (writer->database.db != NULL) {
        (void)store_query_number(writer->database.db, "PRAGMA freelist_count", STORE_NO_VALUES,
                                 &pages);
    }
    return pages > 0 ? (uint64_t)pages : 0;
}

/* Counting the unused pages takes about 50 us beside other threads, so they are counted only if a
 * batch may need them. */
static void measure_room(struct store_writer *writer, struct store_space_room *out_room)
{
    const char *path = writer->options.path;

    store_space_measure(writer->options.free_bytes(path), writer->options.log_bytes,
                        store_log_bytes(path), writer->page_bytes, writer->log_pages, out_room);
    if (out_room->spare < STORE_SPACE_PLENTY) {
        out_room->reusable = reusable_pages(writer) * writer->page_bytes;
    }
}

/*
 * Takes the next batch from the queue, which is not empty. If the first operation is a deposit
 * without enough storage, the batch is small, and its deposits of new messages are refused.
 */
static void take_batch(struct store_writer *writer, struct store_batch *out_batch)
{
    struct store_space_room room;
    bool fits;

    measure_room(writer, &room);
    uv_mutex_lock(&writer->mutex);
    fits = store_queue_fits(&writer->queue, &room);
    uv_mutex_unlock(&writer->mutex);
    if (!fits && writer->log_pages > 0) {
        store_commit_checkpoint(writer, SQLITE_CHECKPOINT_PASSIVE); /* fewer pages of the log need a
                                                                       reserve afterwards */
        measure_room(writer, &room);
    }
    uv_mutex_lock(&writer->mutex);
    fits = store_queue_fits(&writer->queue, &room);
    store_queue_take(&writer->queue,
                     fits && !writer->was_full ? STORE_BATCH_OPS : STORE_SPARING_OPS,
                     fits ? &room : NULL, out_batch);
    uv_mutex_unlock(&writer->mutex);
    writer->refuses_deposits = !fits;
}

/* One turn of the thread. False: the thread ends. */
static bool writer_turn(struct store_writer *writer)
{
    struct store_batch batch = {.count = 0};
    struct persist_job *job;
    bool has_operations;
    bool goes_on;

    uv_mutex_lock(&writer->mutex);
    wait_for_work(writer);
    writer_gather(writer);
    gather_group(writer);
    has_operations = writer->queue.first != NULL;
    job = writer->job;
    goes_on = has_operations || job != NULL || !writer->stopping;
    uv_mutex_unlock(&writer->mutex);

    if (has_operations) {
        take_batch(writer, &batch);
        note_usual(writer, batch.count);
        store_commit_run(writer, &batch);
        writer->options.done(writer->options.context, batch.first, batch.last);
        store_commit_checkpoint_if_long(writer);
    }
    if (job != NULL) {
        store_job_run(writer, job);
    }
    if (goes_on && writer->scrub_due != 0 && uv_hrtime() >= writer->scrub_due) {
        store_commit_scrub(writer);
    }
    return goes_on;
}

static void run_thread(void *argument)
{
    struct store_writer *writer = argument;
    sqlite3 *db;

    while (writer_turn(writer))
        ;
    store_checkpointer_stop(&writer->checkpointer);
    db = store_database_deinit(&writer->database);
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
    writer->page_bytes = store_schema_page_bytes(db);
    int rc = store_commit_limit_log(writer, db);
    if (rc == SQLITE_OK) {
        rc = store_database_init(&writer->database, db, writer->options.numbers,
                                 writer->options.marks_max);
    }
    switch (rc & 0xff) {
    case SQLITE_OK:
        break;
    case SQLITE_NOMEM:
        goto free_writer;
    default:
        code = -ERR_STORAGE;
        goto free_writer;
    }
    (void)sqlite3_wal_hook(db, store_commit_on_commit, writer);
    /*
     * The log may have pages from before a crash. The length of the log gives an upper bound of
     * their number.
     */
    uint64_t log_bytes = store_log_bytes(options->path);
    writer->log_pages = log_bytes / (writer->page_bytes + STORE_LOG_FRAME_HEADER_BYTES);
    writer->is_scrubbed = log_bytes == 0;
    code = -ERR_SYSTEM;
    if (store_checkpointer_init(&writer->checkpointer, options->path, options->vfs, options->use) !=
        0) {
        goto deinit_database;
    }
    if (uv_mutex_init(&writer->mutex) != 0) {
        goto deinit_checkpointer;
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
deinit_checkpointer:
    store_checkpointer_deinit(&writer->checkpointer);
deinit_database:
    (void)sqlite3_wal_hook(store_database_deinit(&writer->database), NULL, NULL);
free_writer:
    free(writer);
    return code;
}

void store_writer_submit(struct store_writer *writer, struct persist_op *op)
{
    uv_mutex_lock(&writer->mutex);
    if (writer->queue.first == NULL) {
        writer->gather_until = uv_hrtime() + STORE_NS_PER_MS * writer->options.gather_ms;
    }
    store_queue_push(&writer->queue, op);
    if (writer->waiting || store_queue_is_full(&writer->queue) ||
        writer->queue.count == writer->wanted) {
        uv_cond_signal(&writer->wake);
    }
    writer->waiting = false; /* further submits need not signal again */
    uv_mutex_unlock(&writer->mutex);
}

bool store_writer_begin_job(struct store_writer *writer, struct persist_job *job)
{
    uv_mutex_lock(&writer->mutex);
    bool is_free = writer->job == NULL;
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
    store_checkpointer_deinit(&writer->checkpointer);
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
    return writer->database.db;
}

void store_writer_info(const struct store_writer *writer, struct persist_info *out_info)
{
    memcpy(out_info->store_id, writer->database.store_id, PERSIST_STORE_ID_BYTES);
    memcpy(out_info->place, writer->database.place, PERSIST_PLACE_BYTES);
    out_info->clock_ms = writer->database.state.clock_ms;
    out_info->shift_from_ms = writer->database.state.shift_from_ms;
    out_info->seq = writer->database.state.next_seq - 1;
    out_info->relaxed = writer->options.use == STORE_USE_WRITER_RELAXED;
}

void store_writer_keep_hands_off(struct store_writer *writer)
{
    writer->hands_off = true;
}
