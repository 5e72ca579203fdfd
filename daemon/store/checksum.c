/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/checksum.h"

#include <assert.h>
#include <string.h>

#include "core/base/hash.h"
#include "daemon/store/row.h"

/* Integers and byte strings of a row, one after another. */
struct scratch {
    uint8_t bytes[128];
    size_t used;
};

static void put_number(struct scratch *scratch, uint64_t value)
{
    assert(scratch->used + 8 <= sizeof(scratch->bytes));
    for (unsigned i = 0; i < 8; i++) {
        scratch->bytes[scratch->used++] = (uint8_t)(value >> (8 * i));
    }
}

static void put_bytes(struct scratch *scratch, const uint8_t *bytes, size_t length)
{
    assert(scratch->used + length <= sizeof(scratch->bytes));
    memcpy(scratch->bytes + scratch->used, bytes, length);
    scratch->used += length;
}

static uint64_t scratch_hash(const struct scratch *scratch)
{
    return hash_seeded(scratch->bytes, scratch->used, 0);
}

/*
 * The checksum of a message's row. The hash of each part is the seed for the hash of the next part.
 * The first part has the lengths of the other parts, so that a byte that moves from the end of one
 * column to the beginning of the next changes the checksum.
 */
int64_t store_message_checksum(int64_t seq, const struct persist_message *message)
{
    struct scratch scratch = {.used = 0};
    uint64_t hash;

    put_number(&scratch, (uint64_t)seq);
    put_number(&scratch, message->host);
    put_bytes(&scratch, message->id, MESSAGE_ID_BYTES);
    put_number(&scratch, message->epoch);
    put_number(&scratch, (uint64_t)message->deposited_ms);
    put_number(&scratch, (uint64_t)message->expires_ms);
    put_number(&scratch, message->reach_ppm);
    put_number(&scratch, message->filter_bytes);
    put_number(&scratch, message->media_type_bytes);
    put_number(&scratch, message->payload_bytes);
    if (message->can_withdraw) {
        put_bytes(&scratch, message->withdraw_hash, LIMIT_HASH_BYTES);
    }
    hash = scratch_hash(&scratch);
    hash = hash_seeded(message->filter, message->filter_bytes, hash);
    hash = hash_seeded(message->media_type, message->media_type_bytes, hash);
    hash = hash_seeded(message->payload, message->payload_bytes, hash);
    return (int64_t)hash;
}

int64_t store_host_checksum(uint32_t host, const char *name, const char *profile, bool replicate)
{
    uint64_t hash = hash_seeded(name, strlen(name), host);

    hash = hash_seeded(profile, strlen(profile), hash);
    return (int64_t)(replicate ? hash_seeded("", 1, hash) : hash);
}

int64_t store_epoch_checksum(const struct persist_epoch *epoch)
{
    struct scratch scratch = {.used = 0};

    put_number(&scratch, epoch->host);
    put_number(&scratch, epoch->number);
    put_number(&scratch, (uint64_t)epoch->starts_ms);
    put_number(&scratch, (uint64_t)epoch->ends_ms);
    put_number(&scratch, (uint64_t)epoch->kept_ms);
    put_bytes(&scratch, epoch->key, LIMIT_KEY_BYTES);
    return (int64_t)scratch_hash(&scratch);
}

/* Of a row without change: nothing, as in schema 4. */
static void put_change(struct scratch *scratch, int64_t seq, int64_t what)
{
    if (seq != 0 || what != 0) {
        put_number(scratch, (uint64_t)seq);
        put_number(scratch, (uint64_t)what);
    }
}

int64_t store_tombstone_checksum(const struct store_tombstone *tombstone)
{
    struct scratch scratch = {.used = 0};

    put_number(&scratch, tombstone->host);
    put_bytes(&scratch, tombstone->id, MESSAGE_ID_BYTES);
    put_number(&scratch, (uint64_t)tombstone->expires_ms);
    put_change(&scratch, tombstone->seq, tombstone->why);
    return (int64_t)scratch_hash(&scratch);
}

