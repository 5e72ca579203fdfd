/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound: how near to a query a message can be if only a union that covers the message is known
 * (docs/tree.md, items 1, 2 and 4 of "Why it is exact").
 */
#ifndef CORE_SUMMARY_BOUND_H
#define CORE_SUMMARY_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/filter/distance.h"
#include "core/profile/estimate.h"

struct bound_query {
    uint32_t set_bits;         /* of the query */
    uint32_t max_distance_ppm; /* of the bit distance, inclusive */
    /*
     * With the estimated metric the table of labels by set bits, of a profile of one section
     * (estimate_table); borrowed. NULL: the metric is bits. With several sections the estimated
     * metric has no bound, because numbers of set bits do not say in which sections the bits are.
     */
    const uint32_t *labels;
};

/* Returns whether the estimated metric has a bound for this profile. */
bool bound_has_estimate(const struct estimate *estimate);

/*
 * Writes a similarity that no message is above. The messages have `low` to `high` set bits and
 * share at most `shared` bits with the query; shared <= set_bits of the query. Returns false if no
 * such message is within the query's largest distance; *out_rank is unchanged then.
 */
bool bound_rank(const struct bound_query *query, uint32_t low, uint32_t high, uint32_t shared,
                struct similarity *out_rank);

#endif
