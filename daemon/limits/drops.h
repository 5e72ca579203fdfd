/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drops: counts and logs the sessions that the daemon has dropped, by reason. Each reason has a
 * figure, and at most one line of the log in ten seconds.
 */
#pragma once

#include "daemon/system/log.h"
#include "proto/msg.h"

struct figures;

enum drop {
    DROP_UNREAD, /* more of its output waits than session_output */
    /* The client took none of the output that waited for 30 s, or for 2 s while the session was
     * ending. */
    DROP_STUCK,
    /* The output of all sessions together is over `output`, and this session has the most. */
    DROP_OUTPUT,
    DROP_HANDSHAKE, /* its TLS handshake did not finish in time */
    DROP_TLS,       /* its TLS failed, for example because the bytes were not TLS */
    DROP_RECORDS,   /* too many TLS records in a row had no application data */
    DROP_HELLO,     /* no Hello came in time */
    DROP_IDLE,      /* it asked for nothing for idle_timeout */
    DROP_EVICTED,   /* it gave way to a new session or a new TLS handshake */
    DROP_FAILED,    /* memory or the store failed: an answer or a match is missing */
    DROPS
};

/* All zeros at first. */
struct drops {
    uint64_t totals[DROPS]; /* since the start */
    struct log_gate gates[DROPS];
};

/*
 * Counts a dropped session. Writes a line to the log, unless the log got a line for the same reason
 * in the last ten seconds. The next line for the reason has the number of its dropped sessions that
 * got no line. `session` is the number of the session; `now_ms` is of any monotonic clock.
 */
void drops_note(struct drops *drops, enum drop reason, uint64_t session, int64_t now_ms);

/* Adds dropped_NAME_total for each reason. */
void drops_add_figures(const struct drops *drops, struct figures *figures);

/* --- refusals --------------------------------------------------------------------------------- */

/*
 * Counts the requests that were answered with an error, by error code, and the
 * connections that were refused. Only numbers are kept: nothing says who sent a request. The log
 * gets at most one line in ten seconds. The line has three numbers, counted since the line before:
 * requests over a rate, requests over a quota, and refused connections.
 */

/* Those that the log is told of. */
enum refusal { REFUSAL_RATE, REFUSAL_QUOTA, REFUSAL_CONNECTION, REFUSALS };

/* All zeros at first. */
struct refusals {
    uint64_t codes[HEARSAY_CODE_LAST + 1]; /* since the start */
    uint64_t connections;      /* refused connections since the start, told why or not */
    uint64_t untold[REFUSALS]; /* since the last line */
    struct log_gate gate;
};

/* Counts a request that is answered with the error `code`. `now_ms` is of any monotonic clock. */
void refusals_note(struct refusals *refusals, enum hearsay_code code, int64_t now_ms);

/* Counts a refused connection. */
void refusals_note_connection(struct refusals *refusals, int64_t now_ms);

/* Adds the figure refused_CODE_total for each error code, in lower case, and
 * refused_connections_total. */
void refusals_add_figures(const struct refusals *refusals, struct figures *figures);
