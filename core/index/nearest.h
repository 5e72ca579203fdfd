/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest: the k best candidates of a search so far.
 *
 * The order is total: more similar first, then newer deposit, then smaller id (unsigned bytes). The
 * candidates are in a heap with the worst on top: an offer costs O(log k) if it is taken, O(1) if
 * not.
 *
 * A cap limits the candidates of one sender. The k best are then chosen as if all candidates were
 * sorted, best first, and those of a sender that has its share already were skipped. Skipped
 * candidates are not kept, but for the best one: they could be needed only after a removal, and
 * then the search restarts.
 */
#ifndef CORE_INDEX_NEAREST_H
#define CORE_INDEX_NEAREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/alloc.h"
#include "core/filter/distance.h"

enum { MESSAGE_ID_BYTES = 16 };

/* What the index keeps of a message besides its filter. */
struct index_item {
    uint8_t id[MESSAGE_ID_BYTES];
    int64_t deposited_ms; /* Unix time by the host's clock */
    int64_t expires_ms;   /* not shown from this moment on */
    uint32_t reach_ppm;   /* the largest bit distance at which a query finds it, inclusive */
    uint32_t bytes;       /* of storage, for the owner's accounting; the index does not read it */
    uint32_t sender;      /* a number that the owner gives senders; 0: no sender, never capped */
};

struct nearest_candidate {
    struct similarity rank; /* the similarity that orders candidates, in the query's metric */
    struct index_item item;
    uint32_t intersection; /* set bits of (query and filter) */
    uint32_t union_count;  /* set bits of (query or filter) */
    uint32_t cardinality;  /* set bits of the filter */
    uint32_t part;         /* the part of the query that found it */
    uint32_t source;       /* the first part that searches the same index */
};

/* < 0 when a comes before b, > 0 when after, 0 only for the same message of the same part. */
int nearest_compare(const struct nearest_candidate *a, const struct nearest_candidate *b);

/* A cache of senders that have their share, with the worst candidate of each. */
enum { NEAREST_KNOWN = 4 };
struct nearest_known {
    uint32_t sender; /* 0: none */
    uint32_t worst;  /* its place in the heap */
};

struct nearest {
    const struct alloc *alloc;
    struct nearest_candidate *heap; /* heap[0] is the worst */
    uint32_t count;
    uint32_t k;
    uint32_t share;                            /* candidates of one sender, at most; 0: no cap */
    bool passed_over;                          /* the cap skipped a candidate, */
    struct nearest_candidate passed;           /* ... the best of which is this */
    struct nearest_known known[NEAREST_KNOWN]; /* cleared when the heap changes */
    uint32_t next_known;
};

/*
 * An empty heap for k >= 1 candidates, at most `share` of one sender (0: any number; candidates of
 * sender 0 are never capped). `alloc` is borrowed. 0 or -ERR_NOMEM.
 */
int nearest_init(struct nearest *nearest, const struct alloc *alloc, uint32_t k, uint32_t share);
void nearest_deinit(struct nearest *nearest); /* a zeroed one is fine */
void nearest_clear(struct nearest *nearest);

static inline bool nearest_is_full(const struct nearest *nearest)
{
    return nearest->count == nearest->k;
}

/* The k-th best; an offer is taken only if it is better. NULL with fewer than k candidates. */
static inline const struct nearest_candidate *nearest_worst(const struct nearest *nearest)
{
    return nearest_is_full(nearest) ? &nearest->heap[0] : NULL;
}

/* Whether an offer of this candidate would change anything. O(1); O(k) with a cap. */
bool nearest_wants(struct nearest *nearest, const struct nearest_candidate *candidate);

/* Whether a candidate that the cap skipped would be among the k best without the cap. */
bool nearest_is_capped(const struct nearest *nearest);

/* Whether this message is the one in `passed`. After its removal all messages must be offered
 * again. */
bool nearest_passed_over(const struct nearest *nearest, const uint8_t *id, uint32_t source);

/* Copies the candidate in if it is among the k best. Returns whether it was. */
bool nearest_offer(struct nearest *nearest, const struct nearest_candidate *candidate);

/*
 * The same for a message that may be among the k best already, because another part found it or a
 * cursor visited it twice. The better candidate of the two stays, so a message counts once. O(k).
 */
bool nearest_offer_once(struct nearest *nearest, const struct nearest_candidate *candidate);

/* Whether a message with this id is held, from this source. O(k). */
bool nearest_holds(const struct nearest *nearest, const uint8_t *id, uint32_t source);

/* Sorts the candidates, best first, and returns them (`count`, borrowed). No offer may follow. */
const struct nearest_candidate *nearest_sort(struct nearest *nearest);

#endif
