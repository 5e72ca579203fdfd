/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counting: a counting Bloom filter. It has a counter for each bit, so that an element can be
 * removed again. Fan, Cao, Almeida, Broder, "Summary Cache", IEEE/ACM ToN 8 (3), 2000.
 *
 * The counters lie side by side in words, 64 / width of them in each word:
 *
 *   word w  | counter 64/width * w | ... | counter 64/width * (w + 1) - 1 |
 *             low bits                                          high bits
 *
 * A counter that reaches its largest value stops: it is never decremented again, because its true
 * count is not known any more, and its bit stays set. So the filter never lacks a bit of an element
 * that is in it. As long as no counter has stopped, the filter has no bit too many either.
 *
 * Width: 4 bits are enough where few elements share a position (Fan et al.: with d = m/n ln 2 a
 * counter of 15 is expected less than once in 10^15 m). Thousands of a host's messages share a
 * position, so a host takes 32 bits, which never stop.
 *
 * The struct also holds the filter itself, always up to date.
 */
#ifndef CORE_FILTER_COUNTING_H
#define CORE_FILTER_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/alloc.h"

struct counting {
    const struct alloc *alloc;
    uint32_t m;
    uint32_t width;     /* bits of a counter: 2, 4, 8, 16 or 32 */
    uint64_t *counters; /* owned */
    uint64_t *filter;   /* owned, bloom_words(m) */
};

/* Makes an empty filter of m >= 1 bits. `alloc` is borrowed. 0 or -ERR_NOMEM. */
int counting_init(struct counting *counting, const struct alloc *alloc, uint32_t m, uint32_t width);
void counting_deinit(struct counting *counting); /* a zeroed struct is fine */

/*
 * Adds or removes a filter of m bits: increments or decrements the counters of its set bits. Remove
 * only filters that were added; a counter of 0 stays 0. O(m / 64 + set bits).
 */
void counting_add(struct counting *counting, const uint64_t *filter);
void counting_remove(struct counting *counting, const uint64_t *filter);

/* The OR of all filters in it, and the bits of stopped counters. Borrowed. */
const uint64_t *counting_filter(const struct counting *counting);

/* The counter of a position below m, and the value at which counters stop. */
uint32_t counting_value(const struct counting *counting, uint32_t position);
uint32_t counting_ceiling(const struct counting *counting);

/* Bytes of memory that it holds. */
size_t counting_bytes(const struct counting *counting);

#endif
