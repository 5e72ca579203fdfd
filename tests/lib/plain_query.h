/* SPDX-License-Identifier: Apache-2.0 */
/* plain_query: a query of an index at any distance and time; a test changes what it is about. */
#pragma once

#include "core/index/index.h"

/* For the k nearest; what it points to is borrowed. */
static inline struct index_query plain_index_query(const struct index_part *parts, size_t count,
                                                   uint32_t k)
{
    return (struct index_query){
        .parts = parts,
        .part_count = (uint32_t)count,
        .k = k,
        .max_distance_ppm = DISTANCE_ONE_PPM,
        .since_ms = INT64_MIN,
        .until_ms = INT64_MAX,
        .metric = INDEX_METRIC_BITS,
    };
}
