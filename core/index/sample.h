/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample: the overlaps of up to SAMPLE_MESSAGES messages with a query, so that the most similar
 * messages can be offered first. Offered in random order, k (1 + ln(n / k)) of n messages enter the
 * k best, and most of these leave again (n = 512, k = 10: 49 messages). Offered best first, little
 * more than k do.
 *
 * Floors are those of index_probe_floor. They are compared in quarters of a bit, rounded down: a
 * message that does not reach a floor here is certainly below it, another one must be checked.
 */
#ifndef CORE_INDEX_SAMPLE_H
#define CORE_INDEX_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/bits/bits.h"
#include "core/index/nearest.h"

enum { SAMPLE_BLOCKS = 64, SAMPLE_MESSAGES = SAMPLE_BLOCKS * BITS_BLOCK };

/* Whether a sample of `count` messages pays: few of them can be among the k best. */
static inline bool sample_pays(const struct nearest *nearest, size_t count)
{
    enum { MESSAGES_A_BEST = 4 };

    return !nearest_is_full(nearest) && count / MESSAGES_A_BEST > nearest->k;
}

struct sample {
    int16_t overlaps[SAMPLE_MESSAGES]; /* quarters of a bit; negative: not, or no more, in here */
    uint16_t sums[SAMPLE_MESSAGES];    /* of both cardinalities, quarters of a bit, up to 2^15 */
    uint8_t reaching[SAMPLE_MESSAGES]; /* 1: the message reaches the floor of sample_mark */
};

/*
 * Fills a sample, in any memory, block by block. sample_put adds block number `block`: 0, 1, ...,
 * at most SAMPLE_BLOCKS - 1. `base` is the cardinality of the query. The block has BITS_BLOCK
 * overlaps with the query and BITS_BLOCK cardinalities. Bit i of `lanes` says whether filter i
 * counts. After the last block call sample_end with the number of blocks.
 */
void sample_put(struct sample *sample, size_t block, uint32_t base, const uint32_t *overlaps,
                const uint16_t *cardinalities, uint32_t lanes);
void sample_end(struct sample *sample, size_t block_count);

/* A floor of at least `least` that `wanted` messages or somewhat more reach; `least`, if fewer
 * messages reach it. */
uint16_t sample_floor(const struct sample *sample, uint16_t least, size_t wanted);

/* Marks the messages that reach the floor, for sample_next. */
void sample_mark(struct sample *sample, uint16_t floor);

/*
 * The first block from `block` on with marked messages; SAMPLE_BLOCKS without any. `out` gets the
 * overlaps of the block, *out_lanes a bit for each marked message. These leave the sample.
 */
size_t sample_next(struct sample *sample, size_t block, uint32_t *out, uint32_t *out_lanes);

#endif
