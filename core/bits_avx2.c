/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX2: a byte's set bits looked up by its two nibbles with a shuffle (Mula, Kurz, Lemire, "Faster
 * Population Counts Using AVX2 Instructions", 2018). This file is compiled with -mavx2 -mpopcnt:
 * nothing in it may run before cpu_has_avx2().
 */
#include "core/bits_tables.h"

#include <immintrin.h>

/* A byte that grows by at most 8 a word holds the sum of 31 words. */
enum { WORDS_PER_RUN = 31, LANES = 4 };

static uint32_t avx2_cardinality(const uint64_t *filter, size_t words)
{
    uint64_t count = 0;

    for (size_t w = 0; w < words; w++) {
        count += (uint64_t)_mm_popcnt_u64(filter[w]);
    }
    return (uint32_t)count;
}

/* The set bits of each byte. */
static __m256i count_bytes(__m256i x)
{
    const __m256i counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1,
                                            2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i nibble = _mm256_set1_epi8(0x0f);
    __m256i low = _mm256_and_si256(x, nibble);
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble);

    return _mm256_add_epi8(_mm256_shuffle_epi8(counts, low), _mm256_shuffle_epi8(counts, high));
}

static __m256i overlap_bytes(__m256i query, const uint64_t *filters)
{
    return count_bytes(_mm256_and_si256(query, _mm256_loadu_si256((const void *)filters)));
}

/* Four 64-bit numbers below 2^32 to four 32-bit ones. */
static __m128i narrow(__m256i wide)
{
    const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);

    return _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(wide, even));
}

static __m256i block_overlaps(const uint64_t *query, const uint64_t *block, size_t words)
{
    const __m256i zero = _mm256_setzero_si256();
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

static void avx2_overlaps(const uint64_t *query, const uint64_t *block, size_t words, uint32_t *out)
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

static size_t avx2_scan(const struct bits_scan *scan, const uint64_t *blocks,
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

/* ---- columns ---- */

typedef __m256i vec;
enum { VEC_WORDS = 4 };

static inline vec vec_zero(void)
{
    return _mm256_setzero_si256();
}

static inline vec vec_load(const uint64_t *words)
{
    return _mm256_loadu_si256((const void *)words);
}

static inline void vec_store(uint64_t *words, vec x)
{
    _mm256_storeu_si256((void *)words, x);
}

static inline vec vec_xor(vec a, vec b)
{
    return _mm256_xor_si256(a, b);
}

static inline vec vec_and(vec a, vec b)
{
    return _mm256_and_si256(a, b);
}

static inline vec vec_sum(vec a, vec b, vec c)
{
    return vec_xor(vec_xor(a, b), c);
}

static inline vec vec_carry(vec a, vec b, vec c)
{
    return _mm256_or_si256(vec_and(a, b), vec_and(vec_xor(a, b), c));
}

#include "core/bits_columns.h"

const struct bits_kernels bits_avx2 = {
    .name = "avx2",
    .cardinality = avx2_cardinality,
    .overlaps = avx2_overlaps,
    .count_columns = count_columns,
    .block_columns = 16,
    .scan = avx2_scan,
};
