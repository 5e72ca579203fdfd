/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/main/inner.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/web/setup/types.h"
#include "core/base/err.h"
#include "daemon/system/file.h"
#include "daemon/system/notify.h"
#include "daemon/system/reason.h"

enum { BACKLOG = 1024, PROXY_MODE = 0666 }; /* who may reach the socket, the folder decides */

union address {
    struct sockaddr any;
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;
    struct sockaddr_un local;
    struct sockaddr_storage storage;
};

static const char *remedy_for(int rc)
{
    switch (rc) {
    case EADDRINUSE:
        return "; another program has it, maybe another hearsay-web or the router's own pages: "
               "stop that, or set `listen` to another address";
    case EADDRNOTAVAIL:
        return "; this machine has no such address: set `listen` to one it has, or write freebind "
               "behind one that it will have";
    case EACCES:
        return "; ports below 1024 are root's: choose one from 1024 on, or have root start "
               "hearsay-web with `user`, or use hearsay-web.socket";
    case ENOENT:
        return "; make the directory first, or choose another path";
    default:
        return "; set `listen` to another";
    }
}

static int report_failure(const struct web_config_listener *place, int rc, char *out_reason)
{
    char text[WEB_CONFIG_LISTENER_BYTES];
    char hint[UNIT_HINT_BYTES];
    const char *remedy = remedy_for(rc);

    if (place->is_unix && unit_hint_of_file(place->path, rc, hint)[0] != '\0') {
        remedy = hint;
    } else if (place->is_unix && rc == EACCES) {
        remedy =
            "; its directory belongs to somebody else: `chown` it to the page's user, or choose "
            "another path";
    }
    web_listener_print(place, text);
    return reason_set(out_reason, "cannot listen on %s: %s%s", text, strerror(rc), remedy);
}

static socklen_t make_address(const struct web_config_listener *place, union address *out_address)
{
    memset(out_address, 0, sizeof(*out_address));
    if (place->is_unix) {
        out_address->local.sun_family = AF_UNIX;
        memcpy(out_address->local.sun_path, place->path, strlen(place->path) + 1);
        return sizeof(out_address->local);
    }
    if (place->family == 6) {
        out_address->in6.sin6_family = AF_INET6;
        out_address->in6.sin6_port = htons(place->port);
        memcpy(&out_address->in6.sin6_addr, place->address, sizeof(out_address->in6.sin6_addr));
        return sizeof(out_address->in6);
    }
    out_address->in4.sin_family = AF_INET;
    out_address->in4.sin_port = htons(place->port);
    memcpy(&out_address->in4.sin_addr, place->address, sizeof(out_address->in4.sin_addr));
    return sizeof(out_address->in4);
}

/* Sets the address and the port that a socket has. */
static bool read_place(int descriptor, struct web_config_listener *place)
{
    union address address;
    socklen_t size = sizeof(address);

    if (getsockname(descriptor, &address.any, &size) != 0) {
        return false;
    }
    if (address.any.sa_family == AF_INET6) {
        place->family = 6;
        place->port = ntohs(address.in6.sin6_port);
        memcpy(place->address, &address.in6.sin6_addr, sizeof(place->address));
    } else if (address.any.sa_family == AF_INET) {
        place->family = 4;
        place->port = ntohs(address.in4.sin_port);
        memcpy(place->address, &address.in4.sin_addr, 4);
    } else {
        place->is_unix = true;
        memcpy(place->path, address.local.sun_path, sizeof(place->path) - 1);
    }
    return true;
}

/* Binds and listens. 0, or an errno. */
static int bind_socket(int descriptor, const struct web_config_listener *place)
{
    union address address;
    socklen_t size = make_address(place, &address);
    int on = 1;

    if (place->is_unix) {
        (void)file_remove_stale_socket(place->path); /* bind says what is wrong where this fails */
    }
    if (!place->is_unix && setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) {
        return errno;
    }
    if (place->family == 6 &&
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0) {
        return errno;
    }
    if (place->is_freebind && /* holds for IPv6, too */
        setsockopt(descriptor, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on)) != 0) {
        return errno;
    }
    if (bind(descriptor, &address.any, size) != 0 || listen(descriptor, BACKLOG) != 0 ||
        (place->is_unix && chmod(place->path, PROXY_MODE) != 0)) {
        return errno;
    }
    return 0;
}

