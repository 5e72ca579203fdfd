/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/epoll.h>
#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <microhttpd.h>

#include "client/web/http_inner.h"
#include "daemon/system/list.h"

enum {
    SEND_BYTES = 32 * 1024,   /* what the kernel keeps for one client; it takes twice that */
    STREAM_FIRST_BYTES = 512, /* of a stream's buffer */
    STREAM_BLOCK_BYTES = 512, /* of MHD's own, where the client speaks HTTP/1.0 */
    REFUSAL_RETRY_SECONDS = 5
};

struct header {
    const char *name;
    const char *value;
};

/* Every answer has these. */
static const struct header common_headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
     "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
     "require-trusted-types-for 'script'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

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

static void connection_resume(struct http_connection *connection)
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

enum http_entry http_connection_enter(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    const struct http_address *address = &connection->address;
    const struct http_owner *others = http_owner_find(server->owners, address);
    size_t half = server->options.connections / 2 + server->options.connections % 2;
    if (others != NULL &&
        ((address->family == 6 && others->count >= half) ||
         address_count(server, address) >= server->options.connections_per_address)) {
        return HTTP_ENTRY_FULL;
    }
    connection->owner = http_owner_enter(&server->owners, server->alloc, address);
    return connection->owner == NULL ? HTTP_ENTRY_NOMEM : HTTP_ENTRY_DONE;
}

void http_connection_leave(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    http_owner_leave(&server->owners, server->alloc, connection->owner);
    connection->owner = NULL;
}

void http_connection_close(struct http_connection *connection)
{
    if (connection->is_closing) {
        return;
    }
    connection->is_closing = true;
    connection->server->closing_count++;
    http_connection_leave(connection);
    (void)shutdown(connection->descriptor, SHUT_RDWR); /* fails where the client has gone */
    connection_resume(connection);
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
    /* without these the kernel only keeps more for longer */
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
    connection->exchange.connection = connection;
    connection->idle_since_ms = uv_now(server->options.loop);
    http_connection_set_deadline(connection, HTTP_REQUEST_SECONDS);
    bool is_welcome = true;
    if (!listener->is_proxied) {
        is_welcome = http_peer_from_socket(address, &connection->address) &&
                     http_connection_enter(connection) == HTTP_ENTRY_DONE;
        http_peer_learn_local(descriptor, &connection->address);
    }
    if (is_welcome && http_server_make_room(server, connection)) {
        descriptor_set_up(descriptor);
        return connection;
    }
    http_connection_leave(connection);
    alloc_release(server->alloc, connection);
    return NULL;
}

/* Adds a header; a value of NULL adds none. False: memory is out, or the value has a line end. */
static bool response_add(struct MHD_Response *response, const char *name, const char *value)
{
    return value == NULL || MHD_add_response_header(response, name, value) == MHD_YES;
}

static bool response_add_common(struct MHD_Response *response)
{
    for (size_t i = 0; i < sizeof(common_headers) / sizeof(common_headers[0]); i++) {
        if (!response_add(response, common_headers[i].name, common_headers[i].value)) {
            return false;
        }
    }
    return true;
}

static bool response_add_own(struct MHD_Response *response, const struct http_answer *answer)
{
    char max_age[sizeof("max-age=4294967295")];
    char retry_after[sizeof("4294967295")];
    (void)snprintf(max_age, sizeof(max_age), "max-age=%lu", (unsigned long)answer->max_age_s);
    (void)snprintf(retry_after, sizeof(retry_after), "%lu", (unsigned long)answer->retry_after_s);
    return response_add(response, "Cache-Control", answer->max_age_s == 0 ? "no-store" : max_age) &&
           response_add(response, "Retry-After", answer->retry_after_s == 0 ? NULL : retry_after) &&
           response_add(response, "Content-Type", answer->type) &&
           response_add(response, "Content-Encoding", answer->encoding) &&
           response_add(response, "Vary", answer->encoding == NULL ? NULL : "Accept-Encoding") &&
           response_add(response, "Location", answer->location);
}

