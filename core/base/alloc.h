/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc: an allocator that is passed as an argument. A caller can so give a module a memory budget,
 * and a test can let the n-th request fail.
 *
 * A release names the size of its block, so the allocator stores nothing beside the block.
 */
#ifndef CORE_BASE_ALLOC_H
#define CORE_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/*
 * An allocator. `resize` is realloc with the old size as an argument:
 *   block = NULL, old_bytes = 0   allocates
 *   new_bytes = 0                 frees, and returns NULL
 * On failure it returns NULL and leaves the old block as it was. Shrinking and freeing never fail.
 */
struct alloc {
    void *(*resize)(void *context, void *block, size_t old_bytes, size_t new_bytes);
    void *context; /* borrowed, handed to resize */
};

/* libc's heap. Static storage. */
const struct alloc *alloc_system(void);

/*
 * Allocates an array of `count` elements of `bytes` bytes each, uninitialised (alloc_zeroed: all
 * bytes 0). The caller owns the block. NULL: no memory, count * bytes overflows, or one of them is
 * 0.
 */
void *alloc_array(const struct alloc *alloc, size_t count, size_t bytes);
void *alloc_zeroed(const struct alloc *alloc, size_t count, size_t bytes);

/*
 * Changes an array from old_count to new_count elements of `bytes` bytes each. The elements up to
 * the smaller count keep their contents. NULL on failure or overflow: the old array stays as it
 * was. new_count >= 1.
 */
void *alloc_resize(const struct alloc *alloc, void *block, size_t old_count, size_t new_count,
                   size_t bytes);

/* Frees an array of `count` elements of `bytes` bytes each. NULL is fine. */
void alloc_release(const struct alloc *alloc, void *block, size_t count, size_t bytes);

/* Writes a * b to *out. false on overflow: *out is unchanged. */
bool alloc_multiply(size_t a, size_t b, size_t *out);

#endif
