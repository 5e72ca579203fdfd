/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore: hearsayd --restore FILE: a backup becomes the store of the configured data directory,
 * which must not have a store yet.
 */
#ifndef DAEMON_RESTORE_H
#define DAEMON_RESTORE_H

#include <stdint.h>
#include <stdio.h>

#include "daemon/config/config.h"

/*
 * Says on `out` which file goes into which directory, and copies it. 0 with the number of messages
 * restored; or negative with a sentence in out_reason (CONFIG_REASON_BYTES), and nothing has
 * changed. A process of root becomes the configured user or, without one, the owner of the data
 * directory, for good; it stays root where the directory is root's or is not there yet.
 */
int restore_run(const struct config *config, const char *file, FILE *out, uint64_t *out_messages,
                char *out_reason);

#endif
