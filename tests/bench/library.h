/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library: queries through libhearsay, as a program asks them. Each request is encoded when it is
 * sent. Each answer is decoded and checked.
 */
#pragma once

#include "client/hearsay.h"
#include "tests/bench/peer.h"

/*
 * Connects to 127.0.0.1:port. Returns 0 or -1. Call hearsay_close in both cases if *out is not
 * NULL.
 */
int library_connect(uint16_t port, struct hearsay **out);

/*
 * Returns the filters of the messages 0 .. count - 1 of `seed`, or NULL on failure. The caller owns
 * and frees the array.
 */
struct hearsay_filter *library_make_filters(uint64_t seed, size_t count);

struct library_load {
    const struct hearsay_filter *filters; /* filter_count of them, asked for over and over */
    size_t filter_count;
    uint64_t total;
    uint64_t window;      /* queries in flight; 1 is hearsay_query, one after the other */
    int patience_ms;      /* for an answer */
    double *latencies_us; /* NULL, or room for total; a window of 1 */
};

/*
 * Asks `total` times for the WORKLOAD_K nearest messages without payloads. An answer with fewer
 * results, or one that is not exact, is a failure. bytes_in of *out is 0. Returns 0 or -1.
 */
int library_run(struct hearsay *server, const struct library_load *load, struct peer_outcome *out);
