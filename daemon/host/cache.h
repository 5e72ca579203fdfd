/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache: payloads and media types kept in memory, so that answers need not wait for storage. The
 * longest unused go first. Loop thread only; never a source of truth.
 */
#ifndef DAEMON_HOST_CACHE_H
#define DAEMON_HOST_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/index/nearest.h"

struct cache;

/* What a message's entry holds; pointers are borrowed from the cache. */
struct cache_entry {
    const uint8_t *payload;
    size_t payload_bytes;
    const char *media_type; /* not terminated */
    size_t media_type_bytes;
};

/*
 * A cache that holds at most limit_bytes, its own bookkeeping included; 0 keeps nothing. NULL: no
 * memory. Owned by the caller.
 */
struct cache *cache_new(uint64_t limit_bytes);
void cache_free(struct cache *cache); /* NULL is fine */

/*
 * Copies an entry in, in place of an older one of the same message, and drops what has to go for
 * it. Returns whether it is in: not if it is larger than an eighth of the limit (one message shall
 * not empty the cache), nor without memory. An older entry of the message is gone in any case. The
 * entry must not point into the cache.
 */
bool cache_put(struct cache *cache, uint32_t host, const uint8_t *id,
               const struct cache_entry *entry);

/* Whether it is there; *out_entry is borrowed until the next put, drop or change of the limit. */
bool cache_get(struct cache *cache, uint32_t host, const uint8_t *id,
               struct cache_entry *out_entry);

/* Forgets a message that was withdrawn or expired, if it is there. */
void cache_drop(struct cache *cache, uint32_t host, const uint8_t *id);

/* Another limit from now on; what is over it goes, the longest unused first. */
void cache_set_limit(struct cache *cache, uint64_t limit_bytes);

/* What it holds now, counted as for the limit. */
uint64_t cache_bytes(const struct cache *cache);

#endif
