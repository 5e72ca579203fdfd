/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes: the kernels that compute one number for each lane, and those that search in an array of
 * such numbers, for any vector width. The file of each table includes this header after it has
 * defined one function:
 *
 *   at_least(numbers, least)   compares BITS_STRIDE numbers; bit i of the result says whether
 *                              number i is at least `least`
 *
 * The loops of bound_lanes and promise have no branches in most tables, so that the compiler can
 * handle several lanes with one instruction. A table that has a bound_phi of its own defines
 * BITS_OWN_BOUND_PHI. These tables compute quotients in single precision,
 * because their instruction sets do not divide vectors of integers. A table that defines
 * BITS_LANES_DIVIDE computes quotients in integers, which is faster on a small processor. Both ways
 * give the same results.
 */
#pragma once

#include <string.h>

#include "core/bits/sliced.h"

enum { SUMS_FLOOR_SHIFT = 15, SUMS_FLOOR_MOST = 1 << SUMS_FLOOR_SHIFT };

#if defined(BITS_LANES_DIVIDE)

static inline uint16_t reach_of(int32_t overlap, int32_t sum, int32_t floor)
{
    overlap <<= BITS_FLOOR_SHIFT;
    return (uint16_t)(overlap >= sum * floor ? 1 + overlap / sum : 0);
}

#else

/*
 * Returns 1 + the quotient 2^16 * overlap / sum, rounded down, or 0 if the quotient is below
 * `floor`. Division in single precision gives the same quotient as division of integers. The
 * overlap is below 2^8 and the sum is at most 510, so both are exact. No overlap exceeds half of
 * the sum, so the quotient is at most 2^15 and its rounding error is at most 2^-10. A quotient that
 * is not an integer is at least 1/510 below the next integer, and 1/510 is more than 2^-10.
 */
static inline uint16_t reach_of(int32_t overlap, int32_t sum, int32_t floor)
{
    int32_t quotient = (int32_t)((float)(overlap << BITS_FLOOR_SHIFT) / (float)sum);

    return (uint16_t)(quotient >= floor ? 1 + quotient : 0);
}

#endif

static void bound_lanes(const struct bits_bound *bound, const uint8_t *restrict shared,
                        size_t count, uint16_t *restrict out)
{
    const uint8_t *restrict least = bound->least;
    const uint8_t *restrict most = bound->most;
    int32_t base = (int32_t)bound->base;
    int32_t floor = (int32_t)bound->floor;
    size_t end = (count + BITS_STRIDE - 1) / BITS_STRIDE * BITS_STRIDE; /* whole strides */

    for (size_t i = 0; i < end; i++) {
        int32_t overlap = shared[i] < most[i] ? shared[i] : most[i];
        int32_t cardinality = overlap > least[i] ? overlap : least[i];

        out[i] = reach_of(overlap, base + cardinality, floor);
    }
    memset(out + count, 0, (end - count) * sizeof(*out));
}

#if !defined(BITS_OWN_BOUND_PHI)

/* The sums of bound_phi for a stride of lanes. */
struct lane_sums {
    int32_t shared[BITS_STRIDE];
    int32_t spread[BITS_STRIDE];
    uint8_t overlaps[BITS_STRIDE]; /* 0: no section has an overlap */
    uint8_t unknown[BITS_STRIDE];  /* not 0: the lane has no bound */
};

/* Adds the numbers of one section for the lanes from number `first` on. */
static inline void add_section(const struct bits_section *section, size_t first,
                               struct lane_sums *restrict sums)
{
    enum { SCALE = 256, FRACTION_BITS = 16, ROUND_UP = (1 << FRACTION_BITS) - 1 };
    const uint8_t *restrict least = section->least + first;
    const uint8_t *restrict most = section->most + first;
    const uint8_t *restrict overlaps = section->overlaps + first;
    uint32_t bits = section->bits;
    uint32_t chance = (section->set << (FRACTION_BITS + 8)) / bits;
    uint32_t loss = ((1u << (FRACTION_BITS + 8)) + bits - 1) / bits;
    uint8_t half = (uint8_t)(bits / 2 < UINT8_MAX ? bits / 2 : UINT8_MAX - 1);

