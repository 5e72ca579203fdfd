/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fail_alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* In front of each block; as large as the strictest alignment. */
union header {
    size_t bytes;
    max_align_t alignment;
};

static bool must_fail(struct fail_alloc *fail)
{
    fail->requests++;
    return fail->fail_at != 0 && (fail->requests == fail->fail_at ||
                                  (fail->fail_from_then && fail->requests > fail->fail_at));
}

static void *fail_resize(void *context, void *block, size_t bytes)
{
    struct fail_alloc *fail = context;
    union header *header = block == NULL ? NULL : (union header *)block - 1;
    size_t old_bytes = header == NULL ? 0 : header->bytes;

    if (bytes > old_bytes && must_fail(fail)) {
        return NULL;
    }
    /* Always moves, so that whoever keeps an old pointer is found out. */
    union header *moved = NULL;
    if (bytes > 0) {
        moved = bytes <= SIZE_MAX - sizeof *moved ? malloc(sizeof *moved + bytes) : NULL;
        if (moved == NULL) {
            return NULL;
        }
        moved->bytes = bytes;
        memset(moved + 1, 0xa5, bytes);
        if (header != NULL) {
            memcpy(moved + 1, block, old_bytes < bytes ? old_bytes : bytes);
        }
        fail->live_blocks++;
    }
    if (header != NULL) {
        memset(block, 0x5a, old_bytes);
        free(header);
        fail->live_blocks--;
    }
    fail->live_bytes = fail->live_bytes - old_bytes + bytes;
    fail->most_bytes = fail->live_bytes > fail->most_bytes ? fail->live_bytes : fail->most_bytes;
    return moved == NULL ? NULL : moved + 1;
}

void fail_alloc_init(struct fail_alloc *fail)
{
    *fail = (struct fail_alloc){.alloc = {.resize = fail_resize, .context = fail}};
}

void fail_alloc_arm(struct fail_alloc *fail, size_t n)
{
    fail->requests = 0;
    fail->fail_at = n;
}
