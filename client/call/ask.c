/* SPDX-License-Identifier: Apache-2.0 */
/* ask: the calls of hearsay/ask.h. */
#include "client/call/calls.h"
#include "client/fail.h"
#include "proto/codec/codec.h"

static int ask_check(const struct hearsay_request *request, struct hearsay_error *error)
{
    if (request->kind == HEARSAY_REQUEST_HELLO ||
        codec_reply_kind(request->kind) == HEARSAY_RESPONSE_UNKNOWN) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "there is no such request");
    }
    return HEARSAY_OK;
}

int hearsay_submit(struct hearsay *server, const struct hearsay_request *request,
                   uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct hearsay_request own = *request;
    int status = ask_check(request, out_error);

    return status == HEARSAY_OK ? client_submit(server, &own, out_ticket, out_error) : status;
}

int hearsay_ask(struct hearsay *server, const struct hearsay_request *request, int timeout_ms,
                const struct hearsay_response **out_response, struct hearsay_error *out_error)
{
    struct hearsay_request own = *request;
    const struct reply *reply = NULL;
    int status = ask_check(request, out_error);

    if (status == HEARSAY_OK) {
        status = calls_ask(server, &own, timeout_ms, &reply, out_error);
    }
    if (status == HEARSAY_OK) {
        *out_response = &reply->response;
    }
    return status;
}
