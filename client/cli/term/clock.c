/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/term/out.h"

#include <time.h>

static int64_t clock_read_us(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now); /* cannot fail with the two clocks below */
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_monotonic_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

int64_t clock_unix_ms(void)
{
    return clock_read_us(CLOCK_REALTIME) / 1000;
}
