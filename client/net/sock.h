/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sock: connects, reads and writes non-blocking sockets. Deadlines are on the clock of
 * now_monotonic_ms.
 */
#pragma once

#include "client/hearsay.h"

struct address;

/* Named outcomes, besides WAIT_TIMEOUT (client/net/wait.h). */
enum {
    SOCK_AGAIN = 2, /* nothing to read, or the send buffer is full: wait first */
    SOCK_CLOSED = 3 /* the peer closed the connection, or the connection failed */
};

/*
 * Connects to a server. If the name has several addresses, tries one after another. Each try may
 * last at most the remaining time divided by the number of addresses that are left. Returns 0 with
 * *out_fd owned, close-on-exec and non-blocking; HEARSAY_ERR_CONNECT, HEARSAY_ERR_TIMEOUT,
 * HEARSAY_ERR_SYSTEM or HEARSAY_ERR_NOMEM.
 */
int sock_connect(const struct address *address, int64_t deadline_ms, int *out_fd,
                 struct hearsay_error *out_error);

/*
 * Begins to connect to a Unix socket or to a numeric address, without waiting. Returns 0 with
 * *out_fd owned, close-on-exec and non-blocking, and *out_is_connected; HEARSAY_ERR_ARGUMENT for a
 * name; HEARSAY_ERR_CONNECT; HEARSAY_ERR_TIMEOUT if too many clients wait to connect to the Unix
 * socket; or HEARSAY_ERR_NOMEM.
 */
int sock_connect_begin(const struct address *address, int *out_fd, bool *out_is_connected,
                       struct hearsay_error *out_error);

/* Tells whether the socket of sock_connect_begin is connected. Returns 0 if it is; SOCK_AGAIN: wait
 * until the socket is writable, then call again; or HEARSAY_ERR_CONNECT. */
int sock_connect_continue(int fd, struct hearsay_error *out_error);

/*
 * Read or write once, without waiting and without SIGPIPE. `count` is at least 1. Return 0 with
 * *out_count >= 1; SOCK_AGAIN; or SOCK_CLOSED with the errno in *out_errno, where 0 means that the
 * server closed the connection normally.
 */
int sock_read(int fd, void *buffer, size_t count, size_t *out_count, int *out_errno);
int sock_write(int fd, const void *data, size_t count, size_t *out_count, int *out_errno);

/* --- resolve ---------------------------------------------------------------------------------- */

/*
 * Looks up the addresses of a host name, with a deadline.
 *
 * getaddrinfo has no timeout. So a separate thread looks up a name; a numeric address needs no
 * thread. If the deadline passes before getaddrinfo returns, resolve_name returns, and the thread
 * later frees what it has.
 */

struct addrinfo;

/*
 * Finds the stream addresses of a host and a decimal port. Returns 0 with *out_list owned
 * (freeaddrinfo), HEARSAY_ERR_CONNECT, HEARSAY_ERR_TIMEOUT, HEARSAY_ERR_SYSTEM or
 * HEARSAY_ERR_NOMEM.
 */
int resolve_name(const char *host, const char *port, int64_t deadline_ms,
                 struct addrinfo **out_list, struct hearsay_error *out_error);

/* Converts a numeric address and a decimal port to an address, like resolve_name, but without
 * waiting and without a thread. Returns HEARSAY_ERR_ARGUMENT for a name. */
int resolve_number(const char *host, const char *port, struct addrinfo **out_list,
                   struct hearsay_error *out_error);
