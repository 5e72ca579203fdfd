/* SPDX-License-Identifier: Apache-2.0 */
/* year_hours: see year.h. It knows the two changes of the local time in 2027, and no library. */
#include "tests/sim/year.h"

enum { MINUTES = 24 * 60 };

#define FORWARD_MS INT64_C(1806195600000) /* 28 March, 01:00 UTC: from 2:00 to 3:00 */
#define BACK_MS    INT64_C(1824944400000) /* 31 October, 01:00 UTC: from 3:00 to 2:00 */

static const struct {
    uint32_t from, to; /* minutes of the local day */
} closed_hours[YEAR_HOSTS] = {
    [STREET] = {22 * 60, 7 * 60},
    [NIGHT] = {2 * 60 + 30, 3 * 60 + 30},
};

uint32_t hours_minute(int64_t ms)
{
    const int64_t offset_ms = ms >= FORWARD_MS && ms < BACK_MS ? 2 * HOUR_MS : HOUR_MS;

    return (uint32_t)((ms + offset_ms) / MINUTE_MS % MINUTES);
}

bool hours_closed(unsigned host, int64_t ms)
{
    const uint32_t minute = hours_minute(ms);
    const uint32_t from = closed_hours[host].from;
    const uint32_t to = closed_hours[host].to;

    return from < to ? minute >= from && minute < to : minute >= from || minute < to;
}

int64_t hours_end(unsigned host, int64_t ms)
{
    const bool is_closed = hours_closed(host, ms);

    ms -= ms % MINUTE_MS;
    do {
        ms += MINUTE_MS;
    } while (hours_closed(host, ms) == is_closed);
    return ms;
}
