/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/stats.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

double stats_percentile(double *samples, size_t count, double share)
{
    assert(count > 0);
    qsort(samples, count, sizeof(*samples), compare);
    size_t rank = (size_t)(share * (double)count);
    if (rank >= count) {
        rank = count - 1;
    }
    return samples[rank];
}

double stats_median(double *samples, size_t count)
{
    assert(count > 0);
    qsort(samples, count, sizeof(*samples), compare);
    if (count % 2 == 1) {
        return samples[count / 2];
    }
    return (samples[count / 2 - 1] + samples[count / 2]) / 2;
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec now = {0};

    (void)clock_gettime(clock, &now); /* cannot fail with these clocks */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t stats_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t stats_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
