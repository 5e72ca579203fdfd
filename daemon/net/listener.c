/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/listener.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config/options.h"
#include "daemon/net/loop.h"
#include "daemon/system/file.h"

enum {
    /* Maximum number of connections that the kernel keeps while they wait to be accepted, unless
     * the system allows fewer. If more TCP clients connect at the same time, the others try
     * again only about a second later. */
    BACKLOG = 1024,
    /* A connection costs more CPU time than most requests. Without this limit, libuv could accept
     * many connections that wait before any session is served. */
    ACCEPTS_PER_TURN = 4
};

/* Accepts one connection that waits. Returns what the function `accept` of struct listener_home
 * returns, or LISTENER_LATER if this turn has had ACCEPTS_PER_TURN connections. */
static int accept_one(struct listener *listener)
{
    if (listener->accepted == ACCEPTS_PER_TURN) {
        loop_wake(listener->home->loop);
        return LISTENER_LATER;
    }
    int rc = listener->home->accept(listener);
    listener->accepted += rc != LISTENER_LATER;
    return rc;
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct listener *listener = stream->data;
    uint64_t withheld = 0;

    if (status == 0) {
        status = accept_one(listener);
        /* libuv reports no other connection until this one is accepted. If it was not accepted,
         * listener_turn or listener_retry reports it again. */
        listener->is_held = status == LISTENER_LATER || status == UV_ENOMEM;
        listener->waits_a_turn = status == LISTENER_LATER;
    }
    /* If descriptors or memory run out, no connection is accepted, but connected clients are still
     * served. */
    if (status < 0 &&
        log_gate_opens(&listener->gate, loop_now_ms(listener->home->loop), &withheld)) {
        log_warning("a connection could not be accepted: %s (%" PRIu64
                    " more since this was last said)",
                    uv_strerror(status), withheld);
    }
}

void listener_turn(struct listener *listener)
{
    listener->accepted = 0;
    if (listener->waits_a_turn) {
        listener->waits_a_turn = false;
        listener_retry(listener);
    }
}

void listener_retry(struct listener *listener)
{
    if (listener->is_open && listener->is_held) {
        on_connection(&listener->uv.stream, 0);
    }
}

static int report_failure(char *out_reason, const char *where, const char *why, const char *remedy)
{
    return reason_set(out_reason, "cannot listen on %s: %s%s", where, why, remedy);
}

/* What to do if a port below 1024 cannot be bound. The sentence names reloads, because after the
 * start the daemon is usually not root any more. */
#define LOW_PORT_REMEDY                                                                         \
    "; ports below 1024 are root's: choose one from 1024 on, or have root start hearsayd with " \
    "`user`, or use hearsayd.socket; a reload cannot bind such a port, a restart can"

static const char *remedy_for(int rc)
{
    switch (rc) {
    case UV_EADDRINUSE:
        return "; another program has it, maybe another hearsayd: stop that, or set `listen`";
    case UV_EADDRNOTAVAIL:
        return "; this machine has no such address: set `listen` to one it has, or write freebind "
               "behind one that it will have";
    case UV_ENOENT:
        return "; make the directory first, or choose another path";
    case UV_EACCES:
        return "; its directory belongs to somebody else: `chown` it to the daemon's user, or "
               "choose "
               "another path";
    default:
        return "; set `listen` to another";
    }
}

/* --- TCP -------------------------------------------------------------------------------------- */

/* Returns the listener's line of the configuration, but with the address and the port that were
 * bound. */
static struct config_listener bound_to(const struct listener *listener)
{
    struct config_listener bound = listener->config;
    struct sockaddr_storage address;
    int size = sizeof(address);

    if (uv_tcp_getsockname(&listener->uv.tcp, (struct sockaddr *)&address, &size) != 0) {
        return bound;
    }
    if (address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address;
        uv_ip6_name(in6, bound.address, sizeof(bound.address));
        bound.port = ntohs(in6->sin6_port);
    } else {
        const struct sockaddr_in *in4 = (const struct sockaddr_in *)&address;
        uv_ip4_name(in4, bound.address, sizeof(bound.address));
        bound.port = ntohs(in4->sin_port);
    }
    return bound;
}

static void log_bound(const struct listener *listener)
{
    struct config_listener bound = listener->is_unix ? listener->config : bound_to(listener);
    char text[CONFIG_LISTENER_BYTES];

    config_listener_print(&bound, text);
    log_info("listening on %s", text);
}

