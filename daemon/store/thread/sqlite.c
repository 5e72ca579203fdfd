/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/thread/sqlite.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "core/base/err.h"
#include "daemon/store/error.h"
#include "daemon/store/log.h"
#include "daemon/store/tables.h"
#include "daemon/store/thread/inner.h"
#include "daemon/store/thread/reader.h"
#include "daemon/store/thread/replay.h"
#include "daemon/system/log.h"

/*
 * Time from a removal to the scrub of the log. docs/privacy.md promises 60 seconds: a scrub that
 * a reader blocks is tried again.
 */
enum {
    SCRUB_AFTER_MS = 30 * 1000,
    /*
     * Maximum number of tombstones. Without a maximum, a client that deposits and withdraws again
     * and again would fill the storage.
     */
    MARKS_MAX = 100000,
    /* A new store for at most this number of bytes has small pages. */
    SMALL_BYTES_MAX = 16 * 1024 * 1024,
    /* The numbers of a smaller database are loaded without a thread. */
    EARLY_BYTES_LEAST = 1024 * 1024
};

/*
 * The steps of closing, on the loop. First the reader ends, because only the connection that is
 * closed last runs the last checkpoint. Then the writer closes its connection and ends. Then the
 * async handle is closed.
 */
enum state { STATE_OPEN, STATE_ENDING_READER, STATE_ENDING_WRITER, STATE_CLOSING_HANDLE };

struct persist_sqlite {
    struct persist base; /* first */
    char *path;
    struct persist_info info;
    struct store_numbers *numbers; /* both threads borrow it */
    struct store_writer *writer;
    struct store_reader *reader;
    uv_async_t async;
    enum state state;
    void (*closed)(void *context);
    void *closed_context;

    uv_mutex_t mutex; /* guards the fields below, which the threads hand to the loop */
    struct persist_op *first_op;
    struct persist_op *last_op;
    struct persist_read *first_read;
    struct persist_read *last_read;
    struct persist_job *job; /* done */
    bool reader_ended;
    bool writer_ended;
};

static struct persist_sqlite *sqlite_self(struct persist *persist)
{
    return (struct persist_sqlite *)(void *)persist;
}

/* --- from the threads to the loop ------------------------------------------------------------- */

static void on_ops_done(void *context, struct persist_op *first, struct persist_op *last)
{
    struct persist_sqlite *store = context;

    uv_mutex_lock(&store->mutex);
    if (store->last_op != NULL) {
        store->last_op->next = first;
    } else {
        store->first_op = first;
    }
    store->last_op = last;
    (void)uv_async_send(&store->async); /* cannot fail on a live handle */
    uv_mutex_unlock(&store->mutex);
}

static void on_read_done(void *context, struct persist_read *read)
{
    struct persist_sqlite *store = context;

    uv_mutex_lock(&store->mutex);
    if (store->last_read != NULL) {
        store->last_read->next = read;
    } else {
        store->first_read = read;
    }
    store->last_read = read;
    (void)uv_async_send(&store->async);
    uv_mutex_unlock(&store->mutex);
}

static void on_job_done(void *context, struct persist_job *job)
{
    struct persist_sqlite *store = context;

    uv_mutex_lock(&store->mutex);
    store->job = job;
    (void)uv_async_send(&store->async);
    uv_mutex_unlock(&store->mutex);
}

/*
 * The loop closes the handle, and destroys the mutex, only after both threads have ended. So the
 * handle and the mutex exist here.
 */
static void on_writer_ended(void *context)
{
    struct persist_sqlite *store = context;

    uv_mutex_lock(&store->mutex);
    store->writer_ended = true;
    (void)uv_async_send(&store->async);
    uv_mutex_unlock(&store->mutex);
}

static void on_reader_ended(void *context)
{
    struct persist_sqlite *store = context;

    uv_mutex_lock(&store->mutex);
    store->reader_ended = true;
    (void)uv_async_send(&store->async);
    uv_mutex_unlock(&store->mutex);
}

/* Calls `done` of operations and reads. A callback may free its operation, and may submit more. */
static void call_done(struct persist_op *op, struct persist_read *read)
{
    while (op != NULL) {
        struct persist_op *next = op->next;

        op->next = NULL;
        op->done(op);
        op = next;
    }
    while (read != NULL) {
        struct persist_read *next = read->next;

        read->next = NULL;
        read->done(read);
        read = next;
    }
}

static void store_free(struct persist_sqlite *store)
{
    uv_mutex_destroy(&store->mutex);
    store_numbers_free(store->numbers);
    free(store->path);
    free(store);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct persist_sqlite *store = handle->data;
    void (*closed)(void *context) = store->closed;
    void *context = store->closed_context;

    store_free(store);
    if (closed != NULL) {
        closed(context);
    }
}

