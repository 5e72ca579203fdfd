/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/block_pool.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

/* The header of a block. What the user gets begins behind it. */
struct pool_block {
    alignas(max_align_t) struct pool_block *next; /* only of a kept block */
    size_t bytes;                                 /* for the user */
};

static struct pool_block *header_of(void *block)
{
    return (struct pool_block *)block - 1;
}

static void release_block(struct block_pool *pool, struct pool_block *block)
{
    if (block->bytes < BLOCK_POOL_BLOCK_MIN || block->bytes > BLOCK_POOL_BLOCK_MAX ||
        block->bytes > BLOCK_POOL_KEPT_BYTES - pool->kept_bytes) {
        alloc_release(pool->upstream, block);
        return;
    }
    block->next = pool->kept;
    pool->kept = block;
    pool->kept_bytes += block->bytes;
}

/* Takes a kept block of at least `bytes` bytes out of the pool, but none of more than twice as
 * much: a connection may hold its buffer for long. Returns NULL if there is none. */
static struct pool_block *take_kept(struct block_pool *pool, size_t bytes)
{
    for (struct pool_block **link = &pool->kept; *link != NULL; link = &(*link)->next) {
        struct pool_block *block = *link;

        if (block->bytes >= bytes && block->bytes / 2 <= bytes) {
            *link = block->next;
            pool->kept_bytes -= block->bytes;
            return block;
        }
    }
    return NULL;
}

/* Returns the new or moved header, or NULL. `old` may be NULL. */
static struct pool_block *resize_upstream(struct block_pool *pool, struct pool_block *old,
                                          size_t bytes)
{
    if (bytes > SIZE_MAX - sizeof(*old)) {
        return NULL;
    }
    struct pool_block *block = alloc_resize(pool->upstream, old, sizeof(*old) + bytes, 1);
    if (block != NULL) {
        block->bytes = bytes;
    }
    return block;
}

static void *pool_resize(void *context, void *block, size_t bytes)
{
    struct block_pool *pool = context;
    struct pool_block *old = block == NULL ? NULL : header_of(block);

    if (bytes == 0) {
        if (old != NULL) {
            release_block(pool, old);
        }
        return NULL;
    }
    if (old != NULL && bytes <= old->bytes && bytes >= old->bytes / 2) {
        return block;
    }
    struct pool_block *found = take_kept(pool, bytes);
    if (found == NULL) {
        found = resize_upstream(pool, old, bytes);
    } else if (old != NULL) {
        memcpy(found + 1, block, old->bytes < bytes ? old->bytes : bytes);
        memset(block, 0, old->bytes); /* the user cannot overwrite it any more */
        release_block(pool, old);
    }
    return found == NULL ? NULL : found + 1;
}

void block_pool_init(struct block_pool *pool, const struct alloc *upstream)
{
    *pool = (struct block_pool){
        .alloc = {.resize = pool_resize, .context = pool},
        .upstream = upstream,
    };
}

void block_pool_clear(struct block_pool *pool)
{
    while (pool->kept != NULL) {
        struct pool_block *block = pool->kept;

        pool->kept = block->next;
        alloc_release(pool->upstream, block);
    }
    pool->kept_bytes = 0;
}
