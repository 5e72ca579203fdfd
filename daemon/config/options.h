/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: the command line of hearsayd, and the configuration from command line and file. A reload
 * (SIGHUP) loads the configuration again with the same options.
 */
#ifndef DAEMON_CONFIG_OPTIONS_H
#define DAEMON_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "daemon/config/config.h"
#include "daemon/settings/options.h"

/* Strings are borrowed from the command line. */
struct options {
    struct settings_options common; /* first */
    const char *data;
    const char *listen[CONFIG_LISTENERS_MAX];
    size_t listen_count;
    const char *log_level;
    const char *durability;
    const char *restore; /* a backup to restore; NULL: not given */
};

extern const struct settings_program options_program;

/* See settings_options_parse. On a refusal *out_options is untouched: exit status 2. */
int options_parse(int argc, char *const argv[], struct options *out_options, char *out_reason);

/*
 * Loads the configuration: the defaults, then the file, then the command line, then the default
 * data directory if none is named, then config_finish. Listeners of the command line replace those
 * of the file. Relative paths of the command line are relative to the working directory. 0; or
 * CONFIG_REFUSED or -ERR_NOMEM, both with a line for each error in out_reason (CONFIG_REASON_BYTES)
 * and *out_config untouched.
 */
int options_load(const struct options *options, struct config *out_config, char *out_reason);

/* See settings_options_answer. The exit status is 0 after an answer. */
bool options_answer(const struct options *options, const struct config *config, FILE *out);

#endif
