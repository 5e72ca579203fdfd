/* SPDX-License-Identifier: Apache-2.0 */
/* forget: `hearsay-bridge forget HOST`, which removes a host from the hub. */
#ifndef CLIENT_BRIDGE_OWN_FORGET_H
#define CLIENT_BRIDGE_OWN_FORGET_H

#include <stdio.h>

#include "client/bridge/setup/config.h"

/* Removes the host's states, rules, words and head from the hub, and its cursor here. 0; or
 * -ERR_SYSTEM with a sentence in out_reason (SETTINGS_REASON_BYTES). */
int forget_host(const struct bridge_config *config, const char *host, FILE *out, char *out_reason);

#endif
