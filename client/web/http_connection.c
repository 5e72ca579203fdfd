/* SPDX-License-Identifier: Apache-2.0 */

#include <sys/epoll.h>

#include <netinet/in.h>

#include <microhttpd.h>

#include "client/web/http_inner.h"
#include "daemon/system/list.h"

void http_server_want_turn(struct http_server *server)
{
    if (!server->is_stopped) {
        (void)uv_timer_start(&server->turn, server->on_turn, 0, 0); /* fails without a callback */
    }
}

void http_server_watch_deadline(struct http_server *server, uint64_t at_ms)
{
    uv_timer_t *timer = &server->deadlines;
    uint64_t now_ms = uv_now(server->options.loop);
    if (!server->is_stopped && at_ms < server->deadline_ms) {
        server->deadline_ms = at_ms;
        (void)uv_timer_start(timer, server->on_deadlines, at_ms > now_ms ? at_ms - now_ms : 0, 0);
    }
}

void http_connection_set_deadline(struct http_connection *connection, unsigned seconds)
{
    connection->deadline_ms = uv_now(connection->server->options.loop) + (uint64_t)seconds * 1000;
    http_server_watch_deadline(connection->server, connection->deadline_ms);
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

/* How many connections are counted for the address of a connection, this one included. */
static size_t address_count(const struct http_connection *connection)
{
    const struct http_connection *other;
    size_t count = 1;
    DL_FOREACH (connection->server->connections, other) {
        count += other != connection && other->holder != NULL &&
                 http_peer_shares_address(&other->address, &connection->address);
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

void http_connection_leave(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    fair_leave(&server->holders, server->alloc, connection->holder);
    connection->holder = NULL;
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

void http_connection_end(struct http_connection *connection)
{
    if (connection->phase == HTTP_PHASE_IDLE) {
        http_connection_close(connection);
    } else {
        http_connection_abort(connection);
    }
}

/* The connection of the same address that has been idle longest. NULL: none is. */
static struct http_connection *longest_idle(const struct http_connection *newcomer)
{
    struct http_connection *longest = NULL;
    struct http_connection *other;
    DL_FOREACH (newcomer->server->connections, other) {
        if (other != newcomer && other->holder != NULL && other->phase == HTTP_PHASE_IDLE &&
            http_peer_shares_address(&other->address, &newcomer->address) &&
            (longest == NULL || other->idle_since_ms < longest->idle_since_ms)) {
            longest = other;
        }
    }
    return longest;
}

/* Several phones may have one address, behind a repeater. So one more connection of an address that
 * has its most takes the place of one that waits for nothing. */
enum http_entry http_connection_enter(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    size_t most = server->options.connections_per_address;
    connection->holder = http_peer_enter(&server->holders, server->alloc, &connection->address);
    if (connection->holder == NULL) {
        return HTTP_ENTRY_NOMEM;
    }
    if (fair_share(connection->holder).held > most && address_count(connection) > most) {
        struct http_connection *idle = longest_idle(connection);
        if (idle == NULL) {
            http_connection_leave(connection);
            return HTTP_ENTRY_FULL;
        }
        http_connection_close(idle);
    }
    return HTTP_ENTRY_DONE;
}

static void consider_connection(struct fair_choice *choice, struct http_connection *connection)
{
    fair_consider(choice, &(struct fair_candidate){.thing = connection,
                                                   .share = fair_share(connection->holder),
                                                   .rank = connection->phase == HTTP_PHASE_IDLE,
                                                   .age = uv_now(connection->server->options.loop) -
                                                          connection->idle_since_ms});
}

/*
 * Ends one connection where there is no place for a newcomer: of the sender that has most, in
 * whatever phase its connections are, first those that are idle and then the oldest. A phase that
 * nobody may be displaced from would be the one that an attacker chooses.
 */
static void server_make_room(struct http_server *server, const struct http_connection *newcomer)
{
    struct fair_choice choice = {.newcomer = fair_share(newcomer->holder)};
    struct http_connection *connection;
    if (server->connection_count - server->closing_count < server->options.connections) {
        return;
    }
    DL_FOREACH (server->connections, connection) {
        if (!connection->is_closing) {
            consider_connection(&choice, connection);
        }
    }
    if (choice.victim.thing != NULL) {
        http_connection_end(choice.victim.thing);
    }
}

static uint64_t answers_most(unsigned connections)
{
    uint64_t bytes = (uint64_t)connections * HTTP_ANSWER_BYTES;
    return bytes > HTTP_ANSWERS_LEAST ? bytes : HTTP_ANSWERS_LEAST;
}

void http_server_bound_answers(struct http_server *server, struct http_connection *last)
{
    uint64_t most = answers_most(server->options.connections);
    uint64_t held = server->answer_bytes;
    while (held > most) {
        struct fair_choice choice = {.newcomer = fair_share(last->holder)};
        struct http_connection *connection;
        held = 0;
        DL_FOREACH (server->connections, connection) {
            if (connection->exchange.answer_bytes > 0 && !connection->is_closing) {
                held += connection->exchange.answer_bytes;
                if (connection != last) {
                    consider_connection(&choice, connection);
                }
            }
        }
        if (held <= most) {
            return; /* the rest goes when the loop turns */
        }
        http_connection_end(choice.victim.thing != NULL ? choice.victim.thing : last);
    }
}

uint64_t http_memory_most(unsigned connections)
{
    uint64_t each = 2 * HTTP_SEND_BYTES + 2 * HTTP_RECEIVE_BYTES + /* of the kernel */
                    HTTP_POOL_BYTES + sizeof(struct http_connection) + HTTP_TARGET_BYTES +
                    (HTTP_STREAM_BYTES > HTTP_BODY_BYTES ? HTTP_STREAM_BYTES : HTTP_BODY_BYTES);
    return connections * each + answers_most(connections);
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
    if (is_welcome) {
        server_make_room(server, connection);
        return connection;
    }
    server->figures.refused++;
    http_connection_leave(connection);
    alloc_release(server->alloc, connection);
    return NULL;
}