static void go_on_closing(struct persist_sqlite *store, bool reader_ended, bool writer_ended)
{
    if (store->state == STATE_ENDING_READER && reader_ended) {
        store_reader_free(store->reader);
        store->reader = NULL;
        store->state = STATE_ENDING_WRITER;
        store_writer_stop(store->writer);
    } else if (store->state == STATE_ENDING_WRITER && writer_ended) {
        store_writer_free(store->writer);
        store->writer = NULL;
        store->state = STATE_CLOSING_HANDLE;
        uv_close((uv_handle_t *)&store->async, on_handle_closed);
    }
}

static void on_async(uv_async_t *async)
{
    struct persist_sqlite *store = async->data;
    struct persist_op *op;
    struct persist_read *read;
    struct persist_job *job;
    bool reader_ended;
    bool writer_ended;

    uv_mutex_lock(&store->mutex);
    op = store->first_op;
    read = store->first_read;
    job = store->job;
    store->job = NULL;
    store->first_op = store->last_op = NULL;
    store->first_read = store->last_read = NULL;
    reader_ended = store->reader_ended;
    writer_ended = store->writer_ended;
    uv_mutex_unlock(&store->mutex);

    call_done(op, read);
    if (job != NULL) {
        job->done(job);
    }
    go_on_closing(store, reader_ended, writer_ended);
}

/* --- the interface ---------------------------------------------------------------------------- */

/*
 * Returns what the functions of load.h need, with the writer's connection. Only for start-up: from
 * the first submit on the writer's thread uses the connection.
 */
static struct store_load load_of(struct persist *persist, char *out_reason)
{
    struct persist_sqlite *store = sqlite_self(persist);

    return (struct store_load){store_writer_connection(store->writer), store->path, out_reason};
}

/* If `code` is -ERR_DAMAGED, closing the store will not change the database. Returns `code`. */
static int keep_damaged(struct persist *persist, int code)
{
    if (code == -ERR_DAMAGED) {
        store_writer_keep_hands_off(sqlite_self(persist)->writer);
    }
    return code;
}

static int add_host(struct persist *persist, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile, char *out_reason)
{
    struct store_load load = load_of(persist, out_reason);

    return store_load_host(&load, name, profile, out_host, out_profile);
}

static int sqlite_replay(struct persist *persist,
                         int (*visit)(void *context, const struct persist_message *message),
                         void *context, char *out_reason)
{
    struct store_load load = load_of(persist, out_reason);

    return keep_damaged(persist, store_replay_messages(&load, visit, context));
}

static int replay_epochs(struct persist *persist,
                         int (*visit)(void *context, const struct persist_epoch *epoch),
                         void *context, char *out_reason)
{
    struct store_load load = load_of(persist, out_reason);

    return store_load_epochs(&load, visit, context);
}

static int begin_epoch(struct persist *persist, const struct persist_epoch *epoch, char *out_reason)
{
    struct store_load load = load_of(persist, out_reason);
    int rc = store_table_insert(load.db, "INSERT OR IGNORE", &store_epoch_table, epoch);

    return rc == SQLITE_OK ? 0
                           : store_error_refuse(load.path, rc, sqlite3_errmsg(load.db), out_reason);
}

static int replay_rules(struct persist *persist,
                        int (*visit)(void *context, const struct persist_rule *rule), void *context,
                        char *out_reason)
{
    struct store_load load = load_of(persist, out_reason);

    return keep_damaged(persist, store_load_rules(&load, visit, context));
}

static int replay_removed(struct persist *persist,
                          int (*visit)(void *context, const struct persist_message *message),
                          void *context, char *out_reason)
{
    struct store_load load = load_of(persist, out_reason);

    return keep_damaged(persist, store_load_removed(&load, visit, context));
}

static void sqlite_submit(struct persist *persist, struct persist_op *op)
{
    struct persist_sqlite *store = sqlite_self(persist);

    assert(store->state == STATE_OPEN);
    store_writer_submit(store->writer, op);
}

static void read_entries(struct persist *persist, struct persist_read *read)
{
    struct persist_sqlite *store = sqlite_self(persist);

    assert(store->state == STATE_OPEN);
    store_reader_submit(store->reader, read);
}

static void read_release(struct persist *persist, struct persist_read *read)
{
    (void)persist;
    store_keep_release(read);
}

static bool begin_job(struct persist *persist, struct persist_job *job)
{
    struct persist_sqlite *store = sqlite_self(persist);

    assert(store->state == STATE_OPEN);
    return store_writer_begin_job(store->writer, job);
}

static void cancel_job(struct persist *persist)
{
    store_writer_cancel_job(sqlite_self(persist)->writer);
}

