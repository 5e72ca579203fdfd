/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret: --group, the secret that a group shares. It is read from a file or asked for on the
 * terminal; on the command line others could read it in the list of processes.
 */
#ifndef CLIENT_CLI_INPUT_SECRET_H
#define CLIENT_CLI_INPUT_SECRET_H

#include "client/cli/base/cli.h"

/* The row of a command's table whose struct has a `const char *` called `field`. */
#define SECRET_OPTION(type, field)                                                          \
    {                                                                                       \
        .name = "group", .letter = 'g', .kind = ARGS_TEXT, .offset = offsetof(type, field), \
        .value = "FILE", .help = "the secret of a group, in a file; - asks for it"          \
    }

/*
 * The group of an option's value: "-" asks on the terminal; the name of a file, or what has a '/',
 * is read, its first line being the secret (a file that others may read is refused, see
 * place_check_private); anything else is the secret itself, with a warning.
 * CLI_DONE with *out_group owned (hearsay_group_free), or an exit code after saying why. Takes some
 * tenths of a second.
 */
int secret_group(const struct cli *cli, const char *value, struct hearsay_group **out_group);

/*
 * Opens a sealed result in place; it borrows from *out_content then, which is owned. HEARSAY_OK,
 * HEARSAY_NOT_OURS, ERR_NOMEM; one without its payload is left as it is.
 */
int secret_open(const struct hearsay_group *group, struct hearsay_result *result,
                struct hearsay_content *out_content, struct hearsay_error *out_error);

/* Whether the value is the secret itself. */
bool secret_is_plain(const char *value);

#endif
