/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promise: checks an answer against its request. For example, a query gets at most k results, in
 * the requested order and within the requested distance. If the answer breaks a rule, the
 * connection becomes broken (conn.h).
 */
#pragma once

#include <stdint.h>

#include "proto/limits.h"
#include "proto/msg.h"

struct promise {
    enum hearsay_request_kind kind;
    uint8_t id[LIMIT_ID_BYTES]; /* get: of the message */
    uint32_t most;              /* query: k; export: its limit, 0: none */
    uint32_t max_distance_ppm;  /* this and all below: query */
    int64_t since_ms;
    int64_t until_ms;
    enum hearsay_metric metric;
    enum hearsay_order order;
    bool with_payload;
    bool is_hood;
};

/* Copies from the request the values that promise_broken needs. The caller may free the request. */
void promise_make(const struct hearsay_request *request, struct promise *out_promise);

/*
 * Checks an answer. Returns NULL when no broken rule is found. Otherwise returns a text that names
 * the broken rule and completes a sentence that begins with "it" (the server). The caller has
 * checked that `response` has the kind that answers the request.
 */
const char *promise_broken(const struct promise *promise, const struct hearsay_response *response);