void listener_adopt_words(struct listener *listener, const struct config *config)
{
    struct config_listener bound = bound_to(listener);

    listener->config = (struct config_listener){.kind = CONFIG_LISTENER_TCP};
    for (size_t i = 0; i < config->listener_count; i++) {
        if (config_listener_same_place(&config->listeners[i], &bound)) {
            listener->config = config->listeners[i];
            listener->config.freebind = false; /* the service manager has bound the address */
        }
    }
}

/* Lets the kernel bind an address that this machine does not have yet. Returns 0 or a libuv error.
 */
static int set_freebind(struct listener *listener)
{
    int on = 1;
    uv_os_fd_t descriptor = -1;

    int rc = uv_fileno(&listener->uv.handle, &descriptor);
    /* Linux takes this option for IPv6 sockets, too. */
    return rc == 0 && setsockopt(descriptor, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on)) != 0
               ? uv_translate_sys_error(errno)
               : rc;
}

static int bind_tcp(struct listener *listener, const struct config_listener *config)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in4;
        struct sockaddr_in6 in6;
    } address;
    unsigned flags = 0;

    int rc = uv_ip4_addr(config->address, config->port, &address.in4);
    if (rc != 0) {
        rc = uv_ip6_addr(config->address, config->port, &address.in6);
        flags = UV_TCP_IPV6ONLY; /* so that [::] and 0.0.0.0 can be bound both */
    }
    if (rc != 0) {
        return rc;
    }
    rc = uv_tcp_init_ex(&listener->home->loop->uv, &listener->uv.tcp, address.any.sa_family);
    if (rc != 0) {
        return rc;
    }
    listener->uv.handle.data = listener;
    listener->is_open = true;
    if (config->freebind && (rc = set_freebind(listener)) != 0) {
        return rc;
    }
    return uv_tcp_bind(&listener->uv.tcp, &address.any, flags);
}

/* --- Unix ------------------------------------------------------------------------------------- */

/* Whether the directory of the path is missing. libuv returns EACCES for a missing directory and
 * for missing rights. */
static bool is_without_directory(const char *path)
{
    char directory[sizeof(((struct config_listener *)0)->path)];
    const char *slash = strrchr(path, '/');
    struct stat status;

    if (slash == NULL || slash == path) {
        return false;
    }
    memcpy(directory, path, (size_t)(slash - path));
    directory[slash - path] = '\0';
    return stat(directory, &status) != 0 && errno == ENOENT;
}

/* Whether the path is a file that is not a socket. */
static bool is_other_file(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && !S_ISSOCK(status.st_mode);
}

static int report_unix(char *out_reason, const char *path, int rc)
{
    char hint[UNIT_HINT_BYTES];

    if (rc == UV_EADDRINUSE && is_other_file(path)) {
        return report_failure(out_reason, path, "what is there is no socket",
                              "; remove it if nobody needs it, or choose another path");
    }
    if (unit_hint_of_file(path, -rc, hint)[0] == '\0') {
        return report_failure(out_reason, path, uv_strerror(rc), remedy_for(rc));
    }
    return report_failure(out_reason, path, uv_strerror(rc), hint);
}

static int bind_unix(struct listener *listener, const struct config_listener *config)
{
    int rc = uv_pipe_init(&listener->home->loop->uv, &listener->uv.pipe, 0);
    if (rc != 0) {
        return rc;
    }
    listener->uv.handle.data = listener;
    listener->is_open = true;
    mode_t mask = umask(0177); /* for the owner and root only */
    rc = uv_pipe_bind(&listener->uv.pipe, config->path);
    if (rc == UV_EADDRINUSE && file_remove_stale_socket(config->path)) {
        rc = uv_pipe_bind(&listener->uv.pipe, config->path);
    }
    (void)umask(mask);
    if (rc == UV_EACCES && is_without_directory(config->path)) {
        return UV_ENOENT;
    }
    if (rc == 0) {
        memcpy(listener->path, config->path, strlen(config->path) + 1); /* both have 108 bytes */
    }
    return rc;
}

/*
 * Lets other users than the owner connect, before the socket listens. Every user may connect to the
 * socket of a gateway or of a bridge; session_accept checks the user. With `admin_group` in the
 * configuration, any other socket file belongs to this group. Returns 0 or a libuv error.
 */
