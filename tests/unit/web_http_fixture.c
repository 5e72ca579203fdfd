/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/web_http_fixture.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "client/web/http_inner.h"
#include "daemon/system/reason.h"

enum { PATIENCE_S = 60, BACKLOG = 1024 };

static uint64_t passed_ms;
static const struct alloc *server_alloc;
static struct http_server *timed_server; /* NULL: none runs */
static size_t send_room = SIZE_MAX;      /* bytes that sockets take */

uint64_t __real_uv_now(const uv_loop_t *loop);
uint64_t __wrap_uv_now(const uv_loop_t *loop);
const struct alloc *__real_alloc_system(void);
const struct alloc *__wrap_alloc_system(void);
ssize_t __real_send(int descriptor, const void *bytes, size_t count, int flags);
ssize_t __wrap_send(int descriptor, const void *bytes, size_t count, int flags);

uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
    return __real_uv_now(loop) + passed_ms;
}

const struct alloc *__wrap_alloc_system(void)
{
    return server_alloc != NULL ? server_alloc : __real_alloc_system();
}

ssize_t __wrap_send(int descriptor, const void *bytes, size_t count, int flags)
{
    if (send_room == 0) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t sent = __real_send(descriptor, bytes, count < send_room ? count : send_room, flags);
    if (send_room != SIZE_MAX && sent > 0) {
        send_room -= (size_t)sent;
    }
    return sent;
}

void web_http_let_send(size_t most)
{
    send_room = most;
}

void web_http_pass(unsigned ms)
{
    passed_ms += ms;
    /* the loop's own time did not go on */
    uv_timer_t *timer = timed_server == NULL ? NULL : &timed_server->deadlines;
    if (timer != NULL && uv_is_active((const uv_handle_t *)timer)) {
        uint64_t now_ms = uv_now(timer->loop);
        uint64_t due_ms = timed_server->deadline_ms;
        (void)uv_timer_start(timer, timer->timer_cb, due_ms > now_ms ? due_ms - now_ms : 0, 0);
    }
}

static void request_answer(struct web_http *web, struct http_exchange *exchange,
                           const struct http_request *request)
{
    static const char *const methods[] = {"GET", "HEAD", "POST"};
    char text[HTTP_BODY_BYTES + 2048];
    int length = snprintf(text, sizeof(text), "%s path=%s query=%s host=%s body=%s",
                          methods[request->method], request->path, request->query, request->host,
                          request->body);
    assert_true(length > 0 && (size_t)length < sizeof(text));
    const struct http_answer answer = {
        .status = 200,
        .type = "text/html; charset=utf-8",
        .body = web->body != NULL ? web->body : text,
        .body_bytes = web->body != NULL ? web->body_bytes : (size_t)length,
    };
    http_answer(exchange, &answer);
}

static void on_closed(void *context)
{
    struct web_http *web = context;
    web->closed_count++;
    web->stream = NULL;
}

static void on_request(void *context, struct http_exchange *exchange,
                       const struct http_request *request)
{
    struct web_http *web = context;
    web->request_count++;
    web->client = request->client;
    assert_int_equal(strlen(request->body), request->body_bytes);
    switch (web->manner) {
    case WEB_HTTP_NOW:
        request_answer(web, exchange, request);
        break;
    case WEB_HTTP_LATER:
        http_exchange_set_context(exchange, web);
        web->waiting = exchange;
        break;
    case WEB_HTTP_STREAM:
        web->stream = http_stream_begin(exchange, on_closed, web);
        break;
    }
}

static void on_gone(void *context, struct http_exchange *exchange)
{
    struct web_http *web = context;
    assert_ptr_equal(http_exchange_context(exchange), web);
    web->gone_count++;
    web->waiting = NULL;
}

static int listen_inet(struct web_http *web)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(address);
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_true(descriptor >= 0);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(descriptor, (struct sockaddr *)&address, &bytes), 0);
    web->port = ntohs(address.sin_port);
    return descriptor;
}

static int listen_inet6(struct web_http *web)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    socklen_t bytes = sizeof(address);
    int descriptor = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (descriptor < 0 || bind(descriptor, (struct sockaddr *)&address, sizeof(address)) != 0) {
        if (descriptor >= 0) {
            (void)close(descriptor);
        }
        return -1;
    }
    assert_int_equal(getsockname(descriptor, (struct sockaddr *)&address, &bytes), 0);
    web->port = ntohs(address.sin6_port);
    return descriptor;
}

