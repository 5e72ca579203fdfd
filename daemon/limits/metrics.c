/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/limits/metrics.h"

#include <string.h>

void metrics_init(struct metrics *metrics, int64_t now_ms)
{
    memset(metrics, 0, sizeof(*metrics));
    metrics->since_ms = metrics->window_ms = metrics->before_ms = now_ms;
}

/* If the newer window of counts began at least one minute ago, it becomes the older window, and a
 * new window begins. If it began at least two minutes ago, both windows are emptied. */
static void metrics_turn(struct metrics *metrics, int64_t now_ms)
{
    int64_t age_ms = now_ms - metrics->window_ms;

    if (age_ms < METRICS_WINDOW_MS) {
        return;
    }
    if (age_ms < 2 * METRICS_WINDOW_MS) {
        memcpy(metrics->windows[1], metrics->windows[0], sizeof(metrics->windows[1]));
        metrics->before_ms = metrics->window_ms;
    } else {
        memset(metrics->windows[1], 0, sizeof(metrics->windows[1]));
        metrics->before_ms = now_ms - METRICS_WINDOW_MS;
    }
    memset(metrics->windows[0], 0, sizeof(metrics->windows[0]));
    metrics->window_ms = now_ms;
}

void metrics_note(struct metrics *metrics, enum metric metric, uint64_t took_ns, int64_t now_ms)
{
    uint64_t took_us = took_ns / 1000;

    metrics_turn(metrics, now_ms);
    metrics->totals[metric]++;
    metrics->sums_us[metric] += took_us;
    for (size_t i = metric == METRIC_DEPOSIT ? METRICS_BOUNDS : 0;
         i > 0 && took_us <= metrics_bound_us(i - 1); i--) {
        metrics->within[i - 1]++;
    }
    histogram_add(&metrics->windows[0][metric], took_us);
}

void metrics_note_left(struct metrics *metrics, enum departure departure, uint32_t count)
{
    metrics->left[departure] += count;
}

uint64_t metrics_bound_us(size_t i)
{
    static const uint32_t bounds[METRICS_BOUNDS] = {
        100, 250, 1000, 2500, 10000, 25000, 100000, 250000, 500000, 1000000, 2500000,
    };

    return bounds[i];
}

const char *metrics_departure(enum departure departure)
{
    static const char *const names[DEPARTURES] = {[LEFT_EXPIRED] = "expired",
                                                  [LEFT_EVICTED] = "evicted",
                                                  [LEFT_WITHDRAWN] = "withdrawn",
                                                  [LEFT_REMOVED] = "removed"};

    return names[departure];
}

const char *metrics_name(enum metric metric)
{
    static const char *const names[METRICS] = {
        [METRIC_DEPOSIT] = "deposit", [METRIC_QUERY] = "query", [METRIC_GET] = "get"};

    return names[metric];
}

void metrics_report(struct metrics *metrics, enum metric metric, int64_t now_ms,
                    struct metric_report *out_report)
{
    metrics_turn(metrics, now_ms);
    struct histogram recent = metrics->windows[0][metric];
    int64_t elapsed_ms = now_ms - metrics->before_ms;

    histogram_merge(&recent, &metrics->windows[1][metric]);
    *out_report = (struct metric_report){
        .total = metrics->totals[metric],
        .p50_us = histogram_percentile(&recent, 500000),
        .p90_us = histogram_percentile(&recent, 900000),
        .p99_us = histogram_percentile(&recent, 990000),
        .max_us = recent.greatest,
    };
    if (elapsed_ms > 0) {
        out_report->per_minute =
            (recent.count * 60000 + (uint64_t)elapsed_ms / 2) / (uint64_t)elapsed_ms;
    }
}
