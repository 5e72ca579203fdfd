/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fault_calls.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uv.h>

#define EXPORTED __attribute__((visibility("default")))

/* --- memory ----------------------------------------------------------------------------------- */

/* The linker brings our own code's calls here (--wrap). */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

static bool memory_fails(void)
{
    if (!fault_vfs_fails(FAULT_ALLOC)) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return memory_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return memory_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    return memory_fails() ? NULL : __real_realloc(block, bytes);
}

/* --- descriptors and threads ------------------------------------------------------------------ */

/* The function that would have been called. */
static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL) {
        abort();
    }
    return found;
}

static bool descriptor_fails(void)
{
    if (!fault_vfs_fails(FAULT_DESCRIPTOR)) {
        return false;
    }
    errno = EMFILE;
    return true;
}

/* A function pointer that dlsym found, as the type of a declared function. */
#define NEXT(name)                                                  \
    static __typeof__(name) *real;                                  \
    if (real == NULL) {                                             \
        void *found = next(#name);                                  \
        memcpy(&real, &found, sizeof(real)); /* no cast is ISO C */ \
    }

/* glibc declares a union of pointers to all kinds of addresses. */
#ifdef __GLIBC__
typedef __SOCKADDR_ARG address_pointer;
#else
typedef struct sockaddr *restrict address_pointer;
#endif

EXPORTED int accept4(int fd, address_pointer address, socklen_t *restrict length, int flags)
{
    NEXT(accept4)
    return descriptor_fails() ? -1 : real(fd, address, length, flags);
}

EXPORTED int socket(int domain, int type, int protocol)
{
    NEXT(socket)
    return descriptor_fails() ? -1 : real(domain, type, protocol);
}

EXPORTED int epoll_create1(int flags)
{
    NEXT(epoll_create1)
    return descriptor_fails() ? -1 : real(flags);
}

EXPORTED int eventfd(unsigned int count, int flags)
{
    NEXT(eventfd)
    return descriptor_fails() ? -1 : real(count, flags);
}

EXPORTED int pipe2(int ends[2], int flags)
{
    NEXT(pipe2)
    return descriptor_fails() ? -1 : real(ends, flags);
}

EXPORTED FILE *fopen(const char *restrict path, const char *restrict mode)
{
    NEXT(fopen)
    return descriptor_fails() ? NULL : real(path, mode);
}

EXPORTED int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                            void *(*run)(void *), void *restrict argument)
{
    NEXT(pthread_create)
    return fault_vfs_fails(FAULT_THREAD) ? EAGAIN : real(thread, attributes, run, argument);
}

/* --- installing ------------------------------------------------------------------------------- */

void fault_calls_install(void)
{
    /* Not realloc: where its table of descriptors cannot grow, libuv ends the program by itself. */
    const int rc = uv_replace_allocator(__wrap_malloc, __real_realloc, __wrap_calloc, free);

    assert(rc == 0);
    (void)rc;
}
