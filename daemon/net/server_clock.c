/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/server.h"

#include <sys/timex.h>
#include <time.h>

/* `clock` is a clock that every Linux has, so reading it does not fail. */
static int64_t read_ms(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t server_clock_wall_ms(void *context)
{
    (void)context;
    return read_ms(CLOCK_REALTIME);
}

int64_t server_clock_monotonic_ms(void *context)
{
    (void)context;
    return read_ms(CLOCK_BOOTTIME);
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
