/* SPDX-License-Identifier: Apache-2.0 */
/* feed: the calls of hearsay/feed.h. */
#include <stdlib.h>
#include <string.h>

#include "client/call/calls.h"
#include "client/fail.h"

int hearsay_submit_changes(struct hearsay *server, const struct hearsay_changes *changes,
                           uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct msg_request request = {.kind = MSG_REQUEST_CHANGES,
                                  .changes = {.host = calls_text(changes->host),
                                              .after = changes->after,
                                              .limit = changes->limit,
                                              .wait_ms = changes->wait_ms,
                                              .replicated = changes->replicated,
                                              .waiting = changes->waiting}};

    return client_submit(server, &request, out_ticket, out_error);
}

static struct msg_change change_of(const struct hearsay_change *from)
{
    return (struct msg_change){
        .has_message = from->kind == HEARSAY_CHANGE_MESSAGE,
        .has_gone = from->kind == HEARSAY_CHANGE_GONE,
        .has_rule = from->kind == HEARSAY_CHANGE_RULE,
        .message = {.id = calls_bytes(from->id, HEARSAY_ID_BYTES),
                    .epoch = from->message.epoch,
                    .filter = calls_bytes(from->message.filter, from->message.filter_bytes),
                    .media_type = calls_text(from->message.media_type),
                    .payload = calls_bytes(from->message.payload, from->message.payload_bytes),
                    .deposited_ms = from->message.deposited_ms,
                    .expires_ms = from->message.expires_ms,
                    .reach_ppm = from->message.reach,
                    .withdraw_hash = calls_bytes(from->message.withdraw_hash, HEARSAY_HASH_BYTES),
                    .state = from->message.state,
                    .reports = from->message.reports},
        .gone = {.id = calls_bytes(from->id, HEARSAY_ID_BYTES),
                 .until_ms = from->gone.until_ms,
                 .why = (enum msg_why)from->gone.why},
        .rule = {.kind = from->rule.kind,
                 .value = calls_bytes(from->rule.value, from->rule.value_bytes),
                 .number = from->rule.number,
                 .created_ms = from->rule.created_ms,
                 .dropped = from->rule.dropped,
                 .until_ms = from->rule.until_ms},
        .has_decision = from->decision.store_id != NULL,
        .decision = {.store_id = calls_bytes(from->decision.store_id, HEARSAY_ID_BYTES),
                     .number = from->decision.number,
                     .time_ms = from->decision.time_ms},
    };
}

int hearsay_submit_apply(struct hearsay *server, const struct hearsay_apply *apply,
                         uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct msg_change *changes = NULL;

    if (apply->change_count > HEARSAY_CHANGES_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "at most %d changes can be applied at once", HEARSAY_CHANGES_MAX);
    }
    if (apply->change_count > 0) {
        changes = calloc(apply->change_count, sizeof(*changes));
        if (changes == NULL) {
            return fail_set_nomem(out_error);
        }
    }
    for (size_t i = 0; i < apply->change_count; i++) {
        changes[i] = change_of(&apply->changes[i]);
    }
    struct msg_request request = {.kind = MSG_REQUEST_APPLY,
                                  .apply = {.host = calls_text(apply->host),
                                            .changes = changes,
                                            .change_count = apply->change_count,
                                            .as = (enum msg_apply_as)apply->as,
                                            .restored = apply->restored}};
    int status = client_submit(server, &request, out_ticket, out_error);
    free(changes);
    return status;
}

int hearsay_changes(struct hearsay *server, const struct hearsay_changes *changes, int timeout_ms,
                    const struct hearsay_changed **out_changed, struct hearsay_error *out_error)
{
    const struct reply *reply = NULL;
    uint64_t ticket = 0;
    int status = calls_prepare(server, timeout_ms, out_error);
    if (status == HEARSAY_OK) {
        status = hearsay_submit_changes(server, changes, &ticket, out_error);
    }
    if (status == HEARSAY_OK) {
        status = calls_finish(server, ticket, timeout_ms, &reply, out_error);
    }
    if (status == HEARSAY_OK) {
        *out_changed = &reply->shown.changed;
    }
    return status;
}

int hearsay_apply(struct hearsay *server, const struct hearsay_apply *apply, int timeout_ms,
                  struct hearsay_applied *out_applied, struct hearsay_error *out_error)
{
    const struct reply *reply = NULL;
    uint64_t ticket = 0;
    int status = calls_prepare(server, timeout_ms, out_error);
    if (status == HEARSAY_OK) {
        status = hearsay_submit_apply(server, apply, &ticket, out_error);
    }
    if (status == HEARSAY_OK) {
        status = calls_finish(server, ticket, timeout_ms, &reply, out_error);
    }
    if (status == HEARSAY_OK) {
        *out_applied = reply->shown.applied;
    }
    return status;
}
