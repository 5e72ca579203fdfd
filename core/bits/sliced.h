/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sliced: up to BITS_LANES numbers in bit-sliced form: bit i of word w of plane p is bit p of
 * number 64 w + i. count_columns of bits.h writes this form. This header also has functions for
 * masks. A mask is a set of lanes, with one bit for each lane.
 */
#pragma once

#include "core/bits/bits.h"

/* One number for each lane, in bit-sliced form. */
struct sliced {
    size_t plane_count;
    size_t lane_words; /* words of each plane that are in use */
    uint64_t planes[BITS_PLANES_MAX * BITS_LANE_WORDS];
};

/*
 * Returns the largest number among the lanes of a mask, and writes the first lane with this number
 * to *out_lane. The mask has at least one lane, and only lanes of the words in use
 * (sliced.lane_words).
 */
uint32_t sliced_largest(const struct bits_kernels *kernels, const struct sliced *sliced,
                        const uint64_t *mask, uint32_t *out_lane);

/* The number of lanes in a mask. */
uint32_t sliced_count(const uint64_t *mask);

/*
 * Adds the numbers in `planes` to the numbers in *sliced, lane by lane. `planes` has plane_count
 * planes, each with BITS_LANE_WORDS valid words. The sums must be below 2^BITS_PLANES_MAX.
 */
void sliced_add(struct sliced *sliced, const uint64_t *planes, size_t plane_count);

/* The number of one lane. */
uint32_t sliced_number(const uint64_t *planes, size_t plane_count, uint32_t lane);

/* Sets, clears or tests bit `lane` of column `position`. */
void sliced_set(uint64_t *columns, uint32_t position, uint32_t lane);
void sliced_clear(uint64_t *columns, uint32_t position, uint32_t lane);
bool sliced_test(const uint64_t *columns, uint32_t position, uint32_t lane);

/* Returns the position of the lowest set bit of a word. The word is not zero. */
static inline uint32_t sliced_lowest(uint64_t word)
{
#if defined(__GNUC__)
    return (uint32_t)__builtin_ctzll(word);
#else
    uint32_t bit = 0;

    for (; (word & 1) == 0; word >>= 1) {
        bit++;
    }
    return bit;
#endif
}

/*
 * Writes the positions of a filter's set bits, ascending, at most 64 * words positions. Returns how
 * many positions there are.
 */
size_t sliced_positions(const uint64_t *filter, size_t words, uint16_t *out);

/* Writes a mask of the lanes 0 .. count - 1. */
void sliced_first(uint32_t count, uint64_t *out_mask);
