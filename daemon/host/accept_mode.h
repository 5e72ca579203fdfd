/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accept: which deposits a host takes now: all (open), those that the operator looks at first
 * (review), or none (closed). The operator's word comes first, then the schedule, then the
 * configuration.
 */
#ifndef DAEMON_HOST_ACCEPT_MODE_H
#define DAEMON_HOST_ACCEPT_MODE_H

#include <stdint.h>

#include "daemon/host/host.h"

/*
 * The mode at now_ms. *out_source says who set it: "operator", "schedule" or "configuration"
 * (static storage). *out_until_ms is when the schedule changes it; 0: not known.
 */
enum accept accept_mode_now(const struct host *host, int64_t now_ms, const char **out_source,
                            int64_t *out_until_ms);

#endif
