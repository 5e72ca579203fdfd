/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena: memory for one message, given back all at once. It has a budget, because protobuf-c
 * allocates whatever the wire claims.
 */
#ifndef PROTO_ARENA_H
#define PROTO_ARENA_H

#include "core/base/alloc.h"

#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
    const struct alloc *alloc; /* borrowed */
    struct arena_block *blocks;
    size_t limit_bytes; /* of all blocks together */
    size_t held_bytes;
    size_t used_bytes; /* handed out since the last reset */
    bool refused;      /* the budget said no since the last reset */
};

/* Allocates nothing yet. */
void arena_init(struct arena *arena, const struct alloc *alloc, size_t limit_bytes);
void arena_deinit(struct arena *arena); /* a zeroed one is fine */

/* Memory for anything, aligned for any type, uninitialised; NULL when memory or budget is out. */
void *arena_take(struct arena *arena, size_t bytes);

/* The same for count things of `bytes` each, zeroed. */
void *arena_take_zeroed(struct arena *arena, size_t count, size_t bytes);

/* Makes all that was handed out invalid; keeps one block, 64 KiB at most, for the next message. */
void arena_reset(struct arena *arena);

#endif
