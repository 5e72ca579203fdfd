/* SPDX-License-Identifier: Apache-2.0 */
/* setup: `hearsay-bridge setup-hub`: files for the hub's servers, and the streams in them. */
#ifndef CLIENT_BRIDGE_HUB_SETUP_H
#define CLIENT_BRIDGE_HUB_SETUP_H

#include <stdio.h>

#include "client/bridge/setup/config.h"
#include "client/bridge/setup/options.h"

/*
 * With options->write: writes files for the servers. Without: makes or changes the streams of the
 * servers that run, prints what it does, and warns of their versions. options->is_dry: only prints.
 * 0; or SETTINGS_REFUSED or -ERR_SYSTEM with a sentence in out_reason (SETTINGS_REASON_BYTES).
 */
int hub_setup(const struct bridge_config *config, const struct bridge_options *options, FILE *out,
              char *out_reason);

#endif
