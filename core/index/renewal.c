/* SPDX-License-Identifier: Apache-2.0 */

#include <assert.h>

#include "core/base/err.h"
#include "core/index/inner.h"

/*
 * The queue of notes (notes) may have as many notes as the index had messages when the renewal
 * began, but at least this many.
 */
enum { NOTES_LEAST = 65536 };

/* Messages that one call copied out of the first index. They are not in the second index yet. */
struct batch {
    struct batch *next;
    size_t count;
    struct index_item *items; /* points into `filters` */
    /* One block for filters and items. Of all usual profiles it is so large that glibc gives it
     * back to the system when it is freed (arrange_tune_memory). */
    uint64_t *filters;
};

/*
 * While a thread is in renewal_take or renewal_arrange, only this thread uses `fresh`, `batches`
 * and `batch_count`, and only the thread of the index changes the other fields.
 */
struct renewal {
    const struct alloc *alloc;
    size_t words; /* of a filter */

    /* the second index. At the end of renewal_follow the two indexes exchange engines, so
     * `fresh` then has the engine that the first index had */
    struct index *fresh;
    struct batch *batches; /* in no order */
    size_t batch_count;

    struct index *index; /* NULL: detached */
    void *cursor;        /* while messages are copied */
    struct notes notes;  /* ids of the messages that were inserted or removed after renewal_begin */
    bool follows;        /* renewal_follow has been called */
    uint64_t seen;       /* value of notes.added at the last call of renewal_follow */
};

/* --- begin and end ---------------------------------------------------------------------------- */

int renewal_begin(struct index *index, struct renewal **out_renewal)
{
    const struct alloc *alloc = index->options.alloc;
    struct renewal *renewal = alloc_zeroed(alloc, 1, sizeof(*renewal));
    size_t count = index_count(index);

    assert(index->notes == NULL && index->engine->cursor_copy != NULL);
    if (renewal == NULL) {
        return -ERR_NOMEM;
    }
    renewal->alloc = alloc;
    renewal->words = index->words;
    notes_init(&renewal->notes, alloc, count < NOTES_LEAST ? NOTES_LEAST : count);
    int rc = index_new(index->engine, &index->options, &renewal->fresh);
    if (rc == 0) {
        rc = index_expect(renewal->fresh, count);
    }
    if (rc == 0) {
        rc = index->engine->cursor_new(index->handle, alloc, &renewal->cursor);
    }
    if (rc != 0) {
        renewal_free(renewal);
        return rc;
    }
    renewal->index = index;
    index->notes = &renewal->notes;
    *out_renewal = renewal;
    return 0;
}

static void free_cursor(struct renewal *renewal)
{
    if (renewal->cursor != NULL) {
        renewal->index->engine->cursor_free(renewal->index->handle, renewal->cursor);
        renewal->cursor = NULL;
    }
}

void renewal_detach(struct renewal *renewal)
{
    if (renewal->index == NULL) {
        return;
    }
    free_cursor(renewal);
    notes_deinit(&renewal->notes);
    renewal->index->notes = NULL;
    renewal->index = NULL;
}

static void free_batch(const struct renewal *renewal, struct batch *batch)
{
    alloc_release(renewal->alloc, batch->filters);
    alloc_release(renewal->alloc, batch);
}

void renewal_free(struct renewal *renewal)
{
    if (renewal == NULL) {
        return;
    }
    assert(renewal->index == NULL);
    while (renewal->batches != NULL) {
        struct batch *batch = renewal->batches;

        renewal->batches = batch->next;
        free_batch(renewal, batch);
    }
    index_free(renewal->fresh);
    alloc_release(renewal->alloc, renewal);
}

/* The result of a call after the notes have failed. */
static int failure_of(const struct renewal *renewal)
{
    return renewal->notes.failure == NOTES_FULL ? RENEWAL_OVERRUN : renewal->notes.failure;
}

/* --- copy ------------------------------------------------------------------------------------- */

static struct batch *new_batch(struct renewal *renewal)
{
    struct batch *batch = alloc_zeroed(renewal->alloc, 1, sizeof(*batch));

    if (batch == NULL) {
        return NULL;
    }
    batch->filters = alloc_array(renewal->alloc, INDEX_COPY_MAX,
                                 renewal->words * sizeof(uint64_t) + sizeof(struct index_item));
    if (batch->filters == NULL) {
        free_batch(renewal, batch);
        return NULL;
    }
    batch->items = (struct index_item *)(batch->filters + INDEX_COPY_MAX * renewal->words);
    batch->next = renewal->batches;
    renewal->batches = batch;
    renewal->batch_count++;
    return batch;
}

