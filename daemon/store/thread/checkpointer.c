/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/thread/inner.h"

#include "core/base/err.h"

/* Opens the connection if it is closed, and runs a checkpoint. Returns the pages that are copied.
 */
static uint64_t copy_pages(const struct store_checkpointer *checkpointer, sqlite3 **db)
{
    int pages = 0;
    int copied = 0;
    int rc = *db != NULL ? SQLITE_OK
                         : store_schema_connect(checkpointer->path, checkpointer->vfs,
                                                checkpointer->use, db);

    if (rc == SQLITE_OK) {
        rc = sqlite3_wal_checkpoint_v2(*db, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied);
    }
    return rc == SQLITE_OK && copied > 0 ? (uint64_t)copied : 0;
}

/* The caller holds the mutex. */
static void run_checkpoint(struct store_checkpointer *checkpointer, sqlite3 **db)
{
    uv_mutex_unlock(&checkpointer->mutex);
    uint64_t copied = copy_pages(checkpointer, db);
    uv_mutex_lock(&checkpointer->mutex);
    checkpointer->copied = copied;
    checkpointer->is_open = *db != NULL;
    checkpointer->is_due = false;
    uv_cond_signal(&checkpointer->changed);
}

/* The caller holds the mutex. */
static void close_connection(struct store_checkpointer *checkpointer, sqlite3 **db)
{
    (void)sqlite3_close(*db);
    *db = NULL;
    checkpointer->is_open = false;
    checkpointer->rests = false;
    uv_cond_signal(&checkpointer->changed);
}

static void run_thread(void *argument)
{
    struct store_checkpointer *checkpointer = argument;
    sqlite3 *db = NULL;

    uv_mutex_lock(&checkpointer->mutex);
    while (checkpointer->is_due || !checkpointer->is_stopping) {
        if (checkpointer->is_due) {
            run_checkpoint(checkpointer, &db);
        } else if (checkpointer->rests) {
            close_connection(checkpointer, &db);
        } else {
            uv_cond_wait(&checkpointer->changed, &checkpointer->mutex);
        }
    }
    close_connection(checkpointer, &db);
    uv_mutex_unlock(&checkpointer->mutex);
}

int store_checkpointer_init(struct store_checkpointer *checkpointer, const char *path,
                            const char *vfs, enum store_use use)
{
    *checkpointer = (struct store_checkpointer){.path = path, .vfs = vfs, .use = use};
    if (uv_mutex_init(&checkpointer->mutex) != 0) {
        return -ERR_SYSTEM;
    }
    if (uv_cond_init(&checkpointer->changed) != 0) {
        uv_mutex_destroy(&checkpointer->mutex);
        return -ERR_SYSTEM;
    }
    return 0;
}

void store_checkpointer_deinit(struct store_checkpointer *checkpointer)
{
    uv_cond_destroy(&checkpointer->changed);
    uv_mutex_destroy(&checkpointer->mutex);
}

void store_checkpointer_begin(struct store_checkpointer *checkpointer, uint64_t pages,
                              uint64_t step)
{
    uv_mutex_lock(&checkpointer->mutex);
    if (checkpointer->copied > pages) { /* since then the log was begun anew */
        checkpointer->copied = 0;
    }
    bool begins = !checkpointer->is_due && pages - checkpointer->copied >= step;
    uv_mutex_unlock(&checkpointer->mutex);
    if (begins && !checkpointer->has_thread) {
        checkpointer->has_thread =
            uv_thread_create(&checkpointer->thread, run_thread, checkpointer) == 0;
    }
    if (begins && checkpointer->has_thread) {
        uv_mutex_lock(&checkpointer->mutex);
        checkpointer->is_due = true;
        uv_cond_signal(&checkpointer->changed);
        uv_mutex_unlock(&checkpointer->mutex);
    }
}

void store_checkpointer_wait(struct store_checkpointer *checkpointer)
{
    uv_mutex_lock(&checkpointer->mutex);
    while (checkpointer->is_due) {
        uv_cond_wait(&checkpointer->changed, &checkpointer->mutex);
    }
    uv_mutex_unlock(&checkpointer->mutex);
}

void store_checkpointer_rest(struct store_checkpointer *checkpointer)
{
    uv_mutex_lock(&checkpointer->mutex);
    while (checkpointer->is_due || checkpointer->is_open) {
        checkpointer->rests = true;
        uv_cond_signal(&checkpointer->changed);
        uv_cond_wait(&checkpointer->changed, &checkpointer->mutex);
    }
    uv_mutex_unlock(&checkpointer->mutex);
}

void store_checkpointer_stop(struct store_checkpointer *checkpointer)
{
    if (!checkpointer->has_thread) {
        return;
    }
    uv_mutex_lock(&checkpointer->mutex);
    checkpointer->is_stopping = true;
    uv_cond_signal(&checkpointer->changed);
    uv_mutex_unlock(&checkpointer->mutex);
    (void)uv_thread_join(&checkpointer->thread);
    checkpointer->has_thread = false;
}
