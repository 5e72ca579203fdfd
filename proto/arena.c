/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

enum {
    ARENA_ALIGNMENT = alignof(max_align_t),
    ARENA_BLOCK_MIN = 4 * 1024, /* holds most messages */
    ARENA_BLOCK_MAX = 64 * 1024 /* a new block has twice the size of the newest block, but not more
                                 * than this size, and not more than the arena's limit leaves. An
                                 * allocation that is larger gets a block of its own size */
};

/*
 *   +-----------------------+---------+---------------------------------+
 *   | struct arena_block    | padding | memory, aligned for any type    |
 *   +-----------------------+---------+---------------------------------+
 *   0                                 ARENA_HEADER_BYTES                bytes
 */
struct arena_block {
    struct arena_block *next;
    size_t bytes; /* with this header */
    size_t used;  /* bytes of the block that are used, the block's header included; a multiple of
                   * ARENA_ALIGNMENT */
};

enum {
    ARENA_HEADER_BYTES =
        (sizeof(struct arena_block) + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT
};

void arena_init(struct arena *arena, const struct alloc *alloc, size_t limit_bytes)
{
    *arena = (struct arena){.alloc = alloc, .limit_bytes = limit_bytes};
}

/* Frees a chain of blocks. */
static void arena_free_blocks(struct arena *arena, struct arena_block *block)
{
    while (block != NULL) {
        struct arena_block *next = block->next;

        arena->held_bytes -= block->bytes;
        alloc_release(arena->alloc, block);
        block = next;
    }
}

void arena_deinit(struct arena *arena)
{
    arena_free_blocks(arena, arena->blocks);
    arena->blocks = NULL;
    arena->used_bytes = 0;
    arena->refused = false;
}

/*
 * Returns the size of the next block, which must hold `room` bytes. 0: the arena's limit does not
 * allow such a block.
 */
static size_t arena_block_size(const struct arena *arena, size_t room)
{
    size_t left = arena->limit_bytes - arena->held_bytes;

    if (left < ARENA_HEADER_BYTES || left - ARENA_HEADER_BYTES < room) {
        return 0;
    }
    size_t least = ARENA_HEADER_BYTES + room;
    size_t bytes = arena->blocks == NULL ? (size_t)ARENA_BLOCK_MIN : arena->blocks->bytes;
    if (arena->blocks != NULL) {
        bytes = bytes < ARENA_BLOCK_MAX / 2 ? bytes * 2 : (size_t)ARENA_BLOCK_MAX;
    }
    if (bytes < least) {
        bytes = least;
    }
    return bytes < left ? bytes : left;
}

static struct arena_block *arena_add_block(struct arena *arena, size_t room)
{
    size_t bytes = arena_block_size(arena, room);

    if (bytes == 0) {
        arena->refused = true;
        return NULL;
    }
    struct arena_block *block = alloc_array(arena->alloc, bytes, 1);
    if (block == NULL) {
        return NULL;
    }
    block->next = arena->blocks;
    block->bytes = bytes;
    block->used = ARENA_HEADER_BYTES;
    arena->blocks = block;
    arena->held_bytes += bytes;
    return block;
}

void *arena_take(struct arena *arena, size_t bytes)
{
    struct arena_block *block = arena->blocks;

    if (bytes > SIZE_MAX - ARENA_ALIGNMENT) {
        arena->refused = true;
        return NULL;
    }
    /*
     * An allocation of 0 bytes takes ARENA_ALIGNMENT bytes, so that no other allocation has its
     * address before the next reset.
     */
    bytes = bytes == 0 ? (size_t)ARENA_ALIGNMENT
                       : (bytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    if (block == NULL || block->bytes - block->used < bytes) {
        block = arena_add_block(arena, bytes);
        if (block == NULL) {
            return NULL;
        }
    }
    void *room = (uint8_t *)block + block->used;
    block->used += bytes;
    arena->used_bytes += bytes;
    return room;
}

void *arena_take_zeroed(struct arena *arena, size_t count, size_t bytes)
{
    size_t total;

    if (count == 0 || bytes == 0) {
        total = 0;
    } else if (!alloc_multiply(count, bytes, &total)) {
        arena->refused = true;
        return NULL;
    }
    void *room = arena_take(arena, total);
    if (room != NULL && total > 0) {
        memset(room, 0, total);
    }
    return room;
}

/*
 * Takes the largest block of at most ARENA_BLOCK_MAX bytes out of the chain. NULL: there is no such
 * block.
 */
static struct arena_block *arena_detach_block(struct arena *arena)
{
    struct arena_block **best = NULL;

    for (struct arena_block **link = &arena->blocks; *link != NULL; link = &(*link)->next) {
        if ((*link)->bytes <= ARENA_BLOCK_MAX &&
            (best == NULL || (*link)->bytes > (*best)->bytes)) {
            best = link;
        }
    }
    if (best == NULL) {
        return NULL;
    }
    struct arena_block *block = *best;
    *best = block->next;
    block->next = NULL;
    return block;
}

void arena_reset(struct arena *arena)
{
    struct arena_block *kept = arena_detach_block(arena);

    arena_free_blocks(arena, arena->blocks);
    if (kept != NULL) {
        memset((uint8_t *)kept + ARENA_HEADER_BYTES, 0, kept->used - ARENA_HEADER_BYTES);
        kept->used = ARENA_HEADER_BYTES;
    }
    arena->blocks = kept;
    arena->used_bytes = 0;
    arena->refused = false;
}
