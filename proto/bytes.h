/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes: a growable row of bytes with a limit, for output that is built piece by piece.
 */
#ifndef PROTO_BYTES_H
#define PROTO_BYTES_H

#include "core/base/alloc.h"

#include <stddef.h>
#include <stdint.h>

struct bytes {
    const struct alloc *alloc; /* borrowed */
    uint8_t *data;             /* owned; NULL while capacity is 0 */
    size_t count;
    size_t capacity;
};

/* Empty. `alloc` is borrowed until bytes_deinit. */
void bytes_init(struct bytes *bytes, const struct alloc *alloc);
void bytes_deinit(struct bytes *bytes); /* a zeroed one is fine; usable again after bytes_init */

/*
 * Makes room for `more` bytes behind the `count` there are, and returns where they go; count stays.
 * NULL when there is no memory. Amortised O(1) a byte.
 */
uint8_t *bytes_reserve(struct bytes *bytes, size_t more);

/* Appends a copy. 0 or -ERR_NOMEM. */
int bytes_append(struct bytes *bytes, const void *data, size_t count);

/*
 * Drops the first `count` bytes, count <= bytes->count; gives memory back when nothing is left.
 * O(what is left).
 */
void bytes_consume(struct bytes *bytes, size_t count);

#endif
