/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics: counts the answered requests since the start with their latencies, the latencies of the
 * requests of the last few minutes, and the messages that left. Only numbers are kept: nothing says
 * who sent a request, or what was in it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* --- histogram -------------------------------------------------------------------------------- */

/*
 * Counts of values such as latencies, in log-linear buckets. From 16 on, each range from
 * a power of two to the next is cut into 16 equal parts. All values from 31 * 2^31 on are in the
 * last bucket. A percentile that is not in the last bucket is at most 1/16 above the true value. A
 * histogram takes about 2 KiB.
 */

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

/* --- metrics ---------------------------------------------------------------------------------- */

enum metric { METRIC_DEPOSIT, METRIC_QUERY, METRIC_GET, METRICS };

/* How a message leaves the store. */
enum departure { LEFT_EXPIRED, LEFT_EVICTED, LEFT_WITHDRAWN, LEFT_REMOVED, DEPARTURES };

/* METRICS_BOUNDS: the upper bounds by which the latencies of deposits are counted since the start.
 * A deposit waits for all that a request can wait for: the loop, the storage. */
enum { METRICS_WINDOW_MS = 60 * 1000, METRICS_BOUNDS = 11 };

/*
 * At the start since_ms, window_ms and before_ms are the time of the start. All other fields are 0.
 */
struct metrics {
    int64_t since_ms;                /* monotonic */
    int64_t window_ms;               /* the newer window's beginning */
    int64_t before_ms;               /* beginning of the older window; at the start: window_ms */
    uint64_t totals[METRICS];        /* requests answered without an error */
    uint64_t sums_us[METRICS];       /* their latencies */
    uint64_t within[METRICS_BOUNDS]; /* deposits that took at most metrics_bound_us */
    uint64_t left[DEPARTURES];       /* messages */
    uint64_t reports;                /* reports that the store took */
    uint64_t without_here;           /* stored deposits without the here labels of their client */
    struct histogram windows[2][METRICS]; /* microseconds; the newer one, the older one */
    uint64_t comparisons;                 /* of all queries */
};

struct metric_report {
    uint64_t total;      /* since the start */
    uint64_t per_minute; /* in both windows, rounded */
    /* Percentiles and the maximum of the latency, from request taken to answer given, in both
     * windows. */
    uint64_t p50_us;
    uint64_t p90_us;
    uint64_t p99_us;
    uint64_t max_us;
};

void metrics_init(struct metrics *metrics, int64_t now_ms);

/* Counts an answered request that took `took_ns`. `now_ms` is of the monotonic clock. */
void metrics_note(struct metrics *metrics, enum metric metric, uint64_t took_ns, int64_t now_ms);

/* Counts messages that have left the store. */
void metrics_note_left(struct metrics *metrics, enum departure departure, uint32_t count);

/* An upper bound of `within`, in microseconds, for i from 0 to METRICS_BOUNDS - 1; ascending. */
uint64_t metrics_bound_us(size_t i);

/* "expired" and so on. Static storage. */
const char *metrics_departure(enum departure departure);

/* "deposit" and so on. Static storage. */
const char *metrics_name(enum metric metric);

void metrics_report(struct metrics *metrics, enum metric metric, int64_t now_ms,
                    struct metric_report *out_report);