/* A response with a body and no headers. NULL: memory is out. */
static struct MHD_Response *response_with_body(const struct http_answer *answer)
{
    enum MHD_ResponseMemoryMode mode = answer->is_static  ? MHD_RESPMEM_PERSISTENT
                                       : answer->is_given ? MHD_RESPMEM_MUST_FREE
                                                          : MHD_RESPMEM_MUST_COPY;
    void *body = (void *)(uintptr_t)answer->body; /* MHD does not write to it, whatever the type */
    struct MHD_Response *response = NULL;
    if (answer->body_bytes == 0) {
        response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    } else {
        response = MHD_create_response_from_buffer(answer->body_bytes, body, mode);
    }
    if (answer->is_given && (response == NULL || answer->body_bytes == 0)) {
        free(body);
    }
    return response;
}

/* NULL: memory is out, or a header of the answer is not a header. */
static struct MHD_Response *response_new(const struct http_answer *answer)
{
    struct MHD_Response *response = response_with_body(answer);
    if (response == NULL) {
        return NULL;
    }
    if (!response_add_common(response) || !response_add_own(response, answer)) {
        MHD_destroy_response(response);
        return NULL;
    }
    return response;
}

/* Keeps an answer until MHD asks for it. NULL closes the connection. */
static void exchange_set_response(struct http_exchange *exchange, unsigned status,
                                  struct MHD_Response *response)
{
    exchange->is_answered = true;
    exchange->status = status;
    exchange->response = response;
    if (response == NULL) {
        http_connection_close(exchange->connection);
    }
    connection_resume(exchange->connection);
}

void http_answer(struct http_exchange *exchange, const struct http_answer *answer)
{
    assert(!exchange->is_answered);
    exchange_set_response(exchange, answer->status, response_new(answer));
}

void http_exchange_refuse(struct http_exchange *exchange, unsigned status, const char *sentence)
{
    struct http_answer answer = {
        .status = status,
        .type = "text/plain; charset=utf-8",
        .retry_after_s = status == MHD_HTTP_TOO_MANY_REQUESTS ? REFUSAL_RETRY_SECONDS : 0,
        .body = sentence,
        .body_bytes = strlen(sentence),
        .is_static = true, /* all sentences are literals */
    };
    struct MHD_Response *response = response_new(&answer);
    const char *allowed = status == MHD_HTTP_METHOD_NOT_ALLOWED ? "GET, HEAD, POST" : NULL;
    if (response != NULL && (!response_add(response, "Connection", "close") ||
                             !response_add(response, "Allow", allowed))) {
        MHD_destroy_response(response);
        response = NULL;
    }
    exchange_set_response(exchange, status, response);
}

bool http_exchange_queue(struct http_exchange *exchange)
{
    struct http_connection *connection = exchange->connection;
    if (exchange->response == NULL || connection->is_closing) {
        return false;
    }
    connection->phase = exchange->stream == NULL ? HTTP_PHASE_ANSWERING : HTTP_PHASE_STREAMING;
    http_connection_set_deadline(connection, HTTP_ANSWER_SECONDS);
    enum MHD_Result is_queued =
        MHD_queue_response(connection->mhd, exchange->status, exchange->response);
    MHD_destroy_response(exchange->response); /* MHD has counted its own use */
    exchange->response = NULL;
    return is_queued == MHD_YES;
}

void http_exchange_set_context(struct http_exchange *exchange, void *context)
{
    exchange->context = context;
}

void *http_exchange_context(const struct http_exchange *exchange)
{
    return exchange->context;
}

static void stream_free(struct http_stream *stream)
{
    const struct alloc *alloc = stream->connection->server->alloc;
    alloc_release(alloc, stream->bytes);
    alloc_release(alloc, stream);
}

/* Tells the program that a request or stream has ended without it. */
static void exchange_report_end(struct http_exchange *exchange)
{
    const struct http_options *options = &exchange->connection->server->options;
    struct http_stream *stream = exchange->stream;
    if (stream != NULL) {
        exchange->stream = NULL;
        stream->events->closed(stream->context);
        stream_free(stream);
    } else if (exchange->connection->phase == HTTP_PHASE_WAITING && !exchange->is_answered) {
        options->gone(options->context, exchange);
    }
}

