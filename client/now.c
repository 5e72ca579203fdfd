/* SPDX-License-Identifier: Apache-2.0 */
#include "client/now.h"

#include <time.h>

static int64_t now_read_ms(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now); /* cannot fail with the two clocks below */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t now_monotonic_ms(void)
{
    return now_read_ms(CLOCK_MONOTONIC);
}

int64_t now_unix_ms(void)
{
    return now_read_ms(CLOCK_REALTIME);
}
