/* SPDX-License-Identifier: Apache-2.0 */
/* Searches over one or more indexes, step by step. */
#include <assert.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/expiry.h"
#include "core/filter/bloom.h"
#include "core/index/inner.h"

/* After this many restarts each further restart doubles the work of a step, so that the search
 * ends. At last one step is enough for the whole search, and no message comes or goes within a
 * step. */
enum { RESTARTS_MAX = 3 };

/* link_part adds a part to the list of its index; unlink_part takes the part out. */
static void link_part(struct search_part *part)
{
    part->next = part->index->parts;
    part->link = &part->index->parts;
    if (part->next != NULL) {
        part->next->link = &part->next;
    }
    part->index->parts = part;
}

static void unlink_part(struct search_part *part)
{
    if (part->link == NULL) {
        return;
    }
    *part->link = part->next;
    if (part->next != NULL) {
        part->next->link = part->link;
    }
    part->link = NULL;
}

/* Takes all parts of the search out of the lists of their indexes, and frees the cursors.
 * Afterwards the search uses no index. */
static void search_detach(struct index_search *search)
{
    for (uint32_t p = 0; search->parts != NULL && p < search->query.part_count; p++) {
        struct search_part *part = &search->parts[p];

        unlink_part(part);
        if (part->cursor != NULL) {
            part->index->engine->cursor_free(part->index->handle, part->cursor);
            part->cursor = NULL;
            part->index->use.searches++;
            part->index->use.comparisons += part->probe.comparisons;
        }
    }
}

/* Returns the number of the first part that searches the same index as part p. */
static uint32_t source_of(const struct index_search *search, uint32_t p)
{
    uint32_t source = 0;

    while (search->parts[source].index != search->parts[p].index) {
        source++;
    }
    return source;
}

/* Lets all parts that search the same index share one memo of the excluded messages. 0 or
 * -ERR_NOMEM. */
static int share_memo(struct index_search *search, struct search_part *part)
{
    struct search_part *first = &search->parts[part->probe.source];
    const struct index *index = part->index;

    if (part == first || search->query.exclude_count == 0) {
        return 0;
    }
    if (first->memo.known == NULL) {
        int rc = index_memo_init(&first->memo, search->alloc, index->engine->places(index->handle));
        if (rc != 0) {
            return rc;
        }
        first->probe.memo = &first->memo;
    }
    part->probe.memo = &first->memo;
    return 0;
}

/* Fills in one part. `filters` has space for two filters. */
static int begin_part(struct index_search *search, uint32_t p, const struct index_part *given,
                      uint64_t *filters)
{
    struct search_part *part = &search->parts[p];
    struct index *index = given->index;
    struct index_probe *probe = &part->probe;

    part->search = search;
    part->index = index;
    memcpy(filters, given->filter, index->words * sizeof(*filters));
    *probe = (struct index_probe){
        .query = &search->query,
        .filter = filters,
        .cardinality = index->options.kernels->cardinality(filters, index->words),
        .part = p,
        .source = source_of(search, p),
        .part_bits = index->profile.bits,
        .profile = &index->profile,
        .nearest = &search->nearest,
        .expected = (search->query.k + search->query.part_count - 1) / search->query.part_count,
    };
    if (search->query.metric == INDEX_METRIC_PHI) {
        index_probe_ask_phi(probe);
    }
    if (given->contains != NULL) {
        uint64_t *contains = filters + index->words;

        memcpy(contains, given->contains, index->words * sizeof(*contains));
        probe->contains = contains;
        probe->contains_cardinality = bloom_cardinality(contains, index->words);
    }
    int rc = index->engine->cursor_new(index->handle, search->alloc, &part->cursor);
    if (rc != 0) {
        return rc;
    }
    link_part(part);
    return share_memo(search, part);
}

