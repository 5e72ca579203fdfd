/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that do as they should: requests, answers now and later, streams. */
#include <unistd.h>

#include <sys/socket.h>

#include "daemon/system/reason.h"
#include "tests/unit/web_http_fixture.h"

/* Several requests go over one connection; the target arrives as it was sent; every answer has the
 * headers that keep scripts of others out. */
WEB_HTTP_TEST(test_requests)
{
    int client = web_http_connect(web, 0);
    for (int i = 0; i < 3; i++) {
        (void)web_http_say(web, client, "GET /m/%41?t=a%20b&x HTTP/1.1\r\nHost: h:80\r\n\r\n");
        const char *answer = web_http_read_answer(web, client, false);
        web_http_assert_has(answer, "HTTP/1.1 200 OK\r\n");
        web_http_assert_has(answer, "\r\n\r\nGET path=/m/%41 query=t=a%20b&x host=h:80 body=");
        web_http_assert_has(answer,
                            "Content-Security-Policy: default-src 'none'; style-src 'self'; ");
        web_http_assert_has(answer, "X-Content-Type-Options: nosniff\r\n");
        web_http_assert_has(answer, "Referrer-Policy: strict-origin\r\n");
        web_http_assert_has(answer, "Cross-Origin-Resource-Policy: same-origin\r\n");
        web_http_assert_has(answer, "Cache-Control: no-store\r\n");
        web_http_assert_has(answer, "Content-Type: text/html; charset=utf-8\r\n");
    }
    assert_int_equal(http_server_connections(web->server), 1);
    assert_int_equal(web->client.family, 4);
    assert_memory_equal(web->client.bytes, "\x7f\x00\x00\x01", 4);
    web_http_close(web, client);
    web_http_await_connections(web, 0);
    assert_int_equal(web->gone_count, 0);
}