int renewal_copy(struct renewal *renewal)
{
    struct index *index = renewal->index;

    if (renewal->notes.failure != 0) {
        return failure_of(renewal);
    }
    if (index_count(index) == 0) {
        free_cursor(renewal);
        return 0;
    }
    struct batch *batch = new_batch(renewal);
    if (batch == NULL) {
        return -ERR_NOMEM;
    }
    int rc = index->engine->cursor_copy(index->handle, renewal->cursor, batch->items,
                                        batch->filters, &batch->count);
    if (rc == INDEX_MORE) {
        return renewal->batch_count == RENEWAL_BATCHES ? RENEWAL_FULL : RENEWAL_MORE;
    }
    free_cursor(renewal);
    return 0;
}

/* --- arrange ---------------------------------------------------------------------------------- */

static int insert_batch(struct index *fresh, const struct batch *batch, size_t words)
{
    for (size_t i = 0; i < batch->count; i++) {
        int rc = index_insert(fresh, &batch->items[i], batch->filters + i * words);

        if (rc != 0 && rc != INDEX_EXISTS) { /* copied twice, as its node was merged */
            return rc;
        }
    }
    return 0;
}

int renewal_take(struct renewal *renewal, const struct index_stop *stop)
{
    int rc = 0;

    while (rc == 0 && renewal->batches != NULL) {
        struct batch *batch = renewal->batches;

        if (index_stop_is_wanted(stop)) {
            return RENEWAL_STOPPED;
        }
        renewal->batches = batch->next;
        renewal->batch_count--;
        rc = insert_batch(renewal->fresh, batch, renewal->words);
        free_batch(renewal, batch);
    }
    return rc;
}

int renewal_arrange(struct renewal *renewal, const struct index_stop *stop)
{
    int rc = renewal_take(renewal, stop);

    if (rc == 0) {
        rc = index_arrange(renewal->fresh, stop);
    }
    return rc == INDEX_STOPPED ? RENEWAL_STOPPED : rc;
}

/* --- follow ----------------------------------------------------------------------------------- */

/* Gives the second index the same contents for one id as the first index has: the same message, or
 * none. */
static int bring_over(struct renewal *renewal, const uint8_t *id)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    struct index_item item;

    (void)index_remove(renewal->fresh, id, NULL); /* it may not have it */
    if (index_find(renewal->index, id, &item, filter) != 0) {
        return 0;
    }
    return index_insert(renewal->fresh, &item, filter);
}

/*
 * Makes a cursor on the other engine for each part of the running searches. 0, or -ERR_NOMEM; then
 * the cursors are freed.
 */
static int make_cursors(const struct index *index, const struct index *other)
{
    int rc = 0;

    for (struct search_part *part = index->parts; part != NULL; part = part->next) {
        part->next_cursor = NULL;
    }
    for (struct search_part *part = index->parts; part != NULL && rc == 0; part = part->next) {
        rc = other->engine->cursor_new(other->handle, part->search->alloc, &part->next_cursor);
    }
    for (struct search_part *part = index->parts; part != NULL && rc != 0; part = part->next) {
        if (part->next_cursor != NULL) {
            other->engine->cursor_free(other->handle, part->next_cursor);
        }
    }
    return rc;
}

/*
 * Exchanges the engines of two indexes that hold the same messages. `other` must have no search.
 * Each running search on `index` gets a new cursor and keeps its candidates. A part that is not at
 * its end starts again. 0, or -ERR_NOMEM with nothing changed.
 */
static int renewal_exchange(struct index *index, struct index *other)
{
    void *handle = index->handle;
    int rc = make_cursors(index, other);

    if (rc != 0) {
        return rc;
    }
    for (struct search_part *part = index->parts; part != NULL; part = part->next) {
        index->engine->cursor_free(handle, part->cursor);
        part->cursor = part->next_cursor;
        index_part_moved(part); /* the new cursor visits the candidates again */
    }
    index->handle = other->handle;
    other->handle = handle;
    return 0;
}

int renewal_follow(struct renewal *renewal, size_t budget)
{
    struct notes *notes = &renewal->notes;
    size_t least = renewal->follows ? 2 * (size_t)(notes->added - renewal->seen) : 0;

    if (notes->failure != 0) {
        return failure_of(renewal);
    }
    renewal->follows = true;
    renewal->seen = notes->added;
    for (size_t left = budget > least ? budget : least; left > 0 && notes->count > 0; left--) {
        uint8_t id[MESSAGE_ID_BYTES];

        notes_take(notes, id);
        int rc = bring_over(renewal, id);
        if (rc != 0) {
            return rc;
        }
    }
    if (notes->count > 0) {
        return RENEWAL_MORE;
    }
    int rc = renewal_exchange(renewal->index, renewal->fresh);
    if (rc == 0) {
        renewal_detach(renewal);
    }
    return rc;
}
