/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decaying: a time-decaying Bloom filter: bits that are set stay for a number of rounds, and go by
 * themselves unless they are set again. Cheng, Xiang, Iyengar, "Time-Decaying Bloom Filters for
 * Data Streams with Skewed Distributions", RIDE 2005; AMBIENCE's subscriber keeps its recent
 * contexts in one (Werner et al., WPNC 2015).
 *
 * One counter of a byte for each bit: adding sets it to the number of rounds, a round takes one
 * away. So a bit is set when it was added within the last `rounds` rounds, the current one
 * included, and nothing added within them is ever missing.
 */
#ifndef CORE_FILTER_DECAYING_H
#define CORE_FILTER_DECAYING_H

#include "core/base/alloc.h"

#include <stddef.h>
#include <stdint.h>

enum { DECAYING_ROUNDS_MAX = 255 };

struct decaying {
    const struct alloc *alloc;
    uint32_t m;
    uint32_t rounds;   /* 1 .. DECAYING_ROUNDS_MAX */
    uint8_t *counters; /* owned, m of them, 0 .. rounds */
};

/* An empty one of m >= 1 bits. `alloc` is borrowed. 0 or -ERR_NOMEM. */
int decaying_init(struct decaying *decaying, const struct alloc *alloc, uint32_t m,
                  uint32_t rounds);
void decaying_deinit(struct decaying *decaying); /* a zeroed one is fine */

/* A new round begins: what was added `rounds` rounds ago goes. O(m). */
void decaying_advance(struct decaying *decaying);

/* Adds a filter of m bits to the current round. O(m). */
void decaying_add(struct decaying *decaying, const uint64_t *filter);

/* The bits that are set now, bloom_words(m) words. O(m). */
void decaying_filter(const struct decaying *decaying, uint64_t *out_filter);

/* Another number of rounds from now on; what would have stayed for longer stays for so many. O(m).
 */
void decaying_set_rounds(struct decaying *decaying, uint32_t rounds);

/* The counters as bytes, m of them; and back: DECAYING_MALFORMED when one exceeds the rounds, and
 * nothing has changed then. */
void decaying_store(const struct decaying *decaying, uint8_t *out_bytes);
enum { DECAYING_MALFORMED = 1 };
int decaying_load(struct decaying *decaying, const uint8_t *bytes);

#endif
