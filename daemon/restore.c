/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/err.h"
#include "daemon/datadir.h"
#include "daemon/privilege.h"
#include "daemon/store_restore.h"

static int become_user(const struct config *config, char *out_reason)
{
    struct privilege_user user;

    if (config->user[0] == '\0' || !privilege_is_root()) {
        return 0;
    }
    int rc = privilege_find(config->user, &user, out_reason, CONFIG_REASON_BYTES);
    if (rc == 0) {
        rc = privilege_make_directory(config->data, &user, out_reason, CONFIG_REASON_BYTES);
    }
    return rc == 0 ? privilege_drop(&user, out_reason, CONFIG_REASON_BYTES) : rc;
}

int restore_run(const struct config *config, const char *file, uint64_t *out_messages,
                char *out_reason)
{
    /* As who we are: that user may not be able to read it. */
    const int source = open(file, O_RDONLY | O_CLOEXEC);
    int lock = -1;

    if (source < 0) {
        (void)snprintf(out_reason, CONFIG_REASON_BYTES, "%.1000s: %s", file, strerror(errno));
        return -ERR_SYSTEM;
    }
    int rc = become_user(config, out_reason);
    if (rc == 0) {
        rc = datadir_lock(config->data, !config->relaxed, &lock, out_reason, CONFIG_REASON_BYTES);
    }
    if (rc == 0) {
        rc = store_restore(config->data, source, file, out_messages, out_reason);
        datadir_unlock(lock);
    }
    (void)close(source); /* it was only read */
    return rc;
}
