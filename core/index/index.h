/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index: stores the filters of messages, and finds the messages that are most similar to a query.
 *
 * An index is this interface around an engine, which keeps filters and items and walks over them
 * with a cursor (engine.h). The daemon's engine is the BloomFilterTree (core/tree/); tests and the
 * bench compare it with a plain list (tests/reference/). The other files of core/index/ have what
 * all engines share: the conditions of a query, the k best, and what happens to a running search
 * when messages come and go.
 *
 * A search runs in steps. A step compares about as many filters as its budget allows. The answer is
 * right for the moment of the last step, unless the budget of the query ended the search: it takes
 * messages into account that were inserted during the search, and has no message that was removed
 * or has expired. One thread uses an index and its searches, except for index_search_walk.
 */
#pragma once

#include "core/bits/bits.h"
#include "core/filter/scalable.h"
#include "core/index/nearest.h"
#include "core/profile/phi.h"
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
enum { INDEX_COPY_MAX = 4096 }; /* messages of one call of index_walk_next */

struct index_options {
    const struct alloc *alloc;          /* borrowed, must outlive the index */
    const struct profile *profile;      /* copied */
    const struct bits_kernels *kernels; /* borrowed: see bits_select */
    uint64_t hash_seed; /* random, so that nobody can choose ids whose hashes collide */
};

/* An empty index. -ERR_NOMEM. */
int index_new(const struct index_engine *engine, const struct index_options *options,
              struct index **out_index);

/*
 * About `count` messages will soon be inserted into an index that has none: makes room for their
 * ids at once, which takes less memory than growing step by step. 0 or -ERR_NOMEM.
 */
int index_expect(struct index *index, size_t count);

/* Frees the index. No search and no renewal may be running on it. NULL is fine. */
void index_free(struct index *index);

/*
 * Adds a message; `item` and `filter` are copied. `filter` has bloom_words(m) words for the m bits
 * of the profile. 0, INDEX_EXISTS, -ERR_NOMEM; unless 0, nothing has changed. Running searches will
 * consider the message.
 */
int index_insert(struct index *index, const struct index_item *item, const uint64_t *filter);

/*
 * Lets the caller stop a long call. The call asks is_wanted again and again, and ends soon after
 * is_wanted has returned true.
 */
struct index_stop {
    bool (*is_wanted)(void *context);
    void *context;
};

/* Returns whether the caller wants the call to end. `stop` may be NULL: then the call never ends
 * early. */
static inline bool index_stop_is_wanted(const struct index_stop *stop)
{
    return stop != NULL && stop->is_wanted(stop->context);
}

/*
 * Arranges all messages, so that searches read few filters. Before the call a search usually
 * compares every message, as a list would. Only for an index that has no searches, that was not
 * arranged before, and from which no message was removed. A renewal (renewal) arranges any other
 * index.
 *
 * 0; INDEX_STOPPED when `stop` (NULL: never) ended the call: then the index is as before;
 * -ERR_NOMEM: then the caller may only free the index.
 */
int index_arrange(struct index *index, const struct index_stop *stop);

/*
 * Counts the messages that make searches slower than they were right after the index was arranged.
 * A renewal (renewal) arranges the index again. O(nodes of the tree).
 */
struct index_wear {
    size_t unarranged; /* messages in no arranged order: a search usually compares all of them.
                        * Those that are compared together, because their filters are equal, count
                        * as one */
    size_t removed;    /* arranged messages that were removed since the index was arranged */
};
void index_wear(const struct index *index, struct index_wear *out_wear);

/*
 * What searches have cost since the index was made. A search counts when it is freed, once for each
 * of its parts that looks into this index.
 */
struct index_use {
    uint64_t searches;
    uint64_t comparisons; /* as index_search_comparisons counts them */
};
struct index_use index_use(const struct index *index);

/* Removes a message. Unless out_item is NULL, copies the message's item to *out_item. Returns 0 or
 * INDEX_NOT_FOUND; never fails for lack of memory. Running searches will not return the message. */
int index_remove(struct index *index, const uint8_t *id, struct index_item *out_item);

/*
 * Adds `by_ms`, at least 0, to both times of every message that was deposited at `from_ms` or
 * later. Running searches start again; for a running renewal these messages have changed.
 * O(messages)
 */
void index_shift(struct index *index, int64_t from_ms, int64_t by_ms);

/*
 * Looks up a message: 0 or INDEX_NOT_FOUND. Copies the item and the filter (bloom_words(m) words
 * for the m bits of the profile); out_item and out_filter may be NULL.
 */
int index_find(const struct index *index, const uint8_t *id, struct index_item *out_item,
               uint64_t *out_filter);

/*
 * index_count returns the number of messages, in O(1). index_bytes returns how many bytes of memory
 * the index holds, in O(nodes of the tree).
 */
size_t index_count(const struct index *index);
size_t index_bytes(const struct index *index);

/*
 * Walks over all messages. A message that comes during the walk may or may not be copied. No
 * renewal of the index may run meanwhile. index_walk_new returns 0 or -ERR_NOMEM. index_walk_next
 * copies the next messages, at most INDEX_COPY_MAX, to the arrays; the filters follow one another.
 * Returns 0 at the end, or INDEX_MORE. Only for engines that can arrange messages, as the tree.
 */
