/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MHD has no listening socket: we accept, so that all listeners share the limits and a connection
 * is refused before MHD knows of it. MHD has an epoll descriptor, which the loop watches. MHD's own
 * timeout counts inactivity only and is off: `deadlines` closes whoever is late.
 */

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include <sys/epoll.h>

#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "client/web/http_inner.h"
#include "core/base/err.h"
#include "daemon/system/container.h"
#include "daemon/system/list.h"
#include "daemon/system/reason.h"

enum { ACCEPTS_A_TURN = 16, HANGUPS_A_TURN = 16, DEADLINES_PERIOD_MS = 1000 };

/* MHD 0.9.75 has the older of the two names. */
#if MHD_VERSION >= 0x00097701
#define STRICT_OPTION MHD_OPTION_CLIENT_DISCIPLINE_LVL
#else
#define STRICT_OPTION MHD_OPTION_STRICT_FOR_CLIENT
#endif

static void server_stop_now(struct http_server *server);

/* Frees a connection with which MHD has not begun. MHD has closed the descriptor. */
static void server_drop_waiting(struct http_server *server, struct http_connection *connection)
{
    DL_DELETE(server->connections, connection);
    server->connection_count--;
    http_connection_leave(connection);
    alloc_release(server->alloc, connection);
}

/* Frees the connections with which MHD could not begin when it ran. MHD says nothing about these.
 */
static void server_drop_failed(struct http_server *server)
{
    struct http_connection *connection = server->has_waiting ? server->connections : NULL;

    server->has_waiting = false;
    while (connection != NULL) {
        struct http_connection *next = connection->next;

        if (connection->mhd == NULL && !connection->is_ours) {
            server_drop_waiting(server, connection);
        }
        connection = next;
    }
}

/* Lets `deadlines` listen again after a pause, or give memory back. */
static void server_look_soon(struct http_server *server)
{
    http_server_watch_deadline(server, uv_now(server->options.loop) + DEADLINES_PERIOD_MS);
}

/* Lets MHD do all that it can do at once, and plans when it must run again. */
static void server_run(struct http_server *server)
{
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    (void)MHD_run(server->daemon); /* fails in modes that we do not use */
    server_drop_failed(server);
    http_server_reap(server);
    if (http_server_may_trim(server)) {
        server_look_soon(server);
    }
    if (!server->is_stopping && MHD_get_timeout(server->daemon, &wait_ms) == MHD_YES) {
        (void)uv_timer_start(&server->turn, server->on_turn, wait_ms, 0);
    }
}

static void on_turn(uv_timer_t *timer)
{
    struct http_server *server = timer->data;
    if (server->is_stopping) {
        server_stop_now(server);
    } else {
        server_run(server);
    }
}

static void on_daemon_event(uv_poll_t *poll, int status, int events)
{
    (void)status; /* MHD looks itself */
    (void)events;
    server_run(poll->data);
}

/* Clients have gone while their connections were suspended in MHD or had a stream; or they send
 * beside a stream, which nobody would read; or they take more of a stream. Nothing is freed before
 * MHD runs. */
static void on_hangups(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct http_server *server = poll->data;
    struct epoll_event hangups[HANGUPS_A_TURN];
    int count = epoll_wait(server->hangups, hangups, HANGUPS_A_TURN, 0);
    for (int i = 0; i < count; i++) {
        struct http_connection *connection = hangups[i].data.ptr;
        if (connection->is_ours && hangups[i].events == EPOLLOUT) {
            http_stream_flush(connection->exchange.stream);
        } else {
            http_connection_end(connection);
        }
    }
}

static void listeners_watch(struct http_server *server, bool is_watched);

/* Closes connections that are late, and listens again after a pause. */
static void on_deadlines(uv_timer_t *timer)
{
    struct http_server *server = timer->data;
    uint64_t now_ms = uv_now(server->options.loop);
    uint64_t next_ms = HTTP_NO_DEADLINE;
    struct http_connection *connection;
    server->deadline_ms = HTTP_NO_DEADLINE;
    DL_FOREACH (server->connections, connection) {
        if (connection->is_closing) {
            continue;
        }
        if (connection->deadline_ms <= now_ms) {
            http_connection_end(connection);
        } else if (connection->deadline_ms < next_ms) {
            next_ms = connection->deadline_ms;
        }
    }
    if (server->is_paused) {
        server->is_paused = false;
        listeners_watch(server, true);
    }
    http_server_trim(server);
    if (next_ms != HTTP_NO_DEADLINE) {
        uint64_t soonest_ms = now_ms + DEADLINES_PERIOD_MS;
        http_server_watch_deadline(server, next_ms > soonest_ms ? next_ms : soonest_ms);
    }
}

