/* SPDX-License-Identifier: Apache-2.0 */
/* ask: the calls of hearsay/ask.h. */
#include "client/call/calls.h"

int hearsay_submit(struct hearsay *server, const struct hearsay_request *request,
                   uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct hearsay_request own = *request;

    return client_submit(server, &own, out_ticket, out_error);
}

int hearsay_ask(struct hearsay *server, const struct hearsay_request *request, int timeout_ms,
                const struct hearsay_response **out_response, struct hearsay_error *out_error)
{
    struct hearsay_request own = *request;
    const struct hearsay_reply *reply = NULL;
    int status = calls_ask(server, &own, timeout_ms, &reply, out_error);

    if (status == HEARSAY_OK) {
        *out_response = &reply->response;
    }
    return status;
}
