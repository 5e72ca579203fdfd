/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound: how near to a query by the bit distance a message can be if only a union that covers the
 * message is known (docs/tree.md, items 1 and 2 of "Why it is exact").
 */
#ifndef CORE_SUMMARY_BOUND_H
#define CORE_SUMMARY_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/filter/distance.h"

struct bound_query {
    uint32_t set_bits;         /* of the query */
    uint32_t max_distance_ppm; /* inclusive */
};

/*
 * Writes a similarity that no message is above. The messages have `low` to `high` set bits and
 * share at most `shared` bits with the query; shared <= set_bits of the query. Returns false if no
 * such message is within the query's largest distance; *out_rank is unchanged then.
 */
bool bound_rank(const struct bound_query *query, uint32_t low, uint32_t high, uint32_t shared,
                struct similarity *out_rank);

#endif
