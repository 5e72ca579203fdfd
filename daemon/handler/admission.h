/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission: checks a deposit before the store gets it; the store may still refuse the deposit.
 * admission_decide checks in this order:
 *
 *   1. form    epoch, filter, fill, payload size, time to live
 *   2. known   if the host has a message of this id that has not expired, checks 3 to 5 are
 *              skipped
 *   3. mode    the accept mode is `open` or `review` (accept_mode.h)
 *   4. ban     no ban of the operator applies to the payload or the filter
 *   5. room    caps and the sender's share allow the message, or others can be removed (room.h)
 *
 * ask_pay has checked the rate limits of the sender before.
 */
#ifndef DAEMON_HANDLER_ADMISSION_H
#define DAEMON_HANDLER_ADMISSION_H

#include "daemon/handler/ask.h"
#include "daemon/host/room.h"

struct admission {
    int64_t now_ms; /* the host's clock when admission_decide ran */
    /* the host has a message of this id that has not expired; `room` is empty then */
    bool is_known;
    /* the first state of the message: SHOWN, or PENDING for review */
    enum persist_state state;
    /* the messages that the store removes for the new message; they are promised (room.h) */
    struct room room;
};

/* Bytes of a deposit that count against the caps. */
size_t admission_content_bytes(const struct hearsay_deposit *deposit);

/*
 * Decides whether the deposit is accepted. Returns false after an error was sent. After true, and
 * unless `is_known` is set, the messages in out_admission->room are promised (room.h): they count
 * as removed. The caller ends the promise with room_unpromise.
 */
bool admission_decide(const struct ask *ask, struct admission *out_admission);

#endif
