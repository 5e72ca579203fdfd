/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest: the k best candidates seen so far, whatever looked at them.
 *
 * The order is total: more similar first, then newer deposit, then smaller id (unsigned bytes).
 * A heap with the worst candidate on top: an offer costs O(log k) when taken, O(1) when not.
 *
 * One sender's share may be capped: the k best are then the best of which no sender has more than
 * so many, as if all were taken in order and those of a sender that has its share were passed over.
 * What is passed over need not be kept: it could come in only if something that is held went.
 */
#ifndef CORE_INDEX_NEAREST_H
#define CORE_INDEX_NEAREST_H

#include "core/base/alloc.h"
#include "core/filter/distance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MESSAGE_ID_BYTES = 16 };

/* What the index keeps of a message besides its filter. */
struct index_item {
    uint8_t id[MESSAGE_ID_BYTES];
    int64_t deposited_ms; /* Unix time by the host's clock */
    int64_t expires_ms;   /* not shown from this moment on */
    uint32_t reach_ppm;   /* beyond this bit distance nobody is shown it; inclusive */
    uint32_t bytes;       /* of storage, for the owner's accounting; the index does not read it */
    uint32_t sender;      /* who left it, as a number of the owner's; 0: nobody in particular */
};

struct nearest_candidate {
    struct similarity rank; /* what it is ordered by, in the query's metric */
    struct index_item item;
    uint32_t intersection; /* set bits of (query and filter) */
    uint32_t union_count;  /* set bits of (query or filter) */
    uint32_t cardinality;  /* set bits of the filter */
    uint32_t part;         /* which part of the query found it */
    uint32_t source;       /* the same for parts that look at the same messages */
};

/* < 0 when a comes before b, > 0 when after, 0 only for the same message of the same part. */
int nearest_compare(const struct nearest_candidate *a, const struct nearest_candidate *b);

/* Senders that have their share: what a candidate of theirs has to come before. */
enum { NEAREST_KNOWN = 4 };
struct nearest_known {
    uint32_t sender; /* 0: none */
    uint32_t worst;  /* of theirs, its place in the heap */
};

struct nearest {
    const struct alloc *alloc;
    struct nearest_candidate *heap; /* heap[0] is the worst */
    uint32_t count;
    uint32_t k;
    uint32_t share;                            /* of one sender at most; 0: no cap */
    bool passed_over;                          /* something was, for the cap: */
    struct nearest_candidate passed;           /* the best of it */
    struct nearest_known known[NEAREST_KNOWN]; /* forgotten when the heap changes */
    uint32_t next_known;
};

/*
 * Room for k >= 1 candidates, at most `share` of them of one sender (0: any number; those of sender
 * 0 are never capped). `alloc` is borrowed. -ERR_NOMEM.
 */
int nearest_init(struct nearest *nearest, const struct alloc *alloc, uint32_t k, uint32_t share);
void nearest_deinit(struct nearest *nearest); /* a zeroed one is fine */
void nearest_clear(struct nearest *nearest);

static inline bool nearest_is_full(const struct nearest *nearest)
{
    return nearest->count == nearest->k;
}

/* The worst of the k, which an offer has to come before; NULL while fewer than k are held. */
static inline const struct nearest_candidate *nearest_worst(const struct nearest *nearest)
{
    return nearest_is_full(nearest) ? &nearest->heap[0] : NULL;
}

/*
 * Whether an offer of this candidate would change anything; cheap where it would not. O(k) where
 * shares are capped.
 */
bool nearest_wants(struct nearest *nearest, const struct nearest_candidate *candidate);

/* Whether a candidate that was passed over for the cap would be among the k best without it. */
bool nearest_is_capped(const struct nearest *nearest);

/* Whether this message is the one that nearest_is_capped goes by: when it goes, the rest must be
 * offered again. */
bool nearest_passed_over(const struct nearest *nearest, const uint8_t *id, uint32_t source);

/* Copies the candidate in if it is among the k best. Returns whether it was. */
bool nearest_offer(struct nearest *nearest, const struct nearest_candidate *candidate);

/*
 * The same for a message that may be held already, found by another part or met twice: of the two
 * the better stays, so that a message counts once among the k. O(k).
 */
bool nearest_offer_once(struct nearest *nearest, const struct nearest_candidate *candidate);

/* Whether a message with this id is held, from this source. O(k). */
bool nearest_holds(const struct nearest *nearest, const uint8_t *id, uint32_t source);

/* Sorts what is held, best first, and returns it (`count` of them, borrowed). No offers after. */
const struct nearest_candidate *nearest_sort(struct nearest *nearest);

#endif
