/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that do as they should not: each ends in a clear status or a close, and the server's
 * memory and connections stay bounded. */
#include "client/web/http_inner.h"

#include <unistd.h>

#include <sys/resource.h>
#include <sys/socket.h>

#include "core/base/err.h"
#include "daemon/system/reason.h"
#include "tests/unit/web_http_fixture.h"

/* Whoever sends too slowly is closed, whether bytes come or not. */
WEB_HTTP_TEST(test_slow_request)
{
    static const char *const begins[] = {
        "",
        "GET /",
        "GET / HTTP/1.1\r\nHost: h\r\nX: ",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        int client = web_http_connect(web, 0);
        web_http_await_connections(web, 1);
        (void)web_http_say(web, client, begins[i]);
        for (int second = 1; second < HTTP_REQUEST_SECONDS && begins[i][0] != '\0'; second++) {
            assert_true(web_http_say(web, client, "x"));
            web_http_pass(1000);
            (void)uv_run(&web->loop, UV_RUN_NOWAIT);
            assert_int_equal(http_server_connections(web->server), 1);
        }
        web_http_pass(begins[i][0] == '\0' ? HTTP_REQUEST_SECONDS * 1000 : 1000);
        assert_string_equal(web_http_read(web, client, NULL), "");
        web_http_await_connections(web, 0);
        web_http_close(web, client);
    }
    assert_int_equal(web->request_count, 0);
}

/* Between two requests there are HTTP_IDLE_SECONDS, and the second has its own time. */
WEB_HTTP_TEST(test_slow_second)
{
    int client = web_http_ask(web, 0);
    web_http_assert_has(web_http_read_answer(web, client, false), " 200 ");
    web_http_settle(web);
    web_http_pass(14000);
    (void)web_http_say(web, client, "GET / HTTP/1.1\r\n");
    web_http_settle(web);
    web_http_pass(9000);
    (void)web_http_say(web, client, "Host: h\r\n\r\n");
    web_http_assert_has(web_http_read_answer(web, client, false), " 200 ");
    web_http_settle(web);
    web_http_pass(15000);
    assert_string_equal(web_http_read(web, client, NULL), "");
}

/* Lets the client's kernel keep few bytes, so that the server waits for the client to read. */
static void take_little(int client)
{
    int bytes = 4096;
    assert_int_equal(setsockopt(client, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)), 0);
}

