/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc: where memory comes from, passed as an argument, so that a budget can be kept and a test
 * can let the n-th request fail.
 *
 * Sizes are given back on release, so nothing is stored beside a block.
 */
#ifndef CORE_BASE_ALLOC_H
#define CORE_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/*
 * An allocator. `resize` behaves like realloc with the old size named: old_bytes = 0 with
 * block = NULL allocates, new_bytes = 0 frees and returns NULL; on failure it returns NULL and the
 * old block stays as it was. Shrinking and freeing never fail.
 */
struct alloc {
    void *(*resize)(void *context, void *block, size_t old_bytes, size_t new_bytes);
    void *context; /* borrowed, handed to resize */
};

/* libc's heap. Static storage. */
const struct alloc *alloc_system(void);

/*
 * Counts what another allocator gives out and refuses what would exceed a limit. Embed it, and use
 * `.alloc` as the allocator; it must outlive every block it gave. Not thread-safe.
 */
struct alloc_budget {
    struct alloc alloc;        /* hand this to others */
    const struct alloc *below; /* borrowed */
    size_t limit_bytes;
    size_t used_bytes;
    size_t peak_bytes;
};

/* `below` is borrowed and must outlive the budget. */
void alloc_budget_init(struct alloc_budget *budget, const struct alloc *below, size_t limit_bytes);

/*
 * Room for `count` things of `bytes` each, uninitialised (alloc_zeroed: zero bytes). NULL when
 * there is none, when count * bytes overflows, or when either is 0. Returned block is owned.
 */
void *alloc_array(const struct alloc *alloc, size_t count, size_t bytes);
void *alloc_zeroed(const struct alloc *alloc, size_t count, size_t bytes);

/*
 * Changes an array of old_count to new_count things of `bytes` each; contents are kept up to the
 * smaller count. NULL on failure or overflow, the old array then stays as it was. new_count >= 1.
 */
void *alloc_resize(const struct alloc *alloc, void *block, size_t old_count, size_t new_count,
                   size_t bytes);

/* Gives back an array of `count` things of `bytes` each. NULL is fine. */
void alloc_release(const struct alloc *alloc, void *block, size_t count, size_t bytes);

/* a * b in *out; false, and *out untouched, when that overflows. */
bool alloc_multiply(size_t a, size_t b, size_t *out);

#endif
