/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/price.h"

uint32_t price_of_query(const struct hearsay_query *query)
{
    /* The codec bounds the number of parts, of slices and of their hashes. */
    uint32_t parts = query->part_count > 0 ? (uint32_t)query->part_count : 1;
    uint32_t looks = (uint32_t)query->exclude_count;

    for (size_t i = 0; i < query->exclude_count; i++) {
        looks += query->exclude[i].hashes;
    }
    return parts + (looks + PRICE_LOOKS - 1) / PRICE_LOOKS;
}
