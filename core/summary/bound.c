/* SPDX-License-Identifier: Apache-2.0 */
#include "core/summary/bound.h"

bool bound_has_estimate(const struct estimate *estimate)
{
    return estimate_section_count(estimate) == 1;
}

/* Each of the three table values may be wrong by 1/2 through rounding, so the bound is widened by
 * ROUNDING. */
static struct similarity widened_estimate(const struct bound_query *query, uint32_t cardinality,
                                          uint32_t overlap)
{
    enum { ROUNDING = 4 };
    const uint32_t *labels = query->labels;
    struct similarity rank = estimate_similarity(labels[query->set_bits], labels[cardinality],
                                                 labels[query->set_bits + cardinality - overlap]);

    if (rank.all <= 2 * ROUNDING || rank.all - rank.shared <= 2 * ROUNDING) {
        return (struct similarity){1, 1};
    }
    return (struct similarity){rank.shared + ROUNDING, rank.all - ROUNDING};
}

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
    *out_rank = query->labels == NULL ? bits : widened_estimate(query, cardinality, overlap);
    return true;
}
