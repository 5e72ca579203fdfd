/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that do as they should not: each ends in a clear status or a close, and the server's
 * memory and connections stay bounded. */
#include "client/web/http_inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/socket.h>

#include "core/base/err.h"
#include "daemon/system/reason.h"
#include "tests/lib/check.h"
#include "tests/unit/web_http_fixture.h"

/* Bytes of a request that the server answers, or closes, at once. */
struct hostile {
    const char *name;
    const char *bytes;
    size_t count;
    const char *status; /* of the answer; "": closed without one */
};

#define HOSTILE(name, bytes, status)           \
    {                                          \
        name, bytes, sizeof(bytes) - 1, status \
    }
#define END "Host: h\r\nConnection: close\r\n\r\n"

static const struct hostile hostiles[] = {
    HOSTILE("good", "GET / HTTP/1.1\r\n" END, "200"),
    HOSTILE("empty query", "GET /? HTTP/1.1\r\n" END, "200"),
    HOSTILE("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\n" END, "400"),
    HOSTILE("two Hosts in other letters", "GET / HTTP/1.1\r\nhOST: h\r\n" END, "400"),
    HOSTILE("no Host", "GET / HTTP/1.1\r\n\r\n", "400"),
    HOSTILE("no Host, 1.0", "GET / HTTP/1.0\r\n\r\n", "400"),
    HOSTILE("1.0", "GET / HTTP/1.0\r\nHost: h\r\n\r\n", "200"),
    HOSTILE("two lengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n" END "ab",
            "400"),
    HOSTILE("the same length twice",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n" END "a", "400"),
    HOSTILE("length and chunks",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n" END
            "0\r\n\r\n",
            "501|400"),
    HOSTILE("chunks", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "0\r\n\r\n", "501"),
    HOSTILE("chunks of a GET", "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "0\r\n\r\n",
            "501"),
    HOSTILE("unknown encoding", "POST / HTTP/1.1\r\nTransfer-Encoding: x\r\n" END, "501|400"),
    HOSTILE("space before colon", "POST / HTTP/1.1\r\nContent-Length : 1\r\n" END "a", "400"),
    HOSTILE("bare LF", "GET / HTTP/1.1\nHost: h\nConnection: close\n\n", "400"),
    HOSTILE("one bare LF", "GET / HTTP/1.1\r\nX: y\n" END, "400"),
    HOSTILE("bare LF after the first line", "GET / HTTP/1.1\n" END, "400"),
    HOSTILE("bare CR", "GET / HTTP/1.1\r\nX: y\rZ: z\r\n" END, "400"),
    HOSTILE("folded", "GET / HTTP/1.1\r\nX: y\r\n z\r\n" END, "400"),
    HOSTILE("no space after colon", "GET / HTTP/1.1\r\nX:y\r\n" END, "400|200"),
    HOSTILE("empty value", "GET / HTTP/1.1\r\nX:\r\nY: \r\n" END, "200"),
    HOSTILE("NUL in a value", "GET / HTTP/1.1\r\nX: y\0z\r\n" END, "400"),
    HOSTILE("NUL in Host", "GET / HTTP/1.1\r\nHost: h\0z\r\nConnection: close\r\n\r\n", "400"),
    HOSTILE("NUL in a name", "GET / HTTP/1.1\r\nX\0Y: y\r\n" END, "400"),
    HOSTILE("NUL in the target", "GET /a\0b HTTP/1.1\r\n" END, "400|"),
    HOSTILE("NUL in the version", "GET / HTTP/1.1\0\r\n" END, "400|"),
    HOSTILE("no colon", "GET / HTTP/1.1\r\nX\r\n" END, "400"),
    HOSTILE("no name", "GET / HTTP/1.1\r\n: x\r\n" END, "400"),
    HOSTILE("absolute target", "GET http://h/ HTTP/1.1\r\n" END, "400"),
    HOSTILE("star", "GET * HTTP/1.1\r\n" END, "400"),
    HOSTILE("no target", "GET HTTP/1.1\r\n" END, "400"),
    HOSTILE("space in the target", "GET /a b HTTP/1.1\r\n" END, "|400"),
    HOSTILE("tab in the target", "GET /a\tb HTTP/1.1\r\n" END, "400"),
    HOSTILE("two spaces", "GET  / HTTP/1.1\r\n" END, "400"),
    HOSTILE("byte over 127 in the target", "GET /\xc3\xa4 HTTP/1.1\r\n" END, "400"),
    HOSTILE("DEL in the target", "GET /\x7f HTTP/1.1\r\n" END, "400"),
    HOSTILE("negative length", "POST / HTTP/1.1\r\nContent-Length: -1\r\n" END, "400"),
    HOSTILE("plus", "POST / HTTP/1.1\r\nContent-Length: +1\r\n" END "a", "400"),
    HOSTILE("hexadecimal", "POST / HTTP/1.1\r\nContent-Length: 0x1\r\n" END "a", "400"),
    HOSTILE("list of lengths", "POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n" END "a", "400"),
    HOSTILE("empty length", "POST / HTTP/1.1\r\nContent-Length: \r\n" END, "400"),
    HOSTILE("one byte too many", "POST / HTTP/1.1\r\nContent-Length: 16385\r\n" END, "413"),
    HOSTILE("2^32", "POST / HTTP/1.1\r\nContent-Length: 4294967296\r\n" END, "413"),
    HOSTILE("2^64 + 1", "POST / HTTP/1.1\r\nContent-Length: 18446744073709551617\r\n" END, "413"),
    HOSTILE("GET with a body", "GET / HTTP/1.1\r\nContent-Length: 1\r\n" END "a", "400"),
    HOSTILE("HTTP/0.9", "GET /\r\n\r\n", "400"),
    HOSTILE("HTTP/1.2", "GET / HTTP/1.2\r\n" END, "505"),
    HOSTILE("HTTP/1.10", "GET / HTTP/1.10\r\n" END, "400"),
    HOSTILE("HTTP/2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"),
    HOSTILE("http/1.1", "GET / http/1.1\r\n" END, "400"),
    HOSTILE("PUT", "PUT / HTTP/1.1\r\n" END, "405"),
    HOSTILE("OPTIONS", "OPTIONS * HTTP/1.1\r\n" END, "405"),
    HOSTILE("CONNECT", "CONNECT h:80 HTTP/1.1\r\n" END, "405"),
    HOSTILE("TRACE", "TRACE / HTTP/1.1\r\n" END, "405"),
    HOSTILE("get", "get / HTTP/1.1\r\n" END, "405"),
    HOSTILE("two Origins", "POST / HTTP/1.1\r\nOrigin: a\r\nOrigin: b\r\n" END, "400"),
};

/* Whether an answer has one of the statuses of a set, such as "501|400"; "" stands for no answer.
 * MHD 0.9 and 1.0 differ in some. */
static bool has_status(const char *text, const char *set)
{
    for (;;) {
        size_t length = strcspn(set, "|");
        char begin[32];

        (void)snprintf(begin, sizeof(begin), "HTTP/1.1 %.*s ", (int)length, set);
        if (length == 0 ? text[0] == '\0' : strncmp(text, begin, strlen(begin)) == 0) {
            return true;
        }
        if (set[length] == '\0') {
            return false;
        }
        set += length + 1;
    }
}

TEST(test_bytes)
{
    struct web_http web;
    size_t wrong = 0;
    web_http_start(&web, NULL);
    for (size_t i = 0; i < sizeof(hostiles) / sizeof(hostiles[0]); i++) {
        const struct hostile *row = &hostiles[i];
        const char *text = web_http_exchange(&web, row->bytes, row->count);
        if (!has_status(text, row->status)) {
            print_message("%s: not \"%s\" but \"%.60s\"\n", row->name, row->status, text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
    web_http_await_connections(&web, 0);
    web_http_stop(&web);
}

/* Sends a long request, and returns the server's answer to it. */
static const char *exchange_long(struct web_http *web, const char *before, const char *part,
                                 size_t count, const char *after, bool is_silent)
{
    static char request[256 * 1024];
    size_t used = strlen(before);
    assert_true(used + count * strlen(part) + strlen(after) < sizeof(request));
    memcpy(request, before, used);
    for (size_t i = 0; i < count; i++) {
        memcpy(request + used, part, strlen(part));
        used += strlen(part);
    }
    memcpy(request + used, after, strlen(after));
    if (!is_silent) {
        return web_http_exchange(web, request, used + strlen(after));
    }
    int client = web_http_connect(web, 0);
    (void)web_http_send(web, client, request, used + strlen(after));
    web_http_await_connections(web, 1);
    web_http_settle(web);
    web_http_pass((HTTP_REQUEST_SECONDS + 1) * 1000);
    const char *text = web_http_read(web, client, NULL);
    (void)close(client);
    return text;
}

/* Heads and targets that are too long. */
TEST(test_long)
{
    static const struct {
        const char *before;
        const char *part;
        size_t count;
        const char *after;
        const char *status;
    } rows[] = {
        {"GET /", "x", HTTP_TARGET_BYTES - 1, " HTTP/1.1\r\n" END, "200"},
        {"GET /", "x", HTTP_TARGET_BYTES, " HTTP/1.1\r\n" END, "414"},
        {"GET /", "x", 100 * 1024, " HTTP/1.1\r\n" END, "414"},
        /* MHD must not keep the parts of a query: its memory would end, and it would not answer */
        {"GET /?", "&", 100, " HTTP/1.1\r\n" END, "200"},
        {"GET /?", "&", HTTP_TARGET_BYTES - 2, " HTTP/1.1\r\n" END, "200"},
        {"GET /?", "a&", HTTP_TARGET_BYTES / 2 - 1, " HTTP/1.1\r\n" END, "200"},
        {"GET /?", "%00=&", 200, " HTTP/1.1\r\n" END, "200"},
        {"GET /?", "a=b&", 30, " HTTP/1.1\r\n" END, "200"},
        {"GET /?", "&", HTTP_TARGET_BYTES, " HTTP/1.1\r\n" END, "414"},
        {"GET /?", "&", 100 * 1024, " HTTP/1.1\r\n" END, "414"},
        {"GET / HTTP/1.1\r\nX: ", "x", HTTP_HEAD_BYTES - 61, "\r\n" END, "200"},
        {"GET / HTTP/1.1\r\nX: ", "x", HTTP_HEAD_BYTES - 20, "\r\n" END, "431"},
        {"GET / HTTP/1.1\r\nX: ", "x", 100 * 1024, "\r\n" END, "431"},
        {"GET / HTTP/1.1\r\n", "X: y\r\n", 200, END, "431"},
        {"GET / HTTP/1.1\r\n", "X: y\r\n", 20000, END, "431"},
        {"", "x", 100 * 1024, "", "|414"},
        {"", "\r\n", 50 * 1024, "GET / HTTP/1.1\r\n" END, "|414|200"},
        {"POST / HTTP/1.1\r\nContent-Length: 100000\r\nHost: h\r\n\r\n", "x", 100000, "", "413"},
    };
    struct web_http web;
    web_http_start(&web, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        /* MHD 0.9 says nothing where its memory ends in empty lines or in a line without a blank */
        const char *text = exchange_long(&web, rows[i].before, rows[i].part, rows[i].count,
                                         rows[i].after, rows[i].status[0] == '|');
        if (!has_status(text, rows[i].status)) {
            print_message("row %zu: not \"%s\" but \"%.200s\"\n", i, rows[i].status, text);
            fail();
        }
    }
    web_http_await_connections(&web, 0);
    web_http_stop(&web);
}

/* Whoever sends too slowly is closed, whether bytes come or not. */
TEST(test_slow_request)
{
    static const char *const begins[] = {
        "",
        "GET /",
        "GET / HTTP/1.1\r\nHost: h\r\nX: ",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n",
    };
    struct web_http web;
    web_http_start(&web, NULL);
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        int client = web_http_connect(&web, 0);
        web_http_await_connections(&web, 1);
        (void)web_http_say(&web, client, begins[i]);
        for (int second = 1; second < HTTP_REQUEST_SECONDS && begins[i][0] != '\0'; second++) {
            assert_true(web_http_say(&web, client, "x"));
            web_http_pass(1000);
            (void)uv_run(&web.loop, UV_RUN_NOWAIT);
            assert_int_equal(http_server_connections(web.server), 1);
        }
        web_http_pass(begins[i][0] == '\0' ? HTTP_REQUEST_SECONDS * 1000 : 1000);
        assert_string_equal(web_http_read(&web, client, NULL), "");
        web_http_await_connections(&web, 0);
        (void)close(client);
    }
    assert_int_equal(web.request_count, 0);
    web_http_stop(&web);
}

/* Between two requests there are HTTP_IDLE_SECONDS, and the second has its own time. */
TEST(test_slow_second)
{
    struct web_http web;
    web_http_start(&web, NULL);
    int client = web_http_connect(&web, 0);
    (void)web_http_say(&web, client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    web_http_assert_has(web_http_read_answer(&web, client, false), " 200 ");
    web_http_settle(&web);
    web_http_pass(14000);
    (void)web_http_say(&web, client, "GET / HTTP/1.1\r\n");
    web_http_settle(&web);
    web_http_pass(9000);
    (void)web_http_say(&web, client, "Host: h\r\n\r\n");
    web_http_assert_has(web_http_read_answer(&web, client, false), " 200 ");
    web_http_settle(&web);
    web_http_pass(15000);
    assert_string_equal(web_http_read(&web, client, NULL), "");
    (void)close(client);
    web_http_await_connections(&web, 0);
    web_http_stop(&web);
}

/* Lets the client's kernel keep few bytes, so that the server waits for the client to read. */
static void take_little(int client)
{
    int bytes = 4096;
    assert_int_equal(setsockopt(client, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)), 0);
}

/* A client that does not take its answer is closed after HTTP_ANSWER_SECONDS. */
TEST(test_slow_reader)
{
    enum { BODY_BYTES = HTTP_ANSWERS_LEAST };
    struct web_http web;
    web_http_start(&web, NULL);
    web.body = calloc(BODY_BYTES, 1);
    web.body_bytes = BODY_BYTES;
    assert_non_null(web.body);
    int client = web_http_connect(&web, 0);
    take_little(client);
    (void)web_http_say(&web, client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    web_http_await(&web, &web.request_count, 1);
    web_http_settle(&web);
    web_http_pass((HTTP_ANSWER_SECONDS - 1) * 1000);
    web_http_settle(&web);
    assert_int_equal(http_server_connections(web.server), 1);
    web_http_pass(1000);
    web_http_await_connections(&web, 0);
    (void)close(client);
    free((void *)(uintptr_t)web.body);
    web_http_stop(&web);
}

/* A stream whose client does not read is closed before much waits for it. */
TEST(test_stream_not_read)
{
    static char event[1000];
    struct web_http web;
    size_t sent = 0;
    memset(event, 'e', sizeof(event));
    web_http_start(&web, NULL);
    web.manner = WEB_HTTP_STREAM;
    int client = web_http_connect(&web, 0);
    (void)web_http_say(&web, client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    web_http_await(&web, &web.request_count, 1);
    while (http_stream_send(web.stream, event, sizeof(event))) {
        (void)uv_run(&web.loop, UV_RUN_NOWAIT);
        assert_true(web.alloc.live_bytes < 3 * HTTP_STREAM_BYTES);
        assert_true(++sent < 64 * 1024);
    }
    web_http_await(&web, &web.closed_count, 1);
    web_http_await_connections(&web, 0);
    (void)close(client);
    web_http_stop(&web);
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
    (void)close(client);
    web_http_stop(&web);
}

/* A stream that has ended is closed after HTTP_ANSWER_SECONDS, also if its client takes a few bytes
 * each second. */
TEST(test_stream_ended)
{
    static char event[1000];
    struct web_http web;
    web_http_start(&web, NULL);
    web.manner = WEB_HTTP_STREAM;
    int client = web_http_connect(&web, 0);
    (void)web_http_say(&web, client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    (void)web_http_read(&web, client, "\r\n\r\n");
    memset(event, 'e', sizeof(event));
    web_http_let_send(0);
    assert_true(http_stream_send(web.stream, event, sizeof(event)));
    http_stream_end(web.stream);
    for (int second = 0; second < HTTP_ANSWER_SECONDS; second++) {
        assert_int_equal(web.closed_count, 0);
        web_http_let_send(1);
        web_http_settle(&web);
        web_http_pass(1000);
    }
    uv_update_time(&web.loop);
    assert_true(web.stream->connection->deadline_ms <= uv_now(&web.loop));
    web_http_await(&web, &web.closed_count, 1);
    web_http_await_connections(&web, 0);
    (void)close(client);
    web_http_stop(&web);
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
    int other = web_http_connect(&web, 3);
    (void)web_http_say(&web, other, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    web_http_assert_has(web_http_read_answer(&web, other, false), " 200 ");
    assert_int_equal(http_server_connections(web.server), SHARE + 1);
    assert_true(web.alloc.live_bytes < 16 * 1024);
    web_http_settle(&web);
    web_http_pass(HTTP_REQUEST_SECONDS * 1000);
    web_http_await_connections(&web, 1); /* the other one's */
    for (size_t i = 0; i < CLIENTS; i++) {
        (void)close(clients[i]);
    }
    (void)close(other);
    web_http_await_connections(&web, 0);
    web_http_stop(&web);
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
    int newcomer = web_http_connect(web, newcomers_address);
    (void)web_http_say(web, newcomer, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    web_http_assert_has(web_http_read_answer(web, newcomer, false), " 200 ");
    assert_string_equal(web_http_read(web, clients[victim], NULL), "");
    web_http_await_connections(web, count);
    for (size_t i = 0; i < count; i++) {
        char byte;
        if (i != victim) {
            assert_int_equal(recv(clients[i], &byte, 1, MSG_DONTWAIT), -1); /* still open */
        }
        (void)close(clients[i]);
    }
    (void)close(newcomer);
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
                (void)close(clients[0]); /* it gave way, as the oldest one */
                clients[0] = newcomer;
            } else {
                clients[1] = newcomer;
            }
        }
        const struct http_connection *kept = web.server->connections;
        assert_int_equal(kept->phase, phase);
        assert_int_equal(kept->address.bytes[3], 2);
        for (size_t i = 0; i < ALL; i++) {
            (void)close(clients[i]);
        }
        web_http_await_connections(&web, 0);
        web_http_stop(&web);
    }
}

/* Answers that clients do not take have a bound together: one of whoever has most makes room. */
TEST(test_unread_answers)
{
    enum { MANY = 6 };
    struct web_http web;
    static char body[HTTP_ANSWERS_LEAST / 4];
    int clients[MANY];
    web_http_start(&web, NULL);
    web.body = body;
    web.body_bytes = sizeof(body);
    for (size_t i = 0; i < MANY; i++) {
        clients[i] = web_http_connect(&web, i == 0 ? 3 : 2);
        take_little(clients[i]);
        (void)web_http_say(&web, clients[i], "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        web_http_await(&web, &web.request_count, i + 1);
        web_http_pass(1);
        assert_true(web.server->answer_bytes <= HTTP_ANSWERS_LEAST + sizeof(body));
    }
    web_http_await_connections(&web, 4);
    assert_int_equal(web.server->connections->address.bytes[3], 3);
    assert_int_equal(web.server->answer_bytes, HTTP_ANSWERS_LEAST);
    for (size_t i = 0; i < MANY; i++) {
        (void)close(clients[i]);
    }
    web_http_await_connections(&web, 0);
    assert_int_equal(web.server->answer_bytes, 0);
    web_http_stop(&web);
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
        (void)close(clients[i]);
    }
    web_http_await(&web, &web.gone_count, 3);
    web_http_stop(&web);
}

/* What the kernel keeps of a client is bounded, also of what nobody reads. */
TEST(test_kernel_buffers)
{
    struct web_http web;
    int bytes = 0;
    socklen_t size = sizeof(bytes);
    web_http_start(&web, NULL);
    int client = web_http_connect(&web, 0);
    web_http_await_connections(&web, 1);
    int descriptor = web.server->connections->descriptor;
    assert_int_equal(getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, &size), 0);
    assert_int_equal(bytes, 2 * HTTP_RECEIVE_BYTES);
    assert_int_equal(getsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, &size), 0);
    assert_int_equal(bytes, 2 * HTTP_SEND_BYTES);
    (void)close(client);
    web_http_await_connections(&web, 0);
    web_http_stop(&web);
}

/* Nobody reads what a client sends beside its stream, so the stream is closed. */
TEST(test_stream_that_sends)
{
    struct web_http web;
    web_http_start(&web, NULL);
    web.manner = WEB_HTTP_STREAM;
    int client = web_http_connect(&web, 0);
    (void)web_http_say(&web, client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    (void)web_http_read(&web, client, "\r\n\r\n");
    (void)web_http_say(&web, client, "x");
    web_http_await(&web, &web.closed_count, 1);
    web_http_await_connections(&web, 0);
    (void)close(client);
    web_http_stop(&web);
}

/* While nothing can be late, no timer wakes the process: without connections, and with streams. */
TEST(test_rest)
{
    struct web_http web;
    web_http_start(&web, NULL);
    const uv_handle_t *timer = (const uv_handle_t *)&web.server->deadlines;
    assert_false(uv_is_active(timer));
    web.manner = WEB_HTTP_STREAM;
    int client = web_http_connect(&web, 0);
    (void)web_http_say(&web, client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    (void)web_http_read(&web, client, "\r\n\r\n");
    assert_true(uv_is_active(timer)); /* of the request that the stream was */
    web_http_pass(HTTP_REQUEST_SECONDS * 1000);
    web_http_settle(&web);
    assert_false(uv_is_active(timer));
    assert_int_equal(http_server_connections(web.server), 1);
    (void)close(client);
    web_http_await_connections(&web, 0);
    web_http_stop(&web);
}

/* Requests that come all at once are answered in their order. */
TEST(test_pipelined)
{
    enum { REQUESTS = 100 };
    static char requests[REQUESTS * 64];
    struct web_http web;
    char last[32];
    size_t count = 0;
    web_http_start(&web, NULL);
    for (int i = 0; i < REQUESTS; i++) {
        count += (size_t)snprintf(requests + count, sizeof(requests) - count,
                                  "GET /%d HTTP/1.1\r\nHost: h\r\n\r\n", i);
    }
    int client = web_http_connect(&web, 0);
    (void)web_http_send(&web, client, requests, count);
    (void)snprintf(last, sizeof(last), "path=/%d ", REQUESTS - 1);
    web_http_assert_has(web_http_read(&web, client, last), last);
    assert_int_equal(web.request_count, REQUESTS);
    (void)close(client);
    web_http_await_connections(&web, 0);
    web_http_stop(&web);
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
        (void)close(client);
        web_http_await_connections(&web, 0);
        assert_int_equal(web.alloc.live_bytes, live);
    }
    assert_int_equal(web.request_count, 1);
    web_http_stop(&web);
}

/* Without descriptors the listeners wait, and serve those who wait when descriptors are back. */
TEST(test_no_descriptors)
{
    struct web_http web;
    struct rlimit limit;
    struct rlimit none;
    web_http_start(&web, NULL);
    int client = web_http_connect(&web, 0);
    (void)web_http_say(&web, client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    (void)uv_run(&web.loop, UV_RUN_ONCE);
    (void)uv_run(&web.loop, UV_RUN_NOWAIT);
    assert_int_equal(http_server_connections(web.server), 0);
    assert_int_equal(uv_run(&web.loop, UV_RUN_NOWAIT) != 0, 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    web_http_assert_has(web_http_read_answer(&web, client, false), " 200 ");
    (void)close(client);
    web_http_stop(&web);
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
    (void)close(client);
    web_http_await_connections(web, 0);

    web->manner = WEB_HTTP_STREAM;
    client = web_http_connect(web, 0);
    (void)web_http_say(web, client, get);
    (void)web_http_read(web, client, "\r\n\r\n");
    if (web->stream != NULL) {
        (void)http_stream_send(web->stream, "data: x\n\n", 9);
        (void)web_http_read(web, client, "x\n\n");
    }
    (void)close(client);
    web_http_await_connections(web, 0);
}

/* Each request for memory fails once: what needs it is closed, nothing is lost or left behind, and
 * the next client is served. */
TEST(test_no_memory)
{
    struct web_http web;
    web_http_start(&web, NULL);
    size_t live = web.alloc.live_bytes;
    for (size_t n = 1;; n++) {
        fail_alloc_arm(&web.alloc, n);
        use_all(&web);
        if (web.alloc.requests < n) {
            assert_true(n > 10);
            break;
        }
        fail_alloc_arm(&web.alloc, 0);
        assert_int_equal(web.alloc.live_bytes, live);
        web.manner = WEB_HTTP_NOW;
        web_http_assert_has(web_http_exchange(&web, hostiles[0].bytes, hostiles[0].count), " 200 ");
        web_http_await_connections(&web, 0);
    }
    web_http_stop(&web);
}

/* A server that cannot begin leaves the listening socket with its caller. */
TEST(test_no_memory_to_begin)
{
    struct web_http web;
    char reason[REASON_BYTES] = "";
    struct http_server *server = NULL;
    struct http_listener listener = {.descriptor = 0};
    struct http_options options = {
        .loop = &web.loop, .listeners = &listener, .listener_count = 1, .connections = 1};
    web_http_start(&web, NULL);
    fail_alloc_arm(&web.alloc, 1);
    assert_int_equal(http_server_new(&options, &server, reason), -ERR_NOMEM);
    assert_null(server);
    web_http_stop(&web);
}
