/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: hearsayd as a program: its command line and its configuration, for daemon/settings. A
 * reload (SIGHUP) loads the configuration again with the same options.
 */
#ifndef DAEMON_CONFIG_OPTIONS_H
#define DAEMON_CONFIG_OPTIONS_H

#include "daemon/config/config.h"
#include "daemon/settings/config.h"

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

#endif
