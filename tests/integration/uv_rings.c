/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uv_rings: plays a libuv from 1.45 on, whatever libuv there is. Preloaded into hearsayd it makes a
 * ring (io_uring) together with the loop, as libuv does, and uses the ring for the first
 * connection. Where the kernel refuses the use of a ring that it has given, the process is aborted,
 * as by libuv.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <uv.h>

enum { PARAMS_BYTES = 120, ENTRIES = 8 };

static int ring = -1;

/* Whether the symbol behind ours was found. */
static int find(const char *name, void *out_function)
{
    *(void **)out_function = dlsym(RTLD_NEXT, name);
    return *(void **)out_function != NULL;
}

int uv_loop_init(uv_loop_t *loop)
{
    int (*behind)(uv_loop_t *) = NULL;
    char params[PARAMS_BYTES] = {0};

    ring = (int)syscall(SYS_io_uring_setup, ENTRIES, params);
    return find("uv_loop_init", &behind) ? behind(loop) : UV_ENOSYS;
}

int uv_accept(uv_stream_t *server, uv_stream_t *client)
{
    int (*behind)(uv_stream_t *, uv_stream_t *) = NULL;

    if (ring >= 0 && syscall(SYS_io_uring_enter, ring, 0, 0, 0, NULL, 0) < 0) {
        perror("uv_rings: io_uring_enter");
        abort();
    }
    return find("uv_accept", &behind) ? behind(server, client) : UV_ENOSYS;
}
