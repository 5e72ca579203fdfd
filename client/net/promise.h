/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promise: what the protocol promises about the answer to a request, as far as the answer alone
 * shows whether it was kept. For requests under way; a server that breaks one is not believed
 * further.
 */
#ifndef CLIENT_NET_PROMISE_H
#define CLIENT_NET_PROMISE_H

#include <stdint.h>

#include "proto/limits.h"
#include "proto/msg.h"

struct promise {
    enum msg_request_kind kind;
    uint8_t id[LIMIT_ID_BYTES]; /* get: the message's */
    uint32_t most;              /* query: k; export: its limit, 0: none */
    uint32_t max_distance_ppm;  /* this and what follows: query */
    int64_t since_ms;
    int64_t until_ms;
    enum msg_metric metric;
    enum msg_order order;
    bool with_payload;
};

/* What the answer to this request must be like. */
void promise_make(const struct msg_request *request, struct promise *out_promise);

/*
 * Which promise the answer breaks, as the end of a sentence that begins with "it"; NULL: none.
 * `response` is of the kind that fits the request. O(n log n) for n results.
 */
const char *promise_broken(const struct promise *promise, const struct msg_response *response);

#endif
