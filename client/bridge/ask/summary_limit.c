/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/inner.h"

#include <string.h>

enum {
    GROUP_REST_BYTES = 2 * 3 * LIMIT_SECTIONS + 64, /* ranges, count, time, and the frames of all */
    LETTER_REST_BYTES = 1024
};

_Static_assert(GROUPS_MAX *(PROFILE_BYTES_MAX + GROUP_REST_BYTES) + LETTER_REST_BYTES <=
                   SUMMARY_BYTES_MAX,
               "no summary of a bridge is too large");

/* The entry of the host; else a free one, or the one whose last drop is the oldest. */
static struct summary_over *find_over(struct summary_limit *limit, const char *host)
{
    struct summary_over *oldest = &limit->over[0];

    for (size_t i = 0; i < SUMMARY_OVER_MAX; i++) {
        struct summary_over *over = &limit->over[i];

        if (strcmp(over->host, host) == 0) {
            return over;
        }
        if (oldest->host[0] != '\0' && (over->host[0] == '\0' || over->last_ms < oldest->last_ms)) {
            oldest = over;
        }
    }
    *oldest = (struct summary_over){.dropped = 0};
    memcpy(oldest->host, host, strlen(host) + 1);
    return oldest;
}

bool summary_limit_admits(struct summary_limit *limit, const char *host, size_t bytes,
                          int64_t monotonic_ms)
{
    if (bytes <= SUMMARY_BYTES_MAX &&
        rates_take(&limit->rates, host, SUMMARY_PER_MINUTE,
                   1 + (uint32_t)(bytes / SUMMARY_UNIT_BYTES), monotonic_ms)) {
        return true;
    }
    struct summary_over *over = find_over(limit, host);

    over->dropped++;
    over->last_ms = monotonic_ms;
    limit->dropped++;
    return false;
}

bool summary_limit_is_over(const struct summary_over *over, int64_t monotonic_ms)
{
    return over->host[0] != '\0' && monotonic_ms - over->last_ms <= SUMMARY_OVER_MS;
}
