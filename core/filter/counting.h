/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counting: a counting Bloom filter. Each bit has a counter, so that elements can be removed again.
 * Fan, Cao, Almeida, Broder, "Summary Cache", IEEE/ACM ToN 8 (3), 2000.
 *
 * Its use here is a summary: the union of a changing set of filters, their number, and their
 * smallest and largest cardinality (number of set bits). Adding or removing a filter updates the
 * summary, and does not read the other filters. For filters of m bits a summary takes a little more
 * than 8 m bytes.
 *
 * The counters are bit-sliced: for each word of the filter, plane p has bit p of the counters of
 * the word's 64 positions. So these counters are incremented at once, as by a ripple-carry adder.
 * Example, the first three positions of a word:
 *
 *   position   0 1 2
 *   plane 0    1 0 1
 *   plane 1    0 1 1      the counter of position 0 is 1, of position 1 is 2, of position 2 is 3
 *   plane 2    0 0 0
 *
 * An increment of the random counters of a word changes about 1 + log2(set bits of the word)
 * planes. A counter has 32 bits, which cannot overflow, because a summary has fewer than 2^32
 * filters. (In the literature 4 bits are usually enough, because few elements share a position.
 * Thousands of messages of a host may share one.)
 */
#pragma once

#include <stdint.h>

#include "core/base/alloc.h"

struct summary {
    const struct alloc *alloc;
    uint32_t m;
    uint64_t *planes;    /* owned: for each word of the filter, 32 planes */
    uint64_t *filter;    /* owned: the union, bloom_words(m) */
    uint32_t *histogram; /* owned; entry c: how many filters have cardinality c, 0 .. m */
    uint64_t count;      /* filters, below 2^32 */
};

/*
 * Makes an empty summary for filters of m >= 1 bits. `alloc` is borrowed. Returns 0 or -ERR_NOMEM.
 */
int summary_init(struct summary *summary, const struct alloc *alloc, uint32_t m);
void summary_deinit(struct summary *summary); /* a zeroed struct is fine */

/* Adds a filter, or removes a filter that was added. A filter has m bits. O(m). */
void summary_add(struct summary *summary, const uint64_t *filter);
void summary_remove(struct summary *summary, const uint64_t *filter);

/*
 * Returns the OR of all filters, m bits. The array is borrowed. Adding or removing a filter may
 * change the array.
 */
const uint64_t *summary_union(const struct summary *summary);

/*
 * Writes the smallest and the largest cardinality of all filters; 0 and 0 if there are no filters.
 * O(m).
 */
void summary_range(const struct summary *summary, uint32_t *out_min, uint32_t *out_max);
