/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *system_resize(void *context, void *block, size_t bytes)
{
    (void)context;
    if (bytes == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, bytes);
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
    return alloc->resize(alloc->context, NULL, total);
}

void *alloc_zeroed(const struct alloc *alloc, size_t count, size_t bytes)
{
    void *block = alloc_array(alloc, count, bytes);

    if (block != NULL) {
        memset(block, 0, count * bytes);
    }
    return block;
}

void *alloc_resize(const struct alloc *alloc, void *block, size_t count, size_t bytes)
{
    size_t total = 0;

    if (!alloc_multiply(count, bytes, &total) || total == 0) {
        return NULL;
    }
    return alloc->resize(alloc->context, block, total);
}

void alloc_release(const struct alloc *alloc, void *block)
{
    if (block != NULL) {
        (void)alloc->resize(alloc->context, block, 0); /* freeing returns NULL */
    }
}
