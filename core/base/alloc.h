/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc: an allocator that is passed as an argument, so that a test can let the n-th request fail
 * and count the bytes that are held.
 */
#ifndef CORE_BASE_ALLOC_H
#define CORE_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/*
 * An allocator. `resize` is realloc:
 *   block = NULL   allocates
 *   bytes = 0      frees, and returns NULL
 * On failure it returns NULL and leaves the old block as it was. Freeing never fails.
 */
struct alloc {
    void *(*resize)(void *context, void *block, size_t bytes);
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
 * Changes an array to `count` elements of `bytes` bytes each. The elements up to the smaller count
 * keep their contents. NULL on failure or overflow: the old array stays as it was. count >= 1.
 */
void *alloc_resize(const struct alloc *alloc, void *block, size_t count, size_t bytes);

/* Frees a block. NULL is fine. */
void alloc_release(const struct alloc *alloc, void *block);

/* Writes a * b to *out. false on overflow: *out is unchanged. */
bool alloc_multiply(size_t a, size_t b, size_t *out);

#endif
