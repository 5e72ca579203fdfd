/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/server.h"

#include <sys/timex.h>
#include <time.h>

#include <uv.h>

void server_clock_read(void *context, int64_t *out_wall_ms, int64_t *out_monotonic_ms)
{
    struct timespec wall;
    struct timespec monotonic;
    (void)context;

    clock_gettime(CLOCK_REALTIME, &wall); /* neither fails with these clocks */
    clock_gettime(CLOCK_BOOTTIME, &monotonic);
    *out_wall_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000;
    *out_monotonic_ms = (int64_t)monotonic.tv_sec * 1000 + monotonic.tv_nsec / 1000000;
}

/*
 * Most programs that set the clock clear the flag STA_UNSYNC. Some programs leave the flag set, so
 * that the kernel does not write the hardware clock, and only set maxerror. If no program sets
 * maxerror, the kernel lets maxerror grow to 16 s. So a maxerror below 16 s also means that the
 * clock is synchronised.
 */
bool server_clock_is_synchronised(void *context)
{
    struct timex state = {.modes = 0}; /* reads */
    (void)context;

    return adjtimex(&state) != -1 &&
           ((state.status & STA_UNSYNC) == 0 || state.maxerror < 16 * 1000000L);
}

uint64_t server_clock_ns(void *context)
{
    (void)context;
    return uv_hrtime();
}