static int open_one(const struct web_config_listener *line, struct listen *listen, char *out_reason)
{
    struct web_config_listener place = *line;
    int family = place.is_unix ? AF_UNIX : place.family == 6 ? AF_INET6 : AF_INET;
    int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (descriptor < 0) {
        return report_failure(line, errno, out_reason);
    }
    int rc = bind_socket(descriptor, &place);
    if (rc == 0 && !place.is_unix && !read_place(descriptor, &place)) {
        rc = errno;
    }
    if (rc != 0) {
        (void)close(descriptor);
        return report_failure(line, rc, out_reason);
    }
    listen->places[listen->count] = place;
    listen->sockets[listen->count++] = (struct http_listener){.descriptor = descriptor,
                                                              .is_proxied = place.is_proxied,
                                                              .is_metrics = place.is_metrics,
                                                              .by_address = place.by_address};
    return 0;
}

static void close_all(struct listen *listen)
{
    for (size_t i = 0; i < listen->count; i++) {
        (void)close(listen->sockets[i].descriptor);
    }
    listen_clean(listen);
    listen->count = 0;
}

/*
 * Copies the words of the `listen` line with the address of `place`. The service manager passes a
 * socket without words, so that line decides.
 */
static void copy_words(const struct web_config *config, struct web_config_listener *place)
{
    for (size_t i = 0; i < config->listener_count; i++) {
        const struct web_config_listener *line = &config->listeners[i];

        if (line->is_unix == place->is_unix && line->family == place->family &&
            line->port == place->port && strcmp(line->path, place->path) == 0 &&
            memcmp(line->address, place->address, sizeof(line->address)) == 0) {
            place->is_proxied = line->is_proxied;
            place->is_metrics = line->is_metrics;
            place->by_address = line->by_address;
        }
    }
}

/* Takes the sockets of the service manager, which must stay: `places` have no path to remove. */
static int take_inherited(const struct web_config *config, struct listen *listen, char *out_reason)
{
    struct inherited_socket sockets[HTTP_LISTENERS_MAX];
    size_t count = 0;
    int rc = inherited_take_sockets(sockets, HTTP_LISTENERS_MAX, &count, out_reason);

    for (size_t i = 0; rc == 0 && i < count; i++) {
        struct web_config_listener place = {.is_unix = false};

        listen->sockets[i].descriptor = sockets[i].descriptor;
        listen->count++;
        if (!read_place(sockets[i].descriptor, &place)) {
            rc = reason_set(out_reason, "a socket of the service manager: %s", strerror(errno));
        }
        copy_words(config, &place);
        if (rc == 0 && place.is_unix && !place.is_proxied) {
            rc = reason_set(out_reason,
                            "the service manager passes the Unix socket %s: set `listen = %s "
                            "proxied`, and have the proxy send X-Forwarded-For",
                            place.path, place.path);
        }
        listen->sockets[i].is_proxied = place.is_proxied;
        listen->sockets[i].is_metrics = place.is_metrics;
        listen->sockets[i].by_address = place.by_address;
        memset(place.path, 0, sizeof(place.path));
        listen->places[i] = place;
    }
    if (rc == 0 && count > 0) {
        struct settings_source source = {.name = "the sockets of the service manager",
                                         .reason = out_reason};
        rc = web_metrics_check(listen->places, count, &source);
    }
    return rc;
}

int listen_open(const struct web_config *config, struct listen *out_listen, char *out_reason)
{
    struct listen fresh = {.count = 0};
    int rc = take_inherited(config, &fresh, out_reason);

    if (rc == 0 && fresh.count > 0 && config->section == WEB_SECTION_MODERATE) {
        rc = reason_set(out_reason, "the moderators' page takes no sockets of the service manager, "
                                    "which its rules would not hold for: use `listen`");
    }
    if (rc == 0 && fresh.count == 0) {
        for (size_t i = 0; i < config->listener_count && rc == 0; i++) {
            rc = open_one(&config->listeners[i], &fresh, out_reason);
        }
    }
    if (rc != 0) {
        close_all(&fresh);
        return -ERR_SYSTEM;
    }
    *out_listen = fresh;
    return 0;
}

void listen_clean(const struct listen *listen)
{
    for (size_t i = 0; i < listen->count; i++) {
        if (listen->places[i].path[0] != '\0') {
            (void)unlink(listen->places[i].path); /* may be in a folder that is root's */
        }
    }
}
