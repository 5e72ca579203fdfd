/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusals: how many requests were answered with an error, by its code, and how many connections
 * were not taken. Numbers only: nothing of who asked or for what. What limits refuse is in the log,
 * too: one line in ten seconds at most, with the counts since the last one.
 */
#ifndef DAEMON_LIMITS_REFUSALS_H
#define DAEMON_LIMITS_REFUSALS_H

#include <stdint.h>

#include "daemon/system/log.h"
#include "proto/msg.h"

struct figures;

/* Those that the log is told of. */
enum refusal { REFUSAL_RATE, REFUSAL_QUOTA, REFUSAL_CONNECTION, REFUSALS };

/* All zeros at first. */
struct refusals {
    uint64_t codes[MSG_INTERNAL + 1]; /* since the start */
    uint64_t connections;             /* the same: those that were not taken, told why or not */
    uint64_t untold[REFUSALS];        /* since the last line */
    struct log_gate gate;
};

/* One more request is answered with this code; now_ms is of any monotonic clock. */
void refusals_note(struct refusals *refusals, enum msg_error_code code, int64_t now_ms);

/* One more connection is not taken. */
void refusals_note_connection(struct refusals *refusals, int64_t now_ms);

/* Adds refused_CODE_total for each code, in lower case, and refused_connections_total. */
void refusals_add_figures(const struct refusals *refusals, struct figures *figures);

#endif
