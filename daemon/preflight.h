/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preflight: whether what a configuration names is there: the user, the group, the certificate and
 * its key. For `hearsayd --check-config`; a start looks at these by itself. Nothing is bound, made
 * or changed.
 */
#ifndef DAEMON_PREFLIGHT_H
#define DAEMON_PREFLIGHT_H

#include <stdint.h>
#include <stdio.h>

#include "daemon/config/config.h"

/*
 * now_ms: Unix time. 0; or PREFLIGHT_REFUSED with a line for each error in out_reason
 * (CONFIG_REASON_BYTES): no such user or group, a file that cannot be used, an expired certificate.
 * Writes a warning to `out` when the certificate expires within two weeks.
 */
enum { PREFLIGHT_REFUSED = 1 };
int preflight(const struct config *config, int64_t now_ms, FILE *out, char *out_reason);

#endif
