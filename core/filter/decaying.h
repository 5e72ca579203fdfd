/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decaying: a time-decaying Bloom filter. A bit that is set stays for a number of rounds, and is
 * cleared after that unless it is set again. Cheng, Xiang, Iyengar, "Time-Decaying Bloom Filters
 * for Data Streams with Skewed Distributions", RIDE 2005. AMBIENCE's subscriber keeps its recent
 * contexts in one (Werner et al., WPNC 2015).
 *
 * Each bit has a counter of one byte. Adding a filter sets the counters of its bits to `rounds`; a
 * new round decrements all counters. So a bit is set if it was added within the last `rounds`
 * rounds, the current one included, and no bit added within them is missing.
 */
#ifndef CORE_FILTER_DECAYING_H
#define CORE_FILTER_DECAYING_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/alloc.h"

enum { DECAYING_ROUNDS_MAX = 255 };

struct decaying {
    const struct alloc *alloc;
    uint32_t m;
    uint32_t rounds;   /* 1 .. DECAYING_ROUNDS_MAX */
    uint8_t *counters; /* owned, m of them, 0 .. rounds */
};

/* Makes an empty filter of m >= 1 bits; rounds is 1 .. DECAYING_ROUNDS_MAX. `alloc` is borrowed. 0
 * or -ERR_NOMEM. */
int decaying_init(struct decaying *decaying, const struct alloc *alloc, uint32_t m,
                  uint32_t rounds);
void decaying_deinit(struct decaying *decaying); /* a zeroed struct is fine */

/* Begins a new round: bits added `rounds` rounds ago and not since are cleared. O(m). */
void decaying_advance(struct decaying *decaying);

/* Adds a filter of m bits to the current round. O(m). */
void decaying_add(struct decaying *decaying, const uint64_t *filter);

/* Writes the bits that are set now, bloom_words(m) words. O(m). */
void decaying_filter(const struct decaying *decaying, uint64_t *out_filter);

#endif
