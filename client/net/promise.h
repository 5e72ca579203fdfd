/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promise: checks an answer against its request: at most k results, in the order that was asked
 * for, within the distance, and so on. Only what request and answer alone can show is checked. A
 * connection whose server breaks such a promise is broken (conn.h).
 */
#ifndef CLIENT_NET_PROMISE_H
#define CLIENT_NET_PROMISE_H

#include <stdint.h>

#include "proto/limits.h"
#include "proto/msg.h"

struct promise {
    enum msg_request_kind kind;
    uint8_t id[LIMIT_ID_BYTES]; /* get: of the message */
    uint32_t most;              /* query: k; export: its limit, 0: none */
    uint32_t max_distance_ppm;  /* this and all below: query */
    int64_t since_ms;
    int64_t until_ms;
    enum msg_metric metric;
    enum msg_order order;
    bool with_payload;
};

/* Keeps what the check of the answer needs. Copies; the request may go. */
void promise_make(const struct msg_request *request, struct promise *out_promise);

/*
 * Checks an answer. NULL: all promises are kept; else the broken one, as the end of a sentence that
 * begins with "it". `response` has the kind that fits the request. O(n log n) for n results.
 */
const char *promise_broken(const struct promise *promise, const struct msg_response *response);

#endif
