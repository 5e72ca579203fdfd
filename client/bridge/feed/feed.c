/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/feed/feed.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/hash.h"
#include "proto/codec/letter.h"

static struct msg_bytes bytes_of(const void *data, size_t count)
{
    return (struct msg_bytes){.data = data, .count = data != NULL ? count : 0};
}

void feed_to_letter(const struct hearsay_change *from, struct msg_change *out)
{
    const char *type = from->message.media_type;

    *out = (struct msg_change){
        .seq = from->seq,
        .has_message = from->kind == HEARSAY_CHANGE_MESSAGE,
        .has_gone = from->kind == HEARSAY_CHANGE_GONE,
        .has_rule = from->kind == HEARSAY_CHANGE_RULE,
        .message = {.id = bytes_of(from->id, HEARSAY_ID_BYTES),
                    .epoch = from->message.epoch,
                    .filter = bytes_of(from->message.filter, from->message.filter_bytes),
                    .media_type = {.text = type, .length = type != NULL ? strlen(type) : 0},
                    .payload = bytes_of(from->message.payload, from->message.payload_bytes),
                    .deposited_ms = from->message.deposited_ms,
                    .expires_ms = from->message.expires_ms,
                    .reach_ppm = from->message.reach,
                    .withdraw_hash = bytes_of(from->message.withdraw_hash, HEARSAY_HASH_BYTES),
                    .state = from->message.state,
                    .reports = from->message.reports},
        .gone = {.id = bytes_of(from->id, HEARSAY_ID_BYTES),
                 .until_ms = from->gone.until_ms,
                 .why = (enum msg_why)from->gone.why},
        .rule = {.kind = from->rule.kind,
                 .value = bytes_of(from->rule.value, from->rule.value_bytes),
                 .number = from->rule.number,
                 .created_ms = from->rule.created_ms,
                 .dropped = from->rule.dropped,
                 .until_ms = from->rule.until_ms},
        .has_decision = from->decision.store_id != NULL,
        .decision = {.store_id = bytes_of(from->decision.store_id, HEARSAY_ID_BYTES),
                     .number = from->decision.number,
                     .time_ms = from->decision.time_ms},
    };
}

static void take_message(const struct msg_exported_message *from, struct hearsay_change *out)
{
    static const uint8_t empty[1];

    out->kind = HEARSAY_CHANGE_MESSAGE;
    memcpy(out->id, from->id.data, HEARSAY_ID_BYTES);
    out->message.epoch = from->epoch;
    out->message.filter = from->filter.data;
    out->message.filter_bytes = from->filter.count;
    out->message.media_type = from->media_type.text;
    out->message.payload = from->payload.data != NULL ? from->payload.data : empty;
    out->message.payload_bytes = from->payload.count;
    out->message.deposited_ms = from->deposited_ms;
    out->message.expires_ms = from->expires_ms;
    out->message.reach = from->reach_ppm;
    out->message.withdraw_hash = from->withdraw_hash.data;
    out->message.state = from->state;
    out->message.reports = from->reports;
}

bool feed_from_letter(const struct msg_change *from, struct hearsay_change *out)
{
    memset(out, 0, sizeof(*out));
    if (from->has_message + from->has_gone + from->has_rule != 1) {
        return false;
    }
    if (from->has_decision) {
        out->decision.store_id = from->decision.store_id.data;
        out->decision.number = from->decision.number;
        out->decision.time_ms = from->decision.time_ms;
    }
    if (from->has_message) {
        take_message(&from->message, out);
    } else if (from->has_gone) {
        out->kind = HEARSAY_CHANGE_GONE;
        memcpy(out->id, from->gone.id.data, HEARSAY_ID_BYTES);
        out->gone.until_ms = from->gone.until_ms;
        out->gone.why = (uint32_t)from->gone.why;
    } else {
        out->kind = HEARSAY_CHANGE_RULE;
        out->rule.kind = from->rule.kind;
        out->rule.value = from->rule.value.data;
        out->rule.value_bytes = from->rule.value.count;
        out->rule.number = from->rule.number;
        out->rule.created_ms = from->rule.created_ms;
        out->rule.dropped = from->rule.dropped;
        out->rule.until_ms = from->rule.until_ms;
    }
    return true;
}

struct msg_change *feed_to_letters(const struct hearsay_change *from, size_t count,
                                   struct arena *arena)
{
    struct msg_change *changes = arena_take_zeroed(arena, count + 1, sizeof(*changes));

    for (size_t i = 0; i < count && changes != NULL; i++) {
        feed_to_letter(&from[i], &changes[i]);
    }
    return changes;
}

struct hearsay_change *feed_from_letters(const struct msg_change *from, size_t count,
                                         struct arena *arena, size_t *out_count)
{
    struct hearsay_change *changes = arena_take_zeroed(arena, count + 1, sizeof(*changes));
    size_t used = 0;

    for (size_t i = 0; i < count && changes != NULL; i++) {
        used += feed_from_letter(&from[i], &changes[used]);
    }
    *out_count = used;
    return changes;
}

bool feed_is_about_change(const struct hearsay_error *error)
{
    return strncmp(error->field, "changes", strlen("changes")) == 0;
}

int feed_digest_add(struct feed_digest *digest, const struct msg_change *change,
                    int64_t deposited_before_ms, int64_t expires_after_ms)
{
    struct msg_letter letter = {.kind = MSG_LETTER_CHANGE, .change = *change};
    struct bytes bytes;

    if (!change->has_message || change->message.deposited_ms >= deposited_before_ms ||
        change->message.expires_ms <= expires_after_ms) {
        return 0;
    }
    letter.change.seq = 0;
    letter.change.has_decision = false; /* only the owner has it */
    bytes_init(&bytes, alloc_system());
    int rc = letter_encode(&letter, &bytes);
    if (rc == 0) {
        digest->count++;
        digest->digest ^= hash_seeded(bytes.data, bytes.count, 0);
    }
    bytes_deinit(&bytes);
    return rc < 0 ? rc : 0;
}
