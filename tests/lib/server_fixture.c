/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/server_fixture.h"

#include <poll.h>
#include <signal.h>

#include "daemon/system/list.h"
#include "tests/lib/check.h"
#include "tests/lib/keep_alloc.h"
#include "tests/lib/plain_request.h"

enum { FILTER_BYTES = 64, PAYLOAD_BYTES = 1000 };

struct server_fixture *server_fixture_new(void)
{
    struct server_fixture *fixture = alloc_zeroed(keep_alloc(), 1, sizeof(*fixture));

    assert_non_null(fixture);
    (void)signal(SIGPIPE, SIG_IGN); /* as in main.c */
    fake_clock_init(&fixture->clock);
    fixture->clock.is_single = true;
    config_defaults(&fixture->config);
    (void)snprintf(fixture->config.data, sizeof(fixture->config.data), "/nonexistent");
    assert_int_equal(config_finish(&fixture->config, fixture->reason), 0);
    fixture->persist = fake_persist_new();
    fixture->service_alloc = alloc_system();
    fail_alloc_init(&fixture->alloc);
    return fixture;
}

void server_fixture_make_directory(struct server_fixture *fixture)
{
    loop_directory_make(fixture->directory);
    (void)snprintf(fixture->path, sizeof(fixture->path), "%s/socket", fixture->directory);
}

static void on_check(uv_check_t *handle)
{
    server_turn(handle->data);
}

static void listen_on_path(struct server_fixture *fixture)
{
    struct server *server = &fixture->server;
    struct config_listener config = {.kind = CONFIG_LISTENER_UNIX};

    server_fixture_make_directory(fixture);
    (void)snprintf(config.path, sizeof(config.path), "%s", fixture->path);
    assert_int_equal(listener_bind(&server->listeners[0], &server->home, &config, fixture->reason),
                     0);
    server->listener_count = 1;
}

void server_fixture_start(struct server_fixture *fixture, bool listens)
{
    struct server *server = &fixture->server;
    struct service_options options = fake_clock_options(&fixture->clock);

    options.alloc = fixture->service_alloc;
    options.config = &fixture->config;
    options.persist = fixture->persist;
    server->alloc = &fixture->alloc.alloc;
    server->lock = -1;
    server->persist = fixture->persist;
    server->store_closing = true; /* the store is the test's: sessions that go do not end it */
    assert_int_equal(handler_open(&options, &server->service, fixture->reason), 0);
    assert_int_equal(loop_init(&server->loop), 0);
    sessions_init(&server->sessions, &server->loop, server->alloc, server->service, &server->tls);
    server_open_home(server);
    assert_int_equal(uv_timer_init(&server->loop.uv, &server->waits), 0);
    assert_int_equal(uv_check_init(&server->loop.uv, &server->check), 0);
    server->check.data = server;
    assert_int_equal(uv_check_start(&server->check, on_check), 0);
    if (listens) {
        listen_on_path(fixture);
    }
}

void server_fixture_free(struct server_fixture *fixture)
{
    struct server *server = &fixture->server;
    fail_alloc_arm(&fixture->alloc, 0);
    sessions_close(&server->sessions);
    for (size_t i = 0; i < server->listener_count; i++) {
        listener_close(&server->listeners[i]);
    }
    while (fake_persist_commit(fixture->persist) + fake_persist_answer_reads(fixture->persist) >
           0) {
    }
    server_fixture_await_sessions(fixture, 0);
    assert_null(server->loop.ready);
    assert_null(server->loop.dirty);
    assert_int_equal(server->sessions.output_bytes, 0);
    assert_int_equal(server->service->working, 0);
    assert_int_equal(server->service->writing_bytes, 0);
    assert_int_equal(handler_searches_under_way(server->service), 0);
    loop_close_handles(&server->loop);
    uv_close((uv_handle_t *)&server->check, NULL);
    uv_close((uv_handle_t *)&server->waits, NULL);
    loop_close(&server->loop.uv);
    handler_close(server->service);
    sessions_deinit(&server->sessions);
    assert_int_equal(fixture->alloc.live_blocks, 0);
    fake_persist_free(fixture->persist);
    if (fixture->directory[0] != '\0') {
        loop_directory_remove(fixture->directory);
    }
    alloc_release(keep_alloc(), fixture);
}

void server_fixture_turn(struct server_fixture *fixture, const struct peer *peer)
{
    if (fixture->server.loop.dirty != NULL) { /* by the test's doing: no event to wait for */
        (void)uv_run(&fixture->server.loop.uv, UV_RUN_NOWAIT);
    } else {
        loop_turn(&fixture->server.loop.uv, peer != NULL ? peer->fd : -1, POLLIN);
    }
}

struct session *server_fixture_connect(struct server_fixture *fixture, struct peer *out_peer)
{
    const uint64_t number = fixture->server.sessions.total;

    peer_init(out_peer, loop_connect_unix(fixture->path));
    assert_true(out_peer->fd >= 0);
    while (fixture->server.sessions.total == number) {
        server_fixture_turn(fixture, NULL);
    }
    return DL_LAST(fixture->server.sessions.first);
}

struct session *server_fixture_greet(struct server_fixture *fixture, struct peer *out_peer)
{
    struct session *session = server_fixture_connect(fixture, out_peer);
    struct hearsay_response response;

    peer_put_hello(out_peer);
    peer_send(out_peer, &fixture->server.loop.uv);
    assert_true(peer_await(out_peer, &fixture->server.loop.uv, &response));
    assert_int_equal(response.kind, HEARSAY_RESPONSE_WELCOME);
    assert_int_equal(session->state, SESSION_OPEN);
    return session;
}

void server_fixture_await_sessions(struct server_fixture *fixture, size_t count)
{
    while (fixture->server.sessions.count > count) {
        server_fixture_turn(fixture, NULL);
    }
    assert_int_equal(fixture->server.sessions.count, count);
}

/* --- requests --------------------------------------------------------------------------------- */

static const uint8_t *make_filter(uint8_t number)
{
    static uint8_t filter[FILTER_BYTES];

    memset(filter, 0, sizeof(filter));
    for (unsigned p = number; p < number + 10U; p++) {
        filter[p / 8] |= (uint8_t)(1U << p % 8);
    }
    return filter;
}

const struct hearsay_request *server_fixture_deposit(uint64_t id, uint8_t number)
{
    static const uint8_t payload[PAYLOAD_BYTES] = "the second window";
    static uint8_t message_id[MESSAGE_ID_BYTES];
    static struct hearsay_request request;

    message_id[0] = number;
    request = (struct hearsay_request){.id = id, .kind = HEARSAY_REQUEST_DEPOSIT};
    request.deposit = plain_deposit(message_id, make_filter(number), FILTER_BYTES, "");
    request.deposit.payload = (struct hearsay_bytes){payload, sizeof(payload)};
    return &request;
}

const struct hearsay_request *server_fixture_query(uint64_t id, uint8_t number)
{
    static struct hearsay_query_part part;
    static struct hearsay_request request;

    part = (struct hearsay_query_part){.filter = {make_filter(number), FILTER_BYTES}};
    request = (struct hearsay_request){.id = id, .kind = HEARSAY_REQUEST_QUERY};
    request.query = plain_query(&part, 1, 10);
    return &request;
}
