/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena: memory for one message, freed all at once. It has a limit, because protobuf-c allocates as
 * much as the bytes on the wire claim.
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
    bool refused;      /* since the last reset a request exceeded the limit */
};

/* Allocates nothing yet. */
void arena_init(struct arena *arena, const struct alloc *alloc, size_t limit_bytes);
void arena_deinit(struct arena *arena); /* a zeroed struct is fine */

/* Allocates `bytes` bytes, aligned for any type, uninitialised. NULL: no memory, or over the limit.
 */
void *arena_take(struct arena *arena, size_t bytes);

/* The same for an array of `count` elements of `bytes` bytes each, zeroed. */
void *arena_take_zeroed(struct arena *arena, size_t count, size_t bytes);

/* Frees everything that was allocated. Keeps one block, of 64 KiB at most, for the next message. */
void arena_reset(struct arena *arena);

#endif