static int listen_unix(struct web_http *web)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/web-http-XXXXXX";
    assert_non_null(mkdtemp(folder));
    (void)snprintf(web->path, sizeof(web->path), "%s/s", folder);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", web->path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_true(descriptor >= 0);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
    return descriptor;
}

void web_http_start(struct web_http *web, const struct web_http_setup *setup)
{
    const struct web_http_setup usual = {.connections = 64};
    const struct web_http_setup *wanted = setup == NULL ? &usual : setup;
    char reason[REASON_BYTES] = "";
    memset(web, 0, sizeof(*web));
    (void)alarm(PATIENCE_S);
    assert_int_equal(uv_loop_init(&web->loop), 0);
    fail_alloc_init(&web->alloc);
    server_alloc = &web->alloc.alloc;
    send_room = SIZE_MAX;
    int descriptor = wanted->family == AF_INET6  ? listen_inet6(web)
                     : wanted->family == AF_UNIX ? listen_unix(web)
                                                 : listen_inet(web);
    if (descriptor < 0) { /* a machine without IPv6 */
        (void)uv_loop_close(&web->loop);
        skip();
    }
    assert_int_equal(listen(descriptor, BACKLOG), 0);
    const struct http_listener listener = {.descriptor = descriptor,
                                           .is_proxied = wanted->is_proxied};
    const struct http_options options = {
        .loop = &web->loop,
        .listeners = &listener,
        .listener_count = 1,
        .connections = wanted->connections,
        .connections_per_address = wanted->connections_per_address == 0
                                       ? wanted->connections
                                       : wanted->connections_per_address,
        .request = on_request,
        .gone = on_gone,
        .context = web,
    };
    int rc = http_server_new(&options, &web->server, reason);
    if (rc != 0) {
        fail_msg("http_server_new: %d, %s", rc, reason);
    }
    timed_server = web->server;
}

