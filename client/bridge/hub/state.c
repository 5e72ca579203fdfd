/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/state.h"

#include <string.h>

#include "core/base/hash.h"
#include "proto/codec/letter.h"

static void put_hash(struct hash128 hash, uint8_t *out_key)
{
    memcpy(out_key, &hash.low64, sizeof(hash.low64));
    memcpy(out_key + sizeof(hash.low64), &hash.high64, sizeof(hash.high64));
}

static void read_rule(const struct msg_rule_state *rule, struct state *out)
{
    int64_t parts[] = {rule->number, rule->created_ms, rule->dropped, rule->until_ms};

    put_hash(hash128_seeded(rule->value.data, rule->value.count, rule->kind), out->key);
    out->digest = hash_seeded(parts, sizeof(parts), 0);
    out->until_ms = rule->until_ms;
    out->is_rule = true;
}

bool state_read(const struct msg_change *change, struct state *out)
{
    struct msg_bytes id = change->has_gone ? change->gone.id : change->message.id;

    memset(out, 0, sizeof(*out));
    if (change->has_rule) {
        read_rule(&change->rule, out);
        return true;
    }
    if ((!change->has_message && !change->has_gone) || id.count != TABLE_KEY_BYTES) {
        return false;
    }
    memcpy(out->key, id.data, TABLE_KEY_BYTES);
    if (change->has_gone) {
        out->state = STATE_GONE;
        out->until_ms = change->gone.until_ms;
        out->is_removed = change->gone.why == MSG_WHY_REMOVED;
    } else {
        out->state = (uint8_t)change->message.state;
        out->until_ms = change->message.expires_ms;
        out->has_payload = true;
    }
    out->digest = out->state;
    return true;
}

bool state_decode(const uint8_t *bytes, size_t size, struct arena *arena,
                  struct msg_change *out_change, struct state *out)
{
    struct msg_letter letter;
    struct msg_error error;

    if (letter_decode(bytes, size, arena, &letter, &error) != 0 ||
        letter.kind != MSG_LETTER_CHANGE || !state_read(&letter.change, out)) {
        return false;
    }
    *out_change = letter.change;
    return true;
}

struct hearsay_change state_to_call(const struct msg_change *change)
{
    const struct msg_exported_message *message = &change->message;
    struct hearsay_change out = {.kind = change->has_rule   ? HEARSAY_CHANGE_RULE
                                         : change->has_gone ? HEARSAY_CHANGE_GONE
                                                            : HEARSAY_CHANGE_MESSAGE};

    if (change->has_rule) {
        out.rule.kind = change->rule.kind;
        out.rule.value = change->rule.value.data;
        out.rule.value_bytes = change->rule.value.count;
        out.rule.number = change->rule.number;
        out.rule.created_ms = change->rule.created_ms;
        out.rule.dropped = change->rule.dropped;
        out.rule.until_ms = change->rule.until_ms;
        return out;
    }
    memcpy(out.id, change->has_gone ? change->gone.id.data : message->id.data, sizeof(out.id));
    if (change->has_gone) {
        out.gone.until_ms = change->gone.until_ms;
        out.gone.why = (uint32_t)change->gone.why;
        return out;
    }
    out.message.epoch = message->epoch;
    out.message.filter = message->filter.data;
    out.message.filter_bytes = message->filter.count;
    out.message.media_type = message->media_type.text;
    out.message.payload = message->payload.data;
    out.message.payload_bytes = message->payload.count;
    out.message.deposited_ms = message->deposited_ms;
    out.message.expires_ms = message->expires_ms;
    out.message.reach = message->reach_ppm;
    out.message.withdraw_hash = message->withdraw_hash.data;
    out.message.state = message->state;
    out.message.reports = message->reports;
    return out;
}

struct msg_change state_from_call(const struct hearsay_change *change)
{
    return (struct msg_change){
        .seq = change->seq,
        .has_message = change->kind == HEARSAY_CHANGE_MESSAGE,
        .has_gone = change->kind == HEARSAY_CHANGE_GONE,
        .has_rule = change->kind == HEARSAY_CHANGE_RULE,
        .message = {.id = {change->id, HEARSAY_ID_BYTES},
                    .epoch = change->message.epoch,
                    .filter = {change->message.filter, change->message.filter_bytes},
                    .media_type = {change->message.media_type,
                                   change->message.media_type != NULL
                                       ? strlen(change->message.media_type)
                                       : 0},
                    .payload = {change->message.payload, change->message.payload_bytes},
                    .deposited_ms = change->message.deposited_ms,
                    .expires_ms = change->message.expires_ms,
                    .reach_ppm = change->message.reach,
                    .withdraw_hash = {change->message.withdraw_hash,
                                      change->message.withdraw_hash != NULL ? HEARSAY_HASH_BYTES
                                                                            : 0},
                    .state = change->message.state,
                    .reports = change->message.reports},
        .gone = {.id = {change->id, HEARSAY_ID_BYTES},
                 .until_ms = change->gone.until_ms,
                 .why = (enum msg_why)change->gone.why},
        .rule = {.kind = change->rule.kind,
                 .value = {change->rule.value, change->rule.value_bytes},
                 .number = change->rule.number,
                 .created_ms = change->rule.created_ms,
                 .dropped = change->rule.dropped,
                 .until_ms = change->rule.until_ms},
    };
}
