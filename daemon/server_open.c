/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/server_open.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/err.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/privilege.h"

/* Sockets of the service manager replace the TCP ones that are configured. */
static int take_inherited(struct server *server, size_t *out_count, char *out_reason)
{
    struct notify_socket sockets[CONFIG_LISTENERS_MAX];

    int rc = notify_take_sockets(sockets, CONFIG_LISTENERS_MAX, out_count, out_reason);
    for (size_t i = 0; i < *out_count && rc == 0; i++) {
        rc = listener_inherit(&server->listeners[server->listener_count++], server, &sockets[i],
                              out_reason);
    }
    return rc == 0 ? 0 : -ERR_SYSTEM;
}

/* Those of one kind. Nobody is accepted before the loop runs. */
static int listen_on(struct server *server, enum config_listener_kind kind, char *out_reason)
{
    for (size_t i = 0; i < server->config.listener_count; i++) {
        const struct config_listener *config = &server->config.listeners[i];
        if (config->kind != kind) {
            continue;
        }
        if (server->listener_count == CONFIG_LISTENERS_MAX) {
            break;
        }
        /* One that was skipped keeps its place: the loop may still be closing its handle. */
        const int rc =
            listener_bind(&server->listeners[server->listener_count++], server, config, out_reason);
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

/* What a reload, as the new user, could not do. */
static void check_readable(const struct server *server)
{
    const char *file = server->config.file;

    if (file[0] != '\0' && access(file, R_OK) != 0) {
        log_warning("user `%s` cannot read %s (%s): a reload will be refused until it can",
                    server->config.user, file, strerror(errno));
    }
}

static int become_user(struct server *server, char *out_reason)
{
    const struct config *config = &server->config;
    struct privilege_user user;

    if (config->user[0] == '\0') {
        if (privilege_is_root()) {
            log_warning("running as root: set `user` to one without rights");
        }
        return 0;
    }
    if (privilege_find(config->user, &user, out_reason, CONFIG_REASON_BYTES) != 0) {
        return CONFIG_REFUSED;
    }
    int rc = 0;
    if (privilege_is_root()) {
        rc = privilege_make_directory(config->data, &user, out_reason, CONFIG_REASON_BYTES);
    }
    if (rc == 0) {
        rc = privilege_drop(&user, out_reason, CONFIG_REASON_BYTES);
    }
    if (rc == 0) {
        check_readable(server);
    }
    return rc;
}

int server_open_addresses(struct server *server, char *out_reason)
{
    size_t inherited = 0;

    int rc = take_inherited(server, &inherited, out_reason);
    if (rc == 0 && inherited == 0) {
        rc = listen_on(server, CONFIG_LISTENER_TCP, out_reason);
    }
    return rc == 0 ? become_user(server, out_reason) : rc;
}

int server_open_sockets(struct server *server, char *out_reason)
{
    size_t open = 0;

    int rc = listen_on(server, CONFIG_LISTENER_UNIX, out_reason);
    for (size_t i = 0; i < server->listener_count; i++) {
        open += server->listeners[i].is_open;
    }
    if (rc == 0 && open == 0) {
        snprintf(out_reason, CONFIG_REASON_BYTES, "there is nothing to listen on; set `listen`");
        return -ERR_SYSTEM;
    }
    return rc;
}
