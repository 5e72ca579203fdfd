/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest: the k best candidates of a search so far.
 *
 * Candidates are ordered: the higher rank first; if equal, the newer deposit; if equal, the smaller
 * id (unsigned bytes). The rank is the similarity. A search for the newest messages gives all
 * candidates one rank, so that the deposit decides. The k best are in a heap with the worst on top.
 * nearest_offer costs O(log k) if the candidate enters the heap, else O(1).
 *
 * A search may limit how many candidates of one sender are among the k best (`share`).
 * nearest_offer then costs O(k). The result is the same as if all candidates were sorted, and each
 * candidate beyond the first `share` candidates of its sender were skipped. Of the skipped
 * candidates at most one, the best, is stored. If a message is removed and another skipped
 * candidate may be needed, the search restarts.
 */
#pragma once

#include "core/base/alloc.h"
#include "core/filter/distance.h"
#include "core/profile/profile.h"

enum { MESSAGE_ID_BYTES = 16 };

/* What the index stores of a message besides its filter. */
struct index_item {
    uint8_t id[MESSAGE_ID_BYTES];
    int64_t deposited_ms; /* Unix time by the host's clock */
    int64_t expires_ms;   /* not shown from this moment on */
    uint32_t reach_ppm;   /* a query at a larger bit distance than this does not find the message */
    uint32_t bytes; /* bytes of storage that the message takes. The index does not read this field;
                     * the program that uses the index adds these numbers up */
    /* number of the message's sender, chosen by the program that uses the index; the index only
     * compares such numbers. 0: the sender is unknown, and `share` does not limit this message */
    uint32_t sender;
    uint32_t mark; /* 0 in a new message; similar.h writes the field, nothing else reads it. On most
                    * machines it takes the place of padding */
};

struct nearest_candidate {
    struct similarity rank;       /* candidates are ordered by it */
    struct similarity similarity; /* of the message and the query, in the query's metric. Of one
                                   * message that several parts find, the most similar counts */
    struct index_item item;
    uint32_t intersection;                   /* set bits of (query and filter) */
    uint32_t union_count;                    /* set bits of (query or filter) */
    uint32_t cardinality;                    /* set bits of the filter */
    uint16_t set_bits[PROFILE_SECTIONS_MAX]; /* of these, those of each section of the profile */
    uint32_t part;                           /* the part of the query that found it */
    uint32_t source; /* number of the first part that searches the same index */
};

/* < 0 when a comes before b, > 0 when a comes after b, 0 only for the same message and part. */
int nearest_compare(const struct nearest_candidate *a, const struct nearest_candidate *b);

/* An entry of a cache. `sender` has as many candidates in the heap as `share` allows; `worst` is
 * the index of the worst of these candidates. */
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
    uint32_t share;                            /* most candidates of one sender; 0: no cap */
    bool passed_over;                          /* the cap skipped a candidate */
    struct nearest_candidate passed;           /* the best of the skipped candidates */
    struct nearest_known known[NEAREST_KNOWN]; /* cleared when the heap changes */
    uint32_t next_known;
};

/*
 * Makes an empty heap for k >= 1 candidates, with at most `share` candidates of one sender (0: any
 * number). Candidates of sender 0 are never capped. `alloc` is borrowed. 0 or -ERR_NOMEM.
 */
int nearest_init(struct nearest *nearest, const struct alloc *alloc, uint32_t k, uint32_t share);
void nearest_deinit(struct nearest *nearest); /* a zeroed one is fine */
void nearest_clear(struct nearest *nearest);

static inline bool nearest_is_full(const struct nearest *nearest)
{
    return nearest->count == nearest->k;
}

/* Returns the worst of the k best candidates; a new candidate must be better to be taken. Returns
 * NULL with fewer than k candidates. */
static inline const struct nearest_candidate *nearest_worst(const struct nearest *nearest)
{
    return nearest_is_full(nearest) ? &nearest->heap[0] : NULL;
}

/* Returns whether nearest_offer of this candidate would change the k best, or `passed`, the best
 * skipped candidate. O(1); with a limit for each sender O(k). */
bool nearest_wants(struct nearest *nearest, const struct nearest_candidate *candidate);

/* Returns whether a candidate that was skipped because of the limit of its sender would be among
 * the k best without this limit. */
bool nearest_is_capped(const struct nearest *nearest);

/*
 * Returns whether the message `id` is `passed`, the best skipped candidate, and would be among the
 * k best without the limit of its sender. If so, and if the message is removed, all messages must
 * be offered again.
 */
bool nearest_passed_over(const struct nearest *nearest, const uint8_t *id, uint32_t source);

/* Copies the candidate into the heap if it is among the k best. Returns whether it is. */
bool nearest_offer(struct nearest *nearest, const struct nearest_candidate *candidate);

/*
 * Offers a message that may be among the k best already, because another part found it or a cursor
 * visited it twice. The better of both candidates stays, so a message counts once. O(k).
 */
bool nearest_offer_once(struct nearest *nearest, const struct nearest_candidate *candidate);

/* Returns whether the heap has a message with this id and source. O(k). */
bool nearest_holds(const struct nearest *nearest, const uint8_t *id, uint32_t source);

/* Sorts the candidates, best first, and returns them (`count` of them, borrowed). No offer may
 * follow. */
const struct nearest_candidate *nearest_sort(struct nearest *nearest);
