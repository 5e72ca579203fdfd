/* SPDX-License-Identifier: Apache-2.0 */
/* config_guest: checks the listeners that are for one user: those of gateways and of bridges. */
#ifndef DAEMON_CONFIG_GUEST_H
#define DAEMON_CONFIG_GUEST_H

#include "daemon/config/config.h"
#include "daemon/settings/value.h"

/*
 * Checks that each such listener has a user and a folder of its own, and that no user is both, or
 * the daemon's own. Returns 0, or CONFIG_REFUSED with a sentence.
 */
int config_check_guests(const struct config *config, const struct settings_source *source);

#endif
