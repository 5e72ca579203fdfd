/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preflight: checks that the users, the group, the certificate and the key that a configuration
 * names exist and can be used. Only `hearsayd --check-config` needs this module. Nothing is bound,
 * made or changed, but a process of root becomes the user of the configuration for good, because
 * this user opens the certificate and the key.
 */
#ifndef DAEMON_PREFLIGHT_H
#define DAEMON_PREFLIGHT_H

#include <stdint.h>
#include <stdio.h>

#include "daemon/config/config.h"

/*
 * Checks a configuration at the Unix time `now_ms`. Returns 0, or PREFLIGHT_REFUSED with a line for
 * each error in out_reason (CONFIG_REASON_BYTES). Errors are: a user or group that is not found, a
 * user who is root, files for TLS that this user cannot use, an expired certificate. Writes a
 * warning to `out` if the certificate expires within 14 days. Also writes a warning for each host
 * whose suggested distance was probably chosen for the metric by bits, and for each host whose
 * labels of `here` alone fill a section further than deposit_fill_max.
 */
enum { PREFLIGHT_REFUSED = 1 };
int preflight(const struct config *config, int64_t now_ms, FILE *out, char *out_reason);

#endif
