/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc: an allocator that callers pass as an argument. Tests pass an allocator that lets the n-th
 * request fail.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * An allocator. `resize` works like realloc:
 *   block = NULL   allocates a block
 *   bytes = 0      frees the block and returns NULL
 * On failure `resize` returns NULL and does not change the old block. Freeing never fails.
 */
struct alloc {
    void *(*resize)(void *context, void *block, size_t bytes);
    void *context; /* borrowed, handed to resize */
};

/* libc's heap. Static storage. */
const struct alloc *alloc_system(void);

/*
 * Allocates an array of `count` elements of `bytes` bytes each. alloc_array leaves the elements
 * uninitialised; alloc_zeroed sets all bytes of the array to 0. The caller owns the array. Returns
 * NULL if the allocator has no memory, if count * bytes overflows, or if `count` or `bytes` is 0.
 */
void *alloc_array(const struct alloc *alloc, size_t count, size_t bytes);
void *alloc_zeroed(const struct alloc *alloc, size_t count, size_t bytes);

/*
 * Changes the size of an array to `count` elements of `bytes` bytes each. `count` and `bytes` are
 * at least 1. With block = NULL, allocates an array. Elements that are in both the old and the new
 * array keep their contents. Returns NULL if the allocator has no memory or if count * bytes
 * overflows: the old array is unchanged then.
 */
void *alloc_resize(const struct alloc *alloc, void *block, size_t count, size_t bytes);

/* Frees a block. NULL is fine. */
void alloc_release(const struct alloc *alloc, void *block);

/* Writes a * b to *out and returns true. Returns false on overflow; *out is unchanged then. */
bool alloc_multiply(size_t a, size_t b, size_t *out);
