/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: kernels that the AVX2 and AVX-512 tables share. Only avx2.c and avx512.c include this
 * header: these files are compiled with flags that allow the instructions of AVX2 and POPCNT.
 */
#ifndef CORE_BITS_X86_H
#define CORE_BITS_X86_H

#include <immintrin.h>

#include "core/bits/tables.h"

typedef __m256i lane_counts;

static uint32_t cardinality(const uint64_t *filter, size_t words)
{
    uint64_t count = 0;

    for (size_t w = 0; w < words; w++) {
        count += (uint64_t)_mm_popcnt_u64(filter[w]);
    }
    return (uint32_t)count;
}

static inline void store_counts(uint32_t *out, lane_counts counts)
{
    _mm256_storeu_si256((void *)out, counts);
}

static inline uint32_t reaching(lane_counts counts, const uint16_t *cardinalities,
                                const struct bits_scan *scan)
{
    __m256i base = _mm256_set1_epi32((int)scan->base);
    __m256i floor = _mm256_set1_epi32((int)scan->floor);
    __m256i sums =
        _mm256_add_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)cardinalities)), base);
    __m256i needed = _mm256_mullo_epi32(sums, floor);
    __m256i below = _mm256_cmpgt_epi32(needed, _mm256_slli_epi32(counts, BITS_FLOOR_SHIFT));

    return ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(below)) & 0xff;
}

static inline __m256i load_sizes(const uint16_t *sizes)
{
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)sizes));
}

/* The numbers of a section fit 16 bits, so that products are those of the low halves. The loss of c
 * = 0 is 2^15 below 2^15 and counts as -2^15, which 0 multiplies. */
static inline void add_sizes(const struct bits_sized *section, __m256i sizes, __m256i *shared,
                             __m256i *spread)
{
    __m256i lost = _mm256_mullo_epi16(sizes, _mm256_set1_epi32(section->loss));
    __m256i kept = _mm256_sub_epi16(_mm256_set1_epi32(section->whole), lost);

    *shared =
        _mm256_sub_epi32(*shared, _mm256_madd_epi16(sizes, _mm256_set1_epi32(section->chance)));
    *spread = _mm256_add_epi32(*spread, _mm256_madd_epi16(sizes, kept));
}

static inline uint32_t reaching_phi(lane_counts counts, const uint16_t *cardinalities,
                                    const struct phi_test *test)
{
    const struct bits_phi *phi = test->phi;
    __m256i shared = _mm256_add_epi32(_mm256_slli_epi32(counts, BITS_SIZED_SHIFT),
                                      _mm256_set1_epi32(phi->slack));
    __m256i spread = _mm256_setzero_si256();
    __m256i first = load_sizes(cardinalities);
    __m128i shift = _mm_cvtsi32_si128((int)phi->shift);

    for (uint32_t s = 1; s < phi->count; s++) {
        __m256i sizes = load_sizes(cardinalities + s * test->stride);

        first = _mm256_sub_epi32(first, sizes);
        add_sizes(&phi->sections[s], sizes, &shared, &spread);
    }
    add_sizes(&phi->sections[0], first, &shared, &spread);
    shared = _mm256_max_epi32(_mm256_sra_epi32(shared, shift), _mm256_setzero_si256());
    spread = _mm256_madd_epi16(_mm256_sra_epi32(spread, shift),
                               _mm256_set1_epi32((int)test->least.factor));
    spread = _mm256_sra_epi32(spread, _mm_cvtsi32_si128((int)test->least.down));
    __m256i below = _mm256_cmpgt_epi32(spread, _mm256_madd_epi16(shared, shared));
    __m256i least = _mm256_set1_epi32((int)test->least.overlap);

    below = _mm256_or_si256(below, _mm256_cmpgt_epi32(least, counts));
    return ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(below)) & 0xff;
}

/* --- bound_phi: eight lanes at once ----------------------------------------------------------- */

#define BITS_OWN_BOUND_PHI 1

/* The sums of bound_phi. All bits of a lane of `unknown` are set if the lane has no bound. */
struct eight_sums {
    __m256i shared;
    __m256i spread;
    __m256i overlaps; /* 0: no section has an overlap */
    __m256i unknown;
};

static inline __m256i load_bytes(const uint8_t *bytes)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)bytes));
}

/* The numbers of a section, in all lanes. */
struct eight_of {
    __m256i chance; /* 2^24 a / b, rounded down */
    __m256i loss;   /* 2^24 / b, rounded up */
    __m256i half;   /* `most` must not be above */
};

static inline struct eight_of eight_of(const struct bits_section *section)
{
    enum { FRACTION_BITS = 24 };
    uint32_t bits = section->bits;
    uint32_t half = bits / 2 < UINT8_MAX ? bits / 2 : UINT8_MAX - 1;

    return (struct eight_of){
        _mm256_set1_epi32((int)((section->set << FRACTION_BITS) / bits)),
        _mm256_set1_epi32((int)(((1u << FRACTION_BITS) + bits - 1) / bits)),
        _mm256_set1_epi32((int)half),
    };
}

