/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/bytes.h"

#include <string.h>

#include "core/base/err.h"

/* The smallest allocation, in bytes. */
enum { BYTES_CAPACITY_MIN = 256 };

void bytes_init(struct bytes *bytes, const struct alloc *alloc)
{
    *bytes = (struct bytes){.alloc = alloc};
}

void bytes_deinit(struct bytes *bytes)
{
    if (bytes->data != NULL) {
        alloc_release(bytes->alloc, bytes->data);
    }
    *bytes = (struct bytes){.alloc = bytes->alloc};
}

/*
 * Returns a capacity of at least `needed` bytes, and of at least twice the present capacity
 * (SIZE_MAX if twice as much overflows). Doubling keeps appending at amortised O(1) for each byte.
 */
static size_t bytes_next_capacity(const struct bytes *bytes, size_t needed)
{
    size_t doubled = bytes->capacity > SIZE_MAX / 2 ? SIZE_MAX : bytes->capacity * 2;
    size_t capacity = doubled > BYTES_CAPACITY_MIN ? doubled : (size_t)BYTES_CAPACITY_MIN;

    return needed > capacity ? needed : capacity;
}

uint8_t *bytes_reserve(struct bytes *bytes, size_t more)
{
    if (more > SIZE_MAX - bytes->count) {
        return NULL;
    }
    if (bytes->data != NULL && more <= bytes->capacity - bytes->count) {
        return bytes->data + bytes->count;
    }

    size_t capacity = bytes_next_capacity(bytes, bytes->count + more);
    uint8_t *data = alloc_resize(bytes->alloc, bytes->data, capacity, 1);
    if (data == NULL) {
        return NULL;
    }
    bytes->data = data;
    bytes->capacity = capacity;
    return data + bytes->count;
}

int bytes_append(struct bytes *bytes, const void *data, size_t count)
{
    if (count == 0) {
        return 0;
    }
    uint8_t *room = bytes_reserve(bytes, count);
    if (room == NULL) {
        return -ERR_NOMEM;
    }
    memcpy(room, data, count);
    bytes->count += count;
    return 0;
}

void bytes_consume(struct bytes *bytes, size_t count)
{
    if (count >= bytes->count) {
        bytes_deinit(bytes);
        return;
    }
    if (count == 0) {
        return;
    }
    bytes->count -= count;
    memmove(bytes->data, bytes->data + count, bytes->count);
}
