/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hide_rate: how many messages of one host the reports of each network have hidden in the last
 * hour. A network is an IPv6 /64, or an IPv4 address. In memory only.
 *
 * Bounded: the latest HIDE_RATE_KEPT are known. When all of them are of the last hour, reports hide
 * nothing until the oldest is an hour old.
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
    struct hide *list; /* owned: a ring of HIDE_RATE_KEPT; NULL: nothing was hidden yet */
    uint32_t count;
    uint32_t oldest;
    uint64_t withheld; /* reports that hid nothing because of the bound */
    int64_t told_ms;   /* time of the last line in the log about that */
    bool was_told;
};

void hide_rate_deinit(struct hide_rate *rate, const struct alloc *alloc); /* a zeroed one is fine */

/* Whether reports of `by` may hide one more message: fewer than per_hour in the hour before now_ms,
 * of a monotonic clock. O(HIDE_RATE_KEPT). */
bool hide_rate_allows(const struct hide_rate *rate, uint64_t by, uint32_t per_hour, int64_t now_ms);

/* Records that a report of the network `by` hides a message. Call it only after hide_rate_allows
 * returned true. 0, or -ERR_NOMEM with nothing recorded. */
int hide_rate_note(struct hide_rate *rate, const struct alloc *alloc, uint64_t by, int64_t now_ms);

/* Counts a report that hides nothing. True, once an hour: the caller logs it. */
bool hide_rate_withhold(struct hide_rate *rate, int64_t now_ms);

#endif
