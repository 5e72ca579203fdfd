/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counting: a counting Bloom filter: for each bit how often it was set, so that it can be taken out
 * again. Fan, Cao, Almeida, Broder, "Summary Cache", IEEE/ACM ToN 8 (3), 2000.
 *
 * Counters lie side by side in words, 64 / width of them in each:
 *
 *   word w  | counter 64/width * w | ... | counter 64/width * (w + 1) - 1 |
 *             low bits                                          high bits
 *
 * A counter stops at its largest value, and from then on is never decremented, since what it counts
 * is not known any more: its bit stays set for good. So the filter never lacks a bit of what is in
 * it; while no counter has stopped, it has no bit too many either. 4 bits are enough where few
 * elements share a position (Fan et al.: a counter of 15 is expected less than once in 10^15 m with
 * d = m/n ln 2); of a host's messages thousands do, so it counts in 32 bits and never stops.
 *
 * The filter itself is kept beside the counters, always up to date.
 */
#ifndef CORE_FILTER_COUNTING_H
#define CORE_FILTER_COUNTING_H

#include "core/base/alloc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counting {
    const struct alloc *alloc;
    uint32_t m;
    uint32_t width;     /* bits of a counter: 2, 4, 8, 16 or 32 */
    uint64_t *counters; /* owned */
    uint64_t *filter;   /* owned, bloom_words(m) */
};

/* An empty one of m >= 1 bits. `alloc` is borrowed. 0 or -ERR_NOMEM. */
int counting_init(struct counting *counting, const struct alloc *alloc, uint32_t m, uint32_t width);
void counting_deinit(struct counting *counting); /* a zeroed one is fine */

/*
 * Counts all bits of a filter of m bits once more, or once less. Only what was added may be
 * removed; a counter that is 0 stays so. O(m / 64 + set bits).
 */
void counting_add(struct counting *counting, const uint64_t *filter);
void counting_remove(struct counting *counting, const uint64_t *filter);

/* The bits that are counted: the OR of what is in it, and those of stopped counters. Borrowed. */
const uint64_t *counting_filter(const struct counting *counting);

/* The counter of a position below m, and the value where counters stop. */
uint32_t counting_value(const struct counting *counting, uint32_t position);
uint32_t counting_ceiling(const struct counting *counting);

/* Bytes of memory held. */
size_t counting_bytes(const struct counting *counting);

#endif