/* A client that does not take its answer is closed after HTTP_ANSWER_SECONDS. */
WEB_HTTP_TEST(test_slow_reader)
{
    enum { BODY_BYTES = HTTP_ANSWERS_LEAST };
    web->body = calloc(BODY_BYTES, 1);
    web->body_bytes = BODY_BYTES;
    assert_non_null(web->body);
    int client = web_http_connect(web, 0);
    take_little(client);
    (void)web_http_say(web, client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    web_http_await(web, &web->request_count, 1);
    web_http_settle(web);
    web_http_pass((HTTP_ANSWER_SECONDS - 1) * 1000);
    web_http_settle(web);
    assert_int_equal(http_server_connections(web->server), 1);
    web_http_pass(1000);
    web_http_await_connections(web, 0);
    web_http_close(web, client);
    free((void *)(uintptr_t)web->body);
}

/* A stream whose client does not read is closed before much waits for it. */
WEB_HTTP_TEST(test_stream_not_read)
{
    static char event[1000];
    size_t sent = 0;
    memset(event, 'e', sizeof(event));
    web->manner = WEB_HTTP_STREAM;
    (void)web_http_ask(web, 0);
    web_http_await(web, &web->request_count, 1);
    while (http_stream_send(web->stream, event, sizeof(event))) {
        (void)uv_run(&web->loop, UV_RUN_NOWAIT);
        assert_true(web->alloc.live_bytes < 3 * HTTP_STREAM_BYTES);
        assert_true(++sent < 64 * 1024);
    }
    web_http_await(web, &web->closed_count, 1);
    web_http_await_connections(web, 0);
}

/* The same where few bytes wait, but for long. */
TEST(test_stream_stuck)
{
    static char event[1000];
    const struct web_http_setup setup = {.family = AF_UNIX, .is_proxied = true, .connections = 8};
    struct web_http web;
    size_t live = 0;
    web_http_start(&web, &setup); /* the kernel takes no more late, as TCP does */
    web.manner = WEB_HTTP_STREAM;
    int client = web_http_connect(&web, 0);
    (void)web_http_say(&web, client,
                       "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n");
    (void)web_http_read(&web, client, "\r\n\r\n");
    memset(event, 'e', sizeof(event));
    live = web.alloc.live_bytes;
    while (web.alloc.live_bytes < live + HTTP_STREAM_BYTES) { /* over half of this waits */
        assert_true(http_stream_send(web.stream, event, sizeof(event)));
        web_http_settle(&web);
    }
    web_http_pass((HTTP_ANSWER_SECONDS + 1) * 1000);
    web_http_await(&web, &web.closed_count, 1);
    web_http_await_connections(&web, 0);
    web_http_finish(&web);
}

/* A stream that has ended is closed after HTTP_ANSWER_SECONDS, also if its client takes a few bytes
 * each second. */
WEB_HTTP_TEST(test_stream_ended)
{
    static char event[1000];
    (void)web_http_begin_stream(web);
    memset(event, 'e', sizeof(event));
    web_http_let_send(0);
    assert_true(http_stream_send(web->stream, event, sizeof(event)));
    http_stream_end(web->stream);
    for (int second = 0; second < HTTP_ANSWER_SECONDS; second++) {
        assert_int_equal(web->closed_count, 0);
        web_http_let_send(1);
        web_http_settle(web);
        web_http_pass(1000);
    }
    uv_update_time(&web->loop);
    assert_true(web->stream->connection->deadline_ms <= uv_now(&web->loop));
    web_http_await(web, &web->closed_count, 1);
    web_http_await_connections(web, 0);
}

/* One address gets its share and no more, also with 500 slow connections, and not for long. */
TEST(test_one_address)
{
    enum { CLIENTS = 500, SHARE = 8 };
    const struct web_http_setup setup = {.connections = 64, .connections_per_address = SHARE};
    static int clients[CLIENTS];
    struct web_http web;
    web_http_start(&web, &setup);
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = web_http_connect(&web, 2);
        (void)web_http_say(&web, clients[i], "GET / HTTP/1.1\r\nX: ");
        (void)uv_run(&web.loop, UV_RUN_NOWAIT);
        assert_true(http_server_connections(web.server) <= SHARE);
    }
    int other = web_http_ask(&web, 3);
    web_http_assert_has(web_http_read_answer(&web, other, false), " 200 ");
    assert_int_equal(http_server_connections(web.server), SHARE + 1);
    assert_true(web.alloc.live_bytes < 16 * 1024);
    web_http_settle(&web);
    web_http_pass(HTTP_REQUEST_SECONDS * 1000);
    web_http_await_connections(&web, 1); /* the other one's */
    web_http_finish(&web);
}

/* Connects so many idle clients one after another, of the addresses `owners`. */
static void connect_idle(struct web_http *web, const unsigned *owners, size_t count, int *out)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = web_http_connect(web, owners[i]);
        web_http_await_connections(web, i + 1);
        web_http_pass(10);
    }
}

/* Of idle clients number `busy` asks something; then a newcomer is served, and takes the place of
 * number `victim`. The others stay. Ends the server. */
