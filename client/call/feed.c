/* SPDX-License-Identifier: Apache-2.0 */
/* feed: the calls of hearsay/feed.h. */
#include "client/call/calls.h"
#include "client/fail.h"

int hearsay_submit_changes(struct hearsay *server, const struct hearsay_changes *changes,
                           uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_CHANGES, .changes = *changes};

    return client_submit(server, &request, out_ticket, out_error);
}

int hearsay_submit_apply(struct hearsay *server, const struct hearsay_apply *apply,
                         uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_APPLY, .apply = *apply};

    if (apply->change_count > HEARSAY_CHANGES_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "at most %d changes can be applied at once", HEARSAY_CHANGES_MAX);
    }
    return client_submit(server, &request, out_ticket, out_error);
}

int hearsay_changes(struct hearsay *server, const struct hearsay_changes *changes, int timeout_ms,
                    const struct hearsay_changed **out_changed, struct hearsay_error *out_error)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_CHANGES, .changes = *changes};
    const struct reply *reply = NULL;
    int status = calls_ask(server, &request, timeout_ms, &reply, out_error);

    if (status == HEARSAY_OK) {
        *out_changed = &reply->shown.response.changed;
    }
    return status;
}
