/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/limits/metrics.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"

TEST(test_empty)
{
    struct histogram histogram = {.count = 0};

    assert_int_equal(histogram_percentile(&histogram, 1), 0);
    assert_int_equal(histogram_percentile(&histogram, 1000000), 0);
}

/* Of one value every percentile is that value, whatever its bucket's width. */
TEST(test_one_value)
{
    static const uint64_t values[] = {
        0,         1, 15, 16, 17, 31, 32, 1000, 4095, 4096, UINT64_C(1) << 35, UINT64_C(1) << 36,
        UINT64_MAX};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct histogram histogram = {.count = 0};
        histogram_add(&histogram, values[i]);
        assert_int_equal(histogram.count, 1);
        assert_true(histogram_percentile(&histogram, 1) == values[i]);
        assert_true(histogram_percentile(&histogram, 1000000) == values[i]);
    }
}

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

/* Against the sorted values: never below the true percentile, and at most 1/16 above it. */
TEST(test_against_sorting)
{
    enum { COUNT = 5000 };
    static const uint32_t percentiles[] = {1, 1000, 500000, 900000, 990000, 999999, 1000000};
    uint64_t *values = calloc(COUNT, sizeof(*values));
    struct histogram parts[2] = {{.count = 0}};
    struct rng rng;

    assert_non_null(values);
    rng_init(&rng);
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = rng_next(&rng) >> (29 + rng_next(&rng) % 35);
        histogram_add(&parts[i % 2], values[i]);
    }
    histogram_merge(&parts[0], &parts[1]);
    assert_int_equal(parts[0].count, COUNT);
    qsort(values, COUNT, sizeof(*values), compare);
    for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++) {
        const uint64_t rank = (COUNT * (uint64_t)percentiles[i] + 999999) / 1000000;
        const uint64_t truth = values[rank - 1];
        const uint64_t said = histogram_percentile(&parts[0], percentiles[i]);
        assert_true(said >= truth);
        assert_true(said <= truth + truth / 16);
    }
    free(values);
}

/* What is of the last two minutes is reported, older things only in the totals. */
TEST(test_windows)
{
    struct metrics metrics;
    struct metric_report report;

    metrics_init(&metrics, 1000);
    metrics_note(&metrics, METRIC_QUERY, 5000 * 1000, 1000);
    metrics_report(&metrics, METRIC_QUERY, 31000, &report);
    assert_int_equal(report.total, 1);
    assert_int_equal(report.per_minute, 2); /* one in half a minute */
    assert_int_equal(report.max_us, 5000);
    assert_int_equal(report.p50_us, 5000);

    metrics_note(&metrics, METRIC_QUERY, 10 * 1000, 61000); /* a new window */
    metrics_report(&metrics, METRIC_QUERY, 61000, &report);
    assert_int_equal(report.total, 2);
    assert_int_equal(report.per_minute, 2);
    assert_int_equal(report.max_us, 5000);
    assert_int_equal(report.p50_us, 10);

    metrics_report(&metrics, METRIC_QUERY, 121000, &report); /* the first window has gone */
    assert_int_equal(report.max_us, 10);
    metrics_report(&metrics, METRIC_QUERY, 1000000, &report);
    assert_int_equal(report.total, 2);
    assert_int_equal(report.per_minute, 0);
    assert_int_equal(report.max_us, 0);
    metrics_report(&metrics, METRIC_DEPOSIT, 1000000, &report);
    assert_int_equal(report.total, 0);
}

/* Deposits since the start: each bound counts all latencies up to the bound, the bound included. */
TEST(test_within)
{
    struct metrics metrics;
    uint64_t sum_us = 0;

    metrics_init(&metrics, 0);
    for (size_t i = 0; i < METRICS_BOUNDS; i++) {
        assert_true(i == 0 || metrics_bound_us(i) > metrics_bound_us(i - 1));
        metrics_note(&metrics, METRIC_DEPOSIT, metrics_bound_us(i) * 1000 + 999, 0);
        metrics_note(&metrics, METRIC_DEPOSIT, (metrics_bound_us(i) + 1) * 1000, 0);
        metrics_note(&metrics, METRIC_QUERY, 1000, 0);
        sum_us += 2 * metrics_bound_us(i) + 1;
    }
    for (size_t i = 0; i < METRICS_BOUNDS; i++) {
        assert_int_equal(metrics.within[i], 2 * i + 1);
    }
    assert_int_equal(metrics_bound_us(METRICS_BOUNDS - 1), 2500000);
    assert_int_equal(metrics.totals[METRIC_DEPOSIT], 2 * METRICS_BOUNDS);
    assert_int_equal(metrics.sums_us[METRIC_DEPOSIT], sum_us);
}
