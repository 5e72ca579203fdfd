/* SPDX-License-Identifier: Apache-2.0 */
#include "core/summary/bound.h"

/*
 * In each section a message shares at most min(shared, most) bits with the query, and has at least
 * least - shared bits that it does not share. A message with as many set bits as the number in
 * [least, most] that is nearest to `shared` has both numbers at once, so no message is more
 * similar.
 */
static struct similarity bound_bits(const struct bound_query *query, const struct phi_range *ranges)
{
    uint32_t overlap = 0;
    uint32_t other = 0;

    for (uint32_t s = 0; s < query->section_count; s++) {
        const struct phi_range *range = &ranges[s];

        overlap += range->shared < range->most ? range->shared : range->most;
        other += range->shared < range->least ? range->least - range->shared : 0;
    }
    return similarity_of(overlap, query->set_bits + other);
}

bool bound_rank(const struct bound_query *query, const struct phi_range *ranges,
                struct similarity *out_rank)
{
    struct similarity rank;

    if (query->phi == NULL) {
        rank = bound_bits(query, ranges);
    } else if (!phi_bound(query->phi, ranges, query->phi_least, &rank)) {
        return false;
    }
    if (!distance_within(rank, query->max_distance_ppm)) {
        return false;
    }
    *out_rank = rank;
    return true;
}
