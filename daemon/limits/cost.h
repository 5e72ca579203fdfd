/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost: the cost of a request in tokens of its sender's bucket (core/base/bucket.h). Clients find
 * the cost of each request in docs/protocol.md.
 *
 * One token pays for one part of a query, or for testing the ids of all messages with PRICE_LOOKS
 * hashes or slices, or for reading one page of messages from the store. A deposit, withdrawal or
 * report costs one token, too. Bounds save about three quarters of the time that it takes to
 * compare a part with all messages (docs/tree.md). No bound holds for a part that is more than half
 * full in a section, so such a part costs COST_FULL tokens.
 */
#pragma once

#include "proto/msg.h"

enum {
    COST_PAGE = 1,           /* tokens for a page of messages that is read from the store */
    COST_PAGE_MESSAGES = 64, /* most messages of a page that is read for a watch */
    COST_FULL = 4,           /* a part with a section of which more than half is set */
    COST_HOOD = 4,           /* a query with the scope HOOD costs this times as much */
    COST_MOST = 1408         /* tokens for the most expensive request within proto/limits.h */
};

/* Returns the tokens that a query or a watch costs, `full` parts of which cost COST_FULL. The pages
 * that a watch reads later are not included: each costs COST_PAGE when it is read. */
uint32_t cost_query(const struct hearsay_query *query, uint32_t full);