static inline void add_eight(const struct bits_section *section, const struct eight_of *of,
                             size_t first, struct eight_sums *sums)
{
    enum { FRACTION_BITS = 16, SCALE_BITS = 8 };
    __m256i overlaps = load_bytes(section->overlaps + first);
    __m256i most = load_bytes(section->most + first);
    __m256i above = _mm256_max_epi32(overlaps, load_bytes(section->least + first));
    __m256i set = _mm256_min_epi32(above, most);
    __m256i both = _mm256_slli_epi32(_mm256_min_epi32(overlaps, set), SCALE_BITS);
    __m256i taken = _mm256_mullo_epi32(set, of->chance);
    __m256i lost = _mm256_mullo_epi32(_mm256_madd_epi16(set, set), of->loss);

    lost = _mm256_add_epi32(lost, _mm256_set1_epi32((1 << FRACTION_BITS) - 1));
    both = _mm256_add_epi32(both, _mm256_set1_epi32(1));
    sums->shared = _mm256_add_epi32(
        sums->shared, _mm256_sub_epi32(both, _mm256_srli_epi32(taken, FRACTION_BITS)));
    sums->spread =
        _mm256_add_epi32(sums->spread, _mm256_sub_epi32(_mm256_slli_epi32(set, SCALE_BITS),
                                                        _mm256_srli_epi32(lost, FRACTION_BITS)));
    sums->overlaps = _mm256_or_si256(sums->overlaps, overlaps);
    sums->unknown = _mm256_or_si256(sums->unknown, _mm256_cmpgt_epi32(most, of->half));
}

/* The bounds of eight lanes: lanes.h says why single precision is enough for the quotient. */
static inline __m256i bound_eight(const struct eight_sums *sums, uint32_t base, uint32_t floor)
{
    enum { MOST = 1 << 15 };
    __m256 shared = _mm256_cvtepi32_ps(sums->shared);
    __m256 square = _mm256_mul_ps(shared, shared);
    __m256 product = _mm256_mul_ps(_mm256_set1_ps((float)base), _mm256_cvtepi32_ps(sums->spread));
    __m256 quotient = _mm256_div_ps(_mm256_mul_ps(square, _mm256_set1_ps(MOST)), product);
    __m256i below = _mm256_castps_si256(_mm256_cmp_ps(square, product, _CMP_LT_OQ));
    __m256i all = _mm256_set1_epi32(MOST);
    __m256i one = _mm256_set1_epi32(1);
    __m256i most = _mm256_blendv_epi8(all, _mm256_cvttps_epi32(quotient), below);

    most = _mm256_min_epi32(_mm256_add_epi32(most, one), all);
    most = _mm256_andnot_si256(_mm256_cmpeq_epi32(sums->overlaps, _mm256_setzero_si256()), most);
    most = _mm256_and_si256(_mm256_cmpgt_epi32(sums->shared, _mm256_setzero_si256()), most);
    most = _mm256_blendv_epi8(most, all, sums->unknown);
    below = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)floor), most);
    return _mm256_andnot_si256(below, _mm256_add_epi32(most, one));
}

static void bound_phi(const struct bits_section *sections, size_t section_count, uint32_t base,
                      uint32_t floor, size_t count, uint16_t *out)
{
    enum { EIGHT = 8 };
    size_t end = (count + BITS_STRIDE - 1) / BITS_STRIDE * BITS_STRIDE; /* whole strides */
    struct eight_of of[BITS_SECTIONS_MAX];

    for (size_t s = 0; s < section_count; s++) {
        of[s] = eight_of(&sections[s]);
    }
    for (size_t first = 0; first < end; first += EIGHT) {
        struct eight_sums sums = {_mm256_setzero_si256(), _mm256_setzero_si256(),
                                  _mm256_setzero_si256(), _mm256_setzero_si256()};

        for (size_t s = 0; s < section_count; s++) {
            add_eight(&sections[s], &of[s], first, &sums);
        }
        __m256i bounds = bound_eight(&sums, base, floor);
        _mm_storeu_si128(
            (void *)(out + first),
            _mm_packus_epi32(_mm256_castsi256_si128(bounds), _mm256_extracti128_si256(bounds, 1)));
    }
    for (size_t i = count; i < end; i++) {
        out[i] = 0;
    }
}

/* --- unite ------------------------------------------------------------------------------------ */

/*
 * Joins the same word of the 8 filters of a block: word i of the result is the OR of the words of
 * filters i and i + 4.
 */
static inline __m256i half_union(const uint64_t *filters)
{
    return _mm256_or_si256(_mm256_loadu_si256((const void *)filters),
                           _mm256_loadu_si256((const void *)(filters + BITS_BLOCK / 2)));
}

/* Returns the OR of neighbours in a and b: a0|a1, b0|b1, a2|a3, b2|b3. */
static inline __m256i join_pairs(__m256i a, __m256i b)
{
    return _mm256_or_si256(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}

/*
 * Each step of the first loop unites four words and transposes the vectors, so that the four
 * results are stored together.
 */
static void unite(const uint64_t *block, size_t words, uint64_t *out)
{
    for (; words >= 4; words -= 4) {
        __m256i first = join_pairs(half_union(block), half_union(block + BITS_BLOCK));
        __m256i second =
            join_pairs(half_union(block + 2 * BITS_BLOCK), half_union(block + 3 * BITS_BLOCK));
        __m256i all = _mm256_or_si256(_mm256_permute2x128_si256(first, second, 0x20),
                                      _mm256_permute2x128_si256(first, second, 0x31));

        _mm256_storeu_si256((void *)out, all);
        block += 4 * BITS_BLOCK;
        out += 4;
    }
    for (; words > 0; words--) {
        __m256i pairs = join_pairs(half_union(block), half_union(block));
        __m128i all =
            _mm_or_si128(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));

        *out++ = (uint64_t)_mm_cvtsi128_si64(all);
        block += BITS_BLOCK;
    }
}

#endif