static int begin_search(struct index_search *search, const struct index_query *query)
{
    size_t words = query->parts[0].index->words;
    uint32_t part_count = query->part_count;

    search->filters = alloc_array(search->alloc, 2 * words * part_count, sizeof(*search->filters));
    search->parts = alloc_zeroed(search->alloc, part_count, sizeof(*search->parts));
    if (search->filters == NULL || search->parts == NULL) {
        return -ERR_NOMEM;
    }
    int rc = nearest_init(&search->nearest, search->alloc, query->k, query->sender_share);
    for (uint32_t p = 0; rc == 0 && p < part_count; p++) {
        assert(query->parts[p].index->words == words);
        rc = begin_part(search, p, &query->parts[p], search->filters + 2 * words * p);
    }
    return rc;
}

int index_search_new(const struct alloc *alloc, const struct index_query *query,
                     struct index_search **out_search)
{
    assert(query->k >= 1 && query->part_count >= 1 && query->part_count <= INDEX_PARTS_MAX);
    assert(query->found == NULL || query->part_count == 1);
    struct index_search *search = alloc_zeroed(alloc, 1, sizeof(*search));

    if (search == NULL) {
        return -ERR_NOMEM;
    }
    search->alloc = alloc;
    search->query = *query;
    search->query.parts = NULL; /* the array `parts` belongs to the caller, and the search has
                                 * copied what it needs */
    search->now_ms = INT64_MIN;
    int rc = begin_search(search, query);
    if (rc != 0) {
        index_search_free(search);
        return rc;
    }
    *out_search = search;
    return 0;
}

void index_search_free(struct index_search *search)
{
    if (search == NULL) {
        return;
    }
    search_detach(search);
    for (uint32_t p = 0; search->parts != NULL && p < search->query.part_count; p++) {
        index_memo_deinit(&search->parts[p].memo);
    }
    nearest_deinit(&search->nearest);
    alloc_release(search->alloc, search->parts);
    alloc_release(search->alloc, search->filters);
    alloc_release(search->alloc, search);
}

/* Returns whether part p and another part search the same index, so that both may find the same
 * message. */
static bool finds_repeats(const struct index_search *search, uint32_t p)
{
    for (uint32_t other = 0; other < search->query.part_count; other++) {
        if (other != p && search->parts[other].index == search->parts[p].index) {
            return true;
        }
    }
    return false;
}

/* Begins the walk from the start, with no candidates. */
static void rewind_search(struct index_search *search)
{
    nearest_clear(&search->nearest);
    search->looking = search->query.part_count > 1;
    search->current = 0;
    search->opened = 0;
    search->restart = false;
    for (uint32_t p = 0; p < search->query.part_count; p++) {
        struct search_part *part = &search->parts[p];

        part->probe.check_repeats = finds_repeats(search, p);
        part->probe.promise = 0;
        part->walked = false;
        part->index->engine->cursor_restart(part->index->handle, part->cursor);
    }
}

static void restart_search(struct index_search *search)
{
    search->restarts++;
    search->before_restart = index_search_comparisons(search);
    rewind_search(search);
}

/* Walks one part for at most about *left work and reduces *left. Returns whether the part is done:
 * at its end, or after its first look. */
static bool walk_part(struct index_search *search, struct search_part *part, uint64_t *left)
{
    uint64_t before = index_probe_work(&part->probe);

    part->probe.first_look = search->looking;
    part->probe.opened = search->opened;
    int rc =
        part->index->engine->cursor_step(part->index->handle, part->cursor, &part->probe, *left);
    uint64_t done = index_probe_work(&part->probe) - before;

    *left -= done < *left ? done : *left;
    search->opened = part->probe.opened;
    part->walked = rc != INDEX_MORE;
    return part->walked || part->probe.first_look != search->looking;
}

/*
 * Returns the part whose walk goes on. While first looks are running (search->looking), it is the
 * part search->current. Afterwards it is the part with the highest probe.promise among the parts
 * whose walk is not at its end. Returns NULL if the walks of all parts are at their ends.
 */
static struct search_part *next_part(struct index_search *search)
{
    struct search_part *best = NULL;

    search->looking = search->looking && search->current < search->query.part_count;
    if (search->looking) {
        return &search->parts[search->current];
    }
    for (uint32_t p = 0; p < search->query.part_count; p++) {
        struct search_part *part = &search->parts[p];

        if (!part->walked && (best == NULL || part->probe.promise > best->probe.promise)) {
            best = part;
        }
    }
    return best;
}

