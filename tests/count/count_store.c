/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/count/count_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/store/load.h"
#include "daemon/store/log.h"
#include "daemon/store/tables.h"
#include "daemon/store/thread/inner.h"
#include "daemon/store/thread/replay.h"
#include "tests/count/count.h"
#include "tests/lib/pass_vfs.h"

enum { PATH_BYTES = 4096, MARKS_MAX = 100000, SCRUB_AFTER_MS = 60 * 60 * 1000 };

struct count_store {
    struct persist base; /* first */
    struct store_writer writer;
    struct store_numbers *numbers;
    struct persist_info info;
    char path[PATH_BYTES];
};

static struct count_store *store_self(const struct persist *persist)
{
    return (struct count_store *)(uintptr_t)persist;
}

/* --- the interface ---------------------------------------------------------------------------- */

static struct store_load load_of(struct persist *persist, char *out_reason)
{
    struct count_store *store = store_self(persist);

    return (struct store_load){store->writer.database.db, store->path, out_reason};
}

static int add_host(struct persist *persist, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile, char *out_reason)
{
    struct store_load load = load_of(persist, out_reason);

    return store_load_host(&load, name, profile, out_host, out_profile);
}

static int replay_messages(struct persist *persist,
                           int (*visit)(void *context, const struct persist_message *message),
                           void *context, char *out_reason)
{
    struct store_load load = load_of(persist, out_reason);

    return store_replay_messages(&load, visit, context);
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
    (void)out_reason;
    return store_table_insert(store_self(persist)->writer.database.db, "INSERT OR IGNORE",
                              &store_epoch_table, epoch);
}

static int replay_rules(struct persist *persist,
                        int (*visit)(void *context, const struct persist_rule *rule), void *context,
                        char *out_reason)
{
    struct store_load load = load_of(persist, out_reason);

    return store_load_rules(&load, visit, context);
}

static int replay_removed(struct persist *persist,
                          int (*visit)(void *context, const struct persist_message *message),
                          void *context, char *out_reason)
{
    struct store_load load = load_of(persist, out_reason);

    return store_load_removed(&load, visit, context);
}

static void submit_op(struct persist *persist, struct persist_op *op)
{
    store_queue_push(&store_self(persist)->writer.queue, op);
}

static void read_nothing(struct persist *persist, struct persist_read *read)
{
    (void)persist;
    (void)read;
    count_fail("a payload was not in the cache: the work would need the store's reader");
}

static void get_info(const struct persist *persist, struct persist_info *out_info)
{
    *out_info = store_self(persist)->info;
}

static const struct persist_interface count_interface = {
    .name = "one thread",
    .add_host = add_host,
    .replay = replay_messages,
    .replay_epochs = replay_epochs,
    .begin_epoch = begin_epoch,
    .replay_rules = replay_rules,
    .replay_removed = replay_removed,
    .submit = submit_op,
    .read = read_nothing,
    .info = get_info,
};

/* --- opening, committing ---------------------------------------------------------------------- */

/* As store_writer_new does, without the thread. */
static void start_writer(struct count_store *store, sqlite3 *db)
{
    struct store_writer *writer = &store->writer;

    writer->options = (struct store_writer_options){.path = store->path,
                                                    .vfs = store_schema_vfs(db),
                                                    .use = STORE_USE_WRITER,
                                                    .log_bytes = STORE_LOG_BYTES,
                                                    .marks_max = MARKS_MAX,
                                                    .numbers = store->numbers,
                                                    .scrub_after_ms = SCRUB_AFTER_MS};
    writer->page_bytes = store_schema_page_bytes(db);
    writer->is_scrubbed = true;
    if (store_commit_limit_log(writer, db) != SQLITE_OK ||
        store_database_init(&writer->database, db, store->numbers, MARKS_MAX) != SQLITE_OK ||
        store_checkpointer_init(&writer->checkpointer, store->path, writer->options.vfs,
                                STORE_USE_WRITER) != 0 ||
        uv_mutex_init(&writer->mutex) != 0) {
        count_fail("the store does not start: %s", sqlite3_errmsg(db));
    }
    (void)sqlite3_wal_hook(db, store_commit_on_commit, writer);
    store_writer_info(writer, &store->info);
}

struct persist *count_store_open(const char *directory)
{
    struct count_store *store = calloc(1, sizeof(*store));
    char reason[PERSIST_REASON_BYTES] = "memory is short";
    sqlite3 *db = NULL;

    if (store == NULL) {
        count_fail("%s", reason);
    }
    if (sqlite3_vfs_find("pass") == NULL) {
        pass_install_plain(); /* it counts the bytes that are written, and syncs nothing */
    }
    store->base.interface = &count_interface;
    (void)snprintf(store->path, sizeof(store->path), "%s/messages.db", directory);
    if (store_schema_open(store->path, STORE_USE_WRITER, STORE_PAGE_BYTES, &db, reason) != 0) {
        count_fail("%s", reason);
    }
    struct store_load load = {db, store->path, reason};
    store->numbers = store_numbers_new();
    if (store->numbers == NULL || store_load_numbers(&load, store->numbers) != 0) {
        count_fail("%s", reason);
    }
    start_writer(store, db);
    return &store->base;
}

void count_store_close(struct persist *persist)
{
    struct count_store *store = store_self(persist);

    store_schema_close_last(store_database_deinit(&store->writer.database));
    store_checkpointer_deinit(&store->writer.checkpointer);
    uv_mutex_destroy(&store->writer.mutex);
    store_numbers_free(store->numbers);
    free(store);
}

size_t count_store_waiting(const struct persist *persist)
{
    return store_self(persist)->writer.queue.count;
}

void count_store_commit(struct persist *persist)
{
    struct store_writer *writer = &store_self(persist)->writer;
    struct store_batch batch = {.count = 0};

    store_queue_take(&writer->queue, STORE_BATCH_OPS, NULL, &batch);
    store_commit_run(writer, &batch);
    for (struct persist_op *op = batch.first; batch.count > 0; batch.count--) {
        struct persist_op *next = op->next;

        op->next = NULL;
        op->done(op);
        op = next;
    }
    store_commit_checkpoint_if_long(writer);
}
