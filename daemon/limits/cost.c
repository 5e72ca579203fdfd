/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/limits/cost.h"

#include "proto/price.h"

_Static_assert(COST_MOST == COST_HOOD * (COST_FULL * LIMIT_PARTS +
                                         (LIMIT_SLICES + LIMIT_SLICES_HASHES + PRICE_LOOKS - 1) /
                                             PRICE_LOOKS),
               "the dearest request is a query with as much of everything as may be");

uint32_t cost_query(const struct hearsay_query *query, uint32_t full)
{
    uint32_t cost = price_of_query(query) + full * (COST_FULL - 1);

    return query->scope == HEARSAY_SCOPE_HOOD ? COST_HOOD * cost : cost;
}
