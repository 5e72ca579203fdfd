/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain C kernels: the reference for every other table. A processor for which there is no other
 * table runs these kernels.
 */
#include "core/bits/tables.h"

#include <string.h>

#include "core/base/popcount.h"

/*
 * Each byte of a word counts set bits. A word of a filter adds at most 8 to a byte. 31 words add at
 * most 248, which still fits into a byte.
 */
enum { WORDS_PER_RUN = 31 };

typedef uint64_t vec;
enum { VEC_WORDS = 1 };

static uint32_t cardinality(const uint64_t *filter, size_t words)
{
    uint32_t count = 0;

    for (size_t w = 0; w < words; w++) {
        count += popcount_word(filter[w]);
    }
    return count;
}

/* Returns the sum of the 8 bytes of a word. Each byte is at most 248. */
static uint32_t sum_bytes(uint64_t bytes)
{
    uint64_t pairs =
        (bytes & UINT64_C(0x00ff00ff00ff00ff)) + ((bytes >> 8) & UINT64_C(0x00ff00ff00ff00ff));

    return (uint32_t)((pairs * UINT64_C(0x0001000100010001)) >> 48);
}

typedef struct {
    uint32_t lanes[BITS_BLOCK];
} lane_counts;

/* No lane depends on another lane in the inner loop, so that compilers can vectorise the loop. */
static inline void add_run(const uint64_t *restrict query, const uint64_t *restrict block,
                           size_t words, uint32_t *restrict out)
{
    uint64_t bytes[BITS_BLOCK] = {0};

    for (size_t w = 0; w < words; w++) {
        for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
            bytes[lane] += popcount_bytes(query[w] & block[w * BITS_BLOCK + lane]);
        }
    }
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        out[lane] += sum_bytes(bytes[lane]);
    }
}

/* This function is not inlined, because gcc 12 vectorises it worse inside the loop of a scan: the
 * scan takes 13 % longer. */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static lane_counts
block_overlaps(const uint64_t *query, const uint64_t *block, size_t words)
{
    lane_counts counts = {{0}};

    while (words > 0) {
        size_t run = words < WORDS_PER_RUN ? words : WORDS_PER_RUN;

        add_run(query, block, run, counts.lanes);
        query += run;
        block += run * BITS_BLOCK;
        words -= run;
    }
    return counts;
}

static inline void store_counts(uint32_t *out, lane_counts counts)
{
    memcpy(out, counts.lanes, sizeof(counts.lanes));
}

static inline lane_counts add_to_counts(lane_counts counts, uint32_t number)
{
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        counts.lanes[lane] += number;
    }
    return counts;
}

/* The loops have no branches, so that compilers can handle several lanes at once. */
static inline uint32_t reaching(lane_counts counts, const uint16_t *cardinalities,
                                const struct bits_scan *scan)
{
    uint32_t below[BITS_BLOCK];
    uint32_t lanes = 0;

    /* The shifted count and `needed` are both at most 2^28, so the highest bit of the difference
     * says whether the difference is negative. */
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        uint32_t needed = (cardinalities[lane] + scan->base) * scan->floor;

        below[lane] = ((counts.lanes[lane] << BITS_FLOOR_SHIFT) - needed) >> 31;
    }
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        lanes |= (below[lane] ^ 1) << lane;
    }
    return lanes;
}

static inline bool all_below(lane_counts counts, uint32_t least)
{
    uint32_t most = 0;

    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        most = counts.lanes[lane] > most ? counts.lanes[lane] : most;
    }
    return most < least;
}

static inline uint32_t reaching_phi(lane_counts counts, const uint16_t *cardinalities,
                                    const struct phi_test *test)
{
    const struct bits_phi *phi = test->phi;
    int32_t shared[BITS_BLOCK];
    int32_t spread[BITS_BLOCK];
    uint32_t lanes = 0;

    phi_sums(phi, counts.lanes, cardinalities, test->stride, shared, spread);
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        int32_t x = shared[lane] > 0 ? shared[lane] >> phi->shift : 0;
        int32_t v = spread[lane] > 0 ? spread[lane] >> phi->shift : 0;
        int32_t needed = v * (int32_t)test->least.factor >> test->least.down;

        lanes |= (uint32_t)(x * x >= needed && counts.lanes[lane] >= test->least.overlap) << lane;
    }
    return lanes;
}

static inline uint32_t zero_lanes(const vec *words)
{
    uint32_t lanes = 0;

    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        lanes |= (uint32_t)(words[lane] == 0) << lane;
    }
    return lanes;
}

#include "core/bits/rows.h"

/* --- columns: a word is a vector -------------------------------------------------------------- */

static inline vec vec_sum(vec a, vec b, vec c)
{
    return a ^ b ^ c;
}

static inline vec vec_carry(vec a, vec b, vec c)
{
    return (a & b) | ((a ^ b) & c);
}

static inline vec vec_if_zero(vec a)
{
    return (vec)0 - (a == 0);
}

#include "core/bits/columns.h"

/*
 * Each step handles four bits without a branch. It writes four numbers, but `count` grows only by
 * the number of set bits, so that the next step overwrites the other numbers. All steps write
 * within the 64 * words numbers of `out`, because `count` grows by at most 4 in each step.
 */
size_t bits_positions(const uint64_t *filter, size_t words, uint16_t *out)
{
    static const uint16_t places[16][4] = {
        {0}, {0},    {1},    {0, 1},    {2},    {0, 2},    {1, 2},    {0, 1, 2},
        {3}, {0, 3}, {1, 3}, {0, 1, 3}, {2, 3}, {0, 2, 3}, {1, 2, 3}, {0, 1, 2, 3},
    };
    static const uint8_t counts[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    size_t count = 0;

    for (size_t w = 0; w < words; w++) {
        uint64_t word = filter[w];

        for (unsigned shift = 0; shift < 64; shift += 4) {
            size_t nibble = word >> shift & 15;
            uint16_t first = (uint16_t)(w * 64 + shift);

            for (size_t i = 0; i < 4; i++) {
                out[count + i] = (uint16_t)(first + places[nibble][i]);
            }
            count += counts[nibble];
        }
    }
    return count;
}

/* --- a number for each lane ------------------------------------------------------------------- */

/* Turns eight bits into eight bytes: byte i of the result is bit i of `eight`, 0 or 1. */
static inline uint64_t bits_to_bytes(uint64_t eight)
{
    uint64_t kept = eight * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);

    return (kept + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_C(0x0101010101010101);
}

static void spread(const uint64_t *planes, size_t plane_count, size_t lane_words, uint8_t *out)
{
    for (size_t eighth = 0; eighth < lane_words * 8; eighth++) {
        uint64_t numbers = 0;

        for (size_t p = 0; p < plane_count; p++) {
            uint64_t word = planes[p * BITS_LANE_WORDS + eighth / 8];

            numbers |= bits_to_bytes(word >> eighth % 8 * 8 & 0xff) << p;
        }
        for (size_t lane = 0; lane < 8; lane++) {
            out[eighth * 8 + lane] = (uint8_t)(numbers >> lane * 8);
        }
    }
}

static inline uint32_t at_least(const uint16_t *numbers, uint16_t least)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < BITS_STRIDE; i++) {
        found |= (uint32_t)(numbers[i] >= least) << i;
    }
    return found;
}

#define BITS_LANES_DIVIDE 1
#include "core/bits/lanes.h"

const struct bits_kernels bits_scalar = {
    BITS_SHARED_KERNELS,
    .name = "scalar",
    .positions = bits_positions,
    .block_columns = 16,
};
