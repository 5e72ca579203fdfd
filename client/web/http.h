/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http: the seam between hearsay-web and the library that speaks HTTP (http_mhd.c). Requests come
 * in through one callback. Each is answered once, at once or later. Functions are called on the
 * loop's thread.
 *
 * A request that reaches the callback has passed these checks; all others are answered here:
 *   - the method is GET, HEAD or POST                                                   else 405
 *   - there is exactly one Host header, and at most one Content-Length                   else 400
 *   - the target begins with '/' and is in ASCII without controls                       else 400
 *   - the target has at most HTTP_TARGET_BYTES                                          else 414
 *   - there is no Transfer-Encoding                                                     else 501
 *   - head and body came within HTTP_REQUEST_SECONDS                                 else closed
 *   - the head has at most HTTP_HEAD_BYTES                                              else 431
 *   - names and values of headers are well-formed, each line as "Name: value", CR, LF   else 400
 *   - the body has at most HTTP_BODY_BYTES                                              else 413
 *   - the client is one that `allows` lets connect                                  else closed
 *   - the client's address has no more connections than it may                       else closed
 *     (behind a proxy: 429)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <uv.h>

enum {
    HTTP_TARGET_BYTES = 1024,
    HTTP_HEAD_BYTES = 3 * 1024,
    HTTP_BODY_BYTES = 16 * 1024,
    HTTP_REQUEST_SECONDS = 10, /* for head and body together */
    HTTP_ANSWER_SECONDS = 30,  /* for the client to take an answer */
    HTTP_LISTENERS_MAX = 8,
    HTTP_STREAM_BYTES = 16 * 1024, /* most bytes that wait for one stream's client */
    HTTP_POOL_BYTES = 6 * 1024,    /* of MHD for a connection: both heads, 25 headers of 64 bytes */
    /* What the kernel may keep for one client, of each direction; it takes twice that. */
    HTTP_SEND_BYTES = 16 * 1024,
    HTTP_RECEIVE_BYTES = 8 * 1024,
    /* Answers that clients have not taken yet: together as much for each connection, or one MiB. */
    HTTP_ANSWER_BYTES = 16 * 1024,
    HTTP_ANSWERS_LEAST = 1024 * 1024
};

struct devices;

/* The client of a request. */
struct http_address {
    uint8_t family;    /* 4 or 6 */
    uint8_t bytes[16]; /* of IPv4 the first 4 */
    bool has_local;    /* `local` is known: of IPv6 */
    uint8_t local[16]; /* our end of the connection */
    /* Number of the device behind the address, by which limits of a sender count; 0: not known, so
     * that the address counts, or for IPv6 from further away its /64. */
    uint64_t device;
    bool is_hidden; /* on link, but its device cannot be seen: its /64 counts as one sender */
};

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST };

/* Borrowed until the request is answered. A header that is not there is NULL. */
struct http_request {
    enum http_method method;
    const char *path;  /* up to the '?', as sent */
    const char *query; /* behind the '?', as sent; "" without one */
    const char *host;
    const char *origin;
    const char *content_type;
    const char *accept;
    const char *accept_language;
    const char *accept_encoding;
    const char *last_event_id;
    const char *body; /* body_bytes, with a NUL behind them; "" without a body */
    size_t body_bytes;
    struct http_address client; /* behind a proxy: the address that the proxy tells */
    bool is_metrics;            /* of its listener */
};

/* A request that waits for its answer. */
struct http_exchange;

/* An answer. Strings are borrowed for the call of http_answer; NULL: no such header. */
struct http_answer {
    unsigned status;
    const char *type;       /* Content-Type */
    const char *encoding;   /* Content-Encoding */
    const char *location;   /* Location */
    const char *vary;       /* Vary; not with an encoding */
    uint32_t retry_after_s; /* Retry-After; 0: none */
    uint32_t max_age_s;     /* Cache-Control: max-age; 0: no-store */
    const void *body;       /* copied; of a HEAD only its length is sent */
    size_t body_bytes;
    bool is_static; /* the body stays in place for ever and is not copied */
    bool is_given;  /* the body is not copied, and http_answer or its end calls free */
};

/* An answer that does not end: Server-Sent Events. */
struct http_stream;

