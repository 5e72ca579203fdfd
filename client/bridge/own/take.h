/* SPDX-License-Identifier: Apache-2.0 */
/* take: `hearsay-bridge take HOST`, by which another store becomes the owner of a host. */
#ifndef CLIENT_BRIDGE_OWN_TAKE_H
#define CLIENT_BRIDGE_OWN_TAKE_H

#include <stdbool.h>
#include <stdio.h>

#include "client/bridge/setup/config.h"

/* Writes the head of the host for the store of the hearsayd here. Waits one interval of heads
 * before, unless is_now. 0; or -ERR_SYSTEM with a sentence in out_reason (SETTINGS_REASON_BYTES).
 */
int take_host(const struct bridge_config *config, const char *host, bool is_now, FILE *out,
              char *out_reason);

#endif
