/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <sys/epoll.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "client/web/http_inner.h"

enum {
    HEAD_BYTES = 1024,
    STREAM_FIRST_BYTES = 512 /* of a stream's buffer */
};

const struct http_header http_common_headers[HTTP_COMMON_HEADERS] = {
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
     "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
     "require-trusted-types-for 'script'"},
    {"X-Content-Type-Options", "nosniff"},
    /* Requests say of no page which one they come from. An open page asks for its events again
     * where its phone has gone to, and its address may have the id of a message. */
    {"Referrer-Policy", "strict-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

/* Writes the head of the answer. Returns its length. */
static size_t head_write(char *out_head)
{
    time_t now = time(NULL);
    struct tm parts;
    char date[40];
    (void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
    size_t used = (size_t)snprintf(out_head, HEAD_BYTES, "HTTP/1.1 200 OK\r\nDate: %s\r\n", date);
    for (size_t i = 0; i < HTTP_COMMON_HEADERS; i++) {
        used += (size_t)snprintf(out_head + used, HEAD_BYTES - used, "%s: %s\r\n",
                                 http_common_headers[i].name, http_common_headers[i].value);
    }
    /* X-Accel-Buffering: nginx would collect events */
    used += (size_t)snprintf(out_head + used, HEAD_BYTES - used, "%s",
                             "Cache-Control: no-store\r\nContent-Type: text/event-stream\r\n"
                             "X-Accel-Buffering: no\r\nConnection: close\r\n\r\n");
    assert(used < HEAD_BYTES);
    return used;
}

/* Watches whether the client goes or sends, and whether it takes more where the kernel is full. */
static bool stream_watch(const struct http_stream *stream, int operation, int descriptor)
{
    struct http_connection *connection = stream->connection;
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = connection};
    event.events |= stream->is_full ? (uint32_t)EPOLLOUT : 0;
    return epoll_ctl(connection->server->hangups, operation, descriptor, &event) == 0;
}

/*
 * Puts a decoy in the place of the socket, for which the program has another descriptor. MHD
 * removes what it closes from its epoll set, and ends the program where that fails: so the decoy is
 * in the set if the socket was. Adding the decoy needs no more memory than the socket has freed.
 */
static bool socket_swap(const struct http_server *server, int descriptor)
{
    int epoll = server->daemon_events;
    struct epoll_event none = {.events = 0};
    int decoy = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (decoy < 0) {
        return false;
    }
    bool is_watched = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, NULL) == 0;
    bool is_swapped = dup3(decoy, descriptor, O_CLOEXEC) >= 0;
    bool is_right = !is_watched || epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &none) == 0;
    (void)close(decoy);
    return is_swapped && is_right;
}

void http_stream_take_over(struct http_stream *stream)
{
    struct http_connection *connection = stream->connection;
    struct http_exchange *exchange = &connection->exchange;
    char head[HEAD_BYTES];
    size_t bytes = head_write(head);
    int descriptor = fcntl(connection->descriptor, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) {
        return;
    }
    /* If the kernel cannot take the head, the client has not read its earlier answers. */
    if (send(descriptor, head, bytes, MSG_NOSIGNAL) != (ssize_t)bytes ||
        !stream_watch(stream, EPOLL_CTL_ADD, descriptor) ||
        !socket_swap(connection->server, connection->descriptor)) {
        (void)close(descriptor);
        return;
    }
    /* An event need not wait until the client has acknowledged the one before. Fails for what is
     * not TCP. */
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    connection->mhd = NULL;
    connection->is_ours = true;
    connection->server->ended_count++;
    connection->descriptor = descriptor;
    connection->phase = HTTP_PHASE_STREAMING;
    alloc_release(connection->server->alloc, exchange->target);
    exchange->target = NULL;
    if (exchange->request.method == HTTP_HEAD) {
        stream->is_ended = true;
        stream->count = 0;
    }
    http_stream_flush(stream);
}

/* No bytes wait: frees the buffer, which a quiet stream does not need. Closes a stream that has
 * ended. */
static void stream_rest(struct http_stream *stream)
{
    struct http_connection *connection = stream->connection;
    alloc_release(connection->server->alloc, stream->bytes);
    stream->bytes = NULL;
    stream->start = 0;
    stream->capacity = 0;
    connection->deadline_ms = HTTP_NO_DEADLINE;
    if (stream->is_ended) {
        http_connection_close(connection);
    }
}

/* Sends as many bytes as the kernel takes. Returns false if the client has gone. */
static bool stream_write(struct http_stream *stream)
{
    struct http_connection *connection = stream->connection;
    while (stream->count > 0) {
        ssize_t sent = send(connection->descriptor, stream->bytes + stream->start, stream->count,
                            MSG_NOSIGNAL);
        if (sent < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        if (!stream->is_ended) {
            http_connection_set_deadline(connection, HTTP_ANSWER_SECONDS);
        }
        stream->start += (size_t)sent;
        stream->count -= (size_t)sent;
    }
    return true;
}

void http_stream_flush(struct http_stream *stream)
{
    struct http_connection *connection = stream->connection;
    bool was_full = stream->is_full;
    if (!stream_write(stream)) {
        http_connection_close(connection);
        return;
    }
    stream->is_full = stream->count > 0;
    if (!stream->is_full) {
        stream_rest(stream);
    } else if (connection->deadline_ms == HTTP_NO_DEADLINE) {
        http_connection_set_deadline(connection, HTTP_ANSWER_SECONDS);
    }
    if (stream->is_full != was_full &&
        !stream_watch(stream, EPOLL_CTL_MOD, connection->descriptor)) {
        http_connection_close(connection); /* memory is out */
    }
}

void http_stream_free(struct http_stream *stream)
{
    const struct alloc *alloc = stream->connection->server->alloc;
    alloc_release(alloc, stream->bytes);
    alloc_release(alloc, stream);
}

struct http_stream *http_stream_begin(struct http_exchange *exchange, http_stream_closed *closed,
                                      void *context)
{
    assert(!exchange->is_answered);
    struct http_stream *stream =
        alloc_zeroed(exchange->connection->server->alloc, 1, sizeof(*stream));
    if (stream == NULL) {
        http_connection_close(exchange->connection);
    } else {
        *stream = (struct http_stream){
            .connection = exchange->connection, .closed = closed, .context = context};
    }
    exchange->stream = stream;
    exchange->is_answered = true;
    http_figures_note(&exchange->connection->server->figures, 200, 0);
    http_connection_resume(exchange->connection);
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
    stream->count += count;
    if (connection->is_ours && !stream->is_full) {
        http_stream_flush(stream);
    }
    return true;
}

void http_stream_abort(struct http_stream *stream)
{
    http_connection_abort(stream->connection);
}

void http_stream_end(struct http_stream *stream)
{
    stream->is_ended = true;
    if (!stream->connection->is_ours) {
        return; /* http_stream_take_over sends what waits */
    }
    if (stream->count == 0) {
        http_connection_close(stream->connection);
    } else {
        http_connection_set_deadline(stream->connection, HTTP_ANSWER_SECONDS);
    }
}