void http_exchange_end(struct http_exchange *exchange)
{
    struct http_connection *connection = exchange->connection;
    const struct alloc *alloc = connection->server->alloc;
    exchange_report_end(exchange);
    if (exchange->response != NULL) {
        MHD_destroy_response(exchange->response);
    }
    alloc_release(alloc, exchange->target);
    alloc_release(alloc, exchange->body);
    *exchange = (struct http_exchange){.connection = connection};
}

/* Gives MHD up to `room` bytes of a stream. */
static ssize_t stream_read(void *context, uint64_t position, char *out, size_t room)
{
    (void)position;
    struct http_stream *stream = context;
    struct http_connection *connection = stream->connection;
    if (connection->is_closing) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (stream->count == 0) {
        connection->deadline_ms = HTTP_NO_DEADLINE;
        if (stream->is_ended) {
            http_connection_set_deadline(connection, HTTP_ANSWER_SECONDS);
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
        http_connection_suspend(connection);
        return 0;
    }

    size_t count = stream->count < room ? stream->count : room;
    memcpy(out, stream->bytes + stream->start, count);
    stream->start += count;
    stream->count -= count;
    if (stream->count == 0) { /* most streams wait most of the time: without a buffer */
        alloc_release(connection->server->alloc, stream->bytes);
        stream->bytes = NULL;
        stream->start = 0;
        stream->capacity = 0;
    }
    http_connection_set_deadline(connection, HTTP_ANSWER_SECONDS);
    return (ssize_t)count;
}

static struct MHD_Response *stream_response_new(struct http_stream *stream)
{
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, stream_read, stream, NULL);
    if (response == NULL) {
        return NULL;
    }
    if (!response_add_common(response) || !response_add(response, "Cache-Control", "no-store") ||
        !response_add(response, "Content-Type", "text/event-stream") ||
        !response_add(response, "X-Accel-Buffering", "no")) { /* nginx would collect events */
        MHD_destroy_response(response);
        return NULL;
    }
    return response;
}

struct http_stream *http_stream_begin(struct http_exchange *exchange,
                                      const struct http_stream_events *events, void *context)
{
    assert(!exchange->is_answered);
    const struct alloc *alloc = exchange->connection->server->alloc;
    struct http_stream *stream = alloc_zeroed(alloc, 1, sizeof(*stream));
    struct MHD_Response *response = NULL;
    if (stream != NULL) {
        *stream = (struct http_stream){
            .connection = exchange->connection, .events = events, .context = context};
        response = stream_response_new(stream);
    }
    if (response == NULL) {
        alloc_release(alloc, stream);
        stream = NULL;
    }
    exchange->stream = stream;
    exchange_set_response(exchange, MHD_HTTP_OK, response);
    return stream;
}

/* Makes room behind the bytes that wait. False: there are too many, or memory is out. */
static bool stream_reserve(struct http_stream *stream, size_t count)
{
    if (count > HTTP_STREAM_BYTES - stream->count) {
        return false;
    }
    if (stream->start > 0) {
        memmove(stream->bytes, stream->bytes + stream->start, stream->count);
        stream->start = 0;
    }
    size_t needed = stream->count + count;
    if (needed <= stream->capacity) {
        return true;
    }
    size_t capacity = STREAM_FIRST_BYTES;
    while (capacity < needed) {
        capacity *= 2;
    }
    char *bytes = alloc_resize(stream->connection->server->alloc, stream->bytes, capacity, 1);
    if (bytes == NULL) {
        return false;
    }
    stream->bytes = bytes;
    stream->capacity = capacity;
    return true;
}

bool http_stream_send(struct http_stream *stream, const void *bytes, size_t count)
{
    struct http_connection *connection = stream->connection;
    if (stream->is_ended || connection->is_closing || count == 0) {
        return count == 0;
    }
    if (!stream_reserve(stream, count)) {
        http_connection_abort(connection);
        return false;
    }
    memcpy(stream->bytes + stream->count, bytes, count);
    if (connection->is_suspended) {
        http_connection_set_deadline(connection, HTTP_ANSWER_SECONDS);
    }
    stream->count += count;
    connection_resume(connection);
    return true;
}

void http_stream_end(struct http_stream *stream)
{
    stream->is_ended = true;
    connection_resume(stream->connection);
}
