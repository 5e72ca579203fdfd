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

static void avx512_overlaps(const uint64_t *query, const uint64_t *block, size_t words,
                            uint32_t *out)
{
    __m512i sum = _mm512_setzero_si512();

    for (size_t w = 0; w < words; w++) {
        __m512i word = _mm512_set1_epi64((long long)query[w]);
        __m512i filters = _mm512_loadu_si512((const void *)(block + w * BITS_BLOCK));

        sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_and_si512(word, filters)));
    }
    _mm256_storeu_si256((void *)out, _mm512_cvtepi64_epi32(sum));
}

const struct bits_kernels bits_avx512 = {
    .name = "avx512",
    .cardinality = avx512_cardinality,
    .overlaps = avx512_overlaps,
};
