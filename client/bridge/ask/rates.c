/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/inner.h"

#include <string.h>

enum { BURST_SHARE = 6, BURST_LEAST = 10 };

/* The bucket of the name. A bucket that is full again gives its place away. */
static struct bucket *find_bucket(struct rates *rates, const char *name,
                                  const struct bucket_rate *rate, int64_t now_ms)
{
    struct rates_peer *place = NULL;

    for (uint32_t i = 0; i < RATES_MAX; i++) {
        struct rates_peer *peer = &rates->peers[i];

        if (strcmp(peer->name, name) == 0) {
            return &peer->bucket;
        }
        if (place == NULL &&
            (peer->name[0] == '\0' || bucket_is_full(&peer->bucket, rate, now_ms))) {
            place = peer;
        }
    }
    if (place == NULL) {
        return &rates->rest;
    }
    *place = (struct rates_peer){.bucket = {.used = 0}};
    memcpy(place->name, name, strlen(name) + 1);
    return &place->bucket;
}

bool rates_take(struct rates *rates, const char *name, uint32_t per_minute, uint32_t cost,
                int64_t now_ms)
{
    uint32_t burst = per_minute / BURST_SHARE;
    struct bucket_rate rate = {.per_minute = per_minute,
                               .burst = burst > BURST_LEAST ? burst : BURST_LEAST};
    struct bucket *bucket = find_bucket(rates, name, &rate, now_ms);

    if (bucket == &rates->rest) {
        rate.per_minute *= RATES_REST;
        rate.burst *= RATES_REST;
    }
    uint32_t most = rate.burst - 1;
    return bucket_take(bucket, &rate, cost < most ? cost : most, now_ms) == 0;
}