/* Walks the parts for about *left work, and reduces *left. Returns whether all parts are at their
 * ends. */
static bool search_walk(struct index_search *search, uint64_t *left)
{
    struct search_part *part = next_part(search);

    while (part != NULL) {
        if (*left == 0 || !walk_part(search, part, left)) {
            return false;
        }
        search->current++;
        part = next_part(search);
    }
    return true;
}

/* Returns whether a candidate has expired since it was found. Such a candidate may have kept other
 * messages out of the k best. */
static bool holds_expired(const struct index_search *search)
{
    if (nearest_is_capped(&search->nearest) &&
        message_expired(search->nearest.passed.item.expires_ms, search->now_ms)) {
        return true;
    }
    for (uint32_t i = 0; i < search->nearest.count; i++) {
        if (message_expired(search->nearest.heap[i].item.expires_ms, search->now_ms)) {
            return true;
        }
    }
    return false;
}

static void set_now(struct index_search *search, int64_t now_ms)
{
    search->now_ms = now_ms > search->now_ms ? now_ms : search->now_ms;
    for (uint32_t p = 0; p < search->query.part_count; p++) {
        search->parts[p].probe.now_ms = search->now_ms;
    }
}

static void search_finish(struct index_search *search, bool cut)
{
    search->done = true;
    search->cut = cut;
    search->capped = nearest_is_capped(&search->nearest);
    search_detach(search);
    (void)nearest_sort(&search->nearest);
}

/* What the query's budget leaves. */
static uint64_t budget_left(const struct index_search *search)
{
    uint64_t used = index_search_comparisons(search) - search->before_restart;

    if (search->query.budget == 0) {
        return UINT64_MAX;
    }
    return used < search->query.budget ? search->query.budget - used : 0;
}

/* The work of the next step. */
static uint64_t step_work(const struct index_search *search, uint64_t budget)
{
    uint32_t doubled = search->restarts > RESTARTS_MAX ? search->restarts - RESTARTS_MAX : 0;

    if (budget == 0) {
        budget = 1;
    }
    return doubled < 64 && budget <= UINT64_MAX >> doubled ? budget << doubled : UINT64_MAX;
}

int index_search_step(struct index_search *search, uint64_t budget, int64_t now_ms)
{
    if (search->done) {
        return 0;
    }
    set_now(search, now_ms);
    if (!search->started) {
        search->started = true;
        rewind_search(search);
    } else if (search->restart) {
        restart_search(search);
    }
    uint64_t left = step_work(search, budget);
    left = left < budget_left(search) ? left : budget_left(search);
    while (search_walk(search, &left)) {
        if (!holds_expired(search)) {
            search_finish(search, false);
            return 0;
        }
        restart_search(search);
    }
    if (budget_left(search) > 0) {
        return INDEX_MORE;
    }
    if (holds_expired(search)) {
        if (search->restarts < RESTARTS_MAX) {
            restart_search(search);
            return INDEX_MORE;
        }
        nearest_clear(&search->nearest);
    }
    search_finish(search, true);
    return 0;
}

bool index_search_walk(struct index_search *search, uint64_t budget)
{
    uint64_t left = budget_left(search);

    left = budget < left ? budget : left;
    return search->done || search->restart || left == 0 || search_walk(search, &left);
}

const struct nearest_candidate *index_search_results(struct index_search *search,
                                                     uint32_t *out_count)
{
    *out_count = search->done ? search->nearest.count : 0;
    return search->nearest.heap;
}

uint64_t index_search_comparisons(const struct index_search *search)
{
    uint64_t sum = 0;

    for (uint32_t p = 0; p < search->query.part_count; p++) {
        sum += search->parts[p].probe.comparisons;
    }
    return sum;
}

bool index_search_is_capped(const struct index_search *search)
{
    return search->done && search->capped;
}

bool index_search_is_exact(const struct index_search *search)
{
    bool complete = true;

    for (uint32_t p = 0; p < search->query.part_count; p++) {
        complete = complete && !search->parts[p].probe.incomplete;
    }
    return search->done && !search->cut && complete;
}
