/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: the functions that an engine of an index implements, and what it may ask of a search.
 * Included by the files of core/index/ and by engines.
 *
 * An engine keeps filters and items. index.c calls the engine with checked arguments, and keeps the
 * list of searches. A cursor stays valid through insert and remove: it visits every message at
 * least once that is in the engine from the cursor's start to its end. A cursor may visit a message
 * twice, and may or may not visit a message inserted meanwhile: index.c offers that message itself.
 */
#ifndef CORE_INDEX_ENGINE_H
#define CORE_INDEX_ENGINE_H

#include "core/index/index.h"
#include "core/index/memo.h"

/* One part of a search, as a cursor sees it. Owned by search.c. */
struct index_probe {
    const struct index_query *query;
    const uint64_t *filter;   /* the part's */
    const uint64_t *contains; /* the part's, or NULL */
    uint32_t cardinality;     /* set bits of filter */
    uint32_t contains_cardinality;
    uint32_t labels; /* estimated labels of filter, 1/65536 */
    uint32_t part;
    uint32_t source;    /* the first part that looks at the same index */
    uint32_t part_bits; /* m of the part's profile */
    const struct estimate *estimate;
    struct nearest *nearest; /* the k best, shared by all parts of the search */
    uint32_t expected;       /* about how many of the k best this part will find; at least 1 */
    bool first_look;         /* other parts were not looked at yet: see cursor_step */
    uint16_t promise;        /* the upper bound of what is left; the highest part goes on first */
    uint32_t opened;         /* groups opened so far, by all parts; counted by the tree */
    bool check_repeats;      /* an offered message may be among the k best already */
    bool incomplete;         /* set by an engine that left out messages without a proof */
    int64_t now_ms;
    struct index_memo *memo; /* of the ids tested against the query's slices; NULL: there is none */
    uint64_t comparisons;
    uint64_t looks; /* bits and hashes that tests of ids against the query's slices took */
    uint64_t bytes; /* of the index that comparisons read, without the offered messages */
};

/* The work done so far, in the unit of a step's budget. */
static inline uint64_t index_probe_work(const struct index_probe *probe)
{
    return probe->comparisons + probe->looks;
}

/* A message without a place: see index_probe_offer. */
#define INDEX_NO_PLACE UINT32_MAX

/*
 * Offers one message if it meets all conditions: expiry, window, contains (given the overlap with
 * that filter), max distance, reach. `filter` (the message's) is used only where the metric needs
 * more than counts, and may point to interleaved words `stride` apart. `place` is a number below
 * `places` that no other message of the engine has until one comes or goes, or INDEX_NO_PLACE: so
 * the message's id is tested against the query's slices once, not once for each part.
 */
void index_probe_offer(struct index_probe *probe, const struct index_item *item, uint32_t place,
                       const uint64_t *filter, size_t stride, uint32_t cardinality,
                       uint32_t overlap, uint32_t contains_overlap);

/*
 * Whether a message with this overlap and cardinality can still be among the k best, by what counts
 * alone tell: the distance bound and the rank (but not the estimated one of a profile with several
 * sections); cheap, to be asked before index_probe_offer.
 */
bool index_probe_may_pass(const struct index_probe *probe, uint32_t cardinality, uint32_t overlap);

/*
 * What a message must reach, for engines that look at many at a time: with s the least similarity
 * (bit metric, distance bound) at which may_pass still says yes, this is
 * floor(s / (1 + s) * 2^INDEX_FLOOR_SHIFT), at most 2^15. A message for which
 *
 *   overlap * 2^INDEX_FLOOR_SHIFT < (probe's cardinality + message's cardinality) * floor
 *
 * cannot pass; others may. It rises as better messages are found: ask again after an offer.
 */
enum { INDEX_FLOOR_SHIFT = BITS_FLOOR_SHIFT };
uint16_t index_probe_floor(const struct index_probe *probe);

/*
 * Whether any of several messages can still be among the k best: their cardinalities lie between
 * low and high, none shares more than `shared` bits with the filter, and none is newer than
 * newest_ms. "No" is certain, ties included; "yes" is not. docs/tree.md has the proof.
 */
bool index_probe_may_hold(const struct index_probe *probe, uint32_t low, uint32_t high,
                          uint32_t shared, int64_t newest_ms);

/* Whether may_hold cannot tell by rank: the estimated metric of a profile with several sections. */
bool index_probe_is_unbounded(const struct index_probe *probe);

struct index_engine {
    const char *name;

    int (*create)(const struct index_options *options, void **out_engine); /* 0, -ERR_NOMEM */
    void (*destroy)(void *engine);                                         /* NULL is fine */

    int (*insert)(void *engine, const struct index_item *item, const uint64_t *filter);
    int (*remove)(void *engine, const uint8_t *id, struct index_item *out_item);
    int (*find)(const void *engine, const uint8_t *id, struct index_item *out_item,
                uint64_t *out_filter);
    size_t (*count)(const void *engine);
    size_t (*places)(const void *engine); /* numbers of places: see index_probe_offer */
    size_t (*bytes)(const void *engine);
    uint32_t (*height)(const void *engine); /* NULL: 1 */

    /* See index_arrange; NULL: an engine without an arrangement. */
    int (*arrange)(void *engine, const struct index_stop *stop);
    void (*wear)(const void *engine, struct index_wear *out_wear); /* NULL: there is none */

    /*
     * A cursor walks over the engine's messages for one part of a query (struct index_part: one
     * filter looked for in one index). search.c makes and frees cursors. cursor_step returns 0
     * (end) or INDEX_MORE.
     *
     * If probe->first_look is true, an engine that knows where its best messages are offers some of
     * them, sets first_look to false, sets promise to the upper bound of the other messages, and
     * returns. All parts of a search share the list of the k best, so good messages that are found
     * early let the other parts skip more.
     */
    int (*cursor_new)(void *engine, const struct alloc *alloc, void **out_cursor);
    void (*cursor_free)(void *engine, void *cursor);
    void (*cursor_restart)(void *engine, void *cursor);
    int (*cursor_step)(void *engine, void *cursor, struct index_probe *probe, uint64_t budget);

    /* Walks on with a cursor that is not for step, and copies what it visits: at most
     * INDEX_COPY_MAX messages, whose filters follow one another. 0 (end) or INDEX_MORE. NULL where
     * there is no arrange. */
    int (*cursor_copy)(void *engine, void *cursor, struct index_item *out_items,
                       uint64_t *out_filters, size_t *out_count);
};
enum { INDEX_COPY_MAX = 4096 };

#endif
