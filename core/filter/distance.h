/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distance: similarities and distances as exact fractions. This file does not use floating point,
 * so that all machines order messages in the same way.
 *
 * A similarity is the fraction shared / all, where shared <= all. The distance is 1 - similarity.
 * Two empty filters have the distance 0, so the fraction 0/0 counts as 1/1.
 *
 * Example: 12 shared bits of 16 are a similarity of 0.75 and a distance of 0.25 (250,000 ppm).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Distance 1 in millionths (ppm). */
enum { DISTANCE_ONE_PPM = 1000000 };

/*
 * The similarity shared / all of two filters. With the bit metric (Jaccard), `shared` is the number
 * of set bits of the intersection, and `all` is the number of set bits of the union. With phi, the
 * fraction is phi (core/profile/phi.h).
 */
struct similarity {
    uint32_t shared;
    uint32_t all;
};

/* Makes a similarity; 0/0 becomes 1/1. shared <= all. */
static inline struct similarity similarity_of(uint32_t shared, uint32_t all)
{
    return all == 0 ? (struct similarity){1, 1} : (struct similarity){shared, all};
}

/*
 * Compares two similarities. Returns a negative number if a is less similar than b, 0 if a and b
 * are equal, a positive number if a is more similar than b. Multiplies crosswise, so that the
 * result is exact.
 */
static inline int similarity_compare(struct similarity a, struct similarity b)
{
    uint64_t left = (uint64_t)a.shared * b.all;
    uint64_t right = (uint64_t)b.shared * a.all;

    return (left > right) - (left < right);
}

/*
 * A floor is a similarity in units of 2^-24, rounded down, of any metric: messages below it are of
 * no use to somebody. 0 means no floor. Nothing is lost by the rounding, and nothing comes in
 * besides: two different similarities of the bit metric differ by at least 1 / (4096 * 4095), which
 * is more than a unit, and phi is a number of such units.
 */
enum { SIMILARITY_FLOOR_ONE = 1 << 24 };

static inline uint32_t similarity_floor(struct similarity s)
{
    return (uint32_t)((uint64_t)s.shared * SIMILARITY_FLOOR_ONE / s.all);
}

static inline struct similarity similarity_of_floor(uint32_t floor)
{
    return (struct similarity){floor, SIMILARITY_FLOOR_ONE};
}

/*
 * Returns whether the distance is at most `ppm` millionths. Always true if `ppm` is at least
 * 1,000,000.
 */
static inline bool distance_within(struct similarity s, uint32_t ppm)
{
    return (uint64_t)(s.all - s.shared) * DISTANCE_ONE_PPM <= (uint64_t)s.all * ppm;
}

/*
 * Returns the distance in millionths, rounded up. It is the least bound that the fraction is within
 * (distance_within), so that a client which gives it back as the largest distance finds its
 * message.
 */
uint32_t distance_ppm(struct similarity s);
