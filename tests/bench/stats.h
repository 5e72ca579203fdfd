/* SPDX-License-Identifier: Apache-2.0 */
/* stats: percentiles and medians of measurements, and the clock of the measurements. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the value below which `share` (0 to 1) of the samples lie, by the nearest rank. Sorts the
 * samples. count >= 1. O(n log n).
 */
double stats_percentile(double *samples, size_t count, double share);

/*
 * Returns the median: the middle sample, or the mean of the two middle samples. Sorts the samples.
 * count >= 1.
 */
double stats_median(double *samples, size_t count);

/* Monotonic, nanoseconds. */
int64_t stats_now_ns(void);

/* Processor time of this thread, nanoseconds. */
int64_t stats_cpu_ns(void);
