/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NEON kernels for AArch64. The instruction CNT counts the set bits of each byte; the kernels
 * add up these counts. Compilers for AArch64 use NEON without a flag, so no code tests for NEON at
 * run time. 32-bit ARM runs the plain C kernels, because NEON is optional there and lacks some of
 * these instructions.
 */
#include "core/bits/tables.h"

#include <arm_neon.h>

/*
 * Each byte of a vector counts set bits. A word adds at most 8 to a byte. 31 words add at most 248,
 * which still fits into a byte.
 */
enum { WORDS_PER_RUN = 31, LANES = 2, QUARTERS = BITS_BLOCK / LANES };

typedef uint64x2_t vec;
enum { VEC_WORDS = LANES };

typedef struct {
    uint32x4_t low;  /* lanes 0..3 */
    uint32x4_t high; /* lanes 4..7 */
} lane_counts;

static uint32_t cardinality(const uint64_t *filter, size_t words)
{
    uint64_t count = 0;

    for (; words >= 2; words -= 2) {
        count += vaddvq_u8(vcntq_u8(vreinterpretq_u8_u64(vld1q_u64(filter))));
        filter += 2;
    }
    if (words > 0) {
        count += vaddv_u8(vcnt_u8(vcreate_u8(*filter)));
    }
    return (uint32_t)count;
}

/*
 * Returns the sums of the bytes of four lanes, one number of 32 bits each. `first` and `second`
 * have the bytes of two lanes each.
 */
static inline uint32x4_t sum_lanes(uint8x16_t first, uint8x16_t second)
{
    return vpaddq_u32(vpaddlq_u16(vpaddlq_u8(first)), vpaddlq_u16(vpaddlq_u8(second)));
}

static inline lane_counts block_overlaps(const uint64_t *query, const uint64_t *block, size_t words)
{
    lane_counts counts = {vdupq_n_u32(0), vdupq_n_u32(0)};

    while (words > 0) {
        size_t run = words < WORDS_PER_RUN ? words : WORDS_PER_RUN;
        uint8x16_t bytes[QUARTERS] = {vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0)};

        for (size_t w = 0; w < run; w++) {
            uint64x2_t word = vdupq_n_u64(query[w]);

            for (size_t q = 0; q < QUARTERS; q++) {
                uint64x2_t both = vandq_u64(word, vld1q_u64(block + q * LANES));

                bytes[q] = vaddq_u8(bytes[q], vcntq_u8(vreinterpretq_u8_u64(both)));
            }
            block += BITS_BLOCK;
        }
        counts.low = vaddq_u32(counts.low, sum_lanes(bytes[0], bytes[1]));
        counts.high = vaddq_u32(counts.high, sum_lanes(bytes[2], bytes[3]));
        query += run;
        words -= run;
    }
    return counts;
}

static inline void store_counts(uint32_t *out, lane_counts counts)
{
    vst1q_u32(out, counts.low);
    vst1q_u32(out + BITS_BLOCK / 2, counts.high);
}

static inline lane_counts add_to_counts(lane_counts counts, uint32_t number)
{
    counts.low = vaddq_u32(counts.low, vdupq_n_u32(number));
    counts.high = vaddq_u32(counts.high, vdupq_n_u32(number));
    return counts;
}

/* Returns one bit for each of eight lanes. A lane has either all bits set or none. */
static inline uint32_t lane_mask(uint32x4_t low, uint32x4_t high)
{
    static const uint32_t low_bits[] = {1, 2, 4, 8};
    static const uint32_t high_bits[] = {16, 32, 64, 128};

    return vaddvq_u32(
        vorrq_u32(vandq_u32(low, vld1q_u32(low_bits)), vandq_u32(high, vld1q_u32(high_bits))));
}

static inline uint32x4_t reaching_half(uint32x4_t counts, uint16x4_t cardinalities,
                                       const struct bits_scan *scan)
{
    uint32x4_t sums = vaddw_u16(vdupq_n_u32(scan->base), cardinalities);
    uint32x4_t needed = vmulq_u32(sums, vdupq_n_u32(scan->floor));

    return vcgeq_u32(vshlq_n_u32(counts, BITS_FLOOR_SHIFT), needed);
}

static inline uint32_t reaching(lane_counts counts, const uint16_t *cardinalities,
                                const struct bits_scan *scan)
{
    uint16x8_t all = vld1q_u16(cardinalities);

    return lane_mask(reaching_half(counts.low, vget_low_u16(all), scan),
                     reaching_half(counts.high, vget_high_u16(all), scan));
}

static inline void add_sizes(const struct bits_sized *section, int32x4_t sizes, int32x4_t *shared,
                             int32x4_t *spread)
{
    int32x4_t kept = vmlsq_n_s32(vdupq_n_s32(section->whole), sizes, section->loss);

    *shared = vmlsq_n_s32(*shared, sizes, section->chance);
    *spread = vmlaq_s32(*spread, sizes, kept);
}

static inline int32x4_t load_sizes(const uint16_t *sizes)
{
    return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(sizes)));
}

