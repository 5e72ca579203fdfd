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
 * handle several lanes with one instruction. They compute quotients in floating point, because most
 * instruction sets do not divide vectors of integers. A table that defines BITS_LANES_DIVIDE
 * computes the quotients in integers instead, because that is faster on a small processor; the
 * results are the same.
 *
 * x86.h replaces bound_phi and phi_floors by functions with vectors. It defines BITS_OWN_BOUND_PHI
 * and BITS_OWN_PHI_FLOORS, which leave the two functions of this file out. The bound_phi of this
 * file computes in numbers of 16 bits, too, but without vectors. It divides, in integers, only for
 * lanes that may reach the floor.
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

/*
 * The numbers of bound_phi for a stride of lanes, of 16 bits, so that a vector has many of them. X
 * is in 1/128 bit and V in 1/64 bit. The query has at most 255 bits, so that X is below 2^15 and
 * above -2^15 in a lane that has a bound. A V that does not fit loses its highest bits, and a V
 * that is too small only raises a bound.
 */
struct lane_sums {
    int16_t x[BITS_STRIDE];
    uint16_t v[BITS_STRIDE];
    uint8_t overlaps[BITS_STRIDE]; /* 0: no section has an overlap */
    uint8_t unknown[BITS_STRIDE];  /* not 0: the lane has no bound */
};

static inline uint16_t high_half(uint16_t a, uint16_t b)
{
    return (uint16_t)(((uint32_t)a * b) >> 16);
}

/* Adds 128 i - 128 c a / b to X and 64 c (1 - c / b) to V, for the lanes from number `first` on. */
static inline void add_section(const struct bits_section *section, size_t first,
                               struct lane_sums *restrict sums)
{
    const uint8_t *restrict least = section->least + first;
    const uint8_t *restrict most = section->most + first;
    const uint8_t *restrict overlaps = section->overlaps + first;
    uint32_t bits = section->bits;
    uint16_t chance = (uint16_t)((section->set << 15) / bits);
    uint16_t loss = (uint16_t)(((1u << 14) + bits - 1) / bits);
    uint8_t half = (uint8_t)(bits / 2 < UINT8_MAX ? bits / 2 : UINT8_MAX - 1);

    for (size_t i = 0; i < BITS_STRIDE; i++) {
        uint8_t above = overlaps[i] > least[i] ? overlaps[i] : least[i];
        uint8_t set = above < most[i] ? above : most[i];
        uint8_t both = overlaps[i] < set ? overlaps[i] : set;
        uint16_t scaled = (uint16_t)(set << 8);

        sums->x[i] = (int16_t)(sums->x[i] + (both << 7) - high_half(scaled, chance));
        sums->v[i] = (uint16_t)(sums->v[i] + high_half(scaled, (uint16_t)((1 << 14) - set * loss)));
    }
    for (size_t i = 0; i < BITS_STRIDE; i++) {
        sums->overlaps[i] |= overlaps[i];
        sums->unknown[i] |= most[i] > half;
    }
}

/* Writes which lanes may reach a floor: those that have no bound, and those with a shared bit, an X
 * above 0, and X^2 / 2^16 + 1 >= V k / 2^16. */
static inline void sums_reaching(const struct lane_sums *restrict sums, uint16_t k,
                                 uint8_t *restrict out)
{
    for (size_t i = 0; i < BITS_STRIDE; i++) {
        uint16_t x = (uint16_t)(sums->x[i] > 0 ? sums->x[i] : 0);
        uint16_t square = (uint16_t)(high_half(x, x) + 1);
        uint8_t shares = (x > 0) & (sums->overlaps[i] > 0);

        out[i] = (uint8_t)(sums->unknown[i] | (shares & (square >= high_half(sums->v[i], k))));
    }
}

/* Returns 1 + X^2 2^15 / (base V), rounded down, at most 2^15. */
static inline uint32_t sums_bound(int16_t x, uint32_t base, uint16_t v)
{
    uint64_t square = (uint64_t)(uint32_t)(x * x) << SUMS_FLOOR_SHIFT;
    uint64_t product = (uint64_t)base * v;

    return square < product * (SUMS_FLOOR_MOST - 1) ? (uint32_t)(1 + square / product)
                                                    : SUMS_FLOOR_MOST;
}

static void bound_phi(const struct bits_section *sections, size_t section_count, uint32_t base,
                      uint32_t floor, size_t count, uint16_t *restrict out)
{
    size_t end = (count + BITS_STRIDE - 1) / BITS_STRIDE * BITS_STRIDE; /* whole strides */
    uint64_t needed = (uint64_t)(floor > 0 ? floor - 1 : 0) * base >> SUMS_FLOOR_SHIFT;
    uint16_t k = (uint16_t)(needed < UINT16_MAX ? needed : UINT16_MAX);
    struct lane_sums none = {.overlaps = {0}};

    for (size_t i = 0; i < BITS_STRIDE; i++) {
        none.x[i] = (int16_t)((section_count + 1) / 2);
    }
    for (size_t first = 0; first < end; first += BITS_STRIDE) {
        struct lane_sums sums = none;
        uint8_t reaching[BITS_STRIDE];

        for (size_t s = 0; s < section_count; s++) {
            add_section(&sections[s], first, &sums);
        }
        sums_reaching(&sums, k, reaching);
        for (size_t i = 0; i < BITS_STRIDE; i++) {
            uint32_t most = 0;

            if (reaching[i]) {
                most = sums.unknown[i] ? SUMS_FLOOR_MOST : sums_bound(sums.x[i], base, sums.v[i]);
            }
            out[first + i] = (uint16_t)(most >= floor ? 1 + most : 0);
        }
    }
    memset(out + count, 0, (end - count) * sizeof(*out));
}

#endif

#if !defined(BITS_OWN_PHI_FLOORS)

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

#endif

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
