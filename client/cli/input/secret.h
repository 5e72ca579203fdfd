/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret: the option --group, and reading the secret of a group from a file or from the terminal. A
 * secret on the command line is visible to others in the list of processes.
 */
#ifndef CLIENT_CLI_INPUT_SECRET_H
#define CLIENT_CLI_INPUT_SECRET_H

#include "client/cli/base/cli.h"

/* The row of a command's table whose struct has a `const char *` called `field`. */
#define SECRET_OPTION(type, field)                         \
    ARGS_ROW("group", 'g', ARGS_TEXT, type, field, "FILE", \
             "the secret of a group, in a file; - asks for it")

/*
 * The group of an option's value. "-": asks for the secret on the terminal. The name of an existing
 * file, or any value with a '/': the secret is the first line of this file, which is refused when
 * others may read it (place_check_private). Anything else: the value is the secret itself, and the
 * user is warned. CLI_DONE with *out_group owned (hearsay_group_free), or an exit code after saying
 * why. Takes some tenths of a second.
 */
int secret_group(const struct cli *cli, const char *value, struct hearsay_group **out_group);

/*
 * Opens a sealed result: on success `result` borrows from *out_content, which is owned. A result
 * without its payload stays unchanged. HEARSAY_OK, HEARSAY_NOT_OURS, ERR_NOMEM.
 */
int secret_open(const struct hearsay_group *group, struct hearsay_result *result,
                struct hearsay_content *out_content, struct hearsay_error *out_error);

/* Whether the value is the secret itself. */
bool secret_is_plain(const char *value);

#endif