/* The client has gone, or the stream was closed for what waits. The stream is freed when the call
 * returns. */
typedef void http_stream_closed(void *context);

struct http_listener {
    int descriptor;  /* a listening socket, taken */
    bool is_proxied; /* the client's address is the last of the only X-Forwarded-For, else 400 */
    bool is_metrics; /* requests say that they came here */
    bool by_address; /* limits count addresses, not the devices behind them */
};

enum { HTTP_STATUSES = 20, HTTP_BOUNDS = 6 };

/* What the server has counted since the start. */
struct http_figures {
    uint64_t refused;                /* connections that a limit closed */
    uint64_t answers[HTTP_STATUSES]; /* by http_status */
    /* From a whole request to its answer, without streams. */
    uint64_t requests;
    uint64_t sum_us;
    uint64_t within[HTTP_BOUNDS]; /* those of at most http_bound_us */
};

struct http_options {
    uv_loop_t *loop; /* borrowed */
    const struct http_listener *listeners;
    size_t listener_count;            /* 1 .. HTTP_LISTENERS_MAX */
    unsigned connections;             /* of all clients; whoever has most gives way to a newcomer */
    unsigned connections_per_address; /* off link, a /64 of IPv6 is one address */
    struct devices *devices;          /* borrowed: tells devices; NULL: none is known */
    /* Whether a client that no proxy stands before may connect; NULL: all may. */
    bool (*allows)(void *context, const struct http_address *client);
    /* A request has come. Answers with http_answer or http_stream_begin, now or later. */
    void (*request)(void *context, struct http_exchange *exchange,
                    const struct http_request *request);
    /* The client of a request that is not answered has gone; it must not be answered any more. */
    void (*gone)(void *context, struct http_exchange *exchange);
    void *context;
};

struct http_server;

/* Begins to serve. 0, -ERR_NOMEM, or -ERR_SYSTEM with a sentence in out_reason (REASON_BYTES). */
int http_server_new(const struct http_options *options, struct http_server **out_server,
                    char *out_reason);

/* Closes all connections and listeners; `gone` and `closed` are called where they apply. The loop
 * must run until nothing is left under way, and http_server_free called then. */
void http_server_stop(struct http_server *server);
void http_server_free(struct http_server *server); /* NULL is fine */

/* The most memory that the program and the kernel use for this many connections. */
uint64_t http_memory_most(unsigned connections);

/* Connections that are open. */
size_t http_server_connections(const struct http_server *server);

/* Borrowed from the server. */
const struct http_figures *http_server_figures(const struct http_server *server);

/* A status that is counted by itself; of the last one 0: all other statuses. */
unsigned http_status(size_t i);

/* An upper bound of `within`, in microseconds; ascending. */
uint64_t http_bound_us(size_t i);

/* Answers a request, with the headers that every answer of hearsay-web has. Cannot fail: where
 * memory is out, the connection is closed. */
void http_answer(struct http_exchange *exchange, const struct http_answer *answer);

/* An answer with a literal as its text. */
static inline struct http_answer http_text(unsigned status, const char *text)
{
    return (struct http_answer){.status = status,
                                .type = "text/plain; charset=utf-8",
                                .body = text,
                                .body_bytes = strlen(text),
                                .is_static = true};
}

/* Keeps what belongs to a request until it is answered. */
void http_exchange_set_context(struct http_exchange *exchange, void *context);
void *http_exchange_context(const struct http_exchange *exchange);

/*
 * Answers a request with a stream of events. NULL: no memory, and the connection is closed.
 */
struct http_stream *http_stream_begin(struct http_exchange *exchange, http_stream_closed *closed,
                                      void *context);

/* Sends bytes, which are copied. False: more than HTTP_STREAM_BYTES wait, or memory is out: then
 * the stream is closed when the loop turns, and `closed` is called. */
bool http_stream_send(struct http_stream *stream, const void *bytes, size_t count);

/* Closes the stream when the loop turns, and throws away what waits. Then `closed` is called. */
void http_stream_abort(struct http_stream *stream);

/* Ends the stream. `closed` is called when the client has taken what waits, HTTP_ANSWER_SECONDS
 * later at most. */
void http_stream_end(struct http_stream *stream);
