/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram: counts of values such as latencies, in log-linear buckets. From 16 on, each range from
 * a power of two to the next is cut into 16 equal parts. All values from 31 * 2^31 on are in the
 * last bucket. A percentile that is not in the last bucket is at most 1/16 above the true value. A
 * histogram takes about 2 KiB.
 */
#ifndef DAEMON_LIMITS_HISTOGRAM_H
#define DAEMON_LIMITS_HISTOGRAM_H

#include <stdint.h>

enum {
    HISTOGRAM_PARTS =
        16, /* of the range between two powers of two; values below 16 have a bucket each */
    HISTOGRAM_POWERS = 32, /* cut into parts: from 2^4 to 2^36 */
    HISTOGRAM_BUCKETS = (HISTOGRAM_POWERS + 1) * HISTOGRAM_PARTS
};

/* All zeros is an empty one. */
struct histogram {
    uint32_t counts[HISTOGRAM_BUCKETS]; /* a count stays at UINT32_MAX instead of running over */
    uint64_t count;                     /* the sum of `counts` */
    uint64_t greatest;
};

/* Counts a value, unless the count of its bucket is UINT32_MAX. O(1). */
void histogram_add(struct histogram *histogram, uint64_t value);

/* Adds the values of `other`. */
void histogram_merge(struct histogram *histogram, const struct histogram *other);

/*
 * Returns a percentile of the counted values. `millionths` (1 .. 1,000,000) chooses the percentile:
 * 500,000 is the median. The result is the greatest value that the bucket of the percentile may
 * hold, but not more than the greatest counted value. In the last bucket it is the greatest counted
 * value. Returns 0 if there are no values. O(buckets).
 */
uint64_t histogram_percentile(const struct histogram *histogram, uint32_t millionths);

#endif
