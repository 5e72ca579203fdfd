/* SPDX-License-Identifier: Apache-2.0 */
/* options: the command line of hearsay-bridge, and its configuration by file and command line. */
#pragma once

#include "client/bridge/setup/config.h"
#include "daemon/settings/options.h"

enum bridge_command {
    BRIDGE_NO_COMMAND, /* an option such as --check-config stands alone */
    BRIDGE_RUN,
    BRIDGE_STATUS,
    BRIDGE_SETUP_HUB,
    BRIDGE_TAKE,
    BRIDGE_FORGET
};

/* Strings are borrowed from the command line. */
struct bridge_options {
    struct settings_options common; /* first */
    enum bridge_command command;
    const char *host;    /* of take and forget */
    bool is_now;         /* take --now */
    bool prints_metrics; /* status --metrics */
    bool is_dry;         /* setup-hub --print: say what would be done */
    const char *write;   /* this and the following: of setup-hub; NULL: not given */
    const char *hosts;
    const char *nats_server;
    const char *store;
    const char *disk;
    const char *age;
};

/* Its command line is a struct bridge_options, and its configuration a struct bridge_config. */
extern const struct settings_program bridge_program;
