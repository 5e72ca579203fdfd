/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sock: non-blocking sockets, and waiting for them up to a deadline. Knows nothing of what is sent.
 *
 * Deadlines are milliseconds of the monotonic clock, as sock_now_ms tells it.
 */
#ifndef CLIENT_NET_SOCK_H
#define CLIENT_NET_SOCK_H

#include "client/hearsay.h"

#include <stddef.h>
#include <stdint.h>

struct address;

/* Named outcomes. */
enum {
    SOCK_TIMEOUT = 1, /* the deadline passed */
    SOCK_AGAIN = 2,   /* nothing to read, no room to write: wait first */
    SOCK_CLOSED = 3   /* the peer closed or reset the connection */
};

/* The monotonic clock, in milliseconds: what deadlines are on. */
int64_t sock_now_ms(void);

/* The deadline `timeout_ms` from now; timeout_ms >= 0. */
int64_t sock_deadline(int timeout_ms);

/*
 * Connects; tries every address of a name, each with its share of the time that is left. 0 with
 * *out_fd owned, close-on-exec and non-blocking; HEARSAY_ERR_CONNECT, HEARSAY_ERR_TIMEOUT,
 * HEARSAY_ERR_SYSTEM, HEARSAY_ERR_NOMEM.
 */
int sock_connect(const struct address *address, int64_t deadline_ms, int *out_fd,
                 struct hearsay_error *out_error);

/*
 * Waits until poll reports any of `events` (or an error condition, which reading or writing will
 * then tell). 0, SOCK_TIMEOUT, HEARSAY_ERR_SYSTEM. A deadline that has passed still looks once.
 */
int sock_wait(int fd, short events, int64_t deadline_ms, struct hearsay_error *out_error);

/*
 * One read or write, without waiting and without SIGPIPE. 0 with *out_count >= 1, SOCK_AGAIN, or
 * SOCK_CLOSED with the errno in *out_errno (0: an orderly end). count >= 1.
 */
int sock_read(int fd, void *buffer, size_t count, size_t *out_count, int *out_errno);
int sock_write(int fd, const void *data, size_t count, size_t *out_count, int *out_errno);

#endif
