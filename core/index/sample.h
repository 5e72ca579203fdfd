/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample: the overlaps of up to SAMPLE_MESSAGES messages with a query, so that the most similar
 * messages can be offered first. If n messages are offered in random order, about k (1 + ln(n / k))
 * of them enter the k best, and all but k of these leave again (n = 512, k = 10: 49 messages
 * enter). If the best are offered first, fewer messages enter.
 *
 * Floors are those of index_probe_floor. They are compared in quarters of a bit, rounded down. So a
 * message that does not reach a floor here is certainly below it; another message still has to be
 * checked.
 */
#pragma once

#include "core/bits/bits.h"
#include "core/index/nearest.h"

enum { SAMPLE_BLOCKS = 64, SAMPLE_MESSAGES = SAMPLE_BLOCKS * BITS_BLOCK };

/*
 * Returns whether a search should offer `count` messages through a sample. This is so if fewer than
 * k candidates are known and `count` is more than about four times k.
 */
static inline bool sample_pays(const struct nearest *nearest, size_t count)
{
    enum { MESSAGES_A_BEST = 4 };

    return !nearest_is_full(nearest) && count / MESSAGES_A_BEST > nearest->k;
}

struct sample {
    const struct bits_kernels *kernels;
    const struct bits_scan *scan;
    /* In quarters of a bit; negative: the message does not count. By phi: half of the highest floor
     * that the message may have. */
    int16_t overlaps[SAMPLE_MESSAGES];
    /* for each message, the sum of the cardinalities of the message and the query, in quarters of a
     * bit; at most 2^15. By phi: 2^15 */
    uint16_t sums[SAMPLE_MESSAGES];
    uint16_t shared[SAMPLE_MESSAGES];  /* the overlaps, in bits */
    uint8_t reaching[SAMPLE_MESSAGES]; /* 1: the message reaches the floor of sample_mark */
};

/*
 * sample_begin begins a sample, which may be uninitialised. `scan` describes the query, but for its
 * floor, and how the messages are tested. The sample borrows both pointers.
 *
 * sample_put adds block number `block` to a sample: 0, 1, ..., at most SAMPLE_BLOCKS - 1.
 * `overlaps` are the overlaps of the block's filters with the query, and `cardinalities` their
 * cardinalities (as for `scan`): BITS_BLOCK numbers each. Bit i of `lanes` says whether filter i
 * counts. After the last block, call sample_end with the number of blocks.
 */
void sample_begin(struct sample *sample, const struct bits_kernels *kernels,
                  const struct bits_scan *scan);
void sample_put(struct sample *sample, size_t block, const uint32_t *overlaps,
                const uint16_t *cardinalities, uint32_t lanes);
void sample_end(struct sample *sample, size_t block_count);

/*
 * Returns a floor, at least `least`, that at least `wanted` messages of the sample reach, and few
 * more if there is such a floor. Returns `least` if fewer than `wanted` messages reach `least`.
 */
uint16_t sample_floor(const struct sample *sample, uint16_t least, size_t wanted);

/* Marks the messages that reach the floor, for sample_next. */
void sample_mark(struct sample *sample, uint16_t floor);

/*
 * Finds the first block, from the block number `block` on, that has marked messages. Returns the
 * number of this block, or SAMPLE_BLOCKS if there is none. Writes the overlaps of the marked
 * messages to `out`, by lane, and a bit for each marked message to *out_lanes. These messages do
 * not count any more when sample_mark or sample_floor is called again.
 */
size_t sample_next(struct sample *sample, size_t block, uint32_t *out, uint32_t *out_lanes);
