/* SPDX-License-Identifier: Apache-2.0 */
/* config_listener: the value of `listen`, from text and back. */
#ifndef DAEMON_CONFIG_LISTENER_H
#define DAEMON_CONFIG_LISTENER_H

#include "daemon/config/config.h"
#include "daemon/settings/listener.h"

enum { CONFIG_LISTENER_BYTES = SETTINGS_LISTENER_BYTES };

/*
 * Parses a listener such as `127.0.0.1:7117`, `[::1]:7117 tls` or `/path/to/socket`. Returns 0; or
 * CONFIG_REFUSED with a sentence that names the key `key`.
 */
int config_listener_parse(const struct settings_source *source, const char *key, const char *text,
                          struct config_listener *out_listener);

/* Writes a listener in the form of a configuration file (CONFIG_LISTENER_BYTES). */
void config_listener_print(const struct config_listener *listener, char *out);

#endif