/* What MHD calls. */

static struct http_connection *connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info->socket_context;
}

/* The connection that was given to MHD with this descriptor, and with which MHD has not begun.
 * Looks at the last ones first, because new ones are among these. */
static struct http_connection *server_find_waiting(struct http_server *server, int descriptor)
{
    struct http_connection *connection = DL_LAST(server->connections);
    while (connection->mhd != NULL || connection->is_ours || connection->descriptor != descriptor) {
        assert(connection != server->connections);
        connection = connection->prev;
    }
    return connection;
}

/* MHD begins and ends with a connection: within MHD_add_connection, or from MHD 1.0 on within
 * MHD_run. */
static void on_connection(void *context, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        int descriptor =
            MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        struct http_connection *begun = server_find_waiting(server, descriptor);
        begun->mhd = mhd;
        server->adding = begun == server->adding ? NULL : server->adding;
        *socket_context = begun;
        return;
    }
    struct http_connection *connection = *socket_context;
    if (connection->mhd == mhd) { /* else it is ours now */
        http_connection_free(connection);
    }
}

/*
 * Takes the query away from MHD, which would keep each part of the query in the memory of the
 * connection, although nobody asks MHD for the parts. Where this memory ended, as with a hundred
 * ampersands, MHD 0.9 would wait for more of the request and never answer. The target stands in
 * MHD's buffer, which is not constant, and MHD itself cuts the target at the question mark when
 * this returns.
 */
static void target_drop_query(const char *target)
{
    char *question = strchr((char *)(uintptr_t)target, '?');

    if (question != NULL) {
        question[1] = '\0';
    }
}

/* The first line of a request is there. The first request's time began with the connection. */
static void *on_target(void *context, const char *target, struct MHD_Connection *mhd)
{
    (void)context;
    struct http_connection *connection = connection_of(mhd);
    if (connection->has_had_request) {
        http_connection_set_deadline(connection, HTTP_REQUEST_SECONDS);
    }
    connection->has_had_request = true;
    http_request_keep_target(connection, target);
    target_drop_query(target);
    return NULL;
}

static enum MHD_Result on_step(void *context, struct MHD_Connection *mhd, const char *url,
                               const char *method, const char *version, const char *bytes,
                               size_t *count, void **request_context)
{
    (void)context;
    (void)url; /* decoded by MHD; we use the target as it was sent */
    (void)request_context;
    size_t taken = *count;
    *count = 0;
    return http_request_step(connection_of(mhd), method, version, bytes, taken) ? MHD_YES : MHD_NO;
}

/* A request has ended, well or not. */
static void on_completed(void *context, struct MHD_Connection *mhd, void **request_context,
                         enum MHD_RequestTerminationCode code)
{
    (void)context;
    (void)request_context;
    (void)code;
    struct http_connection *connection = connection_of(mhd);
    if (connection->mhd != mhd) {
        return; /* it is ours now, and streams */
    }
    http_exchange_end(&connection->exchange);
    if (connection->is_proxied) {
        http_connection_leave(connection);
    }
    connection->phase = HTTP_PHASE_IDLE;
    connection->idle_since_ms = uv_now(connection->server->options.loop);
    http_connection_set_deadline(connection, HTTP_IDLE_SECONDS);
}

/* Accepting. */

/* Gives a connection to MHD. MHD closes the descriptor, also where it fails. */
static void server_add(struct http_server *server, struct http_connection *connection,
                       const struct sockaddr *address, socklen_t address_bytes)
{
    int descriptor = connection->descriptor;

    DL_APPEND(server->connections, connection);
    server->connection_count++;
    server->adding = connection;
    enum MHD_Result is_added =
        MHD_add_connection(server->daemon, descriptor, address, address_bytes);
    if (server->adding == NULL) {
        return; /* MHD has begun with the connection, and perhaps ended and freed it */
    }
    server->adding = NULL;
    if (is_added == MHD_YES) {
        server->has_waiting = true;
    } else {
        server_drop_waiting(server, connection);
    }
}

