/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/notify.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#if HEARSAY_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "daemon/system/reason.h"

#if !HEARSAY_SYSTEMD /* without libsystemd no socket is passed */
enum { SD_LISTEN_FDS_START = 3 };
#define sd_listen_fds(unset) 0
#define sd_is_socket(...)    0
#endif

/* Checks that a descriptor is a listening stream socket, and finds out whether it is TCP or Unix.
 * Returns NULL, or a text (static storage) that says what is wrong with the descriptor. */
static const char *check_socket(int descriptor, struct inherited_socket *out_socket)
{
    int protocol = 0;
    socklen_t size = sizeof(protocol);

    if (sd_is_socket(descriptor, AF_UNSPEC, 0, -1) <= 0) {
        return "is not a socket";
    }
    if (sd_is_socket(descriptor, AF_UNSPEC, SOCK_STREAM, -1) <= 0) {
        return "is not a stream socket; use ListenStream= in the socket unit";
    }
    if (sd_is_socket(descriptor, AF_UNSPEC, SOCK_STREAM, 1) <= 0) {
        return "does not listen; use Accept=no in the socket unit";
    }
    out_socket->descriptor = descriptor;
    out_socket->is_unix = sd_is_socket(descriptor, AF_UNIX, SOCK_STREAM, 1) > 0;
    if (out_socket->is_unix) {
        return NULL;
    }
    if ((sd_is_socket(descriptor, AF_INET, SOCK_STREAM, 1) <= 0 &&
         sd_is_socket(descriptor, AF_INET6, SOCK_STREAM, 1) <= 0) ||
        getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0 ||
        protocol != IPPROTO_TCP) {
        return "is neither a TCP nor a Unix socket";
    }
    return NULL;
}

int inherited_take_sockets(struct inherited_socket *out_sockets, size_t room, size_t *out_count,
                           char *out_reason)
{
    int count = sd_listen_fds(1);

    if (count < 0) {
        return reason_set(out_reason, "the inherited sockets cannot be taken over: %s",
                          strerror(-count));
    }
    if ((size_t)count > room) {
        return reason_set(out_reason, "%d sockets were inherited; at most %zu are served", count,
                          room);
    }
    for (int i = 0; i < count; i++) {
        const char *reason = check_socket(SD_LISTEN_FDS_START + i, &out_sockets[i]);

        if (reason != NULL) {
            return reason_set(out_reason, "inherited descriptor %d %s", SD_LISTEN_FDS_START + i,
                              reason);
        }
    }
    *out_count = (size_t)count;
    return 0;
}
