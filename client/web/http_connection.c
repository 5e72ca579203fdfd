/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <sys/epoll.h>
#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <microhttpd.h>

#include "client/web/http_inner.h"
#include "daemon/system/list.h"

enum { SEND_BYTES = 32 * 1024 /* what the kernel keeps for one client; it takes twice that */ };

void http_server_want_turn(struct http_server *server)
{
    if (!server->is_stopped) {
        (void)uv_timer_start(&server->turn, server->on_turn, 0, 0); /* fails without a callback */
    }
}

void http_connection_set_deadline(struct http_connection *connection, unsigned seconds)
{
    connection->deadline_ms = uv_now(connection->server->options.loop) + (uint64_t)seconds * 1000;
}

void http_connection_suspend(struct http_connection *connection)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = connection};
    /* without memory for it we learn only later that the client has gone */
    (void)epoll_ctl(connection->server->hangups, EPOLL_CTL_ADD, connection->descriptor, &event);
    connection->is_suspended = true;
    MHD_suspend_connection(connection->mhd);
}

void http_connection_resume(struct http_connection *connection)
{
    if (!connection->is_suspended) {
        return;
    }
    /* fails where the suspension could not add it */
    (void)epoll_ctl(connection->server->hangups, EPOLL_CTL_DEL, connection->descriptor, NULL);
    connection->is_suspended = false;
    MHD_resume_connection(connection->mhd);
    http_server_want_turn(connection->server);
}

/* How many connections are counted for one address. */
static size_t address_count(const struct http_server *server, const struct http_address *address)
{
    const struct http_connection *connection;
    size_t count = 0;
    DL_FOREACH (server->connections, connection) {
        count += connection->owner != NULL && http_peer_equals(&connection->address, address);
    }
    return count;
}

/* Learns the device of a client that comes from the address `from`. */
static void connection_learn_device(struct http_connection *connection, const struct sockaddr *from)
{
    uint32_t interface = 0;

    if (from->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, from, sizeof(in6));
        interface = in6.sin6_scope_id;
    }
    if (!connection->by_address) {
        http_peer_learn_device(connection->server->options.devices, interface,
                               &connection->address);
    }
}

enum http_entry http_connection_enter(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    const struct http_address *address = &connection->address;
    const struct http_owner *others = http_owner_find(server->owners, address);
    size_t half = server->options.connections / 2 + server->options.connections % 2;
    if (others != NULL &&
        (((address->family == 6 || address->device != 0) && others->count >= half) ||
         (others->count >= server->options.connections_per_address &&
          address_count(server, address) >= server->options.connections_per_address))) {
        return HTTP_ENTRY_FULL;
    }
    connection->owner = http_owner_enter(server->owners, server->alloc, address);
    return connection->owner == NULL ? HTTP_ENTRY_NOMEM : HTTP_ENTRY_DONE;
}

void http_connection_leave(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    http_owner_leave(server->owners, server->alloc, connection->owner);
    connection->owner = NULL;
}

void http_connection_close(struct http_connection *connection)
{
    if (connection->is_closing) {
        return;
    }
    connection->is_closing = true;
    connection->server->closing_count++;
    connection->server->has_ended = connection->server->has_ended || connection->is_ours;
    http_connection_leave(connection);
    (void)shutdown(connection->descriptor, SHUT_RDWR); /* fails where the client has gone */
    http_connection_resume(connection);
    http_server_want_turn(connection->server);
}

void http_connection_abort(struct http_connection *connection)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};
    /* fails for what is not TCP, and there the kernel keeps little */
    (void)setsockopt(connection->descriptor, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    http_connection_close(connection);
}

/*
 * Returns the idle connection that is to be closed for a new connection: one of the network that
 * has the most connections, idle or not. If there are several, returns the one that has been idle
 * longest. Returns NULL if no connection is idle.
 */
static struct http_connection *server_find_victim(struct http_server *server)
{
    struct http_connection *victim = NULL;
    struct http_connection *connection;
    size_t most = 0;
    DL_FOREACH (server->connections, connection) {
        size_t count = connection->owner == NULL ? 0 : connection->owner->count;
        if (connection->phase != HTTP_PHASE_IDLE || connection->is_closing) {
            continue;
        }
        if (victim == NULL || count > most ||
            (count == most && connection->idle_since_ms < victim->idle_since_ms)) {
            victim = connection;
            most = count;
        }
    }
    return victim;
}

bool http_server_make_room(struct http_server *server, const struct http_connection *newcomer)
{
    if (server->connection_count - server->closing_count < server->options.connections) {
        return true;
    }
    struct http_connection *victim = server_find_victim(server);
    if (victim == NULL) {
        return false;
    }
    if (newcomer->owner != NULL &&
        (victim->owner == NULL ? 0 : victim->owner->count) < newcomer->owner->count - 1) {
        return false;
    }
    http_connection_close(victim);
    return true;
}

static void descriptor_set_up(int descriptor)
{
    unsigned user_timeout_ms = HTTP_ANSWER_SECONDS * 1000;
    int send_bytes = SEND_BYTES;
    /* If a call fails, the kernel only buffers more bytes, and keeps them longer. */
    (void)setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof(send_bytes));
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms,
                     sizeof(user_timeout_ms));
}

struct http_connection *http_connection_new(const struct http_server_listener *listener,
                                            int descriptor, const struct sockaddr *address)
{
    struct http_server *server = listener->server;
    struct http_connection *connection = alloc_zeroed(server->alloc, 1, sizeof(*connection));
    if (connection == NULL) {
        return NULL;
    }
    connection->server = server;
    connection->descriptor = descriptor;
    connection->is_proxied = listener->is_proxied;
    connection->is_metrics = listener->is_metrics;
    connection->by_address = listener->by_address;
    connection->exchange.connection = connection;
    connection->idle_since_ms = uv_now(server->options.loop);
    http_connection_set_deadline(connection, HTTP_REQUEST_SECONDS);
    bool is_welcome = true;
    if (!listener->is_proxied) {
        const struct http_options *options = &server->options;
        is_welcome =
            http_peer_from_socket(address, &connection->address) &&
            (options->allows == NULL || options->allows(options->context, &connection->address));
        if (is_welcome) {
            http_peer_learn_local(descriptor, &connection->address);
            connection_learn_device(connection, address);
            is_welcome = http_connection_enter(connection) == HTTP_ENTRY_DONE;
        }
    }
    if (is_welcome && http_server_make_room(server, connection)) {
        descriptor_set_up(descriptor);
        return connection;
    }
    server->figures.refused++;
    http_connection_leave(connection);
    alloc_release(server->alloc, connection);
    return NULL;
}