/* Accepts one connection. False: there is none, or the listeners must pause. */
static bool listener_accept(struct http_server_listener *listener)
{
    struct http_server *server = listener->server;
    struct sockaddr_storage address;
    socklen_t address_bytes = sizeof(address);
    memset(&address, 0, sizeof(address));
    int descriptor = accept4(listener->descriptor, (struct sockaddr *)&address, &address_bytes,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            server->is_paused = true;
            listeners_watch(server, false);
            server_look_soon(server);
        }
        return errno == EINTR || errno == ECONNABORTED;
    }
    struct http_connection *connection =
        http_connection_new(listener, descriptor, (const struct sockaddr *)&address);
    if (connection == NULL) {
        (void)close(descriptor);
        return true;
    }
    server_add(server, connection, (const struct sockaddr *)&address, address_bytes);
    return true;
}

static void on_clients(uv_poll_t *poll, int status, int events)
{
    (void)status; /* accept4 tells */
    (void)events;
    struct http_server_listener *listener = CONTAINER_OF(poll, struct http_server_listener, poll);
    for (int i = 0; i < ACCEPTS_A_TURN && listener_accept(listener); i++) {
    }
    server_run(listener->server);
}

static void listeners_watch(struct http_server *server, bool is_watched)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        uv_poll_t *poll = &server->listeners[i].poll;
        if (is_watched) {
            (void)uv_poll_start(poll, UV_READABLE, on_clients); /* fails for closed handles only */
        } else {
            (void)uv_poll_stop(poll);
        }
    }
}

/* Beginning and ending. */

/* Sets what accepted sockets inherit: how much the kernel keeps of one client, which it doubles,
 * and how long. Nobody reads what a client sends while it takes an answer. */
static void listener_set_up(const struct http_server_listener *listener)
{
    unsigned user_timeout_ms = HTTP_ANSWER_SECONDS * 1000;
    int send_bytes = HTTP_SEND_BYTES;
    int receive_bytes = HTTP_RECEIVE_BYTES;
    /* If a call fails, the kernel only buffers more bytes, and keeps them longer. */
    (void)setsockopt(listener->descriptor, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof(send_bytes));
    (void)setsockopt(listener->descriptor, SOL_SOCKET, SO_RCVBUF, &receive_bytes,
                     sizeof(receive_bytes));
    (void)setsockopt(listener->descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms,
                     sizeof(user_timeout_ms));
}

static int listener_begin(const struct http_server_listener *listener, char *out_reason)
{
    struct sockaddr_storage address;
    socklen_t bytes = sizeof(address);
    memset(&address, 0, sizeof(address));
    if (getsockname(listener->descriptor, (struct sockaddr *)&address, &bytes) != 0) {
        return reason_set(out_reason, "descriptor %d is not a socket: %s", listener->descriptor,
                          strerror(errno));
    }
    if (address.ss_family == AF_UNIX && !listener->is_proxied) {
        return reason_set(out_reason, "a Unix socket must be proxied: its clients have no address");
    }
    listener_set_up(listener);
    return 0;
}

static int server_start_daemon(struct http_server *server, char *out_reason)
{
    /* connections that we have closed are MHD's until it has run */
    unsigned limit = server->options.connections + ACCEPTS_A_TURN * HTTP_LISTENERS_MAX;
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, on_step,
        server, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, server, MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
        MHD_OPTION_CONNECTION_LIMIT, limit, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HTTP_POOL_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, 0U, STRICT_OPTION, 1,
        MHD_OPTION_END);
    if (server->daemon == NULL) {
        return reason_set(out_reason, "cannot start libmicrohttpd: %s", strerror(errno));
    }
    server->hangups = epoll_create1(EPOLL_CLOEXEC);
    if (server->hangups < 0) {
        return reason_set(out_reason, "cannot make an epoll descriptor: %s", strerror(errno));
    }
    return 0;
}

static void server_add_handle(struct http_server *server, uv_handle_t *handle)
{
    assert(server->handle_count < HTTP_HANDLES_MAX);
    handle->data = server;
    server->handles[server->handle_count++] = handle;
}

/* Adds a descriptor to the loop. */
static int server_add_poll(struct http_server *server, uv_poll_t *poll, int descriptor,
                           char *out_reason)
{
    int rc = uv_poll_init(server->options.loop, poll, descriptor);
    if (rc != 0) {
        return reason_set(out_reason, "cannot watch a descriptor: %s", uv_strerror(rc));
    }
    server_add_handle(server, (uv_handle_t *)poll);
    return 0;
}

