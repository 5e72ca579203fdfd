/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counting: a counting Bloom filter. Each bit has a counter, so that elements can be removed again.
 * Fan, Cao, Almeida, Broder, "Summary Cache", IEEE/ACM ToN 8 (3), 2000.
 *
 * The counters are bit-sliced: for each word of the filter, plane p has bit p of the counters of
 * the word's 64 positions. So these counters are incremented at once, as by a ripple-carry adder.
 * Example with counters of 4 bits: the first three positions of a word.
 *
 *   position   0 1 2
 *   plane 0    1 0 1
 *   plane 1    0 1 1      the counter of position 0 is 1, of position 1 is 2, of position 2 is 3
 *   plane 2    0 0 0
 *   plane 3    0 0 0
 *
 * An increment of the random counters of a word changes about 1 + log2(set bits of the word)
 * planes.
 *
 * A counter that reaches its largest value stops. Its true count may then be larger, so the counter
 * is not decremented any more and its bit stays set. The filter has all bits of all its elements.
 * As long as no counter has stopped, the filter has no other bits.
 *
 * Width: 4 bits are enough if few elements share a position. For n elements and d = m/n ln 2
 * hashes, the probability that any of m counters exceeds 15 is below 1.4 m / 10^15 (Fan et al.).
 * Thousands of messages of a host may share a position, so the counters of a host
 * have 32 bits.
 *
 * The struct also has the filter itself, which is up to date after each change of the counters.
 */
#pragma once

#include <stdint.h>

#include "core/base/alloc.h"

struct counting {
    const struct alloc *alloc;
    uint32_t m;
    uint32_t width;   /* bits of a counter: 2, 4, 8, 16 or 32 */
    uint64_t *planes; /* owned: for each word of the filter, `width` planes */
    uint64_t *filter; /* owned, bloom_words(m) */
};

/*
 * Makes an empty filter of m >= 1 bits with counters of `width` bits. `alloc` is borrowed. Returns
 * 0 or -ERR_NOMEM.
 */
int counting_init(struct counting *counting, const struct alloc *alloc, uint32_t m, uint32_t width);
void counting_deinit(struct counting *counting); /* a zeroed struct is fine */

/*
 * Adds or removes a filter of m bits: increments or decrements the counters of its set bits. Only a
 * filter that was added may be removed. A counter of 0 stays 0. O(m / 64 * width).
 */
void counting_add(struct counting *counting, const uint64_t *filter);
void counting_remove(struct counting *counting, const uint64_t *filter);

/*
 * Returns the OR of all filters that were added and not removed, and of the bits of stopped
 * counters. The array is borrowed. Adding or removing a filter may change the array.
 */
const uint64_t *counting_filter(const struct counting *counting);

/* --- summary ---------------------------------------------------------------------------------- */

/*
 * The union of a changing set of filters, their number, and their smallest and largest
 * cardinality (number of set bits). Adding or removing a filter updates the summary, and does not
 * read the other filters.
 *
 * A summary is a counting filter with counters of 32 bits and a histogram of cardinalities. For
 * filters of m bits it takes a little more than 8 m bytes.
 */

struct summary {
    struct counting counting;
    uint32_t *histogram; /* owned; entry c: how many filters have cardinality c, 0 .. m */
    uint64_t count;      /* filters, below 2^32 */
};

/*
 * Makes an empty summary for filters of m >= 1 bits. `alloc` is borrowed. Returns 0 or -ERR_NOMEM.
 */
int summary_init(struct summary *summary, const struct alloc *alloc, uint32_t m);
void summary_deinit(struct summary *summary); /* a zeroed struct is fine */

/* Adds a filter, or removes a filter that was added. A filter has m bits. O(m / 64 + set bits). */
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
