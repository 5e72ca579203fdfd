/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/server.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "daemon/settings/user.h"
#include "daemon/system/privilege.h"

/* Returns an unused place for a new listener. NULL: the listeners of all places are open or
 * closing. */
static struct listener *free_place(struct server *server)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        if (!server->listeners[i].is_open && !server->listeners[i].is_closing) {
            return &server->listeners[i];
        }
    }
    return server->listener_count < SERVER_LISTENERS ? &server->listeners[server->listener_count++]
                                                     : NULL;
}

void server_open_home(struct server *server)
{
    server->home =
        (struct listener_home){.loop = &server->loop, .accept = server_accept, .context = server};
}

/* Takes the sockets that the service manager passed, and counts them in *out_count. */
static int take_inherited(struct server *server, size_t *out_count, char *out_reason)
{
    struct inherited_socket sockets[CONFIG_LISTENERS_MAX];

    int rc = inherited_take_sockets(sockets, CONFIG_LISTENERS_MAX, out_count, out_reason);
    for (size_t i = 0; i < *out_count && rc == 0; i++) {
        rc = listener_inherit(&server->listeners[server->listener_count++], &server->home,
                              &server->config, &sockets[i], out_reason);
    }
    return rc;
}

static bool is_all_addresses(const struct config_listener *config)
{
    return config->address[strspn(config->address, "0.:")] == '\0';
}

/* Returns whether one of two addresses is all of its family, and has the other one's port: the two
 * cannot be bound at the same time. */
static bool exclude_each_other(const struct config_listener *a, const struct config_listener *b)
{
    bool same_family = (strchr(a->address, ':') == NULL) == (strchr(b->address, ':') == NULL);

    return a->kind == CONFIG_LISTENER_TCP && b->kind == CONFIG_LISTENER_TCP && a->port != 0 &&
           a->port == b->port && same_family && (is_all_addresses(a) || is_all_addresses(b));
}

/* Replaces the remedy in out_reason by `remedy` if the daemon itself has the port of `config`. */
static void explain_own_port(const struct server *server, const struct config_listener *config,
                             const char *remedy, char *out_reason)
{
    size_t used = strcspn(out_reason, ";");

    for (size_t i = 0; i < server->listener_count; i++) {
        const struct listener *listener = &server->listeners[i];
        if (listener->is_open && exclude_each_other(&listener->config, config)) {
            snprintf(out_reason + used, CONFIG_REASON_BYTES - used, "%s", remedy);
            return;
        }
    }
}

/* Binds all configured addresses of one kind. */
static int listen_on(struct server *server, enum config_listener_kind kind, char *out_reason)
{
    for (size_t i = 0; i < server->config.listener_count; i++) {
        const struct config_listener *config = &server->config.listeners[i];
        if (config->kind == kind) {
            /* free_place does not return NULL at the start: at most CONFIG_LISTENERS_MAX sockets
             * are inherited, and at most as many addresses are configured. */
            int rc = listener_bind(free_place(server), &server->home, config, out_reason);
            if (rc < 0) {
                explain_own_port(server, config,
                                 "; hearsayd has that port with another line itself, and all "
                                 "addresses include each one: keep one of the two lines",
                                 out_reason);
                return rc;
            }
        }
    }
    return 0;
}

/* Makes the directory of the default Unix socket (CONFIG_ADMIN_SOCKET) if the configuration has
 * this socket. A service manager may have made the directory before. */
static void make_socket_directory(const struct config *config)
{
    static const char path[] = CONFIG_ADMIN_SOCKET;
    struct privilege_user user;
    char reason[REASON_BYTES];
    bool has_user = config->user[0] != '\0' && privilege_find(config->user, &user, reason) == 0;
    char directory[sizeof(path)];

    for (size_t i = 0; i < config->listener_count; i++) {
        if (strcmp(config->listeners[i].path, path) == 0) {
            size_t length = (size_t)(strrchr(path, '/') - path);
            memcpy(directory, path, length);
            directory[length] = '\0';
            /* An error of mkdir is ignored: without the directory, binding the socket fails and
             * reports an error. */
            if (mkdir(directory, 0755) == 0) {
                (void)!chmod(directory, 0755); /* whatever the umask is: the group needs access */
                (void)!(has_user && lchown(directory, user.uid, user.gid));
            }
        }
    }
}

