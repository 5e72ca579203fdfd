/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hide_rate: bounds how much reports may hide in an hour. A host has two of these tables. The first
 * one counts the reports that counted towards hide_after, for each sender and for each IPv6 /64 on
 * link. The second one counts the messages that reports have hidden. Both are in memory only, and
 * gone after a restart.
 *
 * The memory is bounded: HIDE_RATE_KEPT entries are recorded. If all of them are less than an hour
 * old, hide_rate_allows returns false for everybody until the oldest one is an hour old.
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
    /* owned: a ring of the latest HIDE_RATE_KEPT entries; NULL: none yet */
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
 * Whether there may be one more entry of `by`: it has fewer than `per_hour` in the hour before
 * `now_ms` (monotonic clock), and all together have fewer than HIDE_RATE_KEPT. O(HIDE_RATE_KEPT)
 */
bool hide_rate_allows(const struct hide_rate *rate, uint64_t by, uint32_t per_hour, int64_t now_ms);

/*
 * Records an entry of `by`. Call only after hide_rate_allows returned true. Returns 0, or
 * -ERR_NOMEM with nothing recorded.
 */
int hide_rate_note(struct hide_rate *rate, const struct alloc *alloc, uint64_t by, int64_t now_ms);

/*
 * Counts a report that does not hide its message because hide_rate_allows has returned false.
 * Returns true at most once an hour: the caller then logs a warning.
 */
bool hide_rate_withhold(struct hide_rate *rate, int64_t now_ms);

#endif
