/* SPDX-License-Identifier: Apache-2.0 */
/* options: the command line of hearsay-bridge, and its configuration by file and command line. */
#ifndef CLIENT_BRIDGE_SETUP_OPTIONS_H
#define CLIENT_BRIDGE_SETUP_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "client/bridge/setup/config.h"
#include "daemon/settings/options.h"

enum bridge_command {
    BRIDGE_RUN,
    BRIDGE_STATUS,
    BRIDGE_SETUP_HUB,
    BRIDGE_TAKE,
    BRIDGE_FORGET,
    BRIDGE_NO_COMMAND /* an option such as --check-config stands alone */
};

/* Strings are borrowed from the command line. */
struct bridge_options {
    struct settings_options common; /* first */
    enum bridge_command command;
    const char *host;      /* of take and forget */
    bool is_now;           /* take --now */
    bool prints_metrics;   /* status --metrics */
    bool is_dry;           /* setup-hub --print: say what would be done */
    const char *log_level; /* this and the following: NULL: not given */
    const char *write;     /* this and the following: of setup-hub */
    const char *hosts;
    const char *nats_server;
    const char *store;
    const char *disk;
    const char *age;
};

/* What the program is called in its own messages. */
extern const struct settings_program bridge_program;

/* Reads the command line: see settings_options_parse. On a refusal *out_options is untouched. */
int bridge_options_parse(int argc, char *const argv[], struct bridge_options *out_options,
                         char *out_reason);

/*
 * Loads the configuration: defaults, the file, the command line, bridge_config_finish. 0; or
 * SETTINGS_REFUSED or -ERR_NOMEM with a line for each error in out_reason (SETTINGS_REASON_BYTES),
 * and *out_config untouched.
 */
int bridge_options_load(const struct bridge_options *options, struct bridge_config *out_config,
                        char *out_reason);

#endif
