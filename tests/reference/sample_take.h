/* SPDX-License-Identifier: Apache-2.0 */
/* A sample of messages whose blocks follow one another. */
#pragma once

#include "core/index/sample.h"

/*
 * Fills a sample with the first `count` messages of `blocks`, at most SAMPLE_MESSAGES. `scan`
 * describes the query; scan->floor is not read.
 */
static inline void sample_take(struct sample *sample, const struct bits_kernels *kernels,
                               const struct bits_scan *scan, const uint64_t *blocks,
                               const uint16_t *cardinalities, size_t count)
{
    size_t block = 0;

    sample_begin(sample, kernels, scan);
    for (size_t first = 0; first < count; first += BITS_BLOCK) {
        size_t left = count - first;
        uint32_t overlaps[BITS_BLOCK];

        kernels->overlaps(scan->query, blocks + first * scan->words, scan->words, overlaps);
        sample_put(sample, block++, overlaps, cardinalities + first,
                   left < BITS_BLOCK ? (1u << left) - 1 : (1u << BITS_BLOCK) - 1);
    }
    sample_end(sample, block);
}
