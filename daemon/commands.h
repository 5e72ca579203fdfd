/* SPDX-License-Identifier: Apache-2.0 */
/* commands: what hearsayd does instead of serving: --check-config and --restore. */
#pragma once

#include <stdio.h>

#include "daemon/config/config.h"

/*
 * preflight.c, for `hearsayd --check-config`: checks that the users, the group, the certificate and
 * the key that a configuration names exist and can be used. Nothing is bound, made or changed, but
 * a process of root becomes the user of the configuration for good, because this user opens the
 * certificate and the key. If no user is configured, the process becomes the owner of the data
 * directory, if it is there, who must be able to read the file of the configuration, too.
 *
 * Checks a configuration at the Unix time `now_ms`. Returns 0, or PREFLIGHT_REFUSED with a line for
 * each error in out_reason (CONFIG_REASON_BYTES). Errors are: a user or group that is not found, a
 * user who is root, files for TLS that this user cannot use, an expired certificate. Writes a
 * warning to `out` if the certificate expires within 14 days. Also writes a warning for each host
 * whose suggested distance was probably chosen for the metric by bits, and for each host whose
 * labels of `here` alone fill a section further than deposit_fill_max; and of what the daemon
 * would leave out of a `here_file` or a `here_map`, or cannot read.
 */
enum { PREFLIGHT_REFUSED = 1 };
int preflight(const struct config *config, int64_t now_ms, FILE *out, char *out_reason);

/*
 * restore.c, for `hearsayd --restore FILE`: a backup becomes the store of the configured data
 * directory, which must not have a database yet.
 *
 * Prints to `out` which file is restored into which directory, and copies the messages. Returns 0
 * with the number of messages in *out_messages, or a negative error with a sentence in out_reason
 * (CONFIG_REASON_BYTES). On failure nothing was restored, unless only the last sync of the
 * directory has failed. A process of root becomes the configured user for good. If no user is
 * configured, the process becomes the owner of the data directory; it stays root if root owns the
 * directory, or if the directory does not exist.
 */
int restore_run(const struct config *config, const char *file, FILE *out, uint64_t *out_messages,
                char *out_reason);
