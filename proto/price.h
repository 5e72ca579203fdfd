/* SPDX-License-Identifier: Apache-2.0 */
/*
 * price: how many tokens a query costs at one host: hearsayd takes them from the sender of a query,
 * and hearsay-bridge from the neighbour that asks.
 */
#pragma once

#include "proto/msg.h"

enum { PRICE_LOOKS = 3 }; /* hashes of slices, and slices, for a token */

/*
 * Returns the tokens: one for each part, and one for each PRICE_LOOKS slices and hashes of
 * `exclude`, rounded up. A query without parts costs as much as a query with one part. Two things
 * are not counted here, the scope and full filters: daemon/limits/cost.h adds what these cost.
 */
uint32_t price_of_query(const struct hearsay_query *query);
