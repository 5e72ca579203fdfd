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
    uint8_t bytes[]; /* payload, media type */
};

/* A slot of the hash table. A search reads a node only if the tag is equal, because nodes are
 * rarely in the processor's cache. */
struct slot {
    struct node *node; /* NULL: the slot is empty */
    uint32_t tag;      /* the lower 32 bits of the hash of the key */
};

struct cache {
    uint64_t limit_bytes;
    uint64_t used_bytes;
    /* a random seed: without it clients could choose ids whose hashes collide */
    uint64_t seed;
    struct slot *slots; /* open addressing: a node is in the first free slot from its home on */
    size_t slot_count;  /* a power of two */
    size_t node_count;  /* at most three quarters of slot_count, so that each search ends */
    struct node *list;  /* in order of use, the latest first */
};

enum {
    /* estimate for each node, besides struct node and content: malloc's header, two slots */
    OVERHEAD_BYTES = 40,
    SLOTS_MIN = 64
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

static uint32_t tag_of(const struct cache *cache, const struct key *key)
{
    return (uint32_t)(hash_seeded(key->bytes, sizeof(key->bytes), cache->seed) & UINT32_MAX);
}

static size_t next_of(const struct cache *cache, size_t slot)
{
    return (slot + 1) & (cache->slot_count - 1);
}

/* Returns the slot of the key, or the empty slot that a node with the key would get. */
static struct slot *slot_of(const struct cache *cache, const struct key *key, uint32_t tag)
{
    size_t at = tag & (cache->slot_count - 1);

    while (cache->slots[at].node != NULL &&
           (cache->slots[at].tag != tag ||
            memcmp(cache->slots[at].node->key.bytes, key->bytes, sizeof(key->bytes)) != 0)) {
        at = next_of(cache, at);
    }
    return &cache->slots[at];
}

static struct node *cache_find(const struct cache *cache, const struct key *key)
{
    return slot_of(cache, key, tag_of(cache, key))->node;
}

/* Doubles the number of slots. False: memory is short, and the number stays. O(n) */
static bool cache_grow(struct cache *cache)
{
    struct slot *old = cache->slots;
    size_t old_count = cache->slot_count;
    struct slot *slots = calloc(old_count * 2, sizeof(*slots));

    if (slots == NULL) {
        return false;
    }
    cache->slots = slots;
    cache->slot_count = old_count * 2;
    for (size_t i = 0; i < old_count; i++) {
        size_t at = old[i].tag & (cache->slot_count - 1);

        while (old[i].node != NULL && slots[at].node != NULL) {
            at = next_of(cache, at);
        }
        if (old[i].node != NULL) {
            slots[at] = old[i];
        }
    }
    free(old);
    return true;
}

/*
 * Empties a slot and closes the gap. A search for a node begins at the node's home and ends at an
 * empty slot. So a later node moves into the gap, unless its home lies after the gap. The order is
 * circular.
 */
static void empty_slot(struct cache *cache, size_t gap)
{
    size_t mask = cache->slot_count - 1;

    for (size_t at = next_of(cache, gap); cache->slots[at].node != NULL; at = next_of(cache, at)) {
        size_t home = cache->slots[at].tag & mask;

        if (((at - home) & mask) >= ((at - gap) & mask)) {
            cache->slots[gap] = cache->slots[at];
            gap = at;
        }
    }
    cache->slots[gap] = (struct slot){.node = NULL};
}

static void remove_slot(struct cache *cache, const struct slot *slot)
{
    struct node *node = slot->node;

    empty_slot(cache, (size_t)(slot - cache->slots));
    DL_DELETE(cache->list, node);
    cache->node_count--;
    cache->used_bytes -= node_bytes(node->payload_bytes, node->media_type_bytes);
    free(node);
}

static void remove_oldest(struct cache *cache)
{
    const struct key *key = &DL_LAST(cache->list)->key;

    remove_slot(cache, slot_of(cache, key, tag_of(cache, key)));
}

static void add_node(struct cache *cache, struct node *node, uint32_t tag)
{
    if (cache->node_count >= cache->slot_count / 4 * 3 && !cache_grow(cache)) {
        remove_oldest(cache);
    }
    *slot_of(cache, &node->key, tag) = (struct slot){node, tag};
    DL_PREPEND(cache->list, node);
    cache->node_count++;
    cache->used_bytes += node_bytes(node->payload_bytes, node->media_type_bytes);
}

struct cache *cache_new(uint64_t limit_bytes)
{
    struct cache *cache = calloc(1, sizeof(*cache));

    if (cache == NULL || sodium_init() < 0) {
        free(cache);
        return NULL;
    }
    cache->slot_count = SLOTS_MIN;
    cache->slots = calloc(cache->slot_count, sizeof(*cache->slots));
    if (cache->slots == NULL) {
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
    for (struct node *node = cache->list, *next; node != NULL; node = next) {
        next = node->next;
        free(node);
    }
    free(cache->slots);
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
    uint32_t tag = tag_of(cache, &key);
    const struct slot *slot = slot_of(cache, &key, tag);

    if (slot->node != NULL) {
        remove_slot(cache, slot);
    }
    /* Each size is checked before the two are added, so that the sum cannot overflow. */
    if (entry->payload_bytes > limit / 8 || entry->media_type_bytes > UINT32_MAX / 2) {
        return false;
    }
    uint64_t bytes = node_bytes(entry->payload_bytes, entry->media_type_bytes);
    if (bytes > limit / 8) {
        return false;
    }
    struct node *node = make_node(&key, entry);
    if (node == NULL) {
        return false;
    }
    while (cache->list != NULL && cache->used_bytes + bytes > limit) {
        remove_oldest(cache);
    }
    add_node(cache, node, tag);
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
    const struct slot *slot = slot_of(cache, &key, tag_of(cache, &key));

    if (slot->node != NULL) {
        remove_slot(cache, slot);
    }
}

void cache_set_limit(struct cache *cache, uint64_t limit_bytes)
{
    cache->limit_bytes = limit_bytes;
    while (cache->list != NULL && cache->used_bytes > limit_bytes) {
        remove_oldest(cache);
    }
}

uint64_t cache_bytes(const struct cache *cache)
{
    return cache->used_bytes;
}
