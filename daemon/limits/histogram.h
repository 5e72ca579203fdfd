/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram: how long things took, in buckets that are log-linear: each power of two is cut into 16
 * equal parts, so that a percentile is at most 1/16 above the true one, at any size, in 2 KiB.
 */
#ifndef DAEMON_LIMITS_HISTOGRAM_H
#define DAEMON_LIMITS_HISTOGRAM_H

#include <stdint.h>

enum {
    HISTOGRAM_PARTS = 16,  /* of each power of two; values below are exact */
    HISTOGRAM_POWERS = 32, /* above the first 16: up to 2^36 - 1; larger values count as that */
    HISTOGRAM_BUCKETS = (HISTOGRAM_POWERS + 1) * HISTOGRAM_PARTS
};

/* All zeros is an empty one. */
struct histogram {
    uint32_t counts[HISTOGRAM_BUCKETS]; /* stay at their largest instead of running over */
    uint64_t count;                     /* of all values */
    uint64_t greatest;
};

/* Counts a value, of whatever unit. O(1). */
void histogram_add(struct histogram *histogram, uint64_t value);

/* Adds another one's values. */
void histogram_merge(struct histogram *histogram, const struct histogram *other);

/*
 * The least value of which we know that at least so many millionths (1 .. 1,000,000) of all values
 * are not above it: the upper end of a bucket, and never above the greatest value. 0 when there are
 * none. O(buckets).
 */
uint64_t histogram_percentile(const struct histogram *histogram, uint32_t millionths);

#endif
