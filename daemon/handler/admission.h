/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission: may this deposit come? One function decides, and asks in this order:
 *
 *   1. form    epoch, filter, fill, payload size, time to live, proof of work
 *   2. known   a message that is here already may come again: it gets its first answer, and
 *              nothing below is asked
 *   3. mode    the host takes deposits now (accept.h), or only for review
 *   4. ban     the operator has banned neither the payload nor the filter
 *   5. room    host, server and sender have room (room.h), or others go for it
 *
 * The rate limits of the sender come before, for each request (ask_pay).
 */
#ifndef DAEMON_HANDLER_ADMISSION_H
#define DAEMON_HANDLER_ADMISSION_H

#include "daemon/handler/ask.h"
#include "daemon/host/room.h"

struct admission {
    int64_t now_ms;           /* when it was decided, by the host's clock */
    bool is_known;            /* a message with this id is here: it needs no room */
    enum persist_state state; /* in which the message begins: SHOWN, or PENDING for review */
    struct room room;         /* what goes for it; promised, unless is_known */
};

/* Bytes of a deposit that count against the caps. */
size_t admission_content_bytes(const struct msg_deposit *deposit);

/* Whether the deposit may come; answers if not. The promise of *out_admission is the caller's, to
 * keep or to take back (room_unpromise). */
bool admission_decide(const struct ask *ask, struct admission *out_admission);

#endif
