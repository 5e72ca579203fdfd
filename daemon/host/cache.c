/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/cache.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "core/base/hash.h"
#include "daemon/system/list.h"

struct key {
    uint8_t bytes[4 + MESSAGE_ID_BYTES]; /* host, id: no padding to be hashed */
};

struct node {
    struct key key;
    uint32_t media_type_bytes;
    size_t payload_bytes;
    struct node *prev; /* in order of use, the most recently used node first */
    struct node *next;
    struct node *next_in_bucket;
    uint64_t hash;   /* of the key */
    uint8_t bytes[]; /* payload, media type */
};

struct cache {
    uint64_t limit_bytes;
    uint64_t used_bytes;
    /* a random seed: without it clients could choose ids whose hashes collide */
    uint64_t seed;
    struct node **buckets; /* bucket_count chains */
    size_t bucket_count;   /* a power of two */
    size_t node_count;
    struct node *list; /* in order of use, the latest first */
};

enum {
    /* estimate for each node, besides struct node and content: malloc's header, two buckets */
    OVERHEAD_BYTES = 32,
    BUCKETS_MIN = 64
};

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

static struct node **bucket_of(struct cache *cache, uint64_t hash)
{
    return &cache->buckets[hash & (cache->bucket_count - 1)];
}

static struct node *cache_find(struct cache *cache, const struct key *key)
{
    uint64_t hash = hash_seeded(key->bytes, sizeof(key->bytes), cache->seed);
    struct node *node = *bucket_of(cache, hash);

    while (node != NULL &&
           (node->hash != hash || memcmp(node->key.bytes, key->bytes, sizeof(key->bytes)) != 0)) {
        node = node->next_in_bucket;
    }
    return node;
}

/*
 * Doubles the number of buckets. If memory is short, the number stays and the chains grow longer.
 * O(n)
 */
static void cache_grow(struct cache *cache)
{
    struct node **old = cache->buckets;
    struct node **buckets = calloc(cache->bucket_count * 2, sizeof(struct node *));
    struct node *node;

    if (buckets == NULL) {
        return;
    }
    cache->buckets = buckets;
    cache->bucket_count *= 2;
    DL_FOREACH (cache->list, node) {
        struct node **bucket = bucket_of(cache, node->hash);

        node->next_in_bucket = *bucket;
        *bucket = node;
    }
    free(old);
}

static void add_node(struct cache *cache, struct node *node)
{
    if (cache->node_count == cache->bucket_count) {
        cache_grow(cache);
    }
    node->hash = hash_seeded(node->key.bytes, sizeof(node->key.bytes), cache->seed);

    struct node **bucket = bucket_of(cache, node->hash);

    node->next_in_bucket = *bucket;
    *bucket = node;
    DL_PREPEND(cache->list, node);
    cache->node_count++;
    cache->used_bytes += node_bytes(node->payload_bytes, node->media_type_bytes);
}

static void remove_node(struct cache *cache, struct node *node)
{
    struct node **link = bucket_of(cache, node->hash);

    while (*link != node) {
        link = &(*link)->next_in_bucket;
    }
    *link = node->next_in_bucket;
    DL_DELETE(cache->list, node);
    cache->node_count--;
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
    cache->bucket_count = BUCKETS_MIN;
    cache->buckets = calloc(cache->bucket_count, sizeof(struct node *));
    if (cache->buckets == NULL) {
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
    free(cache->buckets);
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
    struct node *node = cache_find(cache, &key);

    if (node != NULL) {
        remove_node(cache, node);
    }
    /* Each size is checked before the two are added, so that the sum cannot overflow. */
    if (entry->payload_bytes > limit / 8 || entry->media_type_bytes > UINT32_MAX / 2) {
        return false;
    }
    uint64_t bytes = node_bytes(entry->payload_bytes, entry->media_type_bytes);
    if (bytes > limit / 8) {
        return false;
    }
    node = make_node(&key, entry);
    if (node == NULL) {
        return false;
    }
    while (cache->list != NULL && cache->used_bytes + bytes > limit) {
        remove_node(cache, DL_LAST(cache->list));
    }
    add_node(cache, node);
    return true;
}

bool cache_get(struct cache *cache, uint32_t host, const uint8_t *id, struct cache_entry *out_entry)
{
    struct key key = make_key(host, id);
    struct node *node = cache_find(cache, &key);

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
    struct node *node = cache_find(cache, &key);

    if (node != NULL) {
        remove_node(cache, node);
    }
}

void cache_set_limit(struct cache *cache, uint64_t limit_bytes)
{
    cache->limit_bytes = limit_bytes;
    while (cache->list != NULL && cache->used_bytes > limit_bytes) {
        remove_node(cache, DL_LAST(cache->list));
    }
}

uint64_t cache_bytes(const struct cache *cache)
{
    return cache->used_bytes;
}