static int share_socket(struct listener *listener)
{
    gid_t group = listener->home->admin_group;

    if (listener->config.gateway || listener->config.bridge) {
        return chmod(listener->path, 0666) == 0 ? 0 : uv_translate_sys_error(errno);
    }
    if (!listener->home->shares_sockets) {
        return 0;
    }
    if (lchown(listener->path, (uid_t)-1, group) != 0 || chmod(listener->path, 0660) != 0) {
        return uv_translate_sys_error(errno);
    }
    listener->is_shared = true;
    return 0;
}

/* --- both ------------------------------------------------------------------------------------- */

/* Whether the address may be missing without an error. Nobody can miss [::1] where IPv6 is off, and
 * examples of configurations name it. */
static bool may_be_skipped(const struct config_listener *config)
{
    return config->optional || strcmp(config->address, "::1") == 0;
}

int listener_bind(struct listener *listener, const struct listener_home *home,
                  const struct config_listener *config, char *out_reason)
{
    bool is_unix = config->kind == CONFIG_LISTENER_UNIX;
    char where[128];

    memset(listener, 0, sizeof(*listener));
    listener->home = home;
    listener->config = *config;
    listener->is_unix = is_unix;
    snprintf(where, sizeof(where), strchr(config->address, ':') != NULL ? "[%s]:%u" : "%s:%u",
             config->address, (unsigned)config->port);
    int rc = is_unix ? bind_unix(listener, config) : bind_tcp(listener, config);
    if (rc == 0 && is_unix && (rc = share_socket(listener)) != 0) {
        listener_close(listener);
        return report_failure(
            out_reason, config->path, uv_strerror(rc),
            config->gateway || config->bridge
                ? "; other users could not be let in"
                : "; its group could not be set to `admin_group`: the user that hearsayd runs as "
                  "must be a member of that group (`usermod -aG GROUP USER`, or "
                  "SupplementaryGroups= in the unit)");
    }
    rc = rc == 0 ? uv_listen(&listener->uv.stream, BACKLOG, on_connection) : rc;
    if (rc != 0) {
        listener_close(listener);
        if (may_be_skipped(config) && (rc == UV_EADDRNOTAVAIL || rc == UV_EAFNOSUPPORT)) {
            log_info("not listening on %s: this machine does not have it", where);
            return LISTENER_SKIPPED;
        }
        return is_unix ? report_unix(out_reason, config->path, rc)
                       : report_failure(out_reason, where, uv_strerror(rc),
                                        rc == UV_EACCES ? LOW_PORT_REMEDY : remedy_for(rc));
    }
    log_bound(listener);
    return 0;
}

int listener_inherit(struct listener *listener, const struct listener_home *home,
                     const struct config *config, const struct inherited_socket *inherited,
                     char *out_reason)
{
    memset(listener, 0, sizeof(*listener));
    listener->home = home;
    listener->is_unix = inherited->is_unix;
    listener->is_inherited = true;

    int rc = listener->is_unix ? uv_pipe_init(&home->loop->uv, &listener->uv.pipe, 0)
                               : uv_tcp_init(&home->loop->uv, &listener->uv.tcp);
    if (rc == 0) {
        listener->uv.handle.data = listener;
        listener->is_open = true;
        rc = listener->is_unix ? uv_pipe_open(&listener->uv.pipe, inherited->descriptor)
                               : uv_tcp_open(&listener->uv.tcp, inherited->descriptor);
    }
    rc = rc == 0 ? uv_listen(&listener->uv.stream, BACKLOG, on_connection) : rc;
    if (rc != 0) {
        listener_close(listener);
        return report_failure(out_reason, "the inherited socket", uv_strerror(rc), "");
    }
    if (listener->is_unix) {
        log_info("listening on an inherited Unix socket");
    } else {
        listener_adopt_words(listener, config);
        log_bound(listener);
    }
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct listener *listener = handle->data;

    listener->is_closing = false;
}

void listener_close(struct listener *listener)
{
    if (!listener->is_open) {
        return;
    }
    listener->is_open = false;
    listener->is_held = false;
    listener->waits_a_turn = false;
    listener->is_closing = true;
    if (listener->path[0] != '\0') {
        (void)unlink(listener->path); /* uv_close may do so, too */
    }
    uv_close(&listener->uv.handle, on_closed);
}
