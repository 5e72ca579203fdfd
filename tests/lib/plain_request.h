/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_request: requests as most tests send them, by the bits and at any distance; a test changes
 * what it is about. What a query does not say is as the decoder has it. What they point to is
 * borrowed.
 */
#pragma once

#include <stddef.h>
#include <string.h>

#include "proto/limits.h"
#include "proto/msg.h"

static inline struct hearsay_query plain_query(const struct hearsay_query_part *parts,
                                               size_t part_count, uint32_t k)
{
    return (struct hearsay_query){
        .k = k,
        .parts = parts,
        .part_count = part_count,
        .max_distance_ppm = LIMIT_DISTANCE_PPM,
        .since_ms = INT64_MIN,
        .until_ms = INT64_MAX,
        .metric = HEARSAY_METRIC_BITS,
        .order = HEARSAY_ORDER_SIMILARITY,
        .scope = HEARSAY_SCOPE_HERE,
        .wait_ms = LIMIT_WAIT_MS_DEFAULT,
        .max_staleness_ms = UINT64_MAX,
    };
}

/* A text, in reach at any distance. */
static inline struct hearsay_deposit plain_deposit(const uint8_t *id, const uint8_t *filter,
                                                   size_t filter_bytes, const char *text)
{
    return (struct hearsay_deposit){
        .id = {id, LIMIT_ID_BYTES},
        .filter = {filter, filter_bytes},
        .media_type = {"text/plain", 10},
        .payload = {(const uint8_t *)text, strlen(text)},
        .reach_ppm = LIMIT_DISTANCE_PPM,
    };
}
