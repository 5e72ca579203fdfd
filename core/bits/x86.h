/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: kernels that the AVX2 and AVX-512 tables share. Only avx2.c and avx512.c include this
 * header: these files are compiled with flags that allow the instructions of AVX2 and POPCNT.
 */
#pragma once

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

static inline lane_counts add_to_counts(lane_counts counts, uint32_t number)
{
    return _mm256_add_epi32(counts, _mm256_set1_epi32((int)number));
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

static inline bool all_below(lane_counts counts, uint32_t least)
{
    return _mm256_movemask_epi8(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)least), counts)) == -1;
}

/* Computes x and v of struct bits_phi. */
static inline void count_sums(lane_counts counts, const uint16_t *cardinalities,
                              const struct bits_phi *phi, size_t stride, __m256i *x, __m256i *v)
{
    __m256i zero = _mm256_setzero_si256();
    __m256i shared = _mm256_add_epi32(_mm256_slli_epi32(counts, BITS_SIZED_SHIFT),
                                      _mm256_set1_epi32(phi->slack));
    __m256i spread = zero;
    __m256i first = load_sizes(cardinalities);
    __m128i shift = _mm_cvtsi32_si128((int)phi->shift);

    for (uint32_t s = 1; s < phi->count; s++) {
        __m256i sizes = load_sizes(cardinalities + s * stride);

        first = _mm256_sub_epi32(first, sizes);
        add_sizes(&phi->sections[s], sizes, &shared, &spread);
    }
    add_sizes(&phi->sections[0], first, &shared, &spread);
    *x = _mm256_max_epi32(_mm256_sra_epi32(shared, shift), zero);
    *v = _mm256_sra_epi32(spread, shift);
}

static inline uint32_t reaching_phi(lane_counts counts, const uint16_t *cardinalities,
                                    const struct phi_test *test)
{
    __m256i shared;
    __m256i spread;

    count_sums(counts, cardinalities, test->phi, test->stride, &shared, &spread);
    spread = _mm256_madd_epi16(spread, _mm256_set1_epi32((int)test->least.factor));
    spread = _mm256_sra_epi32(spread, _mm_cvtsi32_si128((int)test->least.down));
    __m256i below = _mm256_cmpgt_epi32(spread, _mm256_madd_epi16(shared, shared));
    __m256i least = _mm256_set1_epi32((int)test->least.overlap);

    below = _mm256_or_si256(below, _mm256_cmpgt_epi32(least, counts));
    return ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(below)) & 0xff;
}

/*
 * Returns an upper bound of X^2 / (V k) for eight lanes: the quotient plus 1, rounded down, and
 * 2^15 if that would be more or if there is no spread. Single precision is enough: up to 2^15, the
 * three roundings change the quotient by less than 2^-6.
 */
static inline __m256i quotients(__m256i x, __m256i v, __m256 k)
{
    __m256 wide = _mm256_cvtepi32_ps(x);
    __m256 quotient =
        _mm256_div_ps(_mm256_mul_ps(wide, wide), _mm256_mul_ps(_mm256_cvtepi32_ps(v), k));

    quotient = _mm256_min_ps(quotient, _mm256_set1_ps((1 << 15) - 1));
    return _mm256_add_epi32(_mm256_cvttps_epi32(quotient), _mm256_set1_epi32(1));
}

/* --- phi_floors ------------------------------------------------------------------------------- */

#define BITS_OWN_PHI_FLOORS 1

static void phi_floors(const struct bits_scan *scan, const uint32_t *overlaps,
                       const uint16_t *cardinalities, uint16_t *out)
{
    const struct bits_phi *phi = scan->phi;
    __m256i zero = _mm256_setzero_si256();
    __m256i counts = _mm256_loadu_si256((const void *)overlaps);
    __m256 k = _mm256_set1_ps((float)phi->scale / (float)(1 << (phi->shift + 8)));
    __m256i x;
    __m256i v;

    count_sums(counts, cardinalities, phi, scan->stride, &x, &v);
    __m256i floors = quotients(x, _mm256_max_epi32(v, zero), k);

    floors = _mm256_andnot_si256(_mm256_cmpeq_epi32(counts, zero), floors);
    _mm_storeu_si128((void *)out, _mm_packus_epi32(_mm256_castsi256_si128(floors),
                                                   _mm256_extracti128_si256(floors, 1)));
}

