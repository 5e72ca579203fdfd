/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/notify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A longer one would be cut, and the line to copy would be wrong. */
enum { DIRECTORY_BYTES_MAX = 300 };

/* Whether ProtectHome=yes hides the directory. */
static bool is_hidden(const char *directory)
{
    static const char *const roots[] = {"/home", "/root", "/run/user"};

    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        size_t length = strlen(roots[i]);

        if (strncmp(directory, roots[i], length) == 0 &&
            (directory[length] == '/' || directory[length] == '\0')) {
            return true;
        }
    }
    return false;
}

const char *unit_hint(const char *directory, int code, char out[UNIT_HINT_BYTES])
{
    const char *name = program_invocation_short_name;

    out[0] = '\0';
    if (!notify_has_manager() || strlen(directory) > DIRECTORY_BYTES_MAX) {
        return out;
    }
    if (code == EACCES && is_hidden(directory)) {
        (void)snprintf(
            out, UNIT_HINT_BYTES,
            "; its systemd unit hides /home, /root and /run/user from %.40s: choose "
            "another directory, or put the three lines `[Service]`, `ProtectHome=no` and "
            "`ReadWritePaths=%s` into a drop-in (`systemctl edit %.40s`)",
            name, directory, name);
    } else if (code == EROFS) {
        (void)snprintf(out, UNIT_HINT_BYTES,
                       "; its systemd unit lets %.40s write to few directories: make this one for "
                       "the user of the unit, and put the two lines `[Service]` and "
                       "`ReadWritePaths=%s` into a drop-in (`systemctl edit %.40s`)",
                       name, directory, name);
    }
    return out;
}

const char *unit_hint_of_file(const char *path, int code, char out[UNIT_HINT_BYTES])
{
    char directory[4096];
    const char *slash = strrchr(path, '/');
    int length = slash != NULL ? (int)(slash - path) : 0;

    (void)snprintf(directory, sizeof(directory), "%.*s", length > 0 ? length : 1, path);
    return unit_hint(directory, code, out);
}
