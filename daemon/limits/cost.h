/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost: what a request costs its sender, in tokens of a bucket (core/base/bucket.h), from the work
 * that is done for the request at most. docs/protocol.md has the same table for clients.
 *
 * One token pays for comparing all messages with one filter, or for testing all their ids with
 * COST_LOOKS hashes, or for reading one page of messages from the store.
 */
#ifndef DAEMON_LIMITS_COST_H
#define DAEMON_LIMITS_COST_H

#include <stdint.h>

#include "daemon/limits/sender.h"
#include "proto/msg.h"

enum {
    COST_LOOKS = 3,          /* hashes of slices, and slices, for a token */
    COST_PAGE_MESSAGES = 64, /* on a page of what a watch catches up with, at most */
    COST_MOST = 160          /* tokens for the dearest request within proto/limits.h */
};

/* What is done at most. */
struct cost {
    uint32_t parts;  /* filters, each compared with all messages */
    uint32_t slices; /* of Query.exclude: an id is hashed for each, */
    uint32_t hashes; /* ... and tested with each of their hashes; of all slices together */
    uint32_t pages;  /* read from the store */
    uint32_t others; /* small things: one message, one summary, one list of labels */
};

/* In tokens, rounded up. 0 if nothing is done. */
uint32_t cost_tokens(const struct cost *cost);

/* The tokens that a request costs, and in *out_action of which bucket; 0: the request is free. What
 * a watch catches up with is not in it: its pages cost when they are read. */
uint32_t cost_of_request(const struct msg_request *request, enum sender_action *out_action);

#endif
