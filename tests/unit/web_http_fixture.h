/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_http_fixture: the HTTP server of hearsay-web on a loopback port, and clients with raw
 * sockets, all on one loop and one thread. Time moves on when a test says so
 * (web_http_pass); the server's memory is counted, and fails when a test says so.
 */
#pragma once

#include "client/web/http.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"

#include <uv.h>

enum {
    WEB_HTTP_TEXT_BYTES = 64 * 1024,
    WEB_HTTP_CLIENTS = 512, /* that are open at a time, at most */
    WEB_HTTP_IPV6 = 0x10000 /* for web_http_connect */
};

/* What the program does with a request. */
enum web_http_manner {
    WEB_HTTP_NOW,   /* answers with a text that tells the request */
    WEB_HTTP_LATER, /* keeps it in `waiting` */
    WEB_HTTP_STREAM /* begins a stream, kept in `stream` */
};

struct web_http {
    uv_loop_t loop;
    struct http_server *server;
    struct fail_alloc alloc;
    uint16_t port;
    char path[64]; /* of the Unix socket, where the listener has one */
    enum web_http_manner manner;
    const void *body; /* of answers; NULL: a text that tells the request */
    size_t body_bytes;
    struct http_exchange *waiting;
    struct http_stream *stream;
    struct http_address client; /* of the last request */
    size_t request_count, gone_count, closed_count;
    int clients[WEB_HTTP_CLIENTS]; /* that are open */
    size_t client_count;
};

struct web_http_setup {
    bool is_proxied;
    int family; /* AF_INET, AF_INET6 or AF_UNIX; 0: AF_INET */
    unsigned connections;
    unsigned connections_per_address; /* 0: as many as in all */
};

/* Begins to serve. NULL for what `setup` has: 64 connections. */
void web_http_start(struct web_http *web, const struct web_http_setup *setup);

/* Stops, and checks that the server holds no memory and the loop no handle. */
void web_http_stop(struct web_http *web);

/* The same; before, closes all clients, and the server has to notice. */
void web_http_finish(struct web_http *web);

/* A test with a server that was begun without a set-up, and is finished afterwards. */
#define WEB_HTTP_TEST(name) TEST_OF(name, struct web_http *web, web_http_set_up, web_http_tear_down)
int web_http_set_up(void **state);
int web_http_tear_down(void **state);

/* Lets the server's time go on. */
void web_http_pass(unsigned ms);

/* From now on all sockets together take `most` bytes; SIZE_MAX, as after web_http_start: any. */
void web_http_let_send(size_t most);

/* Lets the server do all that it can do without waiting. */
void web_http_settle(struct web_http *web);

/* Runs the loop until the counter is `count`. */
void web_http_await(struct web_http *web, const size_t *counter, size_t count);

/* The same for the server's connections. */
void web_http_await_connections(struct web_http *web, size_t count);

/* A client's connection, from 127.0.0.`last`; 0: any; WEB_HTTP_IPV6: from ::1. */
int web_http_connect(struct web_http *web, unsigned last);
void web_http_close(struct web_http *web, int client);

/* Connects and sends a GET without anything: see web_http_connect for `last`. */
int web_http_ask(struct web_http *web, unsigned last);

/* The same, and the request is in `waiting`; or its stream, whose head is read, in `stream`. */
int web_http_ask_later(struct web_http *web);
int web_http_begin_stream(struct web_http *web);

/* Sends while the server runs. False: the server has closed the connection. */
bool web_http_send(struct web_http *web, int client, const void *bytes, size_t count);
bool web_http_say(struct web_http *web, int client, const char *text);

/* Reads until the text has `end` (NULL: until the server closes). Returns a text that lives until
 * the next call. A closed connection ends the text. */
const char *web_http_read(struct web_http *web, int client, const char *end);

/* Reads one answer with a Content-Length. */
const char *web_http_read_answer(struct web_http *web, int client, bool is_head);

/* Connects, sends, reads until the server closes. */
const char *web_http_exchange(struct web_http *web, const void *bytes, size_t count);

/* Fails when a text does not have a part. */
void web_http_assert_has(const char *text, const char *part);