/* --- bound_phi: numbers of 16 bits ------------------------------------------------------------ */

/*
 * The numbers of bound_phi for a stride of lanes. X is in 1/128 bit and signed, V in 1/64 bit. The
 * query has at most 255 bits, so that X is below 2^15; sums that do not fit stay at the limits of
 * 16 bits, which only raises a bound: a V that is too small, or an X that is not small enough. Half
 * of the lanes are in `low` and half in `high`, in the order of unpacked bytes.
 */
#define BITS_OWN_BOUND_PHI 1

struct stride_sums {
    __m256i x_low;
    __m256i x_high;
    __m256i v_low;
    __m256i v_high;
    __m256i overlaps; /* a byte a lane: 0 if no section has an overlap */
    __m256i above;    /* a byte a lane: not 0 if the lane has no bound */
};

/* The numbers of a section, in all lanes. */
struct stride_of {
    __m256i chance; /* 2^15 a / b, rounded down */
    __m256i loss;   /* 2^14 / b, rounded up */
    __m256i half;   /* bytes: `most` must not be above */
};

static inline struct stride_of stride_of(const struct bits_section *section)
{
    uint32_t bits = section->bits;
    uint32_t half = bits / 2 < UINT8_MAX ? bits / 2 : UINT8_MAX - 1;

    return (struct stride_of){
        _mm256_set1_epi16((short)((section->set << 15) / bits)),
        _mm256_set1_epi16((short)(((1u << 14) + bits - 1) / bits)),
        _mm256_set1_epi8((char)half),
    };
}

/* Adds 128 i - 128 c a / b to X and 64 c (1 - c / b) to V. The numbers of `set` and `both` are
 * given 256 times as large, and those of `once` are c. */
static inline void add_half(const struct stride_of *of, __m256i set, __m256i once, __m256i both,
                            __m256i *x, __m256i *v)
{
    __m256i taken = _mm256_mulhi_epu16(set, of->chance);
    __m256i kept = _mm256_sub_epi16(_mm256_set1_epi16(1 << 14), _mm256_mullo_epi16(once, of->loss));

    *x = _mm256_adds_epi16(*x, _mm256_sub_epi16(_mm256_srli_epi16(both, 1), taken));
    *v = _mm256_adds_epu16(*v, _mm256_mulhi_epu16(set, kept));
}

static inline void add_stride(const struct bits_section *section, const struct stride_of *of,
                              size_t first, struct stride_sums *sums)
{
    __m256i zero = _mm256_setzero_si256();
    __m256i overlaps = _mm256_loadu_si256((const void *)(section->overlaps + first));
    __m256i most = _mm256_loadu_si256((const void *)(section->most + first));
    __m256i least = _mm256_loadu_si256((const void *)(section->least + first));
    __m256i set = _mm256_min_epu8(_mm256_max_epu8(overlaps, least), most);
    __m256i both = _mm256_min_epu8(overlaps, set);

    sums->overlaps = _mm256_or_si256(sums->overlaps, overlaps);
    sums->above = _mm256_or_si256(sums->above, _mm256_subs_epu8(most, of->half));
    add_half(of, _mm256_unpacklo_epi8(zero, set), _mm256_unpacklo_epi8(set, zero),
             _mm256_unpacklo_epi8(zero, both), &sums->x_low, &sums->v_low);
    add_half(of, _mm256_unpackhi_epi8(zero, set), _mm256_unpackhi_epi8(set, zero),
             _mm256_unpackhi_epi8(zero, both), &sums->x_high, &sums->v_high);
}

/* Returns whether X^2 / 2^16 + 1 >= V k / 2^16 for a lane: all bits of the lane, or none. */
static inline __m256i may_reach(__m256i x, __m256i v, __m256i k)
{
    __m256i zero = _mm256_setzero_si256();
    __m256i positive = _mm256_max_epi16(x, zero);
    __m256i square = _mm256_add_epi16(_mm256_mulhi_epi16(positive, positive), _mm256_set1_epi16(1));

    return _mm256_cmpeq_epi16(_mm256_subs_epu16(_mm256_mulhi_epu16(v, k), square), zero);
}

