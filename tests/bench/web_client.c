/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/web_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/stats.h"

enum { EVENTS_MAX = 256, READ_BYTES = 16 * 1024 };

struct connection {
    int descriptor; /* -1: closed */
    bool is_connecting;
    bool is_busy;
    bool is_stream;
    bool has_failed; /* on_answer is due */
    bool has_head;
    bool ends; /* the answer says `Connection: close` */
    int status;
    uint32_t retry_after_s;
    size_t body_bytes; /* by Content-Length; SIZE_MAX: until the connection ends */
    char *out;
    size_t out_bytes;
    size_t out_sent;
    char *in; /* the head; then the body, or the stream's line that is not whole yet */
    size_t in_bytes;
    size_t in_room;
};

struct web_client {
    int epoll;
    int timer;
    struct sockaddr_in server;
    const struct web_events *events;
    void *context;
    struct connection *all;
    size_t count;
    size_t failed; /* connections with has_failed */
};

/* --- connections ------------------------------------------------------------------------------ */

static void connection_reset(struct connection *connection)
{
    connection->is_busy = false;
    connection->has_head = false;
    connection->in_bytes = 0;
    connection->out_bytes = 0;
    connection->out_sent = 0;
}

void web_close(struct web_client *client, size_t number)
{
    struct connection *connection = &client->all[number];

    if (connection->descriptor >= 0) {
        (void)close(connection->descriptor);
    }
    client->failed -= connection->has_failed ? 1 : 0;
    connection->has_failed = false;
    connection->descriptor = -1;
    connection->is_connecting = false;
    free(connection->in);
    connection->in = NULL;
    connection->in_room = 0;
    connection_reset(connection);
}

static void fail_later(struct web_client *client, struct connection *connection)
{
    client->failed += connection->has_failed ? 0 : 1;
    connection->has_failed = true;
}

static void connection_open(struct web_client *client, size_t number, uint32_t source)
{
    struct connection *connection = &client->all[number];
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(source)};
    const int one = 1;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u64 = number};

    connection->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connection->descriptor < 0) {
        fail_later(client, connection);
        return;
    }
    (void)setsockopt(connection->descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(connection->descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one,
                     sizeof(one));
    if (bind(connection->descriptor, (const struct sockaddr *)&from, sizeof(from)) != 0 ||
        (connect(connection->descriptor, (const struct sockaddr *)&client->server,
                 sizeof(client->server)) != 0 &&
         errno != EINPROGRESS) ||
        epoll_ctl(client->epoll, EPOLL_CTL_ADD, connection->descriptor, &event) != 0) {
        fail_later(client, connection);
        return;
    }
    connection->is_connecting = true;
}

/* Sends what the socket takes of a request. */
static void connection_flush(struct web_client *client, struct connection *connection)
{
    while (connection->out_sent < connection->out_bytes) {
        const ssize_t sent = send(connection->descriptor, connection->out + connection->out_sent,
                                  connection->out_bytes - connection->out_sent, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno != EAGAIN) {
                fail_later(client, connection);
            }
            return;
        }
        connection->out_sent += (size_t)sent;
    }
}

void web_send(struct web_client *client, size_t number, const struct web_request *request)
{
    struct connection *connection = &client->all[number];
    char *copy = realloc(connection->out, request->bytes);

    connection_reset(connection);
    connection->is_busy = true;
    connection->is_stream = request->is_stream;
    if (copy == NULL) {
        fail_later(client, connection);
        return;
    }
    memcpy(copy, request->text, request->bytes);
    connection->out = copy;
    connection->out_bytes = request->bytes;
    if (connection->descriptor < 0) {
        connection_open(client, number, request->source);
    } else if (!connection->is_connecting) {
        connection_flush(client, connection);
    }
}

