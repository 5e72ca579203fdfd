/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decaying: a time-decaying Bloom filter. A bit stays set for a number of rounds. Afterwards the
 * bit is cleared, unless it was set again in the meantime. Cheng, Xiang, Iwaihara, Xu, Mohania,
 * "Time-Decaying Bloom Filters for Data Streams with Skewed Distributions", RIDE 2005.
 *
 * Each bit has a counter of one byte. decaying_add sets the counters of a filter's bits to
 * `rounds`. decaying_advance begins a new round and decrements all counters that are not 0. So a
 * bit is set if, and only if, it was added in one of the last `rounds` rounds, including the
 * current round.
 */
#pragma once

#include <stdint.h>

#include "core/base/alloc.h"

enum { DECAYING_ROUNDS_MAX = 255 };

struct decaying {
    const struct alloc *alloc;
    uint32_t m;
    uint32_t rounds;   /* 1 .. DECAYING_ROUNDS_MAX */
    uint8_t *counters; /* owned, m of them, 0 .. rounds */
};

/*
 * Makes an empty filter of m >= 1 bits. `rounds` is 1 .. DECAYING_ROUNDS_MAX. `alloc` is borrowed.
 * Returns 0 or -ERR_NOMEM.
 */
int decaying_init(struct decaying *decaying, const struct alloc *alloc, uint32_t m,
                  uint32_t rounds);
void decaying_deinit(struct decaying *decaying); /* a zeroed struct is fine */

/* Begins a new round. Clears the bits that were last added `rounds` rounds ago. O(m). */
void decaying_advance(struct decaying *decaying);

/* Adds a filter of m bits to the current round. O(m). */
void decaying_add(struct decaying *decaying, const uint64_t *filter);

/* Writes the filter of the bits that were added within the last `rounds` rounds: bloom_words(m)
 * words. O(m). */
void decaying_filter(const struct decaying *decaying, uint64_t *out_filter);
