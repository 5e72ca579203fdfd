/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library: queries asked through libhearsay, as a program does: each request is encoded when it is
 * asked, each answer is decoded and looked at.
 */
#ifndef TESTS_BENCH_LIBRARY_H
#define TESTS_BENCH_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "client/hearsay.h"
#include "tests/bench/peer.h"

/* Connects to 127.0.0.1:port. 0 or -1. hearsay_close in any case, where *out is not NULL. */
int library_connect(uint16_t port, struct hearsay **out);

/* The filters of messages 0 .. count - 1 of `seed`; owned by the caller, who frees. NULL: failed.
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
 * Asks for the WORKLOAD_K nearest without payload, `total` times. An answer that has not as many or
 * is not exact is a failure. Of *out, bytes_in is 0. 0 or -1.
 */
int library_run(struct hearsay *server, const struct library_load *load, struct peer_outcome *out);

#endif
