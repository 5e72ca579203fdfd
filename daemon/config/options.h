/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: hearsayd's command line, and the configuration that results from it and the file. A
 * reload (SIGHUP) loads again from the same options.
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
    const char *config_none; /* the file read then, if it is there */
    const char *data;
    const char *listen[CONFIG_LISTENERS_MAX];
    size_t listen_count;
    const char *log_level;
    const char *durability;
    const char *restore; /* a backup that becomes the store; NULL: not given */
};

/*
 * Reads the command line. 0, or OPTIONS_REFUSED with a sentence in out_reason
 * (CONFIG_REASON_BYTES): exit status 2.
 */
enum { OPTIONS_REFUSED = 1 };
int options_parse(int argc, char *const argv[], struct options *out_options, char *out_reason);

/*
 * The configuration in force: defaults, the file, the command line on top, the data directory
 * where none was named, config_finish. Listeners of the command line take the place of those of
 * the file. Relative paths of the command line count from the working directory. 0; or
 * CONFIG_REFUSED or -ERR_NOMEM, both with a line for each error in out_reason
 * (CONFIG_REASON_BYTES) and *out_config untouched.
 */
int options_load(const struct options *options, struct config *out_config, char *out_reason);

/*
 * Answers what asks for text and not for a daemon. To be called with NULL first, for what needs no
 * configuration, then with the configuration. Whether it answered; exit status 0 then.
 */
bool options_answer(const struct options *options, const struct config *config, FILE *out);

#endif