    /* The numbers of a lane that is not unknown are below 2^32: c is at most 254 and at most b / 2,
     * so that c^2 2^24 / b is below 2^31, and so is c 2^24 a / b. */
    for (size_t i = 0; i < BITS_STRIDE; i++) {
        uint8_t above = overlaps[i] > least[i] ? overlaps[i] : least[i];
        uint32_t set = above < most[i] ? above : most[i];
        uint32_t overlap = overlaps[i] < set ? overlaps[i] : set;

        sums->shared[i] +=
            (int32_t)(SCALE * overlap + 1) - (int32_t)(set * chance >> FRACTION_BITS);
        sums->spread[i] +=
            (int32_t)(SCALE * set) - (int32_t)((set * set * loss + ROUND_UP) >> FRACTION_BITS);
    }
    for (size_t i = 0; i < BITS_STRIDE; i++) {
        sums->overlaps[i] |= overlaps[i];
        sums->unknown[i] |= most[i] > half;
    }
}

/*
 * Returns the quotient shared^2 2^15 / (base * spread), rounded down, at most 2^15. `shared` is
 * below 2^17. In single precision the quotient is wrong by less than 2^-7 before it is rounded. The
 * bound adds 1 to what it is given, and needs only 1/2 of it (docs/notes/tree.md).
 */
static inline int32_t sums_quotient(int32_t shared, int32_t base, int32_t spread)
{
#if defined(BITS_LANES_DIVIDE)
    uint64_t square = (uint64_t)((int64_t)shared * shared);
    uint64_t product = (uint64_t)((int64_t)base * spread);

    return square < product ? (int32_t)((square << SUMS_FLOOR_SHIFT) / product) : SUMS_FLOOR_MOST;
#else
    float square = (float)shared * (float)shared;
    float product = (float)base * (float)spread;

    return square < product ? (int32_t)(square * (float)SUMS_FLOOR_MOST / product)
                            : SUMS_FLOOR_MOST;
#endif
}

static void bound_phi(const struct bits_section *sections, size_t section_count, uint32_t base,
                      uint32_t floor, size_t count, uint16_t *restrict out)
{
    size_t end = (count + BITS_STRIDE - 1) / BITS_STRIDE * BITS_STRIDE; /* whole strides */

    for (size_t first = 0; first < end; first += BITS_STRIDE) {
        struct lane_sums sums = {.shared = {0}};

        for (size_t s = 0; s < section_count; s++) {
            add_section(&sections[s], first, &sums);
        }
        for (size_t i = 0; i < BITS_STRIDE; i++) {
            int32_t most = 1 + sums_quotient(sums.shared[i], (int32_t)base, sums.spread[i]);

            most = most < SUMS_FLOOR_MOST ? most : SUMS_FLOOR_MOST;
            most = sums.overlaps[i] == 0 || sums.shared[i] <= 0 ? 0 : most;
            most = sums.unknown[i] != 0 ? SUMS_FLOOR_MOST : most;
            out[first + i] = (uint16_t)(most >= (int32_t)floor ? 1 + most : 0);
        }
    }
    memset(out + count, 0, (end - count) * sizeof(*out));
}

#endif

/*
 * The quotient of phi_floors: x is below 2^15, `unit` is 2^(shift + 8), and `product` is below
 * 2^34. Division in double precision gives the same quotient as division of integers: the dividend
 * is below 2^53, so both are exact. A quotient below 2^15 that is not an integer is at least 2^-34
 * below the next integer, and the rounding error is at most 2^-39.
 */
static inline uint32_t phi_quotient(int32_t x, int32_t unit, int32_t v, int32_t scale)
{
#if defined(BITS_LANES_DIVIDE)
    uint64_t dividend = (uint64_t)((int64_t)x * x) * (uint64_t)unit;
    uint64_t product = (uint64_t)((int64_t)v * scale);

    return dividend < product << SUMS_FLOOR_SHIFT ? (uint32_t)(dividend / product)
                                                  : SUMS_FLOOR_MOST;
#else
    double dividend = (double)x * (double)x * (double)unit;
    double product = (double)v * (double)scale;

    return dividend < product * SUMS_FLOOR_MOST ? (uint32_t)(int32_t)(dividend / product)
                                                : SUMS_FLOOR_MOST;
#endif
}

