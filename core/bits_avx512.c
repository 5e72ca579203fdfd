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
static void avx512_overlaps(const uint64_t *query, const uint64_t *block, size_t words,
                            uint32_t *out)
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
    _mm256_storeu_si256((void *)out, _mm512_cvtepi64_epi32(_mm512_add_epi64(even, odd)));
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
};
