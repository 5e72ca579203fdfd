/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: hearsayd as a program: its command line and its configuration, for daemon/settings. A
 * reload (SIGHUP) loads the configuration again with the same options.
 */
#pragma once

#include "daemon/config/config.h"
#include "daemon/settings/listener.h"
#include "daemon/settings/options.h"

/* Strings are borrowed from the command line. */
struct options {
    struct settings_options common; /* first */
    const char *restore;            /* a backup to restore; NULL: not given */
};

/*
 * Its configuration is a struct config. Without the key `data`, the data directory is
 * STATE_DIRECTORY, or one of the system or of the user. Relative paths of --data and --listen are
 * relative to the working directory.
 */
extern const struct settings_program options_program;

/* --- listener --------------------------------------------------------------------------------- */

/* config_listener: the value of `listen`, from text and back. */

enum { CONFIG_LISTENER_BYTES = SETTINGS_LISTENER_BYTES };

/*
 * Parses a listener such as `127.0.0.1:7117`, `[::1]:7117 tls` or `/path/to/socket`. Returns 0; or
 * CONFIG_REFUSED with a sentence that names the key `key`.
 */
int config_listener_parse(const struct settings_source *source, const char *key, const char *text,
                          struct config_listener *out_listener);

/* Writes a listener in the form of a configuration file (CONFIG_LISTENER_BYTES). */
void config_listener_print(const struct config_listener *listener, char *out);
