/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <microhttpd.h>

#include "client/web/http_inner.h"
#include "daemon/system/list.h"

enum {
    REFUSAL_RETRY_SECONDS = 5,
    TRIM_CONNECTIONS = 32 /* that have ended: 500 KB of memory or more */
};

void http_connection_free(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    http_exchange_end(&connection->exchange);
    http_connection_leave(connection);
    server->closing_count -= connection->is_closing;
    server->connection_count--;
    server->ended_count++;
    DL_DELETE(server->connections, connection);
    alloc_release(server->alloc, connection);
}

size_t http_server_connections(const struct http_server *server)
{
    return server->connection_count;
}

bool http_server_may_trim(const struct http_server *server)
{
    return server->ended_count >= TRIM_CONNECTIONS;
}

void http_server_trim(struct http_server *server)
{
    if (!http_server_may_trim(server)) {
        return;
    }
    server->ended_count = 0;
#ifdef __GLIBC__
    (void)malloc_trim(0); /* else the memory of 256 pages at once stays for ever */
#endif
}

void http_server_reap(struct http_server *server)
{
    struct http_connection *connection = server->has_ended ? server->connections : NULL;
    server->has_ended = false;
    while (connection != NULL) {
        struct http_connection *next = connection->next;
        if (connection->is_ours && connection->is_closing) {
            (void)close(connection->descriptor);
            http_connection_free(connection);
        }
        connection = next;
    }
}

/* Adds a header; a value of NULL adds none. False: memory is out, or the value has a line end. */
static bool response_add(struct MHD_Response *response, const char *name, const char *value)
{
    return value == NULL || MHD_add_response_header(response, name, value) == MHD_YES;
}

/* Adds the headers that all answers have. */
static bool response_add_common(struct MHD_Response *response)
{
    for (size_t i = 0; i < HTTP_COMMON_HEADERS; i++) {
        const struct http_header *header = &http_common_headers[i];
        if (!response_add(response, header->name, header->value)) {
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
           response_add(response, "Vary",
                        answer->encoding == NULL ? answer->vary : "Accept-Encoding") &&
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
                                  struct MHD_Response *response, size_t bytes)
{
    struct http_server *server = exchange->connection->server;
    exchange->is_answered = true;
    exchange->status = status;
    http_figures_note(&server->figures, status, exchange->began_ns);
    exchange->response = response;
    exchange->answer_bytes = response == NULL ? 0 : bytes;
    server->answer_bytes += exchange->answer_bytes;
    if (response == NULL) {
        http_connection_close(exchange->connection);
    }
    http_connection_resume(exchange->connection);
    http_server_bound_answers(server, exchange->connection);
}

void http_answer(struct http_exchange *exchange, const struct http_answer *answer)
{
    assert(!exchange->is_answered);
    exchange_set_response(exchange, answer->status, response_new(answer),
                          answer->is_static ? 0 : answer->body_bytes);
}

void http_exchange_refuse(struct http_exchange *exchange, unsigned status, const char *sentence)
{
    struct http_answer answer = http_text(status, sentence);
    answer.retry_after_s = status == MHD_HTTP_TOO_MANY_REQUESTS ? REFUSAL_RETRY_SECONDS : 0;
    struct MHD_Response *response = response_new(&answer);
    const char *allowed = status == MHD_HTTP_METHOD_NOT_ALLOWED ? "GET, HEAD, POST" : NULL;
    if (response != NULL && (!response_add(response, "Connection", "close") ||
                             !response_add(response, "Allow", allowed))) {
        MHD_destroy_response(response);
        response = NULL;
    }
    exchange_set_response(exchange, status, response, 0);
}

bool http_exchange_queue(struct http_exchange *exchange)
{
    struct http_connection *connection = exchange->connection;
    if (exchange->stream != NULL && !connection->is_closing) {
        http_stream_take_over(exchange->stream);
        return false; /* MHD closes its descriptor */
    }
    if (exchange->response == NULL || connection->is_closing) {
        return false;
    }
    connection->phase = HTTP_PHASE_ANSWERING;
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

/* Tells the program that a request or stream has ended without it. */
static void exchange_report_end(struct http_exchange *exchange)
{
    const struct http_options *options = &exchange->connection->server->options;
    struct http_stream *stream = exchange->stream;
    if (stream != NULL) {
        exchange->stream = NULL;
        stream->closed(stream->context);
        http_stream_free(stream);
    } else if (exchange->connection->phase == HTTP_PHASE_WAITING && !exchange->is_answered) {
        options->gone(options->context, exchange);
    }
}

void http_exchange_end(struct http_exchange *exchange)
{
    struct http_connection *connection = exchange->connection;
    const struct alloc *alloc = connection->server->alloc;
    exchange_report_end(exchange);
    connection->server->answer_bytes -= exchange->answer_bytes;
    if (exchange->response != NULL) {
        MHD_destroy_response(exchange->response);
    }
    alloc_release(alloc, exchange->target);
    alloc_release(alloc, exchange->body);
    *exchange = (struct http_exchange){.connection = connection};
}
