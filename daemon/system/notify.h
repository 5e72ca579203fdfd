/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify: sends messages to the service manager, as sd_notify(3) and sd_watchdog_enabled(3) say.
 * With the build option `systemd` off, or without a service manager, nothing is sent, and there is
 * no watchdog.
 */
#ifndef DAEMON_SYSTEM_NOTIFY_H
#define DAEMON_SYSTEM_NOTIFY_H

#include <stdbool.h>
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

#endif
