/* SPDX-License-Identifier: Apache-2.0 */
#include "client/net/sock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/fail.h"
#include "client/net/address.h"
#include "client/net/wait.h"
#include "client/now.h"

/* Converts the result `moved` of recv or send to a result of sock_read or sock_write. If `moved` is
 * 0, *out_errno becomes `errno_of_0`. */
static int sock_outcome(ssize_t moved, int errno_of_0, size_t *out_count, int *out_errno)
{
    if (moved > 0) {
        *out_count = (size_t)moved;
        return HEARSAY_OK;
    }
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return SOCK_AGAIN;
    }
    *out_errno = moved == 0 ? errno_of_0 : errno;
    return SOCK_CLOSED;
}

int sock_read(int fd, void *buffer, size_t count, size_t *out_count, int *out_errno)
{
    ssize_t got = -1;
    do {
        got = recv(fd, buffer, count, 0);
    } while (got < 0 && errno == EINTR);
    return sock_outcome(got, 0, out_count, out_errno);
}

int sock_write(int fd, const void *data, size_t count, size_t *out_count, int *out_errno)
{
    ssize_t put = -1;
    do {
        put = send(fd, data, count, MSG_NOSIGNAL);
    } while (put < 0 && errno == EINTR);
    return sock_outcome(put, EPIPE, out_count, out_errno);
}

/*
 * Begins to connect to one address. Returns 0 or SOCK_AGAIN (the connection is being made) with
 * *out_fd, or SOCK_CLOSED with the errno in *out_errno.
 */
static int connect_start(const struct sockaddr *address, socklen_t length, int *out_fd,
                         int *out_errno)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        *out_errno = errno;
        return SOCK_CLOSED;
    }
    int outcome = HEARSAY_OK;
    if (connect(fd, address, length) != 0) {
        if (errno != EINPROGRESS && errno != EINTR) {
            *out_errno = errno;
            (void)close(fd);
            return SOCK_CLOSED;
        }
        outcome = SOCK_AGAIN;
    }
    if (address->sa_family != AF_UNIX) {
        /*
         * Disables Nagle's algorithm: the library itself collects requests into larger writes.
         * Errors are ignored, because the option changes only the speed.
         */
        int one = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    }
    *out_fd = fd;
    return outcome;
}

/*
 * Waits until a connection is made. Returns 0, WAIT_TIMEOUT, or SOCK_CLOSED with the errno in
 * *out_errno.
 */
static int connect_finish(int fd, int64_t deadline_ms, int *out_errno)
{
    int status = wait_for(fd, POLLOUT, deadline_ms, NULL);
    if (status == WAIT_TIMEOUT) {
        return WAIT_TIMEOUT;
    }
    int rc = 0;
    socklen_t size = sizeof(rc);
    if (status != HEARSAY_OK || getsockopt(fd, SOL_SOCKET, SO_ERROR, &rc, &size) != 0) {
        rc = errno;
    }
    *out_errno = rc;
    return rc == 0 ? HEARSAY_OK : SOCK_CLOSED;
}

/*
 * Connects to one address. Returns 0 with *out_fd, WAIT_TIMEOUT, or SOCK_CLOSED with the errno in
 * *out_errno.
 */
static int connect_one(const struct sockaddr *address, socklen_t length, int64_t deadline_ms,
                       int *out_fd, int *out_errno)
{
    int fd = -1;
    int status = connect_start(address, length, &fd, out_errno);
    if (status == SOCK_AGAIN) {
        status = connect_finish(fd, deadline_ms, out_errno);
        if (status != HEARSAY_OK) {
            (void)close(fd);
        }
    }
    if (status == HEARSAY_OK) {
        *out_fd = fd;
    }
    return status;
}

