/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusals: counts the requests that were answered with an error, by error code, and the
 * connections that were refused. Only numbers are kept: nothing says who sent a request. The log
 * gets at most one line in ten seconds. The line has three numbers, counted since the line before:
 * requests over a rate, requests over a quota, and refused connections.
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
    uint64_t codes[MSG_ERROR_CODE_LAST + 1]; /* since the start */
    uint64_t connections;      /* refused connections since the start, told why or not */
    uint64_t untold[REFUSALS]; /* since the last line */
    struct log_gate gate;
};

/* Counts a request that is answered with the error `code`. `now_ms` is of any monotonic clock. */
void refusals_note(struct refusals *refusals, enum msg_error_code code, int64_t now_ms);

/* Counts a refused connection. */
void refusals_note_connection(struct refusals *refusals, int64_t now_ms);

/* Adds the figure refused_CODE_total for each error code, in lower case, and
 * refused_connections_total. */
void refusals_add_figures(const struct refusals *refusals, struct figures *figures);

#endif
