/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/base/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *variable;
    const char *below_home;
} places[] = {
    [PLACE_STATE] = {"XDG_STATE_HOME", ".local/state"},
    [PLACE_CONFIG] = {"XDG_CONFIG_HOME", ".config"},
};

/* What fails shows at the file. */
static void make_folders(char *path)
{
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(path, 0700);
            *at = '/';
        }
    }
}

int place_file(const struct cli *cli, enum place_kind kind, const char *name, bool make,
               char out_path[PLACE_PATH_BYTES])
{
    const char *folder = getenv(places[kind].variable);
    const char *home = getenv("HOME");
    int written = 0;
    if (folder != NULL && folder[0] == '/') { /* the rules have relative ones ignored */
        written = snprintf(out_path, PLACE_PATH_BYTES, "%s/hearsay/%s", folder, name);
    } else if (home != NULL && home[0] == '/') {
        written = snprintf(out_path, PLACE_PATH_BYTES, "%s/%s/hearsay/%s", home,
                           places[kind].below_home, name);
    } else {
        return PLACE_NONE;
    }
    if (written < 0 || written >= PLACE_PATH_BYTES) {
        cli_complain(cli, "the path of the file %s is too long", name);
        return CLI_NEGATIVE;
    }
    if (make) {
        make_folders(out_path);
    }
    return CLI_DONE;
}

bool place_is_private(const struct stat *state)
{
    return !S_ISREG(state->st_mode) || state->st_uid != geteuid() ||
           (state->st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

int place_check_private(const struct cli *cli, int fd, const char *path, const char *what)
{
    struct stat state;
    if (fstat(fd, &state) != 0) {
        cli_complain(cli, "%s: cannot look at %s: %s", what, path, strerror(errno));
        return CLI_USAGE;
    }
    if (place_is_private(&state)) {
        return CLI_DONE;
    }
    cli_complain(cli,
                 "%s: others may read or change %s (mode %04o), which has to be secret: "
                 "chmod 600 %s",
                 what, path, (unsigned)(state.st_mode & 07777), path);
    return CLI_USAGE;
}
