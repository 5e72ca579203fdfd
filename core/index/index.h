/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index: the filters of messages, and the search for those that are most similar to a query's.
 *
 * An index is this interface around an engine, which keeps filters and items and walks them with a
 * cursor (engine.h). The daemon's engine is the BloomFilterTree (core/tree/); tests and the bench
 * compare it with a plain list (tests/reference/). What all engines share is here and in search.c:
 * the conditions of a query, the k best, and what happens to a running search when messages come
 * and go.
 *
 * A search runs in steps, each of which looks at a bounded number of filters. The answer is right
 * for the moment of the last step: it has messages that were inserted during the search, and no
 * message that was removed or has expired. Not thread-safe: an index and its searches belong to one
 * thread.
 */
#ifndef CORE_INDEX_INDEX_H
#define CORE_INDEX_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/alloc.h"
#include "core/bits/bits.h"
#include "core/filter/scalable.h"
#include "core/index/nearest.h"
#include "core/profile/estimate.h"
#include "core/profile/profile.h"

struct index;
struct index_engine;
struct index_search;

/* Named outcomes. */
enum {
    INDEX_EXISTS = 1,    /* insert: the id is there already */
    INDEX_NOT_FOUND = 2, /* remove, find: there is no such id */
    INDEX_MORE = 3,      /* search_step: not done, call again */
    INDEX_STOPPED = 4    /* arrange: `stop` ended the call */
};

struct index_options {
    const struct alloc *alloc;          /* borrowed, must outlive the index */
    const struct profile *profile;      /* copied */
    const struct estimate *estimate;    /* borrowed: the tables of that profile */
    const struct bits_kernels *kernels; /* borrowed: see bits_select */
    uint64_t hash_seed;                 /* random, against chosen collisions of ids */
};

/* An empty index. -ERR_NOMEM. */
int index_new(const struct index_engine *engine, const struct index_options *options,
              struct index **out_index);

/* Frees all it holds. No search and no renewal may be under way on it. NULL is fine. */
void index_free(struct index *index);

/*
 * Adds a message; item and filter (profile words) are copied. 0, INDEX_EXISTS, -ERR_NOMEM; unless
 * 0, nothing has changed. Searches under way will have it in their answers.
 */
int index_insert(struct index *index, const struct index_item *item, const uint64_t *filter);

/* Lets a long call end early. The call asks is_wanted every few milliseconds, and ends when the
 * answer is true. */
struct index_stop {
    bool (*is_wanted)(void *context);
    void *context;
};

/* `stop` may be NULL: then the call never ends early. */
static inline bool index_stop_is_wanted(const struct index_stop *stop)
{
    return stop != NULL && stop->is_wanted(stop->context);
}

/*
 * Arranges all messages, so that searches read few filters. Before the call a search compares every
 * message, as a list would. Only for an index that has no searches, that was not arranged before,
 * and from which no message was removed. A renewal (renewal.h) arranges any other index.
 *
 * 0; INDEX_STOPPED when `stop` (NULL: never) ended the call: then the index is as it was;
 * -ERR_NOMEM: then the caller may only free the index. O(n log n).
 */
int index_arrange(struct index *index, const struct index_stop *stop);

/* What makes searches slower than they were after the last index_arrange; a renewal (renewal.h)
 * mends it. O(messages / 4,096). */
struct index_wear {
    size_t unarranged; /* messages that every search compares */
    size_t removed;    /* arranged messages that were removed since */
};
void index_wear(const struct index *index, struct index_wear *out_wear);

/*
 * Takes a message out; its item is copied to *out_item unless that is NULL. 0 or INDEX_NOT_FOUND;
 * never fails for want of memory. Searches under way will not have it in their answers.
 */
int index_remove(struct index *index, const uint8_t *id, struct index_item *out_item);

/*
 * Looks a message up: 0 or INDEX_NOT_FOUND. out_item may be NULL; out_filter too, else profile
 * words. Copied.
 */
int index_find(const struct index *index, const uint8_t *id, struct index_item *out_item,
               uint64_t *out_filter);

/* Messages held, and bytes of memory held for them. O(1). */
size_t index_count(const struct index *index);
size_t index_bytes(const struct index *index);

/* Levels that a search may go down, from 1: of a list 1; of the tree its root, nodes and groups,
 * and summaries of nodes where it has them. O(1). */
uint32_t index_height(const struct index *index);

/* What a search ranks by. */
enum index_metric {
    INDEX_METRIC_BITS,     /* Jaccard similarity of the filters */
    INDEX_METRIC_ESTIMATED /* AMBIENCE's, by estimated labels */
};

/*
 * One filter looked for in one index. A message that several parts find is one result: that of the
 * part that ranks it best, the earlier one where they rank it alike.
 */
struct index_part {
    struct index *index;    /* borrowed until index_search_step returned 0 or the search is freed */
    const uint64_t *filter; /* copied, profile words */
    const uint64_t
        *contains; /* copied; NULL: no such condition. Only filters that have all its bits */
};

struct index_query {
    const struct index_part *parts; /* all of the same profile */
    uint32_t part_count;            /* 1 .. INDEX_PARTS_MAX */
    uint32_t k;                     /* >= 1 */
    uint32_t sender_share;          /* most results of one sender; 0: any number. See nearest.h */
    uint32_t max_distance_ppm;      /* of the bit distance, inclusive */
    int64_t since_ms;               /* deposited at or after; INT64_MIN: any */
    int64_t until_ms;               /* deposited before; INT64_MAX: any */
    enum index_metric metric;
    /* Messages whose ids these have are left out; borrowed until the search is freed. */
    const struct scalable_slice *exclude;
    uint32_t exclude_count; /* 0: none */
    uint64_t budget;        /* comparisons in all, about; 0: as many as it takes. See is_exact */
};
enum { INDEX_PARTS_MAX = 64 };

/*
 * Begins a search, without looking at anything yet. What it holds comes from `alloc` (borrowed).
 * 0 or -ERR_NOMEM.
 */
int index_search_new(const struct alloc *alloc, const struct index_query *query,
                     struct index_search **out_search);
void index_search_free(struct index_search *search); /* at any time; NULL is fine */

/*
 * Does about `budget` more work (at least one block of filters): a filter or summary compared is 1,
 * and so is each bit or hash that a test of an id against the query's slices takes. Messages that
 * expire at or before now_ms (which never runs backwards) do not count. 0 when done, INDEX_MORE
 * when not. Ends within a bounded number of steps however fast messages come and go.
 */
int index_search_step(struct index_search *search, uint64_t budget, int64_t now_ms);

/*
 * After index_search_step returned 0: the answer, best first, and how many. Borrowed from the
 * search, unchanged until it is freed, whatever happens to the index.
 */
const struct nearest_candidate *index_search_results(struct index_search *search,
                                                     uint32_t *out_count);

/* Filters of messages and summaries of groups whose overlap with a part was computed, so far. */
uint64_t index_search_comparisons(const struct index_search *search);

/* After index_search_step returned 0: whether messages are missing from the answer, and others in
 * their place, only because of sender_share. */
bool index_search_is_capped(const struct index_search *search);

/* Whether the answer is proven to be the true one: always, unless the query's budget ended the
 * search, or the engine left messages out on purpose (a heuristic of tests and bench). */
bool index_search_is_exact(const struct index_search *search);

#endif
