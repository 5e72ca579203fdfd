/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hide_rate: bounds how many messages of one host the reports of one network may hide in an hour. A
 * network is an IPv6 /64 or an IPv4 address. Kept in memory only.
 *
 * The memory is bounded: HIDE_RATE_KEPT hidings are recorded. If all of them are less than an hour
 * old, hide_rate_allows returns false for every network until the oldest hiding is an hour old.
 */
#ifndef DAEMON_HOST_HIDE_RATE_H
#define DAEMON_HOST_HIDE_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/alloc.h"

enum { HIDE_RATE_KEPT = 1000, HIDE_RATE_WINDOW_MS = 60 * 60 * 1000 };

struct hide {
    uint64_t by;
    int64_t at_ms;
};

struct hide_rate {
    /* owned: a ring of the latest HIDE_RATE_KEPT hidings; NULL: none yet */
    struct hide *list;
    uint32_t count;
    uint32_t oldest;
    /* number of reports that hid no message because of the bound */
    uint64_t withheld;
    int64_t told_ms; /* time of the last warning in the log */
    bool was_told;
};

void hide_rate_deinit(struct hide_rate *rate, const struct alloc *alloc); /* a zeroed one is fine */

/*
 * Whether a report of the network `by` may hide one more message: the network's reports have hidden
 * fewer than `per_hour` messages in the hour before `now_ms` (monotonic clock), and the reports of
 * all networks fewer than HIDE_RATE_KEPT. O(HIDE_RATE_KEPT)
 */
bool hide_rate_allows(const struct hide_rate *rate, uint64_t by, uint32_t per_hour, int64_t now_ms);

/*
 * Records that a report of the network `by` hides a message. Call only after hide_rate_allows
 * returned true. Returns 0, or -ERR_NOMEM with nothing recorded.
 */
int hide_rate_note(struct hide_rate *rate, const struct alloc *alloc, uint64_t by, int64_t now_ms);

/*
 * Counts a report that does not hide its message because hide_rate_allows has returned false.
 * Returns true at most once an hour: the caller then logs a warning.
 */
bool hide_rate_withhold(struct hide_rate *rate, int64_t now_ms);

#endif
