/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fake_clock.h"

void fake_clock_init(struct fake_clock *clock)
{
    *clock = (struct fake_clock){.wall_ms = INT64_C(1800000000000), .is_synchronised = true};
}

void fake_clock_advance(struct fake_clock *clock, int64_t ms)
{
    clock->wall_ms += ms;
    clock->monotonic_ms += ms;
}

static int64_t read_wall_ms(void *context)
{
    const struct fake_clock *clock = context;

    return clock->wall_ms;
}

static int64_t read_monotonic_ms(void *context)
{
    const struct fake_clock *clock = context;

    return clock->is_single ? clock->wall_ms : clock->monotonic_ms;
}

static bool clock_synchronised(void *context)
{
    struct fake_clock *clock = context;

    clock->asked++;
    return clock->is_synchronised;
}

struct service_options fake_clock_options(struct fake_clock *clock)
{
    return (struct service_options){
        .hash_seed = 7,
        .read_wall_ms = read_wall_ms,
        .read_monotonic_ms = read_monotonic_ms,
        .clock_synchronised = clock_synchronised,
        .clock_context = clock,
    };
}
