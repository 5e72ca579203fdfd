/* SPDX-License-Identifier: Apache-2.0 */
/* place: the paths of the files that the command keeps, by the XDG base directory rules. */
#ifndef CLIENT_CLI_BASE_PLACE_H
#define CLIENT_CLI_BASE_PLACE_H

#include "client/cli/base/cli.h"

enum { PLACE_PATH_BYTES = 4096 };

enum place_kind {
    PLACE_STATE, /* $XDG_STATE_HOME, else ~/.local/state */
    PLACE_CONFIG /* $XDG_CONFIG_HOME, else ~/.config */
};

/* Results of place_path. place_file returns PLACE_NONE, too. They are negative, because exit codes
 * are not. */
enum {
    PLACE_NONE = -1,    /* neither the variable nor HOME is an absolute path */
    PLACE_TOO_LONG = -2 /* the path exceeds PLACE_PATH_BYTES */
};

/* Writes the path of the file `name` in the folder of `kind` to out_path. Returns 0, PLACE_NONE or
 * PLACE_TOO_LONG. */
int place_path(enum place_kind kind, const char *name, char out_path[PLACE_PATH_BYTES]);

/*
 * Creates the missing folders above the file `path`, with mode 0700. Changes `path` during the call
 * only. Ignores errors, because the caller fails to open the file then.
 */
void place_make_folders(char *path);

/*
 * Writes the path of the file hearsay/`name` in the folder of `kind` to out_path. With `make` set,
 * creates the missing folders above the file. Returns CLI_DONE; PLACE_NONE, and prints nothing, if
 * the environment names no such folder; or CLI_NEGATIVE, after it printed an error, if the path is
 * too long.
 */
int place_file(const struct cli *cli, enum place_kind kind, const char *name, bool make,
               char out_path[PLACE_PATH_BYTES]);

/*
 * Checks that the permissions of the open file `fd` are strict enough for a secret. The rule is
 * like that of ssh for keys: a regular file that belongs to this user must give no permission to
 * its group or to others. Any other file is accepted. Returns CLI_DONE, or CLI_USAGE after printing
 * an error. The error begins with `what`, the name of an option. If the file is not private, the
 * error names the chmod command to run.
 */
int place_check_private(const struct cli *cli, int fd, const char *path, const char *what);

#endif
