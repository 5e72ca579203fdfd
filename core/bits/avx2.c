/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AVX2 kernels. The set bits of a byte are counted by two table lookups with a shuffle, one for
 * each half of the byte (Mula, Kurz, Lemire, "Faster Population Counts Using AVX2 Instructions",
 * 2018). This file is compiled with -mavx2 -mpopcnt. Its code may run only if cpu_has_avx2()
 * returns true.
 */
#include "core/bits/x86.h"

/*
 * Each byte of a vector counts set bits. A word adds at most 8 to a byte. 31 words add at most 248,
 * which still fits into a byte.
 */
enum { WORDS_PER_RUN = 31, LANES = 4 };

typedef uint64_t vec __attribute__((vector_size(32)));
enum { VEC_WORDS = LANES };

/* Returns the number of set bits of each byte. */
static inline __m256i count_bytes(__m256i x)
{
    __m256i counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1,
                                      2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    __m256i nibble = _mm256_set1_epi8(0x0f);
    __m256i low = _mm256_and_si256(x, nibble);
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble);

    return _mm256_add_epi8(_mm256_shuffle_epi8(counts, low), _mm256_shuffle_epi8(counts, high));
}

static inline __m256i overlap_bytes(__m256i query, const uint64_t *filters)
{
    return count_bytes(_mm256_and_si256(query, _mm256_loadu_si256((const void *)filters)));
}

/* Turns four 64-bit numbers below 2^32 into four 32-bit numbers. */
static inline __m128i narrow(__m256i wide)
{
    __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);

    return _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(wide, even));
}

static inline lane_counts block_overlaps(const uint64_t *query, const uint64_t *block, size_t words)
{
    __m256i zero = _mm256_setzero_si256();
    __m256i low = zero;
    __m256i high = zero;

    while (words > 0) {
        size_t run = words < WORDS_PER_RUN ? words : WORDS_PER_RUN;
        __m256i low_bytes = zero;
        __m256i high_bytes = zero;

        for (size_t w = 0; w < run; w++) {
            __m256i word = _mm256_set1_epi64x((long long)query[w]);

            low_bytes = _mm256_add_epi8(low_bytes, overlap_bytes(word, block));
            high_bytes = _mm256_add_epi8(high_bytes, overlap_bytes(word, block + LANES));
            block += BITS_BLOCK;
        }
        low = _mm256_add_epi64(low, _mm256_sad_epu8(low_bytes, zero));
        high = _mm256_add_epi64(high, _mm256_sad_epu8(high_bytes, zero));
        query += run;
        words -= run;
    }
    return _mm256_set_m128i(narrow(high), narrow(low));
}

static inline uint32_t zero_lanes(const vec *words)
{
    __m256d low = (__m256d)(words[0] == 0);
    __m256d high = (__m256d)(words[1] == 0);

    return (uint32_t)_mm256_movemask_pd(low) | (uint32_t)_mm256_movemask_pd(high) << LANES;
}

#include "core/bits/rows.h"

/* --- columns ---------------------------------------------------------------------------------- */

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
    return (vec)(a == 0);
}

#include "core/bits/columns.h"

/* --- a number for each lane ------------------------------------------------------------------- */

/* Each step handles 32 lanes: byte i of the vector tests bit i of 32 bits of a plane. */
static void spread(const uint64_t *planes, size_t plane_count, size_t lane_words, uint8_t *out)
{
    __m256i bytes = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2,
                                     2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    __m256i bits = _mm256_set1_epi64x((long long)0x8040201008040201);

    for (size_t half = 0; half < lane_words * 2; half++) {
        __m256i numbers = _mm256_setzero_si256();

        for (size_t p = 0; p < plane_count; p++) {
            uint64_t word = planes[p * BITS_LANE_WORDS + half / 2] >> half % 2 * 32;
            __m256i copied = _mm256_shuffle_epi8(_mm256_set1_epi32((int)(uint32_t)word), bytes);
            __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(copied, bits), bits);

            numbers =
                _mm256_or_si256(numbers, _mm256_and_si256(set, _mm256_set1_epi8((char)(1u << p))));
        }
        _mm256_storeu_si256((void *)(out + half * 32), numbers);
    }
}

static inline uint32_t at_least(const uint16_t *numbers, uint16_t least)
{
    __m256i all = _mm256_set1_epi16((short)least);
    __m256i first = _mm256_loadu_si256((const void *)numbers);
    __m256i second = _mm256_loadu_si256((const void *)(numbers + 16));
    __m256i both = _mm256_packs_epi16(_mm256_cmpeq_epi16(_mm256_max_epu16(first, all), first),
                                      _mm256_cmpeq_epi16(_mm256_max_epu16(second, all), second));

    return (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(both, 0xd8));
}

#include "core/bits/lanes.h"

const struct bits_kernels bits_avx2 = {
    BITS_SHARED_KERNELS,
    .name = "avx2",
    .positions = bits_positions,
    .block_columns = 16,
};