static int connect_unix(const struct address *address, int64_t deadline_ms, int *out_fd,
                        struct hearsay_error *error)
{
    struct sockaddr_un name;
    memset(&name, 0, sizeof(name));
    name.sun_family = AF_UNIX;
    memcpy(name.sun_path, address->path, strlen(address->path) + 1);
    int reason = 0;
    int status =
        connect_one((const struct sockaddr *)&name, sizeof(name), deadline_ms, out_fd, &reason);
    if (status == WAIT_TIMEOUT || (status == SOCK_CLOSED && reason == EAGAIN)) {
        return fail_set(error, HEARSAY_ERR_TIMEOUT, "%s does not accept connections now",
                        address->path);
    }
    if (status != HEARSAY_OK) {
        return fail_set_errno(error, HEARSAY_ERR_CONNECT, reason, "cannot connect to %s",
                              address->path);
    }
    return HEARSAY_OK;
}

static int connect_list(const struct addrinfo *list, int64_t deadline_ms, int *out_fd,
                        int *out_errno)
{
    int64_t count = 0;
    for (const struct addrinfo *one = list; one != NULL; one = one->ai_next) {
        count++;
    }
    int status = SOCK_CLOSED;
    for (const struct addrinfo *one = list; one != NULL; one = one->ai_next, count--) {
        /*
         * Each address gets a share of the remaining time, so that an address without an answer
         * leaves time for the next addresses.
         */
        int64_t now_ms = now_monotonic_ms();
        int64_t share_ms = deadline_ms > now_ms ? (deadline_ms - now_ms) / count : 0;
        status = connect_one(one->ai_addr, one->ai_addrlen, now_ms + share_ms, out_fd, out_errno);
        if (status == HEARSAY_OK) {
            return HEARSAY_OK;
        }
    }
    return status;
}

static int connect_tcp(const struct address *address, int64_t deadline_ms, int *out_fd,
                       struct hearsay_error *error)
{
    struct addrinfo *list = NULL;
    int status = resolve_name(address->host, address->port, deadline_ms, &list, error);
    if (status != HEARSAY_OK) {
        return status;
    }
    int reason = EADDRNOTAVAIL;
    status = connect_list(list, deadline_ms, out_fd, &reason);
    freeaddrinfo(list);
    if (status == WAIT_TIMEOUT) {
        return fail_set(error, HEARSAY_ERR_TIMEOUT, "no answer from %s port %s in time",
                        address->host, address->port);
    }
    if (status != HEARSAY_OK) {
        return fail_set_errno(error, HEARSAY_ERR_CONNECT, reason, "cannot connect to %s port %s",
                              address->host, address->port);
    }
    return HEARSAY_OK;
}

int sock_connect_begin(const struct address *address, int *out_fd, bool *out_is_connected,
                       struct hearsay_error *out_error)
{
    if (address->kind == ADDRESS_UNIX) { /* the system never lets one wait */
        *out_is_connected = true;
        return connect_unix(address, now_monotonic_ms(), out_fd, out_error);
    }
    struct addrinfo *list = NULL;
    int status = resolve_number(address->host, address->port, &list, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    int reason = 0;
    status = connect_start(list->ai_addr, list->ai_addrlen, out_fd, &reason);
    freeaddrinfo(list);
    if (status == SOCK_CLOSED) {
        return fail_set_errno(out_error, HEARSAY_ERR_CONNECT, reason,
                              "cannot connect to %s port %s", address->host, address->port);
    }
    *out_is_connected = status == HEARSAY_OK;
    return HEARSAY_OK;
}

int sock_connect_continue(int fd, struct hearsay_error *out_error)
{
    int reason = 0;
    int status = connect_finish(fd, now_monotonic_ms(), &reason);
    if (status == SOCK_CLOSED) {
        return fail_set_errno(out_error, HEARSAY_ERR_CONNECT, reason, "cannot connect");
    }
    return status == WAIT_TIMEOUT ? SOCK_AGAIN : HEARSAY_OK;
}

int sock_connect(const struct address *address, int64_t deadline_ms, int *out_fd,
                 struct hearsay_error *out_error)
{
    return address->kind == ADDRESS_UNIX ? connect_unix(address, deadline_ms, out_fd, out_error)
                                         : connect_tcp(address, deadline_ms, out_fd, out_error);
}
