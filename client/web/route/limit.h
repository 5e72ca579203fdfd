/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limit: how often one phone may read. Each device has a token bucket; where the device is not
 * known, each address has one, and so has each IPv6 /64. All are kept as salted hashes only. An
 * IPv6 address on link counts by itself, and its /64 has LIMIT_NETWORK times the rate; an address
 * from further away counts by its /64. Addresses beyond LIMIT_ADDRESSES share one bucket of
 * LIMIT_NETWORK times the rate.
 */
#ifndef CLIENT_WEB_ROUTE_LIMIT_H
#define CLIENT_WEB_ROUTE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "client/web/http.h"
#include "core/base/bucket.h"

enum { LIMIT_ADDRESSES = 8192, LIMIT_NETWORK = 16, LIMIT_SALT_BYTES = 32 };

struct limit_entry {
    uint64_t hash; /* 0: the entry is free */
    struct bucket bucket;
};

/* About 64 KiB. */
struct limit {
    uint8_t salt[LIMIT_SALT_BYTES];
    struct limit_entry entries[LIMIT_ADDRESSES];
    struct bucket others;    /* of all addresses that have no entry */
    struct bucket_rate rate; /* of the last limit_take */
};

/* Makes a random salt, and all buckets full. */
void limit_init(struct limit *limit);

/*
 * Takes `cost` tokens of a device; or of an address, and of its /64. 0; or after how many
 * milliseconds there are enough, at least 1. `now_ms` is a monotonic clock. O(1).
 */
uint64_t limit_take(struct limit *limit, const struct http_address *client,
                    const struct bucket_rate *rate, uint32_t cost, int64_t now_ms);

/* Forgets the addresses whose buckets are full. O(LIMIT_ADDRESSES). */
void limit_tidy(struct limit *limit, int64_t now_ms);

#endif
