/* SPDX-License-Identifier: Apache-2.0 */
/* options: the command line of hearsay-web, and its configuration by file and command line. */
#ifndef CLIENT_WEB_SETUP_OPTIONS_H
#define CLIENT_WEB_SETUP_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "client/web/setup/config.h"
#include "daemon/settings/options.h"

/* Strings are borrowed from the command line. */
struct web_options {
    struct settings_options common; /* first */
    enum web_section section;
    const char *listen[HTTP_LISTENERS_MAX];
    size_t listen_count;
    const char *server;
    const char *log_level;
};

/* What the program is called in its own messages. */
extern const struct settings_program web_program;

/* Reads the command line of the guests' page or, where WEB_SECTION_MODERATE, what follows behind
 * --moderate: see settings_options_parse. On a refusal *out_options is untouched. */
int web_options_parse(enum web_section section, int argc, char *const argv[],
                      struct web_options *out_options, char *out_reason);

/*
 * Loads the configuration: defaults, the file, the command line, web_config_finish, and for the
 * moderators' page web_moderate_finish. Listeners of the command line replace those of the file. 0;
 * or SETTINGS_REFUSED or -ERR_NOMEM with a line for each error in out_reason
 * (SETTINGS_REASON_BYTES), and *out_config untouched.
 */
int web_options_load(const struct web_options *options, struct web_config *out_config,
                     char *out_reason);

/* Answers options that ask for text: see settings_options_answer. */
bool web_options_answer(const struct web_options *options, const struct web_config *config,
                        FILE *out);

#endif
