/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary_limit: how much a peer may publish as its summaries. The servers of the hub deliver what
 * one access point publishes to every other one of its hood, and have no limit for that. So each
 * bridge drops what is too large or comes too fast, before it decodes it, and counts the drops by
 * peer. A dropped summary changes no answer: the peer counts as one whose summary is not known, and
 * is asked. No I/O, no clock: all times are monotonic, in milliseconds.
 */
#ifndef CLIENT_BRIDGE_ASK_SUMMARY_LIMIT_H
#define CLIENT_BRIDGE_ASK_SUMMARY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/bridge/ask/rates.h"

enum {
    SUMMARY_BYTES_MAX = 48 * 1024,   /* more than the largest summary of the largest profile has */
    SUMMARY_UNIT_BYTES = 1024,       /* a summary costs a token, and one more for each of these */
    SUMMARY_PER_MINUTE = 6000,       /* tokens: twice what a peer with the default profile needs */
    SUMMARY_OVER_MAX = 8,            /* peers that are named at the same time */
    SUMMARY_OVER_MS = 10 * 60 * 1000 /* for how long after its last drop a peer is named */
};

/* A peer of which something was dropped. */
struct summary_over {
    char host[BRIDGE_NAME_BYTES]; /* "": free */
    uint64_t dropped;
    int64_t last_ms;
};

/* Zeroed: nothing was dropped. */
struct summary_limit {
    struct rates rates;
    struct summary_over over[SUMMARY_OVER_MAX]; /* those with the latest drops */
    uint64_t dropped;                           /* of all peers */
};

/* Whether a message of `bytes` that the host has published may be decoded. If not, counts it. The
 * host's name has fewer than BRIDGE_NAME_BYTES. */
bool summary_limit_admits(struct summary_limit *limit, const char *host, size_t bytes,
                          int64_t monotonic_ms);

/* Whether the entry is to be named now. */
bool summary_limit_is_over(const struct summary_over *over, int64_t monotonic_ms);

#endif
