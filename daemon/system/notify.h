/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify: sends messages to the service manager, as sd_notify(3) and sd_watchdog_enabled(3) say.
 * With the build option `systemd` off, or without a service manager, nothing is sent, and there is
 * no watchdog.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a service manager started this process and wants to be told. */
bool notify_has_manager(void);

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

/* --- inherited -------------------------------------------------------------------------------- */

/*
 * The sockets that the service manager passes (sd_listen_fds(3)). Without libsystemd
 * (build option `systemd`) none is passed.
 */

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

/* --- unit_hint -------------------------------------------------------------------------------- */

/*
 * Says how to allow a path that the program's systemd unit forbids. The units of this
 * tree let the programs write to few directories, and the kernel's error alone ("Read-only file
 * system") does not tell an operator that a unit is the reason.
 */

enum { UNIT_HINT_BYTES = 768 };

/*
 * Writes what to append to a sentence about a write below `directory` that failed with `code`, an
 * errno. "": no unit started this process, or the code has another reason. A unit explains EROFS
 * (ProtectSystem=strict), and EACCES below /home, /root and /run/user (ProtectHome=yes). Returns
 * `out`. May change errno.
 */
const char *unit_hint(const char *directory, int code, char out[UNIT_HINT_BYTES]);

/* As unit_hint, for the directory of the file or socket at an absolute path. */
const char *unit_hint_of_file(const char *path, int code, char out[UNIT_HINT_BYTES]);
