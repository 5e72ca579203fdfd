/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: reads the command line of hearsayd, and loads the configuration from the command line
 * and the file. A reload (SIGHUP) loads the configuration again with the same options.
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

/*
 * Reads the command line: see settings_options_parse. On a refusal *out_options is untouched, and
 * the exit status of hearsayd is 2.
 */
int options_parse(int argc, char *const argv[], struct options *out_options, char *out_reason);

/*
 * Loads the configuration: sets the defaults, reads the file, applies the command line, sets the
 * default data directory if none is named, and calls config_finish. Listeners of the command line
 * replace the listeners of the file. Relative paths of --data and --listen are relative to the
 * working directory. Returns 0; or CONFIG_REFUSED or -ERR_NOMEM with the errors in out_reason
 * (CONFIG_REASON_BYTES), one on each line. On failure *out_config is untouched.
 */
int options_load(const struct options *options, struct config *out_config, char *out_reason);

/*
 * Answers options that ask for text: see settings_options_answer.
 */
bool options_answer(const struct options *options, const struct config *config, FILE *out);

#endif
