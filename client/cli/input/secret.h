/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret: the option --group. Reads the secret of a group from a file or from the terminal. Other
 * users can see a secret on the command line in the list of processes.
 */
#ifndef CLIENT_CLI_INPUT_SECRET_H
#define CLIENT_CLI_INPUT_SECRET_H

#include "client/cli/base/cli.h"

/*
 * A row of a command's table of options, for the option --group. `type` is the struct of options;
 * its `const char *` called `field` gets the value.
 */
#define SECRET_OPTION(type, field)                         \
    ARGS_ROW("group", 'g', ARGS_TEXT, type, field, "FILE", \
             "the secret of a group, in a file; - asks for it")

/*
 * Makes the group from the value of the option:
 *
 *   "-"              asks for the secret on the terminal
 *   a file           the secret is the first line of the file. Any value with a '/' is a file. A
 *                    file of this user that others may read or change is refused
 *                    (place_check_private)
 *   anything else    the value is the secret itself; prints a warning
 *
 * Returns CLI_DONE with *out_group owned (hearsay_group_free), or an exit code after printing the
 * error. Takes some tenths of a second.
 */
int secret_group(const struct cli *cli, const char *value, struct hearsay_group **out_group);

/*
 * Opens a sealed result. On success `result` borrows from *out_content, which the caller owns. A
 * result without a payload stays unchanged. Returns HEARSAY_OK, HEARSAY_NOT_OURS or ERR_NOMEM.
 */
int secret_open(const struct hearsay_group *group, struct hearsay_result *result,
                struct hearsay_content *out_content, struct hearsay_error *out_error);

/* Returns whether the value of the option is the secret itself. */
bool secret_is_plain(const char *value);

#endif
