/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preflight: checks that the user, the group, the certificate and the key of a configuration exist
 * and can be used. For `hearsayd --check-config`; a start checks them without this module. Nothing
 * is bound, made or changed.
 */
#ifndef DAEMON_PREFLIGHT_H
#define DAEMON_PREFLIGHT_H

#include <stdint.h>
#include <stdio.h>

#include "daemon/config/config.h"

/*
 * Checks a configuration at the Unix time `now_ms`. Returns 0, or PREFLIGHT_REFUSED with a line for
 * each error in out_reason (CONFIG_REASON_BYTES). Errors are: no such user or group, a file that
 * cannot be used, an expired certificate. Writes a warning to `out` if the certificate expires
 * within two weeks.
 */
enum { PREFLIGHT_REFUSED = 1 };
int preflight(const struct config *config, int64_t now_ms, FILE *out, char *out_reason);

#endif
