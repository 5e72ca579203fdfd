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

enum options_action {
    OPTIONS_RUN,
    OPTIONS_CHECK_CONFIG,
    OPTIONS_PRINT_CONFIG,
    OPTIONS_PRINT_MARKDOWN,
    OPTIONS_PRINT_MDOC,
    OPTIONS_PRINT_EXAMPLE,
    OPTIONS_VERSION,
    OPTIONS_HELP
};

/* Strings are borrowed from the command line. */
struct options {
    enum options_action action;
    const char *config;      /* NULL: not given */
    const char *config_none; /* the file to read without --config, if it exists */
    const char *data;
    const char *listen[CONFIG_LISTENERS_MAX];
    size_t listen_count;
    const char *log_level;
    const char *durability;
    const char *restore; /* a backup to restore; NULL: not given */
};

/*
 * Reads the command line. 0, or OPTIONS_REFUSED with a sentence in out_reason
 * (CONFIG_REASON_BYTES): exit status 2.
 */
enum { OPTIONS_REFUSED = 1 };
int options_parse(int argc, char *const argv[], struct options *out_options, char *out_reason);

/*
 * Loads the configuration: the defaults, then the file, then the command line, then the default
 * data directory if none is named, then config_finish. Listeners of the command line replace those
 * of the file. Relative paths of the command line are relative to the working directory. 0; or
 * CONFIG_REFUSED or -ERR_NOMEM, both with a line for each error in out_reason (CONFIG_REASON_BYTES)
 * and *out_config untouched.
 */
int options_load(const struct options *options, struct config *out_config, char *out_reason);

/*
 * Answers an option that asks for text, such as --help. To be called twice: first with config NULL,
 * for options that need no configuration; then with the configuration. True: it has answered, and
 * the exit status is 0.
 */
bool options_answer(const struct options *options, const struct config *config, FILE *out);

#endif
