/* SPDX-License-Identifier: Apache-2.0 */

#include <assert.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "core/index/inner.h"

int index_new(const struct index_engine *engine, const struct index_options *options,
              struct index **out_index)
{
    struct index *index = alloc_zeroed(options->alloc, 1, sizeof(*index));

    if (index == NULL) {
        return -ERR_NOMEM;
    }
    index->engine = engine;
    index->options = *options;
    index->profile = *options->profile;
    index->options.profile = &index->profile;
    index->words = bloom_words(index->profile.bits);
    int rc = engine->create(&index->options, &index->handle);
    if (rc != 0) {
        alloc_release(options->alloc, index);
        return rc;
    }
    *out_index = index;
    return 0;
}

int index_expect(struct index *index, size_t count)
{
    assert(index_count(index) == 0);
    return index->engine->expect != NULL && count > 0 ? index->engine->expect(index->handle, count)
                                                      : 0;
}

void index_free(struct index *index)
{
    if (index == NULL) {
        return;
    }
    assert(index->parts == NULL && index->notes == NULL);
    index->engine->destroy(index->handle);
    alloc_release(index->options.alloc, index);
}

/* Called when messages of an index may have moved to other places. The cursor may visit a
 * message again, so repeats are checked. The memo stores results by place, so the memo is
 * cleared. */
void index_part_moved(struct search_part *part)
{
    part->probe.check_repeats = true;
    index_memo_forget(&part->memo);
}

/* Offers a new message to the running searches, because their cursors may have passed its place
 * already. */
static void offer_to_searches(struct index *index, const struct index_item *item,
                              const uint64_t *filter)
{
    for (struct search_part *part = index->parts; part != NULL; part = part->next) {
        struct index_probe *probe = &part->probe;
        uint32_t contains = 0;

        index_memo_forget(&part->memo);
        if (!part->search->started || part->search->restart || part->search->query.found != NULL) {
            continue; /* its walk is still to begin, or it wants no messages that come meanwhile */
        }
        if (probe->contains != NULL) {
            contains = bloom_intersection_count(probe->contains, filter, index->words);
        }
        probe->comparisons++;
        probe->check_repeats = true;
        index_probe_offer(probe, item, INDEX_NO_PLACE, filter, 1,
                          bloom_cardinality(filter, index->words),
                          bloom_intersection_count(probe->filter, filter, index->words), contains);
    }
}

static void note_change(const struct index *index, const uint8_t *id)
{
    if (index->notes != NULL) {
        notes_add(index->notes, id);
    }
}

int index_insert(struct index *index, const struct index_item *item, const uint64_t *filter)
{
    int rc = index->engine->insert(index->handle, item, filter);

    if (rc == 0) {
        offer_to_searches(index, item, filter);
        note_change(index, item->id);
    }
    return rc;
}

int index_arrange(struct index *index, const struct index_stop *stop)
{
    assert(index->parts == NULL);
    return index->engine->arrange != NULL ? index->engine->arrange(index->handle, stop) : 0;
}

void index_wear(const struct index *index, struct index_wear *out_wear)
{
    *out_wear = (struct index_wear){0};
    if (index->engine->wear != NULL) {
        index->engine->wear(index->handle, out_wear);
    }
}

struct index_use index_use(const struct index *index)
{
    return index->use;
}

int index_remove(struct index *index, const uint8_t *id, struct index_item *out_item)
{
    struct index_item item;
    int rc = index->engine->remove(index->handle, id, &item);

    if (rc != 0) {
        return rc;
    }
    for (struct search_part *part = index->parts; part != NULL; part = part->next) {
        /*
         * The removed message was one of the k best of this search, or the best of the messages
         * that the limit of a sender skipped. The search has not stored which message comes next,
         * so the search restarts.
         */
        if (nearest_holds(&part->search->nearest, item.id, part->probe.source) ||
            nearest_passed_over(&part->search->nearest, item.id, part->probe.source)) {
            part->search->restart = true;
        }
        index_part_moved(part);
    }
    note_change(index, item.id);
    if (out_item != NULL) {
        *out_item = item;
    }
    return 0;
}

void index_shift(struct index *index, int64_t from_ms, int64_t by_ms)
{
    index->engine->shift(index->handle, from_ms, by_ms, index->notes);
    for (struct search_part *part = index->parts; part != NULL; part = part->next) {
        part->search->restart = true;
        index_part_moved(part);
    }
}

int index_find(const struct index *index, const uint8_t *id, struct index_item *out_item,
               uint64_t *out_filter)
{
    return index->engine->find(index->handle, id, out_item, out_filter);
}

size_t index_count(const struct index *index)
{
    return index->engine->count(index->handle);
}

size_t index_bytes(const struct index *index)
{
    return sizeof(*index) + index->engine->bytes(index->handle);
}

int64_t index_soonest_ms(const struct index *index)
{
    return index->engine->soonest_ms(index->handle);
}

uint32_t index_height(const struct index *index)
{
    return index->engine->height != NULL ? index->engine->height(index->handle) : 1;
}

int index_walk_new(struct index *index, void **out_walk)
{
    return index->engine->cursor_new(index->handle, index->options.alloc, out_walk);
}

int index_walk_next(struct index *index, void *walk, struct index_item *out_items,
                    uint64_t *out_filters, size_t *out_count)
{
    return index->engine->cursor_copy(index->handle, walk, out_items, out_filters, out_count);
}

int index_walk_visit(struct index *index, void *walk, index_visit *visit, void *context)
{
    return index->engine->cursor_visit(index->handle, walk, visit, context);
}

void index_walk_restart(struct index *index, void *walk)
{
    index->engine->cursor_restart(index->handle, walk);
}

void index_mark(struct index *index, uint32_t place, uint32_t mark)
{
    index->engine->mark(index->handle, place, mark);
}

void index_walk_free(struct index *index, void *walk)
{
    index->engine->cursor_free(index->handle, walk);
}
