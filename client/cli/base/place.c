/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/base/cli.h"

#include <errno.h>
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

void place_make_folders(char *path)
{
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(path, 0700); /* an error shows when the file is opened */
            *at = '/';
        }
    }
}

int place_path(enum place_kind kind, const char *name, char out_path[PLACE_PATH_BYTES])
{
    const char *folder = getenv(places[kind].variable);
    const char *home = getenv("HOME");
    int written = 0;
    if (folder != NULL && folder[0] == '/') { /* XDG: relative paths are ignored */
        written = snprintf(out_path, PLACE_PATH_BYTES, "%s/%s", folder, name);
    } else if (home != NULL && home[0] == '/') {
        written =
            snprintf(out_path, PLACE_PATH_BYTES, "%s/%s/%s", home, places[kind].below_home, name);
    } else {
        return PLACE_NONE;
    }
    return written < 0 || written >= PLACE_PATH_BYTES ? PLACE_TOO_LONG : 0;
}

int place_file(const struct cli *cli, enum place_kind kind, const char *name, bool make,
               char out_path[PLACE_PATH_BYTES])
{
    char below[256];
    (void)snprintf(below, sizeof(below), "hearsay/%s", name); /* names are short literals */
    int rc = place_path(kind, below, out_path);
    if (rc == PLACE_TOO_LONG) {
        cli_complain(cli, "the path of the file %s is too long", name);
        return CLI_NEGATIVE;
    }
    if (rc == 0 && make) {
        place_make_folders(out_path);
    }
    return rc == 0 ? CLI_DONE : rc;
}

int place_check_private(const struct cli *cli, int fd, const char *path, const char *what)
{
    struct stat state;
    if (fstat(fd, &state) != 0) {
        cli_complain(cli, "%s: cannot look at %s: %s", what, path, strerror(errno));
        return CLI_USAGE;
    }
    if (!S_ISREG(state.st_mode) || state.st_uid != geteuid() ||
        (state.st_mode & (S_IRWXG | S_IRWXO)) == 0) {
        return CLI_DONE;
    }
    cli_complain(cli,
                 "%s: others may read or change %s (mode %04o), which has to be secret: "
                 "chmod 600 %s",
                 what, path, (unsigned)(state.st_mode & 07777), path);
    return CLI_USAGE;
}
