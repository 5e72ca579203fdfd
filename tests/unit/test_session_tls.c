/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions over TLS that have to wait: what a read brings may be a record more than was read, and
 * a client that only sends what it may is not dropped for it.
 */
#include <string.h>
#include <sys/socket.h>

#include <utlist.h>

#include "tests/lib/certificate.h"
#include "tests/lib/check.h"
#include "tests/lib/server_fixture.h"
#include "tls/tls.h"

enum { RECORD_BYTES = 16 * 1024, LONG_NS = 150 * 1000, SECOND_NS = 1000 * 1000 * 1000 };

static struct certificate certificate;
static struct tls_context *client_context;

static uint64_t now_ns = SECOND_NS;
static uint64_t look_ns; /* what a look at the clock takes */

static uint64_t read_ns(void *context)
{
    (void)context;
    now_ns += look_ns;
    return now_ns;
}

struct secure_peer {
    struct peer plain; /* output is before encryption */
    struct tls_pipe *pipe;
    uint64_t number; /* of its session */
};

/* --- the client's side ------------------------------------------------------------------------ */

static void turn(struct server_fixture *fixture, int count)
{
    for (int i = 0; i < count; i++) {
        (void)uv_run(&fixture->server.loop, UV_RUN_NOWAIT);
    }
}

static void send_all(const struct secure_peer *peer, const uint8_t *data, size_t count)
{
    assert_int_equal(send(peer->plain.fd, data, count, MSG_NOSIGNAL), (ssize_t)count);
}

static void send_encrypted(struct secure_peer *peer)
{
    uint8_t wire[RECORD_BYTES];
    size_t count;

    while ((count = tls_pipe_take(peer->pipe, wire, sizeof(wire))) > 0) {
        send_all(peer, wire, count);
    }
}

/* The first bytes of its output, in records of at most `record` bytes. */
static void encrypt(struct secure_peer *peer, size_t count, size_t record)
{
    while (count > 0) {
        size_t written = 0;
        const size_t some = count < record ? count : record;
        assert_int_equal(tls_pipe_write(peer->pipe, peer->plain.output.data, some, &written), 0);
        bytes_consume(&peer->plain.output, written);
        count -= written;
    }
}

static void take_what_came(struct secure_peer *peer)
{
    uint8_t wire[RECORD_BYTES];
    uint8_t plain[RECORD_BYTES];
    size_t got = 0;
    ssize_t count;

    while ((count = recv(peer->plain.fd, wire, sizeof(wire), MSG_DONTWAIT)) > 0) {
        assert_int_equal(tls_pipe_feed(peer->pipe, wire, (size_t)count), 0);
    }
    while (tls_pipe_read(peer->pipe, plain, sizeof(plain), &got) == 0) {
    }
    send_encrypted(peer);
}

static void greet(struct server_fixture *fixture, struct secure_peer *peer)
{
    fixture->server.listeners[0].security = CONFIG_TLS;
    const struct session *session = server_fixture_connect(fixture, &peer->plain);
    peer->number = session->number;
    assert_int_equal(tls_pipe_new(client_context, "server", &peer->pipe), 0);
    while (session->is_shaking_hands || !tls_pipe_is_open(peer->pipe)) {
        take_what_came(peer);
        turn(fixture, 1);
        if (tls_pipe_is_open(peer->pipe) && peer->plain.output.count == 0 &&
            session->state == SESSION_NEW) {
            peer_put_hello(&peer->plain);
            encrypt(peer, peer->plain.output.count, RECORD_BYTES);
            send_encrypted(peer);
        }
    }
    while (session->state != SESSION_OPEN) {
        turn(fixture, 1);
    }
    take_what_came(peer);
}

static bool is_here(const struct server_fixture *fixture, const struct secure_peer *peer)
{
    const struct session *session;

    DL_FOREACH (fixture->server.sessions, session) {
        if (session->number == peer->number && session->state == SESSION_OPEN) {
            return true;
        }
    }
    return false;
}

/* --- fixture ---------------------------------------------------------------------------------- */

static struct server_fixture *start(uint32_t frame_bytes)
{
    struct server_fixture *fixture = server_fixture_new();
    struct config *config = &fixture->config;

