/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_pool: an allocator that keeps the large blocks that were freed last and hands them out
 * again. A request needs such blocks (a buffer for its bytes, a cursor for its search) only while
 * it is answered, and each `free` of the programs overwrites a block (daemon/system/wipe.c), which
 * takes longer than answering a small query.
 *
 * Many connections share a pool, which keeps at most BLOCK_POOL_KEPT_BYTES: a connection that is
 * idle has no buffer, and keeps nothing. The pool does not overwrite what it keeps. So whoever
 * frees a block with a request in it overwrites the request first (frame_decoder_release), and the
 * owner of the pool calls block_pool_clear every few seconds, because answers and search cursors
 * must not stay in memory for long.
 *
 * For one thread.
 */
#pragma once

#include "core/base/alloc.h"

enum {
    BLOCK_POOL_BLOCK_MIN = 1024,        /* smaller blocks are freed at once: overwriting is cheap */
    BLOCK_POOL_BLOCK_MAX = 128 * 1024,  /* larger ones are freed, too */
    BLOCK_POOL_KEPT_BYTES = 1024 * 1024 /* of all kept blocks */
};

struct block_pool {
    struct alloc alloc;           /* hand this to others */
    const struct alloc *upstream; /* borrowed: where the blocks come from */
    struct pool_block *kept;      /* owned: the blocks that nobody uses, the last one freed first */
    size_t kept_bytes;
};

/* Makes an empty pool, which must stay at its address. Borrows `upstream` until block_pool_clear
 * has been called for the last time. */
void block_pool_init(struct block_pool *pool, const struct alloc *upstream);

/* Frees the kept blocks. Blocks that are in use stay valid. Does nothing if the struct is all zero
 * because it was never initialised. */
void block_pool_clear(struct block_pool *pool);