/* The bounds of sixteen lanes. `none` and `above` have bytes of a lane twice. */
static inline __m256i bound_half(__m256i x, __m256i v, __m256i overlaps, __m256i above, __m256 k,
                                 uint32_t floor)
{
    __m256i zero = _mm256_setzero_si256();
    __m256i positive = _mm256_max_epi16(x, zero);
    __m256i low =
        quotients(_mm256_unpacklo_epi16(positive, zero), _mm256_unpacklo_epi16(v, zero), k);
    __m256i high =
        quotients(_mm256_unpackhi_epi16(positive, zero), _mm256_unpackhi_epi16(v, zero), k);
    __m256i most = _mm256_packus_epi32(low, high);
    __m256i shares =
        _mm256_andnot_si256(_mm256_cmpeq_epi16(overlaps, zero), _mm256_cmpgt_epi16(x, zero));
    __m256i least = _mm256_set1_epi16((short)floor);

    most = _mm256_and_si256(most, shares);
    most = _mm256_blendv_epi8(_mm256_set1_epi16((short)(1 << 15)), most,
                              _mm256_cmpeq_epi16(above, zero));
    /* most >= floor, without signs */
    least = _mm256_cmpeq_epi16(_mm256_max_epu16(most, least), most);
    return _mm256_and_si256(least, _mm256_add_epi16(most, _mm256_set1_epi16(1)));
}

static inline void bound_stride(const struct stride_sums *sums, uint32_t base, uint32_t floor,
                                uint16_t *out)
{
    enum { UNIT = 1 << 15 };
    __m256i zero = _mm256_setzero_si256();
    /* X^2 2^15 / (base V) in bits, where X^2 has 2^14, V has 2^6 and base has 2^8 to a bit */
    __m256 k = _mm256_set1_ps((float)base / UNIT);
    uint64_t needed = (uint64_t)(floor > 0 ? floor - 1 : 0) * base >> 15;
    __m256i wanted = _mm256_set1_epi16((short)(needed < UINT16_MAX ? needed : UINT16_MAX));
    __m256i any = _mm256_or_si256(may_reach(sums->x_low, sums->v_low, wanted),
                                  may_reach(sums->x_high, sums->v_high, wanted));
    __m256i low = zero;
    __m256i high = zero;

    any = _mm256_or_si256(any, sums->above);
    if (_mm256_testz_si256(any, any) == 0) {
        low = bound_half(sums->x_low, sums->v_low, _mm256_unpacklo_epi8(sums->overlaps, zero),
                         _mm256_unpacklo_epi8(sums->above, zero), k, floor);
        high = bound_half(sums->x_high, sums->v_high, _mm256_unpackhi_epi8(sums->overlaps, zero),
                          _mm256_unpackhi_epi8(sums->above, zero), k, floor);
    }
    _mm256_storeu_si256((void *)out, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((void *)(out + BITS_STRIDE / 2),
                        _mm256_permute2x128_si256(low, high, 0x31));
}

static void bound_phi(const struct bits_section *sections, size_t section_count, uint32_t base,
                      uint32_t floor, size_t count, uint16_t *out)
{
    size_t end = (count + BITS_STRIDE - 1) / BITS_STRIDE * BITS_STRIDE; /* whole strides */
    __m256i slack = _mm256_set1_epi16((short)((section_count + 1) / 2));
    __m256i zero = _mm256_setzero_si256();
    struct stride_of of[BITS_SECTIONS_MAX];

    for (size_t s = 0; s < section_count; s++) {
        of[s] = stride_of(&sections[s]);
    }
    for (size_t first = 0; first < end; first += BITS_STRIDE) {
        struct stride_sums sums = {slack, slack, zero, zero, zero, zero};

        for (size_t s = 0; s < section_count; s++) {
            add_stride(&sections[s], &of[s], first, &sums);
        }
        bound_stride(&sums, base, floor, out + first);
    }
    for (size_t i = count; i < end; i++) {
        out[i] = 0;
    }
}
