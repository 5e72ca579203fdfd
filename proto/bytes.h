/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes: a growable array of bytes, for output that is built piece by piece.
 */
#pragma once

#include <stdint.h>

#include "core/base/alloc.h"

struct bytes {
    const struct alloc *alloc; /* borrowed */
    uint8_t *data;             /* owned; NULL while capacity is 0 */
    size_t count;
    size_t capacity;
};

/* Makes an empty array. The array borrows `alloc` until its last use. */
void bytes_init(struct bytes *bytes, const struct alloc *alloc);
void bytes_deinit(struct bytes *bytes); /* Frees the memory of the array, which is then empty. A
                                         * zeroed struct is allowed. */

/*
 * Makes room for `more` bytes behind the present bytes and returns the address of the room. `count`
 * does not change: the caller writes the bytes and increases `count`. NULL: no memory, or the size
 * would exceed SIZE_MAX.
 */
uint8_t *bytes_reserve(struct bytes *bytes, size_t more);

/* Appends a copy of `count` bytes. 0 or -ERR_NOMEM. */
int bytes_append(struct bytes *bytes, const void *data, size_t count);

/*
 * Removes the first `count` bytes; count <= bytes->count. Frees the memory if no byte remains.
 * Moves the bytes that remain.
 */
void bytes_consume(struct bytes *bytes, size_t count);
