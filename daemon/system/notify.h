/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify: what a service manager is told, and what it hands over, as sd_notify(3) and
 * sd_listen_fds(3) have it. Without libsystemd (option `systemd`), or when no service manager
 * asked, nothing is told and nothing inherited.
 */
#ifndef DAEMON_SYSTEM_NOTIFY_H
#define DAEMON_SYSTEM_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ready, after the start or a reload; `status` is a sentence that `systemctl status` shows. */
void notify_ready(const char *status);

/* A reload begins; notify_ready ends it, whether it was taken over or refused. */
void notify_reloading(void);

/* The end begins. */
void notify_stopping(const char *status);

/*
 * How often the service manager expects notify_watchdog, in milliseconds, halved so that one late
 * timer does no harm; 0: it does not.
 */
uint64_t notify_watchdog_interval_ms(void);
/* The loop still turns. */
void notify_watchdog(void);

struct notify_socket {
    int descriptor; /* the caller's to close; close-on-exec */
    bool is_unix;   /* else TCP */
};

enum { NOTIFY_REASON_BYTES = 256 };

/*
 * The listening sockets that were inherited, at most `room`. To be called once, before there are
 * threads: the environment forgets them. 0 with their number, which may be 0, in *out_count; or
 * NOTIFY_REFUSED with a sentence for the operator in out_reason (NOTIFY_REASON_BYTES) when one of
 * them is not a listening TCP or Unix stream socket.
 */
enum { NOTIFY_REFUSED = 1 };
int notify_take_sockets(struct notify_socket *out_sockets, size_t room, size_t *out_count,
                        char *out_reason);

#endif
