/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_key: one value into its field, checked against the table.
 */
#ifndef DAEMON_CONFIG_KEY_H
#define DAEMON_CONFIG_KEY_H

#include "daemon/config/table.h"

/*
 * Sets a key, or adds a listener, in the struct that the key's section belongs to: `host` for
 * [host NAME], otherwise `config`. 0, or CONFIG_REFUSED with the sentence.
 */
int config_set_key(const struct config_source *source, const struct config_key *key,
                   struct config *config, struct config_host *host, const char *value);

/* Says that the section has no such key, and which one may have been meant. CONFIG_REFUSED. */
int config_refuse_unknown_key(const struct config_source *source, enum config_section section,
                              const char *name);

#endif
