/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/route/limit.h"

#include <string.h>

#include <sodium.h>

enum {
    PROBES = 16,       /* entries that are looked at for one address */
    NETWORK_BYTES = 8, /* of an IPv6 /64 */
    TEXT_BYTES = 17,
    DEVICE_KIND = 1 /* of a hash, beside the families 4 and 6, and 64 */
};

void limit_init(struct limit *limit)
{
    memset(limit, 0, sizeof(*limit));
    randombytes_buf(limit->salt, sizeof(limit->salt));
}

/* The salted hash of an address or of a network, never 0. */
static uint64_t hash_of(const struct limit *limit, uint8_t kind, const uint8_t *bytes, size_t count)
{
    uint8_t text[TEXT_BYTES] = {kind};
    uint8_t hash[crypto_generichash_BYTES_MIN];
    uint64_t number;

    memcpy(text + 1, bytes, count);
    /* Cannot fail: all lengths are within the bounds of BLAKE2b. */
    (void)crypto_generichash(hash, sizeof(hash), text, sizeof(text), limit->salt,
                             sizeof(limit->salt));
    memcpy(&number, hash, sizeof(number));
    return number != 0 ? number : 1;
}

static struct bucket_rate rate_times(const struct bucket_rate *rate, uint32_t factor)
{
    uint64_t per_minute = (uint64_t)rate->per_minute * factor;
    uint64_t burst = (uint64_t)rate->burst * factor;

    return (struct bucket_rate){
        .per_minute = per_minute > UINT32_MAX ? UINT32_MAX : (uint32_t)per_minute,
        .burst = burst > UINT32_MAX ? UINT32_MAX : (uint32_t)burst,
    };
}

/*
 * The bucket of a hash. An entry whose bucket is full at the widest rate counts as free: its
 * address would get a full bucket again.
 */
static struct bucket *bucket_of(struct limit *limit, uint64_t hash, const struct bucket_rate *rate,
                                int64_t now_ms)
{
    struct limit_entry *free_entry = NULL;

    for (size_t i = 0; i < PROBES; i++) {
        struct limit_entry *entry = &limit->entries[(hash + i) % LIMIT_ADDRESSES];

        if (entry->hash == hash) {
            return &entry->bucket;
        }
        if (free_entry == NULL &&
            (entry->hash == 0 || bucket_is_full(&entry->bucket, rate, now_ms))) {
            free_entry = entry;
        }
    }
    if (free_entry == NULL) {
        return NULL;
    }
    *free_entry = (struct limit_entry){.hash = hash};
    return &free_entry->bucket;
}

static uint64_t bucket_pay(struct limit *limit, uint64_t hash, const struct bucket_rate *rate,
                           uint32_t factor, uint32_t cost, int64_t now_ms)
{
    struct bucket *bucket = bucket_of(limit, hash, rate, now_ms);
    struct bucket_rate own = rate_times(rate, bucket != NULL ? factor : LIMIT_NETWORK);

    return bucket_take(bucket != NULL ? bucket : &limit->others, &own, cost, now_ms);
}

uint64_t limit_take(struct limit *limit, const struct http_address *client,
                    const struct bucket_rate *rate, uint32_t cost, int64_t now_ms)
{
    limit->rate = *rate;
    if (client->device != 0) {
        uint8_t device[sizeof(client->device)];

        memcpy(device, &client->device, sizeof(device));
        return bucket_pay(limit, hash_of(limit, DEVICE_KIND, device, sizeof(device)), rate, 1, cost,
                          now_ms);
    }
    if (client->family == 4) {
        return bucket_pay(limit, hash_of(limit, 4, client->bytes, 4), rate, 1, cost, now_ms);
    }
    uint64_t network = hash_of(limit, 64, client->bytes, NETWORK_BYTES);
    bool is_on_link = !client->is_hidden && client->has_local &&
                      memcmp(client->bytes, client->local, NETWORK_BYTES) == 0;
    if (!is_on_link) {
        return bucket_pay(limit, network, rate, 1, cost, now_ms);
    }
    uint64_t wait_ms = bucket_pay(limit, hash_of(limit, 6, client->bytes, sizeof(client->bytes)),
                                  rate, 1, cost, now_ms);
    return wait_ms > 0 ? wait_ms : bucket_pay(limit, network, rate, LIMIT_NETWORK, cost, now_ms);
}

void limit_tidy(struct limit *limit, int64_t now_ms)
{
    for (size_t i = 0; i < LIMIT_ADDRESSES; i++) {
        struct limit_entry *entry = &limit->entries[i];

        if (entry->hash != 0 && bucket_is_full(&entry->bucket, &limit->rate, now_ms)) {
            *entry = (struct limit_entry){.hash = 0};
        }
    }
}
