/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache: an LRU cache of payloads and media types, so that answers need not read the store. On the
 * loop thread.
 */
#ifndef DAEMON_HOST_CACHE_H
#define DAEMON_HOST_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/index/nearest.h"

struct cache;

/* The content of a message. Pointers are borrowed from the cache. */
struct cache_entry {
    const uint8_t *payload;
    size_t payload_bytes;
    const char *media_type; /* not terminated */
    size_t media_type_bytes;
};

/*
 * Makes a cache of at most limit_bytes, its own bookkeeping included; 0: it keeps nothing. NULL:
 * out of memory. Owned by the caller.
 */
struct cache *cache_new(uint64_t limit_bytes);
void cache_free(struct cache *cache); /* NULL is fine */

/*
 * Copies an entry into the cache, replaces an older one of the same message, and evicts least
 * recently used entries for it. False: out of memory, or the entry is larger than 1/8 of the limit
 * (one message must not empty the cache). An older entry of the message is dropped in any case. The
 * entry must not point into the cache.
 */
bool cache_put(struct cache *cache, uint32_t host, const uint8_t *id,
               const struct cache_entry *entry);

/* Whether the cache has the message. *out_entry is borrowed until the next put, drop or new limit.
 */
bool cache_get(struct cache *cache, uint32_t host, const uint8_t *id,
               struct cache_entry *out_entry);

/* Drops a message if the cache has it. */
void cache_drop(struct cache *cache, uint32_t host, const uint8_t *id);

/* Sets a new limit, and evicts what is over it. */
void cache_set_limit(struct cache *cache, uint64_t limit_bytes);

/* Bytes in use, counted as for the limit. */
uint64_t cache_bytes(const struct cache *cache);

#endif