int64_t store_evicted_checksum(int64_t seq, uint32_t host, int64_t expires_ms,
                               const uint8_t *messages, size_t messages_bytes)
{
    struct scratch scratch = {.used = 0};

    put_number(&scratch, (uint64_t)seq);
    put_number(&scratch, host);
    put_number(&scratch, (uint64_t)expires_ms);
    return (int64_t)hash_seeded(messages, messages_bytes, scratch_hash(&scratch));
}

int64_t store_moderation_checksum(int64_t seq, int64_t state, int64_t reports, int64_t destroy_ms,
                                  int64_t removed_ms, int64_t change_seq, const void *reasons,
                                  size_t reasons_bytes)
{
    struct scratch scratch = {.used = 0};

    put_number(&scratch, (uint64_t)seq);
    put_number(&scratch, (uint64_t)state);
    put_number(&scratch, (uint64_t)reports);
    put_number(&scratch, (uint64_t)destroy_ms);
    put_number(&scratch, (uint64_t)removed_ms);
    put_number(&scratch, reasons_bytes);
    put_change(&scratch, change_seq, 0);
    return (int64_t)hash_seeded(reasons, reasons_bytes, scratch_hash(&scratch));
}

int64_t store_decision_checksum(const struct persist_decision *decision)
{
    struct scratch scratch = {.used = 0};

    put_number(&scratch, decision->host);
    put_number(&scratch, decision->number);
    put_number(&scratch, (uint64_t)decision->time_ms);
    put_number(&scratch, decision->has_id);
    put_bytes(&scratch, decision->id, MESSAGE_ID_BYTES);
    put_number(&scratch, decision->kind);
    put_number(&scratch, decision->reports);
    put_number(&scratch, decision->uid);
    put_number(&scratch, decision->web);
    put_number(&scratch, strlen(decision->act));
    uint64_t hash = hash_seeded(decision->act, strlen(decision->act), scratch_hash(&scratch));
    return (int64_t)hash_seeded(decision->reason, strlen(decision->reason), hash);
}

int64_t store_copy_checksum(const struct store_copy *copy)
{
    struct scratch scratch = {.used = 0};

    put_number(&scratch, copy->host);
    put_number(&scratch, copy->kind);
    put_bytes(&scratch, copy->id.store_id, PERSIST_STORE_ID_BYTES);
    put_number(&scratch, copy->id.number);
    put_number(&scratch, (uint64_t)copy->id.time_ms);
    put_number(&scratch, (uint64_t)copy->until_ms);
    put_number(&scratch, copy->state);
    put_number(&scratch, copy->waits);
    put_number(&scratch, copy->value_bytes);
    return (int64_t)hash_seeded(copy->value, copy->value_bytes, scratch_hash(&scratch));
}

int64_t store_rule_checksum(const struct persist_rule *rule)
{
    struct scratch scratch = {.used = 0};

    put_number(&scratch, rule->host);
    put_number(&scratch, (uint64_t)rule->kind);
    put_number(&scratch, rule->number);
    put_number(&scratch, (uint64_t)rule->created_ms);
    put_number(&scratch, (uint64_t)rule->until_ms);
    put_number(&scratch, rule->value_bytes);
    put_change(&scratch, rule->seq, rule->dropped);
    return (int64_t)hash_seeded(rule->value, rule->value_bytes, scratch_hash(&scratch));
}

int64_t store_meta_checksum(const uint8_t *store_id, int64_t next_seq, int64_t clock_ms,
                            int64_t shift_from_ms)
{
    struct scratch scratch = {.used = 0};

    put_bytes(&scratch, store_id, PERSIST_STORE_ID_BYTES);
    put_number(&scratch, (uint64_t)next_seq);
    put_number(&scratch, (uint64_t)clock_ms);
    put_number(&scratch, (uint64_t)shift_from_ms);
    return (int64_t)scratch_hash(&scratch);
}
