/* SPDX-License-Identifier: Apache-2.0 */
/* place: where the command keeps its files, by the XDG base directory rules. */
#ifndef CLIENT_CLI_BASE_PLACE_H
#define CLIENT_CLI_BASE_PLACE_H

#include "client/cli/base/cli.h"

enum { PLACE_PATH_BYTES = 4096 };

enum place_kind {
    PLACE_STATE, /* $XDG_STATE_HOME, else ~/.local/state */
    PLACE_CONFIG /* $XDG_CONFIG_HOME, else ~/.config */
};

/* Named outcomes. They are negative, so that no exit code has the same value. */
enum {
    PLACE_NONE = -1,    /* neither the variable nor HOME is set */
    PLACE_TOO_LONG = -2 /* the path exceeds PLACE_PATH_BYTES */
};

/* The path of `name` in that folder. 0, PLACE_NONE, PLACE_TOO_LONG. */
int place_path(enum place_kind kind, const char *name, char out_path[PLACE_PATH_BYTES]);

/* Makes the folders above a file (mode 0700); changes `path` meanwhile. Ignores errors: opening the
 * file fails then. */
void place_make_folders(char *path);

/*
 * The path of the file hearsay/`name` in that folder; makes its folders where `make` is set.
 * CLI_DONE; PLACE_NONE, silently; or CLI_NEGATIVE after saying why.
 */
int place_file(const struct cli *cli, enum place_kind kind, const char *name, bool make,
               char out_path[PLACE_PATH_BYTES]);

/*
 * Whether a file may hold a secret. As ssh does for keys: a regular file of the user's own may not
 * when its group or others have any right on it.
 */
struct stat;
bool place_is_private(const struct stat *state);

/*
 * The same for an open file. CLI_DONE, or CLI_USAGE after naming the chmod that mends the file.
 * `what` begins the sentence: the option that named the file.
 */
int place_check_private(const struct cli *cli, int fd, const char *path, const char *what);

#endif
