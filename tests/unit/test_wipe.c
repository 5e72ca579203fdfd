/* SPDX-License-Identifier: Apache-2.0 */
/* free and realloc of the programs: what they overwrite, and what libc maps by itself. */
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/lib/check.h"

enum { HEAP_BYTES_MAX = 64 * 1024 * 1024 }; /* more than this program has on its heap */

/* The number of blocks that libc has mapped. */
static size_t mapped_blocks(void)
{
#ifdef __GLIBC_PREREQ /* only glibc has the macro, and mallinfo2 only from 2.33 on */
#if __GLIBC_PREREQ(2, 33)
    return mallinfo2().hblks;
#endif
#endif
    skip();
    return 0;
}

/* A block that free does not overwrite is never of the heap, where the next owner would get it. */
TEST(test_large_blocks_are_mapped)
{
    for (size_t bytes = 2 << 20; bytes >= 256 * 1024; bytes /= 2) {
        size_t before = mapped_blocks();
        char *volatile block = malloc(bytes);

        assert_non_null(block);
        assert_int_equal(mapped_blocks(), before + 1);
        free(block); /* without the rule of wipe.c, glibc takes the next from the heap */
    }
}

static void *take_block(void *bytes)
{
    return malloc(*(const size_t *)bytes);
}

/* The heap of another thread would grow by a page at a time, with a system call for each page. */
TEST(threads_share_one_heap)
{
    size_t bytes = 5000; /* more than a thread keeps for itself */
    pthread_t thread;
    void *block = NULL;

#ifdef __GLIBC__
    char *start = sbrk(0);
    assert_int_equal(pthread_create(&thread, NULL, take_block, &bytes), 0);
    assert_int_equal(pthread_join(thread, &block), 0);
    assert_non_null(block);
    assert_true((char *)block < (char *)sbrk(0) && (char *)block > start - HEAP_BYTES_MAX);
    free(block);
#else
    (void)take_block, (void)thread, (void)block, (void)bytes;
    skip();
#endif
}
