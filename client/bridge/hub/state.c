/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/inner.h"

#include <string.h>

#include "core/base/hash.h"
#include "proto/codec/letter.h"

static void put_hash(struct hash128 hash, uint8_t *out_key)
{
    memcpy(out_key, &hash.low64, sizeof(hash.low64));
    memcpy(out_key + sizeof(hash.low64), &hash.high64, sizeof(hash.high64));
}

static void read_rule(const struct hearsay_rule_state *rule, struct state *out)
{
    put_hash(hash128_seeded(rule->value.data, rule->value.count, rule->kind), out->key);
    out->until_ms = rule->until_ms;
    out->is_rule = true;
}

bool state_read(const struct hearsay_change *change, struct state *out)
{
    struct hearsay_bytes id = change->has_gone ? change->gone.id : change->message.id;

    memset(out, 0, sizeof(*out));
    if (change->has_decision && change->decision.store_id.count == LIMIT_ID_BYTES) {
        out->store = hash_seeded(change->decision.store_id.data, LIMIT_ID_BYTES, 0);
        out->decision =
            hash_seeded(change->decision.store_id.data, LIMIT_ID_BYTES, change->decision.number);
    }
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
        out->is_evicted = change->gone.why == HEARSAY_WAS_EVICTED;
    } else {
        out->state = (uint8_t)change->message.state;
        out->until_ms = change->message.expires_ms;
        out->has_payload = true;
    }
    return true;
}

bool state_decode(const uint8_t *bytes, size_t size, struct arena *arena,
                  struct hearsay_change *out_change, struct state *out)
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
