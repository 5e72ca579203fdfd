/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/thread/replay.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>
#include <uv.h>

struct batch {
    struct persist_message messages[STORE_AHEAD_ROWS]; /* their pointers point into `bytes` */
    size_t count;
    uint8_t *bytes; /* owned */
    size_t used;
    size_t room;
    int rc; /* SQLITE_ROW: further batches follow; otherwise the last result code of the source */
};

struct ahead {
    const struct store_ahead_source *source;
    struct batch *batches; /* STORE_AHEAD_BATCHES, used in turn */
    /* The thread's: a row that was read, but for which its batch had no room. */
    struct persist_message waiting;
    bool is_waiting;
    uv_sem_t free; /* counts the batches that the thread may fill */
    uv_sem_t full; /* counts the batches that the caller may use */
    atomic_bool is_over;
};

/* --- a batch ---------------------------------------------------------------------------------- */

/* Makes room for the bytes of a message. A batch without messages grows if it has to. */
static int reserve_bytes(struct batch *batch, size_t bytes)
{
    if (batch->count > 0 || bytes <= batch->room) {
        return SQLITE_OK;
    }
    uint8_t *larger = realloc(batch->bytes, bytes);
    if (larger == NULL) {
        return SQLITE_NOMEM;
    }
    batch->bytes = larger;
    batch->room = bytes;
    return SQLITE_OK;
}

static const void *keep_bytes(struct batch *batch, const void *bytes, size_t length)
{
    void *kept = batch->bytes + batch->used;

    memcpy(kept, bytes, length);
    batch->used += length;
    return kept;
}

/* Adds the row that waits. SQLITE_FULL: the batch has no room for it. */
static int add_waiting(struct ahead *ahead, struct batch *batch)
{
    const struct persist_message *message = &ahead->waiting;
    size_t bytes = message->filter_bytes + message->media_type_bytes;
    int rc = reserve_bytes(batch, bytes);

    if (rc != SQLITE_OK) {
        return rc;
    }
    if (batch->count == STORE_AHEAD_ROWS || bytes > batch->room - batch->used) {
        return SQLITE_FULL;
    }
    struct persist_message *kept = &batch->messages[batch->count++];
    *kept = *message;
    kept->filter = keep_bytes(batch, message->filter, message->filter_bytes);
    kept->media_type = keep_bytes(batch, message->media_type, message->media_type_bytes);
    kept->payload = NULL;
    ahead->is_waiting = false;
    return SQLITE_OK;
}

static void fill_batch(struct ahead *ahead, struct batch *batch)
{
    int rc = SQLITE_OK;

    batch->count = 0;
    batch->used = 0;
    while (rc == SQLITE_OK) {
        if (!ahead->is_waiting) {
            rc = ahead->source->read(ahead->source->context, &ahead->waiting);
            ahead->is_waiting = rc == SQLITE_ROW;
        }
        rc = ahead->is_waiting ? add_waiting(ahead, batch) : rc;
    }
    batch->rc = rc == SQLITE_FULL && ahead->is_waiting ? SQLITE_ROW : rc;
}

static int visit_batch(const struct batch *batch,
                       int (*visit)(void *context, const struct persist_message *message),
                       void *context)
{
    int code = 0;

    for (size_t i = 0; i < batch->count && code == 0; i++) {
        code = visit(context, &batch->messages[i]);
    }
    return code;
}

static void free_batches(struct batch *batches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(batches[i].bytes);
    }
    free(batches);
}

static struct batch *make_batches(size_t count)
{
    struct batch *batches = calloc(count, sizeof(*batches));

    for (size_t i = 0; batches != NULL && i < count; i++) {
        batches[i].room = STORE_AHEAD_BYTES;
        batches[i].bytes = malloc(STORE_AHEAD_BYTES);
        if (batches[i].bytes == NULL) {
            free_batches(batches, count);
            return NULL;
        }
    }
    return batches;
}

/* --- the thread ------------------------------------------------------------------------------- */

static void run_thread(void *context)
{
    struct ahead *ahead = context;
    struct batch *batch;
    size_t next = 0;

    do {
        uv_sem_wait(&ahead->free);
        if (atomic_load(&ahead->is_over)) {
            return;
        }
        batch = &ahead->batches[next++ % STORE_AHEAD_BATCHES];
        fill_batch(ahead, batch);
        uv_sem_post(&ahead->full);
    } while (batch->rc == SQLITE_ROW);
}

static int visit_beside_thread(struct ahead *ahead,
                               int (*visit)(void *context, const struct persist_message *message),
                               void *context, int *out_code)
{
    int rc = SQLITE_ROW;

    for (size_t next = 0; rc == SQLITE_ROW && *out_code == 0; next++) {
        uv_sem_wait(&ahead->full);
        const struct batch *batch = &ahead->batches[next % STORE_AHEAD_BATCHES];

        *out_code = visit_batch(batch, visit, context);
        rc = batch->rc;
        uv_sem_post(&ahead->free);
    }
    atomic_store(&ahead->is_over, true);
    uv_sem_post(&ahead->free); /* the thread may wait */
    return rc;
}

/* Fills and visits one batch. Returns its `rc`. */
static int visit_next(struct ahead *ahead, struct batch *batch,
                      int (*visit)(void *context, const struct persist_message *message),
                      void *context, int *out_code)
{
    fill_batch(ahead, batch);
    *out_code = visit_batch(batch, visit, context);
    return batch->rc;
}

static bool start_thread(struct ahead *ahead, uv_thread_t *out_thread)
{
    if (uv_sem_init(&ahead->free, STORE_AHEAD_BATCHES) != 0) {
        return false;
    }
    if (uv_sem_init(&ahead->full, 0) == 0) {
        if (uv_thread_create(out_thread, run_thread, ahead) == 0) {
            return true;
        }
        uv_sem_destroy(&ahead->full);
    }
    uv_sem_destroy(&ahead->free);
    return false;
}

/* Visits what is left on a thread, if there can be one. */
static void visit_rest(struct ahead *ahead,
                       int (*visit)(void *context, const struct persist_message *message),
                       void *context, int *out_code, int *out_rc)
{
    uv_thread_t thread;

    ahead->batches = make_batches(STORE_AHEAD_BATCHES);
    if (ahead->batches != NULL && start_thread(ahead, &thread)) {
        *out_rc = visit_beside_thread(ahead, visit, context, out_code);
        (void)uv_thread_join(&thread);
        uv_sem_destroy(&ahead->full);
        uv_sem_destroy(&ahead->free);
    }
    if (ahead->batches != NULL) {
        free_batches(ahead->batches, STORE_AHEAD_BATCHES);
    }
}

int store_ahead_visit(const struct store_ahead_source *source, bool has_thread,
                      int (*visit)(void *context, const struct persist_message *message),
                      void *context, int *out_code)
{
    struct ahead ahead = {.source = source};
    struct batch *first = make_batches(1);

    *out_code = 0;
    atomic_init(&ahead.is_over, false);
    if (first == NULL) {
        return SQLITE_NOMEM;
    }
    /* Few rows are not worth a thread. */
    int rc = visit_next(&ahead, first, visit, context, out_code);
    if (rc == SQLITE_ROW && *out_code == 0 && has_thread) {
        visit_rest(&ahead, visit, context, out_code, &rc); /* or the loop below goes on */
    }
    while (rc == SQLITE_ROW && *out_code == 0) {
        rc = visit_next(&ahead, first, visit, context, out_code);
    }
    free_batches(first, 1);
    return rc;
}
