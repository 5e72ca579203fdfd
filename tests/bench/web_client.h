/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_client: many HTTP/1.1 connections to one server on loopback, from one thread, with epoll.
 * Each connection comes from an address of its own choice in 127.0.0.0/8, has at most one request
 * under way, and is either kept open for the next request or reads a stream of events.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEB_BODY_MAX = 1024 * 1024 };

struct web_answer {
    int status; /* 0: the connection ended, or could not be made, before a whole answer came */
    const char *body; /* ended by zero; valid until the callback returns */
    size_t bytes;
    uint32_t retry_after_s; /* by Retry-After; 0: no such header */
    bool has_ended;         /* the connection is closed */
};

/*
 * The callbacks may call web_send, web_close and nothing else of the client. `number` is the
 * connection. `on_line` gets each line of a stream, without its end; a stream that ends, or that
 * the server refuses, is reported to `on_answer`.
 */
struct web_events {
    void (*on_answer)(void *context, size_t number, const struct web_answer *answer);
    void (*on_line)(void *context, size_t number, const char *line);
};

struct web_client;

/*
 * Makes a client with `count` connections, all closed. `events` and `context` are borrowed until
 * web_client_free. Returns NULL after a message on standard error.
 */
struct web_client *web_client_new(uint16_t port, size_t count, const struct web_events *events,
                                  void *context);
void web_client_free(struct web_client *client); /* NULL is fine */

/* Connections that are opened from now on go to another port. */
void web_client_use_port(struct web_client *client, uint16_t port);

struct web_request {
    uint32_t source;  /* the address to come from, such as 0x7f000001; of a new connection only */
    const char *text; /* the whole request with its head; copied */
    size_t bytes;
    bool is_stream; /* the answer is a stream of events */
};

/*
 * Sends a request on a connection, and opens the connection first if it is closed. The connection
 * must have no request under way. An error is reported to `on_answer` by the next web_wait.
 */
void web_send(struct web_client *client, size_t number, const struct web_request *request);

/* Closes a connection. Does not call `on_answer`. */
void web_close(struct web_client *client, size_t number);

/* True: a request or a stream is under way. */
bool web_is_busy(const struct web_client *client, size_t number);

/* Calls the callbacks until the time of stats_now_ns, or until one event or more has come. */
void web_wait(struct web_client *client, int64_t until_ns);
