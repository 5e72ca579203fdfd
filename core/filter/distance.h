/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distance: exact fractions. Nothing here is floating point, so every machine orders alike.
 *
 * A similarity is shared / all, with shared <= all. Two empty filters have distance 0, so 0/0
 * counts as 1/1. Distance is 1 - similarity.
 */
#ifndef CORE_FILTER_DISTANCE_H
#define CORE_FILTER_DISTANCE_H

#include <stdbool.h>
#include <stdint.h>

/* One whole, in the millionths that distances are given in. */
enum { DISTANCE_ONE_PPM = 1000000 };

/*
 * For the bit metric: set bits of the intersection over set bits of the union (Jaccard).
 * For the estimated metric: estimated labels, in units of 1/65536 label (estimate.h).
 */
struct similarity {
    uint32_t shared;
    uint32_t all;
};

/* shared / all as a similarity; 0/0 becomes 1/1. shared <= all. */
static inline struct similarity similarity_of(uint32_t shared, uint32_t all)
{
    return all == 0 ? (struct similarity){1, 1} : (struct similarity){shared, all};
}

/* < 0, 0 or > 0 as a is less similar than, as similar as, more similar than b. Cross-multiplies. */
static inline int similarity_compare(struct similarity a, struct similarity b)
{
    uint64_t left = (uint64_t)a.shared * b.all;
    uint64_t right = (uint64_t)b.shared * a.all;

    return (left > right) - (left < right);
}

/* Whether 1 - shared / all <= ppm / 1,000,000. ppm may exceed one whole: then always true. */
static inline bool distance_within(struct similarity s, uint32_t ppm)
{
    return (uint64_t)(s.all - s.shared) * DISTANCE_ONE_PPM <= (uint64_t)s.all * ppm;
}

/* The distance and the similarity in millionths, rounded to nearest; they add up to one whole. */
uint32_t distance_ppm(struct similarity s);
uint32_t similarity_ppm(struct similarity s);

#endif