static void phi_floors(const struct bits_scan *scan, const uint32_t *restrict overlaps,
                       const uint16_t *cardinalities, uint16_t *restrict out)
{
    const struct bits_phi *phi = scan->phi;
    int32_t shared[BITS_BLOCK];
    int32_t spread[BITS_BLOCK];

    phi_sums(phi, overlaps, cardinalities, scan->stride, shared, spread);
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        int32_t x = shared[lane] > 0 ? shared[lane] >> phi->shift : 0;
        int32_t v = spread[lane] > 0 ? spread[lane] >> phi->shift : 0;

        uint32_t floor = phi_quotient(x, 1 << (phi->shift + 8), v, (int32_t)phi->scale);

        out[lane] = (uint16_t)(overlaps[lane] > 0 ? floor : 0);
    }
}

enum { EIGHTHS = 8, FLOOR_STEP = (1 << BITS_FLOOR_SHIFT) / EIGHTHS };

/* Returns FLOOR_STEP * part / whole, rounded down. `part` and `whole` are below 2^16. */
static inline int32_t share_of(int32_t part, int32_t whole)
{
#if defined(BITS_LANES_DIVIDE)
    return part * FLOOR_STEP / whole;
#else
    int32_t all = part * FLOOR_STEP;
    int32_t share = (int32_t)((float)all / (float)whole);

    return share - (share * whole > all);
#endif
}

static void promise(const int16_t *restrict needs, uint32_t base, const uint8_t *restrict shared,
                    uint16_t *restrict out)
{
    _Static_assert(BITS_NEEDS == 3 && BITS_NEEDS_FIRST == 2, "quarter, three eighths, half");
    const int16_t *restrict middle = needs + BITS_LANES;
    const int16_t *restrict last = middle + BITS_LANES;
    int32_t step = (int32_t)base;

    for (size_t i = 0; i < BITS_LANES; i++) {
        int32_t have = shared[i] * EIGHTHS;
        int32_t quarter = 2 * step + needs[i];
        int32_t three = 3 * step + middle[i];
        int32_t half = 4 * step + last[i];
        int32_t above = -(have >= three); /* all bits or no bit; gcc 12 does not vectorise a choice
                                             here */
        int32_t low = quarter + ((three - quarter) & above);
        int32_t high = three + ((half - three) & above);
        int32_t floor = 2 * FLOOR_STEP + (FLOOR_STEP & above);

        have = have < high ? have : high;
        have = (have > low ? have : low) - low;
        out[i] = (uint16_t)(1 + floor + share_of(have, high - low));
    }
}

static uint16_t largest_number(const uint16_t *numbers, size_t count)
{
    uint16_t largest = 0;

    for (size_t i = 0; i < count; i++) {
        largest = numbers[i] > largest ? numbers[i] : largest;
    }
    return largest;
}

static size_t count_least(const uint16_t *numbers, size_t count, uint16_t least)
{
    uint16_t found = 0;

    for (size_t i = 0; i < count; i++) {
        found = (uint16_t)(found + (numbers[i] >= least));
    }
    return found;
}

static size_t find_least(const uint16_t *numbers, size_t count, uint16_t least)
{
    for (size_t first = 0; first < count; first += BITS_STRIDE) {
        uint32_t found = at_least(numbers + first, least);

        if (found != 0) {
            return first + sliced_lowest(found);
        }
    }
    return count;
}

static size_t list_least(const uint16_t *numbers, size_t count, uint16_t least,
                         uint16_t *out_places)
{
    size_t found = 0;

    for (size_t first = 0; first < count; first += BITS_STRIDE) {
        for (uint32_t left = at_least(numbers + first, least); left != 0; left &= left - 1) {
            out_places[found++] = (uint16_t)(first + sliced_lowest(left));
        }
    }
    return found;
}

/* The members of struct bits_kernels whose functions have the same names in every table's file. */
#define BITS_SHARED_KERNELS                                                         \
    .cardinality = cardinality, .overlaps = overlaps, .supersets = supersets,       \
    .count_columns = count_columns, .keep_largest = keep_largest,                   \
    .lanes_reaching = lanes_reaching, .spread = spread, .bound_lanes = bound_lanes, \
    .bound_phi = bound_phi, .promise = promise, .largest = largest_number,          \
    .count_least = count_least, .find_least = find_least, .list_least = list_least, \
    .scan = scan_blocks, .scan_listed = scan_listed, .sift = sift, .phi_floors = phi_floors
