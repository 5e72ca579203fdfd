/* SPDX-License-Identifier: Apache-2.0 */
#include "core/summary/bound.h"

/*
 * Of two messages with the same overlap, the message with the smaller cardinality is more similar;
 * and an overlap is at most the cardinality. So the best possible message has the cardinality in
 * [low, high] that is nearest to `shared`.
 */
bool bound_rank(const struct bound_query *query, uint32_t low, uint32_t high, uint32_t shared,
                struct similarity *out_rank)
{
    uint32_t cardinality = shared < low ? low : shared > high ? high : shared;
    uint32_t overlap = shared < cardinality ? shared : cardinality;
    struct similarity bits = similarity_of(overlap, query->set_bits + cardinality - overlap);

    if (!distance_within(bits, query->max_distance_ppm)) {
        return false;
    }
    *out_rank = bits;
    return true;
}
