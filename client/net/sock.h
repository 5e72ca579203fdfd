/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sock: non-blocking sockets: connecting, reading, writing. Does not look at the bytes.
 *
 * Deadlines are on the clock of now_monotonic_ms.
 */
#ifndef CLIENT_NET_SOCK_H
#define CLIENT_NET_SOCK_H

#include <stddef.h>
#include <stdint.h>

#include "client/hearsay.h"

struct address;

/* Named outcomes, besides WAIT_TIMEOUT (client/net/wait.h). */
enum {
    SOCK_AGAIN = 2, /* nothing to read, or the send buffer is full: wait first */
    SOCK_CLOSED = 3 /* the peer closed or reset the connection */
};

/*
 * Connects; tries every address of a name. Each address gets an equal share of the remaining time.
 * 0 with *out_fd owned, close-on-exec and non-blocking; HEARSAY_ERR_CONNECT, HEARSAY_ERR_TIMEOUT,
 * HEARSAY_ERR_SYSTEM, HEARSAY_ERR_NOMEM.
 */
int sock_connect(const struct address *address, int64_t deadline_ms, int *out_fd,
                 struct hearsay_error *out_error);

/*
 * One read or write, without waiting and without SIGPIPE. 0 with *out_count >= 1, SOCK_AGAIN, or
 * SOCK_CLOSED with the errno in *out_errno (0: an orderly end). count >= 1.
 */
int sock_read(int fd, void *buffer, size_t count, size_t *out_count, int *out_errno);
int sock_write(int fd, const void *data, size_t count, size_t *out_count, int *out_errno);

#endif
