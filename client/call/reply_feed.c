/* SPDX-License-Identifier: Apache-2.0 */
#include "client/call/reply_feed.h"

#include <string.h>

#include "client/fail.h"

static void translate_message(const struct msg_exported_message *from, struct hearsay_change *to)
{
    static const uint8_t empty[1];

    memcpy(to->id, from->id.data, HEARSAY_ID_BYTES);
    to->message.epoch = from->epoch;
    to->message.filter = from->filter.data;
    to->message.filter_bytes = from->filter.count;
    to->message.media_type = from->media_type.text != NULL ? from->media_type.text : "text/plain";
    to->message.payload = from->payload.data != NULL ? from->payload.data : empty;
    to->message.payload_bytes = from->payload.data != NULL ? from->payload.count : 0;
    to->message.deposited_ms = from->deposited_ms;
    to->message.expires_ms = from->expires_ms;
    to->message.reach = from->reach_ppm;
    to->message.withdraw_hash =
        from->withdraw_hash.count == HEARSAY_HASH_BYTES ? from->withdraw_hash.data : NULL;
    to->message.state = from->state;
    to->message.reports = from->reports;
}

static int translate_change(const struct msg_change *from, struct hearsay_change *to,
                            struct hearsay_error *error)
{
    if (from->has_message + from->has_gone + from->has_rule != 1 ||
        (from->has_message &&
         (from->message.id.count != HEARSAY_ID_BYTES || from->message.filter.data == NULL)) ||
        (from->has_gone && from->gone.id.count != HEARSAY_ID_BYTES)) {
        return fail_set(error, HEARSAY_ERR_PROTOCOL, "a change of the answer lacks its content");
    }
    to->seq = from->seq;
    if (from->has_decision && from->decision.store_id.count == HEARSAY_ID_BYTES) {
        to->decision.store_id = from->decision.store_id.data;
        to->decision.number = from->decision.number;
        to->decision.time_ms = from->decision.time_ms;
    }
    if (from->has_message) {
        to->kind = HEARSAY_CHANGE_MESSAGE;
        translate_message(&from->message, to);
    } else if (from->has_gone) {
        to->kind = HEARSAY_CHANGE_GONE;
        memcpy(to->id, from->gone.id.data, HEARSAY_ID_BYTES);
        to->gone.until_ms = from->gone.until_ms;
        to->gone.why = (uint32_t)from->gone.why;
    } else {
        to->kind = HEARSAY_CHANGE_RULE;
        to->rule.kind = from->rule.kind;
        to->rule.value = from->rule.value.data;
        to->rule.value_bytes = from->rule.value.count;
        to->rule.number = from->rule.number;
        to->rule.created_ms = from->rule.created_ms;
        to->rule.dropped = from->rule.dropped;
        to->rule.until_ms = from->rule.until_ms;
    }
    return HEARSAY_OK;
}

int reply_translate_changed(const struct msg_changed *from, struct arena *arena,
                            struct hearsay_changed *to, struct hearsay_error *error)
{
    struct hearsay_change *changes =
        arena_take_zeroed(arena, from->change_count + 1, sizeof(*changes));
    int status = HEARSAY_OK;

    if (changes == NULL) {
        return fail_set_nomem(error);
    }
    for (size_t i = 0; i < from->change_count && status == HEARSAY_OK; i++) {
        status = translate_change(&from->changes[i], &changes[i], error);
    }
    to->changes = changes;
    to->change_count = from->change_count;
    to->next = from->next;
    to->more = from->more;
    to->waiting = from->waiting;
    to->waiting_since_ms = from->waiting_since_ms;
    return status;
}
