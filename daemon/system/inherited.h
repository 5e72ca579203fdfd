/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherited: the sockets that the service manager passes (sd_listen_fds(3)). Without libsystemd
 * (build option `systemd`) none is passed.
 */
#ifndef DAEMON_SYSTEM_INHERITED_H
#define DAEMON_SYSTEM_INHERITED_H

#include <stdbool.h>
#include <stddef.h>

struct inherited_socket {
    int descriptor; /* the caller's to close; close-on-exec */
    bool is_unix;   /* else TCP */
};

/*
 * Takes the listening sockets that the service manager passed. Call this function once, before any
 * thread is started, because it changes the environment. Returns 0 with the number of sockets in
 * *out_count. Returns -ERR_SYSTEM with a sentence for the operator in out_reason (REASON_BYTES) if
 * sd_listen_fds fails, if more than `room` sockets were passed, or if a passed descriptor is not a
 * listening TCP or Unix stream socket.
 */
int inherited_take_sockets(struct inherited_socket *out_sockets, size_t room, size_t *out_count,
                           char *out_reason);

#endif
