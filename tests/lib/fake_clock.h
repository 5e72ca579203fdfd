/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_clock: the clocks of a service under test, which stand still until the test moves them.
 */
#pragma once

#include "daemon/host/service.h"

struct fake_clock {
    int64_t wall_ms;
    int64_t monotonic_ms;
    bool is_synchronised; /* the wall clock, as the system says */
    bool is_single;       /* the monotonic clock shows wall_ms */
    unsigned asked;       /* how often the service asked whether it is synchronised */
};

/* A full hour in 2027; the monotonic clock shows 0; synchronised. */
void fake_clock_init(struct fake_clock *clock);

/* Both clocks go on. */
void fake_clock_advance(struct fake_clock *clock, int64_t ms);

/* Options of a service with this clock, which is borrowed, and a fixed hash seed. */
struct service_options fake_clock_options(struct fake_clock *clock);
