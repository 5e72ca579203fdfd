/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound: how near to a query a message can be if only a union that covers the message is known, and
 * how many bits of each section it has set (docs/tree.md, items 1, 2 and 4 of "Why it is exact";
 * docs/notes/tree.md, "The bound of phi").
 *
 * Both metrics have their nearest message where each section has the number of set bits that is
 * nearest to the number of bits that the union shares with the query.
 */
#pragma once

#include "core/filter/distance.h"
#include "core/profile/phi.h"

struct bound_query {
    const struct phi_query *phi; /* with the metric phi; borrowed. NULL: the metric is bits */
    uint32_t set_bits;           /* of the query */
    uint32_t section_count;      /* of the ranges */
    uint32_t max_distance_ppm;   /* of the distance by the metric, inclusive */
    uint32_t phi_least; /* messages below phi_least / 2^24 are of no use; with the metric phi only.
                           Saves time */
};

/*
 * Writes a similarity that no message is above. `ranges` has section_count elements: one for each
 * section of the profile. With the metric of bits one range for all bits is enough; more ranges
 * give a lower bound. Returns false if no such message is within the query's largest distance, or
 * none is of use; *out_rank is unchanged then.
 */
bool bound_rank(const struct bound_query *query, const struct phi_range *ranges,
                struct similarity *out_rank);
