/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache: an LRU cache of payloads and media types. An answer whose payloads are all cached needs no
 * read of the store. All functions are called on the loop thread.
 */
#pragma once

#include "core/index/nearest.h"

struct cache;

/* The payload and the media type of a message. The pointers are borrowed from the cache. */
struct cache_entry {
    const uint8_t *payload;
    size_t payload_bytes;
    const char *media_type; /* not terminated */
    size_t media_type_bytes;
};

/*
 * Makes a cache of at most `limit_bytes`: payloads, media types, and an estimate of the other
 * memory of each entry. With 0 the cache stores nothing. NULL: out of memory, or libsodium has
 * failed. The caller owns the cache.
 */
struct cache *cache_new(uint64_t limit_bytes);
void cache_free(struct cache *cache); /* NULL is fine */

/*
 * Copies an entry into the cache. First removes an older entry of the same message, even if the new
 * entry is not stored. Evicts the least recently used entries until the new one fits. Returns false
 * if memory is short, or if the entry is larger than 1/8 of the limit, because one message must not
 * empty the cache. The payload and the media type may not be in the cache's memory.
 */
bool cache_put(struct cache *cache, uint32_t host, const uint8_t *id,
               const struct cache_entry *entry);

/*
 * Looks a message up. Returns false if the cache has no entry of this message. *out_entry is
 * borrowed until the next cache_put, cache_drop, cache_set_limit or cache_free.
 */
bool cache_get(struct cache *cache, uint32_t host, const uint8_t *id,
               struct cache_entry *out_entry);

/* Drops a message if the cache has it. */
void cache_drop(struct cache *cache, uint32_t host, const uint8_t *id);

/* Sets a new limit, and evicts entries until the cache is within the limit. */
void cache_set_limit(struct cache *cache, uint64_t limit_bytes);

/* Bytes in use, counted as for the limit. */
uint64_t cache_bytes(const struct cache *cache);