int index_walk_new(struct index *index, void **out_walk);
int index_walk_next(struct index *index, void *walk, struct index_item *out_items,
                    uint64_t *out_filters, size_t *out_count);
void index_walk_free(struct index *index, void *walk);

/*
 * index_walk_visit calls `visit` for each of the next messages, at most INDEX_COPY_MAX, without
 * copying them. Returns 0 at the end, or INDEX_MORE. Between two calls messages may come and go: a
 * message that stays is visited at least once. `visit` may change item->mark, and nothing else of
 * the index. The words of the filter are `stride` words apart. index_walk_restart begins the walk
 * again. A walk visits or copies, not both.
 */
typedef void index_visit(void *context, struct index_item *item, uint32_t cardinality,
                         const uint64_t *filter, size_t stride);
int index_walk_visit(struct index *index, void *walk, index_visit *visit, void *context);
void index_walk_restart(struct index *index, void *walk);

/* Sets the mark of the message at a place: see index_query.found. O(1) */
void index_mark(struct index *index, uint32_t place, uint32_t mark);

/* Returns the smallest expires_ms of all messages; INT64_MAX: there is no message. O(messages). */
int64_t index_soonest_ms(const struct index *index);

/*
 * Returns the number of levels that a search goes through, at least 1. A list has 1 level. A tree
 * with messages has its root, nodes and groups, and summaries of nodes if there are any. O(1).
 */
uint32_t index_height(const struct index *index);

/* What a search ranks by. */
enum index_metric {
    INDEX_METRIC_BITS, /* Jaccard similarity of the filters */
    INDEX_METRIC_PHI   /* phi coefficient of the filters (core/profile/phi.h) */
};

/* Which of the messages that meet all conditions of a query are its k best. */
enum index_order {
    INDEX_ORDER_SIMILARITY, /* the most similar; of equally similar ones the newer */
    INDEX_ORDER_NEWEST      /* the newest, however similar; of equally new ones the smaller id */
};

/* What the k best are ordered by before the times of their deposits: the similarity, or one rank
 * for all in a search for the newest messages. */
struct similarity index_rank(enum index_order order, struct similarity similarity);

/*
 * One filter that a query looks for in one index. If several parts of a query find the same message
 * of an index, the message is one result. The result names the part that ranks the message highest;
 * among equal parts, the first part.
 */
struct index_part {
    struct index *index;    /* the index in which the search looks for the filter; borrowed until
                             * index_search_step returns 0 or the search is freed */
    const uint64_t *filter; /* copied, profile words */
    /* A second filter, or NULL; the search copies it. The part finds only messages whose filters
     * have all bits of this filter. NULL: no such condition. */
    const uint64_t *contains;
};

struct index_query {
    const struct index_part *parts; /* all of the same profile */
    uint32_t part_count;            /* 1 .. INDEX_PARTS_MAX */
    uint32_t k;                     /* >= 1 */
    uint32_t sender_share;          /* most results of one sender; 0: any number. See nearest.h */
    /* Inclusive; of the distance 1 - phi with the metric phi, else of the bit distance. The reach
     * of a message is a distance of the same kind, see index_probe_offer */
    uint32_t max_distance_ppm;
    int64_t since_ms; /* deposited at or after; INT64_MIN: any */
    int64_t until_ms; /* deposited before; INT64_MAX: any */
    enum index_metric metric;
    enum index_order order;
    struct similarity floor; /* of the metric: messages below it are left out; all = 0: none are */
    /* Messages whose ids are in these slices are left out. Borrowed until the search is freed. */
    const struct scalable_slice *exclude;
    uint32_t exclude_count; /* 0: none */
    uint64_t budget; /* approximate limit of the number of comparisons of the search; 0: no limit.
                      * See index_search_is_exact */
    /*
     * NULL, or a function that gets each message within max_distance_ppm, since_ms and until_ms, in
     * no order. Then the search has no results, and reach, floor, exclude and sender_share do not
     * count. If messages come or go between two steps, the function may get a message twice. It may
     * call index_mark with the place, and nothing else of the index. `found_context` is its first
     * argument. Only for a search with one part.
     */
    void (*found)(void *context, const struct index_item *item, uint32_t place);
    void *found_context;
};
enum { INDEX_PARTS_MAX = 128 };

/*
 * Makes a search, which compares nothing yet. Its memory comes from `alloc` (borrowed). 0 or
 * -ERR_NOMEM.
 */
int index_search_new(const struct alloc *alloc, const struct index_query *query,
                     struct index_search **out_search);
void index_search_free(struct index_search *search); /* at any time; NULL is fine */

/*
 * Continues the search for about `budget` units of work, or for more if the search had to restart
 * several times. A unit is one comparison with a filter or a summary, or one bit or hash that is
 * read to test an id against the query's slices. Messages that expire at or before now_ms are not
 * found; a now_ms below that of an earlier step counts as the earlier one. Returns 0 when the
 * search is done, else INDEX_MORE. The number of steps is bounded, however fast messages come and
 * go.
 */