void web_http_stop(struct web_http *web)
{
    timed_server = NULL;
    http_server_stop(web->server);
    assert_int_equal(uv_run(&web->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(http_server_connections(web->server), 0);
    http_server_free(web->server);
    assert_int_equal(web->alloc.live_blocks, 0);
    assert_int_equal(uv_loop_close(&web->loop), 0);
    server_alloc = NULL;
    if (web->path[0] != '\0') {
        (void)unlink(web->path);
        *strrchr(web->path, '/') = '\0';
        (void)rmdir(web->path);
    }
}

void web_http_finish(struct web_http *web)
{
    while (web->client_count > 0) {
        web_http_close(web, web->clients[0]);
    }
    web_http_await_connections(web, 0);
    web_http_stop(web);
}

int web_http_set_up(void **state)
{
    static struct web_http web;
    web_http_start(&web, NULL);
    *state = &web;
    return 0;
}

int web_http_tear_down(void **state)
{
    web_http_finish(*state);
    return 0;
}

/* Waits for the server or, where `client` is not negative, for `events` of the client; then lets
 * the server run. */
static void web_turn(struct web_http *web, int client, short events)
{
    struct pollfd polled[] = {
        {.fd = uv_backend_fd(&web->loop), .events = POLLIN},
        {.fd = client, .events = events},
    };
    uv_update_time(&web->loop);
    (void)poll(polled, 2, uv_backend_timeout(&web->loop));
    (void)uv_run(&web->loop, UV_RUN_NOWAIT);
}

void web_http_settle(struct web_http *web)
{
    for (int i = 0; i < 8; i++) {
        (void)uv_run(&web->loop, UV_RUN_NOWAIT);
    }
}

void web_http_await(struct web_http *web, const size_t *counter, size_t count)
{
    while (*counter < count) {
        web_turn(web, -1, 0);
    }
    assert_int_equal(*counter, count);
}

void web_http_await_connections(struct web_http *web, size_t count)
{
    while (http_server_connections(web->server) != count) {
        web_turn(web, -1, 0);
    }
}

int web_http_connect(struct web_http *web, unsigned last)
{
    struct sockaddr_storage address;
    socklen_t bytes = 0;
    memset(&address, 0, sizeof(address));
    if (web->path[0] != '\0') {
        struct sockaddr_un *to = (struct sockaddr_un *)&address;
        to->sun_family = AF_UNIX;
        (void)snprintf(to->sun_path, sizeof(to->sun_path), "%s", web->path);
        bytes = sizeof(*to);
    } else if (last == WEB_HTTP_IPV6) {
        struct sockaddr_in6 *to = (struct sockaddr_in6 *)&address;
        to->sin6_family = AF_INET6;
        to->sin6_addr = in6addr_loopback;
        to->sin6_port = htons(web->port);
        bytes = sizeof(*to);
    } else {
        struct sockaddr_in *to = (struct sockaddr_in *)&address;
        to->sin_family = AF_INET;
        to->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to->sin_port = htons(web->port);
        bytes = sizeof(*to);
    }
    int client = socket(address.ss_family, SOCK_STREAM, 0);
    assert_true(client >= 0);
    if (address.ss_family == AF_INET && last != 0) {
        struct sockaddr_in from = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(0x7f000000 + last)};
        assert_int_equal(bind(client, (struct sockaddr *)&from, sizeof(from)), 0);
    }
    assert_int_equal(connect(client, (struct sockaddr *)&address, bytes), 0);
    assert_true(web->client_count < WEB_HTTP_CLIENTS);
    web->clients[web->client_count++] = client;
    return client;
}

void web_http_close(struct web_http *web, int client)
{
    size_t i = 0;
    while (i < web->client_count && web->clients[i] != client) {
        i++;
    }
    assert_true(i < web->client_count);
    web->clients[i] = web->clients[--web->client_count];
    (void)close(client);
}

int web_http_ask(struct web_http *web, unsigned last)
{
    int client = web_http_connect(web, last);
    (void)web_http_say(web, client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    return client;
}

int web_http_ask_later(struct web_http *web)
{
    web->manner = WEB_HTTP_LATER;
    int client = web_http_ask(web, 0);
    web_http_await(web, &web->request_count, 1);
    return client;
}

int web_http_begin_stream(struct web_http *web)
{
    web->manner = WEB_HTTP_STREAM;
    int client = web_http_ask(web, 0);
    (void)web_http_read(web, client, "\r\n\r\n");
    return client;
}

bool web_http_send(struct web_http *web, int client, const void *bytes, size_t count)
{
    const char *next = bytes;
    while (count > 0) {
        ssize_t sent = send(client, next, count, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            next += sent;
            count -= (size_t)sent;
        } else if (errno != EAGAIN) {
            return false;
        } else {
            web_turn(web, client, POLLOUT);
        }
    }
    return true;
}

bool web_http_say(struct web_http *web, int client, const char *text)
{
    return web_http_send(web, client, text, strlen(text));
}

static char text_read[WEB_HTTP_TEXT_BYTES];
static size_t text_count;

/* Reads what is there. False: the connection has ended. */
static bool text_read_more(struct web_http *web, int client)
{
    for (;;) {
        size_t room = sizeof(text_read) - 1 - text_count;
        assert_true(room > 0);
        ssize_t count = recv(client, text_read + text_count, room, MSG_DONTWAIT);
        if (count > 0) {
            text_count += (size_t)count;
            text_read[text_count] = '\0';
            return true;
        }
        if (count == 0 || errno != EAGAIN) {
            return false;
        }
        web_turn(web, client, POLLIN);
    }
}

const char *web_http_read(struct web_http *web, int client, const char *end)
{
    text_count = 0;
    text_read[0] = '\0';
    while (end == NULL || strstr(text_read, end) == NULL) {
        if (!text_read_more(web, client)) {
            break;
        }
    }
    return text_read;
}

const char *web_http_read_answer(struct web_http *web, int client, bool is_head)
{
    const char *length = NULL;
    const char *body = NULL;
    (void)web_http_read(web, client, "\r\n\r\n");
    body = strstr(text_read, "\r\n\r\n");
    length = strstr(text_read, "Content-Length: ");
    if (body == NULL || length == NULL || is_head) {
        return text_read;
    }
    size_t whole = (size_t)(body + 4 - text_read) + strtoul(length + 16, NULL, 10);
    while (text_count < whole && text_read_more(web, client)) {
    }
    return text_read;
}

const char *web_http_exchange(struct web_http *web, const void *bytes, size_t count)
{
    int client = web_http_connect(web, 0);
    (void)web_http_send(web, client, bytes, count); /* the server may close before it has all */
    const char *text = web_http_read(web, client, NULL);
    web_http_close(web, client);
    return text;
}

void web_http_assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in:\n%s", part, text);
    }
}
