/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review_order: in which order an operator's list has the messages that need a decision, and the
 * cursor of its next page.
 *
 *   1. Messages that were reported as ILLEGAL or ABOUT_ME come first, because they cannot wait.
 *   2. Then the messages of each sender take turns, so that whoever has left many reported ones
 *      has one place before the next sender has its first one, too.
 *   3. Messages that enough senders have reported, and that only a bound keeps shown.
 *   4. Most senders, as far as their reports count.
 *   5. The newest first; of those that wait for review the oldest first, as in a queue.
 *
 * The turns say nothing about senders to whoever reads the list: it is an order, and has no mark.
 */
#ifndef DAEMON_HANDLER_REVIEW_ORDER_H
#define DAEMON_HANDLER_REVIEW_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/host/moderation.h"
#include "proto/msg.h"

enum { REVIEW_CURSOR_BYTES = 32 };

/* A message in its place of the list. */
struct review_place {
    struct moderated moderated; /* a copy */
    uint16_t turn;              /* how many of its sender come before it; at most UINT16_MAX */
};

/*
 * Writes the first `most` messages that a request asks for to `places`, behind those of its cursor
 * if it has one. Sets *out_total to how many messages the whole list has. Returns how many were
 * written, -ERR_NOMEM, or REVIEW_NO_CURSOR if the cursor is none of such a list. O(n log n) of the
 * entries.
 */
enum { REVIEW_NO_CURSOR = -1000 };
int review_choose(const struct moderation *moderation, const struct hearsay_reported *asked,
                  int64_t now_ms, size_t most, struct review_place *places, uint64_t *out_total);

/* Writes the cursor of the page behind a place. */
void review_write_cursor(const struct review_place *place, uint8_t out_cursor[REVIEW_CURSOR_BYTES]);

#endif
