/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary: what a set of filters has in common: their union, their number, and the range of their
 * cardinalities. It is right after each added or removed filter, without a look at the others.
 *
 * It is a counting filter of 32 bits and a histogram of cardinalities, 8 m bytes and a few.
 */
#ifndef CORE_FILTER_SUMMARY_H
#define CORE_FILTER_SUMMARY_H

#include "core/filter/counting.h"

struct summary {
    struct counting counting;
    uint32_t *histogram; /* owned; entry c: how many filters have cardinality c, 0 .. m */
    uint64_t count;      /* filters, below 2^32 */
};

/* Makes an empty summary for filters of m >= 1 bits. `alloc` is borrowed. 0 or -ERR_NOMEM. */
int summary_init(struct summary *summary, const struct alloc *alloc, uint32_t m);
void summary_deinit(struct summary *summary); /* a zeroed struct is fine */

/* Adds a filter; removes a filter that was added. O(m / 64 + set bits). */
void summary_add(struct summary *summary, const uint64_t *filter);
void summary_remove(struct summary *summary, const uint64_t *filter);

/* The OR of all filters, m bits. Borrowed; changes with the next add or remove. */
const uint64_t *summary_union(const struct summary *summary);

/* The smallest and the largest cardinality; 0 and 0 when there are no filters. O(m). */
void summary_range(const struct summary *summary, uint32_t *out_min, uint32_t *out_max);

/* Bytes of memory that it holds. */
size_t summary_bytes(const struct summary *summary);

#endif
