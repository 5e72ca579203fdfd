/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena: memory for many small allocations that are freed all at once, such as those of one
 * message. An arena has a limit, because a few bytes of a frame can make protobuf-c allocate much
 * memory.
 */
#pragma once

#include "core/base/alloc.h"

struct arena_block;

struct arena {
    const struct alloc *alloc; /* borrowed */
    struct arena_block *blocks;
    size_t limit_bytes; /* most bytes of all blocks together */
    size_t held_bytes;
    size_t used_bytes; /* handed out since the last reset, each allocation rounded up for its
                        * alignment */
    bool refused;      /* since the last reset, an allocation failed because the blocks would have
                        * exceeded limit_bytes */
};

/* Allocates nothing yet. */
void arena_init(struct arena *arena, const struct alloc *alloc, size_t limit_bytes);
void arena_deinit(struct arena *arena); /* a zeroed struct is fine */

/*
 * Allocates `bytes` bytes, aligned for any type, uninitialised. NULL: no memory, or the blocks
 * would exceed limit_bytes.
 */
void *arena_take(struct arena *arena, size_t bytes);

/*
 * Allocates an array of `count` elements of `bytes` bytes each, all zero. NULL: as with arena_take,
 * or the size of the array overflows.
 */
void *arena_take_zeroed(struct arena *arena, size_t count, size_t bytes);

/*
 * Takes back all memory that the arena handed out. Frees the blocks, but keeps the largest block
 * that has at most 64 KiB. Overwrites what was handed out of this block.
 */
void arena_reset(struct arena *arena);
