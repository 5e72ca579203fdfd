/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block: comparing the overlaps of a block of filters with what the k best ask for. The inner loop
 * of every engine's sweep, and therefore here, to be inlined.
 */
#ifndef CORE_BLOCK_H
#define CORE_BLOCK_H

#include "core/bits.h"
#include "core/index_engine.h"

/*
 * By how much, in quarters of a bit, each message of a block exceeds the overlap that the floor
 * asks for; what is negative cannot pass, what is not is checked exactly afterwards. Returns a
 * negative number if all are: the sign bit of an "and" is set where all signs are. No branch and
 * 16 bits throughout, so that compilers do all lanes at once: with a filter of at most 4096 bits
 * the sum of two cardinalities is at most 2^13, four times that 2^15, the floor at most 2^15.
 */
static inline int16_t block_excess(const uint32_t *restrict overlaps,
                                   const uint16_t *restrict cardinalities,
                                   uint32_t query_cardinality, uint16_t floor,
                                   int16_t *restrict out_excess)
{
    uint16_t base = (uint16_t)query_cardinality;
    uint16_t reached[BITS_BLOCK];
    int16_t all = -1;

    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        reached[lane] = (uint16_t)(overlaps[lane] * 4);
    }
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        uint16_t sum = (uint16_t)((cardinalities[lane] + base) * 4);
        uint16_t needed = (uint16_t)(((uint32_t)sum * floor) >> INDEX_FLOOR_SHIFT);

        out_excess[lane] = (int16_t)(reached[lane] - needed);
    }
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        all = (int16_t)(all & out_excess[lane]);
    }
    return all;
}

#endif