int index_search_step(struct index_search *search, uint64_t budget, int64_t now_ms);

/*
 * Continues a search that index_search_step has begun for about `budget` units of work, and may do
 * so on another thread than the one that changes the indexes: while it runs, the indexes of the
 * search must not change, and nobody else may use the search. Other searches may go on. Returns
 * true if only index_search_step can continue, which also ends the search: the function itself
 * ends no search, and does not look for messages that have expired.
 */
bool index_search_walk(struct index_search *search, uint64_t budget);

/*
 * Returns the answer, best first, and its length, after index_search_step returned 0. The answer
 * belongs to the search and stays unchanged until the search is freed, even if the index changes.
 */
const struct nearest_candidate *index_search_results(struct index_search *search,
                                                     uint32_t *out_count);

/*
 * Returns the number of comparisons so far: with filters of messages, with unions of groups and
 * with lanes of summaries.
 */
uint64_t index_search_comparisons(const struct index_search *search);

/* Returns whether the answer would have other messages without the limit sender_share. Only after
 * index_search_step returned 0. */
bool index_search_is_capped(const struct index_search *search);

/*
 * Returns whether the answer is proven to be right, after index_search_step returned 0. The result
 * is false in two cases: the query's budget ended the search, or the engine left out messages on
 * purpose (a heuristic of tests and bench).
 */
bool index_search_is_exact(const struct index_search *search);

/* --- renewal ---------------------------------------------------------------------------------- */

/*
 * Rebuilds an index while the index serves.
 *
 *   begin    from now on the ids of inserted and removed messages are noted (notes)
 *   copy     copies messages out of the index, a bounded number in each call
 *   take     inserts what was copied so far into a second index, so that the copy does not grow
 *            with the index. copy and take take turns
 *   arrange  takes the rest and arranges the second index. This takes long
 *   follow   applies the noted changes to the second index, some changes in each call. At the end
 *            the two indexes exchange their engines. Running searches go on and stay right
 *   free     frees the old engine, which takes long, too
 *
 * The address of the index stays the same. begin, copy, follow and detach belong to the thread of
 * the index. take and arrange do not touch the first index, so any thread may call them, and free
 * after detach or after the end of follow, if the allocator of the index allows that. A failure
 * leaves the index as it was.
 *
 * A renewal takes memory for a copy of at most RENEWAL_BATCHES * INDEX_COPY_MAX messages; for the
 * second index; for arranging; and for a queue of the noted ids, 16 bytes each. At most as many
 * noted ids wait as the index had messages at the beginning, or 65,536 if that is more.
 */

struct renewal;

/* Named outcomes. */
enum {
    RENEWAL_MORE = 1,    /* copy, follow: not done, call again */
    RENEWAL_STOPPED = 2, /* take, arrange: `stop` ended the call */
    RENEWAL_OVERRUN = 3, /* copy, follow: too many changes were noted; call detach */
    RENEWAL_FULL = 4     /* copy: not done; call take before the next call */
};

/* After so many calls copy returns RENEWAL_FULL, and renewal_take must be called. */
enum { RENEWAL_BATCHES = 2 };

/*
 * Begins a renewal. The engine of the index must be able to arrange messages, as the tree is, and
 * the index must have no other renewal. The index must live until renewal_detach or the end of
 * follow. 0 or -ERR_NOMEM.
 */
int renewal_begin(struct index *index, struct renewal **out_renewal);

/* Copies at most INDEX_COPY_MAX more messages. 0 when all are copied, RENEWAL_MORE, RENEWAL_FULL,
 * RENEWAL_OVERRUN, -ERR_NOMEM. */
int renewal_copy(struct renewal *renewal);

/*
 * Inserts what was copied into the second index. Call it after copy has returned RENEWAL_FULL.
 * `stop` may be NULL. 0, RENEWAL_STOPPED, -ERR_NOMEM.
 */
int renewal_take(struct renewal *renewal, const struct index_stop *stop);

/*
 * Arranges the second index. Call it after copy has returned 0. `stop` may be NULL. 0,
 * RENEWAL_STOPPED, -ERR_NOMEM.
 */
int renewal_arrange(struct renewal *renewal, const struct index_stop *stop);

/*
 * Applies the changes that were noted while the index was copied and arranged. Call it after
 * renewal_arrange has returned 0. One call applies up to `budget` changes, or up to twice as many
 * changes as were noted since the last call, whichever is more. So the renewal ends however fast
 * changes come, if `budget` is at least 1. Returns 0: the index has the new engine, and the renewal
 * is detached; RENEWAL_MORE, RENEWAL_OVERRUN or -ERR_NOMEM.
 */
int renewal_follow(struct renewal *renewal, size_t budget);

/*
 * Ends the renewal's use of the index; the index stays as it is and may be freed. May be called at
 * any time, even while another thread is in take or arrange. The thread of the index may then call
 * renewal_free only, after that call has returned.
 */
void renewal_detach(struct renewal *renewal);

/* Frees what a detached renewal holds. NULL is fine. O(n) */
void renewal_free(struct renewal *renewal);
