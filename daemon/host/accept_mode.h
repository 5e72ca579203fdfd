/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accept_mode: the accept mode of a host: `open` (deposits are shown), `review` (deposits are held
 * until the operator has reviewed them) or `closed` (new messages are refused). The mode that the
 * operator has set overrides the schedule. The schedule overrides the key `accept` of the
 * configuration.
 */
#ifndef DAEMON_HOST_ACCEPT_MODE_H
#define DAEMON_HOST_ACCEPT_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/host/host.h"

/*
 * Returns the host's accept mode at `now_ms`. *out_source says what sets the mode: "operator",
 * "schedule" or "configuration" (static storage). *out_until_ms is the time in Unix milliseconds at
 * which the schedule's entry ends that sets the mode; or, if the configuration sets the mode, at
 * which the next entry with another mode begins; 0: the schedule does not change the mode.
 */
enum accept accept_mode_now(const struct host *host, int64_t now_ms, const char **out_source,
                            int64_t *out_until_ms);

/*
 * Whether the mode or its end differs from the last call for this host. A new host has told the
 * mode `open` without an end.
 */
bool accept_mode_changed(struct host *host, int64_t now_ms);

#endif
