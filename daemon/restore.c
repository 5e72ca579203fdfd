/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "daemon/commands.h"
#include "daemon/store/thread/backup.h"
#include "daemon/system/datadir.h"
#include "daemon/system/privilege.h"

/*
 * Root becomes the configured user. If none is configured, root becomes the owner of the data
 * directory, because a service manager may start the daemon as a user that the configuration does
 * not name.
 */
static int become_user(const struct config *config, char *out_name, char *out_reason)
{
    struct privilege_user user;
    int rc = 0;

    out_name[0] = '\0';
    if (!privilege_is_root()) {
        return 0;
    }
    if (config->user[0] != '\0') {
        (void)snprintf(out_name, PRIVILEGE_NAME_BYTES, "%s", config->user);
        rc = privilege_find(config->user, &user, out_reason);
        rc = rc == 0 ? privilege_make_directory(config->data, &user, out_reason) : rc;
    } else if (!privilege_find_owner(config->data, &user, out_name)) {
        return 0;
    }
    return rc == 0 ? privilege_drop(&user, out_reason) : rc;
}

int restore_run(const struct config *config, const char *file, FILE *out, uint64_t *out_messages,
                char *out_reason)
{
    char user[PRIVILEGE_NAME_BYTES];
    /*
     * The backup is opened before the change of user, because the new user may not be able to read
     * it.
     */
    int source = open(file, O_RDONLY | O_CLOEXEC);
    int lock = -1;

    if (source < 0) {
        return reason_set(out_reason, "%.1000s: %s", file, strerror(errno));
    }
    int rc = become_user(config, user, out_reason);
    if (rc == 0) {
        (void)fprintf(out, "restoring %s into %s%s%s\n", file, config->data,
                      user[0] != '\0' ? " as user " : "", user);
        (void)fflush(out); /* the caller looks for errors at the end */
        rc = datadir_lock(config->data, !config->relaxed, &lock, out_reason);
    }
    if (rc == 0) {
        rc = store_restore(config->data, source, file, out_messages, out_reason);
        datadir_unlock(lock);
    }
    (void)close(source); /* it was only read */
    return rc;
}
