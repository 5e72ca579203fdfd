/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drops: why the daemon ended sessions that had not ended by themselves. Each reason has a figure
 * and at most one line of the log in ten seconds, however many sessions end for it.
 */
#ifndef DAEMON_LIMITS_DROPS_H
#define DAEMON_LIMITS_DROPS_H

#include <stdint.h>

#include "daemon/system/log.h"

struct figures;

enum drop {
    DROP_UNREAD,    /* more of its output waits than session_output */
    DROP_STUCK,     /* it took none of its output for 30 s, or of its last answers for 2 s */
    DROP_OUTPUT,    /* the output of all sessions is over `output`, and it had the most */
    DROP_HANDSHAKE, /* its TLS handshake did not finish in time */
    DROP_TLS,       /* its TLS failed: not TLS, or damaged bytes */
    DROP_RECORDS,   /* too many TLS records in a row had no application data */
    DROP_HELLO,     /* no Hello came in time */
    DROP_IDLE,      /* it asked for nothing for idle_timeout */
    DROP_ROOM,      /* all places were taken, and a newcomer was given its place */
    DROP_FAILED,    /* memory or the store failed: an answer or a match could not be given */
    DROPS
};

/* All zeros at first. */
struct drops {
    uint64_t totals[DROPS]; /* since the start */
    struct log_gate gates[DROPS];
};

/*
 * One more session ends. Counts it, and writes a line of the log unless one for this reason was
 * written in the last ten seconds; the next line has the number of those that were left out.
 * `session` is the session's number; now_ms is of any monotonic clock.
 */
void drops_note(struct drops *drops, enum drop reason, uint64_t session, int64_t now_ms);

/* Adds dropped_NAME_total for each reason. */
void drops_add_figures(const struct drops *drops, struct figures *figures);

#endif
