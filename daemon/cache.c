/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/cache.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "core/hash.h"

/* Out of memory is an answer, not the end of the process. */
#define HASH_NONFATAL_OOM 1
/* Clients choose ids: a seed of our own keeps them from choosing collisions. Wherever uthash
   hashes here, `cache` names the cache. */
#define HASH_FUNCTION(key, length, hash) \
    ((hash) = (unsigned)hash_seeded((key), (length), cache->seed))
#include <uthash.h>
#include <utlist.h>

struct key {
    uint8_t bytes[4 + MESSAGE_ID_BYTES]; /* host, id: no padding to be hashed */
};

struct node {
    struct key key;
    uint32_t media_type_bytes;
    size_t payload_bytes;
    struct node *prev; /* in order of use, the latest first */
    struct node *next;
    UT_hash_handle hh;
    uint8_t bytes[]; /* payload, media type */
};

struct cache {
    uint64_t limit_bytes;
    uint64_t used_bytes;
    uint64_t seed;
    struct node *table; /* uthash */
    struct node *list;  /* utlist */
};

/* malloc's header and the table's buckets, about. */
enum { OVERHEAD_BYTES = 32 };

static uint64_t node_bytes(size_t payload_bytes, size_t media_type_bytes)
{
    return (uint64_t)sizeof(struct node) + OVERHEAD_BYTES + payload_bytes + media_type_bytes;
}

static struct key make_key(uint32_t host, const uint8_t *id)
{
    struct key key;

    memcpy(key.bytes, &host, 4);
    memcpy(key.bytes + 4, id, MESSAGE_ID_BYTES);
    return key;
}

static struct node *find(struct cache *cache, const struct key *key)
{
    struct node *node;

    HASH_FIND(hh, cache->table, key, sizeof(*key), node);
    return node;
}

static void remove_node(struct cache *cache, struct node *node)
{
    HASH_DELETE(hh, cache->table, node);
    DL_DELETE(cache->list, node);
    cache->used_bytes -= node_bytes(node->payload_bytes, node->media_type_bytes);
    free(node);
}

struct cache *cache_new(uint64_t limit_bytes)
{
    struct cache *cache = calloc(1, sizeof(*cache));

    if (cache == NULL || sodium_init() < 0) {
        free(cache);
        return NULL;
    }
    cache->limit_bytes = limit_bytes;
    randombytes_buf(&cache->seed, sizeof(cache->seed));
    return cache;
}

void cache_free(struct cache *cache)
{
    if (cache == NULL) {
        return;
    }
    while (cache->list != NULL) {
        remove_node(cache, cache->list);
    }
    free(cache);
}

static struct node *make_node(const struct key *key, const struct cache_entry *entry)
{
    struct node *node = malloc(sizeof(*node) + entry->payload_bytes + entry->media_type_bytes);

    if (node == NULL) {
        return NULL;
    }
    node->key = *key;
    node->payload_bytes = entry->payload_bytes;
    node->media_type_bytes = (uint32_t)entry->media_type_bytes;
    if (entry->payload_bytes > 0) {
        memcpy(node->bytes, entry->payload, entry->payload_bytes);
    }
    if (entry->media_type_bytes > 0) {
        memcpy(node->bytes + entry->payload_bytes, entry->media_type, entry->media_type_bytes);
    }
    return node;
}

bool cache_put(struct cache *cache, uint32_t host, const uint8_t *id,
               const struct cache_entry *entry)
{
    uint64_t limit = cache->limit_bytes;
    struct key key = make_key(host, id);
    struct node *node = find(cache, &key);
    uint64_t bytes;

    if (node != NULL) {
        remove_node(cache, node);
    }
    /* Each alone first, so that the sum cannot wrap. */
    if (entry->payload_bytes > limit / 8 || entry->media_type_bytes > UINT32_MAX / 2) {
        return false;
    }
    bytes = node_bytes(entry->payload_bytes, entry->media_type_bytes);
    if (bytes > limit / 8) {
        return false;
    }
    node = make_node(&key, entry);
    if (node == NULL) {
        return false;
    }
    while (cache->list != NULL && cache->used_bytes + bytes > limit) {
        remove_node(cache, cache->list->prev); /* utlist: the head's prev is the tail */
    }
    HASH_ADD(hh, cache->table, key, sizeof(key), node);
    if (node->hh.tbl == NULL) {
        free(node);
        return false;
    }
    DL_PREPEND(cache->list, node);
    cache->used_bytes += bytes;
    return true;
}

bool cache_get(struct cache *cache, uint32_t host, const uint8_t *id, struct cache_entry *out_entry)
{
    struct key key = make_key(host, id);
    struct node *node = find(cache, &key);

    if (node == NULL) {
        return false;
    }
    if (node != cache->list) {
        DL_DELETE(cache->list, node);
        DL_PREPEND(cache->list, node);
    }
    *out_entry = (struct cache_entry){
        .payload = node->bytes,
        .payload_bytes = node->payload_bytes,
        .media_type = (const char *)node->bytes + node->payload_bytes,
        .media_type_bytes = node->media_type_bytes,
    };
    return true;
}

void cache_drop(struct cache *cache, uint32_t host, const uint8_t *id)
{
    struct key key = make_key(host, id);
    struct node *node = find(cache, &key);

    if (node != NULL) {
        remove_node(cache, node);
    }
}

void cache_set_limit(struct cache *cache, uint64_t limit_bytes)
{
    cache->limit_bytes = limit_bytes;
    while (cache->list != NULL && cache->used_bytes > limit_bytes) {
        remove_node(cache, cache->list->prev);
    }
}

uint64_t cache_bytes(const struct cache *cache)
{
    return cache->used_bytes;
}