static void assert_gives_way(struct web_http *web, int *clients, size_t count, size_t busy,
                             size_t victim, unsigned newcomers_address)
{
    web->manner = WEB_HTTP_LATER;
    (void)web_http_say(web, clients[busy], "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    web_http_await(web, &web->request_count, 1);
    web->manner = WEB_HTTP_NOW;
    int newcomer = web_http_ask(web, newcomers_address);
    web_http_assert_has(web_http_read_answer(web, newcomer, false), " 200 ");
    assert_string_equal(web_http_read(web, clients[victim], NULL), "");
    web_http_await_connections(web, count);
    for (size_t i = 0; i < count; i++) {
        char byte;
        if (i != victim) {
            assert_int_equal(recv(clients[i], &byte, 1, MSG_DONTWAIT), -1); /* still open */
        }
        web_http_close(web, clients[i]);
    }
    web_http_close(web, newcomer);
    web_http_await(web, &web->gone_count, 1);
    web_http_stop(web);
}

/* Phones behind a repeater have one address: one more takes the place of its oldest idle
 * connection. */
TEST(test_one_more_of_an_address)
{
    static const unsigned owners[] = {2, 2, 2};
    const struct web_http_setup setup = {.connections = 64, .connections_per_address = 3};
    struct web_http web;
    int clients[3];
    web_http_start(&web, &setup);
    connect_idle(&web, owners, 3, clients);
    assert_gives_way(&web, clients, 3, 0, 1, 2);
}

/* When all connections are taken, the oldest idle one of whoever has most is closed. */
TEST(test_all_taken)
{
    static const unsigned owners[] = {2, 3, 3, 3, 4, 4};
    const struct web_http_setup setup = {.connections = 6, .connections_per_address = 4};
    struct web_http web;
    int clients[6];
    web_http_start(&web, &setup);
    connect_idle(&web, owners, 6, clients);
    assert_gives_way(&web, clients, 6, 1, 2, 5);
}

/* Brings a connection of 127.0.0.2 into a phase. */
static int enter_phase(struct web_http *web, enum http_phase phase, size_t before)
{
    static const char *const requests[] = {
        [HTTP_PHASE_IDLE] = "GET / HTTP/1.1\r\nX: ",
        [HTTP_PHASE_BODY] = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\na",
        [HTTP_PHASE_WAITING] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        [HTTP_PHASE_ANSWERING] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        [HTTP_PHASE_STREAMING] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    };
    static char body[HTTP_ANSWERS_LEAST / 4]; /* more than the kernel keeps */
    web->manner = phase == HTTP_PHASE_STREAMING ? WEB_HTTP_STREAM
                  : phase == HTTP_PHASE_WAITING ? WEB_HTTP_LATER
                                                : WEB_HTTP_NOW;
    web->body = phase == HTTP_PHASE_ANSWERING ? body : NULL;
    web->body_bytes = sizeof(body);
    int client = web_http_connect(web, 2);
    take_little(client);
    (void)web_http_say(web, client, requests[phase]);
    web_http_await_connections(web, before + 1);
    while (web->server->connections->prev->phase != phase) { /* the last one */
        (void)uv_run(&web->loop, UV_RUN_NOWAIT);
    }
    return client;
}

/* When all are taken, one of whoever has most gives way, in whatever phase its connections are; and
 * one of a newcomer's own, if nobody has more than the newcomer. */
TEST(test_all_busy)
{
    enum { ALL = 3 };
    const struct web_http_setup setup = {.connections = ALL};
    struct web_http web;
    int clients[ALL];
    for (enum http_phase phase = HTTP_PHASE_IDLE; phase <= HTTP_PHASE_STREAMING; phase++) {
        web_http_start(&web, &setup);
        for (size_t i = 0; i < ALL; i++) {
            clients[i] = enter_phase(&web, phase, i);
            web_http_pass(1);
        }
        web.manner = WEB_HTTP_NOW;
        web.body = NULL;
        for (unsigned last = 3; last < 5; last++) { /* of which others have 1 at the end */
            int newcomer = web_http_connect(&web, last);
            (void)web_http_say(&web, newcomer, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
            web_http_assert_has(web_http_read_answer(&web, newcomer, false), " 200 ");
            assert_int_equal(http_server_connections(web.server), ALL);
            if (last == 4) {
                web_http_close(&web, clients[0]); /* it gave way, as the oldest one */
                clients[0] = newcomer;
            } else {
                clients[1] = newcomer;
            }
        }
        const struct http_connection *kept = web.server->connections;
        assert_int_equal(kept->phase, phase);
        assert_int_equal(kept->address.bytes[3], 2);
        for (size_t i = 0; i < ALL; i++) {
            web_http_close(&web, clients[i]);
        }
        web_http_await_connections(&web, 0);
        web_http_stop(&web);
    }
}

/* Answers that clients do not take have a bound together: one of whoever has most makes room. */
WEB_HTTP_TEST(test_unread_answers)
{
    enum { MANY = 6 };
    static char body[HTTP_ANSWERS_LEAST / 4];
    int clients[MANY];
    web->body = body;
    web->body_bytes = sizeof(body);
    for (size_t i = 0; i < MANY; i++) {
        clients[i] = web_http_connect(web, i == 0 ? 3 : 2);
        take_little(clients[i]);
        (void)web_http_say(web, clients[i], "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        web_http_await(web, &web->request_count, i + 1);
        web_http_pass(1);
        assert_true(web->server->answer_bytes <= HTTP_ANSWERS_LEAST + sizeof(body));
    }
    web_http_await_connections(web, 4);
    assert_int_equal(web->server->connections->address.bytes[3], 3);
    assert_int_equal(web->server->answer_bytes, HTTP_ANSWERS_LEAST);
    for (size_t i = 0; i < MANY; i++) {
        web_http_close(web, clients[i]);
    }
    web_http_await_connections(web, 0);
    assert_int_equal(web->server->answer_bytes, 0);
}

/* Of IPv6 from further away, as behind a proxy, a /64 counts as one address. */
TEST(test_network)
{
    const struct web_http_setup setup = {
        .is_proxied = true, .connections = 8, .connections_per_address = 2};
    struct web_http web;
    int clients[4];
    char request[128];
    web_http_start(&web, &setup);
    web.manner = WEB_HTTP_LATER;
    for (size_t i = 0; i < 4; i++) {
        clients[i] = web_http_connect(&web, 0);
        (void)snprintf(request, sizeof(request),
                       "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 2001:db8:0:%d::%zu\r\n\r\n",
                       i == 3, i + 1);
        (void)web_http_say(&web, clients[i], request);
        if (i == 2) {
            web_http_assert_has(web_http_read_answer(&web, clients[i], false), "HTTP/1.1 429 ");
        } else {
            web_http_await(&web, &web.request_count, i < 2 ? i + 1 : 3);
        }
    }
    for (size_t i = 0; i < 4; i++) {
        web_http_close(&web, clients[i]);
    }
    web_http_await(&web, &web.gone_count, 3);
    web_http_finish(&web);
}

/* What the kernel keeps of a client is bounded, also of what nobody reads. */
WEB_HTTP_TEST(test_kernel_buffers)
{
    int bytes = 0;
    socklen_t size = sizeof(bytes);
    (void)web_http_connect(web, 0);
    web_http_await_connections(web, 1);
    int descriptor = web->server->connections->descriptor;
    assert_int_equal(getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, &size), 0);
    assert_int_equal(bytes, 2 * HTTP_RECEIVE_BYTES);
    assert_int_equal(getsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, &size), 0);
    assert_int_equal(bytes, 2 * HTTP_SEND_BYTES);
}

/* Nobody reads what a client sends beside its stream, so the stream is closed. */
WEB_HTTP_TEST(test_stream_that_sends)
{
    int client = web_http_begin_stream(web);
    (void)web_http_say(web, client, "x");
    web_http_await(web, &web->closed_count, 1);
    web_http_await_connections(web, 0);
}

/* While nothing can be late, no timer wakes the process: without connections, and with streams. */
WEB_HTTP_TEST(test_rest)
{
    const uv_handle_t *timer = (const uv_handle_t *)&web->server->deadlines;
    assert_false(uv_is_active(timer));
    (void)web_http_begin_stream(web);
    assert_true(uv_is_active(timer)); /* of the request that the stream was */
    web_http_pass(HTTP_REQUEST_SECONDS * 1000);
    web_http_settle(web);
    assert_false(uv_is_active(timer));
    assert_int_equal(http_server_connections(web->server), 1);
}

/* Requests that come all at once are answered in their order. */
WEB_HTTP_TEST(test_pipelined)
{
    enum { REQUESTS = 100 };
    static char requests[REQUESTS * 64];
    char last[32];
    size_t count = 0;
    for (int i = 0; i < REQUESTS; i++) {
        count += (size_t)snprintf(requests + count, sizeof(requests) - count,
                                  "GET /%d HTTP/1.1\r\nHost: h\r\n\r\n", i);
    }
    int client = web_http_connect(web, 0);
    (void)web_http_send(web, client, requests, count);
    (void)snprintf(last, sizeof(last), "path=/%d ", REQUESTS - 1);
    web_http_assert_has(web_http_read(web, client, last), last);
    assert_int_equal(web->request_count, REQUESTS);
}

/* A client that goes at any byte leaves nothing behind. */
TEST(test_gone_at_each_byte)
{
    static const char request[] = "POST /leave?a=b HTTP/1.1\r\nHost: h\r\nX: yy\r\n"
                                  "Content-Length: 5\r\n\r\nabcde";
    struct web_http web;
    size_t live = 0;
    web_http_start(&web, NULL);
    live = web.alloc.live_bytes;
    for (size_t count = 0; count < sizeof(request); count++) {
        int client = web_http_connect(&web, 0);
        (void)web_http_send(&web, client, request, count);
        web_http_await_connections(&web, 1);
        web_http_settle(&web);
        web_http_close(&web, client);
        web_http_await_connections(&web, 0);
        assert_int_equal(web.alloc.live_bytes, live);
    }
    assert_int_equal(web.request_count, 1);
    web_http_stop(&web);
}

/* Without descriptors the listeners wait, and serve those who wait when descriptors are back. */
WEB_HTTP_TEST(test_no_descriptors)
{
    struct rlimit limit;
    struct rlimit none;
    int client = web_http_ask(web, 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    (void)uv_run(&web->loop, UV_RUN_ONCE);
    (void)uv_run(&web->loop, UV_RUN_NOWAIT);
    assert_int_equal(http_server_connections(web->server), 0);
    assert_int_equal(uv_run(&web->loop, UV_RUN_NOWAIT) != 0, 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    web_http_assert_has(web_http_read_answer(web, client, false), " 200 ");
}

/* One of each: a form, an answer that comes later, a stream. Whatever fails is closed. */
static void use_all(struct web_http *web)
{
    static const char get[] = "GET /?a=b HTTP/1.1\r\nHost: h\r\n\r\n";
    static const char form[] = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n"
                               "Connection: close\r\n\r\nabc";
    web->manner = WEB_HTTP_NOW;
    (void)web_http_exchange(web, form, sizeof(form) - 1);

    web->manner = WEB_HTTP_LATER;
    int client = web_http_connect(web, 0);
    (void)web_http_say(web, client, get);
    web_http_settle(web);
    web_http_close(web, client);
    web_http_await_connections(web, 0);

    web->manner = WEB_HTTP_STREAM;
    client = web_http_connect(web, 0);
    (void)web_http_say(web, client, get);
    (void)web_http_read(web, client, "\r\n\r\n");
    if (web->stream != NULL) {
        (void)http_stream_send(web->stream, "data: x\n\n", 9);
        (void)web_http_read(web, client, "x\n\n");
    }
    web_http_close(web, client);
    web_http_await_connections(web, 0);
}

/* Each request for memory fails once: what needs it is closed, nothing is lost or left behind, and
 * the next client is served. */
WEB_HTTP_TEST(test_no_memory)
{
    static const char good[] = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    size_t live = web->alloc.live_bytes;
    for (size_t n = 1;; n++) {
        fail_alloc_arm(&web->alloc, n);
        use_all(web);
        if (web->alloc.requests < n) {
            assert_true(n > 10);
            break;
        }
        fail_alloc_arm(&web->alloc, 0);
        assert_int_equal(web->alloc.live_bytes, live);
        web->manner = WEB_HTTP_NOW;
        web_http_assert_has(web_http_exchange(web, good, sizeof(good) - 1), " 200 ");
        web_http_await_connections(web, 0);
    }
}

/* A server that cannot begin leaves the listening socket with its caller. */
WEB_HTTP_TEST(test_no_memory_to_begin)
{
    char reason[REASON_BYTES] = "";
    struct http_server *server = NULL;
    struct http_listener listener = {.descriptor = 0};
    struct http_options options = {
        .loop = &web->loop, .listeners = &listener, .listener_count = 1, .connections = 1};
    fail_alloc_arm(&web->alloc, 1);
    assert_int_equal(http_server_new(&options, &server, reason), -ERR_NOMEM);
    assert_null(server);
}