static void server_add_timer(struct http_server *server, uv_timer_t *timer)
{
    (void)uv_timer_init(server->options.loop, timer); /* cannot fail */
    server_add_handle(server, (uv_handle_t *)timer);
}

static int server_add_handles(struct http_server *server, char *out_reason)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == NULL) {
        return reason_set(out_reason, "libmicrohttpd was built without epoll");
    }
    server->daemon_events = info->epoll_fd;
    int rc = server_add_poll(server, &server->daemon_poll, info->epoll_fd, out_reason);
    if (rc == 0) {
        rc = server_add_poll(server, &server->hangup_poll, server->hangups, out_reason);
    }
    for (size_t i = 0; rc == 0 && i < server->listener_count; i++) {
        struct http_server_listener *listener = &server->listeners[i];
        rc = server_add_poll(server, &listener->poll, listener->descriptor, out_reason);
    }
    server_add_timer(server, &server->turn);
    server_add_timer(server, &server->deadlines);
    return rc;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct http_server *server = handle->data;
    server->handle_count--;
    if (server->handle_count == 0 && server->is_dropped) {
        alloc_release(server->alloc, server);
    }
}

/* Ends MHD and all handles. MHD ends its connections. */
static void server_end(struct http_server *server)
{
    server->is_stopped = true;
    for (size_t i = 0; i < server->handle_count; i++) {
        uv_close(server->handles[i], on_handle_closed);
    }
    if (server->daemon != NULL) {
        MHD_stop_daemon(server->daemon);
    }
    if (server->hangups >= 0) {
        (void)close(server->hangups);
    }
}

static void server_stop_now(struct http_server *server)
{
    struct http_connection *connection;
    DL_FOREACH (server->connections, connection) {
        http_connection_close(connection);
    }
    (void)MHD_run(server->daemon); /* MHD wants no suspended connection when it ends */
    http_server_reap(server);
    server_end(server);
    for (size_t i = 0; i < server->listener_count; i++) {
        (void)close(server->listeners[i].descriptor);
    }
}

static int server_start(struct http_server *server, char *out_reason)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < server->listener_count; i++) {
        rc = listener_begin(&server->listeners[i], out_reason);
    }
    if (rc == 0) {
        rc = server_start_daemon(server, out_reason);
    }
    return rc == 0 ? server_add_handles(server, out_reason) : rc;
}

int http_server_new(const struct http_options *options, struct http_server **out_server,
                    char *out_reason)
{
    assert(options->listener_count > 0 && options->listener_count <= HTTP_LISTENERS_MAX);
    const struct alloc *alloc = alloc_system();
    struct http_server *server = alloc_zeroed(alloc, 1, sizeof(*server));
    if (server == NULL) {
        return -ERR_NOMEM;
    }
    server->alloc = alloc;
    server->options = *options;
    server->options.listeners = NULL; /* borrowed for the call only */
    server->on_turn = on_turn;
    server->on_deadlines = on_deadlines;
    server->deadline_ms = HTTP_NO_DEADLINE;
    server->hangups = -1;
    server->listener_count = options->listener_count;
    for (size_t i = 0; i < options->listener_count; i++) {
        server->listeners[i].server = server;
        server->listeners[i].descriptor = options->listeners[i].descriptor;
        server->listeners[i].is_proxied = options->listeners[i].is_proxied;
        server->listeners[i].is_metrics = options->listeners[i].is_metrics;
        server->listeners[i].by_address = options->listeners[i].by_address;
    }

    int rc = server_start(server, out_reason);
    if (rc != 0) {
        server->is_dropped = true;
        server_end(server);
        if (server->handle_count == 0) {
            alloc_release(alloc, server);
        }
        return rc;
    }
    (void)uv_poll_start(&server->daemon_poll, UV_READABLE, on_daemon_event); /* the handles are */
    (void)uv_poll_start(&server->hangup_poll, UV_READABLE, on_hangups);      /* open: no failure */
    listeners_watch(server, true);
    *out_server = server;
    return 0;
}

void http_server_stop(struct http_server *server)
{
    if (!server->is_stopping) {
        server->is_stopping = true;
        listeners_watch(server, false);
        http_server_want_turn(server);
    }
}

void http_server_free(struct http_server *server)
{
    if (server != NULL) {
        assert(server->is_stopped && server->handle_count == 0);
        alloc_release(server->alloc, server);
    }
}