static void get_info(const struct persist *persist, struct persist_info *out_info)
{
    *out_info = ((const struct persist_sqlite *)(const void *)persist)->info;
}

static void sqlite_count(struct persist *persist, struct persist_counters *out_counters)
{
    struct persist_sqlite *store = sqlite_self(persist);
    struct store_writer_counters counters;

    store_writer_count(store->writer, &counters);
    *out_counters = (struct persist_counters){.transactions = counters.transactions,
                                              .operations = counters.operations,
                                              .failures = counters.failures,
                                              .scrubs = counters.scrubs,
                                              .file_bytes = store_space_of_file(store->path),
                                              .log_bytes = store_log_bytes(store->path),
                                              .memory_bytes = (uint64_t)sqlite3_memory_used()};
}

static void close_store(struct persist *persist, void (*closed)(void *context), void *context)
{
    struct persist_sqlite *store = sqlite_self(persist);

    assert(store->state == STATE_OPEN);
    store->closed = closed;
    store->closed_context = context;
    store->state = STATE_ENDING_READER;
    store_reader_stop(store->reader);
}

static const struct persist_interface sqlite_interface = {
    .name = "sqlite",
    .add_host = add_host,
    .replay = sqlite_replay,
    .replay_epochs = replay_epochs,
    .begin_epoch = begin_epoch,
    .replay_rules = replay_rules,
    .replay_removed = replay_removed,
    .submit = sqlite_submit,
    .read = read_entries,
    .read_release = read_release,
    .begin_job = begin_job,
    .cancel_job = cancel_job,
    .info = get_info,
    .count = sqlite_count,
    .close = close_store,
};

/* --- opening ---------------------------------------------------------------------------------- */

static int sqlite_say(int code, char *out_reason)
{
    (void)snprintf(out_reason, PERSIST_REASON_BYTES, "the message store cannot start: %s",
                   err_text(code));
    return code;
}

static int store_alloc(const struct persist_sqlite_options *options,
                       struct persist_sqlite **out_store)
{
    static const char name[] = "/messages.db";
    struct persist_sqlite *store = calloc(1, sizeof(*store));
    size_t length = strlen(options->directory) + sizeof(name);

    if (store == NULL) {
        return -ERR_NOMEM;
    }
    store->base.interface = &sqlite_interface;
    store->async.data = store;
    store->path = malloc(length);
    store->numbers = store_numbers_new();
    if (store->path == NULL || store->numbers == NULL || uv_mutex_init(&store->mutex) != 0) {
        store_numbers_free(store->numbers);
        free(store->path);
        free(store);
        return -ERR_NOMEM;
    }
    (void)snprintf(store->path, length, "%s%s", options->directory, name);
    *out_store = store;
    return 0;
}

/*
 * Starts both threads; the writer's thread takes the connection `db`. On failure no thread is left
 * running, and the caller still owns `db`.
 */
static int start_threads(struct persist_sqlite *store, const struct persist_sqlite_options *options,
                         sqlite3 *db)
{
    const char *vfs = store_schema_vfs(db);
    struct store_reader_options reader = {.path = store->path,
                                          .vfs = vfs,
                                          .numbers = store->numbers,
                                          .forget_after_ms = options->scrub_after_ms,
                                          .done = on_read_done,
                                          .ended = on_reader_ended,
                                          .context = store};
    struct store_writer_options writer = {.path = store->path,
                                          .vfs = vfs,
                                          .use = options->relaxed ? STORE_USE_WRITER_RELAXED
                                                                  : STORE_USE_WRITER,
                                          .done = on_ops_done,
                                          .ended = on_writer_ended,
                                          .job_done = on_job_done,
                                          .context = store,
                                          .scrub_after_ms = options->scrub_after_ms,
                                          .gather_ms = options->gather_ms,
                                          .group_us = options->group_us,
                                          .free_bytes = options->free_bytes,
                                          .log_bytes = options->log_bytes,
                                          .marks_max = options->marks_max,
                                          .numbers = store->numbers};
    int code = store_reader_new(&reader, &store->reader);

    if (code != 0) {
        return code;
    }
    code = store_writer_new(&writer, db, &store->writer);
    if (code != 0) {
        store_reader_stop(store->reader);
        store_reader_free(store->reader);
        return code;
    }
    store_writer_info(store->writer, &store->info);
    store->info.messages = store_numbers_count(store->numbers);
    return 0;
}

/* Numbers that are loaded on a thread while the database is checked, if there is a second core. */
struct early_numbers {
    struct store_numbers *numbers;
    const char *path;
    const char *vfs;
    uv_thread_t thread;
    bool has_thread;
    bool is_loaded;
};

