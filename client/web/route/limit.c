/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/route/limit.h"

#include <string.h>

#include <sodium.h>

#include "client/web/http_peer.h"

enum {
    PROBES = 16,       /* entries that are looked at for one address */
    NETWORK_BYTES = 8, /* of an IPv6 /64 */
    NETWORK_KIND = 164 /* of a key of this file, beside those of http_peer_sender_key */
};

void limit_init(struct limit *limit)
{
    memset(limit, 0, sizeof(*limit));
    randombytes_buf(limit->salt, sizeof(limit->salt));
}

/* The salted hash of a key, never 0. */
static uint64_t hash_of(const struct limit *limit, const struct fair_key *key)
{
    uint8_t hash[crypto_generichash_BYTES_MIN];
    uint64_t number;

    /* Cannot fail: all lengths are within the bounds of BLAKE2b. */
    (void)crypto_generichash(hash, sizeof(hash), (const uint8_t *)key, sizeof(*key), limit->salt,
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

static uint64_t bucket_pay(struct limit *limit, const struct fair_key *key,
                           const struct bucket_rate *rate, uint32_t factor, uint32_t cost,
                           int64_t now_ms)
{
    struct bucket *bucket = bucket_of(limit, hash_of(limit, key), rate, now_ms);
    struct bucket_rate own = rate_times(rate, bucket != NULL ? factor : LIMIT_NETWORK);

    return bucket_take(bucket != NULL ? bucket : &limit->others, &own, cost, now_ms);
}

uint64_t limit_take(struct limit *limit, const struct http_address *client,
                    const struct bucket_rate *rate, uint32_t cost, int64_t now_ms)
{
    struct fair_key sender;
    struct fair_key network = {.words[0] = NETWORK_KIND};

    limit->rate = *rate;
    http_peer_sender_key(client, &sender);
    uint64_t wait_ms = bucket_pay(limit, &sender, rate, 1, cost, now_ms);
    if (wait_ms > 0 || client->family != 6 || client->device != 0) {
        return wait_ms;
    }
    memcpy(&network.words[1], client->bytes, NETWORK_BYTES);
    return bucket_pay(limit, &network, rate, LIMIT_NETWORK, cost, now_ms);
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
