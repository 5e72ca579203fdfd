/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/limits/cost.h"

_Static_assert(COST_MOST ==
                   COST_HOOD * (LIMIT_PARTS +
                                (LIMIT_SLICES + LIMIT_SLICES_HASHES + COST_LOOKS - 1) / COST_LOOKS),
               "the dearest request is a query with as much of everything as may be");

/* Returns the tokens that a query costs: one for each part, and one for each COST_LOOKS slices and
 * hashes of `exclude`, rounded up; with the scope HOOD COST_HOOD times as much. */
static uint32_t query_cost(const struct msg_query *query)
{
    /* The codec bounds the number of parts, of slices and of their hashes. A query without parts,
     * which is refused later, costs as much as a query with one part. */
    uint32_t parts = query->part_count > 0 ? (uint32_t)query->part_count : 1;
    uint32_t looks = (uint32_t)query->exclude_count;

    for (size_t i = 0; i < query->exclude_count; i++) {
        looks += query->exclude[i].hashes;
    }
    uint32_t cost = parts + (looks + COST_LOOKS - 1) / COST_LOOKS;
    return query->scope == MSG_SCOPE_HOOD ? COST_HOOD * cost : cost;
}

uint32_t cost_of_request(const struct msg_request *request, enum sender_action *out_action)
{
    *out_action = SENDER_QUERY;
    switch (request->kind) {
    case MSG_REQUEST_DEPOSIT:
    case MSG_REQUEST_WITHDRAW:
    case MSG_REQUEST_REPORT:
        *out_action = SENDER_DEPOSIT;
        return 1;
    case MSG_REQUEST_QUERY:
        return query_cost(&request->query);
    case MSG_REQUEST_WATCH:
        return query_cost(&request->watch.query);
    case MSG_REQUEST_GET:
    case MSG_REQUEST_SUMMARY:
    case MSG_REQUEST_HERE:
        return 1;
    default:
        return 0;
    }
}