/* HEAD has a GET's head and no body. */
WEB_HTTP_TEST(test_head)
{
    int client = web_http_connect(web, 0);
    (void)web_http_say(web, client, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
    const char *answer = web_http_read_answer(web, client, true);
    web_http_assert_has(answer, "Content-Length: ");
    assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
    (void)web_http_say(web, client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    web_http_assert_has(web_http_read_answer(web, client, false), "\r\n\r\nGET path=/ ");
}

/* A body comes in parts of any size, and the largest is HTTP_BODY_BYTES. */
WEB_HTTP_TEST(test_post)
{
    static char body[HTTP_BODY_BYTES + 1];
    char head[256];
    memset(body, 'b', HTTP_BODY_BYTES);
    int client = web_http_connect(web, 0);
    (void)web_http_say(web, client, "POST /leave HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n\r\n");
    for (const char *c = "a=1&b=2"; *c != '\0'; c++) {
        (void)web_http_send(web, client, c, 1);
        (void)uv_run(&web->loop, UV_RUN_NOWAIT);
    }
    web_http_assert_has(web_http_read_answer(web, client, false),
                        "POST path=/leave query= host=h body=a=1&b=2");

    (void)snprintf(head, sizeof(head), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n",
                   HTTP_BODY_BYTES);
    (void)web_http_say(web, client, head);
    (void)web_http_say(web, client, body);
    web_http_assert_has(web_http_read_answer(web, client, false), body);

    (void)web_http_say(web, client, "POST / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_string_equal(strstr(web_http_read_answer(web, client, false), "body="), "body=");
}

/* A browser that asks before it sends a form is told to go on. */
WEB_HTTP_TEST(test_expect)
{
    int client = web_http_connect(web, 0);
    (void)web_http_say(web, client,
                       "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                       "Content-Length: 1\r\n\r\n");
    web_http_assert_has(web_http_read(web, client, "\r\n\r\n"), "HTTP/1.1 100 Continue");
    (void)web_http_say(web, client, "x");
    web_http_assert_has(web_http_read_answer(web, client, false), "body=x");
}

/* The largest head that http.h allows leaves room for the answer's head. */
WEB_HTTP_TEST(test_largest_head)
{
    char head[HTTP_HEAD_BYTES + 1];
    int count = snprintf(head, sizeof(head), "GET /?%01000d HTTP/1.1\r\nHost: h\r\n", 0);
    for (int i = 10; i < 30; i++) {
        count += snprintf(head + count, sizeof(head) - (size_t)count, "X-%d: %050d\r\n", i, 0);
    }
    int rest = HTTP_HEAD_BYTES - count - (int)strlen("Z: \r\n\r\n");
    assert_true(rest > 0);
    (void)snprintf(head + count, sizeof(head) - (size_t)count, "Z: %0*d\r\n\r\n", rest, 0);
    int client = web_http_connect(web, 0);
    for (int i = 0; i < 2; i++) {
        (void)web_http_say(web, client, head);
        web_http_assert_has(web_http_read_answer(web, client, false), "HTTP/1.1 200 OK");
    }
}

/* A request may be answered later; meanwhile others are served. */
WEB_HTTP_TEST(test_answer_later)
{
    int client = web_http_ask_later(web);
    struct http_exchange *waiting = web->waiting;
    web->manner = WEB_HTTP_NOW;
    int other = web_http_connect(web, 0);
    (void)web_http_say(web, other, "GET /other HTTP/1.1\r\nHost: h\r\n\r\n");
    web_http_assert_has(web_http_read_answer(web, other, false), "path=/other");

    const struct http_answer answer = {
        .status = 429, .type = "text/plain", .retry_after_s = 7, .body = "wait", .body_bytes = 4};
    http_answer(waiting, &answer);
    const char *text = web_http_read_answer(web, client, false);
    web_http_assert_has(text, "HTTP/1.1 429 ");
    web_http_assert_has(text, "Retry-After: 7\r\n");
    web_http_assert_has(text, "\r\n\r\nwait");
    (void)web_http_say(web, client, "GET /again HTTP/1.1\r\nHost: h\r\n\r\n");
    web_http_assert_has(web_http_read_answer(web, client, false), "path=/again");
    web_http_close(web, client);
    web_http_close(web, other);
    web_http_await_connections(web, 0);
    assert_int_equal(web->gone_count, 0);
}

/* The program learns at once that the client of a waiting request has gone. */
WEB_HTTP_TEST(test_gone)
{
    int client = web_http_ask_later(web);
    web_http_close(web, client);
    web_http_await(web, &web->gone_count, 1);
    web_http_await_connections(web, 0);
}

/* What may be kept, where it leads, how it is packed. */
WEB_HTTP_TEST(test_answer_headers)
{
    static const char body[] = "packed";
    int client = web_http_ask_later(web);
    const struct http_answer packed = {.status = 200,
                                       .type = "text/css",
                                       .encoding = "gzip",
                                       .max_age_s = 86400,
                                       .body = body,
                                       .body_bytes = sizeof(body) - 1,
                                       .is_static = true};
    http_answer(web->waiting, &packed);
    const char *text = web_http_read_answer(web, client, false);
    web_http_assert_has(text, "Content-Encoding: gzip\r\n");
    web_http_assert_has(text, "Vary: Accept-Encoding\r\n");
    web_http_assert_has(text, "Cache-Control: max-age=86400\r\n");
    web_http_assert_has(text, "\r\n\r\npacked");

    (void)web_http_say(web, client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    web_http_await(web, &web->request_count, 2);
    const struct http_answer redirect = {.status = 302, .location = "http://hearsay.lan/"};
    http_answer(web->waiting, &redirect);
    web_http_assert_has(web_http_read_answer(web, client, false),
                        "Location: http://hearsay.lan/\r\n");
}

/* A stream's bytes arrive as they are sent, and its end ends the connection. */
WEB_HTTP_TEST(test_stream)
{
    web->manner = WEB_HTTP_STREAM;
    int client = web_http_connect(web, 0);
    (void)web_http_say(web, client, "GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
    const char *text = web_http_read(web, client, "\r\n\r\n");
    web_http_assert_has(text, "HTTP/1.1 200 OK\r\n");
    web_http_assert_has(text, "\r\nDate: ");
    web_http_assert_has(text, "Content-Type: text/event-stream\r\n");
    web_http_assert_has(text, "Cache-Control: no-store\r\n");
    web_http_assert_has(text, "Content-Security-Policy: ");
    for (int i = 0; i < 5; i++) {
        char event[32];
        (void)snprintf(event, sizeof(event), "data: %d\n\n", i);
        assert_true(http_stream_send(web->stream, event, strlen(event)));
        web_http_assert_has(web_http_read(web, client, "\n\n"), event);
    }
    web_http_pass(10 * 60 * 1000); /* a quiet stream is not late */
    assert_true(http_stream_send(web->stream, "a", 1));
    assert_true(http_stream_send(web->stream, "bc", 2));
    http_stream_end(web->stream);
    assert_string_equal(web_http_read(web, client, NULL), "abc");
    web_http_await(web, &web->closed_count, 1);
}

/* Reads what the server sends until its end: numbers, a line of 1,024 bytes for each. */
static unsigned read_lines(struct web_http *web, int client)
{
    char line[1025] = "";
    size_t bytes = 0;
    unsigned count = 0;
    for (;;) {
        ssize_t got = recv(client, line + bytes, 1024 - bytes, MSG_DONTWAIT);
        if (got == 0) {
            assert_int_equal(bytes, 0);
            return count;
        }
        if (got < 0) {
            web_http_settle(web);
            continue;
        }
        bytes += (size_t)got;
        if (bytes == 1024) {
            assert_int_equal(strtoul(line, NULL, 10), count);
            count++;
            bytes = 0;
        }
    }
}

/* What a client does not take yet waits: it gets all in order, also when the stream has ended. */
WEB_HTTP_TEST(test_stream_waits)
{
    char line[1025];
    unsigned count = 0;
    int client = web_http_begin_stream(web);
    size_t live = web->alloc.live_bytes;
    while (web->alloc.live_bytes < live + HTTP_STREAM_BYTES / 2) {
        (void)snprintf(line, sizeof(line), "%-1023u\n", count++);
        assert_true(http_stream_send(web->stream, line, 1024));
        web_http_settle(web);
    }
    http_stream_end(web->stream);
    assert_int_equal(read_lines(web, client), count);
    web_http_await(web, &web->closed_count, 1);
}

/* A stream without anything to send learns at once that its client has gone. */
WEB_HTTP_TEST(test_stream_gone)
{
    int client = web_http_begin_stream(web);
    web_http_close(web, client);
    web_http_await(web, &web->closed_count, 1);
    web_http_await_connections(web, 0);
}

/* HEAD of a stream is its head only. */
WEB_HTTP_TEST(test_stream_head)
{
    web->manner = WEB_HTTP_STREAM;
    int client = web_http_connect(web, 0);
    (void)web_http_say(web, client, "HEAD /events HTTP/1.1\r\nHost: h\r\n\r\n");
    web_http_assert_has(web_http_read(web, client, "\r\n\r\n"), "text/event-stream");
    web_http_await(web, &web->closed_count, 1);
}

/* Stopping ends what is under way, and tells the program. */
TEST(test_stop)
{
    struct web_http web;
    web_http_start(&web, NULL);
    int waiting = web_http_ask_later(&web);
    int stream = web_http_begin_stream(&web);
    int idle = web_http_connect(&web, 0);
    web_http_await_connections(&web, 3);
    web_http_stop(&web);
    assert_int_equal(web.gone_count, 1);
    assert_int_equal(web.closed_count, 1);
    web_http_close(&web, waiting);
    web_http_close(&web, stream);
    web_http_close(&web, idle);
}

/* IPv6 tells our end of the connection, too. */
TEST(test_ipv6)
{
    const struct web_http_setup setup = {.family = AF_INET6, .connections = 8};
    static const uint8_t loopback[16] = {[15] = 1};
    struct web_http web;
    web_http_start(&web, &setup);
    int client = web_http_connect(&web, WEB_HTTP_IPV6);
    (void)web_http_say(&web, client, "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    web_http_assert_has(web_http_read_answer(&web, client, false), "200 OK");
    assert_int_equal(web.client.family, 6);
    assert_memory_equal(web.client.bytes, loopback, sizeof(loopback));
    assert_true(web.client.has_local);
    assert_memory_equal(web.client.local, loopback, sizeof(loopback));
    web_http_finish(&web);
}

/* Behind a proxy on a Unix socket the client is the last of the only X-Forwarded-For. */
TEST(test_proxied)
{
    const struct web_http_setup setup = {.family = AF_UNIX, .is_proxied = true, .connections = 8};
    static const struct {
        const char *header;
        unsigned status;
        uint8_t family;
        const char *bytes;
    } rows[] = {
        {"X-Forwarded-For: 192.0.2.7\r\n", 200, 4, "\xc0\x00\x02\x07"},
        {"X-Forwarded-For: evil, 10.0.0.1 ,\t192.0.2.8\r\n", 200, 4, "\xc0\x00\x02\x08"},
        {"X-Forwarded-For: ::ffff:192.0.2.9\r\n", 200, 4, "\xc0\x00\x02\x09"},
        {"X-Forwarded-For: 2001:db8::1\r\n", 200, 6, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"},
        {"", 400, 0, ""},
        {"X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-For: 192.0.2.8\r\n", 400, 0, ""},
        {"X-Forwarded-For: 192.0.2.7,\r\n", 400, 0, ""},
        {"X-Forwarded-For: 192.0.2.7:80\r\n", 400, 0, ""},
        {"X-Forwarded-For: [2001:db8::1]\r\n", 400, 0, ""},
        {"X-Forwarded-For: fe80::1%eth0\r\n", 400, 0, ""},
        {"X-Forwarded-For: unknown\r\n", 400, 0, ""},
        {"X-Forwarded-For: 192.0.2\r\n", 400, 0, ""},
    };
    struct web_http web;
    web_http_start(&web, &setup);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char request[256];
        char status[32];
        (void)snprintf(request, sizeof(request), "GET / HTTP/1.1\r\nHost: h\r\n%s\r\n",
                       rows[i].header);
        (void)snprintf(status, sizeof(status), "HTTP/1.1 %u ", rows[i].status);
        int client = web_http_connect(&web, 0);
        (void)web_http_say(&web, client, request);
        web_http_assert_has(web_http_read_answer(&web, client, false), status);
        web_http_close(&web, client);
        if (rows[i].status == 200) {
            assert_int_equal(web.client.family, rows[i].family);
            assert_memory_equal(web.client.bytes, rows[i].bytes, rows[i].family == 4 ? 4 : 16);
            assert_false(web.client.has_local);
        }
    }
    assert_int_equal(web.request_count, 4);
    web_http_finish(&web);
}

/* The clients of a Unix socket without a proxy have no address. */
TEST(test_unix_must_be_proxied)
{
    uv_loop_t loop;
    int sockets[2];
    char reason[REASON_BYTES] = "";
    struct http_server *server = NULL;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    const struct http_listener listener = {.descriptor = sockets[0]};
    const struct http_options options = {
        .loop = &loop, .listeners = &listener, .listener_count = 1, .connections = 1};
    assert_true(http_server_new(&options, &server, reason) < 0);
    web_http_assert_has(reason, "proxied");
    assert_null(server);
    (void)close(sockets[0]);
    (void)close(sockets[1]);
    assert_int_equal(uv_loop_close(&loop), 0);
}
