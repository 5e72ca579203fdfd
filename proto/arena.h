/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena: memory for one message, freed all at once. An arena has a limit, because protobuf-c
 * allocates as much memory as the bytes on the wire claim.
 */
#ifndef PROTO_ARENA_H
#define PROTO_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/alloc.h"

struct arena_block;

struct arena {
    const struct alloc *alloc; /* borrowed */
    struct arena_block *blocks;
    size_t limit_bytes; /* most bytes of all blocks together */
    size_t held_bytes;
    size_t used_bytes; /* handed out since the last reset */
    bool refused;      /* a request since the last reset exceeded limit_bytes */
};

/* Allocates nothing yet. */
void arena_init(struct arena *arena, const struct alloc *alloc, size_t limit_bytes);
void arena_deinit(struct arena *arena); /* a zeroed struct is fine */

/*
 * Allocates `bytes` bytes, aligned for any type, uninitialised. NULL: no memory, or the arena's
 * limit is exceeded.
 */
void *arena_take(struct arena *arena, size_t bytes);

/*
 * Allocates an array of `count` elements of `bytes` bytes each, all zero. NULL as with arena_take.
 */
void *arena_take_zeroed(struct arena *arena, size_t count, size_t bytes);

/*
 * Frees all memory that the arena handed out. One block of at most 64 KiB stays allocated for the
 * next message.
 */
void arena_reset(struct arena *arena);

#endif
