/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore: `hearsayd --restore FILE`. A backup becomes the store of the configured data directory.
 * The directory must not have a database yet.
 */
#ifndef DAEMON_RESTORE_H
#define DAEMON_RESTORE_H

#include <stdint.h>
#include <stdio.h>

#include "daemon/config/config.h"

/*
 * Prints to `out` which file is restored into which directory, and copies the messages. Returns 0
 * with the number of messages in *out_messages, or a negative error with a sentence in out_reason
 * (CONFIG_REASON_BYTES). On failure nothing was restored, unless only the last sync of the
 * directory has failed. A process of root becomes the configured user for good. If no user is
 * configured, the process becomes the owner of the data directory; it stays root if root owns the
 * directory, or if the directory does not exist.
 */
int restore_run(const struct config *config, const char *file, FILE *out, uint64_t *out_messages,
                char *out_reason);

#endif