bool web_is_busy(const struct web_client *client, size_t number)
{
    return client->all[number].is_busy;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Ends the request of a connection and tells the callback. */
static void answer(struct web_client *client, size_t number, int status, bool ends)
{
    struct connection *connection = &client->all[number];
    struct web_answer whole = {.status = status, .body = "", .has_ended = ends};

    if (status != 0) {
        whole.retry_after_s = connection->retry_after_s;
    }
    char *body = NULL;

    if (status != 0 && connection->in != NULL && !connection->is_stream) {
        body = connection->in; /* the callback may send the next request on this connection */
        connection->in = NULL;
        connection->in_room = 0;
        whole.body = body;
        whole.bytes = connection->in_bytes;
    }
    if (ends) {
        web_close(client, number);
    } else {
        connection_reset(connection);
    }
    client->events->on_answer(client->context, number, &whole);
    free(body);
}

/* The value of a header; NULL: there is none. The head ends with an empty line. */
static const char *header_find(const char *head, const char *name)
{
    const size_t length = strlen(name);

    for (const char *line = strchr(head, '\n'); line != NULL && line[1] != '\r';
         line = strchr(line + 1, '\n')) {
        if (strncasecmp(line + 1, name, length) == 0 && line[1 + length] == ':') {
            const char *value = line + 2 + length;
            return value + strspn(value, " ");
        }
    }
    return NULL;
}

/* Reads the head once it is whole, and removes it. False: more bytes are needed. */
static bool take_head(struct connection *connection)
{
    char *end = strstr(connection->in, "\r\n\r\n");

    if (end == NULL) {
        return false;
    }
    end[2] = '\0'; /* the head's last line keeps its end */
    const char *length = header_find(connection->in, "Content-Length");
    const char *closing = header_find(connection->in, "Connection");
    const char *retry = header_find(connection->in, "Retry-After");
    connection->status = connection->in_bytes > 12 ? atoi(connection->in + 9) : 0;
    connection->body_bytes = length == NULL ? SIZE_MAX : strtoul(length, NULL, 10);
    connection->retry_after_s = retry == NULL ? 0 : (uint32_t)strtoul(retry, NULL, 10);
    connection->ends = closing != NULL && strncasecmp(closing, "close", 5) == 0;
    const size_t head_bytes = (size_t)(end + 4 - connection->in);
    connection->in_bytes -= head_bytes;
    memmove(connection->in, connection->in + head_bytes, connection->in_bytes + 1);
    connection->has_head = true;
    if (connection->status != 200) {
        connection->is_stream = false; /* a refusal is a page */
    }
    return true;
}

/* Gives the whole lines of a stream to the callback. */
static void take_lines(struct web_client *client, size_t number)
{
    struct connection *connection = &client->all[number];
    char *line = connection->in;
    char *end;

    while ((end = strchr(line, '\n')) != NULL) {
        *end = '\0';
        if (end > line && end[-1] == '\r') {
            end[-1] = '\0';
        }
        client->events->on_line(client->context, number, line);
        if (connection->in == NULL) {
            return; /* the callback closed the connection */
        }
        line = end + 1;
    }
    connection->in_bytes -= (size_t)(line - connection->in);
    memmove(connection->in, line, connection->in_bytes + 1);
}

/* Makes room for READ_BYTES more. */
static bool make_room(struct connection *connection)
{
    if (connection->in_room - connection->in_bytes > READ_BYTES && connection->in != NULL) {
        return true;
    }
    const size_t room = connection->in_bytes + 2 * READ_BYTES;
    char *larger = room > WEB_BODY_MAX ? NULL : realloc(connection->in, room);
    if (larger == NULL) {
        return false;
    }
    connection->in = larger;
    connection->in_room = room;
    return true;
}

/* Gives the memory of an idle stream back: 5,000 streams would hold 160 MB. */
static void shrink(struct connection *connection)
{
    if (connection->is_stream && connection->in != NULL && connection->in_bytes == 0) {
        free(connection->in);
        connection->in = NULL;
        connection->in_room = 0;
    }
}

/* True: the request has ended. */
static bool take(struct web_client *client, size_t number)
{
    struct connection *connection = &client->all[number];

    if (!connection->has_head && !take_head(connection)) {
        return false;
    }
    if (connection->is_stream) {
        take_lines(client, number);
        return !connection->is_busy;
    }
    if (connection->in_bytes < connection->body_bytes) {
        return false;
    }
    answer(client, number, connection->status, connection->ends);
    return true;
}

static void receive(struct web_client *client, size_t number)
{
    struct connection *connection = &client->all[number];

    while (connection->descriptor >= 0) {
        if (!make_room(connection)) {
            answer(client, number, 0, true);
            return;
        }
        const ssize_t count =
            recv(connection->descriptor, connection->in + connection->in_bytes, READ_BYTES, 0);
        if (count < 0 && errno == EAGAIN) {
            shrink(connection);
            return;
        }
        if (count <= 0) {
            const bool is_whole = count == 0 && connection->has_head && !connection->is_stream &&
                                  connection->body_bytes == SIZE_MAX;
            if (connection->is_busy) {
                answer(client, number, is_whole ? connection->status : 0, true);
            } else {
                web_close(client, number); /* the server does not keep idle connections for ever */
            }
            return;
        }
        connection->in_bytes += (size_t)count;
        connection->in[connection->in_bytes] = '\0';
        if (!connection->is_busy) {
            answer(client, number, 0, true); /* bytes that nobody asked for */
            return;
        }
        (void)take(client, number);
    }
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void report_failures(struct web_client *client)
{
    for (size_t i = 0; client->failed > 0 && i < client->count; i++) {
        if (client->all[i].has_failed) {
            answer(client, i, 0, true);
        }
    }
}

static void act(struct web_client *client, const struct epoll_event *event)
{
    const size_t number = (size_t)event->data.u64;
    struct connection *connection = &client->all[number];

    if (connection->descriptor < 0) {
        return; /* an earlier event of this turn closed it */
    }
    if ((event->events & EPOLLOUT) != 0) {
        connection->is_connecting = false;
        connection_flush(client, connection);
    }
    if ((event->events & ~(uint32_t)EPOLLOUT) != 0 && !connection->has_failed) {
        receive(client, number);
    }
}

void web_wait(struct web_client *client, int64_t until_ns)
{
    const struct itimerspec alarm = {.it_value = {.tv_sec = (time_t)(until_ns / 1000000000),
                                                  .tv_nsec = (long)(until_ns % 1000000000 + 1)}};
    struct epoll_event events[EVENTS_MAX];
    uint64_t expired;

    report_failures(client);
    (void)timerfd_settime(client->timer, TFD_TIMER_ABSTIME, &alarm, NULL);
    const int count = epoll_wait(client->epoll, events, EVENTS_MAX, -1);
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 == UINT64_MAX) {
            (void)!read(client->timer, &expired, sizeof(expired)); /* only to quieten it */
        } else {
            act(client, &events[i]);
        }
    }
    report_failures(client);
}

