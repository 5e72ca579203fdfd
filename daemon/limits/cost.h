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
    COST_PAGE = 1,           /* tokens for a page of messages that is read from the store */
    COST_LOOKS = 3,          /* hashes of slices, and slices, for a token */
    COST_PAGE_MESSAGES = 64, /* on a page of what a watch catches up with, at most */
    COST_MOST = 160          /* tokens for the dearest request within proto/limits.h */
};

/* The tokens that a request costs, and in *out_action of which bucket; 0: the request is free. What
 * a watch catches up with is not in it: its pages cost when they are read. */
uint32_t cost_of_request(const struct msg_request *request, enum sender_action *out_action);

#endif
