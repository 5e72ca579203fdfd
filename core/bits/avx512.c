/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AVX-512 kernels, with BW, VBMI2 and VPOPCNTDQ. In block_overlaps a register has one word of
 * each of the 8 filters of a block: lane i belongs to filter i. This file is compiled with the
 * flags for these instructions (core/meson.build). Its code may run only if cpu_has_avx512()
 * returns true.
 */
#include "core/bits/x86.h"

typedef uint64_t vec __attribute__((vector_size(64)));
enum { VEC_WORDS = 8, TRUTH_SUM = 0x96, TRUTH_CARRY = 0xe8 };

static inline __m512i overlap_counts(uint64_t query_word, const uint64_t *filters)
{
    __m512i both = _mm512_and_si512(_mm512_set1_epi64((long long)query_word),
                                    _mm512_loadu_si512((const void *)filters));

    return _mm512_popcnt_epi64(both);
}

/* Each step of the first loop handles four words. */
static inline lane_counts block_overlaps(const uint64_t *query, const uint64_t *block, size_t words)
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

static inline uint32_t zero_lanes(const vec *words)
{
    return _mm512_testn_epi64_mask((__m512i)*words, (__m512i)*words);
}

#include "core/bits/rows.h"

/* --- columns: one is one register ------------------------------------------------------------- */

static inline vec vec_sum(vec a, vec b, vec c)
{
    return (vec)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)c, TRUTH_SUM);
}

static inline vec vec_carry(vec a, vec b, vec c)
{
    return (vec)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)c, TRUTH_CARRY);
}

static inline vec vec_if_zero(vec a)
{
    return (vec)(a == 0);
}

#include "core/bits/columns.h"

/*
 * Each step handles 32 bits and stores 32 numbers. `count` grows only by the number of set bits, so
 * that the next step overwrites the other numbers. The last step writes within the 64 * words
 * numbers of `out`, because `count` grows by at most 32 in each step.
 */
static size_t positions(const uint64_t *filter, size_t words, uint16_t *out)
{
    __m512i step = _mm512_set1_epi16(32);
    __m512i numbers = _mm512_cvtepi8_epi16(_mm256_set_epi8(31, 30, 29, 28, 27, 26, 25, 24, 23, 22,
                                                           21, 20, 19, 18, 17, 16, 15, 14, 13, 12,
                                                           11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    size_t count = 0;

    for (size_t w = 0; w < words; w++) {
        uint32_t low = (uint32_t)filter[w];
        uint32_t high = (uint32_t)(filter[w] >> 32);

        _mm512_storeu_si512((void *)(out + count), _mm512_maskz_compress_epi16(low, numbers));
        count += (size_t)_mm_popcnt_u32(low);
        numbers = _mm512_add_epi16(numbers, step);
        _mm512_storeu_si512((void *)(out + count), _mm512_maskz_compress_epi16(high, numbers));
        count += (size_t)_mm_popcnt_u32(high);
        numbers = _mm512_add_epi16(numbers, step);
    }
    return count;
}

/* --- a number for each lane: 64 bytes, or 32 numbers, are one register ------------------------ */

static void spread(const uint64_t *planes, size_t plane_count, size_t lane_words, uint8_t *out)
{
    for (size_t w = 0; w < lane_words; w++) {
        __m512i numbers = _mm512_setzero_si512();

        for (size_t p = 0; p < plane_count; p++) {
            numbers = _mm512_mask_add_epi8(numbers, planes[p * BITS_LANE_WORDS + w], numbers,
                                           _mm512_set1_epi8((char)(1u << p)));
        }
        _mm512_storeu_si512((void *)(out + w * 64), numbers);
    }
}

static inline uint32_t at_least(const uint16_t *numbers, uint16_t least)
{
    return _mm512_cmpge_epu16_mask(_mm512_loadu_si512((const void *)numbers),
                                   _mm512_set1_epi16((short)least));
}

#include "core/bits/lanes.h"

const struct bits_kernels bits_avx512 = {
    BITS_SHARED_KERNELS,
    .name = "avx512",
    .positions = positions,
    .block_columns = 8,
};
