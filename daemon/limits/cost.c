/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/limits/cost.h"

#include "proto/price.h"

_Static_assert(COST_MOST == COST_HOOD * (LIMIT_PARTS +
                                         (LIMIT_SLICES + LIMIT_SLICES_HASHES + PRICE_LOOKS - 1) /
                                             PRICE_LOOKS),
               "the dearest request is a query with as much of everything as may be");

/* A query with the scope HOOD costs COST_HOOD times as much. */
static uint32_t query_cost(const struct hearsay_query *query)
{
    uint32_t cost = price_of_query(query);

    return query->scope == HEARSAY_SCOPE_HOOD ? COST_HOOD * cost : cost;
}

uint32_t cost_of_request(const struct hearsay_request *request, enum sender_action *out_action)
{
    *out_action = SENDER_QUERY;
    switch (request->kind) {
    case HEARSAY_REQUEST_DEPOSIT:
    case HEARSAY_REQUEST_WITHDRAW:
    case HEARSAY_REQUEST_REPORT:
        *out_action = SENDER_DEPOSIT;
        return 1;
    case HEARSAY_REQUEST_QUERY:
        return query_cost(&request->query);
    case HEARSAY_REQUEST_WATCH:
        return query_cost(&request->watch.query);
    case HEARSAY_REQUEST_GET:
    case HEARSAY_REQUEST_SUMMARY:
    case HEARSAY_REQUEST_HERE:
        return 1;
    case HEARSAY_REQUEST_UNKNOWN:
    case HEARSAY_REQUEST_HELLO:
    case HEARSAY_REQUEST_UNWATCH:
    case HEARSAY_REQUEST_PING:
    case HEARSAY_REQUEST_STATS:
    case HEARSAY_REQUEST_REMOVE:
    case HEARSAY_REQUEST_RESTORE:
    case HEARSAY_REQUEST_REPORTED:
    case HEARSAY_REQUEST_BAN:
    case HEARSAY_REQUEST_ACCEPT:
    case HEARSAY_REQUEST_CHECK:
    case HEARSAY_REQUEST_EXPORT:
    case HEARSAY_REQUEST_BACKUP:
    case HEARSAY_REQUEST_COMPACT:
    case HEARSAY_REQUEST_RELOAD:
    case HEARSAY_REQUEST_LOG_LEVEL:
    case HEARSAY_REQUEST_UNBAN:
    case HEARSAY_REQUEST_BANS:
    case HEARSAY_REQUEST_HIDE:
    case HEARSAY_REQUEST_DECISIONS:
    case HEARSAY_REQUEST_WAIT:
    case HEARSAY_REQUEST_NOTICE:
    case HEARSAY_REQUEST_CHANGES:
    case HEARSAY_REQUEST_APPLY:
    case HEARSAY_REQUEST_SERVE:
    case HEARSAY_REQUEST_ANSWERED:
    case HEARSAY_REQUEST_SIMILAR:
        break; /* without a default, so that the compiler names a request that has no cost here */
    }
    return 0;
}
