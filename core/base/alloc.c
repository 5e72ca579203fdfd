/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *system_resize(void *context, void *block, size_t old_bytes, size_t new_bytes)
{
    (void)context;
    (void)old_bytes;
    if (new_bytes == 0) {
        free(block);
        return NULL;
    }
    void *moved = realloc(block, new_bytes);
    /* realloc may refuse even to shrink; the old block is large enough, so that is no failure. */
    if (moved == NULL && block != NULL && new_bytes <= old_bytes) {
        return block;
    }
    return moved;
}

const struct alloc *alloc_system(void)
{
    static const struct alloc system = {.resize = system_resize, .context = NULL};
    return &system;
}

bool alloc_multiply(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b) {
        return false;
    }
    *out = a * b;
    return true;
}

void *alloc_array(const struct alloc *alloc, size_t count, size_t bytes)
{
    size_t total = 0;

    if (!alloc_multiply(count, bytes, &total) || total == 0) {
        return NULL;
    }
    return alloc->resize(alloc->context, NULL, 0, total);
}

void *alloc_zeroed(const struct alloc *alloc, size_t count, size_t bytes)
{
    void *block = alloc_array(alloc, count, bytes);

    if (block != NULL) {
        memset(block, 0, count * bytes);
    }
    return block;
}

void *alloc_resize(const struct alloc *alloc, void *block, size_t old_count, size_t new_count,
                   size_t bytes)
{
    size_t total = 0;

    if (!alloc_multiply(new_count, bytes, &total) || total == 0) {
        return NULL;
    }
    return alloc->resize(alloc->context, block, old_count * bytes, total);
}

void alloc_release(const struct alloc *alloc, void *block, size_t count, size_t bytes)
{
    if (block != NULL) {
        (void)alloc->resize(alloc->context, block, count * bytes, 0); /* freeing returns NULL */
    }
}
