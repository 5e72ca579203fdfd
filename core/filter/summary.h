/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary: the union of a changing set of filters, their number, and their smallest and largest
 * cardinality (number of set bits). Adding or removing a filter updates the summary, and does not
 * read the other filters.
 *
 * A summary is a counting filter with counters of 32 bits and a histogram of cardinalities. For
 * filters of m bits it takes a little more than 8 m bytes.
 */
#ifndef CORE_FILTER_SUMMARY_H
#define CORE_FILTER_SUMMARY_H

#include "core/filter/counting.h"

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

/* Returns the bytes of memory that the summary holds. */
size_t summary_bytes(const struct summary *summary);

#endif
