/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore: hearsayd --restore FILE: a backup becomes the store of the configured data directory,
 * which must have none, as the configured user.
 */
#ifndef DAEMON_RESTORE_H
#define DAEMON_RESTORE_H

#include <stdint.h>

#include "daemon/config.h"

/*
 * 0 with the number of messages restored; or negative with a sentence in out_reason
 * (CONFIG_REASON_BYTES), and nothing has changed. Becomes the configured user.
 */
int restore_run(const struct config *config, const char *file, uint64_t *out_messages,
                char *out_reason);

#endif