static void load_early(void *context)
{
    struct early_numbers *early = context;
    const char *detail;
    sqlite3 *db;

    if (store_schema_connect(early->path, early->vfs, STORE_USE_READER, &db) == SQLITE_OK) {
        early->is_loaded = store_numbers_load(early->numbers, db, &detail) == SQLITE_OK;
        (void)sqlite3_close(db);
    }
}

static void begin_early(void *context, const char *path, const char *vfs)
{
    struct early_numbers *early = context;

    early->path = path;
    early->vfs = vfs;
    early->has_thread = store_space_of_file(path) >= EARLY_BYTES_LEAST &&
                        uv_available_parallelism() > 1 &&
                        uv_thread_create(&early->thread, load_early, early) == 0;
}

static void end_early(void *context)
{
    struct early_numbers *early = context;

    if (early->has_thread) {
        (void)uv_thread_join(&early->thread);
    }
}

/*
 * Opens and checks the database, and loads the numbers of all messages. If loading them beside the
 * check has failed, they are loaded again after the check, so that a failure has the same sentence
 * on every machine.
 */
static int open_database(struct persist_sqlite *store, const struct persist_sqlite_options *options,
                         sqlite3 **out_db, char *out_reason)
{
    struct early_numbers early = {.numbers = store->numbers};
    struct store_beside beside = {begin_early, end_early, &early};
    bool is_small = options->bytes_max != 0 && options->bytes_max <= SMALL_BYTES_MAX;
    int code = store_schema_open_beside(
        store->path, options->relaxed ? STORE_USE_WRITER_RELAXED : STORE_USE_WRITER,
        is_small ? STORE_PAGE_BYTES_SMALL : STORE_PAGE_BYTES, &beside, out_db, out_reason);

    if (code == 0 && !early.is_loaded) {
        struct store_load load = {*out_db, store->path, out_reason};

        code = store_load_numbers(&load, store->numbers);
        if (code != 0) {
            (void)sqlite3_close(*out_db);
        }
    }
    return code;
}

static void warn_of_space(const char *path, const struct persist_sqlite_options *options)
{
    char reason[PERSIST_REASON_BYTES];
    uint64_t free = options->free_bytes(path);
    uint64_t taken = store_space_of_file(path) + store_log_bytes(path);

    if (options->bytes_max != 0 && free < UINT64_MAX - taken &&
        !store_space_suffices(path, options->messages_max, options->bytes_max, options->log_bytes,
                              free + taken, reason)) {
        log_warning("%s", reason);
    }
}

int persist_sqlite_open(const struct persist_sqlite_options *given, struct persist **out_persist,
                        char *out_reason)
{
    struct persist_sqlite_options all = *given;
    const struct persist_sqlite_options *options = &all;
    struct persist_sqlite *store;
    sqlite3 *db;
    int code = sodium_init() < 0 ? -ERR_SYSTEM : store_alloc(options, &store);

    if (code != 0) {
        return sqlite_say(code, out_reason);
    }
    all.scrub_after_ms = all.scrub_after_ms != 0 ? all.scrub_after_ms : SCRUB_AFTER_MS;
    all.free_bytes = all.free_bytes != NULL ? all.free_bytes : store_space_free;
    all.log_bytes = all.log_bytes != 0 ? all.log_bytes : STORE_LOG_BYTES;
    all.marks_max = all.marks_max != 0 ? all.marks_max : MARKS_MAX;
    /*
     * Compactions write their temporary file into the directory of the database. The variable is
     * global to the process. No other thread may use SQLite while the variable is being set.
     */
    sqlite3_free(sqlite3_temp_directory);
    sqlite3_temp_directory = sqlite3_mprintf("%s", options->directory);
    store_log_warn(store->path);
    code = open_database(store, options, &db, out_reason);
    if (code != 0) {
        goto free_store;
    }
    warn_of_space(store->path, options);
    const char *vfs = store_schema_vfs(db);
    if (vfs != NULL && strcmp(vfs, STORE_HEAP_VFS) == 0) {
        log_info("the file system of %s refuses shared memory: the index of the log is on the "
                 "heap, and other programs cannot open the database while hearsayd runs",
                 store->path);
    }
    if (uv_async_init(options->loop, &store->async, on_async) != 0) {
        code = sqlite_say(-ERR_SYSTEM, out_reason);
        goto close_db;
    }
    code = start_threads(store, options, db);
    if (code != 0) {
        uv_close((uv_handle_t *)&store->async, on_handle_closed);
        (void)sqlite3_close(db);
        return sqlite_say(code, out_reason);
    }
    *out_persist = &store->base;
    return 0;

close_db:
    (void)sqlite3_close(db);
free_store:
    store_free(store);
    return code;
}
