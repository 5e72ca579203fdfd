/* SPDX-License-Identifier: Apache-2.0 */
/* moderate: what the moderators' page may not be: open to guests, or without a password. */
#pragma once

#include "client/web/setup/config.h"
#include "daemon/settings/options.h"

/*
 * Sets who may connect where nobody is named, and checks that no listener is for guests: none is
 * for all addresses or behind a proxy, and none has an address of a listener of the guests' page,
 * `program`, whose file is read. An address of this machine alone is no guest's. 0; or
 * SETTINGS_REFUSED with a line for each error, or -ERR_NOMEM.
 */
int web_moderate_finish(struct web_config *config, const struct settings_program *program,
                        char *out_reason);

/* Whether an address may connect. */
bool web_moderate_allows(const struct web_config *config, uint8_t family, const uint8_t *address);
