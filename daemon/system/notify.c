/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/notify.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#if HEARSAY_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "daemon/system/reason.h"

/* Results of sd_notify are ignored: the daemon also serves without a service manager. */
#if !HEARSAY_SYSTEMD /* without libsystemd: nothing is sent, and no socket is passed */
enum { SD_LISTEN_FDS_START = 3 };
#define sd_notify(unset, state)              0
#define sd_notifyf(unset, format, argument)  ((void)(argument), 0)
#define sd_watchdog_enabled(unset, out_time) 0
#define sd_listen_fds(unset)                 0
#define sd_is_socket(...)                    0
#endif

void notify_ready(const char *status)
{
    (void)sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void notify_reloading(void)
{
    struct timespec now;

    /* With Type=notify-reload (systemd 253 and newer) the service manager needs the time, to tell
     * this reload from an earlier one. */
    if (clock_gettime(CLOCK_MONOTONIC, &now) == 0) {
        (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\nSTATUS=Reloading",
                         (uint64_t)now.tv_sec * 1000000 + (uint64_t)(now.tv_nsec / 1000));
    }
}

void notify_stopping(const char *status)
{
    (void)sd_notifyf(0, "STOPPING=1\nSTATUS=%s", status);
}

uint64_t notify_watchdog_interval_ms(void)
{
    uint64_t microseconds = 0;

    if (sd_watchdog_enabled(0, &microseconds) <= 0) {
        return 0;
    }
    return microseconds / 2000 > 0 ? microseconds / 2000 : 1;
}

void notify_watchdog(void)
{
    (void)sd_notify(0, "WATCHDOG=1");
}

/* Checks that a descriptor is a listening stream socket, and finds out whether it is TCP or Unix.
 * Returns NULL, or a text (static storage) that says what is wrong with the descriptor. */
static const char *check_socket(int descriptor, struct notify_socket *out_socket)
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

int notify_take_sockets(struct notify_socket *out_sockets, size_t room, size_t *out_count,
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
