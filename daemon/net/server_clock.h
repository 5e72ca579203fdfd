/* SPDX-License-Identifier: Apache-2.0 */
/* server_clock: the system's clocks, as struct service_options wants them; `context` is unused. */
#ifndef DAEMON_NET_SERVER_CLOCK_H
#define DAEMON_NET_SERVER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Unix time, and a monotonic clock that counts a suspend, too. */
void server_clock_read(void *context, int64_t *out_wall_ms, int64_t *out_monotonic_ms);

/* Whether a program such as an NTP client keeps the system's clock right. */
bool server_clock_is_synchronised(void *context);

/* A monotonic clock, for latencies. */
uint64_t server_clock_ns(void *context);

#endif
