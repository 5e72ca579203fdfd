/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of 16 bits are enough: a filter has at most 4096 bits, so the sum of two cardinalities is
 * at most 2^13; a floor (index_probe_floor) is at most 2^15. The loops of count_reaching and
 * sample_mark go over the whole sample and have no branches, so that compilers can turn them into
 * vector instructions.
 */
#include "core/index/sample.h"

#include <string.h>

enum { QUARTERS = 4, OUT = -1, FLOOR_MAX = 1 << 15, ALL_LANES = (1 << BITS_BLOCK) - 1 };

/* Writes the overlaps and sums of one block. `restrict` tells the compiler that the arrays do not
 * overlap. */
static void put_block(const uint32_t *restrict overlaps, const uint16_t *restrict cardinalities,
                      uint16_t base, int16_t *restrict out_overlaps, uint16_t *restrict out_sums)
{
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        out_overlaps[lane] = (int16_t)(uint16_t)(overlaps[lane] * QUARTERS);
    }
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        out_sums[lane] = (uint16_t)((uint16_t)(cardinalities[lane] + base) * QUARTERS);
    }
}

static void leave_out(struct sample *sample, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        sample->overlaps[i] = OUT;
        sample->sums[i] = 0;
    }
}

/* The same by phi: a message has twice the stored number as its highest floor, and 1 more for the
 * half that is rounded down. sample_needed compares to the half of a floor, rounded down, too. */
static void put_by_phi(struct sample *sample, size_t first, const uint32_t *overlaps,
                       const uint16_t *cardinalities)
{
    uint16_t floors[BITS_BLOCK];

    sample->kernels->phi_floors(sample->scan, overlaps, cardinalities, floors);
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        sample->overlaps[first + lane] = (int16_t)(floors[lane] / 2);
        sample->sums[first + lane] = FLOOR_MAX;
    }
}

void sample_begin(struct sample *sample, const struct bits_kernels *kernels,
                  const struct bits_scan *scan)
{
    sample->kernels = kernels;
    sample->scan = scan;
}

void sample_put(struct sample *sample, size_t block, const uint32_t *overlaps,
                const uint16_t *cardinalities, uint32_t lanes)
{
    size_t first = block * BITS_BLOCK;

    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        sample->shared[first + lane] = (uint16_t)overlaps[lane];
    }
    if (sample->scan->phi != NULL) {
        put_by_phi(sample, first, overlaps, cardinalities);
    } else {
        put_block(overlaps, cardinalities, (uint16_t)sample->scan->base, sample->overlaps + first,
                  sample->sums + first);
    }
    for (size_t lane = 0; lanes != ALL_LANES && lane < BITS_BLOCK; lane++) {
        if ((lanes >> lane & 1) == 0) {
            leave_out(sample, first + lane, first + lane + 1);
        }
    }
}

void sample_end(struct sample *sample, size_t block_count)
{
    leave_out(sample, block_count * BITS_BLOCK, SAMPLE_MESSAGES);
}

static inline int16_t sample_needed(uint16_t sum, uint16_t floor)
{
    uint16_t quarters = (uint16_t)(((uint32_t)sum * floor) >> BITS_FLOOR_SHIFT);

    return (int16_t)quarters;
}

static size_t count_reaching(const struct sample *sample, uint16_t floor)
{
    uint16_t count = 0;

    for (size_t i = 0; i < SAMPLE_MESSAGES; i++) {
        count = (uint16_t)(count + (sample->overlaps[i] >= sample_needed(sample->sums[i], floor)));
    }
    return count;
}

uint16_t sample_floor(const struct sample *sample, uint16_t least, size_t wanted)
{
    uint16_t below = FLOOR_MAX + 1; /* too few reach it */
    size_t most = wanted + wanted / 2;

    /*
     * Invariant: at least `wanted` messages of the sample reach the floor `least`, or `least` still
     * has the value that the caller gave.
     */
    while (below - least > 1) {
        uint16_t middle = (uint16_t)(least + (below - least) / 2);
        size_t count = count_reaching(sample, middle);

        if (count < wanted) {
            below = middle;
            continue;
        }
        least = middle;
        if (count <= most) {
            break;
        }
    }
    return least;
}

void sample_mark(struct sample *sample, uint16_t floor)
{
    for (size_t i = 0; i < SAMPLE_MESSAGES; i++) {
        sample->reaching[i] = sample->overlaps[i] >= sample_needed(sample->sums[i], floor);
    }
}

size_t sample_next(struct sample *sample, size_t block, uint32_t *out, uint32_t *out_lanes)
{
    for (; block < SAMPLE_BLOCKS; block++) {
        size_t first = block * BITS_BLOCK;
        uint64_t any;

        _Static_assert(sizeof(any) == BITS_BLOCK, "a block's marks are one word");
        memcpy(&any, &sample->reaching[first], sizeof(any));
        if (any == 0) {
            continue;
        }
        *out_lanes = 0;
        for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
            out[lane] = sample->shared[first + lane];
            *out_lanes |= (uint32_t)sample->reaching[first + lane] << lane;
            if (sample->reaching[first + lane]) {
                sample->overlaps[first + lane] = OUT;
            }
        }
        break;
    }
    return block;
}
