/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fail_alloc: an allocator for tests. It lets the n-th request fail, counts the blocks and bytes
 * that are held, and fills new and freed memory with patterns.
 */
#pragma once

#include "core/base/alloc.h"

struct fail_alloc {
    struct alloc alloc;  /* hand this to others */
    size_t fail_at;      /* the request that fails, counted from 1; 0: none */
    bool fail_from_then; /* and all after it, too */
    size_t requests;     /* for more memory, so far */
    size_t live_bytes;
    size_t most_bytes; /* the most that live_bytes has been */
    size_t live_blocks;
};

void fail_alloc_init(struct fail_alloc *fail);

/* Counts requests anew, and lets the n-th of them fail; 0: none. */
void fail_alloc_arm(struct fail_alloc *fail, size_t n);
