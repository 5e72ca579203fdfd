/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wipe: free and realloc of a whole program, also for its libraries. Both overwrite a block before
 * libc may use the memory again. So requests that have ended do not stay in memory, with addresses
 * of phones and with texts, and no core dump has them.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Larger blocks are not overwritten: that would take milliseconds. libc maps such a block by itself
 * and gives it back to the system. glibc does so for each block of MAPPED_BYTES or more only if it
 * is told; otherwise it takes larger and larger blocks from its heap, after it has seen one freed.
 */
enum { WIPE_BYTES_MAX = 256 * 1024, MAPPED_BYTES = 192 * 1024 };

#define EXPORTED __attribute__((visibility("default"))) /* libraries find the two functions */

/* The functions of libc. NULL before main: what is freed then is lost. */
static void (*free_next)(void *block);
static void *(*realloc_next)(void *block, size_t bytes);

__attribute__((constructor)) static void find_next(void)
{
    *(void **)&realloc_next = dlsym(RTLD_NEXT, "realloc");
    *(void **)&free_next = dlsym(RTLD_NEXT, "free");
    if (realloc_next == NULL || free_next == NULL) {
        static const char why[] = "memory cannot be overwritten in a program that is linked "
                                  "statically: build with -Dprefer_static=true\n";

        (void)!write(STDERR_FILENO, why, sizeof(why) - 1);
        abort();
    }
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    /* The heap of another thread than the first grows by a page at a time, with a call of mprotect
     * for each: 770 for 10,000 deposits. The first heap, which all threads share then, grows by
     * M_TOP_PAD. */
    (void)mallopt(M_ARENA_MAX, 1);
#endif
}

EXPORTED void free(void *block)
{
    size_t bytes = block == NULL ? 0 : malloc_usable_size(block);

    if (bytes > 0 && bytes <= WIPE_BYTES_MAX) {
        explicit_bzero(block, bytes);
    }
    if (free_next != NULL) {
        free_next(block);
    }
}

EXPORTED void *realloc(void *block, size_t bytes)
{
    size_t had = block == NULL ? 0 : malloc_usable_size(block);

    if (block == NULL) {
        return malloc(bytes);
    }
    if (bytes == 0) {
        free(block);
        return NULL;
    }
    if (had > WIPE_BYTES_MAX && realloc_next != NULL) {
        return realloc_next(block, bytes);
    }
    if (bytes <= had && bytes >= had / 2) {
        return block;
    }
    void *moved = malloc(bytes);
    if (moved != NULL) {
        memcpy(moved, block, bytes < had ? bytes : had);
        free(block);
    }
    return moved;
}
