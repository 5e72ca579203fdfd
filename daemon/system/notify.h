/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify: sends messages to the service manager (sd_notify(3)), and takes the sockets that the
 * service manager passes (sd_listen_fds(3)). Without libsystemd (build option `systemd`), or
 * without a service manager, nothing is sent, there is no watchdog, and no socket is passed.
 */
#ifndef DAEMON_SYSTEM_NOTIFY_H
#define DAEMON_SYSTEM_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reports that the daemon is ready, after the start or a reload. `status` is a sentence that
 * `systemctl status` shows. */
void notify_ready(const char *status);

/* Reports that a reload begins. Call notify_ready when the reload is over, also if it was refused.
 */
void notify_reloading(void);

/* The daemon stops. */
void notify_stopping(const char *status);

/*
 * Returns the interval at which notify_watchdog is to be called, in milliseconds: half of the
 * watchdog timeout of the service manager, and at least 1. 0: the service manager does not watch
 * this process.
 */
uint64_t notify_watchdog_interval_ms(void);
/* The loop still runs. */
void notify_watchdog(void);

struct notify_socket {
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
int notify_take_sockets(struct notify_socket *out_sockets, size_t room, size_t *out_count,
                        char *out_reason);

#endif
