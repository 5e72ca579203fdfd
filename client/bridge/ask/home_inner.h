/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two parts of a home. home.c has its beginning and end, its connection to hearsayd, and what
 * others ask of it. home_turn.c asks hearsayd what the host has, and tells the neighbours.
 */
#ifndef CLIENT_BRIDGE_ASK_HOME_INNER_H
#define CLIENT_BRIDGE_ASK_HOME_INNER_H

#include "client/bridge/ask/answers.h"
#include "client/bridge/ask/due.h"
#include "client/bridge/ask/home.h"
#include "client/bridge/ask/told.h"
#include "client/link/link.h"
#include "core/profile/profile.h"
#include "daemon/system/log.h"

enum { HOME_RETRY_MS = 1000 }; /* hearsayd cannot be asked now: when the next attempt is made */

struct home {
    uv_loop_t *loop;
    const struct bridge_config *config;
    const struct bridge_host *host;
    struct wire *wire;
    struct wire_subscription *queries;
    uv_timer_t retry; /* of the link */
    uv_timer_t turn;  /* when something is due */
    struct link *link;
    bool is_greeted;
    bool is_silent; /* home_silence */
    char error[WIRE_ERROR_BYTES];
    struct log_gate gate;
    char profile[PROFILE_TEXT_MAX];
    struct told told;
    uint64_t cursor;        /* all changes up to here are in `told` */
    int64_t clock_shift_ms; /* of hearsayd's clock since its greeting */
    uint64_t keepalive_ms;  /* between two keepalives */
    /* Requests that are under way; ticket 0: none. asked_ms: the time of hearsayd when it was sent.
     */
    struct {
        uint64_t ticket;
        int64_t asked_ms;
    } groups, ping;
    struct {
        uint64_t ticket;
        int64_t asked_ms;
        uint64_t after;
    } changes;
    int64_t as_of_ms; /* all messages of before are in `told` */
    struct due due;
    uint64_t changes_due_ms; /* monotonic: not before */
    unsigned repeats;        /* of the full word, still to come */
    struct answers answers;
    uint64_t full;
    uint64_t deltas;
    uint64_t keepalives;
};

/* Logs the sentence `what: why`, now and then, and keeps `why` for `status`. */
void home_note_trouble(struct home *home, const char *what, const char *why);

/* Asks hearsayd and tells neighbours what is due, and sets the timer for the rest. */
void home_take_turn(struct home *home);

/* hearsayd has answered a request of home_take_turn, or of `answers`. */
void home_take_response(struct home *home, const struct hearsay_response *response);

#endif