static inline uint32x4_t reaching_phi_half(uint32x4_t counts, const uint16_t *cardinalities,
                                           const struct phi_test *test)
{
    const struct bits_phi *phi = test->phi;
    int32x4_t shared = vaddq_s32(vreinterpretq_s32_u32(vshlq_n_u32(counts, BITS_SIZED_SHIFT)),
                                 vdupq_n_s32(phi->slack));
    int32x4_t spread = vdupq_n_s32(0);
    int32x4_t first = load_sizes(cardinalities);
    int32x4_t shift = vdupq_n_s32(-(int32_t)phi->shift); /* to the right */

    for (uint32_t s = 1; s < phi->count; s++) {
        int32x4_t sizes = load_sizes(cardinalities + s * test->stride);

        first = vsubq_s32(first, sizes);
        add_sizes(&phi->sections[s], sizes, &shared, &spread);
    }
    add_sizes(&phi->sections[0], first, &shared, &spread);
    shared = vmaxq_s32(vshlq_s32(shared, shift), vdupq_n_s32(0));
    spread = vmulq_n_s32(vshlq_s32(spread, shift), (int32_t)test->least.factor);
    spread = vshlq_s32(spread, vdupq_n_s32(-(int32_t)test->least.down));
    return vandq_u32(vcgeq_s32(vmulq_s32(shared, shared), spread),
                     vcgeq_u32(counts, vdupq_n_u32(test->least.overlap)));
}

static inline bool all_below(lane_counts counts, uint32_t least)
{
    return vmaxvq_u32(vmaxq_u32(counts.low, counts.high)) < least;
}

static inline uint32_t reaching_phi(lane_counts counts, const uint16_t *cardinalities,
                                    const struct phi_test *test)
{
    return lane_mask(reaching_phi_half(counts.low, cardinalities, test),
                     reaching_phi_half(counts.high, cardinalities + BITS_BLOCK / 2, test));
}

static inline uint32_t zero_lanes(const vec *words)
{
    uint32x4_t zero[2];

    for (size_t half = 0; half < 2; half++) {
        zero[half] = vcombine_u32(vmovn_u64(vceqzq_u64(words[2 * half])),
                                  vmovn_u64(vceqzq_u64(words[2 * half + 1])));
    }
    return lane_mask(zero[0], zero[1]);
}

#include "core/bits/rows.h"

/* --- columns ---------------------------------------------------------------------------------- */

static inline vec vec_sum(vec a, vec b, vec c)
{
    return a ^ b ^ c;
}

/* Returns the majority of a, b and c, bit by bit: c where a and b differ, otherwise a. */
static inline vec vec_carry(vec a, vec b, vec c)
{
    return vbslq_u64(a ^ b, c, a);
}

static inline vec vec_if_zero(vec a)
{
    return vceqzq_u64(a);
}

#include "core/bits/columns.h"

/* --- a number for each lane ------------------------------------------------------------------- */

static inline uint8x16_t one_bit_each(void)
{
    return vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
}

/* Each step handles 16 lanes: byte i of the vector tests bit i of 16 bits of a plane. */
static void spread(const uint64_t *planes, size_t plane_count, size_t lane_words, uint8_t *out)
{
    for (size_t quarter = 0; quarter < lane_words * 4; quarter++) {
        uint8x16_t numbers = vdupq_n_u8(0);

        for (size_t p = 0; p < plane_count; p++) {
            uint64_t word = planes[p * BITS_LANE_WORDS + quarter / 4] >> quarter % 4 * 16;
            uint8x16_t copied =
                vcombine_u8(vdup_n_u8((uint8_t)word), vdup_n_u8((uint8_t)(word >> 8)));
            uint8x16_t set = vtstq_u8(copied, one_bit_each());

            numbers = vorrq_u8(numbers, vandq_u8(set, vdupq_n_u8((uint8_t)(1u << p))));
        }
        vst1q_u8(out + quarter * 16, numbers);
    }
}

/*
 * Compares 16 numbers. Byte i of the result has all bits set if number i is at least `least`, else
 * none.
 */
static inline uint8x16_t bytes_at_least(const uint16_t *numbers, uint16_t least)
{
    uint16x8_t all = vdupq_n_u16(least);

    return vcombine_u8(vmovn_u16(vcgeq_u16(vld1q_u16(numbers), all)),
                       vmovn_u16(vcgeq_u16(vld1q_u16(numbers + 8), all)));
}

static inline uint32_t at_least(const uint16_t *numbers, uint16_t least)
{
    uint8x16_t first = vandq_u8(bytes_at_least(numbers, least), one_bit_each());
    uint8x16_t second = vandq_u8(bytes_at_least(numbers + 16, least), one_bit_each());

    return (uint32_t)vaddv_u8(vget_low_u8(first)) | (uint32_t)vaddv_u8(vget_high_u8(first)) << 8 |
           (uint32_t)vaddv_u8(vget_low_u8(second)) << 16 |
           (uint32_t)vaddv_u8(vget_high_u8(second)) << 24;
}

#include "core/bits/lanes.h"

const struct bits_kernels bits_neon = {
    BITS_SHARED_KERNELS,
    .name = "neon",
    .positions = bits_positions,
    .block_columns = 16,
};
