/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample: the overlaps of many messages with a query, to find the most promising before any is
 * offered. Who offers messages as they come takes k (1 + ln(n / k)) of n into the k best, to throw
 * most of them out again; who offers the best first takes little more than k.
 *
 * A floor is what index_probe_floor gives. Here it is compared in quarters of a bit, rounded down:
 * a message that does not reach a floor is certainly below it, others are to be checked.
 */
#ifndef CORE_INDEX_SAMPLE_H
#define CORE_INDEX_SAMPLE_H

#include "core/bits/bits.h"
#include "core/index/nearest.h"

#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_BLOCKS = 64, SAMPLE_MESSAGES = SAMPLE_BLOCKS * BITS_BLOCK };

/* Whether so few of `count` messages can be among the k best that it pays to find them first. */
static inline bool sample_pays(const struct nearest *nearest, size_t count)
{
    enum { MESSAGES_A_BEST = 4 };

    return !nearest_is_full(nearest) && count / MESSAGES_A_BEST > nearest->k;
}

struct sample {
    int16_t overlaps[SAMPLE_MESSAGES]; /* quarters of a bit; negative: not, or no more, in it */
    uint16_t sums[SAMPLE_MESSAGES];    /* of both cardinalities, quarters of a bit, up to 2^15 */
    uint8_t reaching[SAMPLE_MESSAGES]; /* 1 for those that reach the floor last asked for */
};

/*
 * Fills it with `count` messages (up to SAMPLE_MESSAGES) of the blocks from `blocks` on, whose
 * cardinalities are given. scan->floor does not matter.
 */
void sample_take(struct sample *sample, const struct bits_kernels *kernels,
                 const struct bits_scan *scan, const uint64_t *blocks,
                 const uint16_t *cardinalities, size_t count);

/*
 * The same block by block, which may lie anywhere: block number `block` (0 .. SAMPLE_BLOCKS - 1)
 * has these overlaps with the query and these cardinalities, BITS_BLOCK of each; only filters in
 * `lanes`, bit i for lane i, count. After the last one sample_end, with how many blocks there are.
 */
void sample_put(struct sample *sample, size_t block, const struct bits_scan *scan,
                const uint32_t *overlaps, const uint16_t *cardinalities, uint32_t lanes);
void sample_end(struct sample *sample, size_t block_count);

/*
 * A floor, at least `least`, that `wanted` or somewhat more of the messages reach; or `least`, if
 * that many do not reach it.
 */
uint16_t sample_floor(const struct sample *sample, uint16_t least, size_t wanted);

/* Marks the messages that reach the floor, for sample_next. */
void sample_mark(struct sample *sample, uint16_t floor);

/*
 * The first block from `block` on with messages that are marked, its overlaps in `out` and a bit
 * for each of them in *out_lanes; SAMPLE_BLOCKS when there is none. They leave the sample.
 */
size_t sample_next(struct sample *sample, size_t block, uint32_t *out, uint32_t *out_lanes);

#endif