/* Finds the uid of the user of a kind of listeners, if the configuration names one. */
static int find_guest(const char *key, const char *name, uid_t *out_uid, char *out_reason)
{
    struct privilege_user user;

    *out_uid = PRIVILEGE_UNKNOWN_UID;
    if (name[0] == '\0') {
        return 0;
    }
    if (privilege_look_up_peer(key, name, &user, out_reason) != 0) {
        return CONFIG_REFUSED;
    }
    *out_uid = user.uid;
    return 0;
}

static int become_user(struct server *server, char *out_reason)
{
    const struct config *config = &server->config;
    struct settings_user user = {.name = config->user,
                                 .admin_group = PRIVILEGE_NO_GROUP,
                                 .directory = config->data,
                                 .file = config->common.file};

    if (find_guest("gateway_user", config->gateway_user, &server->home.gateway_uid, out_reason) !=
            0 ||
        find_guest("bridge_user", config->bridge_user, &server->home.bridge_uid, out_reason) != 0) {
        return CONFIG_REFUSED;
    }
    if (config->admin_group[0] != '\0') {
        if (privilege_find_group(config->admin_group, &server->home.admin_group, out_reason) != 0) {
            return CONFIG_REFUSED;
        }
        server->home.shares_sockets = true;
        user.admin_group = server->home.admin_group;
    }
    if (privilege_is_root()) {
        make_socket_directory(config);
    }
    return settings_become_user(&user, out_reason);
}

int server_open_addresses(struct server *server, char *out_reason)
{
    size_t inherited = 0;

    server_open_home(server);
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

/* --- reload ----------------------------------------------------------------------------------- */

static bool has_inherited(const struct server *server)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        if (server->listeners[i].is_open && server->listeners[i].is_inherited) {
            return true;
        }
    }
    return false;
}

/* Returns the open listener of the address in `config`. NULL: no listener has the address, or
 * another line of the new configuration has taken the listener. */
static struct listener *find_open(struct server *server, const struct server_listen *listen,
                                  const struct config_listener *config)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        struct listener *listener = &server->listeners[i];
        if (listener->is_open && !listener->is_inherited && listen->claims[i] == NULL &&
            config_listener_same_place(&listener->config, config)) {
            return listener;
        }
    }
    return NULL;
}

static int prepare_one(struct server *server, const struct config_listener *config,
                       struct server_listen *listen, char *out_reason)
{
    struct listener *listener = find_open(server, listen, config);

    if (listener == NULL) {
        listener = free_place(server);
        if (listener == NULL) {
            snprintf(out_reason, CONFIG_REASON_BYTES,
                     "the listeners of the last reload are still closing; try again");
            return -ERR_SYSTEM;
        }
        int rc = listener_bind(listener, &server->home, config, out_reason);
        if (rc < 0) {
            explain_own_port(server, config,
                             "; hearsayd has that port with another address itself, and a change "
                             "between one address and all of them needs a restart",
                             out_reason);
        }
        if (rc != 0) {
            return rc < 0 ? rc : 0; /* an optional address is left out */
        }
        listen->is_new[listener - server->listeners] = true;
    }
    listen->claims[listener - server->listeners] = config;
    return 0;
}

int server_listen_prepare(struct server *server, const struct config *fresh,
                          struct server_listen *out_listen, char *out_reason)
{
    bool keeps_tcp = has_inherited(server);
    int rc = 0;

    memset(out_listen, 0, sizeof(*out_listen));
    for (size_t i = 0; i < fresh->listener_count && rc == 0; i++) {
        const struct config_listener *config = &fresh->listeners[i];
        if (config->kind == CONFIG_LISTENER_UNIX || !keeps_tcp) {
            rc = prepare_one(server, config, out_listen, out_reason);
        }
    }
    if (rc != 0) {
        server_listen_cancel(server, out_listen);
    }
    return rc;
}

void server_listen_cancel(struct server *server, const struct server_listen *listen)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        if (listen->is_new[i]) {
            listener_close(&server->listeners[i]);
        }
    }
}

void server_listen_commit(struct server *server, const struct config *fresh,
                          const struct server_listen *listen)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        struct listener *listener = &server->listeners[i];
        if (!listener->is_open) {
            continue;
        }
        if (listener->is_inherited) {
            if (!listener->is_unix) {
                listener_adopt_words(listener, fresh);
            }
        } else if (listen->claims[i] == NULL) {
            char text[CONFIG_LISTENER_BYTES];
            config_listener_print(&listener->config, text);
            log_info("no longer listening on %s", text);
            listener_close(listener);
        } else {
            listener->config = *listen->claims[i];
        }
    }
}
