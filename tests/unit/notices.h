/* SPDX-License-Identifier: Apache-2.0 */
/* notices: a socket in place of the service manager's. */
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/lib/check.h"

/* A datagram socket with an abstract address, in NOTIFY_SOCKET. */
static inline int notices_listen(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
                                "hearsay-test-%ld", (long)getpid());
    char name[sizeof(address.sun_path) + 1];

    assert_true(descriptor >= 0);
    assert_int_equal(
        bind(descriptor, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1U + (unsigned)length)),
        0);
    (void)snprintf(name, sizeof(name), "@%s", address.sun_path + 1);
    setenv("NOTIFY_SOCKET", name, 1);
    return descriptor;
}

/* Sending is synchronous: what was sent is there, or nothing was. */
static inline const char *notices_take(int descriptor)
{
    static char text[512];
    const ssize_t length = recv(descriptor, text, sizeof(text) - 1, 0);

    text[length > 0 ? length : 0] = '\0';
    return text;
}