/* --- begin and end ---------------------------------------------------------------------------- */

struct web_client *web_client_new(uint16_t port, size_t count, const struct web_events *events,
                                  void *context)
{
    struct web_client *client = calloc(1, sizeof(*client));
    struct epoll_event alarm = {.events = EPOLLIN, .data.u64 = UINT64_MAX};

    if (client == NULL || (client->all = calloc(count, sizeof(*client->all))) == NULL) {
        free(client);
        (void)bench_fail("memory is short");
        return NULL;
    }
    client->count = count;
    for (size_t i = 0; i < count; i++) {
        client->all[i].descriptor = -1;
    }
    client->server = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    client->events = events;
    client->context = context;
    client->epoll = epoll_create1(EPOLL_CLOEXEC);
    client->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (client->epoll < 0 || client->timer < 0 ||
        epoll_ctl(client->epoll, EPOLL_CTL_ADD, client->timer, &alarm) != 0) {
        (void)bench_fail("epoll: %s", strerror(errno));
        web_client_free(client);
        return NULL;
    }
    return client;
}

void web_client_use_port(struct web_client *client, uint16_t port)
{
    client->server.sin_port = htons(port);
}

void web_client_free(struct web_client *client)
{
    if (client == NULL) {
        return;
    }
    for (size_t i = 0; i < client->count; i++) {
        web_close(client, i);
        free(client->all[i].out);
    }
    free(client->all);
    (void)close(client->epoll);
    (void)close(client->timer);
    free(client);
}
