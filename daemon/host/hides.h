/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hides: how many messages of one host the reports of each network have hidden in the last hour. A
 * network is an IPv6 /64, or an IPv4 address. In memory only.
 *
 * Bounded: the latest HIDES_KEPT are known. When all of them are of the last hour, reports hide
 * nothing until the oldest is an hour old.
 */
#ifndef DAEMON_HOST_HIDES_H
#define DAEMON_HOST_HIDES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/alloc.h"

enum { HIDES_KEPT = 1000, HIDES_WINDOW_MS = 60 * 60 * 1000 };

struct hide {
    uint64_t by;
    int64_t at_ms;
};

struct hides {
    struct hide *list; /* owned: a ring of HIDES_KEPT; NULL: nothing was hidden yet */
    uint32_t count;
    uint32_t oldest;
    uint64_t withheld; /* reports that hid nothing because of the bound */
    int64_t told_ms;   /* time of the last line in the log about that */
    bool was_told;
};

void hides_deinit(struct hides *hides, const struct alloc *alloc); /* a zeroed one is fine */

/* Whether reports of `by` may hide one more message: fewer than per_hour in the hour before now_ms,
 * of a monotonic clock. O(HIDES_KEPT). */
bool hides_may(const struct hides *hides, uint64_t by, uint32_t per_hour, int64_t now_ms);

/* Records that a report of the network `by` hides a message. Call it only after hides_may returned
 * true. 0, or -ERR_NOMEM with nothing recorded. */
int hides_note(struct hides *hides, const struct alloc *alloc, uint64_t by, int64_t now_ms);

/* Counts a report that hides nothing. True, once an hour: the caller logs it. */
bool hides_withhold(struct hides *hides, int64_t now_ms);

#endif
