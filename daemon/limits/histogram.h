/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram: counts of values such as latencies, in log-linear buckets. Each power of two is cut
 * into 16 equal parts. So a percentile below 2^36 is at most 1/16 above the true value. Larger
 * values are all in the last bucket. A histogram takes about 2 KiB.
 */
#ifndef DAEMON_LIMITS_HISTOGRAM_H
#define DAEMON_LIMITS_HISTOGRAM_H

#include <stdint.h>

enum {
    HISTOGRAM_PARTS = 16,  /* of each power of two; values below are exact */
    HISTOGRAM_POWERS = 32, /* up to 2^36 - 1; larger values are in the last bucket */
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
 * Returns a percentile of the counted values. `millionths` (1 .. 1,000,000) chooses the percentile:
 * 500,000 is the median. The result is the upper end of a bucket: for values below 2^36 up to 1/16
 * above the true percentile, but never above the greatest value. Returns 0 if there are no values.
 * O(buckets).
 */
uint64_t histogram_percentile(const struct histogram *histogram, uint32_t millionths);

#endif
