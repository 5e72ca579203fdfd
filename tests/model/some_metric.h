/* SPDX-License-Identifier: Apache-2.0 */
/* The metric and the order of a random query. */
#pragma once

#include "core/index/index.h"
#include "tests/lib/rng.h"

static inline enum index_metric some_metric(struct rng *rng)
{
    return rng_chance(rng, 50) ? INDEX_METRIC_PHI : INDEX_METRIC_BITS;
}

static inline enum index_order some_order(struct rng *rng)
{
    return rng_chance(rng, 30) ? INDEX_ORDER_NEWEST : INDEX_ORDER_SIMILARITY;
}
