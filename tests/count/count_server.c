/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/count/count_server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "proto/codec/codec.h"
#include "tests/count/count.h"
#include "tests/count/count_store.h"
#include "tests/lib/loop_fixture.h"

enum { READ_BYTES = 64 * 1024 };

/* Room for the works with most messages, and no answer of the store for lack of it. */
static const char *const limits[][2] = {
    {"messages", "1000000"}, {"bytes", "1G"}, {"cache", "256M"}};

static void set_config(struct count_server *server)
{
    char reason[CONFIG_REASON_BYTES];

    config_defaults(&server->config);
    (void)snprintf(server->config.data, sizeof(server->config.data), "/nowhere");
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (config_set(&server->config, "count", "limits", limits[i][0], limits[i][1], reason) !=
            0) {
            count_fail("%s", reason);
        }
    }
    if (config_finish(&server->config, reason) != 0) {
        count_fail("%s", reason);
    }
}

static struct count_server *new_server(void)
{
    struct count_server *server = calloc(1, sizeof(*server));

    if (server == NULL) {
        count_fail("memory is short");
    }
    (void)signal(SIGPIPE, SIG_IGN); /* as in main.c */
    log_set_level(LOG_LEVEL_WARNING);
    fake_clock_init(&server->clock);
    server->clock.is_single = true;
    set_config(server);
    return server;
}

struct service *count_service_new(struct count_server *server, struct persist *persist)
{
    struct service_options options = fake_clock_options(&server->clock);
    struct service *service = NULL;
    char reason[CONFIG_REASON_BYTES] = "";

    options.alloc = alloc_system();
    options.config = &server->config;
    options.persist = persist;
    if (handler_open(&options, &service, reason) != 0) {
        count_fail("%s", reason);
    }
    return service;
}

static void on_check(uv_check_t *handle)
{
    server_turn(handle->data);
}

static void start_loop(struct count_server *count)
{
    struct server *server = &count->server;

    server->alloc = alloc_system();
    server->lock = -1;
    server->store_closing = true; /* the store is the work's: sessions that go do not end it */
    if (loop_init(&server->loop) != 0) {
        count_fail("there is no loop");
    }
    sessions_init(&server->sessions, &server->loop, server->alloc, server->service, &server->tls);
    server_open_home(server);
    (void)uv_timer_init(&server->loop.uv, &server->waits);
    (void)uv_check_init(&server->loop.uv, &server->check);
    server->check.data = server;
    (void)uv_check_start(&server->check, on_check);
}

static void connect_client(struct count_server *count, const char *directory)
{
    struct config_listener config = {.kind = CONFIG_LISTENER_UNIX};
    struct hearsay_request hello = {
        .id = 1, .kind = HEARSAY_REQUEST_HELLO, .hello = {.versions = {1}, .version_count = 1}};
    char reason[CONFIG_REASON_BYTES] = "";
    struct bytes frame;

    (void)snprintf(config.path, sizeof(config.path), "%s/socket", directory);
    if (listener_bind(&count->server.listeners[0], &count->server.home, &config, reason) != 0) {
        count_fail("%s", reason);
    }
    count->server.listener_count = 1;
    count->client = loop_connect_unix(config.path);
    bytes_init(&frame, alloc_system());
    if (count->client < 0 || codec_encode_request(&hello, LIMIT_FRAME_BYTES_MAX, &frame) != 0) {
        count_fail("the client cannot connect");
    }
    count_server_exchange(count, &frame, 1);
    bytes_deinit(&frame);
}

struct count_server *count_server_new(const char *directory, struct persist *persist)
{
    struct count_server *server = new_server();

    server->server.persist = persist;
    server->server.service = count_service_new(server, persist);
    start_loop(server);
    connect_client(server, directory);
    return server;
}

/* --- the client ------------------------------------------------------------------------------- */

/* What the client has of the frame that is coming in. */
struct incoming {
    uint8_t header[LIMIT_FRAME_HEADER_BYTES];
    size_t header_count;
    size_t left; /* of the frame, behind the header */
};

/* Returns how many frames end in these bytes. */
static size_t count_frames(struct incoming *incoming, const uint8_t *bytes, size_t count)
{
    size_t frames = 0;

    while (count > 0) {
        if (incoming->header_count < sizeof(incoming->header)) {
            incoming->header[incoming->header_count++] = *bytes++;
            count--;
            if (incoming->header_count == sizeof(incoming->header)) {
                incoming->left = (size_t)incoming->header[0] << 24 |
                                 (size_t)incoming->header[1] << 16 |
                                 (size_t)incoming->header[2] << 8 | incoming->header[3];
            }
        } else {
            size_t taken = count < incoming->left ? count : incoming->left;

            bytes += taken;
            count -= taken;
            incoming->left -= taken;
        }
        if (incoming->header_count == sizeof(incoming->header) && incoming->left == 0) {
            incoming->header_count = 0;
            frames++;
        }
    }
    return frames;
}

static size_t receive_frames(struct count_server *server, struct incoming *incoming)
{
    static uint8_t input[READ_BYTES];
    ssize_t count = recv(server->client, input, sizeof(input), MSG_DONTWAIT);

    if (count == 0 || (count < 0 && errno != EAGAIN)) {
        count_fail("the server has dropped its client");
    }
    return count > 0 ? count_frames(incoming, input, (size_t)count) : 0;
}

void count_server_exchange(struct count_server *server, const struct bytes *frames, size_t answers)
{
    enum { QUIET_MAX = 100000 };
    struct incoming incoming = {.header_count = 0};
    size_t waited = 0;
    size_t sent = 0;
    size_t had = 0;

    while (had < answers) {
        ssize_t count = sent == frames->count
                            ? 0
                            : send(server->client, frames->data + sent, frames->count - sent,
                                   MSG_NOSIGNAL | MSG_DONTWAIT);

        sent += count > 0 ? (size_t)count : 0;
        (void)uv_run(&server->server.loop.uv, UV_RUN_NOWAIT);
        size_t ready = receive_frames(server, &incoming);
        had += ready;
        if (ready == 0 && count <= 0 && server->server.persist != NULL &&
            count_store_waiting(server->server.persist) > 0) {
            count_store_commit(server->server.persist);
        }
        waited = ready == 0 && count <= 0 ? waited + 1 : 0;
        if (waited == QUIET_MAX) {
            count_fail("%zu of %zu answers have come", had, answers);
        }
    }
}
