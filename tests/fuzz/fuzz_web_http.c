/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server of hearsay-web: bytes of a client, in pieces, pass through libmicrohttpd to a
 * program that answers at once, later, or with a stream. Properties: a request that the program is
 * given keeps what http.h promises of it, each answer is one of HTTP/1, and no connection is left
 * when the client has gone.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <uv.h>

#include "client/web/http.h"
#include "daemon/system/reason.h"
#include "tests/fuzz/fuzz.h"

enum { PIECES = 6, PIECE_BYTES_MAX = 4096, TURNS_MAX = 10000 };

static struct {
    uv_loop_t loop;
    struct http_server *server;
    struct sockaddr_un place;
    struct http_exchange *later; /* is not answered yet */
    struct http_stream *stream;
    unsigned answers; /* how the next request is answered follows from it */
} world;

static void on_stream_closed(void *context)
{
    (void)context;
    world.stream = NULL;
}

static void check_request(const struct http_request *request)
{
    FUZZ_CHECK(request->path[0] == '/' && request->host != NULL && request->query != NULL);
    FUZZ_CHECK(strlen(request->path) + strlen(request->query) <= HTTP_TARGET_BYTES);
    for (const char *c = request->path; *c != '\0'; c++) {
        FUZZ_CHECK(*c > ' ' && *c < 0x7f);
    }
    FUZZ_CHECK(strpbrk(request->host, "\r\n") == NULL);
    FUZZ_CHECK(request->body_bytes <= HTTP_BODY_BYTES);
    FUZZ_CHECK(request->body[request->body_bytes] == '\0');
    FUZZ_CHECK(request->method == HTTP_POST || request->body_bytes == 0);
    FUZZ_CHECK(request->client.family == 4 || request->client.family == 6);
}

static void on_request(void *context, struct http_exchange *exchange,
                       const struct http_request *request)
{

    (void)context;
    check_request(request);
    world.answers++;
    if (world.answers % 3 == 1 && world.later == NULL) {
        world.later = exchange;
    } else if (world.answers % 3 == 2 && world.stream == NULL) {
        world.stream = http_stream_begin(exchange, on_stream_closed, NULL);
        if (world.stream != NULL) {
            (void)http_stream_send(world.stream, "data: x\n\n", 9);
        }
    } else {
        http_answer(exchange, &(struct http_answer){.status = 200,
                                                    .type = "text/plain",
                                                    .body = request->path,
                                                    .body_bytes = strlen(request->path)});
    }
}

static void on_gone(void *context, struct http_exchange *exchange)
{
    (void)context;
    if (world.later == exchange) {
        world.later = NULL;
    }
}

/* Once a process: a server outlives its clients. Its clients have their addresses of a proxy. */
static void begin(void)
{
    char reason[REASON_BYTES];
    struct http_listener listener = {.is_proxied = true};

    if (world.server != NULL) {
        return;
    }
    FUZZ_CHECK(uv_loop_init(&world.loop) == 0);
    world.place.sun_family = AF_UNIX;
    (void)snprintf(world.place.sun_path + 1, sizeof world.place.sun_path - 1, "fuzz-web-http-%d",
                   (int)getpid());
    listener.descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    FUZZ_CHECK(bind(listener.descriptor, (struct sockaddr *)&world.place, sizeof world.place) == 0);
    FUZZ_CHECK(listen(listener.descriptor, 64) == 0);
    const struct http_options options = {.loop = &world.loop,
                                         .listeners = &listener,
                                         .listener_count = 1,
                                         .connections = 8,
                                         .connections_per_address = 4,
                                         .request = on_request,
                                         .gone = on_gone};
    FUZZ_CHECK(http_server_new(&options, &world.server, reason) == 0);
}

/* A turn of the loop, and what the server has sent until now. */
static void turn(int client, size_t *received)
{
    char bytes[4096];
    ssize_t count;

    (void)uv_run(&world.loop, UV_RUN_NOWAIT);
    while ((count = recv(client, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
        FUZZ_CHECK(*received > 0 || (count >= 7 && memcmp(bytes, "HTTP/1.", 7) == 0));
        *received += (size_t)count;
    }
}

static void answer_later(unsigned status)
{
    struct http_exchange *exchange = world.later;

    world.later = NULL;
    if (exchange != NULL) {
        http_answer(exchange,
                    &(struct http_answer){.status = status, .type = "text/plain", .body = ""});
    }
}

static void put_pieces(int client, struct fuzz_input *input, size_t *received)
{
    for (int i = 0; i < PIECES && input->left > 0; i++) {
        size_t most = i + 1 == PIECES ? input->left : 1 + fuzz_u16(input) % PIECE_BYTES_MAX;
        size_t count = 0;
        const uint8_t *bytes = fuzz_bytes(input, most, &count);

        (void)send(client, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        turn(client, received);
        if (i % 2 == 1) {
            answer_later(200);
        }
        if (i % 3 == 2 && world.stream != NULL) {
            (void)http_stream_send(world.stream, "data: y\n\n", 9);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    size_t received = 0;

    begin();
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FUZZ_CHECK(client >= 0);
    world.answers = fuzz_byte(&input);
    FUZZ_CHECK(connect(client, (struct sockaddr *)&world.place, sizeof world.place) == 0);
    put_pieces(client, &input, &received);
    (void)shutdown(client, SHUT_WR);
    turn(client, &received);
    if (world.stream != NULL) {
        http_stream_end(world.stream);
    }
    answer_later(503);
    turn(client, &received);
    (void)close(client);
    for (int i = 0; i < TURNS_MAX && http_server_connections(world.server) > 0; i++) {
        (void)uv_run(&world.loop, UV_RUN_NOWAIT);
        answer_later(503);
    }
    FUZZ_CHECK(http_server_connections(world.server) == 0);
    return 0;
}
