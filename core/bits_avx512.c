/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512 with VPOPCNTDQ: a block's word is one register, a lane a filter. This file is compiled
 * with -mavx512f -mavx512vpopcntdq: nothing in it may run before cpu_has_avx512().
 */
#include "core/bits_tables.h"

#include <immintrin.h>

static uint32_t avx512_cardinality(const uint64_t *filter, size_t words)
{
    uint64_t count = 0;

    for (size_t w = 0; w < words; w++) {
        count += (uint64_t)_mm_popcnt_u64(filter[w]);
    }
    return (uint32_t)count;
}

static __m512i overlap_counts(uint64_t query_word, const uint64_t *filters)
{
    __m512i both = _mm512_and_si512(_mm512_set1_epi64((long long)query_word),
                                    _mm512_loadu_si512((const void *)filters));

    return _mm512_popcnt_epi64(both);
}

/* Four words a turn: filters of 256 bits and more come in such. */
static __m256i block_overlaps(const uint64_t *query, const uint64_t *block, size_t words)
{
    __m512i even = _mm512_setzero_si512();
    __m512i odd = _mm512_setzero_si512();

    for (; words >= 4; words -= 4) {
        even = _mm512_add_epi64(even, overlap_counts(query[0], block));
        odd = _mm512_add_epi64(odd, overlap_counts(query[1], block + BITS_BLOCK));
        even = _mm512_add_epi64(even, overlap_counts(query[2], block + 2 * BITS_BLOCK));
        odd = _mm512_add_epi64(odd, overlap_counts(query[3], block + 3 * BITS_BLOCK));
        query += 4;
        block += 4 * BITS_BLOCK;
    }
    for (; words > 0; words--) {
        even = _mm512_add_epi64(even, overlap_counts(*query++, block));
        block += BITS_BLOCK;
    }
    return _mm512_cvtepi64_epi32(_mm512_add_epi64(even, odd));
}

static void avx512_overlaps(const uint64_t *query, const uint64_t *block, size_t words,
                            uint32_t *out)
{
    _mm256_storeu_si256((void *)out, block_overlaps(query, block, words));
}

/* Which lanes reach the floor: a bit for each, set where it does. */
static uint32_t reaching(__m256i overlaps, const uint16_t *cardinalities, __m256i base,
                         __m256i floor)
{
    __m256i sums =
        _mm256_add_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)cardinalities)), base);
    __m256i needed = _mm256_mullo_epi32(sums, floor);
    __m256i below = _mm256_cmpgt_epi32(needed, _mm256_slli_epi32(overlaps, BITS_FLOOR_SHIFT));

    return ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(below)) & 0xff;
}

static size_t avx512_scan(const struct bits_scan *scan, const uint64_t *blocks,
                          const uint16_t *cardinalities, size_t block_count, uint32_t *out,
                          uint32_t *out_lanes)
{
    const __m256i base = _mm256_set1_epi32((int)scan->base);
    const __m256i floor = _mm256_set1_epi32((int)scan->floor);

    for (size_t block = 0; block < block_count; block++) {
        __m256i overlaps = block_overlaps(scan->query, blocks, scan->words);
        uint32_t lanes = reaching(overlaps, cardinalities, base, floor);

        if (lanes != 0) {
            _mm256_storeu_si256((void *)out, overlaps);
            *out_lanes = lanes;
            return block;
        }
        blocks += BITS_BLOCK * scan->words;
        cardinalities += BITS_BLOCK;
    }
    return block_count;
}

/* ---- columns: one is one register ---- */

typedef __m512i vec;
enum { VEC_WORDS = 8, TRUTH_SUM = 0x96, TRUTH_CARRY = 0xe8 };

static inline vec vec_zero(void)
{
    return _mm512_setzero_si512();
}

static inline vec vec_load(const uint64_t *words)
{
    return _mm512_loadu_si512((const void *)words);
}

static inline void vec_store(uint64_t *words, vec x)
{
    _mm512_storeu_si512((void *)words, x);
}

static inline vec vec_xor(vec a, vec b)
{
    return _mm512_xor_si512(a, b);
}

static inline vec vec_and(vec a, vec b)
{
    return _mm512_and_si512(a, b);
}

static inline vec vec_sum(vec a, vec b, vec c)
{
    return _mm512_ternarylogic_epi64(a, b, c, TRUTH_SUM);
}

static inline vec vec_carry(vec a, vec b, vec c)
{
    return _mm512_ternarylogic_epi64(a, b, c, TRUTH_CARRY);
}

#include "core/bits_columns.h"

const struct bits_kernels bits_avx512 = {
    .name = "avx512",
    .cardinality = avx512_cardinality,
    .overlaps = avx512_overlaps,
    .count_columns = count_columns,
    .block_columns = 8,
    .scan = avx512_scan,
};