    config->limits.frame_bytes = frame_bytes;
    config->limits.payload_bytes = 100; /* larger ones are refused, and need no store */
    server_fixture_start(fixture, true);
    struct config secured = *config;
    secured.listener_count = 1;
    secured.listeners[0].kind = CONFIG_LISTENER_TCP;
    secured.listeners[0].tls = true;
    (void)snprintf(secured.tls_certificate, sizeof(secured.tls_certificate), "%s",
                   certificate.file);
    (void)snprintf(secured.tls_key, sizeof(secured.tls_key), "%s", certificate.key_file);
    assert_int_equal(server_tls_load(&fixture->server.tls, &secured, fixture->reason), 0);
    fixture->server.service->read_ns = read_ns;
    return fixture;
}

static void finish(struct server_fixture *fixture, struct secure_peer *peer)
{
    look_ns = 0;
    tls_pipe_free(peer->pipe);
    peer_deinit(&peer->plain);
    server_fixture_await_sessions(fixture, 0);
    server_tls_deinit(&fixture->server.tls);
    server_fixture_free(fixture);
}

static void put_deposit(struct secure_peer *peer, uint64_t id, size_t payload_bytes)
{
    static const uint8_t payload[64 * 1024];
    struct msg_request request = *server_fixture_deposit(id, (uint8_t)id);

    request.deposit.payload = (struct msg_bytes){payload, payload_bytes};
    peer_put(&peer->plain, &request);
}

/* --- tests ------------------------------------------------------------------------------------ */

/*
 * Another session has had the turn's time; this one holds most of a frame and sends on. With small
 * frames and with large ones.
 */
static void who_waits_is_not_dropped(uint32_t frame_bytes, size_t payload_bytes, size_t held)
{
    struct server_fixture *fixture = start(frame_bytes);
    struct secure_peer peer = {.pipe = NULL};
    struct peer other;

    (void)server_fixture_greet(fixture, &other);
    greet(fixture, &peer);
    for (uint64_t id = 2; id < 5 || peer.plain.output.count < 100000; id++) {
        put_deposit(&peer, id, payload_bytes);
    }
    encrypt(&peer, held, 1000);
    send_encrypted(&peer);
    turn(fixture, 5);
    encrypt(&peer, peer.plain.output.count, 1000);
    peer_put_ping(&other, 2);
    now_ns += SECOND_NS; /* nobody took much lately */
    look_ns = LONG_NS;
    peer_send(&other, &fixture->server.loop);
    send_encrypted(&peer);
    turn(fixture, 20);
    assert_true(is_here(fixture, &peer));
    peer_deinit(&other);
    finish(fixture, &peer);
}

static void test_who_waits_is_not_dropped(void **state)
{
    (void)state;
    who_waits_is_not_dropped(16 * 1024, 200, 0);
    who_waits_is_not_dropped(16 * 1024, 10000, 9000);
    who_waits_is_not_dropped(64 * 1024, 50000, 40000);
}

/* A record waits for its last byte, which then comes with many more. */
static void test_a_record_more_than_was_read(void **state)
{
    static uint8_t wire[128 * 1024];
    struct server_fixture *fixture = start(64 * 1024);
    struct secure_peer peer = {.pipe = NULL};

    (void)state;
    greet(fixture, &peer);
    put_deposit(&peer, 2, 60 * 1024);
    put_deposit(&peer, 3, 60 * 1024);
    encrypt(&peer, 59000, RECORD_BYTES);
    send_encrypted(&peer);
    turn(fixture, 5);
    encrypt(&peer, RECORD_BYTES, RECORD_BYTES);
    const size_t count = tls_pipe_take(peer.pipe, wire, sizeof(wire));
    send_all(&peer, wire, count - 1);
    turn(fixture, 5);
    wire[0] = wire[count - 1];
    encrypt(&peer, 40000, 1000);
    send_all(&peer, wire, 1 + tls_pipe_take(peer.pipe, wire + 1, sizeof(wire) - 1));
    turn(fixture, 5);
    assert_true(is_here(fixture, &peer));
    finish(fixture, &peer);
}

static int setup(void **state)
{
    const struct tls_client_options options = {NULL, NULL, NULL};
    char reason[TLS_REASON_BYTES];

    (void)state;
    certificate_make(&certificate);
    return tls_client_new(&options, &client_context, reason);
}

static int teardown(void **state)
{
    (void)state;
    tls_context_free(client_context);
    certificate_remove(&certificate);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_waits_is_not_dropped),
        cmocka_unit_test(test_a_record_more_than_was_read),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
