/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accept_mode: the accept mode of a host: `open` (all deposits are accepted), `review` (deposits
 * wait until the operator has reviewed them) or `closed` (no deposit is accepted). The operator's
 * setting overrides the schedule. The schedule overrides the configuration.
 */
#ifndef DAEMON_HOST_ACCEPT_MODE_H
#define DAEMON_HOST_ACCEPT_MODE_H

#include <stdint.h>

#include "daemon/host/host.h"

/*
 * The accept mode at `now_ms`. *out_source is "operator", "schedule" or "configuration", depending
 * on which of the three sets the mode (static storage). *out_until_ms is the time at which the
 * schedule changes the mode; 0: that time is unknown.
 */
enum accept accept_mode_now(const struct host *host, int64_t now_ms, const char **out_source,
                            int64_t *out_until_ms);

#endif
