/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics: how much is asked of the daemon and how long it takes to answer, since its start and in
 * the last one to two minutes. Numbers only: nothing of who asked or for what.
 */
#ifndef DAEMON_LIMITS_METRICS_H
#define DAEMON_LIMITS_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/limits/histogram.h"

enum metric { METRIC_DEPOSIT, METRIC_QUERY, METRIC_GET, METRICS };

enum { METRICS_WINDOW_MS = 60 * 1000 };

/* All zeros but since_ms and window_ms, which are the time of the start. */
struct metrics {
    int64_t since_ms;                     /* monotonic */
    int64_t window_ms;                    /* the newer window's beginning */
    int64_t before_ms;                    /* the older one's, or as window_ms when there is none */
    uint64_t totals[METRICS];             /* answered with success */
    struct histogram windows[2][METRICS]; /* microseconds; the newer one, the older one */
    uint64_t comparisons;                 /* of all queries */
};

struct metric_report {
    uint64_t total;      /* since the start */
    uint64_t per_minute; /* of the last one to two minutes, rounded */
    uint64_t p50_us;     /* from request taken to answer given, of the same time */
    uint64_t p90_us;
    uint64_t p99_us;
    uint64_t max_us;
};

void metrics_init(struct metrics *metrics, int64_t now_ms);

/* Something was answered after took_ns; now_ms is of the monotonic clock. */
void metrics_note(struct metrics *metrics, enum metric metric, uint64_t took_ns, int64_t now_ms);

/* "deposit" and so on. Static storage. */
const char *metrics_name(enum metric metric);

void metrics_report(struct metrics *metrics, enum metric metric, int64_t now_ms,
                    struct metric_report *out_report);

#endif
